// What a run does about memory bandwidth: regulates the cores that the task set limits, tells everyone while its device
// works, and where a slowdown is asked for, sets the limit by the executions that it sees.
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

/// What regulation has to know of the run that it serves.
struct RegulatedRun {
  std::set<unsigned> serving; // cores of real-time parts, and of the threads that feed the device
  std::set<unsigned> claimed; // cores that the run holds against other runs already
  bool proved = false;
};

class BandwidthControl {
 public:
  /// Of a set that limits anything. Errors: those of plan_regulation(); refused: what was proved need not hold here
  /// (and no allow_degraded).
  [[nodiscard]] static Result<regulation::RegulationPlan> plan(const ResolvedSet& set, const RegulatedRun& run);
  /// Claims the cores that it may hold. Errors: those of Regulation::start(); refused: another run has a core that the
  /// set gives a budget.
  [[nodiscard]] static Result<std::unique_ptr<BandwidthControl>> start(const ResolvedSet& set, const RegulatedRun& run,
                                                                       regulation::RegulationPlan plan);
  ~BandwidthControl();

  // Any thread; neither blocks nor allocates. Nested.
  void device_works() noexcept { locks_.lock(); } // bw_lock: an execution or a copy
  void device_rests() noexcept { locks_.unlock(); }
  /// Gpu_busy: from a job's request to the end of its device part
  void device_wanted() noexcept { locks_.gpu_busy(); }
  void device_left() noexcept { locks_.gpu_not_busy(); }
  /// From the compute engine's thread.
  void note_execution(std::uint32_t task, Duration execution) noexcept;

  /// By a thread of the run on `core`, before its first job and after its last one.
  [[nodiscard]] Result<> join(unsigned core) { return regulation_->join(core); }
  void leave(unsigned core) noexcept { regulation_->leave(core); }

  [[nodiscard]] BandwidthReport report() const;
  /// Why bounds that were proved need not hold.
  [[nodiscard]] const std::vector<std::string>& degraded() const { return plan_.degraded; }
  /// No core is held any more. Once the run's threads have ended; the report stays.
  void end();

 private:
  BandwidthControl(BandwidthLocks locks, const ResolvedSet& set, regulation::RegulationPlan plan);
  void set_limit(Bandwidth limit) noexcept;

  BandwidthLocks locks_;
  BandwidthReport first_; // what stays as it is; after the end all of it
  regulation::RegulationPlan plan_;
  std::vector<hal::CoreClaim> claims_;
  std::optional<policies::BandwidthLoop> loop_;
  std::atomic<std::uint64_t> limit_{0}; // bytes a second; 0: as asked
  std::unique_ptr<regulation::Regulation> regulation_;
};

} // namespace rtexec::executive
