// The outcome of analysing a recording: for each task how long its jobs take, where the time went, and why deadlines
// were missed. Plain data.
//
// A job has up to three parts: a CPU part `before` the device, the part on the `device`, and a CPU part `after` it. The
// device part may be divided into segments, between which other jobs can get the device. A swap moves chunks of a
// task's device memory in from a backing store, or out to it.
#pragma once

#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"
#include "traces/reading/recorded_setup.hpp"
#include "traces/wcet/pwcet.hpp"
#include "traces/wcet/sample_series.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::traces {

/// The causes of a job's response time, from its nominal release to its end. Each instant has exactly one cause: the
/// condition that keeps the job from progressing at that instant. Below, "its" means "of the job". A swap during
/// another job's execution adds no response time and is no cause.
enum class Cause : std::uint8_t {
  release_latency, // its thread was not running yet, and no more urgent thread had the core
  /// The job waits behind a more urgent job (for the core, for the device, or while that job's chunks are swapped in),
  /// or behind the previous job of its task
  queueing,
  blocking_execution, // a less urgent job executes on the device
  blocking_copy,      // a less urgent job's transfer is under way
  copy_engine,        // its own transfer was ordered, but the copy engine has not begun the transfer
  swap_out,           // device memory is being freed for its chunks
  swap_in,            // its own chunks are being loaded
  execution,          // its own CPU and device parts execute
  throttled,          // the memory-bandwidth budget of its core was used up
  overhead,           // scheduling, wake-ups, interrupts, delays of submission and completion, other users of the core
};
constexpr std::size_t causes = 10;
[[nodiscard]] std::string_view name(Cause cause); // "release-latency", "queueing", ...

/// A share of a job's response time that has one cause, and the job that caused this share.
struct Share {
  enum class Where : std::uint8_t { core, execution, swap_in, swap_out }; // activity of the culprit
  static constexpr std::size_t places = 4;
  Cause cause{};
  Where where{};
  std::optional<policies::JobId> culprit; // absent: no job caused this share; may be the job itself
  Duration time{0};
  Duration usual{0}; // mean time per job with this `cause` and `where`, over the task's jobs that kept their deadline;
                     // if no job did: the WCET for Cause::execution, otherwise 0
  Duration overrun{0}; // time by which the culprit's execution, or the job's own, exceeded its WCET
};

enum class JobOutcome : std::uint8_t { in_time, late, failed, aborted };

/// The preemptions of a job between its segments.
struct Preemptions {
  struct By {
    std::uint32_t task = 0;
    std::uint32_t times = 0; // number of times that this task had the device
    Duration time{0};
  };
  std::uint32_t count = 0; // number of times that another job took the device between two segments
  std::vector<By> by;
  std::uint32_t reloaded = 0; // number of its own chunks that were loaded again during its preemptions
  Duration reloading{0};      // time in which the job waited only for those chunks
  void add(std::uint32_t task, Duration time);
};

struct JobBreakdown {
  policies::JobId job;
  JobOutcome outcome = JobOutcome::in_time;
  Instant nominal{};
  Duration deadline{0}; // relative
  Duration response{0};
  std::array<Duration, causes> by_cause{}; // their sum is the response
  std::vector<Share>
      shares; // for missed deadlines and worst jobs; the share with the largest excess over `usual` comes first
  Preemptions preemptions{};
  std::string blame; // for missed deadlines: the reason in one line
};

/// A distribution of durations in log-linear classes, in constant memory. A percentile differs from the exact value by
/// at most 1/128 of the value; all other members are exact.
struct Distribution {
  struct Class {
    Duration upper{0}; // inclusive
    std::uint64_t count = 0;
  };
  struct Mark {
    std::uint64_t count = 0; // number of jobs counted up to this rise
    Duration value{0};
  };
  std::uint64_t count = 0;
  Duration min{0}, mean{0}, p50{0}, p90{0}, p99{0}, p999{0}, p9999{0}, max{0};
  std::uint64_t max_job = 0;    // job of the maximum
  Instant max_at{};             // end of the execution that took the maximum
  std::vector<Mark> high_water; // each rise of the maximum, in the order of time
  std::vector<Class> classes;   // non-empty classes, ascending
};

