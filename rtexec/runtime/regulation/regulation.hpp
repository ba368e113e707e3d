// Limits the cores of a machine to their memory bandwidth budgets. On each regulated core, one high-priority thread
// drives the counter of its domain (hal/bandwidth_counter.hpp) by the rules of policies/bandwidth/bandwidth_budget.hpp.
// Used by the executive, by calibration and by experiments.
#pragma once

#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>
#include "hal/bandwidth_counter.hpp"
#include "policies/bandwidth/bandwidth_budget.hpp"
#include <rtexec/bandwidth_lock.hpp>
#include <rtexec/report.hpp>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::regulation {

/// A planned domain: its cores, and their budget.
struct RegulatedDomain {
  std::vector<unsigned> cores;
  hal::CounterSettings counter;
  Bytes line{64};
  std::optional<Bandwidth> budget; // absent: unlimited, and only counted
  bool always = false;
  bool donates = true;
};

/// Observes regulation. Plain functions, called on the regulating thread of a domain: must not block or allocate.
struct RegulationObserver {
  /// Called in a domain's thread before its first period; may block and allocate
  void (*thread_begins)(void* self) noexcept = nullptr;
  /// Called whenever the budget changes
  void (*budget)(void* self, unsigned core, Instant at, Bytes bytes, Duration period) noexcept = nullptr;
  void (*throttle_begin)(void* self, unsigned core, Instant at) noexcept = nullptr;
  void (*throttle_end)(void* self, unsigned core, Instant at) noexcept = nullptr;
  /// Called if the counter failed, by a thread without priority; may block
  void (*lost)(void* self, unsigned core) noexcept = nullptr;
  void* self = nullptr;
};

struct RegulationSettings {
  Duration period{0};
  policies::BandwidthRules rules;
  RegulateWhile regulate_while = RegulateWhile::always;
  int priority = 99; // FIFO priority of the regulating threads
  RegulationObserver observer{};
  /// Opens counters. Empty: hal::open_counter is used
  std::function<Result<std::unique_ptr<hal::BandwidthCounter>>(const hal::CounterSettings&)> open_counter{};
};

class Regulation {
 public:
  /// Opens the counters and starts the threads; returns once all of them run. `locks` outlives this. Returns refused if
  /// the machine does not grant a resource.
  [[nodiscard]] static Result<std::unique_ptr<Regulation>> start(std::span<const RegulatedDomain> domains,
                                                                 const RegulationSettings& settings,
                                                                 BandwidthLocks& locks);
  virtual ~Regulation() = default; // calls end()
  /// Ends regulation: throttles no core any more, and completes the report. Further calls have no effect.
  virtual void end() = 0;

  /// Sets a new budget for every domain that is not `always`, from its next period on. The first change takes effect
  /// within 20 ms. Any thread; does not block.
  virtual void set_limit(std::optional<Bandwidth> limit) noexcept = 0;
  /// Returns the counts so far. May be called while regulation runs.
  [[nodiscard]] virtual std::vector<DomainReport> report() const = 0;
  /// Lets the calling thread, which is pinned to a regulated core, be counted and stopped if the back end is `thread`.
  [[nodiscard]] virtual Result<> join(unsigned core) = 0;
  /// Ends join() for the calling thread, which must call this before it ends.
  virtual void leave(unsigned core) noexcept = 0;
};

/// The result of [bandwidth] and [[bandwidth.core]] on a machine.
struct RegulationPlan {
  std::vector<RegulatedDomain> domains; // empty: nothing is regulated
  /// A line for each domain: the choice and its reason; also the limits of the guarantee
  std::vector<std::string> reasons;
  /// Reasons why proved bounds need not hold on a core with real-time parts
  std::vector<std::string> degraded;
};

/// Checks budgets independently of the machine. Returns bad_input if the board's memory cannot provide a budget, a
/// period cannot express it, or an event does not exist.
[[nodiscard]] Result<> check_budgets(const ResolvedSet& set);

/// The facts of the machine that regulation depends on; functions, so that tests need no machine.
struct RegulatedMachine {
  std::vector<unsigned> online;
  bool holds = false; // threads may have FIFO priority, and so stop others on their core
  /// Returns the limits of FIFO threads on that core
  std::function<std::vector<std::string>(unsigned core)> limits = [](unsigned) { return std::vector<std::string>(); };
  std::function<Result<std::vector<hal::CounterChoice>>(const Board&, const BandwidthOptions&,
                                                        std::span<const unsigned> cores, bool holds)>
      choose;
};
/// Returns this machine; `facts` must be its own.
[[nodiscard]] RegulatedMachine regulated(const MachineFacts& facts);
/// Returns the reasons why a core may run although it is throttled.
[[nodiscard]] std::vector<std::string> unthrottled(const RegulatedMachine& machine, unsigned core);

/// Plans the regulation. `own`: cores of real-time parts, and of the threads that feed the device. Only
/// [[bandwidth.core]] limits them, and they never donate. Requires check_budgets(). Returns bad_input if a core does
/// not exist, or two budgets share one counter. Returns unsupported if no counter counts the traffic of a core, with
/// the trials made.
[[nodiscard]] Result<RegulationPlan> plan_regulation(const TaskSet& tasks, const Board& board,
                                                     std::span<const unsigned> own, const RegulatedMachine& machine);

} // namespace rtexec::regulation
