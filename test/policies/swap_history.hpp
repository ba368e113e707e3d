// Random plans with swapping, and what may happen to a device that runs one: a history for the scheduler and for its
// book, which is kept beside it.
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

/// Periods and device deadlines are 1000 ns.
Plan plan_of(SwapPolicy policy, std::uint32_t frames, const std::vector<SwappingTask>& tasks,
             unsigned copy_engines = 2);

Plan random_plan(SwapPolicy policy, Random& random);

DeviceScheduler::TaskParameters parameters_of(const PlannedTask& task, bool stays = false);

/// What may happen to a device: requests, withdrawals, ends in every order that is possible, failures, and reports that
/// make no sense.
class Environment {
 public:
  Environment(const Plan& plan, const Book& book, Random& random);
  /// Some event, mostly a possible one.
  Event any();
  /// An end, without failure; none where nothing goes on.
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

/// One scheduler, its book, and a twin that hears of possible events only: that it does the same shows that equal
/// histories give equal actions, and that a refused event leaves no trace.
class Watched {
 public:
  explicit Watched(const Plan& plan, std::uint32_t slots = 0)
      : book(plan), scheduler_(plan, slots), twin_(plan, slots) {}

  void feed(const Event& event);
  /// `plan`, which is the book's, has `with` in place of `task` where that is possible. At most `most` slots are.
  void exchange(Plan& plan, std::uint32_t task, const PlannedTask& with, bool stays, std::size_t most);
  [[nodiscard]] const DeviceScheduler::State& state() const { return scheduler_.state(); }

  Book book;
  std::uint64_t refused = 0;

 private:
  DeviceScheduler scheduler_, twin_;
};

} // namespace rtexec::policies::test
