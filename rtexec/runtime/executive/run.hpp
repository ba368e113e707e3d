// One run of an executive, from its plan to its report. This is the implementation of Executive, and the state that its
// functions share. A run owns workloads, device and threads. The threading rules of Executive apply.
#pragma once

#include <rtexec/report.hpp>
#include "rtexec/runtime/executive/bandwidth_control.hpp"
#include "rtexec/runtime/watches/drift_monitor.hpp"
#include "rtexec/runtime/watches/heartbeat.hpp"
#include "rtexec/runtime/watches/clock_watch.hpp"
#include "rtexec/runtime/executive/device_driver.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"
#include "rtexec/runtime/executive/machine_claims.hpp"
#include "rtexec/runtime/executive/notifier.hpp"
#include "rtexec/runtime/executive/placement.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/runtime/executive/status_page.hpp"
#include "rtexec/runtime/executive/steal_watch.hpp"
#include "rtexec/runtime/executive/task_run.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::executive {

class Run {
 public:
  /// Loads the set, plans it, and cuts its workloads into segments as planned.
  static Result<std::unique_ptr<Run>> prepare(TaskSet tasks, Setup setup);
  Run(LoadedSet set, Plan plan, Setup setup);
  ~Run();

  Result<> start();
  Result<> startable() const;
  /// Acquires all resources that the set requires from the machine, and returns the results. Continues after a refusal,
  /// so that one call reports all failures. Called by start(), or instead of start() to check if the run could begin.
  std::vector<Requirement> ask(Placement& placement);
  /// Checks the cameras, messages and folders of the tasks, and returns all results. Called instead of start(), which
  /// reports only the first failure.
  std::vector<Requirement> acquire_channels();
  bool wait(std::optional<Duration> at_most);
  Instant planned_end() const;
  Report report() const;
  Stop stopped_by(Instant now) const;
  std::optional<SwapReport> swap_report() const;
  Report stop();
  JobRecords job_records() const;
  bool trigger(std::string_view task) noexcept;

  LoadedSet set_;
  Plan plan_;
  RunControl control_;
  std::vector<std::string> degraded_;
  ChainRuns chains_;

 private:
  /// A thread whose page faults are counted from the start of the run (`started_`).
  struct Watched {
    std::string name;
    SchedulingClass scheduling;
    int kernel_id = 0;
    bool maps = false; // true: its page faults are not counted, because its work is to map memory
    long faults_at_start = 0;
  };

  void connect_followers();
  std::optional<Requirement> acquire_interference(const Placement& placement);
  std::optional<Requirement> acquire_budgets(const Placement& placement);
  Requirement acquire_device();
  Result<> take_machine(Placement& placement);
  RegulatedRun regulated(const Placement& placement) const;
  Result<> regulate(const Placement& placement);
  Result<> fit_out_device(const Placement& placement);
  Result<> prepare_engines();
  [[nodiscard]] std::vector<hal::EngineKind> compute_engines() const;
  /// True if copy engines copy continuously while jobs execute, so that executions are measured with concurrent copies.
  [[nodiscard]] bool background_copies() const {
    return setup_.background_copies && (plan_.swap || set_.measures_streams);
  }
  Result<> fill_device();
  void place_links();
  Result<std::unique_ptr<hal::BackingStore>> open_store(hal::Device& device, std::size_t chunks) const;
  Result<> start_thread(const hal::ThreadSettings& settings, std::function<void()> body);
  Result<> start_threads(const Placement& placement);
  Result<> start_notifier();
  Result<> await_warm_up();
  Result<> note_memory();
  bool device_failed();
  void record_plan();
  void record_probes(const Placement& placement) const;
  void watch_cores(const Placement& placement);
  void look(Duration at);
  void publish();
  Result<> start_heartbeat();
  Snapshot first_snapshot() const;
  void show(Snapshot& snapshot);
  std::optional<Notice> take_notice() noexcept;
  void end_threads() noexcept;

  Setup setup_;
  MachineClaims claims_{set_};
  std::unique_ptr<hal::Device> device_;
  policies::DeviceScheduler scheduler_{plan_};        // moved into the driver at the start
  std::optional<regulation::RegulationPlan> budgets_; // present if the set has budgets, once they are assigned
  std::unique_ptr<BandwidthControl> bandwidth_;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<std::unique_ptr<TaskRun>> runs_;
  std::unique_ptr<DeviceDriver> driver_;
  std::vector<hal::Thread> threads_; // the scheduler thread first, then two threads for each task
  std::vector<Watched> watched_;
  DriftMonitor drift_; // checks that these threads and the device's engines keep their scheduling class and cores
  ClockWatch clocks_;
  StealWatch steal_;
  std::unique_ptr<Notifier> notifier_; // present if there are callbacks
  std::optional<Instant> started_;     // the instant from which the releases of tasks count
  std::optional<DeviceReport> device_report_;
  std::optional<DeviceFaultReport> device_fault_;
  std::optional<Report> final_report_;
  std::optional<StatusPageReport> status_page_;
  std::unique_ptr<StatusPublisher> publisher_;
  std::unique_ptr<Heartbeat> heartbeat_; // null: there is no service manager to notify
};

} // namespace rtexec::executive
