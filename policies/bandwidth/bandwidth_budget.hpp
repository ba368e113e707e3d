// Memory bandwidth budgets: how many memory lines each domain (a core, or a cluster of cores with one counter) may move
// in each period, and what happens once it has moved them. A state machine like the device scheduler: it has no clock,
// no counter and no thread. Its driver reports how many lines were counted, and holds (stops) the cores of a domain as
// this class decides. Drivers: rtexec/runtime/regulation (real cores), rtexec/studies/simulator (a model). Rules,
// guarantees and sources: proofs/bandwidth.md.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rtexec::policies {

using Lines = std::uint64_t;
inline constexpr Lines unlimited = std::numeric_limits<Lines>::max();

/// Returns how many lines of size `line` are moved in each `period` at `bandwidth`, rounded down; at least 1, less than
/// `unlimited`. Eq. (14) of Nigam's thesis. `line` and `period` are above 0.
[[nodiscard]] Lines lines_of(Bandwidth bandwidth, Bytes line, Duration period);
/// Returns the bandwidth of `lines` in each `period`, rounded down, or the largest representable one if it does not
/// fit. `period` is above 0.
[[nodiscard]] Bandwidth bandwidth_of(Lines lines, Bytes line, Duration period);

/// A core, or a cluster of cores, whose traffic is counted by one counter.
struct BandwidthDomain {
  Lines budget = unlimited; // in each period; at least 1
  bool always = false;      // in force all the time; false: only while the device works
  bool donates = true;      // gives unused lines to other domains; false: has real-time work, only receives
};

struct BandwidthRules {
  bool reclaim = false;
  BandwidthSharing sharing = BandwidthSharing::none;
  Overshoot overshoot = Overshoot::carry;
};

/// Pure and deterministic; never allocates after construction; a call takes time linear in the domains. Not
/// thread-safe.
class BandwidthRegulator {
 public:
  /// Allocates all the memory that it will ever need.
  BandwidthRegulator(std::span<const BandwidthDomain> domains, const BandwidthRules& rules);

  /// Ends the period of `domain`, in which it moved `used` lines, and begins a new one. Returns how many lines the
  /// domain may move until its driver must call used_up(): `unlimited`, at least 1, or 0. `in_force`: the device works
  /// now.
  /// 0 means that the domain has moved so many lines beyond its budgets that it is held for this whole period. Its
  /// driver may still call used_up() at once, in case other domains have donated lines.
  /// The periods of all domains begin at the same instants. The first domain that begins a period also begins it for
  /// the pool of donated lines. `used` is 0 in the first call of a domain. `periods`: the number of periods that have
  /// ended since the domain's last call; if more than one has, `used` is the sum of all.
  [[nodiscard]] Lines begin_period(std::size_t domain, Lines used, bool in_force, std::uint64_t periods = 1) noexcept;

  /// For a domain that has just begun a period: lets its driver skip some periods. Returns half the budget: the driver
  /// looks at the domain again once it has moved so many lines, or after `periods` periods. Returns 0 if the driver
  /// must look at each period.
  /// A driver that looks earlier begins the current period with used = 0, and counts all lines since the pause began as
  /// moved in that period. So no period exceeds its budget, but the last one may end at half of it.
  /// The result is 0 for domains with real-time work, for domains that have a debt or are paying one, and if `reclaim`
  /// or sharing is enabled.
  [[nodiscard]] Lines pause(std::size_t domain, std::uint64_t periods) const noexcept;

  struct Answer {
    enum class Kind : std::uint8_t {
      /// The domain may move `lines` more from now, at least 1. `unlimited`: it has no limit for the rest of this
      /// period
      more,
      hold,  // it is held until the period ends, or until another domain's answer releases it
      go_on, // all held domains continue without a limit until the period ends (sharing = spare)
      /// A period begins now, for every domain: call begin_period() for each (sharing = proportional)
      new_period,
    } kind = Kind::hold;
    Lines lines = 0;
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  /// Reports that `domain` has moved `used` lines in this period: all that it was allowed. If `used` is less than that,
  /// the answer is the rest. With in_force = false, a domain that is limited only while the device works continues
  /// without a limit. A driver that releases a domain because the device has stopped working must make this call:
  /// otherwise the lines moved afterwards become a debt. A domain is held if it has not begun a period that others have
  /// begun.
  [[nodiscard]] Answer used_up(std::size_t domain, Lines used, bool in_force) noexcept;

  /// Sets the budget from the next period on. The budget of a domain that has no driver any more must be `unlimited`.
  /// Otherwise the domain seems to have lines left, and then domains that have used up theirs never share.
  void set_budget(std::size_t domain, Lines budget) noexcept;

