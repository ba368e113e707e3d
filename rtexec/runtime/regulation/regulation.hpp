// Limits the cores of a machine to their memory bandwidth budgets. A domain is a core, or some cores that share one
// counter and budget. One high-priority thread of each domain reads and arms the domain's counter
// (hal/bandwidth_counter.hpp), by the rules of policies/bandwidth/bandwidth_budget.hpp. Used by the executive, by
// calibration and by experiments.
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

/// A planned domain: its cores, their counter and their budget.
struct RegulatedDomain {
  std::vector<unsigned> cores;
  hal::CounterSettings counter;
  Bytes line{64};
  std::optional<Bandwidth> budget; // absent: the traffic is counted but not limited
  bool always = false;
  bool donates = true;
};

/// Observes regulation. The functions are called on the regulating thread of a domain, and must not block or allocate
/// unless their comments say otherwise.
struct RegulationObserver {
  /// Called before the domain's first period; may block and allocate
  void (*thread_begins)(void* self) noexcept = nullptr;
  /// Called whenever the budget changes
  void (*budget)(void* self, unsigned core, Instant at, Bytes bytes, Duration period) noexcept = nullptr;
  void (*throttle_begin)(void* self, unsigned core, Instant at) noexcept = nullptr;
  void (*throttle_end)(void* self, unsigned core, Instant at) noexcept = nullptr;
  /// Called if the counter failed, on a thread without priority; may block
  void (*lost)(void* self, unsigned core) noexcept = nullptr;
  void* self = nullptr;
};

struct RegulationSettings {
  Duration period{0};
  policies::BandwidthRules rules;
  RegulateWhile regulate_while = RegulateWhile::always;
  int priority = 99; // FIFO priority of the regulating threads
  RegulationObserver observer{};
  /// The function that opens counters. Empty: hal::open_counter
  std::function<Result<std::unique_ptr<hal::BandwidthCounter>>(const hal::CounterSettings&)> open_counter{};
};

class Regulation {
 public:
  /// Opens the counters and starts the threads; returns once all threads run. `locks` must outlive the result. Returns
  /// refused if the machine does not grant a resource.
  [[nodiscard]] static Result<std::unique_ptr<Regulation>> start(std::span<const RegulatedDomain> domains,
                                                                 const RegulationSettings& settings,
                                                                 BandwidthLocks& locks);
  virtual ~Regulation() = default; // calls end()
  /// Ends regulation. Afterwards no core is throttled, and the report is complete. Further calls have no effect.
  virtual void end() = 0;

  /// Sets a new budget for every domain whose budget is not always in force (RegulatedDomain::always is false); nullopt
  /// means no limit. The new budget is in force from the domain's next period on. The first change may take effect up
  /// to 20 ms later. Any thread; does not block.
  virtual void set_limit(std::optional<Bandwidth> limit) noexcept = 0;
  /// Returns the counts so far. May be called while regulation runs.
  [[nodiscard]] virtual std::vector<DomainReport> report() const = 0;
  /// Counts and limits the traffic of the calling thread, if the core's counter is CounterBackEnd::thread. Otherwise
  /// has no effect. The calling thread must be pinned to `core`.
  [[nodiscard]] virtual Result<> join(unsigned core) = 0;
  /// Ends the effect of join(). Each thread that called join() must call leave() before the thread ends.
  virtual void leave(unsigned core) noexcept = 0;
};

/// The planned regulation of a machine, by the tables [bandwidth] and [[bandwidth.core]] of a task set.
struct RegulationPlan {
  std::vector<RegulatedDomain> domains; // empty: nothing is regulated
  /// Lines of text: the chosen counter of each domain with the reason, and the limitations of the guarantee
  std::vector<std::string> reasons;
  /// The reasons why proved bounds need not hold on cores with real-time parts
  std::vector<std::string> degraded;
};

/// Checks the budgets as far as possible without facts about the machine. Returns bad_input if the board's memory
/// cannot provide a budget, if an event does not exist, or if a budget is less than one cache line in a period.
[[nodiscard]] Result<> check_budgets(const ResolvedSet& set);

/// The facts of a machine on which regulation depends. Some members are functions, so that tests can replace the
/// machine.
struct RegulatedMachine {
  std::vector<unsigned> online;
  bool holds = false; // true: threads may have FIFO priority, so that they can throttle their core by occupying it
  /// Returns the reasons why FIFO threads cannot occupy `core` all the time, such as real-time throttling
  std::function<std::vector<std::string>(unsigned core)> limits = [](unsigned) { return std::vector<std::string>(); };
  std::function<Result<std::vector<hal::CounterChoice>>(const Board&, const BandwidthOptions&,
                                                        std::span<const unsigned> cores, bool holds)>
      choose;
};
/// Returns the facts of the machine that the process runs on. `facts` must describe that machine.
[[nodiscard]] RegulatedMachine regulated(const MachineFacts& facts);
/// Returns the reasons why other work may run on a core although the core is throttled.
[[nodiscard]] std::vector<std::string> unthrottled(const RegulatedMachine& machine, unsigned core);

/// Plans the regulation. Requires that check_budgets() has succeeded. `own` are the cores that execute real-time parts,
/// or the threads that feed the device. Only a table [[bandwidth.core]] can limit these cores, and they never donate
/// unused budget. Returns bad_input if a core does not exist, or if the set defines two budgets for cores that share
/// one counter. Returns unsupported, with the trials made, if no counter counts the traffic of a core.
[[nodiscard]] Result<RegulationPlan> plan_regulation(const TaskSet& tasks, const Board& board,
                                                     std::span<const unsigned> own, const RegulatedMachine& machine);

} // namespace rtexec::regulation
