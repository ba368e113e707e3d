// A workload is the computation that a task runs in each job. Set-up may allocate, block and throw std::bad_alloc. The
// three parts of a job must not allocate, block or throw.
//
// Ownership: a workload owns no device memory of its task. It declares its demand by memory class, and gets addresses
// in bind(). It owns its host-side buffers (staged inputs and outputs, the image of its constants) and its own
// allocations on the device. One thread makes all set-up calls before the first job, in the order in which this file
// declares the functions.
#pragma once

#include <rtexec/box.hpp>
#include <rtexec/device.hpp>
#include <rtexec/export.hpp>
#include <rtexec/memory.hpp>
#include <rtexec/result.hpp>
#include <rtexec/tensor.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rtexec {

enum class MemoryPolicy; // <rtexec/choices.hpp>
namespace tasks::initialise {
struct Observer;
}

/// Addresses of a task's device memory, aligned to 256 bytes. Each address is valid on the device for the size that
/// memory() declared. On a GPU these are not host addresses. The library maps and unmaps physical chunks at these
/// addresses while jobs run. Only execute(), and work that it launches and waits for, may access this memory.
struct Memory {
  const std::byte* constant = nullptr; // mapped read-only
  std::byte* scratch = nullptr;        // contents are lost between jobs
  std::byte* state = nullptr;          // zero before the first job of the warm-up
  std::byte* carry = nullptr;          // contents are kept between the segments of a job, and lost between jobs
};

/// Memory whose contents are live from layer `first` to layer `last` of a job. If the job is cut into segments between
/// two of these layers, the contents must survive the cut.
struct LiveRange {
  Bytes size;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const LiveRange&, const LiveRange&) = default;
};

/// The range of constants() that a layer reads. If the layer reads no constants, `begin` equals `end`.
struct ConstantRange {
  Bytes begin, end;
  friend bool operator==(const ConstantRange&, const ConstantRange&) = default;
};

/// The integers that an input may contain if they are indices into a tensor. Both ranges include their ends.
struct InputRange {
  /// The range of valid values. Negative values count from the end of the indexed dimension.
  std::int64_t min = 0, max = 0;
  /// The range from which a noise source chooses values. These indices count from the beginning of the dimension.
  std::int64_t noise_min = 0, noise_max = 0;
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

/// Observes the layers of an execution. It is a plain struct of functions, so that a workload does not depend on the
/// code of the observer. The functions are called on the engine's thread and must not block or allocate; null functions
/// are not called. On a GPU the functions are called after the execution.
struct LayerObserver {
  void (*begin)(void* self, std::uint32_t layer, Instant at) noexcept = nullptr;
  void (*end)(void* self, std::uint32_t layer, Instant at) noexcept = nullptr;
  void* self = nullptr;
};

/// Called with the number of finished tuning steps and the total number. If the function returns false, tuning stops.
using TuningProgress = std::function<bool(std::size_t done, std::size_t wanted)>;

class RTEXEC_API Workload {
 public:
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// True if the workload's jobs have a part on the device. Constant. If false, jobs do not queue for the device, and
  /// after() follows before() at once. In that case execute() is never called, memory() must return zeros, and the
  /// task's WCET on the device is 0.
  [[nodiscard]] virtual bool uses_device() const { return true; }
  /// Returns the device memory that the workload needs. After use(), tune() and cut() the result is constant.
  [[nodiscard]] virtual MemoryDemand memory() const = 0;
  /// Returns the contents of the constants, MemoryDemand::constant bytes, which are copied to the device before the
  /// first job. They must be valid as long as the workload exists.
  [[nodiscard]] virtual std::span<const std::byte> constants() const = 0;
  /// Returns a text that identifies everything that a measured WCET of this workload depends on, such as model contents
  /// and input size. If the text changes, earlier measurements are stale.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// Returns sentences for the user. Each sentence names a property that the model does not specify, and the value that
  /// was chosen for it.
  [[nodiscard]] virtual std::span<const std::string> notes() const { return {}; }
  /// Returns the names of the layers. The index of a name is the layer number that a LayerObserver gets.
  [[nodiscard]] virtual std::span<const std::string> layers() const { return {}; }

