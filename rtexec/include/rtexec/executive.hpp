// The executive: periodic tasks on pinned cores and one device, admitted before they run, reported on afterwards.
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
// releases the first jobs; from then on the executive's threads neither allocate nor fault nor take a lock. stop() lets
// the jobs in progress end, joins all threads and returns the report.
//
// Ownership: the executive owns workloads, device and threads. Threading: all calls of one executive from one thread,
// save where a function says otherwise; callbacks come on a thread of their own without real-time priority. One
// executive runs at a time in a process, since memory is locked and signals of budgets are the process's. Exceptions:
// set-up throws std::bad_alloc, and what constructors of one's own workloads throw; nothing else is thrown. Stability:
// <rtexec/version.hpp>.
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
  /// Run although the plan is not proved.
  bool force = false;
  /// Workloads of one's own, by task name; other tasks get what their `workload` key says.
  std::map<std::string, std::unique_ptr<Workload>> workloads = {};
  /// Inputs from this program and results for it, by task name.
  std::map<std::string, TaskCallbacks> callbacks = {};
  /// Called for each miss, in the order in which each task's jobs ended. Should not throw: after an exception no
  /// callback is called again, and the report says what was thrown.
  std::function<void(const Miss&)> on_miss = {};
  /// The same for each part of a job that took longer than its WCET, in the order in which each task's parts ended.
  std::function<void(const WcetExcess&)> on_wcet_exceeded = {};
  /// Record begin and end of every layer (costs two events a layer).
  bool trace_layers = false;
  /// Keep records of each task's jobs, the first so many. Memory for them is taken when the executive is created.
  std::size_t record_jobs = 0;
  /// Where `rtexec top` looks for runs.
  std::filesystem::path status_folder = "/dev/shm";
};

class RTEXEC_API Executive {
 public:
  /// Errors, of all tasks at once where there are several: bad_input (the set, its board, models, workloads or
  /// profile), unsupported (the device or the machine lacks what is asked), refused (the device cannot be opened to ask
  /// for its memory), out_of_memory. A set that is not proved is no error: plan() tells.
  [[nodiscard]] static Result<Executive> create(TaskSet tasks, ExecutiveSetup setup = {});
  /// For rtexec itself.
  explicit Executive(std::unique_ptr<executive::Run> run);
  ~Executive(); // stops
  Executive(Executive&&) noexcept;
  Executive& operator=(Executive&&) noexcept;

  // What these return lives as long as the executive.
  [[nodiscard]] const ResolvedSet& set() const;
  [[nodiscard]] const Plan& plan() const;
  /// What a measured WCET of each task depends on; parallel to the tasks.
  [[nodiscard]] const std::vector<std::string>& fingerprints() const;
  /// What the machine could not give; complete after start().
  [[nodiscard]] const std::vector<std::string>& degraded() const;

  /// What start() would refuse whatever the machine gives: bad_input where a task lists its releases, which is for
  /// simulations, or waits for an input that never comes; not_proved without `force`.
  [[nodiscard]] Result<> startable() const;
  /// Errors of startable(); refused when the machine does not give what the set needs and it does not
  /// allow_degraded, or when another run uses one of the cores, or when the profile was measured on another device;
  /// device_fault when a workload fails its warm-up, one job before the first release; bad_input when it was started
  /// before; out_of_memory, unsupported and io_error of device and store. After an
  /// error this executive is of no further use: what it took is given back when it is destroyed.
  [[nodiscard]] Result<> start();
  /// Until the set's duration has passed, a task's policy, a fault of the device or request_stop() ends the
  /// run, or `at_most` has passed. True when the run is over, or never began.
  bool wait(std::optional<Duration> at_most = {});
  /// Asks for a job of a task with trigger = "call": at once, or a period after the job before. Any thread, while the
  /// executive lives. False: there is no such task.
  bool trigger(std::string_view task) noexcept;
  /// Any thread, while the executive lives; async-signal-safe.
  void request_stop() noexcept;
  /// Counters so far; percentiles only in the report. May be called while running.
  [[nodiscard]] Report progress() const;
  /// Ends the run within the longest job and reports. Again: the same report.
  Report stop();
  /// Of the jobs that have ended, where ExecutiveSetup::record_jobs asked for them. May be called while running;
  /// complete after stop().
  [[nodiscard]] JobRecords job_records() const;

 private:
  std::unique_ptr<executive::Run> run_;
};

} // namespace rtexec
