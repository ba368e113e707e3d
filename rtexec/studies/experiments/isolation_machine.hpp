// The isolation experiment on a machine: jobs on a board's device, co-runners on the other cores, and their budgets,
// enforced as the executive enforces them. A struct of functions represents the machine, so that tests need none.
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

/// A workload on its device, and the thread on the feeding core that runs its jobs.
class IsolatedWorkload {
 public:
  virtual ~IsolatedWorkload() = default;
  /// Runs job after job until `more`, which gets the time of the execution, returns false. A job is its first CPU part,
  /// the execution with `locks` held, and its last CPU part. Returns device_fault, or the workload's error.
  [[nodiscard]] virtual Result<> run(BandwidthLocks& locks, const std::function<bool(Duration execution)>& more) = 0;
  /// Runs `work` on the thread of the jobs.
  [[nodiscard]] virtual Result<> call(const std::function<Result<>()>& work) = 0;
};

struct IsolationMachine {
  std::string device;    // description
  std::string event;     // the event that is counted and limited
  bool stand_in = false; // the event is no memory traffic
  /// The device computes on the feeding core: limiting the core would limit the device
  bool device_on_cores = false;
  unsigned feeder = 0;             // core of the workload's thread
  std::vector<unsigned> corunners; // cores, in the order of use
  /// Counters of the domains of `corunners`, and of the feeder's domain if it can be limited as well
  std::vector<hal::CounterChoice> counters;
  std::vector<IsolationWorkload> workloads;
  std::string kernel;                            // the workload that executions() runs
  std::vector<std::string> notes;                // one line each: how cores are counted, what was left out
  Duration period{std::chrono::milliseconds(1)}; // period of regulation
  Duration length{0};                            // minimum length of a measurement

  /// Returns a workload that is valid until the next call, or the end of this object
  std::function<Result<IsolatedWorkload*>(const std::string& name)> prepare;
  StartCorunner corun;
  std::function<Result<std::unique_ptr<regulation::Regulation>>(std::span<const regulation::RegulatedDomain>,
                                                                const regulation::RegulationSettings&, BandwidthLocks&)>
      regulate;
  std::function<Instant()> now;
  std::function<void(Duration)> rest;
  std::function<bool()> going_on; // returns false if the user wants to stop; any thread may call
};

enum class MachineMode {
  rtexec, // limits the co-runners' cores while the device works (bw_lock), but not the core that feeds it
  /// Limits every core while the program that uses the device runs (gpu_busy; Nigam's thesis, Algorithm 3)
  thesis,
};
/// Returns the modes of a machine ("rtexec", "thesis"). The thesis's mode exists if the device is not the feeding core
/// itself, and that core can be counted.
[[nodiscard]] std::vector<MachineMode> modes_of(const IsolationMachine& machine);
[[nodiscard]] std::string_view name_of(MachineMode mode);

/// `machine` and `locks` must outlive the platform. If the event is a stand-in, the mode's name ends in "-stand-in" in
/// every output. The function measure() returns bad_input for a limit of less than a line in a period. It returns
/// refused if the machine refuses something, io_error if a core's counter ended, or cancelled.
[[nodiscard]] std::unique_ptr<IsolationPlant> machine_plant(const IsolationMachine& machine, MachineMode mode,
                                                            BandwidthLocks& locks);

struct IsolationRequest {
  Board board;
  std::string event; // empty: the board's event, or cache misses
  /// Networks besides the Winograd kernel; each is a workload with the name of its file
  std::vector<std::filesystem::path> models;
  Duration length{0};
  std::function<bool()> going_on;
};
/// Returns this machine with proved counters. Returns refused, with what was tried, if no core is left for a co-runner,
/// or nothing counts the co-runners' traffic.
[[nodiscard]] Result<IsolationMachine> isolation_machine(
    const IsolationRequest& request,
    const regulation::RegulatedMachine& machine = regulation::regulated(this_machine()));

} // namespace rtexec::study
