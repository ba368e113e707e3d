// The task set of one TOML file. Plain values, owned by the holder of the struct. The reader validates them; validate()
// validates values that code has set.
//
// Functions are thread-safe, may allocate, and return failures as results. The only exception that they throw is
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

/// The layers of a synthetic task's device part. Each layer can be a segment.
struct SyntheticLayers {
  /// The number of layers, at least 1. Used only if `times` is empty. All layers then have equal lengths.
  std::uint32_t count = 1;
  /// The length of each layer. The sum of all lengths is the WCET of the device part.
  std::vector<Duration> times{};
  [[nodiscard]] std::size_t number() const { return times.empty() ? count : times.size(); }
  /// Returns the length of each layer for a device part with the WCET `wcet`. If `times` is empty, the layers have
  /// equal lengths, and the last layer also gets the remainder of the division.
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
  /// The name of the tensor. Empty: the only input of the task.
  std::string tensor;
  SourceKind source = SourceKind::noise;
  /// The source's address. files: a path, resolved against the folder of the TOML file; camera: the camera's device
  /// file; iceoryx: "SERVICE/INSTANCE/EVENT"; task: "NAME/TENSOR", or "NAME" if that task has only one output.
  std::string from;
  OnStale on_stale = OnStale::reuse;
  /// The size of a camera's pictures. The nearest size that the camera supports is used. Absent: the size of the
  /// tensor.
  std::optional<PictureSize> size{};
  /// The format of a camera's pictures. Absent: the first format in the order of PixelFormat that the camera supports.
  std::optional<PixelFormat> format{};
  /// The time between two pictures of a camera. Absent: the camera's default.
  std::optional<Duration> interval{};
  /// The preprocessing of pictures from files, cameras and messages.
  Preprocessing preprocessing{};
};

/// One output tensor of a task, or all of them.
struct TaskOutput {
  /// The name of the tensor. "detections": the boxes of a detector, six numbers for each box. Empty: all outputs.
  std::string tensor;
  SinkKind sink = SinkKind::none;
  /// The sink's address. files: a folder, resolved against the folder of the TOML file and created if necessary;
  /// iceoryx: "SERVICE/INSTANCE/EVENT".
  std::string to;
};

