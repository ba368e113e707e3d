// The time that a core supplies to the parts of jobs on it, if static priority alone does not determine that time:
// under SCHED_DEADLINE, and with a memory bandwidth budget. The simulator calls the supply whenever the core may have
// to switch to another part.
//
// ReservedCore: reservations (SCHED_DEADLINE) run earliest deadline first, with the kernel's wake-up rule of a constant
// bandwidth server. Best-effort parts use the remaining time. A reservation that has used up its budget waits for its
// deadline. Interference tasks are reservations of other programs that always compute.
//
// RegulatedCore: the core stops when it has moved the lines of memory that its budget allows in a period. As in a real
// run, policies::BandwidthRegulator decides how many lines each core may move.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "policies/bandwidth/bandwidth_budget.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::simulator {

class CoreSupply {
 public:
  virtual ~CoreSupply() = default;
  /// Reports that a part of `task` becomes ready. `last`: true for the task's last part, false for its first part.
  virtual void wake_up(std::uint32_t task, bool last, Instant now) = 0;
  /// Returns the task that gets the core now. `ready`: the tasks with a ready part, the most urgent first. Returns
  /// nullopt if the core stops, or if another program has the core.
  [[nodiscard]] virtual std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) = 0;
  /// Returns the next instant at which choose() may give another result, even if no part ends or becomes ready.
  [[nodiscard]] virtual Instant changes_at(Instant now) const = 0;
  /// Accounts for `time`, which has passed since the last choose().
  virtual void pass(Duration time) = 0;
};

/// A reservation of another program that always computes from `since` on.
struct InterferenceTask {
  unsigned core = 0;
  CpuReservation reservation;
  Instant since{};
};

class ReservedCore final : public CoreSupply {
 public:
  /// `tasks`: all tasks of the plan.
  ReservedCore(std::span<const PlannedTask> tasks, std::span<const InterferenceTask> interference, unsigned core);
  void wake_up(std::uint32_t task, bool last, Instant now) override;
  std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) override;
  Instant changes_at(Instant now) const override;
  void pass(Duration time) override;

 private:
  struct Server {
    CpuReservation reservation;
    Instant since{}; // the first instant at which an interference task computes
    Instant deadline{};
    Duration budget{0};
    bool awake = false; // true once the reservation has had a budget
    void begin(Instant now);
    void replenish(Instant now);
  };
  std::vector<Server> interference_;
  std::vector<std::optional<Server>> before_, after_; // by task: the reservations of its first and its last part
  std::vector<bool> last_; // by task: true if its last part became ready most recently; false: its first part
  Server* running_ = nullptr;
  Instant next_ = Instant::max(); // the next replenishment, or the next start of an interference task

  [[nodiscard]] std::optional<Server>& of(std::uint32_t task) { return last_[task] ? after_[task] : before_[task]; }
};

/// The memory traffic of a part. After the part has executed for `begin`, it moves memory lines continuously for
/// `length`.
struct Burst {
  Duration begin{0};
  Duration length{0};
};

/// The bandwidth budget of a core, and the maximum overheads of enforcing it.
struct CoreRegulation {
  unsigned core = 0;
  Duration period{0};
  Instant first_period{};
  policies::Lines budget = policies::unlimited;
  Duration line{1}; // the time in which the core moves one line
  Overshoot overshoot = Overshoot::carry;
  Duration tick{0};    // the execution time of the regulating thread in each period
  bool greedy = false; // true if best-effort work moves lines whenever no part is ready
  /// Returns the delay of a tick, or the time from the end of the budget to the stop of the core. Called for each tick
  /// and for each stop
  std::function<Duration()> latency;
  std::function<Burst(std::uint32_t task, bool last)> burst; // returns the memory traffic of a part
};

class RegulatedCore final : public CoreSupply {
 public:
  RegulatedCore(const CoreRegulation& regulation, std::size_t tasks);
  void wake_up(std::uint32_t task, bool last, Instant now) override;
  std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) override;
  Instant changes_at(Instant now) const override;
  void pass(Duration time) override;

 private:
  struct Part {
    Burst burst;
    Duration executed{0};
  };
  enum class Running : std::uint8_t { nobody, tick, part, greedy };

  void begin_period();
  void use_up(Instant now);
  [[nodiscard]] bool moves() const;
  [[nodiscard]] Duration time_of(policies::Lines lines) const;

  CoreRegulation regulation_;
  policies::BandwidthRegulator regulator_;
  std::vector<Part> parts_; // by task
  Running running_ = Running::nobody;
  std::uint32_t part_ = 0;
  Instant grid_, tick_at_;
  Duration tick_left_{0};
  /// The moved and the allowed lines of this period, each stored as the time in which the core moves these lines
  Duration moved_{0}, given_{Duration::max()};
  Instant holds_at_ = Instant::max();
  bool held_ = false;
};

} // namespace rtexec::simulator
