// A workload is the computation that a task runs in each job. Set-up may allocate, block and throw std::bad_alloc; the
// three parts of a job may not.
//
// Ownership: a workload owns no device memory of its task. It declares its demand by class, and is given addresses. It
// owns its host-side buffers (staged inputs and outputs, the image of its constants) and its own allocations on the
// device. One thread makes all set-up calls, in the order below, before the first job.
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

/// Addresses of a task's device memory, each valid on the device for the size that memory() declared, and aligned to
/// 256 bytes. On a GPU they are no host addresses. Chunks are mapped and unmapped beneath them: only execute(), and
/// work that it launches and waits for, may access them.
struct Memory {
  const std::byte* constant = nullptr; // mapped read-only
  std::byte* scratch = nullptr;        // contents are lost between jobs
  std::byte* state = nullptr;          // zero before the first job of the warm-up
  std::byte* carry = nullptr;          // contents are lost between jobs, and kept between the segments of one
};

/// Memory that holds live contents from layer `first` to layer `last` of a job. A cut between two of these layers must
/// preserve it.
struct LiveRange {
  Bytes size;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const LiveRange&, const LiveRange&) = default;
};

/// The constants that a layer reads lie between these offsets in constants(). If the layer reads none, both are equal.
struct ConstantRange {
  Bytes begin, end;
  friend bool operator==(const ConstantRange&, const ConstantRange&) = default;
};

/// The integers that an input may hold, ends included, if they index a tensor and must stay inside it.
struct InputRange {
  /// The range of valid values. Negative ones count from the end of the indexed dimension.
  std::int64_t min = 0, max = 0;
  /// The range that noise is drawn from: indices that count from the beginning.
  std::int64_t noise_min = 0, noise_max = 0;
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

/// Observes the layers of an execution. A plain struct of functions, so that no task depends on its observer. The
/// functions are called on the engine's thread and must not block or allocate; null ones are not called. On a GPU they
/// are called after the execution.
struct LayerObserver {
  void (*begin)(void* self, std::uint32_t layer, Instant at) noexcept = nullptr;
  void (*end)(void* self, std::uint32_t layer, Instant at) noexcept = nullptr;
  void* self = nullptr;
};

/// Called with the number of steps done and the number wanted. Returning false stops tuning.
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
  /// Returns the device memory that the workload needs. Constant after use(), tune() and cut().
  [[nodiscard]] virtual MemoryDemand memory() const = 0;
  /// Returns the contents of the constants, MemoryDemand::constant bytes, which are copied to the device before the
  /// first job. They live as long as the workload.
  [[nodiscard]] virtual std::span<const std::byte> constants() const = 0;
  /// Returns a text that changes with everything that a measured WCET of this workload depends on, such as model
  /// contents and input size. A changed fingerprint makes measurements stale.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// Returns the choices that the model leaves open and how they were made, one sentence each, for the user.
  [[nodiscard]] virtual std::span<const std::string> notes() const { return {}; }
  /// Returns the names of the layers. The index is the layer number that the observer gets.
  [[nodiscard]] virtual std::span<const std::string> layers() const { return {}; }

