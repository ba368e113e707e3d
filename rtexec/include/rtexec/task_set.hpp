// The task set of one TOML file. Plain values, owned by whoever holds the struct; validated by the reader, or by
// validate() if they were filled in code.
//
// Functions are thread-safe, may allocate, and report failures as results. The only exception that they throw is
// std::bad_alloc.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/export.hpp>
#include <rtexec/memory.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

/// The layers of a synthetic task's device part, each of which can be a segment of its own.
struct SyntheticLayers {
  /// The number of layers if `times` is empty, at least 1. They then have equal lengths.
  std::uint32_t count = 1;
  /// The length of each layer. The sum of all lengths is the WCET of the device part.
  std::vector<Duration> times{};
  [[nodiscard]] std::size_t number() const { return times.empty() ? count : times.size(); }
  /// Returns the length of each layer, if the device part has this WCET. With equal lengths the last layer gets the
  /// remainder of the division.
  [[nodiscard]] std::vector<Duration> of(Duration wcet) const {
    if (!times.empty()) return times;
    std::vector<Duration> equal(count, wcet / count);
    equal.back() += wcet % count;
    return equal;
  }
  friend bool operator==(const SyntheticLayers&, const SyntheticLayers&) = default;
};

/// One input tensor of a task.
struct TaskInput {
  /// The tensor's name. Empty: the task has one input, and this is it.
  std::string tensor;
  SourceKind source = SourceKind::noise;
  /// The source's address. files: a path, resolved against the folder of the TOML file; camera: its device file;
  /// iceoryx: "SERVICE/INSTANCE/EVENT"; task: "NAME/TENSOR", or "NAME" if that task has one output.
  std::string from;
  OnStale on_stale = OnStale::reuse;
  /// The size of a camera's pictures; the camera's nearest size is used. Absent: the size is that of the tensor.
  std::optional<PictureSize> size{};
  /// The format of a camera's pictures. Absent: the first format of PixelFormat, in its order, that the camera has.
  std::optional<PixelFormat> format{};
  /// The time between two pictures of a camera. Absent: the camera's default.
  std::optional<Duration> interval{};
  /// The preprocessing of pictures from files, cameras and messages.
  Preprocessing preprocessing{};
};

/// One output tensor of a task, or all of them.
struct TaskOutput {
  /// The tensor's name; "detections": the boxes of a detector, six numbers each. Empty: all outputs.
  std::string tensor;
  SinkKind sink = SinkKind::none;
  /// The sink's address. files: a folder, resolved against the folder of the TOML file and created if needed; iceoryx:
  /// "SERVICE/INSTANCE/EVENT".
  std::string to;
};

