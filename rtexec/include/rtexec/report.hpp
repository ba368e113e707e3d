// What happened in a run, or in a simulated one: plain values, owned by whoever holds them. Times are measured on
// CLOCK_MONOTONIC.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

/// Percentiles are within 1/128 of the value; all else is exact.
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
  Wcet warm_up;                       // execution of each part in the job before the first one
  Duration deadline{0};
  std::optional<Duration> bound; // what the plan promised
};

/// The kernel scheduling class that a thread was given.
struct SchedulingClass {
  enum class Kind {
    other, // SCHED_OTHER, without real-time priority
    fifo,
    deadline,
  };
  Kind kind = Kind::other;
  int priority = 0;             // of SCHED_FIFO, 1..99
  CpuReservation reservation{}; // of SCHED_DEADLINE
  friend bool operator==(const SchedulingClass&, const SchedulingClass&) = default;
};
[[nodiscard]] RTEXEC_API std::string_view name(SchedulingClass::Kind value) noexcept;
/// "FIFO 90", "DEADLINE 2ms/10ms", "OTHER".
[[nodiscard]] RTEXEC_API std::string to_string(const SchedulingClass& value);

struct ThreadReport {
  std::string name;
  int kernel_id = 0;
  SchedulingClass scheduling;
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

/// Of durations, or of counted lines of memory.
template <class Value> struct Percentiles {
  Value p50{}, p99{}, max{};
  std::uint64_t samples = 0;
};

/// A core, or a cluster of cores with one counter.
struct DomainReport {
  std::vector<unsigned> cores;
  std::string counter; // as it describes itself
  Bytes line{64};      // that an event stands for
  /// As planned; absent: none. Of best-effort cores in force only in the time that `while` says
  std::optional<Bandwidth> budget;
  /// Lines counted since the start; reads are all where writes are not counted apart
  std::uint64_t reads = 0, writes = 0;
  std::uint64_t periods = 0;
  std::uint64_t missed_periods = 0;    // in which the regulating thread did not run: others had taken the core
  std::uint64_t throttled_periods = 0; // in which it stood still
  Duration throttled{0};
  /// Lines beyond what was allowed, of the periods in which the budget was used up
  Percentiles<std::uint64_t> overshoot;
  Percentiles<Duration> late;       // of the regulating thread at the begin of a period
  std::uint64_t lost_overflows = 0; // that the kernel did not tell of, found by reading
  bool lost = false;                // its counter ended: no longer regulated since
};

/// How cores were held to their memory bandwidth.
struct BandwidthReport {
  Duration period{0};
  std::optional<Bandwidth> limit;    // of best-effort cores; with [bandwidth] slowdown as the loop last set it
  std::vector<DomainReport> domains; // since the start, warm-up included
  std::vector<std::string> reasons;  // how each is counted and held, and what limits the guarantee
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

/// What ended a run.
enum class StopCause {
  none, // it has not begun, or goes on
  duration,
  request,
  overrun,      // of a task with on_overrun = "stop"
  device_fault, // the device was lost
  driver_fault, // the executive lost count of the device's work: an error of rtexec
};
[[nodiscard]] RTEXEC_API std::string_view name(StopCause value) noexcept;

struct Stop {
  StopCause cause = StopCause::none;
  std::string task; // whose overrun, or whose job met the fault
  friend bool operator==(const Stop&, const Stop&) = default;
};
/// "duration", "request", "overrun of front", "device fault in task 'front'"; empty for none.
[[nodiscard]] RTEXEC_API std::string to_string(const Stop& value);

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
  /// Misses that came faster than the callbacks could be called, or after one had thrown
  std::uint64_t lost_callbacks = 0;
  std::string callback_failure; // what on_miss threw; it is not called again. Empty: nothing
  Stop stopped_by;
  [[nodiscard]] RTEXEC_API bool deadlines_kept() const; // of the real-time tasks
  [[nodiscard]] RTEXEC_API bool bounds_kept() const;    // no response time above what the plan promised
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

} // namespace rtexec
