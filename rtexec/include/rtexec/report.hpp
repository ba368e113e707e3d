// The results of a real or simulated run: plain values, owned by the holder of the struct. Times are measured on
// CLOCK_MONOTONIC.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

/// Statistics of durations. A percentile differs from the exact value by at most 1/128 of the value; all other members
/// are exact.
struct DurationStatistics {
  Duration min{0}, mean{0}, p50{0}, p99{0}, p999{0}, max{0};
};

/// Counts by the part of a job.
struct PartCounts {
  std::uint64_t before = 0, device = 0, after = 0;
  [[nodiscard]] std::uint64_t all() const { return before + device + after; }
};

/// Statistics of measured times, and the bound that these times must not exceed.
struct MeasuredTimes {
  DurationStatistics times;
  std::uint64_t count = 0;
  /// The number of measured times above the bound.
  std::uint64_t violations = 0;
  /// The bound. Absent: the times have no bound.
  std::optional<Duration> bound;
};

struct TaskReport {
  std::string name;
  Criticality criticality = Criticality::real_time;
  /// Jobs that were started.
  std::uint64_t released = 0;
  /// Jobs that ended, in time or late.
  std::uint64_t completed = 0;
  /// Jobs that ended after their deadline, were aborted, or failed. Jobs that were still unfinished after their
  /// deadline when the run ended are included.
  std::uint64_t missed = 0;
  /// Dropped releases. Reasons: the previous job was unfinished; the previous job had a part above its WCET
  /// (on_wcet_exceeded = "skip-next"); an input had no new value (on_stale = "skip").
  std::uint64_t skipped = 0;
  /// Triggers that led to no job of their own. Either an earlier trigger was still waiting for its release, or a newer
  /// input value replaced the value of the trigger before a job could read it. Counted only for tasks that are released
  /// by triggers instead of a timer.
  std::uint64_t dropped_triggers = 0;
  /// Jobs that were aborted at the next release (on_overrun = "abort-job").
  std::uint64_t aborted = 0;
  /// Jobs whose workload reported a fault, or whose memory could not be loaded.
  std::uint64_t failed = 0;
  /// The error of the last job that failed. Absent: no job failed.
  std::optional<Errc> failure;
  /// Jobs in progress, and releases that were due but had no job yet, when the run ended.
  std::uint64_t unfinished = 0;
  /// Jobs whose device part executed concurrently with a device part of another task ([device] co_run). Absent: the
  /// task's jobs never co-run.
  std::optional<std::uint64_t> paired;
  /// The number of times that jobs were preempted on the device between two segments. Absent: the device part is one
  /// segment.
  std::optional<std::uint64_t> preempted;
  /// Response times: from the nominal release to the end of the job.
  DurationStatistics response;
  /// Times from the nominal release until the job's thread runs.
  DurationStatistics release_latency;
  /// Times from the oldest sampling instant of a job's inputs to the job's nominal release. Inputs that were sampled
  /// after the release are not counted. The maximum minus the minimum is the release jitter of the source. The bound is
  /// Task::input_delay.
  MeasuredTimes input_delay;
  /// The longest execution of each part.
  Wcet observed;
  /// The WCETs that the plan relies on, and the number of parts that took longer than their WCET.
  Wcet wcet;
  PartCounts above_wcet;
  /// The parts above their WCET for which a hypervisor stole time from their core during or just after the execution.
  /// The stolen time may be the reason for the excess, but it may also have hit another part.
  PartCounts above_wcet_stolen;
  /// The execution time of each part in the warm-up job, which runs before the first job.
  Wcet warm_up;
  Duration deadline{0};
  /// The promised response time. Absent: the plan promised none.
  std::optional<Duration> bound;
};

/// The measured reaction times and data ages of a chain, each with its promised bound (PlannedChain).
struct ChainReport {
  using Measured = MeasuredTimes;
  std::string name;
  /// True if times begin at the sampling of the first task's input (PlannedChain::input_delay).
  bool from_sampling = false;
  Measured reaction, age, reduced_age;
  [[nodiscard]] std::uint64_t violations() const {
    return reaction.violations + age.violations + reduced_age.violations;
  }
};

/// The kernel scheduling class of a thread.
struct SchedulingClass {
  enum class Kind {
    other, // SCHED_OTHER, without real-time priority
    fifo,
    deadline,
  };
  Kind kind = Kind::other;
  /// The priority under SCHED_FIFO, 1 to 99.
  int priority = 0;
  /// The reservation under SCHED_DEADLINE.
  CpuReservation reservation{};
  friend bool operator==(const SchedulingClass&, const SchedulingClass&) = default;
};
[[nodiscard]] RTEXEC_API std::string_view name(SchedulingClass::Kind value) noexcept;
/// Returns the class as text: "FIFO 90", "DEADLINE 2ms/10ms" or "OTHER".
[[nodiscard]] RTEXEC_API std::string to_string(const SchedulingClass& value);

struct ThreadReport {
  std::string name;
  int kernel_id = 0;
  SchedulingClass scheduling;
  /// Minor and major page faults after the start. The host device's copy engines cause page faults by mapping chunks,
  /// so their page faults are not counted.
  long page_faults = 0;
};