/// Circumstances of an execution of a part that may shorten or lengthen the execution.
enum class Factor : std::uint8_t {
  pause,      // time since the previous execution of this part ended
  neighbour,  // the part of any task that ended last before this execution, on the same core or on the device
  concurrent, // work at the same time: of the copy engines and, for CPU parts, of the device
  clock,      // last observed clock of the execution's core or of the device
};
constexpr std::size_t factors = 4;
[[nodiscard]] std::string_view name(Factor factor); // "pause", ...

/// The executions of a part for which a factor had the same value, and the name of that value.
struct FactorGroup {
  std::string name; // "2.00 ms to 4.00 ms", "last part of rear", "copies in"
  std::uint64_t count = 0, above_wcet = 0;
  Duration p50{0}, p90{0}, p99{0}, max{0};
  static constexpr std::uint64_t enough = 20; // minimum number of executions for a comparison
};

struct FactorAnalysis {
  Factor factor{};
  /// Largest p90 / smallest p90 among the groups with at least `enough` executions. A p99 would need more executions
  double ratio = 1;
  std::vector<FactorGroup> groups;
};

/// A stage of a task's jobs: the CPU part before the device, the device part, the CPU part after the device, or the
/// whole response. The stage's length in one job is one sample. CPU parts are measured in CPU time. The device part is
/// measured by its executed time if the recording has it, otherwise from its begin to its end. Responses are measured
/// from release to end.
struct StageAnalysis {
  std::string name; // "before", "device", "after", "response"
  Distribution times;
  std::optional<Duration> configured; // the WCET; for "response" the bound
  Pwcet pwcet;
  SampleSeries samples{};
  std::vector<FactorAnalysis> factors; // for parts; the largest ratio comes first
};

/// An execution longer than its WCET, and the circumstances of the execution.
struct Excess {
  policies::JobId job;
  std::string part; // "before", "device", "after"
  Instant begin{};
  Duration time{0}, wcet{0};
  // Time that a hypervisor took from the execution's core, between the last reading before and the first reading after
  // the execution. A part of that time may have fallen outside the execution
  Duration stolen{0};
  std::vector<std::string>
      surroundings; // for each known factor, the name of the execution's group; in the order of Factor
};

struct CauseAnalysis {
  Cause cause{};
  Duration total{0}, mean{0}, max{0}; // over completed jobs
};

/// The numbers of dropped releases, by reason.
struct SkipAnalysis {
  std::uint64_t overrun = 0; // the previous job was unfinished; includes all drops in recordings that give no reason
  std::uint64_t wcet_exceeded = 0; // a part of the previous job exceeded its WCET
  std::uint64_t stale = 0;         // an input had no new data
};

/// Statistics of the inputs that the jobs of a task read. Inputs from files and random inputs (noise) do not count.
struct InputAnalysis {
  std::uint64_t jobs = 0;   // number of jobs that read inputs
  std::uint64_t stale = 0;  // number of jobs that read an input without new data
  std::uint64_t failed = 0; // number of jobs that could not read an input
  Distribution age;         // age of the oldest input at the time of reading, one value for each job
  Distribution delay;       // age of the oldest input at the job's release, if the input was sampled before the release
};

/// The initialisation of a task's buffers before the first release. The figures are sums over buffers and tiles.
struct ContentsAnalysis {
  std::uint64_t buffers = 0, tiles = 0; // tiles of the buffers that a GPU initialised
  Bytes size;
  Duration took{0};
  Duration prefetched{0}, made{0}; // time of prefetching and of initialising tiles; each has its own stream
  Duration overlapped{0};          // time in which both streams worked concurrently
};

