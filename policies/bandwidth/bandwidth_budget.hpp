// Memory bandwidth budgets: how many lines each domain (a core, or a cluster with one counter) may move in each period,
// and what it may do once it has. A state machine like the scheduler core: no clock, no counter, no thread. Whoever
// drives it tells it what was counted, and holds the cores of a domain that is to stand still. The drivers:
// rtexec/runtime/regulation (real cores), rtexec/studies/simulator (a model). Rules, guarantees and sources:
// proofs/bandwidth.md.
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

/// Eq. (14) of Nigam's thesis: lines of size `line` in each `period` at `bandwidth`, rounded down; at least 1, less
/// than `unlimited`. `line` and `period` are above 0.
[[nodiscard]] Lines lines_of(Bandwidth bandwidth, Bytes line, Duration period);
/// The bandwidth of `lines` in each `period`, rounded down; the largest there is where it does not fit. `period` is
/// above 0.
[[nodiscard]] Bandwidth bandwidth_of(Lines lines, Bytes line, Duration period);

/// A core, or a cluster of cores, whose traffic is counted by one counter.
struct BandwidthDomain {
  Lines budget = unlimited; // in each period; at least 1
  bool always = false;      // in force always; otherwise only while the device works
  bool donates = true;      // false: with real-time work on it, it only receives
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
  /// Allocates all that it will ever need.
  BandwidthRegulator(std::span<const BandwidthDomain> domains, const BandwidthRules& rules);

  /// The period of `domain` ended with `used` lines moved in it, and a new one begins; `in_force`: the device works
  /// now. Returns how many lines it may move until it has to ask: `unlimited`; or at least 1; or 0: it has moved so
  /// much beyond its budgets that it stands still for this whole period (it may ask used_up() at once, whether others
  /// left it something). Every domain's period begins at the same instants; the first domain that begins a period
  /// begins it for the pool of donated lines. The first call of a domain has used = 0. `periods`: that ended since its
  /// last call; where more than one did, `used` is the lines of all.
  [[nodiscard]] Lines begin_period(std::size_t domain, Lines used, bool in_force, std::uint64_t periods = 1) noexcept;

  /// For a domain that has just begun a period: whether it moves so little that nobody need look at it before `periods`
  /// of them are over, or it has moved the lines returned, half its budget. Whoever looks earlier begins the period
  /// that then runs with used = 0, and counts all that was moved since the pause began as moved in it: so none exceeds
  /// its budget, and that one may end at half of it. 0: look at each period. So it is for domains with real-time work,
  /// those that have a debt or pay one now, and with reclaim or sharing.
  [[nodiscard]] Lines pause(std::size_t domain, std::uint64_t periods) const noexcept;

  struct Answer {
    enum class Kind : std::uint8_t {
      /// It may move `lines` more from now, at least 1; `unlimited`: no limit is in force any more in this period
      more,
      hold,  // it stands still until the period ends, or another domain's answer ends that
      go_on, // without a limit until the period ends: every domain that stands still too (sharing = spare)
      /// A period begins now, for every domain: call begin_period() for each (sharing = proportional)
      new_period,
    } kind = Kind::hold;
    Lines lines = 0;
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  /// `domain` has moved `used` lines in this period: all that it was allowed (if less, it is told the rest). Asked with
  /// in_force = false, a domain that is limited only while the device works goes on without a limit: ask for one that
  /// is let go because the device works no more, or what it moves then becomes a debt. One that has not begun a period
  /// that others have is held.
  [[nodiscard]] Answer used_up(std::size_t domain, Lines used, bool in_force) noexcept;

  /// A new budget from the next period on. A domain that is driven no more must be set `unlimited`: otherwise it counts
  /// as one that has not used its budget up, and nothing is ever shared.
  void set_budget(std::size_t domain, Lines budget) noexcept;

  /// For pictures, tests and reports.
  struct State {
    Lines budget = unlimited; // of this period
    /// So far in this period, from the pool too; `unlimited`: no limit is in force in it, or none any more
    Lines given = unlimited;
    Lines predicted = 0; // of what it will use (reclaim)
    Lines debt = 0;      // moved beyond its budgets, and not yet taken off
    bool held = false;   // it stands still
    /// It stands still with less moved than its own lines: it had donated them, and others took them
    bool mispredicted = false;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] const State& state(std::size_t domain) const noexcept { return domains_[domain].state; }
  [[nodiscard]] Lines pool() const noexcept { return pool_; } // donated and not yet taken in this period

 private:
  struct Domain {
    State state;
    Lines own = unlimited;         // its budget less the debt that was taken off, in this period
    Lines next_budget = unlimited; // from its next period on
    std::uint64_t period = 0;      // that it has begun; 0: none yet
    bool always = false;
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
  std::uint64_t period_ = 0; // the latest that any domain has begun
  Lines pool_ = 0;
};

/// Sets the limit of best-effort cores by how much the device is slowed down. Fed by each execution on the device, one
/// kind of job at a time: the undisturbed length of each kind is learnt under the lowest limit, so the loop begins
/// there until it knows enough; then it raises the limit while every kind is below the wanted slowdown, and cuts it at
/// once when one is above. Deterministic; never allocates after construction. Not thread-safe.
class BandwidthLoop {
 public:
  struct Settings {
    double slowdown = 1.1; // wanted at most; at least 1
    Bandwidth start{0};    // the limit once undisturbed lengths are known
    Bandwidth floor{0};    // never below
    Bandwidth ceiling{0};  // never above: what a core can move at all
    std::size_t kinds = 0; // of jobs
  };
  explicit BandwidthLoop(const Settings& settings);
  /// A job of `kind` < kinds executed for `execution`; returns the limit from now on. Lengths of 0 and less are
  /// ignored.
  Bandwidth executed(std::size_t kind, Duration execution) noexcept;
  [[nodiscard]] Bandwidth limit() const noexcept { return {limit_}; }
  /// Undisturbed length of a kind as far as it is known; 0: not yet.
  [[nodiscard]] Duration undisturbed(std::size_t kind) const noexcept { return kinds_[kind].undisturbed; }
  /// The limit is the floor until every kind that executes is known
  [[nodiscard]] bool learning() const noexcept { return learning_; }

  static constexpr unsigned learnt_from = 8; // executions of a kind
  /// Executions of any kind: for so long it learns at most, and counts a kind as one that executes
  static constexpr unsigned learning_window = 64;

 private:
  /// The second shortest of several executions: one that is far too short, or any number that are too long, do not
  /// matter.
  struct Shortest {
    Duration first = Duration::max();
    Duration second = Duration::max();
    unsigned count = 0;
    void add(Duration execution) noexcept;
    [[nodiscard]] Duration robust() const noexcept { return count > 1 ? second : first; }
  };
  struct Kind {
    Duration undisturbed{0};
    Shortest quiet;         // under the floor
    Shortest recent;        // under any limit
    std::uint64_t last = 0; // when it executed, in executions; 0: never
    double slowdown = 0;    // the largest of this round
    bool in_round = false;  // it executed since the limit was last looked at
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
  std::uint64_t changed_ = 0; // the limit, last, in executions
  std::uint64_t began_ = 0;   // to learn, in executions
  std::uint64_t learnt_ = 0;  // last, in executions
  bool learning_ = true;
};

} // namespace rtexec::policies
