// The time that a core supplies to the parts of jobs on it, if not static priority alone decides it: under
// SCHED_DEADLINE, and under a budget of memory bandwidth. The simulator asks the supply whenever the core's choice
// may change.
//
// Reserved: reservations (SCHED_DEADLINE) run earliest deadline first, with the kernel's wake-up rule of a constant
// bandwidth server. Best-effort parts use the remaining time. A reservation that has used up its budget waits for its
// deadline. Neighbours are reservations of other programs, which compute without end.
//
// Regulated: the core stops once it has moved the lines of memory that its budget allows in a period. As on a
// machine, policies::BandwidthRegulator decides how many lines each core may move.
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
  /// Notes that a part of `task` becomes ready. `last` is true for its last part, and false for its first.
  virtual void wake_up(std::uint32_t task, bool last, Instant now) = 0;
  /// Returns the task that has the core from now on. `ready` lists the tasks with a ready part, the most urgent
  /// first. Returns nullopt if the core stops, or another program has it.
  [[nodiscard]] virtual std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) = 0;
  /// Returns the next instant at which choose() may give another result, even if no part ends or becomes ready.
  [[nodiscard]] virtual Instant changes_at(Instant now) const = 0;
  /// Accounts for `time`, which has passed since the last choose().
  virtual void pass(Duration time) = 0;
};

/// A reservation of another program, which computes without end from `since` on.
struct InterferenceTask {
  unsigned core = 0;
  CpuReservation reservation;
  Instant since{};
};

class ReservedCore final : public CoreSupply {
 public:
  /// `tasks` are all tasks of the plan.
  ReservedCore(std::span<const PlannedTask> tasks, std::span<const InterferenceTask> interference, unsigned core);
  void wake_up(std::uint32_t task, bool last, Instant now) override;
  std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) override;
  Instant changes_at(Instant now) const override;
  void pass(Duration time) override;

 private:
  struct Server {
    CpuReservation reservation;
    Instant since{}; // first instant of a neighbour's work
    Instant deadline{};
    Duration budget{0};
    bool awake = false; // true once it has had a budget
    void begin(Instant now);
    void replenish(Instant now);
  };
  std::vector<Server> interference_;
  std::vector<std::optional<Server>> before_, after_; // by task: reservations of its first and last parts
  std::vector<bool> last_;                            // by task: true if the last part is or was ready, not the first
  Server* running_ = nullptr;
  Instant next_ = Instant::max(); // the next replenishment or arrival of a neighbour

  [[nodiscard]] std::optional<Server>& of(std::uint32_t task) { return last_[task] ? after_[task] : before_[task]; }
};

/// The memory traffic of a part. After it has executed for `begin`, the part moves lines of memory without pause for
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
  Duration line{1}; // time for the core to move one line
  Overshoot overshoot = Overshoot::carry;
  Duration tick{0};                  // execution time of the regulating thread in each period
  bool greedy = false;               // true: best-effort work moves lines whenever no part is ready
  std::function<Duration()> latency; // delay of a tick, and from the end of the budget to the stop
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
  Duration moved_{0}, given_{Duration::max()}; // moved and allowed in this period, as time to move the lines
  Instant holds_at_ = Instant::max();
  bool held_ = false;
};

} // namespace rtexec::simulator
