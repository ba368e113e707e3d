// What a core gives to the parts on it, where that is not simply the most urgent one's: under SCHED_DEADLINE, and under
// a memory bandwidth budget. Asked by the simulator whenever something on the core may change.
//
// Reserved: earliest deadline first among reservations under the kernel's wake-up rule (a constant bandwidth server),
// best-effort parts in what is left. A reservation that is used up stands still until its deadline. Neighbours are
// reservations that are not of the plan, and compute without end.
//
// Regulated: the core stands still once its lines of a period are moved. Who may move how many is decided by
// policies::BandwidthRegulator, as on a machine.
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
  /// A part of `task` becomes ready, the last one or the first.
  virtual void wake_up(std::uint32_t task, bool last, Instant now) = 0;
  /// Who of `ready` (the most urgent first) has the core from now on; nobody: it stands still, or others have it.
  [[nodiscard]] virtual std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) = 0;
  /// When that may change though no part ends nor becomes ready.
  [[nodiscard]] virtual Instant changes_at(Instant now) const = 0;
  /// So much time has passed since choose().
  virtual void pass(Duration time) = 0;
};

/// A reservation of somebody else, who computes from `since` on.
struct Neighbour {
  unsigned core = 0;
  CpuReservation reservation;
  Instant since{};
};

class ReservedCore final : public CoreSupply {
 public:
  /// `tasks`: those of the plan.
  ReservedCore(std::span<const PlannedTask> tasks, std::span<const Neighbour> neighbours, unsigned core);
  void wake_up(std::uint32_t task, bool last, Instant now) override;
  std::optional<std::uint32_t> choose(std::span<const std::uint32_t> ready, Instant now) override;
  Instant changes_at(Instant now) const override;
  void pass(Duration time) override;

 private:
  struct Server {
    CpuReservation reservation;
    Instant since{}; // neighbours
    Instant deadline{};
    Duration budget{0};
    bool awake = false; // it has had a budget
    void begin(Instant now);
    void replenish(Instant now);
  };
  std::vector<Server> neighbours_;
  std::vector<std::optional<Server>> before_, after_; // by task
  std::vector<bool> last_;                            // by task: its part that is ready, or was
  Server* running_ = nullptr;
  Instant next_ = Instant::max(); // a replenishment, or a neighbour that comes

  [[nodiscard]] std::optional<Server>& of(std::uint32_t task) { return last_[task] ? after_[task] : before_[task]; }
};

/// How a part moves its lines: all of them one after the other, as fast as the core can, once it has executed for
/// `begin`.
struct Burst {
  Duration begin{0};
  Duration length{0};
};

/// A budget, and what the machine adds to it at most.
struct CoreRegulation {
  unsigned core = 0;
  Duration period{0};
  Instant first_period{};
  policies::Lines budget = policies::unlimited;
  Duration line{1}; // what the core takes to move one
  Overshoot overshoot = Overshoot::carry;
  Duration tick{0};                  // execution of the regulating thread in each period
  bool greedy = false;               // best-effort work moves lines whenever no part is ready
  std::function<Duration()> latency; // of a tick, and from a budget used up to the core that stands still
  std::function<Burst(std::uint32_t task, bool last)> burst; // of each part
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
  Duration moved_{0}, given_{Duration::max()}; // of lines in this period, in time
  Instant holds_at_ = Instant::max();
  bool held_ = false;
};

} // namespace rtexec::simulator
