// What happened in a run, or in a simulated one: plain values, owned by whoever holds them. Times are measured on
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

/// Percentiles are within 1/128 of the value; all else is exact.
struct DurationStatistics {
  Duration min{0}, mean{0}, p50{0}, p99{0}, p999{0}, max{0};
};

/// By the part of a job.
struct PartCounts {
  std::uint64_t before = 0, device = 0, after = 0;
  [[nodiscard]] std::uint64_t all() const { return before + device + after; }
};

/// Times, and the bound that they are held to.
struct MeasuredTimes {
  DurationStatistics times;
  std::uint64_t count = 0;
  /// Of them, those above the bound.
  std::uint64_t violations = 0;
  /// Absent: there is none.
  std::optional<Duration> bound;
};

struct TaskReport {
  std::string name;
  Criticality criticality = Criticality::real_time;
  /// Jobs that were started.
  std::uint64_t released = 0;
  /// Jobs that ended, in time or not.
  std::uint64_t completed = 0;
  /// Jobs that ended after their deadline, were abandoned, failed, or were cut off when it had passed.
  std::uint64_t missed = 0;
  /// Releases that were dropped because the job before was unfinished, or had a part above its WCET (on_wcet_exceeded
  /// = "skip-next"), or because an input had nothing new (on_stale = "skip").
  std::uint64_t skipped = 0;
  /// Of a task that no timer releases: triggers whose place a newer one took, since they came too early.
  std::uint64_t dropped_triggers = 0;
  /// Jobs that were abandoned at the next release (on_overrun = "abort-job").
  std::uint64_t aborted = 0;
  /// Jobs whose workload reported a fault, or whose memory could not be brought in.
  std::uint64_t failed = 0;
  /// The error of the last job that failed. Absent: none did.
  std::optional<Errc> failure;
  /// Jobs and due releases that the end of the run cut off.
  std::uint64_t unfinished = 0;
  /// Jobs whose part on the device executed beside that of another task ([device] co_run). Absent: the task is in no
  /// pair.
  std::optional<std::uint64_t> paired;
  /// How often jobs left the device between two segments, and had more to execute. Absent: the device part is one
  /// segment.
  std::optional<std::uint64_t> preempted;
  /// Times from the nominal release to the end of the job.
  DurationStatistics response;
  /// Times from the nominal release to the thread running.
  DurationStatistics release_latency;
  /// Times from the sampling of what a job read, the oldest of it, to its nominal release; of what was sampled after
  /// that there is none. The longest less the shortest is the release jitter that the source brings. The bound is
  /// Task::input_delay.
  MeasuredTimes input_delay;
  /// The longest execution of each part.
  Wcet observed;
  /// The execution times on which the plan rests, and how many parts took longer.
  Wcet wcet;
  PartCounts above_wcet;
  /// How many of these had begun when the hypervisor was last seen to have taken time of their core: what was taken may
  /// be why, and may have met another part.
  PartCounts above_wcet_stolen;
  /// The execution of each part in the job before the first one.
  Wcet warm_up;
  Duration deadline{0};
  /// The response time that the plan promised. Absent: it promised none.
  std::optional<Duration> bound;
};

/// Reaction time and data age of a chain, as they were and as they were promised (PlannedChain).
struct ChainReport {
  using Measured = MeasuredTimes;
  std::string name;
  /// Whether times count from the sampling of what the first task read (PlannedChain::input_delay).
  bool from_sampling = false;
  Measured reaction, age, reduced_age;
  [[nodiscard]] std::uint64_t violations() const {
    return reaction.violations + age.violations + reduced_age.violations;
  }
};

/// The kernel scheduling class that a thread was given.
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
/// "FIFO 90", "DEADLINE 2ms/10ms", "OTHER".
[[nodiscard]] RTEXEC_API std::string to_string(const SchedulingClass& value);

struct ThreadReport {
  std::string name;
  int kernel_id = 0;
  SchedulingClass scheduling;
  /// Minor and major page faults after the start. Not counted of copy engines whose mappings are page tables (those of
  /// the host device).
  long page_faults = 0;
};

