// What is asked: the task set of one TOML file. Plain values, owned by whoever holds the struct; validated by the
// reader, or by validate() where they were filled in code.
//
// Functions are thread-safe, allocate, and report failures as results. Where they throw, it is std::bad_alloc.
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
  /// How many there are, of equal length, where `times` has none; at least 1.
  std::uint32_t count = 1;
  /// How long each takes, the WCET in all.
  std::vector<Duration> times{};
  [[nodiscard]] std::size_t number() const { return times.empty() ? count : times.size(); }
  /// How long each takes of this WCET. What does not divide is the last one's.
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
  /// The tensor's name. Empty: the only one that there is.
  std::string tensor;
  SourceKind source = SourceKind::noise;
  /// What of it. files: a path, resolved against the folder of the TOML file; camera: its device file; iceoryx:
  /// "SERVICE/INSTANCE/EVENT"; task: "NAME/TENSOR", or "NAME" where it has one output.
  std::string from;
  OnStale on_stale = OnStale::reuse;
  /// Of a camera's pictures, the nearest that it has. Absent: that of the tensor.
  std::optional<PictureSize> size{};
  /// Of a camera's pictures. Absent: the first in the order of PixelFormat that it has.
  std::optional<PixelFormat> format{};
  /// How often a camera takes one. Absent: as it does by itself.
  std::optional<Duration> interval{};
  /// Of pictures, of a camera's too, and of those that come as messages.
  Preprocessing preprocessing{};
};

/// One output tensor of a task, or all of them.
struct TaskOutput {
  /// The tensor's name; "detections": the boxes of a detector, six numbers each. Empty: all that there are.
  std::string tensor;
  SinkKind sink = SinkKind::none;
  /// files: a folder, resolved against that of the TOML file, made if it is not there; iceoryx:
  /// "SERVICE/INSTANCE/EVENT".
  std::string to;
};