  /// The state of a domain, for displays, tests and reports.
  struct State {
    Lines budget = unlimited; // in this period
    /// Lines that it may move in this period, including those from the pool. `unlimited`: no limit is in force, or no
    /// longer
    Lines given = unlimited;
    Lines predicted = 0; // lines that it is expected to use (reclaim)
    Lines debt = 0;      // lines moved beyond its budgets and not yet deducted
    bool held = false;   // its cores must not run
    /// It is held although it moved less than its own budget: it had donated lines, and other domains took them
    bool mispredicted = false;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] const State& state(std::size_t domain) const noexcept { return domains_[domain].state; }
  [[nodiscard]] Lines pool() const noexcept { return pool_; } // lines donated and not yet taken in this period

 private:
  struct Domain {
    State state;
    Lines own = unlimited;         // the budget of this period without the deducted debt
    Lines next_budget = unlimited; // from its next period on
    std::uint64_t period = 0;      // the number of the period that it began last; 0: none yet
    bool always = false;           // see BandwidthDomain
    bool donates = true;
  };

  void end_period(Domain& domain, Lines used, std::uint64_t periods) const noexcept;
  void enter_period(Domain& domain, std::uint64_t periods) noexcept;
  void give(Domain& domain, bool in_force) noexcept;
  void take_from_pool(Domain& domain, Lines used) noexcept;
  Answer hold(Domain& domain, Lines used) noexcept;
  [[nodiscard]] bool all_used_up() const noexcept;

  std::vector<Domain> domains_;
  BandwidthRules rules_;
  std::uint64_t period_ = 0; // the latest period that any domain has begun
  Lines pool_ = 0;
};

/// Adjusts the bandwidth limit of best-effort cores by how much they slow the device down. The caller reports each
/// execution on the device with the kind of its job. The loop first learns the undisturbed length of each kind: it
/// begins with the lowest limit until it knows them. Then it raises the limit while every kind is below the allowed
/// slowdown, and cuts it at once if one is above. Deterministic; never allocates after construction. Not thread-safe.
class BandwidthLoop {
 public:
  struct Settings {
    double slowdown = 1.1; // the largest allowed ratio of an execution to its undisturbed length; at least 1
    Bandwidth start{0};    // the limit once undisturbed lengths are known
    Bandwidth floor{0};    // the lowest limit
    Bandwidth ceiling{0};  // the highest limit: what a core can move at all
    std::size_t kinds = 0; // the number of kinds of jobs
  };
  explicit BandwidthLoop(const Settings& settings);
  /// Reports that a job of `kind` < kinds executed for `execution`. Returns the limit from now on. Lengths of 0 and
  /// less are ignored.
  Bandwidth executed(std::size_t kind, Duration execution) noexcept;
  [[nodiscard]] Bandwidth limit() const noexcept { return {limit_}; }
  /// Returns the undisturbed length of a kind as far as it is known; 0: not yet.
  [[nodiscard]] Duration undisturbed(std::size_t kind) const noexcept { return kinds_[kind].undisturbed; }
  /// True while the limit is the floor, until every kind that executes is known
  [[nodiscard]] bool learning() const noexcept { return learning_; }

  static constexpr unsigned learnt_from = 8; // after so many executions under the lowest limit, a kind is known
  /// Learning ends after so many executions of all kinds. A kind that has none among the last ones does not count
  static constexpr unsigned learning_window = 64;

 private:
  /// The second shortest of several executions. A single execution that is far too short has no effect, nor have any
  /// that are too long.
  struct Shortest {
    Duration first = Duration::max();
    Duration second = Duration::max();
    unsigned count = 0;
    void add(Duration execution) noexcept;
    [[nodiscard]] Duration robust() const noexcept { return count > 1 ? second : first; }
  };
  struct Kind {
    Duration undisturbed{0};
    Shortest quiet;         // executions under the floor
    Shortest recent;        // executions under any limit
    std::uint64_t last = 0; // the number of its last execution; 0: never
    double slowdown = 0;    // the largest in this round
    bool in_round = false;  // it executed since the limit was last examined
    bool known = false;
  };

  void learn(Kind& kind, Duration execution) noexcept;
  void go_on_learning() noexcept;
  void control(Kind& kind, Duration execution) noexcept;
  void cut(double slowdown) noexcept;
  void raise(double slowdown) noexcept;
  void set_limit(double limit) noexcept;
  void begin_round() noexcept;
  [[nodiscard]] bool executes(const Kind& kind) const noexcept {
    return kind.last > 0 && executions_ - kind.last < learning_window;
  }

  Settings settings_;
  std::vector<Kind> kinds_;
  std::uint64_t limit_ = 0;
  std::uint64_t resume_ = 0; // the limit after learning
  std::uint64_t executions_ = 0;
  std::uint64_t changed_ = 0; // the number of executions when the limit last changed
  std::uint64_t began_ = 0;   // the number of executions when learning began
  std::uint64_t learnt_ = 0;  // the number of executions when learning last ended
  bool learning_ = true;
};

} // namespace rtexec::policies
