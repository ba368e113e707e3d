// The executive: periodic tasks on pinned cores and one device, admitted before they run, reported on afterwards.
//
//   auto set = rtexec::read_task_set("tasks.toml");
//   auto executive = rtexec::Executive::create(*set);
//   if (executive && executive->plan().proved && executive->start()) { executive->wait(); print(executive->stop()); }
//
// create() loads every workload, opens the device and makes the plan. start() locks memory, starts the threads and
// releases the first jobs; from then on the executive's threads neither allocate nor fault nor take a lock. stop() lets
// the jobs in progress end, joins all threads and returns the report. Ownership: the executive owns workloads, device
// and threads. Threading: all calls from one thread, request_stop() from any thread or signal handler; callbacks come
// on a thread of their own without real-time priority.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/plan.hpp>
#include "config/reader.hpp"
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include "hal/backing_store.hpp"
#include "hal/device.hpp"
#include "policies/device_scheduler.hpp"
#include "rtexec/bandwidth_report.hpp"
#include "tasks/workload.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rtexec {

struct DurationStatistics {
  Duration min{0}, mean{0}, p50{0}, p99{0}, p999{0}, max{0};
};

struct TaskReport {
  std::string name;
  Criticality criticality = Criticality::real_time;
  std::uint64_t released = 0;  // jobs started
  std::uint64_t completed = 0; // jobs that ended, in time or not
  /// Jobs that ended after their deadline, were abandoned, failed, or were cut off when it had passed
  std::uint64_t missed = 0;
  std::uint64_t skipped = 0; // releases that were dropped because the job before was unfinished
  std::uint64_t aborted = 0; // jobs abandoned at the next release (on_overrun = "abort-job")
  /// Jobs whose workload reported a fault, or whose memory could not be brought in
  std::uint64_t failed = 0;
  std::optional<Errc> failure;        // of the last one
  std::uint64_t unfinished = 0;       // jobs and due releases that the end of the run cut off
  DurationStatistics response;        // from nominal release to the end of the job
  DurationStatistics release_latency; // from nominal release to the thread running
  Wcet observed;                      // longest execution of each part
  Wcet rehearsed;                     // execution of each part in the job before the first one
  Duration deadline{0};
  std::optional<Duration> bound; // what the plan promised
};

struct ThreadReport {
  std::string name;
  int kernel_id = 0;
  std::string policy; // "FIFO 90", "DEADLINE 2ms/10ms", "OTHER"
  /// Minor and major, after start; none of copy engines whose mappings are page tables (the host device's)
  long page_faults = 0;
};

/// The device of a run and its memory, once everything was placed on it.
struct DeviceReport {
  std::string name;
  Bytes used;     // by this run, context included
  Bytes context;  // by opening the device
  Bytes demand;   // by plan: constants, state and the shared scratch, in whole chunks
  Bytes separate; // what separate allocations would have taken
};

/// What swapping moved since the start.
struct SwapReport {
  SwapPolicy policy = SwapPolicy::pipelined;
  std::string store;            // where swapped chunks went, and how
  std::string fallback;         // what the store fell back to, and why, in lines; empty: it got what it wanted
  Bytes in, out;                // copied
  Bytes skipped;                // not copied out, since unchanged
  Bytes dropped;                // not copied out, since constant
  std::uint64_t operations = 0; // chunks that came or went
  std::string failure;          // what the store's last errors were, and what to do; empty: none
};

/// Where `rtexec top` saw the run, or why it did not: that ends no run.
struct StatusPageReport {
  std::string file;
  std::string failure; // empty: none
};

/// What ended the device, and with it the run.
struct DeviceFaultReport {
  std::string task; // whose job met it
  std::uint64_t job = 0;
  std::string what;
};

struct TraceReport {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
};

/// What a flight recorder wrote.
struct FlightReport {
  struct Snapshot {
    std::filesystem::path folder;
    std::string reason;
  };
  std::vector<Snapshot> snapshots;
  std::uint64_t left_out = 0; // reasons for more
};

struct Report {
  Duration elapsed{0};
  std::vector<TaskReport> tasks;
  std::vector<ThreadReport> threads;
  std::optional<DeviceReport> device;       // absent before the start
  std::optional<SwapReport> swap;           // where the plan swaps
  std::optional<BandwidthReport> bandwidth; // where the set limits any
  std::optional<DeviceFaultReport> device_fault;
  std::vector<std::string> degraded;           // what the machine could not give
  std::optional<TraceReport> trace;            // filled in by who recorded,
  std::optional<FlightReport> flight;          // or kept the latest events
  std::optional<StatusPageReport> status_page; // of a run that was started
  std::uint64_t lost_callbacks = 0;            // misses that came faster than the callbacks could be called
  std::string stopped_by; // "duration", "request", "overrun of front", "device fault in task 'front'"
  [[nodiscard]] bool deadlines_kept() const; // of the real-time tasks
  [[nodiscard]] bool bounds_kept() const;    // no response time above what the plan promised
};

