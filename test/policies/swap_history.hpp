// Random plans with swapping, and random events of a device that runs one. They form a history for the scheduler and
// for its book.
#pragma once

#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/scheduler_events.hpp"
#include "test/policies/swap_book.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::policies::test {

using Random = std::mt19937_64;

struct SwappingTask {
  std::uint32_t volume = 0; // chunks
  unsigned rank = 0;
};

/// Makes a plan in which all periods and device deadlines are 1000 ns.
Plan plan_of(SwapPolicy policy, std::uint32_t frames, const std::vector<SwappingTask>& tasks,
             unsigned copy_engines = 2);

Plan random_plan(SwapPolicy policy, Random& random);

DeviceScheduler::TaskParameters parameters_of(const PlannedTask& task, bool stays = false);

/// Generates events of a device: requests, withdrawals, ends in every possible order, failures, and nonsensical
/// reports.
class Environment {
 public:
  Environment(const Plan& plan, const Book& book, Random& random);
  /// Returns some event, mostly a possible one.
  Event any();
  /// Returns the end of something without failure, or nullopt if nothing is under way.
  std::optional<Event> end();

 private:
  enum Choice { ask, withdraw, finish, in, out };
  std::optional<Event> possible(Choice choice);
  std::optional<Event> senseless();

  std::size_t tasks_;
  const Book& book_;
  Random& random_;
  std::array<unsigned, 5> weights_{};
  std::uint64_t fails_in_a_hundred_ = 0;
  std::uint64_t spread_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t number_ = 3;
};

/// A scheduler, its book, and a twin that gets possible events only. Equal behaviour of the twin shows that equal
/// histories give equal actions, and that a refused event leaves no trace.
class Watched {
 public:
  explicit Watched(const Plan& plan, std::uint32_t slots = 0)
      : book(plan), scheduler_(plan, slots), twin_(plan, slots) {}

  void feed(const Event& event);
  /// Replaces `task` of the book's plan by `with` if that is possible and needs at most `most` slots.
  void exchange(Plan& plan, std::uint32_t task, const PlannedTask& with, bool stays, std::size_t most);
  [[nodiscard]] const DeviceScheduler::State& state() const { return scheduler_.state(); }

  Book book;
  std::uint64_t refused = 0;

 private:
  DeviceScheduler scheduler_, twin_;
};

} // namespace rtexec::policies::test