struct TaskAnalysis {
  TaskSetup setup;
  std::uint64_t released = 0, completed = 0, missed = 0, skipped = 0, aborted = 0, failed = 0, unfinished = 0;
  SkipAnalysis skipped_by;      // drops by reason; their sum is `skipped`
  std::uint64_t unknown = 0;    // jobs with missing or contradictory events
  std::string invalid;          // not empty: the reason why no figure of this task is reliable
  Distribution release_latency; // from the nominal release until the job's thread runs
  Distribution inter_arrival;   // time between the nominal releases of successive jobs, without dropped releases
  Duration release_jitter{0};   // largest minus smallest release latency
  std::vector<StageAnalysis> stages;
  std::vector<StageAnalysis> layers;                   // layers of the device part, if layers were recorded
  std::vector<CauseAnalysis> breakdown;                // in the order of Cause
  double utilisation_core = 0, utilisation_device = 0; // share of the recorded time
  std::optional<JobBreakdown> worst;                   // the job with the longest response
  std::optional<InputAnalysis> inputs;                 // absent if no job recorded inputs
  ContentsAnalysis contents;
  std::uint64_t dropped_results = 0; // results that the task's outputs refused
  std::uint64_t preemptions = 0;     // number of preemptions of completed jobs between segments
  Duration longest_segment{0};       // only for device parts with several segments
};

// ---- chains (policies/chains/chain_bounds.hpp) ----

struct ChainMeasure {
  Distribution times; // `max_job` is a job of the chain's last task
  std::optional<Duration> bound, limit;
  std::uint64_t above = 0; // number of samples greater than `bound`
};

/// A job on the path of a reaction through a chain.
struct ChainStep {
  policies::JobId job;
  Instant
      there{}; // begin of this step: the event that began the reaction, or the output of the previous job on the path
  Instant nominal{}, read{}, ended{}, output{};
  Instant sampled{}; // sampling time of the job's oldest input; the time of reading if the sampling time is unknown
  std::vector<Share>
      delays; // causes of the time from the job's nominal release until it read, if the job reads when it begins
  std::vector<Share> shares; // causes of the time from reading until the job's end
  [[nodiscard]] Duration until_release() const { return until_release(there); }
  [[nodiscard]] Duration until_release(Instant since) const {
    return std::clamp(nominal - since, Duration(0), std::max(read - since, Duration(0)));
  }
  [[nodiscard]] Duration until_read() const { return read - there - until_release(); }
  /// Returns the time for which the job's CPU parts executed.
  [[nodiscard]] Duration on_core() const { return executed(Share::Where::core); }
  [[nodiscard]] Duration on_device() const { return executed(Share::Where::execution); }
  /// Returns the time that the job waited between reading its input and its end.
  [[nodiscard]] Duration waited() const { return ended - read - on_core() - on_device(); }
  /// Returns the time from the job's end until its output appeared. Logical execution time holds outputs until the
  /// deadline.
  [[nodiscard]] Duration held() const { return output - ended; }

 private:
  [[nodiscard]] Duration executed(Share::Where where) const;
};

/// The path of one reaction through a chain. The reaction is the sum of two times over all jobs of the path: the wait
/// for the job's release, and the time from that release to the job's output.
struct ChainPath {
  Instant event{};
  Duration reaction{0};
  std::vector<ChainStep> steps; // in the order of the data
  std::string blame;            // the longest piece of the path, in one line
};

/// A task's mean share of the reactions of a chain.
struct ChainPart {
  Duration waits{0}; // from the event or the previous job's output until the release of a job that reads the data
  Duration takes{0}; // from that release to the job's output
};

/// The mean division of reactions among the tasks of a chain, over all reactions with a known path.
struct ChainDivision {
  std::uint64_t reactions = 0;
  std::vector<ChainPart> parts; // one for each task, in the order of the chain
  [[nodiscard]] Duration whole() const;
};

