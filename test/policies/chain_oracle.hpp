// Computes reaction time and data age from their definitions, for a complete history of jobs. Generates histories of
// everything a chain may do within the periods and response bounds of its tasks.
#pragma once

#include "policies/chains/chain_bounds.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::test {

struct ChainJob {
  std::int64_t event = 0;   // the earliest event that can have released it, if an event did
  std::int64_t sampled = 0; // when its input was sampled, for a first task with an input delay
  std::int64_t release = 0;
  std::int64_t read = 0;
  std::int64_t write = 0;
};
using ChainHistory = std::vector<std::vector<ChainJob>>; // by task, in order of release

struct Longest {
  std::int64_t reaction = -1, age = -1, reduced_age = -1;
};

/// Returns the longest times, counted from the first output on. If `from_sampling`, times begin when the first task's
/// input was sampled.
[[nodiscard]] Longest longest_of(const ChainHistory& history, bool triggered, bool from_sampling = false);
/// Returns the same from policies::ChainTimes, which sees each instant in order. Leaves out `triggered` reactions: it
/// cannot know an event that a newer one replaced.
[[nodiscard]] Longest longest_by_stamps(const ChainHistory& history, bool from_sampling = false);

/// A sequence of choices among 0 to n - 1. It enumerates all of them, or draws them at random.
class Choices {
 public:
  Choices() = default;
  explicit Choices(std::mt19937_64& random) : random_(&random) {}
  std::int64_t among(std::int64_t n);
  /// Advances to the next sequence. Returns true if there is one; random sequences never end.
  bool next();

 private:
  std::mt19937_64* random_ = nullptr;
  std::vector<std::pair<std::int64_t, std::int64_t>> made_;
  std::size_t at_ = 0;
};

/// Generates the jobs released up to `horizon`. With `let` (logical execution time), outputs appear at the end of the
/// response bound and inputs are read at releases. Returns nullopt if the choices contradict a task that shuts out the
/// next one.
[[nodiscard]] std::optional<ChainHistory> history_of(const std::vector<policies::ChainTask>& chain, bool let,
                                                     std::int64_t horizon, Choices& choices);

/// A deliberate error in the reference bound.
enum class ChainFault {
  none,
  no_wait,
  no_phase,
  sampled_at_once,
  no_output,
  shut_out_at_once,
  no_delay,    // a job's input was sampled at its release
  quick_gate,  // a sample waits for half of its delay, and the gate delays no release
  timer_waits, // a timer's samples wait for the input delay alone
};
/// Computes the bound of the reaction time independently of policies/. Returns nullopt if there is no bound.
[[nodiscard]] std::optional<std::int64_t> reference_reaction(const std::vector<policies::ChainTask>& chain,
                                                             ChainFault fault = ChainFault::none);

} // namespace rtexec::test
