// What a recording tells: for each task how long its jobs take, where the time went, and why deadlines were missed;
// plain data.
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

/// Where the time of a job goes, from its nominal release to its end. At each instant there is one cause, the one that
/// keeps the job from going on: a swap that is hidden behind another job's execution costs nothing.
enum class Cause : std::uint8_t {
  release_latency, // its thread was not running yet, and nothing more urgent had the core
  /// Behind a more urgent job (on the core, on the device, or while that one is being swapped in), or the task's own
  /// job before
  queueing,
  blocking_execution, // a less urgent job executes on the device
  blocking_copy,      // a less urgent job's transfer is under way
  copy_engine,        // its own transfer has been ordered, and the copy engine has not begun it
  swap_out,           // room is being made for it
  swap_in,            // its own chunks are being loaded
  execution,          // its own parts: before, device, after
  throttled,          // its core had used up its memory bandwidth
  overhead,           // scheduling, wake-ups, interrupts, the way to the device and back, and what else has the core
};
constexpr std::size_t causes = 10;
[[nodiscard]] std::string_view name(Cause cause); // "release-latency", "queueing", ...

/// A part of a job's response time, and whom it is owed to.
struct Share {
  enum class Where : std::uint8_t { core, execution, swap_in, swap_out }; // what the culprit did
  static constexpr std::size_t places = 4;
  Cause cause{};
  Where where{};
  std::optional<policies::JobId> culprit; // absent: nobody; its own job where that is the cause
  Duration time{0};
  Duration usual{0};   // of this cause and place: mean over the task's jobs that kept their deadline
  Duration overrun{0}; // by how much the culprit's execution, or its own, took longer than its WCET
};

enum class JobOutcome : std::uint8_t { in_time, late, failed, aborted };

/// What came between the segments of a job.
struct Preemptions {
  struct By {
    std::uint32_t task = 0;
    std::uint32_t times = 0; // that it had the device
    Duration time{0};
  };
  std::uint32_t count = 0; // how often the job left the device for others
  std::vector<By> by;
  std::uint32_t reloaded = 0; // chunks of its own that were loaded meanwhile,
  Duration reloading{0};      // and what it waited for them alone
  void add(std::uint32_t task, Duration time);
};

struct JobBreakdown {
  policies::JobId job;
  JobOutcome outcome = JobOutcome::in_time;
  Instant nominal{};
  Duration deadline{0}; // relative
  Duration response{0};
  std::array<Duration, causes> by_cause{}; // their sum is the response
  std::vector<Share> shares;               // of misses and worst jobs: the largest excess over the usual first
  Preemptions preemptions{};
  std::string blame; // of misses: the reason in one line
};

/// Durations in log-linear classes: constant memory; percentiles within 1/128 of the value, the rest exact.
struct Distribution {
  struct Class {
    Duration upper{0}; // inclusive
    std::uint64_t count = 0;
  };
  struct Mark {
    std::uint64_t count = 0; // of jobs until then
    Duration value{0};
  };
  std::uint64_t count = 0;
  Duration min{0}, mean{0}, p50{0}, p90{0}, p99{0}, p999{0}, p9999{0}, max{0};
  std::uint64_t max_job = 0;    // high-water mark: its job,
  Instant max_at{};             // and when that part ended
  std::vector<Mark> high_water; // each time it rose
  std::vector<Class> classes;   // those that are not empty, ascending
};

/// What surrounds an execution of a part, and may make it shorter or longer.
enum class Factor : std::uint8_t {
  pause,     // since this part of the task last ended
  neighbour, // what ended last before it, on its core or on the device
  beside,    // what the device, for CPU parts, and its copy engines did meanwhile
  clock,     // of its core or of the device, as it was seen last
};
constexpr std::size_t factors = 4;
[[nodiscard]] std::string_view name(Factor factor); // "pause", ...

/// Executions of a part that one surrounding had in common.
struct FactorGroup {
  std::string name; // "2.00 ms to 4.00 ms", "last part of rear", "copies in"
  std::uint64_t count = 0, above_wcet = 0;
  Duration p50{0}, p90{0}, p99{0}, max{0};
  static constexpr std::uint64_t enough = 20; // for a comparison
};

