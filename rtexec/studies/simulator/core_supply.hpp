// The time that a core supplies to the parts on it, if static priority alone does not decide it: under SCHED_DEADLINE,
// and under a memory bandwidth budget. The simulator calls it whenever something on the core may change.
//
// Reserved: reservations run earliest deadline first under the kernel's wake-up rule (a constant bandwidth server);
// best-effort parts use the time that is left. A reservation that has used up its budget stands still until its
// deadline. Neighbours are reservations outside the plan, which compute without end.
//
// Regulated: the core stands still once its lines of a period are moved. As on a machine, policies::BandwidthRegulator
// decides how many lines each core may move.
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
  /// Notes that a part of `task` becomes ready: its last part if `last`, else its first.
  virtual void wake_up(std::uint32_t task, bool last, Instant now) = 0;
  /// Returns the task of `ready` (the most urgent first) that has the core from now on. Returns nullopt if the core
  /// stands still, or others have it.
  [[nodiscard]] virtual std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) = 0;
  /// Returns when the choice may change though no part ends or becomes ready.
  [[nodiscard]] virtual Instant changes_at(Instant now) const = 0;
  /// Notes that `time` has passed since choose().
  virtual void pass(Duration time) = 0;
};

/// A foreign reservation, which computes from `since` on.
struct Neighbour {
  unsigned core = 0;
  CpuReservation reservation;
  Instant since{};
};

class ReservedCore final : public CoreSupply {
 public:
  /// `tasks` are those of the plan.
  ReservedCore(std::span<const PlannedTask> tasks, std::span<const Neighbour> neighbours, unsigned core);
  void wake_up(std::uint32_t task, bool last, Instant now) override;
  std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) override;
  Instant changes_at(Instant now) const override;
  void pass(Duration time) override;

 private:
  struct Server {
    CpuReservation reservation;
    Instant since{}; // of neighbours
    Instant deadline{};
    Duration budget{0};
    bool awake = false; // it has had a budget before
    void begin(Instant now);
    void replenish(Instant now);
  };
  std::vector<Server> neighbours_;
  std::vector<std::optional<Server>> before_, after_; // by task
  std::vector<bool> last_;                            // by task: its ready (or latest) part is its last one
  Server* running_ = nullptr;
  Instant next_ = Instant::max(); // the next replenishment or arrival of a neighbour

  [[nodiscard]] std::optional<Server>& of(std::uint32_t task) { return last_[task] ? after_[task] : before_[task]; }
};

/// The memory traffic of a part. It moves all its lines one after the other, as fast as the core can, once it has
/// executed for `begin`.
struct Burst {
  Duration begin{0};
  Duration length{0};
};

/// A budget, and the maximum overheads that the machine adds to it.
struct CoreRegulation {
  unsigned core = 0;
  Duration period{0};
  Instant first_period{};
  policies::Lines budget = policies::unlimited;
  Duration line{1}; // time for the core to move one line
  Overshoot overshoot = Overshoot::carry;
  Duration tick{0};                  // execution of the regulating thread in each period
  bool greedy = false;               // best-effort work moves lines whenever no part is ready
  std::function<Duration()> latency; // of a tick, and from the end of the budget until the core stands still
  std::function<Burst(std::uint32_t task, bool last)> burst; // returns the burst of a part
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
  Duration moved_{0}, given_{Duration::max()}; // lines moved and lines allowed in this period, as times
  Instant holds_at_ = Instant::max();
  bool held_ = false;
};

} // namespace rtexec::simulator