struct Task {
  std::string name;
  WorkloadKind workload = WorkloadKind::dnn;
  /// What makes the network of a dnn task: empty or "rtexec", the built-in engine; a name, of the shared object
  /// librtexec-backend-NAME.so; or, where it has a '/', the path of one, resolved as `model` (<rtexec/backend.h>).
  std::string backend;
  /// The ONNX file of a dnn task, or what else its back end reads, resolved against the folder of the TOML file.
  std::filesystem::path model;
  /// What a dnn task looks at: a picture, a folder of pictures or a .npy file. Empty: seeded noise.
  std::filesystem::path input;
  /// Where its inputs come from, and where its outputs go; of tensors that are not named here: noise, and nowhere.
  std::vector<TaskInput> inputs;
  std::vector<TaskOutput> outputs;
  /// All dimensions of inputs of a dnn task, by their names, where the file leaves some of them open.
  std::map<std::string, std::vector<std::int64_t>> shape;
  /// Inputs of a dnn task that are the same in each job, by their names: all elements in row-major order, or one number
  /// that all of them have. Nothing feeds them.
  std::map<std::string, std::vector<double>> constant;
  /// Inputs of a dnn task that a job finds as the job before left an output of it, by their names. Zero at first.
  std::map<std::string, std::string> state;
  /// The arithmetic of a dnn task on a GPU.
  Precision precision = Precision::fp32;
  /// The shared object that makes the workload of a custom task. Empty: a program gives the workload.
  std::filesystem::path library;
  /// A text that is handed to the shared object of a custom task, or to the back end of a dnn task.
  std::string arguments;
  /// The time between two releases, or their least distance where no timer releases the task.
  Duration period{0};
  Trigger trigger = Trigger::timer;
  /// The task whose jobs release this one by their ends (Trigger::after); under `let` an end is the deadline.
  std::string after;
  /// The relative deadline, at most the period.
  Duration deadline{0};
  /// The instant of the first release, counted from the start.
  Duration offset{0};
  /// What may be relied upon: the longest time from the sampling of what a job reads to its release. Chains that begin
  /// with the task then count from the sampling. Absent: from the release.
  std::optional<Duration> input_delay;
  /// The core that runs the CPU parts. Absent: the plan chooses one.
  std::optional<unsigned> core;
  /// The priority where priorities are explicit: 1 to 99, larger is more urgent, no two alike.
  std::optional<int> priority;
  Criticality criticality = Criticality::real_time;
  OnOverrun on_overrun = OnOverrun::skip;
  OnWcetExceeded on_wcet_exceeded = OnWcetExceeded::tell;
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// Worst-case execution times. Absent: they are taken from the profile file.
  std::optional<Wcet> wcet;
  /// The longest device part while another job executes beside it (DeviceOptions::co_run). Absent: none does.
  std::optional<Duration> wcet_beside;
  /// How long of that the device part only waits for pages, under M and H: a job under D executes meanwhile.
  std::optional<Duration> mapping_idle;
  /// Into how many segments the device part may be cut, at most; 1: it is not. Absent: as many as others need.
  std::optional<std::uint32_t> segments;
  /// 0: it is express, and goes next wherever a segment ends; otherwise its level, the smallest being the most urgent.
  /// Absent: the plan chooses.
  std::optional<std::uint32_t> device_class;
  Constants constants = Constants::automatic;
  /// The chunks of the ring through which constants are streamed. Absent: the plan decides.
  std::optional<std::uint32_t> stream_chunks;
  /// All of the task's device memory. A synthetic task needs one; for a dnn task it is at least what its network takes.
  std::optional<Bytes> footprint;
  /// How much of the footprint may be swapped. Absent: all of it.
  std::optional<Bytes> swappable;
  /// The class of a synthetic task's swappable memory, or of what the footprint adds to a network.
  MemoryClass memory_class = MemoryClass::state;
  /// How much is swapped. Absent: the plan decides.
  std::optional<Bytes> swap_volume;
  /// How much of the swap volume is on the device at the start. Absent: what there is room for, tasks in turn.
  std::optional<Bytes> resident;
  /// The layers of a synthetic task's device part. Absent: one.
  std::optional<SyntheticLayers> layers;
  /// What of a synthetic task's memory must survive between two layers, beside the footprint.
  Bytes live{0};
  /// What the first CPU part moves to and from memory, at most. A traffic task moves exactly that.
  std::optional<Bytes> traffic_before;
  /// The same of the last CPU part.
  std::optional<Bytes> traffic_after;
  /// How a traffic task moves memory.
  TrafficPattern pattern = TrafficPattern::write;
  /// What a traffic task sweeps. Absent: four times the last-level cache.
  std::optional<Bytes> buffer;
  /// The side of a winograd task's square picture.
  unsigned resolution = 512;
  /// How much a micro-benchmark of memory policies computes: elements, or the side of a matrix.
  std::optional<unsigned> size;
  /// Release times counted from the start, for the simulator alone. Absent: releases are periodic.
  std::optional<std::vector<Duration>> releases;
  [[nodiscard]] bool real_time() const noexcept { return criticality == Criticality::real_time; }
};

/// A list of tasks through which data travel from a sensor to an actuator.
struct Chain {
  std::string name;
  /// In the order of the data.
  std::vector<std::string> tasks;
  Communication communicate = Communication::immediate;
  /// What the reaction time may be at most. Absent: it has no limit.
  std::optional<Duration> max_reaction;
  /// What the data age may be at most. Absent: it has no limit.
  std::optional<Duration> max_age;
};

struct ExecutiveOptions {
  Order order = Order::edf;
  PriorityAssignment priorities = PriorityAssignment::rate_monotonic;
  /// How long a run lasts. Absent: until it is stopped.
  std::optional<Duration> duration;
  bool allow_degraded = false;
  ThreadPolicy threads = ThreadPolicy::automatic;
  /// Whether the cores of the run never go idle, which shortens wake-ups and takes power.
  bool keep_awake = false;
  /// Whether the board's clocks (CPU, GPU, memory) stand still during the run, at the highest that its power mode
  /// allows; given back afterwards.
  bool lock_clocks = false;
  /// The file of measured WCETs. By default it has the TOML file's name, with ".profile.toml".
  std::filesystem::path profile;
  /// How often a job may exceed a WCET that is measured: measurements are carried on to there where they allow it.
  double wcet_exceedance = 1e-6;
};

