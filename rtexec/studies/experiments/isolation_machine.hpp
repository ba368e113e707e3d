// The isolation experiment on a machine: jobs on a board's device, co-runners on the other cores, and budgets of these,
// held as the executive holds them. What it needs of the machine is a struct of functions, so that tests need none.
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
  /// Job after job: its first CPU part, the execution with `locks` held, its last CPU part; until `more`, told how long
  /// the execution took, returns false. Returns then. device_fault, or what the workload says.
  [[nodiscard]] virtual Result<> run(BandwidthLocks& locks, const std::function<bool(Duration execution)>& more) = 0;
  /// On the thread of its jobs.
  [[nodiscard]] virtual Result<> call(const std::function<Result<>()>& work) = 0;
};

struct IsolationMachine {
  std::string device;    // which, in words
  std::string event;     // that is counted and limited
  bool stand_in = false; // the event is no memory traffic
  /// The feeding core computes what the device would: limiting it would limit the device
  bool device_on_cores = false;
  unsigned feeder = 0;             // core of the workload's thread
  std::vector<unsigned> corunners; // cores, in the order in which they are taken
  /// Of the domains of `corunners`, and of the feeder's, where it can be limited as well
  std::vector<hal::CounterChoice> counters;
  std::vector<IsolationWorkload> workloads;
  std::string kernel;                            // of them, that executions() runs
  std::vector<std::string> notes;                // a line each: how cores are counted, what was left out
  Duration period{std::chrono::milliseconds(1)}; // of regulation
  Duration length{0};                            // of a measurement, at least

  /// Valid until the next call, or the end of this
  std::function<Result<IsolatedWorkload*>(const std::string& name)> prepare;
  StartCorunner corun;
  std::function<Result<std::unique_ptr<regulation::Regulation>>(std::span<const regulation::RegulatedDomain>,
                                                                const regulation::RegulationSettings&, BandwidthLocks&)>
      regulate;
  std::function<Instant()> now;
  std::function<void(Duration)> rest;
  std::function<bool()> going_on; // false: the user wants no more; any thread
};

enum class MachineMode {
  rtexec, // co-runners' cores are limited while the device works (bw_lock); the core that feeds it is not
  /// Every core is limited while the program that uses the device runs (gpu_busy; Nigam's thesis, Algorithm 3)
  thesis,
};
/// Of a machine, by name ("rtexec", "thesis"): the thesis's where the device is not the feeding core itself, and that
/// core can be counted.
[[nodiscard]] std::vector<MachineMode> modes_of(const IsolationMachine& machine);
[[nodiscard]] std::string_view name_of(MachineMode mode);

/// `machine` and `locks` outlive it. The mode's name ends in "-stand-in" where the event is one, in every output.
/// Errors of measure(): bad_input: a limit of less than a line in a period; refused: what the machine does not give;
/// io_error: a core's counter ended; cancelled.
[[nodiscard]] std::unique_ptr<IsolationPlant> machine_plant(const IsolationMachine& machine, MachineMode mode,
                                                            BandwidthLocks& locks);

struct IsolationRequest {
  Board board;
  std::string event; // empty: the board's, or cache misses
  /// Networks beside the Winograd kernel: each a workload by the name of its file
  std::vector<std::filesystem::path> models;
  Duration length{0};
  std::function<bool()> going_on;
};
/// This machine, its counters proved. refused: no core is left for a co-runner, or nothing counts their traffic, with
/// what was tried.
[[nodiscard]] Result<IsolationMachine> isolation_machine(
    const IsolationRequest& request,
    const regulation::RegulatedMachine& machine = regulation::regulated(this_machine()));

} // namespace rtexec::study