struct FactorAnalysis {
  Factor factor{};
  double ratio = 1; // of the groups with enough executions, the largest p90 (fewer have no p99) to the smallest
  std::vector<FactorGroup> groups;
};

/// One stage of a job, whose length is a sample: CPU parts by CPU time, the device's by what it executed where that is
/// told, else by the clock, as are responses.
struct StageAnalysis {
  std::string name; // "before", "device", "after", "response"
  Distribution times;
  std::optional<Duration> configured; // WCET, or bound
  Pwcet pwcet;
  SampleSeries samples{};
  std::vector<FactorAnalysis> factors; // of parts: the largest ratio first
};

/// An execution above its WCET, and what surrounded it.
struct Excess {
  policies::JobId job;
  std::string part; // "before", "device", "after"
  Instant begin{};
  Duration time{0}, wcet{0};
  Duration stolen{0}; // of its core between the looks before and after it: it may have met another part
  std::vector<std::string> surroundings; // each the name of its group, as far as it is known, in the order of Factor
};

struct CauseAnalysis {
  Cause cause{};
  Duration total{0}, mean{0}, max{0}; // over completed jobs
};

/// Releases that were dropped, by why.
struct SkipAnalysis {
  std::uint64_t overrun = 0;       // the job before was unfinished; all of recordings that do not tell why
  std::uint64_t wcet_exceeded = 0; // a part of the job before exceeded its WCET
  std::uint64_t stale = 0;         // an input had nothing new
};

/// What the jobs of a task read, and what became of their results, but for files and noise.
struct InputAnalysis {
  std::uint64_t jobs = 0;   // that read
  std::uint64_t stale = 0;  // of them, those of which an input had nothing new,
  std::uint64_t failed = 0; // and those that could not read
  Distribution age;         // of the oldest input, when it was read,
  Distribution delay;       // and when the job was released, where it was sampled before
};

/// First contents of a task's buffers, made before the first release: sums over buffers and tiles.
struct ContentsAnalysis {
  std::uint64_t buffers = 0, tiles = 0; // of those that a GPU made
  Bytes size;
  Duration took{0};
  Duration prefetched{0}, made{0}; // tiles, each in its stream,
  Duration overlapped{0};          // and both at once
};

struct TaskAnalysis {
  TaskSetup setup;
  std::uint64_t released = 0, completed = 0, missed = 0, skipped = 0, aborted = 0, failed = 0, unfinished = 0;
  SkipAnalysis skipped_by;      // their sum is `skipped`
  std::uint64_t unknown = 0;    // jobs of which events are missing, or contradict one another
  std::string invalid;          // not empty: why no figure of this task may be relied on
  Distribution release_latency; // from nominal release to the thread running
  Distribution inter_arrival;   // between nominal releases that were served
  Duration release_jitter{0};   // largest minus smallest release latency
  std::vector<StageAnalysis> stages;
  std::vector<StageAnalysis> layers;                   // on the device, where layers were recorded
  std::vector<CauseAnalysis> breakdown;                // in the order of Cause
  double utilisation_core = 0, utilisation_device = 0; // share of the recorded time
  std::optional<JobBreakdown> worst;                   // of the longest response
  std::optional<InputAnalysis> inputs;                 // where any were told
  ContentsAnalysis contents;
  std::uint64_t dropped_results = 0; // that outputs did not take
  std::uint64_t preemptions = 0;     // of completed jobs between segments
  Duration longest_segment{0};       // of several
};

// ---- chains (policies/chains/chain_bounds.hpp) ----

struct ChainMeasure {
  Distribution times; // their job is the last task's
  std::optional<Duration> bound, limit;
  std::uint64_t above = 0; // the bound
};