/// Overrides of what calibration wrote into the board's file, for the chunk that the set uses.
struct SwapCostOptions {
  std::optional<Duration> in_per_chunk, out_per_chunk, in_fixed, out_fixed, drop_per_chunk;
};

inline constexpr std::uint32_t max_launch_ahead = 3;

struct DeviceOptions {
  /// How much device memory is used, at most what the board has. Absent: all of it.
  std::optional<Bytes> capacity;
  /// The unit of physical device memory. Absent: the board's default.
  std::optional<Bytes> chunk;
  /// How the engines' threads wait for a GPU.
  Completion completion = Completion::block;
  /// Whether a job under D executes beside one under M or H, while that one waits for pages. All memory must fit.
  bool co_run = false;
  /// How many further segments of a job are given to the device while one executes, at most `max_launch_ahead`: less
  /// time between two of them, and so many segments more before others can go first. Absent: as the plan decides.
  std::optional<std::uint32_t> launch_ahead;
  /// What tasks' memory policies are chosen for, where these are automatic.
  MemoryObjective memory_objective = MemoryObjective::max_slack;
  SwapCostOptions swap_cost;
};

/// Where swapped chunks go.
struct SwapStore {
  /// The file that chunks are copied to. Empty: page-locked host memory.
  std::filesystem::path file;
};

struct SwapOptions {
  SwapPolicy policy = SwapPolicy::pipelined;
  /// Where swapped chunks go. Absent: host memory, or a file where the device has no memory of its own
  /// (Board::unified_memory).
  std::optional<SwapStore> store;
  SwapCandidates candidates = SwapCandidates::constants_first;
  /// Whether a chunk of state stays uncopied when it leaves and its digest is that of its copy.
  bool skip_unchanged = false;
  /// Whether the digest of each chunk is compared after it was loaded.
  bool verify = false;
};

/// Memory bandwidth of cores beside the device (README: bandwidth budgets). Regulated as soon as any limit is given.
struct BandwidthOptions {
  /// The period of the budgets.
  Duration period{std::chrono::milliseconds(1)};
  /// The budget of each core without a promise to keep, while the device works. Absent: unlimited.
  std::optional<Bandwidth> best_effort;
  RegulateWhile regulate_while = RegulateWhile::device_works;
  /// Whether cores donate what they are predicted not to use.
  bool reclaim = false;
  BandwidthSharing sharing = BandwidthSharing::none;
  Overshoot overshoot = Overshoot::carry;
  /// The slowdown of device executions that is wanted at most. `best_effort` is then where the closed loop begins.
  std::optional<double> slowdown;
  /// What the closed loop never goes below.
  Bandwidth floor{10'000'000};
  CounterBackEnd counter = CounterBackEnd::automatic;
  /// The event that counts memory traffic. Empty: the board's.
  std::string event;
};

/// The budget of one core, in force always.
struct CoreBudget {
  unsigned core = 0;
  Bandwidth budget{0};
};

/// Files that `rtexec run` writes, where its command line does not say otherwise. Empty: none.
struct OutputOptions {
  /// The folder of an LTTng trace, new or empty.
  std::filesystem::path trace;
  /// A line for each job, as CSV.
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
  [[nodiscard]] bool regulated() const { return bandwidth.best_effort || bandwidth.slowdown || !core_budgets.empty(); }
};

/// Reads and validates a task set: bad_input, with every error of the file, each with its line, column and value.
/// Relative paths in it are resolved against its own folder; models and inputs that it names must exist.
[[nodiscard]] RTEXEC_API Result<TaskSet> read_task_set(const std::filesystem::path& file);
/// The same from text; `file` names it in messages and resolves relative paths.
[[nodiscard]] RTEXEC_API Result<TaskSet> parse_task_set(std::string_view toml, const std::filesystem::path& file);

/// Limits of values and rules between them (deadline <= period, unique names, priorities...) for task sets built in
/// code; the reader applies the same ones: bad_input, with every error. Set `deadline` yourself: its default, the
/// period, is the reader's.
[[nodiscard]] RTEXEC_API Result<> validate(const TaskSet& tasks);

} // namespace rtexec
