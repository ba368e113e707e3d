// Holds the cores of a machine to their memory bandwidth budgets: one thread of high priority on each regulated core
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

/// A regulated domain, as planned: its cores, and what they may move.
struct RegulatedDomain {
  std::vector<unsigned> cores;
  hal::CounterSettings counter;
  Bytes line{64};
  std::optional<Bandwidth> budget; // absent: unlimited, and only counted
  bool always = false;
  bool donates = true;
};

/// Told on the regulating thread of a domain; plain functions: must not block or allocate.
struct RegulationObserver {
  /// Of a domain, before its first period: may block and allocate
  void (*thread_begins)(void* self) noexcept = nullptr;
  /// Whenever it changes
  void (*budget)(void* self, unsigned core, Instant at, Bytes bytes, Duration period) noexcept = nullptr;
  void (*throttle_begin)(void* self, unsigned core, Instant at) noexcept = nullptr;
  void (*throttle_end)(void* self, unsigned core, Instant at) noexcept = nullptr;
  /// Its counter ended; from a thread without priority, which may block
  void (*lost)(void* self, unsigned core) noexcept = nullptr;
  void* self = nullptr;
};

struct RegulationSettings {
  Duration period{0};
  policies::BandwidthRules rules;
  RegulateWhile regulate_while = RegulateWhile::always;
  int priority = 99; // FIFO, of the regulating threads
  RegulationObserver observer{};
  /// Empty: hal::open_counter
  std::function<Result<std::unique_ptr<hal::BandwidthCounter>>(const hal::CounterSettings&)> open_counter{};
};

class Regulation {
 public:
  /// Opens the counters, starts the threads; returns once every one of them runs. `locks` outlives this. refused: what
  /// the machine does not give.
  [[nodiscard]] static Result<std::unique_ptr<Regulation>> start(std::span<const RegulatedDomain> domains,
                                                                 const RegulationSettings& settings,
                                                                 BandwidthLocks& locks);
  virtual ~Regulation() = default; // ends
  /// No core is held any more; the report is complete. Once is enough.
  virtual void end() = 0;

  /// A new budget of every domain that is not `always`, from its next period on; the first time within 20 ms. Any
  /// thread; does not block.
  virtual void set_limit(std::optional<Bandwidth> limit) noexcept = 0;
  /// May be called while it runs.
  [[nodiscard]] virtual std::vector<DomainReport> report() const = 0;
  /// The calling thread, pinned to a regulated core, is counted and stopped where the back end is `thread`.
  [[nodiscard]] virtual Result<> join(unsigned core) = 0;
  /// The calling thread is so no longer; before it ends.
  virtual void leave(unsigned core) noexcept = 0;
};

/// What [bandwidth] and [[bandwidth.core]] come to on a machine.
struct RegulationPlan {
  std::vector<RegulatedDomain> domains; // empty: nothing is regulated
  /// A line for each domain: what was chosen, and why; and what limits the guarantee
  std::vector<std::string> reasons;
  /// Why bounds that were proved need not hold on a core with real-time parts
  std::vector<std::string> degraded;
};

/// Whether what a set asks of a board can be had, on whatever machine. bad_input: a budget that the board's memory
/// cannot give or a period cannot express; an event that is none.
[[nodiscard]] Result<> check_budgets(const ResolvedSet& set);

/// The machine as far as regulation depends on it; functions, so that tests need none.
struct RegulatedMachine {
  std::vector<unsigned> online;
  bool holds = false; // threads may have FIFO priority
  /// What is taken from FIFO threads there
  std::function<std::vector<std::string>(unsigned core)> limits = [](unsigned) { return std::vector<std::string>(); };
  std::function<Result<std::vector<hal::CounterChoice>>(const Board&, const BandwidthOptions&,
                                                        std::span<const unsigned> cores, bool holds)>
      choose;
};
/// This machine; `facts` are its own.
[[nodiscard]] RegulatedMachine regulated(const MachineFacts& facts);
/// Why a core is not throttled all the time that it should be.
[[nodiscard]] std::vector<std::string> unthrottled(const RegulatedMachine& machine, unsigned core);

/// `own`: cores of real-time parts, and of the threads that feed the device: [[bandwidth.core]] alone limits them, and
/// they never donate. Errors, after check_budgets(): bad_input: a core that is not there, two budgets for one
/// counter; unsupported: nothing counts the traffic of a core, with what was tried.
[[nodiscard]] Result<RegulationPlan> plan_regulation(const TaskSet& tasks, const Board& board,
                                                     std::span<const unsigned> own, const RegulatedMachine& machine);

} // namespace rtexec::regulation
