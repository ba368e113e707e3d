// What can be chosen in task sets and boards: enumerations with their spellings, and small values made of them.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/memory.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rtexec {

enum class Order { edf, static_priority };
enum class PriorityAssignment {
  rate_monotonic,
  deadline_monotonic,
  explicit_priorities,
  /// Priorities are searched, the lowest first. Under EDF, where they matter on cores alone, they are
  /// deadline-monotonic.
  audsley,
};
enum class Criticality { real_time, best_effort };

/// What releases the jobs of a task.
enum class Trigger {
  timer, // its period
  input, // a new frame or sample of its inputs
  call,  // a program
  after, // the end of a job of another task
};

/// When data pass between the tasks of a chain.
enum class Communication {
  immediate, // read when a job's first part begins, written when its last part ends (implicit communication)
  /// Logical execution time: read at the release, written at the deadline, whenever the job executes between.
  let,
};

/// What happens when a job is unfinished at its task's next release.
enum class OnOverrun {
  skip,     // the release is dropped and counted; the next one keeps the grid
  catch_up, // every release gets its job; late ones start at once, one after the other, deadlines stay nominal
  re_phase, // the next job is released when the late one ends, and the grid starts anew from there
  /// The late job is abandoned (a device part that runs is waited for, its result dropped); the release proceeds
  abort_job,
  /// The executive stops.
  stop,
};

/// What answers a part of a job that took longer than its WCET. It is counted and shown in any case.
enum class OnWcetExceeded {
  tell, // nothing else happens
  /// The task's next release is dropped and counted, unless one was dropped since that of the job: what it would have
  /// brought pays for the excess.
  skip_next,
  /// The executive stops.
  stop,
};

enum class WorkloadKind {
  dnn,
  synthetic,
  traffic,
  winograd,
  // Micro-benchmarks of memory policies (tasks/loads/benchmarks)
  vector_add,
  matrix_add,
  matrix_multiply,
  needleman_wunsch,
  gaussian,
  hotspot,
  pathfinder,
  bfs,
  nearest_neighbour,
  random_access,
  euclidean_clustering,
  /// A workload of the user's own, made by a shared object (workload.h) or given by a program
  /// (ExecutiveSetup::workloads).
  custom,
};

[[nodiscard]] constexpr bool is_micro_benchmark(WorkloadKind kind) noexcept {
  return kind >= WorkloadKind::vector_add && kind <= WorkloadKind::euclidean_clustering;
}

/// Where the values of an input tensor come from.
enum class SourceKind {
  noise,   // seeded, others for each job
  files,   // a picture, a folder of pictures, or a .npy file
  camera,  // a V4L2 device
  iceoryx, // what another process publishes
  task,    // an output of another task of the set
  program, // whoever gave on_input (ExecutiveSetup)
};

/// Where the values of an output tensor go.
enum class SinkKind {
  files,   // a folder: a line of JSON for each job, and a .npy file for each tensor
  iceoryx, // whoever subscribes, in another process
  none,
};

/// The bytes of a picture in memory: R G B and B G R each three bytes; Y0 U Y1 V for two pixels; a plane of Y, then one
/// of U and V in turn for every 2 by 2 pixels, with the stride of the first; each picture as JPEG.
enum class PixelFormat { rgb24, bgr24, yuyv, nv12, mjpg };

struct PictureSize {
  unsigned width = 0, height = 0;
  friend bool operator==(const PictureSize&, const PictureSize&) = default;
};

/// In which order a network takes the colours of a pixel.
enum class ChannelOrder { rgb, bgr };

/// The dimensions of an input for pictures: [1, 3, height, width] or [1, height, width, 3].
enum class TensorLayout { nchw, nhwc };

/// How a picture of another aspect ratio is put into an input: with its own and grey bars, or as wide and as high.
enum class PictureFit { letterbox, stretch };

/// How pixels become the values of an input: of floats, (byte * scale - mean) / deviation; of uint8, the bytes. Each of
/// the three is one number for all channels, or one for each in the order in which the network takes them.
struct Preprocessing {
  ChannelOrder channels = ChannelOrder::rgb;
  /// Absent: what the shape says; where both are possible, nchw.
  std::optional<TensorLayout> layout{};
  PictureFit fit = PictureFit::letterbox;
  // Where one of them is given, what the model says of its normalisation is not used.
  std::vector<double> mean{};      // empty: 0
  std::vector<double> deviation{}; // empty: 1
  std::vector<double> scale{};     // empty: 1 / 255
  friend bool operator==(const Preprocessing&, const Preprocessing&) = default;
};

/// What becomes of a job whose input has nothing that is new.
enum class OnStale {
  reuse, // it takes what was there before
  /// It is not executed: its release counts as dropped.
  skip,
  miss, // it fails
};

/// How a traffic task moves memory.
enum class TrafficPattern {
  write,   // one word of each cache line is written (the thesis's generator, Algorithm 2)
  read,    // one word of each cache line is read
  copy,    // whole lines, from one half of the buffer to the other
  latency, // each line's address is read from the line before
};