/// The device of a run and its memory, once everything was placed on it.
struct DeviceReport {
  std::string name;
  /// What this run takes, its context included.
  Bytes used;
  /// What opening the device took.
  Bytes context;
  /// What the plan needs: constants, state and the shared scratch, in whole chunks.
  Bytes demand;
  /// What separate allocations would have taken.
  Bytes separate;
};

/// What swapping moved since the start.
struct SwapReport {
  SwapPolicy policy = SwapPolicy::pipelined;
  /// Where swapped chunks went, and how.
  std::string store;
  /// What the store fell back to and why, in lines. Empty: it got what it wanted.
  std::string fallback;
  /// What was copied.
  Bytes in, out;
  /// What was not copied out, since it was unchanged.
  Bytes skipped;
  /// What was not copied out, since it was constant.
  Bytes dropped;
  /// How many chunks came or went.
  std::uint64_t operations = 0;
  /// What the last errors of the store were, and what to do. Empty: there were none.
  std::string failure;
};

/// Of durations, or of counted lines of memory.
template <class Value> struct Percentiles {
  Value p50{}, p99{}, max{};
  std::uint64_t samples = 0;
};

/// A core, or a cluster of cores with one counter.
struct DomainReport {
  std::vector<unsigned> cores;
  /// The counter, as it describes itself.
  std::string counter;
  /// How many bytes an event stands for.
  Bytes line{64};
  /// The budget, as planned. Absent: there is none. Those of best-effort cores are in force only in the time that
  /// `while` says.
  std::optional<Bandwidth> budget;
  /// Lines counted since the start; reads are all where writes are not counted apart
  std::uint64_t reads = 0, writes = 0;
  std::uint64_t periods = 0;
  /// Periods in which the regulating thread did not run, since others had taken the core.
  std::uint64_t missed_periods = 0;
  /// Periods in which the core was throttled.
  std::uint64_t throttled_periods = 0;
  Duration throttled{0};
  /// Lines beyond what was allowed, of the periods in which the budget was used up.
  Percentiles<std::uint64_t> overshoot;
  /// How late the regulating thread was at the begin of a period.
  Percentiles<Duration> late;
  /// Overflows that the kernel did not tell of, and that were found by reading.
  std::uint64_t lost_overflows = 0;
  /// Whether the counter ended: the core is not regulated since.
  bool lost = false;
};

/// What went through one source or sink of a task since the start.
struct ChannelReport {
  std::string task;
  /// "image from v4l2:/dev/video0", "file:results".
  std::string name;
  /// Whether it is a source.
  bool input = false;
  /// Jobs that got new values through it, or whose results it took.
  std::uint64_t moved = 0;
  /// Of a source: jobs for which it had nothing new, whatever answered that.
  std::uint64_t stale = 0;
  /// Of a sink: jobs whose results had no room, or were taken and could not be written.
  std::uint64_t dropped = 0;
  /// What went wrong last, and what to do. Empty: nothing.
  std::string failure;
};

/// How cores were held to their memory bandwidth.
struct BandwidthReport {
  Duration period{0};
  /// The limit of best-effort cores. With [bandwidth] slowdown, it is the one that the loop set last.
  std::optional<Bandwidth> limit;
  /// What was counted of each domain since the start, the warm-up included.
  std::vector<DomainReport> domains;
  /// How each domain is counted and throttled, and what limits the guarantee.
  std::vector<std::string> reasons;
};

/// Where `rtexec top` saw the run, or why it did not: that ends no run.
struct StatusPageReport {
  std::string file;
  /// Why there was no page. Empty: there was one.
  std::string failure;
};

/// What ended the device, and with it the run.
struct DeviceFaultReport {
  /// The task whose job met the fault.
  std::string task;
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
  /// How many more snapshots there were reasons for.
  std::uint64_t left_out = 0;
};

/// What ended a run.
enum class StopCause {
  /// The run has not begun, or goes on.
  none,
  duration,
  request,
  /// A task with on_overrun = "stop" was unfinished at its release.
  overrun,
  /// A job of a task with on_wcet_exceeded = "stop" had a part above its WCET.
  wcet_exceeded,
  /// The device was lost.
  device_fault,
  /// The executive lost count of the device's work: an error of rtexec.
  driver_fault,
};
[[nodiscard]] RTEXEC_API std::string_view name(StopCause value) noexcept;

