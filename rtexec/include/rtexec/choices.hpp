// Enumerations for the settings of task sets and boards, with their spellings, and small structs of settings.
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
  /// Audsley's search, which assigns the lowest priority first. Under EDF, priorities are used only on cores, and are
  /// deadline-monotonic instead.
  audsley,
};
enum class Criticality { real_time, best_effort };

/// The event that releases the jobs of a task.
enum class Trigger {
  timer, // a timer, at each period
  input, // a new frame or sample of its inputs
  call,  // a call by a program
  after, // the end of a job of another task (Task::after)
};

/// The instants at which data pass from one task of a chain to the next.
enum class Communication {
  /// Implicit communication: a job reads when its first part begins, and its outputs appear when its last part ends.
  immediate,
  /// Logical execution time: a job reads at its release, and its outputs appear at its deadline. These instants do not
  /// depend on when the job executes.
  let,
};

/// The reaction to a job that is unfinished at its task's next release.
enum class OnOverrun {
  skip, // the release is dropped and counted; later releases keep their nominal instants
  /// Every release gets a job. Late jobs start one after the other without a pause, and keep their nominal deadlines.
  catch_up,
  /// The next job is released when the late job ends. Later releases follow at multiples of the period from that
  /// instant.
  re_phase,
  /// The late job is aborted, and the new job is released. If the late job's device part is running, the executive
  /// waits for the end of the part and drops its result
  abort_job,
  /// The executive stops.
  stop,
};

/// The reaction to a part of a job that exceeds its WCET. The excess is counted and shown in any case.
enum class OnWcetExceeded {
  tell, // no further reaction
  /// The task's next release is dropped and counted, so that the time of the dropped job compensates for the excess. If
  /// a release was already dropped since the release of the job with the excess, no further release is dropped.
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
  /// A user-defined workload, made by a shared object (workload.h) or provided by a program
  /// (ExecutiveSetup::workloads).
  custom,
};

[[nodiscard]] constexpr bool is_micro_benchmark(WorkloadKind kind) noexcept {
  return kind >= WorkloadKind::vector_add && kind <= WorkloadKind::euclidean_clustering;
}

/// The source of an input tensor's values.
enum class SourceKind {
  noise,   // seeded pseudo-random values, different for each job
  files,   // a picture, a folder of pictures, or a .npy file
  camera,  // a V4L2 device
  iceoryx, // messages that another process publishes
  task,    // an output of another task of the set
  program, // the on_input callback of the program (ExecutiveSetup)
};

/// The destination of an output tensor's values.
enum class SinkKind {
  files,   // a folder: a line of JSON for each job, and a .npy file for each tensor
  iceoryx, // messages to subscribers in other processes
  none,
};

/// The layout of a picture in memory. rgb24 and bgr24: three bytes R G B or B G R. yuyv: Y0 U Y1 V for two pixels.
/// nv12: a plane of Y, then a plane with U and V alternately for every 2 by 2 pixels. Both planes have the same stride.
/// mjpg: each picture as JPEG.
enum class PixelFormat { rgb24, bgr24, yuyv, nv12, mjpg };

struct PictureSize {
  unsigned width = 0, height = 0;
  friend bool operator==(const PictureSize&, const PictureSize&) = default;
};

/// The order of the three colours of a pixel in a network's input.
enum class ChannelOrder { rgb, bgr };

/// The order of the dimensions of an input for pictures: [1, 3, height, width] or [1, height, width, 3].
enum class TensorLayout { nchw, nhwc };

/// The rule for fitting a picture into an input whose aspect ratio differs from that of the picture. letterbox: the
/// picture keeps its aspect ratio, and grey bars fill the rest. stretch: the picture is stretched.
enum class PictureFit { letterbox, stretch };

/// The conversion of pixels to the values of an input. A float value is (byte * scale - mean) / deviation; a uint8
/// value is the byte. Each of the lists mean, deviation and scale has one number for all channels, or one number for
/// each channel in the network's order.
struct Preprocessing {
  ChannelOrder channels = ChannelOrder::rgb;
  /// Absent: the layout that the shape implies, or nchw if the shape allows both.
  std::optional<TensorLayout> layout{};
  PictureFit fit = PictureFit::letterbox;
  // If any of the next three members is set, the model's own normalisation is ignored.
  std::vector<double> mean{};      // empty: 0
  std::vector<double> deviation{}; // empty: 1
  std::vector<double> scale{};     // empty: 1 / 255
  friend bool operator==(const Preprocessing&, const Preprocessing&) = default;
};

/// The reaction to a job whose input has no new value.
enum class OnStale {
  reuse, // the job uses the previous value
  /// The job is not executed: its release counts as dropped.
  skip,
  miss, // the job fails
};

