// Reaction time and data age from their definitions alone, of a history of jobs that is given in whole; and histories
// of all that a chain may do within the periods and response bounds of its tasks.
#pragma once

#include "policies/chains/chain_bounds.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::test {

struct ChainJob {
  std::int64_t event = 0;   // that released it, where one did; the earliest possible
  std::int64_t sampled = 0; // what it reads, of the first task where that has an input delay
  std::int64_t release = 0;
  std::int64_t read = 0;
  std::int64_t write = 0;
};
using ChainHistory = std::vector<std::vector<ChainJob>>; // by task, in order

struct Longest {
  std::int64_t reaction = -1, age = -1, reduced_age = -1;
};

/// What is counted from the first output on. `from_sampling`: from when was sampled what the first task reads.
[[nodiscard]] Longest longest_of(const ChainHistory& history, bool triggered, bool from_sampling = false);
/// The same by policies::ChainTimes, which is told of each instant in order; `triggered` reactions, whose events it
/// cannot know where a newer one took their place, are left out.
[[nodiscard]] Longest longest_by_stamps(const ChainHistory& history, bool from_sampling = false);

/// Choices among 0 to n - 1, one after the other: all of them in turn, or at random.
class Choices {
 public:
  Choices() = default;
  explicit Choices(std::mt19937_64& random) : random_(&random) {}
  std::int64_t among(std::int64_t n);
  /// Whether there are others; where choices are random there are.
  bool next();

 private:
  std::mt19937_64* random_ = nullptr;
  std::vector<std::pair<std::int64_t, std::int64_t>> made_;
  std::size_t at_ = 0;
};

/// Jobs that are released up to `horizon`. `let`: outputs appear at the end of the response bound, inputs are read at
/// releases. Nothing: the choices contradict a task that shuts the next one out.
[[nodiscard]] std::optional<ChainHistory> history_of(const std::vector<policies::ChainTask>& chain, bool let,
                                                     std::int64_t horizon, Choices& choices);

/// One deliberate error.
enum class ChainFault {
  none,
  no_wait,
  no_phase,
  sampled_at_once,
  no_output,
  shut_out_at_once,
  no_delay,    // what is read was sampled at the release
  quick_gate,  // a sample waits for half of its delay, and the gate holds nothing back
  timer_waits, // samples of a timer wait for the delay alone
};
/// The bound of the reaction time written down a second time; nothing: there is none.
[[nodiscard]] std::optional<std::int64_t> reference_reaction(const std::vector<policies::ChainTask>& chain,
                                                             ChainFault fault = ChainFault::none);

} // namespace rtexec::test