struct Task {
  std::string name;
  WorkloadKind workload = WorkloadKind::dnn;
  /// The back end of a dnn task (<rtexec/backend.h>). Empty or "rtexec": the built-in engine. A name: the shared object
  /// librtexec-backend-NAME.so. A text with a '/': the path of a shared object, resolved like `model`.
  std::string backend;
  /// The ONNX file of a dnn task, or another file that the task's back end reads. Resolved against the folder of the
  /// TOML file.
  std::filesystem::path model;
  /// The input of a dnn task: a picture, a folder of pictures or a .npy file. Empty: pseudo-random noise with a fixed
  /// seed.
  std::filesystem::path input;
  /// The sources of inputs and the sinks of outputs. An input that is not listed gets noise. An output that is not
  /// listed has no sink.
  std::vector<TaskInput> inputs;
  std::vector<TaskOutput> outputs;
  /// All dimensions of a dnn task's inputs, by input name. Needed if the model leaves some dimensions open.
  std::map<std::string, std::vector<std::int64_t>> shape;
  /// Constant inputs of a dnn task, by input name: all elements in row-major order, or one number for all elements. A
  /// constant input has no source.
  std::map<std::string, std::vector<double>> constant;
  /// Recurrent state of a dnn task: pairs of an input's name and an output's name. In each job the input gets the
  /// previous job's output. In the first job the input is zero.
  std::map<std::string, std::string> state;
  /// The arithmetic of a dnn task on a GPU.
  Precision precision = Precision::fp32;
  /// The shared object that makes the workload of a custom task. Empty: a program provides the workload.
  std::filesystem::path library;
  /// A text for the shared object of a custom task, or for the back end of a dnn task.
  std::string arguments;
  /// The time between two releases. If triggers release the task instead of a timer, the minimum time between two
  /// releases.
  Duration period{0};
  Trigger trigger = Trigger::timer;
  /// The task whose jobs release this task when they end (Trigger::after). In a chain with Communication::let, a job
  /// ends at its deadline for this purpose.
  std::string after;
  /// The relative deadline, at most the period.
  Duration deadline{0};
  /// The time from the start to the first release.
  Duration offset{0};
  /// The maximum time from the sampling of a job's input to the job's release, an assumption of the bounds. If it is
  /// set, the bounds of chains that begin with this task count from the sampling. Absent: the time is unknown, and
  /// these bounds count from the release.
  std::optional<Duration> input_delay;
  /// The core that runs the CPU parts. Absent: the plan chooses the core.
  std::optional<unsigned> core;
  /// The explicit priority: 1 to 99; a larger number is more urgent; unique. Required only if priorities are explicit.
  std::optional<int> priority;
  Criticality criticality = Criticality::real_time;
  OnOverrun on_overrun = OnOverrun::skip;
  OnWcetExceeded on_wcet_exceeded = OnWcetExceeded::tell;
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// Worst-case execution times. Absent: they are read from the profile file.
  std::optional<Wcet> wcet;
  /// The maximum length of the device part while another job co-runs (DeviceOptions::co_run). Absent: the task's jobs
  /// never co-run.
  std::optional<Duration> co_run_wcet;
  /// The part of `co_run_wcet` in which the device part only waits for pages of memory. For tasks under managed memory
  /// (M) or mapped host memory (H). A co-running job under device memory (D) executes during these waits.
  std::optional<Duration> mapping_idle;
  /// The maximum number of segments of the device part. 1: the device part is not cut. Absent: the plan cuts the device
  /// part as far as other tasks require.
  std::optional<std::uint32_t> segments;
  /// The preemption class. 0: the top class. The jobs of a top-class task execute first whenever a segment of another
  /// job ends. Larger values: levels; a smaller level is more urgent. Absent: the plan chooses the class.
  std::optional<std::uint32_t> device_class;
  Constants constants = Constants::automatic;
  /// The number of chunks of the ring. The ring is the device memory that is reused for streamed constants
  /// (Constants::streamed). Absent: the plan decides.
  std::optional<std::uint32_t> stream_chunks;
  /// All device memory of the task. Required for a synthetic task. For a dnn task the footprint is at least the demand
  /// of its network.
  std::optional<Bytes> footprint;
  /// The size of the part of the footprint that may be swapped. Absent: the whole footprint.
  std::optional<Bytes> swappable;
  /// The class of a synthetic task's swappable memory. For other tasks, the class of the memory by which the footprint
  /// exceeds the network's demand.
  MemoryClass memory_class = MemoryClass::state;
  /// The size of the task's memory that is swapped. Absent: the plan decides.
  std::optional<Bytes> swap_volume;
  /// The part of the swap volume that is on the device at the start. Absent: as much as fits; the tasks get chunks in
  /// their order.
  std::optional<Bytes> resident;
  /// The layers of a synthetic task's device part. Absent: one layer.
  std::optional<SyntheticLayers> layers;
  /// The memory of a synthetic task whose contents must survive between two layers, in addition to the footprint.
  Bytes live{0};
  /// The maximum number of bytes that the first CPU part moves to and from memory. A traffic task moves exactly this
  /// number of bytes.
  std::optional<Bytes> traffic_before;
  /// The maximum number of bytes that the last CPU part moves to and from memory.
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

/// A chain: a sequence of tasks through which data flow from a sensor to an actuator.
struct Chain {
  std::string name;
  /// The tasks, in the order in which data flow.
  std::vector<std::string> tasks;
  Communication communicate = Communication::immediate;
  /// The limit of the time from an event to the output that depends on the event. Absent: no limit.
  std::optional<Duration> max_reaction;
  /// The limit of the age of data: the age of the data from which an output was made, while the output is in use.
  /// Absent: no limit.
  std::optional<Duration> max_age;
};

struct ExecutiveOptions {
  Order order = Order::edf;
  PriorityAssignment priorities = PriorityAssignment::rate_monotonic;
  /// The length of a run. Absent: a run lasts until it is stopped.
  std::optional<Duration> duration;
  bool allow_degraded = false;
  ThreadPolicy threads = ThreadPolicy::automatic;
  /// True if the run keeps its cores out of idle states. This shortens wake-ups and increases power consumption.
  bool keep_awake = false;
  /// True if the run locks the board's clocks (CPU, GPU, memory) at the highest rate that the power mode allows. The
  /// clocks are restored after the run.
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
  /// The device memory that the set uses, at most the board's capacity. Absent: all memory of the device.
  std::optional<Bytes> capacity;
  /// The unit of physical device memory. Absent: the board's default.
  std::optional<Bytes> chunk;
  /// The method by which the engines' threads wait for a GPU.
  Completion completion = Completion::block;
  /// True if a job under device memory (D) may execute while a job under managed memory (M) or mapped host memory (H)
  /// waits for pages. All memory must then fit into the device.
  bool co_run = false;
  /// The number of segments of a job that are submitted ahead while a segment executes, at most `max_launch_ahead`.
  /// Submitting ahead shortens the time between two segments, but a preempting job must wait for the segments that were
  /// submitted ahead. Absent: the plan decides.
  std::optional<std::uint32_t> launch_ahead;
  /// The objective by which automatic memory policies are chosen.
  MemoryObjective memory_objective = MemoryObjective::max_slack;
  SwapCostOptions swap_cost;
};

/// The store of swapped chunks.
struct SwapStore {
  /// The file to which chunks are copied. Empty: page-locked host memory.
  std::filesystem::path file;
};

struct SwapOptions {
  SwapPolicy policy = SwapPolicy::pipelined;
  /// The store of swapped chunks. Absent: host memory. If the device has no memory of its own (Board::unified_memory),
  /// absent means a file.
  std::optional<SwapStore> store;
  SwapCandidates candidates = SwapCandidates::constants_first;
  /// True if an evicted chunk of state is copied out only if its contents have changed. Contents have changed if their
  /// digest differs from the digest of the stored copy.
  bool skip_unchanged = false;
  /// True if the digest of each chunk is checked after it was loaded.
  bool verify = false;
};

/// The regulation of the cores' memory bandwidth (rtexec/docs/user-guide/bandwidth-budgets.md). Bandwidth is regulated
/// if any limit is set.
struct BandwidthOptions {
  /// The regulation period: the period of the budgets.
  Duration period{std::chrono::milliseconds(1)};
  /// The budget of each best-effort core at the times that `regulate_while` selects. Absent: unlimited.
  std::optional<Bandwidth> best_effort;
  RegulateWhile regulate_while = RegulateWhile::device_works;
  /// True if each core lends other cores the part of its budget that it is predicted not to use.
  bool reclaim = false;
  BandwidthSharing sharing = BandwidthSharing::none;
  Overshoot overshoot = Overshoot::carry;
  /// The maximum slowdown of device executions. If it is set, a closed loop adjusts the limit of best-effort cores to
  /// keep it, and `best_effort` is the initial limit. Absent: the limit is constant.
  std::optional<double> slowdown;
  /// The minimum limit that this closed loop sets.
  Bandwidth floor{10'000'000};
  CounterBackEnd counter = CounterBackEnd::automatic;
  /// The event that counts memory traffic. Empty: the board's event.
  std::string event;
};

/// The budget of one core, which is always in force.
struct CoreBudget {
  unsigned core = 0;
  Bandwidth budget{0};
};

/// Files that `rtexec run` writes, unless its command line names other files. Empty: the file is not written.
struct OutputOptions {
  /// The folder of an LTTng trace, new or empty.
  std::filesystem::path trace;
  /// A CSV file with a line for each job.
  std::filesystem::path jobs;
  /// The report, as JSON.
  std::filesystem::path json;
};

struct TaskSet {
  /// The file from which the set was read. Empty: code built the set.
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
  /// Warnings of the reader, one line each: settings that the next release will refuse. Empty: the file needs no
  /// change.
  std::vector<std::string> warnings;
  [[nodiscard]] bool regulated() const { return bandwidth.best_effort || bandwidth.slowdown || !core_budgets.empty(); }
};

/// Reads and validates a task set. Returns bad_input with all errors of the file; each error has its line, column and
/// value. Relative paths are resolved against the file's folder. The models and inputs that the file names must exist.
[[nodiscard]] RTEXEC_API Result<TaskSet> read_task_set(const std::filesystem::path& file);
/// Parses a task set from text; `file` is the file's name in messages, and its folder resolves relative paths.
[[nodiscard]] RTEXEC_API Result<TaskSet> parse_task_set(std::string_view toml, const std::filesystem::path& file);

/// Validates a task set that code built, by the rules of read_task_set(). These rules are the limits of single values,
/// and rules between values (such as deadline <= period, unique names, unique priorities). Returns bad_input with all
/// errors. `deadline` must be set: only the reader uses the period as its default.
[[nodiscard]] RTEXEC_API Result<> validate(const TaskSet& tasks);

} // namespace rtexec