/// The device of a run, and its memory after all tasks were placed on it.
struct DeviceReport {
  std::string name;
  /// The device memory that this run uses, including its context.
  Bytes used;
  /// The device memory that was taken by opening the device.
  Bytes context;
  /// The device memory that the plan needs: constants, state and the shared scratch memory, in whole chunks.
  Bytes demand;
  /// The memory that the tasks would use if each task allocated all of its memory separately.
  Bytes separate;
};

/// The memory that was swapped since the start.
struct SwapReport {
  SwapPolicy policy = SwapPolicy::pipelined;
  /// The store of swapped chunks, and the method by which chunks are copied to it, in words.
  std::string store;
  /// Empty if the store uses its fastest method. Otherwise lines of text: the method that the store uses instead, and
  /// the reason why the fastest method is not possible.
  std::string fallback;
  /// Bytes that were copied to the device (`in`) and from the device (`out`).
  Bytes in, out;
  /// Bytes that were not copied out because their contents were unchanged.
  Bytes skipped;
  /// Bytes that were not copied out because they were constants.
  Bytes dropped;
  /// The number of chunks that were loaded or evicted, in total.
  std::uint64_t operations = 0;
  /// The last errors of the store, and their remedies. Empty: no errors.
  std::string failure;
};

/// Percentiles of durations, or of counts of cache lines.
template <class Value> struct Percentiles {
  Value p50{}, p99{}, max{};
  std::uint64_t samples = 0;
};

/// A domain of bandwidth regulation: a core, or a cluster of cores that share one counter.
struct DomainReport {
  std::vector<unsigned> cores;
  /// The description of the counter: its back end and its events.
  std::string counter;
  /// The number of bytes that one event represents.
  Bytes line{64};
  /// The planned budget. Absent: there is no budget. Budgets of best-effort cores are in force only at the times that
  /// the key `while` selects (RegulateWhile).
  std::optional<Bandwidth> budget;
  /// Cache lines counted since the start. If writes are not counted separately, `reads` contains all lines
  std::uint64_t reads = 0, writes = 0;
  std::uint64_t periods = 0;
  /// Regulation periods in which the regulating thread did not run, because other threads occupied its core.
  std::uint64_t missed_periods = 0;
  /// Periods in which the core was throttled.
  std::uint64_t throttled_periods = 0;
  Duration throttled{0};
  /// The excess of counted over allowed cache lines, in periods in which the budget was used up.
  Percentiles<std::uint64_t> overshoot;
  /// The delay of the regulating thread at the beginning of a period.
  Percentiles<Duration> late;
  /// Overflows of the counter that the kernel did not signal, and that the regulating thread found by reading the
  /// counter.
  std::uint64_t lost_overflows = 0;
  /// True if the counter failed. After the failure the domain was not regulated.
  bool lost = false;
};

/// The counts of one source or sink of a task since the start.
struct ChannelReport {
  std::string task;
  /// The channel's name: "image from v4l2:/dev/video0", "file:results".
  std::string name;
  /// True if the channel is a source, false if it is a sink.
  bool input = false;
  /// Jobs that got new values from this source, or whose results this sink accepted.
  std::uint64_t moved = 0;
  /// Jobs for which this source had no new value, for any value of `on_stale`.
  std::uint64_t stale = 0;
  /// Jobs whose results this sink refused because it was full, or accepted but could not write.
  std::uint64_t dropped = 0;
  /// The last failure of the channel, and its remedy. Empty: no failure.
  std::string failure;
};

/// The regulation of the cores' memory bandwidth.
struct BandwidthReport {
  Duration period{0};
  /// The limit of best-effort cores. If the set has [bandwidth] slowdown, a closed loop adjusts the limit, and this is
  /// its last value.
  std::optional<Bandwidth> limit;
  /// The counts of each domain since the start, including the warm-up.
  std::vector<DomainReport> domains;
  /// The methods by which each domain is counted and throttled, and the limits of the guarantee, in words.
  std::vector<std::string> reasons;
};

/// The page from which `rtexec top` reads the state of the run. If the page cannot be made, the run continues without
/// it.
struct StatusPageReport {
  std::string file;
  /// The reason why there was no page. Empty: there was a page.
  std::string failure;
};

/// The fault that made the device unusable and ended the run.
struct DeviceFaultReport {
  /// The task whose job caused or detected the fault.
  std::string task;
  std::uint64_t job = 0;
  std::string what;
};

struct TraceReport {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
};

/// The snapshots that a flight recorder wrote.
struct FlightReport {
  struct Snapshot {
    std::filesystem::path folder;
    std::string reason;
  };
  std::vector<Snapshot> snapshots;
  /// The number of further snapshots that were requested but not written.
  std::uint64_t left_out = 0;
};

