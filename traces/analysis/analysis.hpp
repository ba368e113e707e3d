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

/// The causes of a job's response time, from its nominal release to its end. Each instant has one cause, the one that
/// keeps the job from going on. Below, "its" means the job's. A swap that is hidden behind another job's execution
/// costs nothing.
enum class Cause : std::uint8_t {
  release_latency, // its thread was not running yet, and nothing more urgent had the core
  /// The job waits behind a more urgent job (for the core, for the device, or while that job is being swapped in), or
  /// behind the task's previous job
  queueing,
  blocking_execution, // a less urgent job executes on the device
  blocking_copy,      // a less urgent job's transfer is under way
  copy_engine,        // its own transfer has been ordered, and the copy engine has not begun it
  swap_out,           // memory is being freed for its chunks
  swap_in,            // its own chunks are being loaded
  execution,          // its own parts execute: before the device, on it, after it
  throttled,          // its core had used up the memory-bandwidth budget
  overhead,           // scheduling, wake-ups, interrupts, delays of submission and completion, other users of the core
};
constexpr std::size_t causes = 10;
[[nodiscard]] std::string_view name(Cause cause); // "release-latency", "queueing", ...

/// A part of a job's response time, and the job that caused it.
struct Share {
  enum class Where : std::uint8_t { core, execution, swap_in, swap_out }; // activity of the culprit
  static constexpr std::size_t places = 4;
  Cause cause{};
  Where where{};
  std::optional<policies::JobId> culprit; // absent: no job caused it; may be the job itself
  Duration time{0};
  Duration usual{0};   // mean time of this `cause` and `where` over the task's jobs that kept their deadline
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
  std::uint32_t count = 0; // number of times that the job left the device to other jobs
  std::vector<By> by;
  std::uint32_t reloaded = 0; // number of its own chunks that were loaded again meanwhile
  Duration reloading{0};      // time in which the job waited for those chunks and nothing else
  void add(std::uint32_t task, Duration time);
};

struct JobBreakdown {
  policies::JobId job;
  JobOutcome outcome = JobOutcome::in_time;
  Instant nominal{};
  Duration deadline{0}; // relative
  Duration response{0};
  std::array<Duration, causes> by_cause{}; // their sum is the response
  std::vector<Share> shares;               // for misses and worst jobs; the largest excess over `usual` comes first
  Preemptions preemptions{};
  std::string blame; // for misses: the reason in one line
};

/// A distribution of durations in log-linear classes, in constant memory. Percentiles are within 1/128 of the value;
/// the rest is exact.
struct Distribution {
  struct Class {
    Duration upper{0}; // inclusive
    std::uint64_t count = 0;
  };
  struct Mark {
    std::uint64_t count = 0; // number of jobs until then
    Duration value{0};
  };
  std::uint64_t count = 0;
  Duration min{0}, mean{0}, p50{0}, p90{0}, p99{0}, p999{0}, p9999{0}, max{0};
  std::uint64_t max_job = 0;    // job of the maximum
  Instant max_at{};             // when the part that took the maximum ended
  std::vector<Mark> high_water; // each rise of the maximum
  std::vector<Class> classes;   // non-empty classes, ascending
};

/// The circumstances of an execution of a part that may make it shorter or longer.
enum class Factor : std::uint8_t {
  pause,     // time since this part of the task last ended
  neighbour, // the part that ended last before it, on its core or on the device
  beside,    // concurrent work of the copy engines and, for CPU parts, of the device
  clock,     // last observed clock of its core or of the device
};
constexpr std::size_t factors = 4;
[[nodiscard]] std::string_view name(Factor factor); // "pause", ...

/// The executions of a part that belong to one group of a factor.
struct FactorGroup {
  std::string name; // "2.00 ms to 4.00 ms", "last part of rear", "copies in"
  std::uint64_t count = 0, above_wcet = 0;
  Duration p50{0}, p90{0}, p99{0}, max{0};
  static constexpr std::uint64_t enough = 20; // minimum number of executions for a comparison
};

struct FactorAnalysis {
  Factor factor{};
  double ratio = 1; // largest to smallest p90 of the groups with `enough` executions (fewer have no p99)
  std::vector<FactorGroup> groups;
};

/// A stage of a task's jobs. The stage's length in one job is one sample. CPU parts are measured in CPU time. The
/// device part is measured by its executed time if that was recorded, else from its begin to its end. Responses are
/// measured from release to end.
struct StageAnalysis {
  std::string name; // "before", "device", "after", "response"
  Distribution times;
  std::optional<Duration> configured; // the WCET; for "response" the bound
  Pwcet pwcet;
  SampleSeries samples{};
  std::vector<FactorAnalysis> factors; // for parts; the largest ratio comes first
};

