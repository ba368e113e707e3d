// Simulates one core under SCHED_DEADLINE in virtual time: implicit-deadline reservations, the kernel's wake-up rule,
// earliest deadline first.
#pragma once

#include "policies/exact_arithmetic.hpp"

#include <cstddef>
#include <deque>
#include <limits>
#include <vector>

namespace rtexec::policies::test {

class ConstantBandwidthCore {
 public:
  struct End {
    std::size_t server = 0;
    Nanos arrival = 0;
    Nanos end = 0;
  };

  void add(Nanos runtime, Nanos window) { servers_.push_back({.runtime = runtime, .window = window, .work = {}}); }

  /// Adds work for a server at `when`, which must not be earlier than the simulated time.
  void arrive(std::size_t server, Nanos when, Nanos work) {
    advance(when);
    Server& its = servers_[server];
    if (its.work.empty() && !its.throttled) its.wake_up(now_);
    its.work.push_back({when, work});
  }

  void advance(Nanos to) {
    while (now_ < to) {
      Nanos next = to;
      for (Server& each : servers_) {
        if (each.throttled && each.deadline <= now_) each.replenish();
        if (each.throttled) next = std::min(next, each.deadline);
      }
      Server* const running = most_urgent();
      if (running == nullptr) {
        now_ = next;
        continue;
      }
      const Nanos slice = std::min({next - now_, running->budget, running->work.front().left});
      now_ += slice;
      running->budget -= slice;
      running->work.front().left -= slice;
      if (running->work.front().left == 0) {
        ends.push_back({static_cast<std::size_t>(running - servers_.data()), running->work.front().arrival, now_});
        running->work.pop_front();
      }
      if (running->budget == 0) running->throttled = true;
    }
    for (Server& each : servers_)
      if (each.throttled && each.deadline <= now_) each.replenish();
  }

  /// Simulates until all work is done.
  void finish() {
    while (std::ranges::any_of(servers_, [](const Server& each) { return !each.work.empty(); }))
      advance(now_ + 1'000'000);
  }

  [[nodiscard]] Nanos window(std::size_t server) const { return servers_[server].window; }
  [[nodiscard]] Nanos now() const { return now_; }
  std::vector<End> ends; // in order of time

 private:
  struct Work {
    Nanos arrival = 0;
    Nanos left = 0;
  };
  struct Server {
    Nanos runtime = 0;
    Nanos window = 0;
    Nanos deadline = std::numeric_limits<Nanos>::min() / 2;
    Nanos budget = 0;
    bool throttled = false;
    std::deque<Work> work;

    /// Sets a new deadline if the old one has passed, or if the remaining budget would exceed the bandwidth until then.
    void wake_up(Nanos now) {
      if (deadline >= now && Wide{budget} * window <= Wide{deadline - now} * runtime) return;
      deadline = now + window;
      budget = runtime;
    }
    void replenish() {
      throttled = false;
      deadline += window;
      budget = runtime;
    }
  };

  Server* most_urgent() {
    Server* best = nullptr;
    for (Server& each : servers_)
      if (!each.throttled && !each.work.empty() && (best == nullptr || each.deadline < best->deadline)) best = &each;
    return best;
  }

  std::vector<Server> servers_;
  Nanos now_ = 0;
};

} // namespace rtexec::policies::test
