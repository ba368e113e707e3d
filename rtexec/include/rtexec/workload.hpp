// A workload is the computation that a task runs in each job. Set-up may allocate, block and throw std::bad_alloc; the
// three parts of a job may not.
//
// Ownership: a workload owns no device memory of its task. It declares its demand by memory class, and gets addresses
// in bind(). It owns its host-side buffers (staged inputs and outputs, the image of its constants) and its own
// allocations on the device. One thread makes all set-up calls, in the order in which this file declares the functions,
// before the first job.
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
/// 256 bytes. On a GPU they are not host addresses. The library maps and unmaps physical chunks at these addresses
/// while jobs run. Only execute(), and work that it launches and waits for, may access them.
struct Memory {
  const std::byte* constant = nullptr; // mapped read-only
  std::byte* scratch = nullptr;        // contents are lost between jobs
  std::byte* state = nullptr;          // zero before the first job of the warm-up
  std::byte* carry = nullptr;          // contents are kept between the segments of a job, and lost between jobs
};

/// Memory that holds live contents from layer `first` to layer `last` of a job. If the job is cut into segments between
/// two of these layers, the contents must survive the cut.
struct LiveRange {
  Bytes size;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const LiveRange&, const LiveRange&) = default;
};

/// The offsets in constants() between which the constants that a layer reads lie. If the layer reads none, both are
/// equal.
struct ConstantRange {
  Bytes begin, end;
  friend bool operator==(const ConstantRange&, const ConstantRange&) = default;
};

/// The integers that an input may hold if they are indices into a tensor. The ends of both ranges are included.
struct InputRange {
  /// The range of valid values. Negative ones count from the end of the indexed dimension.
  std::int64_t min = 0, max = 0;
  /// The range from which a noise source draws values: indices that count from the beginning of the dimension.
  std::int64_t noise_min = 0, noise_max = 0;
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

/// Observes the layers of an execution. It is a plain struct of functions, so that a workload does not depend on the
/// code that observes it. The functions are called on the engine's thread and must not block or allocate; null
/// functions are not called. On a GPU they are called after the execution.
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
  /// Returns the device memory that the workload needs. Its value no longer changes after use(), tune() and cut().
  [[nodiscard]] virtual MemoryDemand memory() const = 0;
  /// Returns the contents of the constants, which are MemoryDemand::constant bytes and are copied to the device before
  /// the first job. They live as long as the workload.
  [[nodiscard]] virtual std::span<const std::byte> constants() const = 0;
  /// Returns a text that changes with everything that a measured WCET of this workload depends on, such as model
  /// contents and input size. A changed fingerprint makes measurements stale.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// Returns sentences for the user: each names a choice that the model leaves open, and says how it was made.
  [[nodiscard]] virtual std::span<const std::string> notes() const { return {}; }
  /// Returns the names of the layers. The index is the layer number that a LayerObserver gets.
  [[nodiscard]] virtual std::span<const std::string> layers() const { return {}; }