/// An execution above its WCET, and its circumstances.
struct Excess {
  policies::JobId job;
  std::string part; // "before", "device", "after"
  Instant begin{};
  Duration time{0}, wcet{0};
  // time that a hypervisor took from its core between the readings just before and just after the execution; another
  // part may have lost some of it
  Duration stolen{0};
  std::vector<std::string> surroundings; // the name of its group for each known factor, in the order of Factor
};

struct CauseAnalysis {
  Cause cause{};
  Duration total{0}, mean{0}, max{0}; // over completed jobs
};

/// The numbers of dropped releases, by reason.
struct SkipAnalysis {
  std::uint64_t overrun = 0;       // the previous job was unfinished; also all drops of recordings that give no reason
  std::uint64_t wcet_exceeded = 0; // a part of the previous job exceeded its WCET
  std::uint64_t stale = 0;         // an input had no new data
};

/// Statistics of the inputs that the jobs of a task read. Inputs from files and random inputs (noise) do not count.
struct InputAnalysis {
  std::uint64_t jobs = 0;   // number of jobs that read inputs
  std::uint64_t stale = 0;  // number of those that had an input without new data
  std::uint64_t failed = 0; // number of those that could not read
  Distribution age;         // age of the oldest input at the time of reading
  Distribution delay;       // age of the oldest input at the release, if it was sampled before
};

/// The first contents of a task's buffers, which are made before the first release. The figures are sums over buffers
/// and tiles.
struct ContentsAnalysis {
  std::uint64_t buffers = 0, tiles = 0; // tiles: of buffers that a GPU initialised
  Bytes size;
  Duration took{0};
  Duration prefetched{0}, made{0}; // prefetching and making of tiles, each in its own stream
  Duration overlapped{0};          // time in which both streams worked at once
};

struct TaskAnalysis {
  TaskSetup setup;
  std::uint64_t released = 0, completed = 0, missed = 0, skipped = 0, aborted = 0, failed = 0, unfinished = 0;
  SkipAnalysis skipped_by;      // reasons; their sum is `skipped`
  std::uint64_t unknown = 0;    // jobs with missing or contradictory events
  std::string invalid;          // not empty: why no figure of this task is reliable
  Distribution release_latency; // from nominal release to the thread running
  Distribution inter_arrival;   // between the nominal releases of successive jobs, without skipped releases
  Duration release_jitter{0};   // largest minus smallest release latency
  std::vector<StageAnalysis> stages;
  std::vector<StageAnalysis> layers;                   // layers of the device part, if layers were recorded
  std::vector<CauseAnalysis> breakdown;                // in the order of Cause
  double utilisation_core = 0, utilisation_device = 0; // share of the recorded time
  std::optional<JobBreakdown> worst;                   // the job with the longest response
  std::optional<InputAnalysis> inputs;                 // absent if no job recorded inputs
  ContentsAnalysis contents;
  std::uint64_t dropped_results = 0; // results that the outputs did not accept
  std::uint64_t preemptions = 0;     // number of preemptions of completed jobs between segments
  Duration longest_segment{0};       // only of device parts with several segments
};

// ---- chains (policies/chains/chain_bounds.hpp) ----

struct ChainMeasure {
  Distribution times; // `max_job` is a job of the chain's last task
  std::optional<Duration> bound, limit;
  std::uint64_t above = 0; // number of samples above the bound
};

/// A job on the path of a reaction through a chain.
struct ChainStep {
  policies::JobId job;
  Instant there{}; // begin of this step: the event, or the output of the previous job
  Instant nominal{}, read{}, ended{}, output{};
  Instant sampled{};         // sampling time of its oldest input; the time of reading if unknown
  std::vector<Share> delays; // from its nominal release until it read, if it reads when it begins
  std::vector<Share> shares; // from reading until its end
  [[nodiscard]] Duration until_release() const { return until_release(there); }
  [[nodiscard]] Duration until_release(Instant since) const {
    return std::clamp(nominal - since, Duration(0), std::max(read - since, Duration(0)));
  }
  [[nodiscard]] Duration until_read() const { return read - there - until_release(); }
  /// Return the time that the job's own parts executed: on its core, and on the device.
  [[nodiscard]] Duration on_core() const { return executed(Share::Where::core); }
  [[nodiscard]] Duration on_device() const { return executed(Share::Where::execution); }
  /// Returns the time that the job waited between reading and its end.
  [[nodiscard]] Duration waited() const { return ended - read - on_core() - on_device(); }
  /// Returns the time that the job's output was held back until the job's deadline.
  [[nodiscard]] Duration held() const { return output - ended; }

