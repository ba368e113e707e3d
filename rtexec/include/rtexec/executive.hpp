// The executive: runs periodic tasks on pinned cores and one device. An admission test checks the tasks before they
// run, and a report describes the run afterwards.
//
//   #include <rtexec/executive.hpp>
//   #include <iostream>
//
//   int main() {
//     auto set = rtexec::read_task_set("tasks.toml");
//     auto executive = set ? rtexec::Executive::create(*set) : rtexec::Unexpected(set.error());
//     auto started = executive ? executive->start() : rtexec::Unexpected(executive.error());
//     if (!started) {
//       std::cerr << started.error().what << '\n';
//       return rtexec::exit_code(started.error().code);
//     }
//     executive->wait();
//     return executive->stop().deadlines_kept() ? 0 : rtexec::exit_code(rtexec::Errc::missed);
//   }
//
// create() loads every workload and makes the plan. start() locks memory, opens the device, starts the threads and
// releases the first jobs. Afterwards the executive's real-time threads do not allocate, take locks or cause page
// faults. stop() waits for the jobs in progress, joins all threads and returns the report.
//
// Ownership: the executive owns workloads, device and threads. Threading: one thread makes all calls on an executive,
// unless the comment of a function says otherwise. Callbacks run on a separate thread without real-time priority. A
// process runs one executive at a time, because locked memory, and the signals of bandwidth budgets, belong to the
// process. Exceptions: set-up may throw std::bad_alloc and the exceptions of custom workloads' constructors; no other
// exception is thrown. Stability: <rtexec/version.hpp>.
#pragma once

#include <rtexec/channels.hpp>
#include <rtexec/export.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/resolved_set.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include <rtexec/workload.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

namespace executive {
class Run;
} // namespace executive

struct ExecutiveSetup {
  /// True: run even if the plan is not proved.
  bool force = false;
  /// Custom workloads, by task name. All other tasks use the workload that their key `workload` names.
  std::map<std::string, std::unique_ptr<Workload>> workloads = {};
  /// Callbacks for inputs from this program and for results, by task name.
  std::map<std::string, TaskCallbacks> callbacks = {};
  /// Called for each miss. The calls for one task are in the order in which its jobs ended. The callback should not
  /// throw: after an exception no callback is called again, and the report contains the exception.
  std::function<void(const Miss&)> on_miss = {};
  /// Called for each part that exceeds its WCET. The calls for one task are in the order in which its parts ended. The
  /// callback should not throw: after an exception no callback is called again, and the report contains the exception.
  std::function<void(const WcetExcess&)> on_wcet_exceeded = {};
  /// True: trace the begin and the end of every layer. This costs two events for each layer.
  bool trace_layers = false;
  /// The maximum number of jobs of each task whose records are kept, from the first job on. The memory of the records
  /// is allocated when the executive is created.
  std::size_t record_jobs = 0;
  /// The folder of the run's status page. `rtexec top` looks for runs in this folder.
  std::filesystem::path status_folder = "/dev/shm";
};

class RTEXEC_API Executive {
 public:
  /// Loads the workloads and makes the plan. An error lists the problems of all tasks at once. Returns bad_input if the
  /// set, its board, models, workloads or profile are invalid. Returns unsupported if device or machine lack a required
  /// feature. Returns refused if the device cannot be opened to query its memory. Returns out_of_memory if there is not
  /// enough memory. An unproved set is no error: Plan::proved is then false.
  [[nodiscard]] static Result<Executive> create(TaskSet tasks, ExecutiveSetup setup = {});
  /// Used only by the library itself.
  explicit Executive(std::unique_ptr<executive::Run> run);
  ~Executive(); // stops the run
  Executive(Executive&&) noexcept;
  Executive& operator=(Executive&&) noexcept;

  // The references that these functions return are valid as long as the executive exists.
  [[nodiscard]] const ResolvedSet& set() const;
  [[nodiscard]] const Plan& plan() const;
  /// Returns one fingerprint for each task, in the order of the tasks. A fingerprint identifies everything that a
  /// measured WCET of the task depends on.
  [[nodiscard]] const std::vector<std::string>& fingerprints() const;
  /// Returns the requirements that the machine could not fulfil, one text for each requirement. The list is complete
  /// after start().
  [[nodiscard]] const std::vector<std::string>& degraded() const;

  /// Checks whether start() can succeed, without the errors that depend on the machine. Returns bad_input if a task
  /// lists its release times, which only simulations support, or if a task waits for an input that never comes. Returns
  /// not_proved if the plan is not proved and `force` is not set.
  [[nodiscard]] Result<> startable() const;
  /// Starts the run. Returns the errors of startable(). Returns refused if the machine cannot fulfil a requirement of
  /// the set and the set does not allow_degraded. Also returns refused if another run uses one of the cores, or if the
  /// profile was measured on another device. Returns device_fault if a workload fails its warm-up, which is one job
  /// before the first release. Returns bad_input if the executive was started before. Returns out_of_memory,
  /// unsupported or io_error if the device or the store of swapped chunks reports this error. After an error the
  /// executive can only be destroyed, which releases its resources.
  [[nodiscard]] Result<> start();
  /// Waits until the run is over, or until `at_most` has passed. A run ends after the set's duration, by a task's
  /// policy (such as on_overrun = "stop"), after a fault of the device, or by request_stop(). Returns true if the run
  /// is over or was never started.
  bool wait(std::optional<Duration> at_most = {});
  /// Requests a job of a task with trigger = "call". The job is released now, or one period after the task's previous
  /// release if that is later. May be called from any thread, while the executive exists. Returns false if there is no
  /// such task.
  bool trigger(std::string_view task) noexcept;
  /// Requests the end of the run. May be called from any thread, while the executive exists; async-signal-safe.
  void request_stop() noexcept;
  /// Returns the report so far. It has no percentiles; only the report of stop() has them. May be called during the
  /// run.
  [[nodiscard]] Report progress() const;
  /// Ends the run and returns the report. Takes at most as long as the longest job. Later calls return the same report.
  Report stop();
  /// Returns the records of jobs that have ended; empty if ExecutiveSetup::record_jobs is 0. May be called during the
  /// run; after stop() it returns all records.
  [[nodiscard]] JobRecords job_records() const;

 private:
  std::unique_ptr<executive::Run> run_;
};

} // namespace rtexec