/// The reason why a run ended.
enum class StopCause {
  /// The run has not begun, or continues.
  none,
  duration,
  request,
  /// A task with on_overrun = "stop" was unfinished at its release.
  overrun,
  /// A job of a task with on_wcet_exceeded = "stop" had a part above its WCET.
  wcet_exceeded,
  /// The device was lost.
  device_fault,
  /// An internal error of rtexec: the executive no longer knows the true state of the device's work.
  driver_fault,
};
[[nodiscard]] RTEXEC_API std::string_view name(StopCause value) noexcept;

struct Stop {
  StopCause cause = StopCause::none;
  /// The task whose job overran, exceeded its WCET, or had the fault.
  std::string task;
  friend bool operator==(const Stop&, const Stop&) = default;
};
/// Returns the reason as text: "duration", "request", "overrun of front", "WCET exceeded by front" or "device fault in
/// task 'front'". Returns an empty text for `none`.
[[nodiscard]] RTEXEC_API std::string to_string(const Stop& value);

/// The clock rate of a core or the device, read before the run and twice a second during it.
struct ClockReport {
  /// The name of the clock: "core 3", "device", "device memory".
  std::string of;
  Frequency lowest, highest;
  /// The observed causes of throttling: "power", "temperature", "the hardware's brake".
  std::vector<std::string> limits;
  /// True if there was no throttling, and the rate varied by at most 2 %, the accuracy of its measurement.
  [[nodiscard]] RTEXEC_API bool steady() const noexcept;
};

/// The time that the hypervisor stole from a core: the core had work, but the hypervisor did not run the core. Read
/// twice a second.
struct StolenReport {
  unsigned core = 0;
  Duration time{0};
};

struct Report {
  Duration elapsed{0};
  std::vector<TaskReport> tasks;
  /// The chains of the task set.
  std::vector<ChainReport> chains;
  std::vector<ThreadReport> threads;
  /// The device and its memory. Absent before the start of the run.
  std::optional<DeviceReport> device;
  /// The copied and dropped memory of swapping. Absent: the plan swaps no memory.
  std::optional<SwapReport> swap;
  /// The known clocks of the cores that execute parts, and of the device. On virtual machines no clock is known.
  std::vector<ClockReport> clocks;
  /// The cores from which the hypervisor stole time. Only cores that execute parts or serve the device are listed.
  std::vector<StolenReport> stolen;
  /// The sources and sinks in the task set or of the program, except noise and input files.
  std::vector<ChannelReport> channels;
  /// The regulation of memory bandwidth. Absent: the set has no bandwidth limit.
  std::optional<BandwidthReport> bandwidth;
  std::optional<DeviceFaultReport> device_fault;
  /// The requirements that the machine could not fulfil.
  std::vector<std::string> degraded;
  /// The trace statistics. Set by the trace recorder.
  std::optional<TraceReport> trace;
  /// The snapshots of a flight recorder. Set by the flight recorder.
  std::optional<FlightReport> flight;
  /// The status page of the run. Absent: the run was not started.
  std::optional<StatusPageReport> status_page;
  /// Misses and WCET excesses for which no callback was called, because they came too fast or because a callback had
  /// thrown.
  std::uint64_t lost_callbacks = 0;
  /// The exception that a callback threw. Afterwards no callback is called. Empty: no exception.
  std::string callback_failure;
  Stop stopped_by;
  /// True if every real-time task met all its deadlines.
  [[nodiscard]] RTEXEC_API bool deadlines_kept() const;
  /// True if no response time exceeded its promised bound.
  [[nodiscard]] RTEXEC_API bool bounds_kept() const;
};

/// A job that ended late, was aborted or failed.
struct Miss {
  /// The index of the task in the task set.
  std::size_t task = 0;
  std::uint64_t job = 0;
  Duration response{0};
  Duration deadline{0};
};

/// A part of a job that took longer than its WCET.
struct WcetExcess {
  /// The index of the task in the task set.
  std::size_t task = 0;
  std::uint64_t job = 0;
  Part part = Part::before;
  Duration took{0};
  Duration wcet{0};
};

/// The record of one released job. Instants are on CLOCK_MONOTONIC.
struct JobRecord {
  /// The index of the task in the task set.
  std::size_t task = 0;
  std::uint64_t number = 0;
  /// The instant of the job's nominal release.
  Instant nominal{};
  /// The instant at which the job's first CPU part ended.
  Instant requested{};
  /// The instants at which the job's execution on the device began and ended. They are equal if the job did not execute
  /// on the device.
  Instant device_begin{}, device_end{};
  /// True if the job's device part co-ran with a device part of another job.
  bool concurrent = false;
  Instant end{};
  /// The execution time of each part, unknown for simulated jobs. The time of a CPU part is processor time. The time of
  /// the device part is measured by the device's own clock; without such a clock, it is the time from begin to end.
  Wcet executed{};
  /// True if TaskReport counts the job as missed.
  bool missed = false;
  /// The reason why the job failed. `cancelled`: the job was aborted, or withdrawn because the run ended.
  std::optional<Errc> failure;
};

struct JobRecords {
  /// The records, ordered by task, and for each task by job number.
  std::vector<JobRecord> jobs;
  /// The number of jobs whose records were not kept.
  std::uint64_t lost = 0;
};

} // namespace rtexec