/// A job on the way of a reaction.
struct ChainStep {
  policies::JobId job;
  Instant there{}; // what it answers: the event, or the output of the job before
  Instant nominal{}, read{}, ended{}, output{};
  Instant sampled{};         // the oldest of what it read; when it read, where nothing was told
  std::vector<Share> delays; // from its nominal release until it read, where it reads when it begins
  std::vector<Share> shares; // from then on until it ended
  [[nodiscard]] Duration until_release() const { return until_release(there); }
  [[nodiscard]] Duration until_release(Instant since) const {
    return std::clamp(nominal - since, Duration(0), std::max(read - since, Duration(0)));
  }
  [[nodiscard]] Duration until_read() const { return read - there - until_release(); }
  /// Its own parts on its core, and on the device.
  [[nodiscard]] Duration on_core() const { return executed(Share::Where::core); }
  [[nodiscard]] Duration on_device() const { return executed(Share::Where::execution); }
  /// What it waited for between reading and its end,
  [[nodiscard]] Duration waited() const { return ended - read - on_core() - on_device(); }
  /// and what its output waited for its deadline.
  [[nodiscard]] Duration held() const { return output - ended; }

 private:
  [[nodiscard]] Duration executed(Share::Where where) const;
};

/// The way of one reaction; what each job took to its output, and what was waited for it, sum to the reaction.
struct ChainWay {
  Instant event{};
  Duration reaction{0};
  std::vector<ChainStep> steps; // in the order of the data
  std::string blame;            // what took longest of it, in one line
};

/// A task's part of reactions, in the mean.
struct ChainPart {
  Duration waits{0}; // from the event, or the output before, until a job is released that has the data
  Duration takes{0}; // from there to its output
};

/// Where reactions went by, of so many whose way is told.
struct ChainDivision {
  std::uint64_t reactions = 0;
  std::vector<ChainPart> parts; // by place
  [[nodiscard]] Duration whole() const;
};

struct ChainAnalysis {
  ChainSetup setup;
  ChainMeasure reaction, age, reduced_age;
  std::optional<ChainWay> worst; // the longest reaction
  ChainDivision all;             // reactions,
  ChainDivision longest;         // and of them the longest 1 %, or as many as are kept
  std::string advice;            // what would shorten them most, where data wait for jobs; empty: they do not
  std::string invalid;           // not empty: why no figure may be relied on
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
  std::string of; // "core 3", "device", "device memory"; "board": no clock, and what made execution times worthless
  Frequency lowest, highest;
  std::vector<std::string> limits; // what held it back at times: "power", "temperature", "the hardware's brake"
};
/// What a hypervisor took of a core.
struct StolenAnalysis {
  std::uint32_t core = 0;
  Duration time{0};
};
/// Of the bits that a device_clock has.
[[nodiscard]] std::vector<std::string> names_of_limits(std::uint32_t limits);
/// What a board's limits, one or more, mean for a run.
[[nodiscard]] std::string no_wcets(const std::vector<std::string>& limits);

/// What was promised and did not hold.
struct Breach {
  std::string task, stage; // "response", "before", "device", "after"; of a chain "reaction", "age", "reduced-age"
  Duration promised{0}, observed{0};
  std::uint64_t job = 0;
  std::string text;
  std::string chain; // that it is of, and `task` its last one; empty: of a task
};

/// The recorded decisions against those of the scheduler core.
struct ReplayAnalysis {
  std::uint64_t inputs = 0, actions = 0;
  bool complete = false;    // from the first decision to the last
  std::string difference;   // not empty: the first one, with what was recorded and what the core decides
  std::string not_replayed; // not empty: why
};

struct Analysis {
  std::string folder;
  RunSetup setup;
  std::uint64_t events = 0, lost_events = 0, lost_packets = 0;
  bool ended = false;             // the recording holds the end of the run
  std::vector<std::string> notes; // what is missing from the recording, and what follows from that
  Instant from{}, to{};           // first and last instant
  std::string host;               // that recorded it; empty: not known
  /// Of the first event, by the host's wall clock
  std::optional<std::chrono::sys_time<Duration>> began;
  std::vector<TaskAnalysis> tasks;
  std::vector<ChainAnalysis> chains;
  std::vector<ResourceAnalysis> resources;
  std::vector<ClockAnalysis> clocks; // those that were seen
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