  /// Applies the choices in `tuning`, which an earlier tune() returned. Called before memory() and constants(), which
  /// may depend on them. Returns bad_input if the choices are not for this workload, which then keeps its defaults.
  [[nodiscard]] virtual Result<> use(std::span<const std::string> tuning);
  /// Measures on `device` which implementations are fastest, and uses them from then on. Returns these choices as lines
  /// of text for use(), so that every later run computes in the same way. Returns cancelled if `progress` returns
  /// false. Called before bind().
  [[nodiscard]] virtual Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress);

  // Segments. A workload can be cut into segments, each of which is a run of consecutive layers. Together they are a
  // job's execution. Between two segments other tasks may use the device and the scratch memory. Contents that must
  // survive this lie in Memory::carry.
  /// Returns the memory that is live across boundaries between layers. Valid after use() and tune(). The contents of a
  /// range that a cut divides are in Memory::carry from the first to the last layer of the range. A cut may follow each
  /// layer but the last. Empty: the workload cannot be cut.
  [[nodiscard]] virtual std::vector<LiveRange> live_ranges() const { return {}; }
  /// Returns the range of constants that each layer reads, by layer. Valid after use() and tune(). The ranges are for
  /// streaming: while a segment executes, constants that only earlier segments read may already be evicted, and
  /// constants of later segments may not be loaded yet. Empty: constants cannot be streamed.
  [[nodiscard]] virtual std::vector<ConstantRange> constant_ranges() const { return {}; }
  /// Ends a segment after each of these layers (ascending), and after the last layer. Called after use() and tune(),
  /// and before memory() and constants(), whose results may depend on the cuts. If this is not called, or `after` is
  /// empty, there is one segment. Returns bad_input if the workload cannot be cut after one of these layers.
  [[nodiscard]] virtual Result<> cut(std::span<const std::uint32_t> after);
  /// Returns the value that memory() would return after cut(after). Does not cut the workload.
  [[nodiscard]] virtual Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t> after) const;

  /// Binds the workload to its device addresses, and prepares all that execute() needs on `device`. Called once, after
  /// the constants are in place and before the first job. `device` outlives the workload, whose destructor may still
  /// return resources to it. After an error the run does not start; the user sees the error after the task's name.
  [[nodiscard]] virtual Result<> bind(Device& device, const Memory& memory) = 0;
  /// Sets the observer of the layers. Called before bind().
  virtual void observe(const LayerObserver&) {}
  /// Sets the observer of the first contents of the workload's buffers, if it has such buffers. Called before bind().
  virtual void observe_contents(const tasks::initialise::Observer&) {}

  // Inputs and outputs. The caller fills inputs() in the first CPU part, before it calls before(). It may read
  // outputs() and detections() in the last CPU part, once after() has returned. From bind() on the caller accesses the
  // bytes at no other time, because the device may be using them. Names, types and shapes are known from the start, the
  // addresses after bind(). Both then stay constant.
  [[nodiscard]] virtual std::span<const Tensor> inputs() const { return {}; }
  [[nodiscard]] virtual std::span<const Tensor> outputs() const { return {}; }
  /// Returns the valid range of the input with this number. Absent: the input may hold any value of its type.
  [[nodiscard]] virtual std::optional<InputRange> input_range(std::size_t) const { return {}; }
  /// Returns the kind of results that the workload recognises: boxes, classes or nothing. Constant. It decides which of
  /// the next two functions may return results.
  [[nodiscard]] virtual Recognition recognises() const noexcept { return Recognition::nothing; }
  /// Both return the results of the last job whose after() has returned, best first.
  [[nodiscard]] virtual std::span<const Box> detections() const noexcept { return {}; }
  [[nodiscard]] virtual std::span<const RankedClass> classes() const noexcept { return {}; }

  // Links. A link passes a tensor from an output of one workload to an input of another one without a copy to the host.
  // The caller links inputs and outputs before bind(). For each job it sets a linked tensor's address in device memory.
  // The tensor is dense, row-major and aligned to 256 bytes. The host bytes of a linked input are not read.
  /// True if inputs and outputs can be linked. Constant. If false, none of the following functions is called.
  [[nodiscard]] virtual bool links_on_device() const { return false; }
  virtual void link_input(std::size_t) {}
  /// Links an output. The second argument is true if the output's host bytes are read as well. If it is false, they
  /// need not be filled.
  virtual void link_output(std::size_t, bool) {}
  // Both set the address at which the next execute() reads the input or writes the output. They are called in the first
  // CPU part, before before(), and once after bind(). They must not allocate, take a lock, or make a system call that
  // can block.
  virtual void take_input(std::size_t, const std::byte*) noexcept {}
  virtual void give_output(std::size_t, std::byte*) noexcept {}

  // The parts of a job. They are called in this order, never two at once. They must not allocate, take a lock, make a
  // system call that can block, or throw. The warm-up before the first release runs job 0 once, so that code and
  // buffers are in memory; job 0 then runs again. If jobs may co-run, the warm-up executes the device part of job 0 on
  // each compute engine. If a part fails, the job has failed and its later parts are not called. The next job begins
  // with before() as usual.
  /// Prepares job `job`, whose inputs are filled. Called on the task's core.
  [[nodiscard]] virtual Status before(std::uint64_t job) noexcept = 0;
  /// Executes the job's device part; returns when the work of all segments is done. Called on the thread of a compute
  /// engine of the device. Not called if uses_device() is false. If jobs may co-run, consecutive jobs may execute on
  /// different threads.
  [[nodiscard]] virtual Status execute() noexcept = 0;
  /// Executes the segment with this number. If the workload is cut, this is called instead of execute(), for each
  /// segment in turn from 0. Scratch contents may change between two segments. Returns when the segment's work is done.
  /// After an error no work of the job is in progress.
  [[nodiscard]] virtual Status execute_segment(std::uint32_t) noexcept { return execute(); }
  /// True if launch_segment() is asynchronous. Constant.
  [[nodiscard]] virtual bool launches_segments() const noexcept { return false; }
  /// Submits the work of the segment with this number to the device without waiting. execute_segment() is still called
  /// later, and then only waits for this work. When this is called, the previous segment has been launched or executed.
  /// No other job uses the device until this segment has been executed. If this returns an error, the job has failed,
  /// and none of its work may be in progress.
  [[nodiscard]] virtual Status launch_segment(std::uint32_t) noexcept { return {}; }
  /// Executes the job like execute(), under this memory policy. For a task with MemoryPolicy::switching the policy is
  /// `host` if another job executes concurrently, else `device`. A workload with one fixed policy ignores the argument.
  [[nodiscard]] virtual Status execute_as(MemoryPolicy) noexcept { return execute(); }
  /// Finishes the outputs. Called on the task's core.
  [[nodiscard]] virtual Status after(std::uint64_t job) noexcept = 0;
  /// Discards the state that the warm-up left, and from now on keeps state from job to job. Called between jobs. Before
  /// this call every job begins with the initial state.
  virtual void begin_to_keep() noexcept {}

  // The next two functions are for measuring the time of execute() without its waits for pages of memory. They are
  // called on the thread of a compute engine, in this order.
  /// Copies all data that execute() reads to the device's own memory.
  [[nodiscard]] virtual Status make_resident() noexcept { return {}; }
  /// Executes the job like execute(), except that it neither copies in what make_resident() copied, nor copies results
  /// out.
  [[nodiscard]] virtual Status execute_resident() noexcept { return execute(); }

 protected:
  Workload() = default;
};

} // namespace rtexec