/// A job that ended late, was abandoned or failed.
struct Miss {
  std::size_t task = 0; // index in the task set
  std::uint64_t job = 0;
  Duration response{0};
  Duration deadline{0};
};

/// One job that was released, with its instants on CLOCK_MONOTONIC.
struct JobRecord {
  std::size_t task = 0; // index in the task set
  std::uint64_t number = 0;
  Instant nominal{};                    // of its release
  Instant requested{};                  // its first CPU part had ended
  Instant device_begin{}, device_end{}; // of its execution on the device; equal where it did not execute
  Instant end{};
  bool missed = false;         // as in TaskReport
  std::optional<Errc> failure; // cancelled: abandoned, or withdrawn because the run ended
};

struct JobRecords {
  std::vector<JobRecord> jobs; // of each task in the order of its jobs, task by task
  std::uint64_t lost = 0;      // jobs of which none was kept
};

/// Opens a device of at least `capacity` in chunks of `chunk`; a capacity of 0 is all that the device has.
using OpenDevice = std::function<Result<std::unique_ptr<hal::Device>>(Bytes capacity, Bytes chunk)>;

/// Opens a backing store of at least `chunks` chunks.
using OpenStore = std::function<Result<std::unique_ptr<hal::BackingStore>>(hal::Device& device, std::size_t chunks)>;

/// Told about each chunk that came or went, for whoever measures; a plain function, called on a copy engine's thread:
/// must not block or allocate.
struct TransferObserver {
  void (*ended)(void* self, const policies::Action& transfer, Instant begin, Instant end) noexcept = nullptr;
  void* self = nullptr;
};

struct ExecutiveSetup {
  /// Run although the plan is not proved.
  bool force = false;
  /// Workloads of one's own, by task name; other tasks get what their `workload` key says.
  std::map<std::string, std::unique_ptr<tasks::Workload>> workloads;
  std::function<void(const Miss&)> on_miss;
  /// Record begin and end of every layer (costs two events a layer).
  bool trace_layers = false;
  /// Keep records of each task's jobs, the first so many. Memory for them is taken when the executive is created.
  std::size_t record_jobs = 0;
  /// A device of one's own; where empty, the board's is opened.
  OpenDevice open_device = {};
  /// A backing store of one's own; where empty, the one that the task set names.
  OpenStore open_store = {};
  /// Where the plan swaps: while a job executes, copy both ways without a pause, so that its execution is measured
  /// beside copies.
  bool copy_beside = false;
  TransferObserver observe_transfers = {};
  /// What Workload::tune() told, by task name, instead of what the profile file stores.
  std::optional<std::map<std::string, std::vector<std::string>>> tunings = {};
  /// Where `rtexec top` looks for runs.
  std::filesystem::path status_folder = "/dev/shm";
};

class Executive {
 public:
  [[nodiscard]] static Result<Executive> create(TaskSet tasks, ExecutiveSetup setup = {});
  ~Executive(); // stops
  Executive(Executive&&) noexcept;
  Executive& operator=(Executive&&) noexcept;

  [[nodiscard]] const TaskSet& tasks() const;
  /// Capacity and cores are settled, where the board's file leaves them open.
  [[nodiscard]] const Board& board() const;
  [[nodiscard]] const Plan& plan() const;
  /// What a measured WCET of each task depends on; parallel to the tasks.
  [[nodiscard]] const std::vector<std::string>& fingerprints() const;
  /// What the machine could not give; complete after start().
  [[nodiscard]] const std::vector<std::string>& degraded() const;

  /// not_proved without `force`; refused when the machine does not give what the set needs and it does not
  /// allow_degraded, or when another run uses one of the cores, or when the profile was measured on another device;
  /// device_fault when a workload fails its rehearsal. After an error this executive is of no further use: what it took
  /// is given back when it is destroyed.
  [[nodiscard]] Result<> start();
  /// Until the set's duration has passed, a task's overrun policy, a fault of the device or request_stop() ends the
  /// run, or `at_most` has passed. True when the run is over, or never began.
  bool wait(std::optional<Duration> at_most = {});
  /// Async-signal-safe.
  void request_stop() noexcept;
  /// Counters so far; percentiles only in the report. May be called while running.
  [[nodiscard]] Report progress() const;
  /// Ends the run within the longest job and reports.
  Report stop();
  /// Of the jobs that ended, where ExecutiveSetup::record_jobs asked for them; complete after stop(), empty before.
  [[nodiscard]] JobRecords job_records() const;

 private:
  class Implementation;
  explicit Executive(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

} // namespace rtexec