struct Task {
  std::string name;
  WorkloadKind workload = WorkloadKind::dnn;
  /// The back end of a dnn task (<rtexec/backend.h>). Empty or "rtexec": the built-in engine. A name: the shared object
  /// librtexec-backend-NAME.so. With a '/': the path of a shared object, resolved like `model`.
  std::string backend;
  /// The ONNX file of a dnn task, or another file that its back end reads, resolved against the folder of the TOML
  /// file.
  std::filesystem::path model;
  /// The input of a dnn task: a picture, a folder of pictures or a .npy file. Empty: seeded noise.
  std::filesystem::path input;
  /// The sources of inputs and sinks of outputs. A tensor that is not listed here gets noise, or has no sink.
  std::vector<TaskInput> inputs;
  std::vector<TaskOutput> outputs;
  /// All dimensions of a dnn task's inputs, by input name, if the model leaves some of them open.
  std::map<std::string, std::vector<std::int64_t>> shape;
  /// Constant inputs of a dnn task, by input name: all elements in row-major order, or one number for all elements.
  /// They have no source.
  std::map<std::string, std::vector<double>> constant;
  /// Recurrent state of a dnn task, as pairs of an input's and an output's name. In each job the input gets the output
  /// of the previous job. The first job gets zeros.
  std::map<std::string, std::string> state;
  /// The arithmetic of a dnn task on a GPU.
  Precision precision = Precision::fp32;
  /// The shared object that makes the workload of a custom task. Empty: a program gives the workload.
  std::filesystem::path library;
  /// A text that is passed to the shared object of a custom task, or to the back end of a dnn task.
  std::string arguments;
  /// The time between two releases. If triggers release the task, and not a timer, it is the shortest such time.
  Duration period{0};
  Trigger trigger = Trigger::timer;
  /// The task whose jobs release this task when they end (Trigger::after). In a chain with Communication::let a job
  /// ends at its deadline.
  std::string after;
  /// The relative deadline, at most the period.
  Duration deadline{0};
  /// The instant of the first release, counted from the start.
  Duration offset{0};
  /// The longest time from the sampling of a job's input to the job's release; an assumption of the bounds. Bounds of
  /// chains that begin with this task then count from the sampling. Absent: the delay is unknown, and those bounds
  /// count from the release.
  std::optional<Duration> input_delay;
  /// The core that runs the CPU parts. Absent: the plan chooses one.
  std::optional<unsigned> core;
  /// The explicit priority: 1 to 99, larger is more urgent, unique. Needed only if priorities are explicit.
  std::optional<int> priority;
  Criticality criticality = Criticality::real_time;
  OnOverrun on_overrun = OnOverrun::skip;
  OnWcetExceeded on_wcet_exceeded = OnWcetExceeded::tell;
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// Worst-case execution times. Absent: they are taken from the profile file.
  std::optional<Wcet> wcet;
  /// The longest device part while another job co-runs (DeviceOptions::co_run). Absent: the task's jobs never co-run.
  std::optional<Duration> wcet_beside;
  /// The part of `wcet_beside` in which the device part only waits for pages of memory. It is for tasks under managed
  /// memory (M) or mapped host memory (H). A co-running job under device memory (D) executes during these waits.
  std::optional<Duration> mapping_idle;
  /// The maximum number of segments of the device part. 1: it is not cut. Absent: the plan cuts it as far as other
  /// tasks need that.
  std::optional<std::uint32_t> segments;
  /// The preemption class. 0: the top class, which means that the task's jobs go first whenever a segment of another
  /// job ends. Otherwise the level; smaller is more urgent. Absent: the plan chooses.
  std::optional<std::uint32_t> device_class;
  Constants constants = Constants::automatic;
  /// The number of chunks of the ring: the device memory that streamed constants are loaded into, again and again
  /// (Constants::streamed). Absent: the plan decides.
  std::optional<std::uint32_t> stream_chunks;
  /// All of the task's device memory. Required for a synthetic task. For a dnn task it is at least the demand of its
  /// network.
  std::optional<Bytes> footprint;
  /// The size of the part of the footprint that may be swapped. Absent: all of it.
  std::optional<Bytes> swappable;
  /// The class of a synthetic task's swappable memory, or of the memory by which the footprint of another task exceeds
  /// its network's demand.
  MemoryClass memory_class = MemoryClass::state;
  /// The size of the task's memory that takes part in swapping. Absent: the plan decides.
  std::optional<Bytes> swap_volume;
  /// The part of the swap volume that is on the device at the start. Absent: as much as fits; the tasks get chunks in
  /// turn.
  std::optional<Bytes> resident;
  /// The layers of a synthetic task's device part. Absent: one.
  std::optional<SyntheticLayers> layers;
  /// The memory of a synthetic task that must survive between two layers, in addition to the footprint.
  Bytes live{0};
  /// The maximum number of bytes that the first CPU part moves to and from memory. A traffic task moves exactly this
  /// number.
  std::optional<Bytes> traffic_before;
  /// The same for the last CPU part.
  std::optional<Bytes> traffic_after;
  /// The access pattern of a traffic task.
  TrafficPattern pattern = TrafficPattern::write;
  /// The size of the buffer that a traffic task sweeps. Absent: four times the last-level cache.
  std::optional<Bytes> buffer;
  /// The side of a winograd task's square picture.
  unsigned resolution = 512;
  /// The problem size of a micro-benchmark of memory policies: the number of elements, or the side of a matrix.
  std::optional<unsigned> size;
  /// Release times counted from the start, for the simulator only. Absent: releases are periodic.
  std::optional<std::vector<Duration>> releases;
  [[nodiscard]] bool real_time() const noexcept { return criticality == Criticality::real_time; }
};

/// A chain: a list of tasks through which data travel from a sensor to an actuator.
struct Chain {
  std::string name;
  /// The tasks, in the order of the data flow.
  std::vector<std::string> tasks;
  Communication communicate = Communication::immediate;
  /// The limit of the time from an event to the output that reacts to it. Absent: no limit.
  std::optional<Duration> max_reaction;
  /// The limit of the age of the data from which an output in use was made. Absent: no limit.
  std::optional<Duration> max_age;
};

struct ExecutiveOptions {
  Order order = Order::edf;
  PriorityAssignment priorities = PriorityAssignment::rate_monotonic;
  /// The length of a run. Absent: a run lasts until it is stopped.
  std::optional<Duration> duration;
  bool allow_degraded = false;
  ThreadPolicy threads = ThreadPolicy::automatic;
  /// True if the run keeps its cores out of idle states. This shortens wake-ups and costs power.
  bool keep_awake = false;
  /// True if the run locks the board's clocks (CPU, GPU, memory) at the highest rate that the power mode allows. They
  /// are restored afterwards.
  bool lock_clocks = false;
  /// The file of measured WCETs. Default: the TOML file's name, with ".profile.toml".
  std::filesystem::path profile;
  /// The probability with which a job may exceed a measured WCET. WCETs are extrapolated to this probability if the
  /// measurements allow it.
  double wcet_exceedance = 1e-6;
};

/// Values that replace the board file's calibrated costs of swapping (SwapCost), for the chunk size of the set.
struct SwapCostOptions {
  std::optional<Duration> in_per_chunk, out_per_chunk, in_fixed, out_fixed, drop_per_chunk;
};

