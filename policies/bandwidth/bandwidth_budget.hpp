// Memory bandwidth budgets. A *domain* is a core, or a cluster of cores with one counter of memory traffic. The
// *budget* of a domain is the number of memory lines that the domain may move in each period. BandwidthRegulator
// decides what happens when a domain has moved all these lines. The regulator is a state machine like the device
// scheduler: it has no clock, no counter and no thread. The *driver* of the regulator reports counted lines, and stops
// the cores of a domain (the domain is *held*) as the regulator decides. A domain may donate lines that it does not
// need to a *pool*, from which other domains take lines. Lines that a domain moved beyond its budgets are its *debt*,
// which is deducted from later budgets. Drivers: rtexec/runtime/regulation (real cores), rtexec/studies/simulator (a
// model). Rules, guarantees and sources: proofs/bandwidth.md.
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

/// Returns the number of lines of size `line` that are moved in each `period` at `bandwidth`, rounded down. The result
/// is at least 1 and less than `unlimited` (Eq. (14) of Nigam's thesis). `line` and `period` must be above 0.
[[nodiscard]] Lines lines_of(Bandwidth bandwidth, Bytes line, Duration period);
/// Returns the bandwidth at which `lines` lines are moved in each `period`, rounded down. Returns the largest
/// representable bandwidth if the result would exceed it. `period` must be above 0.
[[nodiscard]] Bandwidth bandwidth_of(Lines lines, Bytes line, Duration period);

/// A core or a cluster of cores whose memory traffic one counter counts.
struct BandwidthDomain {
  Lines budget = unlimited; // memory lines in each period; at least 1
  bool always = false;      // true if the budget is always in force; false: only while the device works
  /// True if the domain donates unused lines to other domains. False: the domain has real-time work, and only receives
  /// lines
  bool donates = true;
};

struct BandwidthRules {
  bool reclaim = false;
  BandwidthSharing sharing = BandwidthSharing::none;
  Overshoot overshoot = Overshoot::carry;
};

/// Decides how many memory lines each domain may move, and when a domain is held (stopped). Pure and deterministic;
/// never allocates after construction. A call takes time linear in the number of domains. Not thread-safe.
class BandwidthRegulator {
 public:
  /// Allocates all memory of the object.
  BandwidthRegulator(std::span<const BandwidthDomain> domains, const BandwidthRules& rules);

  /// Ends the period of `domain`, in which it moved `used` lines, and begins its next period. `in_force`: true if the
  /// device works now. Returns the number of lines that the domain may move until its driver must call used_up(): at
  /// least 1, `unlimited`, or 0.
  ///
  /// 0 means that the domain is held for the whole period, because it moved too many lines beyond its budgets. Its
  /// driver may still call used_up() at once, in case other domains have donated lines.
  ///
  /// The periods of all domains begin at the same instants. The first domain that begins a period also begins this
  /// period for the pool of donated lines. `used` must be 0 in the first call for a domain. `periods`: the number of
  /// periods that have ended since the domain's last call. If `periods` is more than 1, `used` is the sum over all
  /// these periods.
  [[nodiscard]] Lines begin_period(std::size_t domain, Lines used, bool in_force, std::uint64_t periods = 1) noexcept;

  /// Requires that `domain` has just begun a period. Returns the number of lines (half the budget) that the domain may
  /// move before its driver must report again. The driver must also report after `periods` periods. Returns 0 if the
  /// driver must report in each period: if the domain has real-time work, has a debt or is paying a debt, or if
  /// `reclaim` or sharing is enabled.
  ///
  /// The driver may report earlier than required. Then it begins the current period with used = 0, and counts all lines
  /// since pause() was called as moved in the current period. So no period exceeds its budget, but the lines of the
  /// current period may already be used up after half of its budget.
  [[nodiscard]] Lines pause(std::size_t domain, std::uint64_t periods) const noexcept;

  struct Answer {
    enum class Kind : std::uint8_t {
      /// The domain may move `lines` more lines from now on, at least 1. `unlimited`: it has no limit for the rest of
      /// this period
      more,
      hold,  // the domain is held until the period ends, or until an answer to a call for another domain releases it
      go_on, // all held domains continue without a limit until the period ends (sharing = spare)
      /// A period begins now for every domain: the driver must call begin_period() for each domain (sharing =
      /// proportional)
      new_period,
    } kind = Kind::hold;
    Lines lines = 0;
    friend bool operator==(const Answer&, const Answer&) = default;
  };
  /// Reports that `domain` has moved `used` lines in this period, and so all lines that it was allowed. If `used` is
  /// less than the allowed number, the answer is the remaining number of lines. If `in_force` is false, a domain that
  /// is limited only while the device works continues without a limit. When the device stops working, a driver that
  /// releases a held domain must make this call. Otherwise the lines moved afterwards become a debt. A domain that has
  /// moved all its lines is held if other domains have begun a period that it has not begun.
  [[nodiscard]] Answer used_up(std::size_t domain, Lines used, bool in_force) noexcept;

