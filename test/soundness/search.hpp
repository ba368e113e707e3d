// The search in three stages, each of which adds to a summary in JSON: sets of the tests that promise under attack;
// tiny ones under every release pattern; tests that are broken deliberately. What is found depends on Wanted and the
// part alone, not on the machine, its threads or how it is divided.
#pragma once

#include "rtexec/studies/sweep/study.hpp"
#include "test/soundness/subjects.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace rtexec::soundness {

struct Wanted {
  std::uint64_t sets = 0, jobs = 0, tiny = 0; // at least, of all parts together
  std::uint64_t seed = 1;
  std::string tests; // of those that promise: those whose names begin so
  unsigned threads = 1;
  study::Part part{}; // of at most `lots`
};

/// The search is divided into lots that each end by themselves. Prime: every lot has all tests in turn.
inline constexpr std::uint64_t lots = 61;

/// The same set for the same subject, number and seed.
[[nodiscard]] Random random_of(std::uint64_t seed, std::size_t subject, std::uint64_t number);

/// A promise that is broken is told on standard error as well.
void attack_sound_tests(const Wanted& wanted, nlohmann::json& summary);
void enumerate_tiny_sets(const Wanted& wanted, nlohmann::json& summary);
void refute_broken_tests(const Wanted& wanted, nlohmann::json& summary);

} // namespace rtexec::soundness