/// The access pattern of a traffic task.
enum class TrafficPattern {
  write,   // one word of each cache line is written
  read,    // one word of each cache line is read
  copy,    // whole cache lines are copied from one half of the buffer to the other
  latency, // each cache line holds the address of the next line to read, so that the reads cannot overlap
};

/// The kind of a task's device memory: device memory (D), managed memory (M), or host memory mapped to the device (H).
enum class MemoryPolicy {
  automatic,
  device,
  managed,
  host,
  switching, // spelled D/H: H for a job during which a job under D executes concurrently, D otherwise
};

/// The part of a task's constants (such as a network's weights) that is on the device while a job executes.
enum class Constants {
  automatic, // the plan decides
  whole,     // all constants
  /// Only the constants of the next layers are on the device. They are loaded while the job executes, into a ring of
  /// chunks that are reused.
  streamed,
};

/// The objective by which the plan chooses a memory policy for each task that specifies none. The plan considers only
/// choices that are proved and fit into memory.
enum class MemoryObjective {
  max_slack,  // the largest slack of the end-to-end test (TestVerdict::slack)
  min_memory, // the minimum memory: of device and host together if they share one memory, otherwise of the device
};

/// The arithmetic of a network on a GPU. The host device computes in fp32.
enum class Precision {
  fp32, // products and sums as accurate as in single precision
  tf32, // factors rounded to 10 bits, sums in single precision
  fp16, // factors and activations in half precision, sums in single precision
};

/// The method by which the engines' threads wait for a GPU. block: they sleep until the GPU is done. spin: they poll
/// the GPU.
enum class Completion { block, spin };

/// The times at which the limit of best-effort cores is in force.
enum class RegulateWhile {
  device_works, // while a job executes on the device, or chunks are copied (the lock of BandwidthLocks::lock())
  /// While any job is between its request for the device and the end of its device part (BandwidthLocks::gpu_busy())
  device_busy,
  always,
};

/// The rule for the rest of a regulation period after all regulated cores have used up their budgets.
enum class BandwidthSharing {
  none,  // all cores stay throttled
  spare, // all cores run without a limit (MemGuard's best-effort sharing)
  /// As soon as all regulated cores have used up their budgets, a new period begins for all of them. So spare bandwidth
  /// is shared in proportion to the budgets.
  proportional,
};

/// The rule for memory traffic that exceeds the budget of a period.
enum class Overshoot {
  /// The excess is subtracted from the budgets of the next periods, so that the average rate stays within the limit.
  carry,
  forgive,
};

/// The counter of memory traffic, and the thread that throttles a core.
enum class CounterBackEnd {
  automatic, // the first of the following back ends that a trial on the machine proves usable
  core,      // a counter of the whole core; a high-priority thread throttles the core by occupying the core
  thread,    // a counter on each thread of this process; each thread throttles itself
  polling,   // a counter of the whole core, read several times in a period; the core is throttled as by `core`
};

/// The policy by which tasks share device memory that is too small for all of them.
enum class SwapPolicy {
  pipelined, // the next job's chunks are loaded while the present job executes
  serial,    // chunks are loaded one at a time, and only for the most urgent job
  rt_swap,   // RT-Swap as published (Kang et al., RTSS 2023); memory classes are not distinguished
  mo_vmm,    // RT-Swap's baseline: every memory object has its own chunks, and is swapped as a unit
  min,       // RT-Swap's baseline: chunks have the device's smallest chunk size
  pageable,  // RT-Swap's baseline: host memory that is not page-locked
  lru,       // RT-Swap's baseline: on-demand paging, the least recently used chunks are evicted first
  none,      // no swapping: all memory must fit into the device
};

/// The chunks of a task that are swapped first, if only some of them must be swapped.
enum class SwapCandidates {
  constants_first, // chunks of constants, which cost least to evict
  largest_first,   // chunks of the largest memory objects (RT-Swap, RTSS 2023, section V-D: the list Theta)
};

/// The kernel scheduling class that the executive's threads request.
enum class ThreadPolicy { automatic, fifo, deadline };

/// The three parts of a job, in this order: a CPU part on the task's core, a part on the device, and another CPU part
/// on that core.
enum class Part { before, device, after };

/// Worst-case execution times of the three parts of a job (Part).
struct Wcet {
  Duration before{0};
  /// 0: jobs never request the device, and the last part follows the first part at once (Workload::uses_device). Only
  /// custom tasks may have 0.
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

/// The kind of store to which chunks are copied. Copy costs depend on the store.
enum class StoreKind {
  pinned,   // page-locked host memory
  pageable, // host memory that is not page-locked (swap policy `pageable`)
  file,
};

// Returns the spelling of the value in TOML files and reports: "edf", "best-effort", "D". Returns "?" for an invalid
// value.
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