inline constexpr std::uint32_t max_launch_ahead = 3;

struct DeviceOptions {
  /// The device memory that is used, at most the board's. Absent: all of it.
  std::optional<Bytes> capacity;
  /// The unit of physical device memory. Absent: the board's default.
  std::optional<Bytes> chunk;
  /// How the engines' threads wait for a GPU.
  Completion completion = Completion::block;
  /// True if a job under device memory (D) may execute while another job, under managed (M) or mapped host memory (H),
  /// waits for pages. All memory must fit.
  bool co_run = false;
  /// The number of segments of a job that are submitted ahead while one executes, at most `max_launch_ahead`. This
  /// shortens the time between two segments, but a preempting job must then wait for the segments that were submitted
  /// ahead. Absent: the plan decides.
  std::optional<std::uint32_t> launch_ahead;
  /// The objective by which automatic memory policies are chosen.
  MemoryObjective memory_objective = MemoryObjective::max_slack;
  SwapCostOptions swap_cost;
};

/// The store of swapped chunks.
struct SwapStore {
  /// The file that chunks are copied to. Empty: page-locked host memory.
  std::filesystem::path file;
};

struct SwapOptions {
  SwapPolicy policy = SwapPolicy::pipelined;
  /// The store of swapped chunks. Absent: host memory, or a file if the device has no memory of its own
  /// (Board::unified_memory).
  std::optional<SwapStore> store;
  SwapCandidates candidates = SwapCandidates::constants_first;
  /// True if an evicted chunk of state is copied out only if it has changed: if its digest differs from that of the
  /// stored copy.
  bool skip_unchanged = false;
  /// True if the digest of each chunk is checked after it was loaded.
  bool verify = false;
};

/// The regulation of the cores' memory bandwidth (rtexec/docs/user-guide/bandwidth-budgets.md). Bandwidth is regulated
/// if any limit is given.
struct BandwidthOptions {
  /// The period of the budgets.
  Duration period{std::chrono::milliseconds(1)};
  /// The budget of each best-effort core at the times that `regulate_while` selects. Absent: unlimited.
  std::optional<Bandwidth> best_effort;
  RegulateWhile regulate_while = RegulateWhile::device_works;
  /// True if cores donate to others the part of their budget that they are predicted not to use.
  bool reclaim = false;
  BandwidthSharing sharing = BandwidthSharing::none;
  Overshoot overshoot = Overshoot::carry;
  /// The maximum slowdown of device executions, for which a closed loop adjusts the limit of best-effort cores.
  /// `best_effort` is then the initial limit. Absent: the limit is constant.
  std::optional<double> slowdown;
  /// The lowest limit that this closed loop sets.
  Bandwidth floor{10'000'000};
  CounterBackEnd counter = CounterBackEnd::automatic;
  /// The event that counts memory traffic. Empty: the board's event.
  std::string event;
};

/// The budget of one core, always in force.
struct CoreBudget {
  unsigned core = 0;
  Bandwidth budget{0};
};

/// Files that `rtexec run` writes, unless its command line names other files. Empty: no file.
struct OutputOptions {
  /// The folder of an LTTng trace, new or empty.
  std::filesystem::path trace;
  /// A CSV file with a line for each job.
  std::filesystem::path jobs;
  /// The report, as JSON.
  std::filesystem::path json;
};

struct TaskSet {
  /// The file that the set was read from. Empty: it was built in code.
  std::filesystem::path file;
  std::string board = "host";
  ExecutiveOptions executive;
  DeviceOptions device;
  SwapOptions swap;
  BandwidthOptions bandwidth;
  std::vector<CoreBudget> core_budgets;
  std::vector<Task> tasks;
  std::vector<Chain> chains;
  OutputOptions output;
  /// Warnings of the reader, one line each: what the next release will refuse. Empty: the file needs no change.
  std::vector<std::string> warnings;
  [[nodiscard]] bool regulated() const { return bandwidth.best_effort || bandwidth.slowdown || !core_budgets.empty(); }
};

/// Reads and validates a task set. Returns bad_input with every error of the file; each error has its line, column and
/// value. Relative paths are resolved against the file's folder; models and inputs that it names must exist.
[[nodiscard]] RTEXEC_API Result<TaskSet> read_task_set(const std::filesystem::path& file);
/// Parses a task set from text; `file` names it in messages, and its folder resolves relative paths.
[[nodiscard]] RTEXEC_API Result<TaskSet> parse_task_set(std::string_view toml, const std::filesystem::path& file);

/// Validates a task set that was built in code, by the rules of read_task_set(): the limits of single values, and rules
/// that relate values (such as deadline <= period, unique names, unique priorities). Returns bad_input, with every
/// error. `deadline` must be set: only the reader makes it default to the period.
[[nodiscard]] RTEXEC_API Result<> validate(const TaskSet& tasks);

} // namespace rtexec