 private:
  [[nodiscard]] Duration executed(Share::Where where) const;
};

/// The path of one reaction through a chain. Each job's time to its output and the waits for the jobs sum to the
/// reaction.
struct ChainWay {
  Instant event{};
  Duration reaction{0};
  std::vector<ChainStep> steps; // in the order of the data
  std::string blame;            // the longest piece of the reaction, in one line
};

/// A task's mean share of reactions.
struct ChainPart {
  Duration waits{0}; // from the event, or the previous output, until the release of a job that has the data
  Duration takes{0}; // from that release to the job's output
};

/// The mean division of reactions among the tasks, over all reactions whose path is known.
struct ChainDivision {
  std::uint64_t reactions = 0;
  std::vector<ChainPart> parts; // by place in the chain
  [[nodiscard]] Duration whole() const;
};

struct ChainAnalysis {
  ChainSetup setup;
  ChainMeasure reaction, age, reduced_age;
  std::optional<ChainWay> worst; // the longest reaction
  ChainDivision all;             // all reactions
  ChainDivision longest;         // the longest 1 % of the reactions, at most 4096
  std::string advice;            // how to shorten reactions most, if data wait for releases; else empty
  std::string invalid;           // not empty: why no figure is reliable
};

/// A core, the device's compute engine, or a copy engine.
struct ResourceAnalysis {
  std::string name; // "core 1", "device", "copy in", "copy out"
  std::uint64_t parts = 0;
  Duration busy{0}, longest{0}, throttled{0};
  double utilisation = 0;
};

struct SwapAnalysis {
  std::uint64_t in = 0, out = 0, dropped = 0, failed = 0; // chunks; dropped: unmapped only
  Bytes in_bytes, out_bytes;
  Distribution in_times, out_times; // of one chunk
};

struct ClockAnalysis {
  std::string of; // "core 3", "device", "device memory"; "board": no clock, only limits that invalidate execution times
  Frequency lowest, highest;
  // reasons that limited the clock at times: "power", "temperature", "the hardware's brake"
  std::vector<std::string> limits;
};
/// The time that a hypervisor took from a core.
struct StolenAnalysis {
  std::uint32_t core = 0;
  Duration time{0};
};
/// Returns the names of the bits of a device_clock's limits.
[[nodiscard]] std::vector<std::string> names_of_limits(std::uint32_t limits);
/// Returns a text that says what one or more limits of a board mean for a run.
[[nodiscard]] std::string no_wcets(const std::vector<std::string>& limits);

/// A promised bound that an observation exceeded.
struct Breach {
  std::string task, stage; // "response", "before", "device", "after"; of a chain "reaction", "age", "reduced-age"
  Duration promised{0}, observed{0};
  std::uint64_t job = 0;
  std::string text;
  std::string chain; // chain of the breach, whose last task is `task`; empty: the breach is of a task
};

/// The comparison of the recorded decisions with those that the scheduler core makes from the same recorded inputs.
struct ReplayAnalysis {
  std::uint64_t inputs = 0, actions = 0;
  bool complete = false;    // all decisions from the first to the last were compared
  std::string difference;   // not empty: the first difference, with the recorded decision and the core's
  std::string not_replayed; // not empty: why nothing was replayed
};

struct Analysis {
  std::string folder;
  RunSetup setup;
  std::uint64_t events = 0, lost_events = 0, lost_packets = 0;
  bool ended = false;             // the recording holds the end of the run
  std::vector<std::string> notes; // missing parts of the recording, and the consequences
  Instant from{}, to{};           // first and last instant of the recording
  std::string host;               // host that recorded; empty: not known
  /// The time of the first event by the host's wall clock
  std::optional<std::chrono::sys_time<Duration>> began;
  std::vector<TaskAnalysis> tasks;
  std::vector<ChainAnalysis> chains;
  std::vector<ResourceAnalysis> resources;
  std::vector<ClockAnalysis> clocks; // clocks that the recording reports
  std::vector<StolenAnalysis> stolen;
  std::optional<SwapAnalysis> swap;
  std::uint64_t misses = 0;
  std::vector<JobBreakdown> missed_jobs; // the first `max_misses`
  std::vector<Breach> breaches;
  std::uint64_t excesses = 0;
  std::vector<Excess> above_wcet; // the first `max_excesses`
  ReplayAnalysis replay;
  static constexpr std::size_t max_misses = 1000, max_excesses = 200;
};

} // namespace rtexec::traces