  /// Applies the choices in `tuning`, the result of an earlier tune(). Called before memory() and constants(), whose
  /// results may depend on the choices. Returns bad_input if the choices are not for this workload; the workload then
  /// keeps its defaults.
  [[nodiscard]] virtual Result<> use(std::span<const std::string> tuning);
  /// Measures on `device` which implementations are fastest, and uses these implementations. Returns these choices as
  /// lines of text for use(), so that every later run makes the same choices. Returns cancelled if `progress` returns
  /// false. Called before bind().
  [[nodiscard]] virtual Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress);

  // Segments. A workload can be cut into segments. A segment is a run of consecutive layers. All segments together are
  // a job's execution. Between two segments other tasks may use the device and the scratch memory. Contents that must
  // survive between segments are in Memory::carry.
  /// Returns the memory that is live across boundaries between layers. Valid after use() and tune(). If a cut divides a
  /// live range, its contents are in Memory::carry from the first to the last layer of the range. A cut is possible
  /// after each layer except the last. Empty: the workload cannot be cut.
  [[nodiscard]] virtual std::vector<LiveRange> live_ranges() const { return {}; }
  /// Returns the range of constants that each layer reads, by layer. Valid after use() and tune(). The ranges are for
  /// streaming: while a segment executes, constants that only earlier segments read may already be evicted. Constants
  /// of later segments may not be loaded yet. Empty: constants cannot be streamed.
  [[nodiscard]] virtual std::vector<ConstantRange> constant_ranges() const { return {}; }
  /// Ends a segment after each of these layers (in ascending order), and after the last layer. Called after use() and
  /// tune(), and before memory() and constants(), whose results may depend on the cuts. Without this call, or if
  /// `after` is empty, there is one segment. Returns bad_input if the workload cannot be cut after one of these layers.
  [[nodiscard]] virtual Result<> cut(std::span<const std::uint32_t> after);
  /// Returns the result that memory() would have after cut(after). Does not cut the workload.
  [[nodiscard]] virtual Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t> after) const;

  /// Binds the workload to its device addresses, and prepares everything that execute() needs on `device`. Called once,
  /// after the constants were copied and before the first job. `device` outlives the workload, whose destructor may
  /// still return resources to it. After an error the run does not start; the user sees the error with the task's name
  /// before it.
  [[nodiscard]] virtual Result<> bind(Device& device, const Memory& memory) = 0;
  /// Sets the observer of the layers. Called before bind().
  virtual void observe(const LayerObserver&) {}
  /// Sets the observer that is notified when the workload writes the first contents of its buffers. Has no effect if
  /// the workload writes no first contents. Called before bind().
  virtual void observe_contents(const tasks::initialise::Observer&) {}

  // Inputs and outputs. The caller fills inputs() in the first CPU part, before it calls before(). The caller may read
  // outputs() and detections() in the last CPU part, after after() has returned. After bind() the caller must not
  // access the bytes at any other time, because the device may be using them. Names, types and shapes are always known;
  // addresses are known after bind(), and are constant from then on.
  [[nodiscard]] virtual std::span<const Tensor> inputs() const { return {}; }
  [[nodiscard]] virtual std::span<const Tensor> outputs() const { return {}; }
  /// Returns the valid range of the input with this index. Absent: the input may contain any value of its type.
  [[nodiscard]] virtual std::optional<InputRange> input_range(std::size_t) const { return {}; }
  /// Returns the kind of results that the workload recognises: boxes, classes or nothing. Constant. The kind decides
  /// which of the next two functions may return results.
  [[nodiscard]] virtual Recognition recognises() const noexcept { return Recognition::nothing; }
  /// Returns the results of the last job whose after() has returned, best result first.
  [[nodiscard]] virtual std::span<const Box> detections() const noexcept { return {}; }
  [[nodiscard]] virtual std::span<const RankedClass> classes() const noexcept { return {}; }

  // Links. A link passes a tensor from an output of one task's workload to inputs of other tasks' workloads. These
  // workloads read the tensor in device memory, without a copy through host memory. The caller links inputs and outputs
  // before bind(). For each job the caller sets a linked tensor's address in device memory. The tensor is dense,
  // row-major and aligned to 256 bytes. The host bytes of a linked input are not read.
  /// True if inputs and outputs can be linked. Constant. If false, none of the next four functions is called.
  [[nodiscard]] virtual bool links_on_device() const { return false; }
  /// Tells the workload that the input with this index is linked to an output of another task. Called before bind().
  virtual void link_input(std::size_t) {}
  /// Tells the workload that the output with this index is linked to inputs of other tasks. Called before bind(). The
  /// second argument is true if code on the host, such as a sink or a callback, reads the output too. If it is false,
  /// the workload need not fill the output's host bytes.
  virtual void link_output(std::size_t, bool) {}
  // take_input() sets the device address from which the next execute() reads the linked input with this index.
  // give_output() sets the device address to which the next execute() writes the linked output. Called in the first CPU
  // part, before before(), and once after bind(). Must not allocate, take a lock, or make a system call that can block.
  virtual void take_input(std::size_t, const std::byte*) noexcept {}
  virtual void give_output(std::size_t, std::byte*) noexcept {}

  // The parts of a job. They are called in this order, and never concurrently. They must not allocate, take a lock,
  // make a system call that can block, or throw. The warm-up before the first release runs job 0 once, so that code and
  // buffers are in memory; job 0 then runs again. If jobs may co-run, the warm-up executes the device part of job 0 on
  // each compute engine. If a part fails, the job has failed and its later parts are not called. The next job begins
  // with before() as usual.
  /// Prepares job `job`, whose inputs are filled. Called on the task's core.
  [[nodiscard]] virtual Status before(std::uint64_t job) noexcept = 0;
  /// Executes the job's device part. Returns when the work of all segments is done. Called on the thread of a compute
  /// engine of the device. Not called if uses_device() is false. If jobs may co-run, consecutive jobs may execute on
  /// different threads.
  [[nodiscard]] virtual Status execute() noexcept = 0;
  /// Executes the segment with this index. If the workload is cut, this function is called instead of execute(), for
  /// each segment in order from 0. Scratch contents may change between two segments. Returns when the segment's work is
  /// done. After an error no work of the job is in progress.
  [[nodiscard]] virtual Status execute_segment(std::uint32_t) noexcept { return execute(); }
  /// True if launch_segment() is asynchronous. Constant.
  [[nodiscard]] virtual bool launches_segments() const noexcept { return false; }
  /// Submits the work of the segment with this index to the device without waiting. execute_segment() is called later
  /// for the same segment, and then only waits for this work. At the time of this call, the previous segment has been
  /// launched or executed. No other job uses the device until this segment has been executed. If the call returns an
  /// error, the job has failed, and no work of the job may be in progress.
  [[nodiscard]] virtual Status launch_segment(std::uint32_t) noexcept { return {}; }
  /// Executes the job like execute(), under this memory policy. For a task with MemoryPolicy::switching the policy is
  /// `host` if another job executes concurrently, otherwise `device`. A workload with one fixed policy ignores the
  /// argument.
  [[nodiscard]] virtual Status execute_as(MemoryPolicy) noexcept { return execute(); }
  /// Finishes the outputs. Called on the task's core.
  [[nodiscard]] virtual Status after(std::uint64_t job) noexcept = 0;
  /// Discards the state that the warm-up left. From this call on, state is kept from job to job; before this call every
  /// job begins with the initial state. Called between jobs.
  virtual void begin_to_keep() noexcept {}

  // The next two functions are for measuring the time of execute() without its waits for pages of memory. They are
  // called on the thread of a compute engine, in this order.
  /// Copies all data that execute() reads to the device's own memory.
  [[nodiscard]] virtual Status make_resident() noexcept { return {}; }
  /// Executes the job like execute(), but does not copy in the data that make_resident() copied, and does not copy
  /// results out.
  [[nodiscard]] virtual Status execute_resident() noexcept { return execute(); }

 protected:
  Workload() = default;
};

} // namespace rtexec
