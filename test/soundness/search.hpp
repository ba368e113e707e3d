// Runs the search in three stages, and adds each one's results to a summary in JSON. It attacks sets of the sound
// tests, tries every release pattern of tiny sets, and attacks deliberately broken tests. The findings depend on Wanted
// and the part alone, not on the machine, its threads or the division into parts.
#pragma once

#include "rtexec/studies/sweep/study.hpp"
#include "test/soundness/subjects.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace rtexec::soundness {

struct Wanted {
  std::uint64_t sets = 0, jobs = 0, tiny = 0; // minimum numbers, of all parts together
  std::uint64_t seed = 1;
  std::string tests; // only sound tests whose names begin with one of these words
  unsigned threads = 1;
  study::Part part{}; // at most `lots` parts
};

/// The number of lots into which the search is divided. Each lot runs independently. The number is prime, so that every
/// lot tries all tests in turn.
inline constexpr std::uint64_t lots = 61;

/// Returns a generator that gives the same set for the same subject, number and seed.
[[nodiscard]] Random random_of(std::uint64_t seed, std::size_t subject, std::uint64_t number);

/// Each stage also reports a broken bound on standard error.
void attack_sound_tests(const Wanted& wanted, nlohmann::json& summary);
void enumerate_tiny_sets(const Wanted& wanted, nlohmann::json& summary);
void refute_broken_tests(const Wanted& wanted, nlohmann::json& summary);

} // namespace rtexec::soundness