/// Where a task's device memory lives: device memory (D), managed (M), or host memory mapped to the device (H).
enum class MemoryPolicy {
  automatic,
  device,
  managed,
  host,
  switching, // H where a job under D executes beside the job, D otherwise
};

/// Which of a task's constants are on the device while a job executes.
enum class Constants {
  automatic, // as the plan decides
  whole,     // all of them
  streamed,  // those that the next layers read: they come while the job executes, through a ring of chunks
};

/// What the policies of tasks that leave theirs open are chosen for, of all with which the set is proved and fits.
enum class MemoryObjective {
  max_slack,  // end to end
  min_memory, // of device and host where they share one memory, otherwise of the device
};

/// Arithmetic of a network on a GPU. The host device computes in fp32.
enum class Precision {
  fp32, // products and sums as accurate as in single precision
  tf32, // factors rounded to 10 bits, sums in single precision
  fp16, // factors and activations in half precision, sums in single precision
};

/// How the engines' threads wait for a GPU.
enum class Completion { block, spin };

/// When the limit of best-effort cores is in force.
enum class RegulateWhile {
  device_works, // a job executes on the device or chunks are copied (bw_lock)
  /// A job is anywhere between its request for the device and the end of its device part (gpu_busy)
  device_busy,
  always,
};

/// What cores may do once every regulated core has used up its budget before the period's end.
enum class BandwidthSharing {
  none,         // they stand still
  spare,        // all go on without a limit until the period ends (MemGuard's best-effort sharing)
  proportional, // a new period begins at once: what is spare is shared in proportion to the budgets
};

/// What becomes of memory traffic beyond the budget of a period.
enum class Overshoot {
  carry, // it is taken off the next periods' budgets: the rate holds in the long run
  forgive,
};

/// How memory traffic is counted, and who stops whom.
enum class CounterBackEnd {
  automatic, // the first of these that the machine proves to have
  core,      // a counter of the whole core, and a thread of high priority that holds the core
  thread,    // a counter on each thread of this process, which stops itself
  polling,   // a counter that is read several times in a period, and a thread that holds the core
};

/// How tasks share device memory that is too small for all of them.
enum class SwapPolicy {
  pipelined, // the next job's chunks are loaded beside the execution of this one
  serial,    // one chunk at a time, and only for the most urgent job
  rt_swap,   // RT-Swap (Kang et al., RTSS 2023) as its paper states it; classes are not told apart
  mo_vmm,    // its baseline: every memory object in chunks of its own, swapped whole
  min,       // its baseline: chunks of the device's smallest size
  pageable,  // its baseline: host memory that is not page-locked
  lru,       // its baseline: on-demand paging, the least recently used chunks go first
  none,      // all memory must fit
};

/// Which chunks of a task are swapped first.
enum class SwapCandidates {
  constants_first, // what costs least to take away
  largest_first,   // those of the largest memory objects (RT-Swap, V-D: the list Theta)
};

/// Which kernel scheduling class the executive's threads ask for.
enum class ThreadPolicy { automatic, fifo, deadline };

/// The parts of a job: on its core, on the device, on its core again.
enum class Part { before, device, after };

/// Worst-case execution times of the three parts of a job: on its core, on the device, on its core again.
struct Wcet {
  Duration before{0};
  /// 0: jobs never ask for the device, and the last part follows the first one at once (Workload::uses_device). Only
  /// for custom tasks.
  Duration device{0};
  Duration after{0};
  [[nodiscard]] bool uses_device() const noexcept { return device > Duration(0); }
  [[nodiscard]] Duration of(Part part) const noexcept {
    return part == Part::before ? before : part == Part::device ? device : after;
  }
  [[nodiscard]] Duration& of(Part part) noexcept {
    return part == Part::before ? before : part == Part::device ? device : after;
  }
};

/// What a chunk is copied to. The copies of one cost nothing like those of another.
enum class StoreKind {
  pinned,   // page-locked host memory
  pageable, // host memory that is not (swap policy `pageable`)
  file,
};

// As TOML files and reports spell them: "edf", "best-effort", "D"; "?" for what is none of the values.
[[nodiscard]] RTEXEC_API std::string_view name(Order value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(PriorityAssignment value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(Criticality value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(Trigger value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(Communication value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(OnOverrun value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(OnWcetExceeded value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(WorkloadKind value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(SourceKind value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(SinkKind value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(OnStale value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(PixelFormat value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(ChannelOrder value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(TensorLayout value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(PictureFit value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(TrafficPattern value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(MemoryPolicy value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(Precision value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(Completion value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(RegulateWhile value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(BandwidthSharing value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(Overshoot value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(CounterBackEnd value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(SwapPolicy value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(MemoryClass value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(SwapCandidates value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(ThreadPolicy value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(StoreKind value) noexcept;

} // namespace rtexec