  /// Sets the budget of the domain from its next period on. If a domain has no driver any more, its budget must be set
  /// to `unlimited`. Otherwise the domain seems to have lines left, and domains that have used up their budgets never
  /// share.
  void set_budget(std::size_t domain, Lines budget) noexcept;

  /// The state of a domain, for displays, tests and reports.
  struct State {
    Lines budget = unlimited; // the budget of this period
    /// The number of lines that the domain may move in this period, including lines from the pool. `unlimited`: the
    /// domain has no limit for the rest of this period
    Lines given = unlimited;
    Lines predicted = 0; // the lines that the domain is expected to move in a period
    Lines debt = 0;      // lines moved beyond the domain's budgets and not yet deducted from a budget
    bool held = false;   // true if the domain's cores must not run
    /// True if the domain is held although it moved less than its own budget. It had donated lines, which other domains
    /// took
    bool mispredicted = false;
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] const State& state(std::size_t domain) const noexcept { return domains_[domain].state; }
  [[nodiscard]] Lines pool() const noexcept { return pool_; } // lines donated and not yet taken in this period

 private:
  struct Domain {
    State state;
    Lines own = unlimited;         // the budget of this period without the deducted debt
    Lines next_budget = unlimited; // the budget from the domain's next period on
    std::uint64_t period = 0;      // the number of the period that the domain began last; 0: none yet
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

/// Adjusts the bandwidth limit of best-effort cores according to the slowdown that they cause on the device. The caller
/// reports each execution on the device with the *kind* of its job. The loop first learns the undisturbed execution
/// time of each kind under the lowest limit. A slowdown is an execution time divided by the undisturbed time of its
/// kind. In each *round*, every kind executes at least once. After a round the loop raises the limit if all slowdowns
/// are below the allowed slowdown. If one execution exceeds the allowed slowdown, the loop cuts the limit at once.
/// Deterministic; never allocates after construction. Not thread-safe.
class BandwidthLoop {
 public:
  struct Settings {
    /// The largest allowed ratio of an execution time to the undisturbed execution time; at least 1
    double slowdown = 1.1;
    Bandwidth start{0};    // the limit after the first learning
    Bandwidth floor{0};    // the lowest limit, also used for learning
    Bandwidth ceiling{0};  // the highest limit: the bandwidth of a core without a limit
    std::size_t kinds = 0; // the number of kinds of jobs
  };
  explicit BandwidthLoop(const Settings& settings);
  /// Reports that a job of kind `kind` executed on the device for the time `execution`. `kind` must be less than
  /// Settings::kinds. Returns the bandwidth limit that applies from now on. Execution times of 0 or less are ignored.
  Bandwidth executed(std::size_t kind, Duration execution) noexcept;
  [[nodiscard]] Bandwidth limit() const noexcept { return {limit_}; }
  /// Returns the undisturbed execution time of a kind, provisional while the kind is learnt; 0: not yet known.
  [[nodiscard]] Duration undisturbed(std::size_t kind) const noexcept { return kinds_[kind].undisturbed; }
  /// True while the loop learns undisturbed execution times. The limit is then the lowest limit (Settings::floor).
  /// Learning ends when the undisturbed time of every kind that executes is known
  [[nodiscard]] bool learning() const noexcept { return learning_; }

  static constexpr unsigned learnt_from = 8; // a kind is known after this number of executions under the lowest limit
  /// Learning ends after at most this number of executions, counted over all kinds. If a kind is not among the last
  /// `learning_window` executions, the end of learning does not depend on it
  static constexpr unsigned learning_window = 64;

 private:
  /// The second shortest of several execution times. A single time that is far too short does not affect the result.
  /// Times that are too long do not affect the result either, whatever their number.
  struct Shortest {
    Duration first = Duration::max();
    Duration second = Duration::max();
    unsigned count = 0;
    void add(Duration execution) noexcept;
    [[nodiscard]] Duration robust() const noexcept { return count > 1 ? second : first; }
  };
  struct Kind {
    Duration undisturbed{0};
    Shortest quiet;         // execution times under the lowest limit
    Shortest recent;        // execution times under any limit
    std::uint64_t last = 0; // the number of the kind's last execution, counted over all kinds; 0: never executed
    double slowdown = 0;    // the largest slowdown in this round
    bool in_round = false;  // true if the kind executed since the limit was last examined
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
  std::uint64_t resume_ = 0; // the limit that applies again when learning has ended
  std::uint64_t executions_ = 0;
  std::uint64_t changed_ = 0; // the number of executions when the limit last changed
  std::uint64_t began_ = 0;   // the number of executions when learning began
  std::uint64_t learnt_ = 0;  // the number of executions when learning last ended
  bool learning_ = true;
};

} // namespace rtexec::policies