  /// Applies the choices that an earlier tune() returned, in the same words. Called before memory() and constants(),
  /// which may depend on them. Returns bad_input if the choices are not for this workload, which then keeps its
  /// defaults.
  [[nodiscard]] virtual Result<> use(std::span<const std::string> tuning);
  /// Measures on `device` which implementations are fastest, and uses them from then on. Returns them as opaque lines
  /// of text, so that every later run computes in the same way. Returns cancelled if `progress` returns false. Called
  /// before bind().
  [[nodiscard]] virtual Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress);

  // Segments: runs of consecutive layers that together are a job's execution. Between two segments other tasks may use
  // the device and the scratch memory. Contents that must survive lie in Memory::carry.
  /// Returns the memory that is live across boundaries between layers. Valid after use() and tune(). A range that a cut
  /// crosses lies in Memory::carry for all its life. A cut may follow each layer but the last. Empty: the workload
  /// cannot be cut.
  [[nodiscard]] virtual std::vector<LiveRange> live_ranges() const { return {}; }
  /// Returns the constants that each layer reads, by layer. Valid after use() and tune(). If constants are streamed,
  /// those that no later segment reads are already evicted, and those of later segments are only partly loaded. Empty:
  /// constants cannot be streamed.
  [[nodiscard]] virtual std::vector<ConstantRange> constant_ranges() const { return {}; }
  /// Ends a segment after each of these layers (ascending), and after the last layer. Called after use() and tune(),
  /// and before memory() and constants(), which may depend on it. If it is not called, or `after` is empty, there is
  /// one segment. Returns bad_input if the workload cannot be cut there.
  [[nodiscard]] virtual Result<> cut(std::span<const std::uint32_t> after);
  /// Returns the value that memory() would return after cut(after). Does not cut the workload.
  [[nodiscard]] virtual Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t> after) const;

  /// Binds the workload to its device addresses, and prepares all that execute() needs on `device`. Called once, after
  /// the constants are in place and before the first job. `device` outlives the workload, whose destructor may still
  /// return resources to it. An error ends the start; the user sees it after the task's name.
  [[nodiscard]] virtual Result<> bind(Device& device, const Memory& memory) = 0;
  /// Sets the observer of the layers. Called before bind().
  virtual void observe(const LayerObserver&) {}
  /// Sets the observer of the first contents of the workload's buffers, if it has such buffers. Called before bind().
  virtual void observe_contents(const tasks::initialise::Observer&) {}

  // Inputs and outputs. The caller fills inputs() in the first CPU part, before it calls before(). It may read
  // outputs() and detections() in the last CPU part, once after() has returned. From bind() on nobody accesses the
  // bytes at other times, because the device may be using them. Tensors are known from the start, their addresses after
  // bind(), and both are then constant.
  [[nodiscard]] virtual std::span<const Tensor> inputs() const { return {}; }
  [[nodiscard]] virtual std::span<const Tensor> outputs() const { return {}; }
  /// Returns the valid range of the input with this number. Absent: the input may hold any value of its type.
  [[nodiscard]] virtual std::optional<InputRange> input_range(std::size_t) const { return {}; }
  /// Returns the kind of results that the workload recognises: boxes, classes or nothing. Constant. It decides which of
  /// the next two functions may return results.
  [[nodiscard]] virtual Recognition recognises() const noexcept { return Recognition::nothing; }
  /// Returns the results of the last job whose after() has returned, best first.
  [[nodiscard]] virtual std::span<const Box> detections() const noexcept { return {}; }
  [[nodiscard]] virtual std::span<const RankedClass> classes() const noexcept { return {}; }

  // Links: tensors that stay on the device on their way between workloads of one device. The caller links inputs and
  // outputs before bind(). For each job it gives a linked tensor's address in device memory. The tensor is dense,
  // row-major and aligned to 256 bytes. The host bytes of a linked input are not read.
  /// True if inputs and outputs can be linked. Constant. If false, none of the following functions is called.
  [[nodiscard]] virtual bool links_on_device() const { return false; }
  virtual void link_input(std::size_t) {}
  /// Links an output. `on_host`: others also read its host bytes. If false, these need not be filled.
  virtual void link_output(std::size_t, bool) {}
  // Called in the first CPU part, before before(), and once after bind(). Sets the address at which the next execute()
  // reads the input or writes the output. No allocation, no lock, no system call that can block.
  virtual void take_input(std::size_t, const std::byte*) noexcept {}
  virtual void give_output(std::size_t, std::byte*) noexcept {}

  // The parts of a job, in this order, never two at once. No allocation, no lock, no system call that can block, no
  // exception. The warm-up before the first release runs job 0 once, so that code and buffers are in memory; job 0 then
  // runs again. If jobs may co-run, the warm-up executes the device part of job 0 on each compute engine. If a part
  // fails, the job has failed and its later parts are left out. The next job begins with before().
  /// Prepares job `job`, whose inputs are filled. Called on the task's core.
  [[nodiscard]] virtual Status before(std::uint64_t job) noexcept = 0;
  /// Executes the job; returns when the work of all segments is done. Called on a compute engine of the device, and not
  /// if uses_device() is false. If jobs may co-run, consecutive jobs may execute on different threads.
  [[nodiscard]] virtual Status execute() noexcept = 0;
  /// Executes one segment; called instead of execute() if the job is cut, with segments in turn from 0. Scratch
  /// contents may change between two segments. Returns when the segment's work is done. After an error no work of the
  /// job is in progress.
  [[nodiscard]] virtual Status execute_segment(std::uint32_t) noexcept { return execute(); }
  /// True if launch_segment() is asynchronous. Constant.
  [[nodiscard]] virtual bool launches_segments() const noexcept { return false; }
  /// Submits the segment's work to the device without waiting. execute_segment() is still called, and then waits for
  /// this work. The previous segment has been launched or executed, and no other job uses the device until this segment
  /// has been executed. After an error the job has failed, and no work of it is in progress.
  [[nodiscard]] virtual Status launch_segment(std::uint32_t) noexcept { return {}; }
  /// Executes a job of a task under D/H with the policy that was chosen for it: D, or H if another job co-runs. A
  /// workload with one fixed policy ignores the argument.
  [[nodiscard]] virtual Status execute_as(MemoryPolicy) noexcept { return execute(); }
  /// Finishes the outputs. Called on the task's core.
  [[nodiscard]] virtual Status after(std::uint64_t job) noexcept = 0;
  /// Discards the state that the warm-up left, and keeps state from job to job from now on. Called between jobs. Until
  /// this call each job finds the state that the first one finds.
  virtual void begin_to_keep() noexcept {}

  // Used to measure the time of execute() without waiting for pages. Called on a compute engine, in this order.
  /// Copies all data that execute() reads to the device's own memory.
  [[nodiscard]] virtual Status make_resident() noexcept { return {}; }
  /// Executes the job like execute(), without the work of make_resident() and without copying results out.
  [[nodiscard]] virtual Status execute_resident() noexcept { return execute(); }

 protected:
  Workload() = default;
};

} // namespace rtexec
