// The memory bandwidth control of a run. It regulates the cores that the task set limits. While the run's device
// executes or copies, the run holds a bandwidth lock, which other processes see. If the task set requests a slowdown, a
// closed loop adjusts the limit by the observed execution times.
#pragma once

#include "hal/core_claim.hpp"
#include "policies/bandwidth/bandwidth_budget.hpp"
#include <rtexec/bandwidth_lock.hpp>
#include <rtexec/executive.hpp>
#include "rtexec/runtime/regulation/regulation.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rtexec::executive {

/// The facts about the run that regulation needs.
struct RegulatedRun {
  std::set<unsigned> serving; // cores that execute real-time parts, or the threads that feed the device
  std::set<unsigned> claimed; // cores that the run has already claimed for itself
  bool proved = false;
};

class BandwidthControl {
 public:
  /// Plans the regulation of a set that has bandwidth limits. Returns the errors of plan_regulation(). Returns refused
  /// if the plan's proof need not hold under this regulation, and the set does not allow_degraded.
  [[nodiscard]] static Result<regulation::RegulationPlan> plan(const ResolvedSet& set, const RegulatedRun& run);
  /// Starts the regulation, and claims the cores that the regulation may throttle, so that no other run uses them.
  /// Returns the errors of Regulation::start(). Returns refused if another run holds a core for which the set defines a
  /// budget.
  [[nodiscard]] static Result<std::unique_ptr<BandwidthControl>> start(const ResolvedSet& set, const RegulatedRun& run,
                                                                       regulation::RegulationPlan plan);
  ~BandwidthControl();

  // The next four functions report the state of the device to other processes. Any thread may call them. The functions
  // neither block nor allocate, and their calls nest.
  void device_works() noexcept { locks_.lock(); } // acquires the fine-grained lock: an execution or a copy begins
  void device_rests() noexcept { locks_.unlock(); }
  /// Acquires the coarse lock (gpu_busy), which is held from a job's request for the device to the end of its device
  /// part
  void device_wanted() noexcept { locks_.gpu_busy(); }
  void device_left() noexcept { locks_.gpu_not_busy(); }
  /// Reports the time of a successful execution of `task` to the closed loop. Called by the compute engine's thread.
  void note_execution(std::uint32_t task, Duration execution) noexcept;

  /// A thread of the run on `core` calls join() before its first job, and leave() after its last job.
  [[nodiscard]] Result<> join(unsigned core) { return regulation_->join(core); }
  void leave(unsigned core) noexcept { regulation_->leave(core); }

  [[nodiscard]] BandwidthReport report() const;
  /// Returns the reasons why proved bounds need not hold under this regulation.
  [[nodiscard]] const std::vector<std::string>& degraded() const { return plan_.degraded; }
  /// Ends the regulation. Called after the run's threads have ended. The report stays available.
  void end();

 private:
  BandwidthControl(BandwidthLocks locks, const ResolvedSet& set, regulation::RegulationPlan plan);
  void set_limit(Bandwidth limit) noexcept;

  BandwidthLocks locks_;
  BandwidthReport first_; // static fields of the report; after end() the whole report
  regulation::RegulationPlan plan_;
  std::vector<hal::CoreClaim> claims_;
  std::optional<policies::BandwidthLoop> loop_;
  std::atomic<std::uint64_t> limit_{0}; // bytes per second; 0: the limit of the task set
  std::unique_ptr<regulation::Regulation> regulation_;
};

} // namespace rtexec::executive
