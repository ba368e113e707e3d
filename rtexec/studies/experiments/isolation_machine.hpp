// The isolation experiment (isolation.hpp) on a machine. Jobs run on a board's device, and co-runners on the other
// cores. Budgets limit these cores as in the executive. The machine is accessed through a struct of functions, which
// tests can replace.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include "hal/bandwidth_counter.hpp"
#include <rtexec/bandwidth_lock.hpp>
#include "rtexec/runtime/regulation/regulation.hpp"
#include "rtexec/studies/calibration/corunner.hpp"
#include "rtexec/studies/experiments/isolation.hpp"
#include <rtexec/planning.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::study {

/// A workload on its device, with the thread that runs its jobs. The thread is on the feeder: the core that feeds the
/// device.
class IsolatedWorkload {
 public:
  virtual ~IsolatedWorkload() = default;
  /// Runs jobs one after the other. After each job, calls `more` with the time of the job's execution, and ends if
  /// `more` returns false. A job consists of its first CPU part, the execution with `locks` held, and its last CPU
  /// part. Returns device_fault, or the workload's error.
  [[nodiscard]] virtual Result<> run(BandwidthLocks& locks, const std::function<bool(Duration execution)>& more) = 0;
  /// Runs `work` on the thread that runs the jobs.
  [[nodiscard]] virtual Result<> call(const std::function<Result<>()>& work) = 0;
};

struct IsolationMachine {
  std::string device;    // description of the device
  std::string event;     // the event that is counted and limited
  bool stand_in = false; // true if the event is a substitute and not memory traffic
  /// True if the device computes on the feeder, so that a limit on the feeder would also limit the device
  bool device_on_cores = false;
  unsigned feeder = 0;             // the core of the workload's thread
  std::vector<unsigned> corunners; // the cores of co-runners, in the order of use
  /// The counters of the domains of `corunners`. If the feeder can be limited too, the counter of the feeder's domain
  /// is included
  std::vector<hal::CounterChoice> counters;
  std::vector<IsolationWorkload> workloads;
  std::string kernel;                            // the workload that IsolationPlatform::executions() runs
  std::vector<std::string> notes;                // how cores are counted, which cores are left out; one line each
  Duration period{std::chrono::milliseconds(1)}; // the period of regulation
  Duration length{0};                            // the minimum length of a measurement

  /// Returns the workload of this name. The workload is valid until the next call, or until the end of this object
  std::function<Result<IsolatedWorkload*>(const std::string& name)> prepare;
  StartCorunner corun;
  std::function<Result<std::unique_ptr<regulation::Regulation>>(std::span<const regulation::RegulatedDomain>,
                                                                const regulation::RegulationSettings&, BandwidthLocks&)>
      regulate;
  std::function<Instant()> now;
  std::function<void(Duration)> rest;
  std::function<bool()> going_on; // returns false if the user wants to stop; any thread may call this function
};

enum class MachineMode {
  rtexec, // limits the co-runners' cores, but not the feeder, while the device works (bw_lock)
  /// Limits every core while the program that uses the device runs (gpu_busy; Nigam's thesis, Algorithm 3)
  thesis,
};
/// Returns the modes that the machine supports. The mode `thesis` needs a device that does not compute on the feeder,
/// and a counter of the feeder.
[[nodiscard]] std::vector<MachineMode> modes_of(const IsolationMachine& machine);
[[nodiscard]] std::string_view name_of(MachineMode mode);

/// Returns the experiment's platform on `machine`. `machine` and `locks` must outlive the platform. If the event is a
/// substitute for memory traffic, the mode's name ends in "-stand-in" in every output. measure() returns bad_input if
/// the limit is less than one line per period, and refused if the machine refuses a request. measure() returns io_error
/// if a core's counter ended, and cancelled if the user stopped it.
[[nodiscard]] std::unique_ptr<IsolationPlatform> machine_platform(const IsolationMachine& machine, MachineMode mode,
                                                                  BandwidthLocks& locks);

struct IsolationRequest {
  Board board;
  std::string event; // empty: the board's event or, without one, cache misses
  /// Networks that are measured in addition to the Winograd kernel. Each network becomes a workload with the name of
  /// its file
  std::vector<std::filesystem::path> models;
  Duration length{0};
  std::function<bool()> going_on;
};
/// Returns this machine with counters that passed a trial. Returns refused, with a description of the trials, if no
/// core is left for a co-runner, or if no counter counts the co-runners' traffic.
[[nodiscard]] Result<IsolationMachine> isolation_machine(
    const IsolationRequest& request,
    const regulation::RegulatedMachine& machine = regulation::regulated(this_machine()));

} // namespace rtexec::study