struct Stop {
  StopCause cause = StopCause::none;
  /// The task whose overrun it was, whose WCET was exceeded, or whose job met the fault.
  std::string task;
  friend bool operator==(const Stop&, const Stop&) = default;
};
/// "duration", "request", "overrun of front", "WCET exceeded by front", "device fault in task 'front'"; empty for none.
[[nodiscard]] RTEXEC_API std::string to_string(const Stop& value);

/// At what clock a core or the device worked, read before the run and twice a second during it.
struct ClockReport {
  /// "core 3", "device", "device memory".
  std::string of;
  Frequency lowest, highest;
  /// What held it back at times: "power", "temperature", "the hardware's brake".
  std::vector<std::string> limits;
  /// Whether nothing held it back, and it moved by no more than 2 %, which is how well it is known.
  [[nodiscard]] RTEXEC_API bool steady() const noexcept;
};

/// What the hypervisor took of a core while the core had something to execute, read twice a second.
struct StolenReport {
  unsigned core = 0;
  Duration time{0};
};

struct Report {
  Duration elapsed{0};
  std::vector<TaskReport> tasks;
  /// The chains that were followed.
  std::vector<ChainReport> chains;
  std::vector<ThreadReport> threads;
  /// The device and its memory. Absent before the start.
  std::optional<DeviceReport> device;
  /// What was swapped. Absent where the plan swaps nothing.
  std::optional<SwapReport> swap;
  /// Of the cores that execute parts, and of the device: those that are known. On virtual machines none is.
  std::vector<ClockReport> clocks;
  /// Of the cores that execute parts or serve the device, those of which something was taken.
  std::vector<StolenReport> stolen;
  /// Where inputs of tasks came from and where their outputs went: what the task set or the program names, not noise
  /// or files.
  std::vector<ChannelReport> channels;
  /// How memory bandwidth was regulated. Absent where the set limits none.
  std::optional<BandwidthReport> bandwidth;
  std::optional<DeviceFaultReport> device_fault;
  /// What the machine could not give.
  std::vector<std::string> degraded;
  /// What was recorded; whoever recorded fills it in.
  std::optional<TraceReport> trace;
  /// What a flight recorder wrote; whoever kept the events fills it in.
  std::optional<FlightReport> flight;
  /// The status page of a run that was started.
  std::optional<StatusPageReport> status_page;
  /// Misses and parts above their WCETs that came faster than the callbacks for them could be called, or after one had
  /// thrown.
  std::uint64_t lost_callbacks = 0;
  /// What a callback threw; none is called again. Empty: nothing.
  std::string callback_failure;
  Stop stopped_by;
  /// Whether every real-time task met all its deadlines.
  [[nodiscard]] RTEXEC_API bool deadlines_kept() const;
  /// Whether no response time was above what the plan promised.
  [[nodiscard]] RTEXEC_API bool bounds_kept() const;
};

/// A job that ended late, was abandoned or failed.
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

/// One job that was released, with its instants on CLOCK_MONOTONIC.
struct JobRecord {
  /// The index of the task in the task set.
  std::size_t task = 0;
  std::uint64_t number = 0;
  /// The instant of its nominal release.
  Instant nominal{};
  /// The instant at which its first CPU part had ended.
  Instant requested{};
  /// When its execution on the device began and ended; equal where it did not execute.
  Instant device_begin{}, device_end{};
  /// Whether another job was started with it, to execute beside it.
  bool accompanied = false;
  Instant end{};
  /// What each part took: processor time of the CPU parts; of the time between begin and end on the device, what the
  /// device used by its own clock, where it has one. Not known of simulated jobs.
  Wcet executed{};
  /// Whether the job counts as missed in TaskReport.
  bool missed = false;
  /// Why the job failed; `cancelled` if it was abandoned, or withdrawn because the run ended.
  std::optional<Errc> failure;
};

struct JobRecords {
  /// The jobs, task by task, those of each task in their order.
  std::vector<JobRecord> jobs;
  /// How many jobs were not kept.
  std::uint64_t lost = 0;
};

} // namespace rtexec