struct ChainAnalysis {
  ChainSetup setup;
  ChainMeasure reaction, age, reduced_age;
  std::optional<ChainPath> worst; // the longest reaction
  ChainDivision all;              // the division of all reactions
  ChainDivision longest;          // the division of the longest 1 % of the reactions, at most 4096 reactions
  std::string advice;             // how to shorten reactions most; empty if data do not wait for releases
  std::string invalid;            // not empty: the reason why no figure of the chain is reliable
};

/// A core, the device's compute engine, or a copy engine.
struct ResourceAnalysis {
  std::string name; // "core 1", "device", "copy in", "copy out"
  std::uint64_t parts = 0;
  Duration busy{0}, longest{0}, throttled{0};
  double utilisation = 0;
};

struct SwapAnalysis {
  std::uint64_t in = 0, out = 0, dropped = 0, failed = 0; // numbers of chunks; dropped: unmapped without a copy
  Bytes in_bytes, out_bytes;
  Distribution in_times, out_times; // times of one chunk's transfer
};

struct ClockAnalysis {
  /// "core 3", "device", "device memory" or "board". A board has limits, but no clock. If a board limit was in force,
  /// execution times of the run are not valid as WCETs
  std::string of;
  Frequency lowest, highest;
  // reasons that limited the clock at some time: "power", "temperature", "the hardware's brake"
  std::vector<std::string> limits;
};
/// The time that a hypervisor took from a core.
struct StolenAnalysis {
  std::uint32_t core = 0;
  Duration time{0};
};
/// Returns the names of the bits of `limits`, a field of the event device_clock.
[[nodiscard]] std::vector<std::string> names_of_limits(std::uint32_t limits);
/// Returns a text on the meaning of a board's limits for the measured execution times of a run.
[[nodiscard]] std::string no_wcets(const std::vector<std::string>& limits);

/// An observation that exceeded a promised bound.
struct Breach {
  std::string task, stage; // "response", "before", "device", "after"; for a chain "reaction", "age", "reduced-age"
  Duration promised{0}, observed{0};
  std::uint64_t job = 0;
  std::string text;
  std::string
      chain; // the chain whose bound was exceeded; its last task is `task`. Empty: the bound of a task was exceeded
};

/// The result of a replay: the scheduler core makes its decisions again from the recorded inputs, and these decisions
/// are compared with the recorded decisions.
struct ReplayAnalysis {
  std::uint64_t inputs = 0, actions = 0;
  bool complete = false;    // true if all decisions from the first to the last were compared
  std::string difference;   // not empty: the first difference, with the recorded decision and the core's decision
  std::string not_replayed; // not empty: the reason why no decision was compared
};

struct Analysis {
  std::string folder;
  RunSetup setup;
  std::uint64_t events = 0, lost_events = 0, lost_packets = 0;
  bool ended = false;             // true if the recording contains the end of the run
  std::vector<std::string> notes; // missing parts of the recording, and the consequences for the figures
  Instant from{}, to{};           // first and last instant of the recording
  std::string host;               // the host on which the recording was made; empty: unknown
  /// The time of the first event by the wall clock of that host
  std::optional<std::chrono::sys_time<Duration>> began;
  std::vector<TaskAnalysis> tasks;
  std::vector<ChainAnalysis> chains;
  std::vector<ResourceAnalysis> resources;
  std::vector<ClockAnalysis> clocks; // clocks that the recording reports
  std::vector<StolenAnalysis> stolen;
  std::optional<SwapAnalysis> swap;
  std::uint64_t misses = 0;
  std::vector<JobBreakdown> missed_jobs; // the first `max_misses` jobs that missed their deadline
  std::vector<Breach> breaches;
  std::uint64_t excesses = 0;
  std::vector<Excess> above_wcet; // the first `max_excesses` executions above their WCET
  ReplayAnalysis replay;
  static constexpr std::size_t max_misses = 1000, max_excesses = 200;
};

} // namespace rtexec::traces
