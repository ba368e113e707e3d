// A workload: what a task runs in each job. Set-up may allocate, block and throw std::bad_alloc; the three parts of a
// job may not.
//
// Ownership: a workload owns no device memory of its task: it says what it needs by class, and is given addresses. Its
// host-side buffers (staged inputs and outputs, the image of its constants) and what it allocates on the device are its
// own. Set-up calls come from one thread, in the order below, before the first job.
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

/// Addresses of a task's device memory, each valid on the device for the size that memory() asked for, and aligned to
/// 256 bytes. On a GPU they are no addresses of the host. Chunks come and go beneath them: only execute(), and work
/// that it launches and waits for, may touch them.
struct Memory {
  const std::byte* constant = nullptr; // mapped read-only
  std::byte* scratch = nullptr;        // contents are lost between jobs
  std::byte* state = nullptr;          // zero before the first job of the warm-up
  std::byte* carry = nullptr;          // contents are lost between jobs, and kept between the segments of one
};

/// Memory that holds contents from layer `first` to layer `last` of a job: where the job is cut between two of these,
/// they are to be kept.
struct LiveRange {
  Bytes size;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const LiveRange&, const LiveRange&) = default;
};

/// The constants that a layer reads lie between these offsets in constants(). Of none both are equal.
struct ConstantRange {
  Bytes begin, end;
  friend bool operator==(const ConstantRange&, const ConstantRange&) = default;
};

/// Which integers an input may hold, ends included, where they index a tensor and must stay inside it.
struct InputRange {
  /// These are taken. Negative ones count from the end of what they index.
  std::int64_t min = 0, max = 0;
  /// Noise is drawn from these: indices from the begin.
  std::int64_t noise_min = 0, noise_max = 0;
  friend bool operator==(const InputRange&, const InputRange&) = default;
};

/// Told about the layers of an execution; a plain struct of functions, so that no task depends on who listens.
/// Called on the engine's thread: must not block or allocate. Null functions are not called. On a GPU it is told after
/// the execution.
struct LayerObserver {
  void (*begin)(void* self, std::uint32_t layer, Instant at) noexcept = nullptr;
  void (*end)(void* self, std::uint32_t layer, Instant at) noexcept = nullptr;
  void* self = nullptr;
};

/// Steps done, of how many; false stops.
using TuningProgress = std::function<bool(std::size_t done, std::size_t wanted)>;

class RTEXEC_API Workload {
 public:
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  /// Whether its jobs have a part on the device, for all its life. False: they do not queue for it, after() follows
  /// before() at once, execute() is never called, and memory() must ask for nothing. Its task's WCET on the device is
  /// 0.
  [[nodiscard]] virtual bool uses_device() const { return true; }
  /// Device memory that it needs; the same at every call after use(), tune() and cut().
  [[nodiscard]] virtual MemoryDemand memory() const = 0;
  /// The bytes that the constants must hold, MemoryDemand::constant of them, to be copied to the device before the
  /// first job; lives as long as the workload.
  [[nodiscard]] virtual std::span<const std::byte> constants() const = 0;
  /// What a measured WCET of this workload depends on: model contents, input size. Changes when a measurement is stale.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// What its model leaves open and how it was taken, a sentence each, for the user.
  [[nodiscard]] virtual std::span<const std::string> notes() const { return {}; }
  /// Names of the layers, by the number that the observer is given.
  [[nodiscard]] virtual std::span<const std::string> layers() const { return {}; }

  /// Choices that tune() made, in the same words: before memory() and constants() are asked, which may depend on them.
  /// bad_input: they are not of this workload; it then keeps its defaults.
  [[nodiscard]] virtual Result<> use(std::span<const std::string> tuning);
  /// Measures on `device` which of its ways to compute are fastest, uses them from then on, and tells them: opaque
  /// lines of text, so that every later run computes in the same way. `progress` is told how far it is, and stops it by
  /// false (cancelled). Before bind().
  [[nodiscard]] virtual Result<std::vector<std::string>> tune(Device& device, const TuningProgress& progress);

  // Segments: runs of consecutive layers, together a job's execution. Between two of them other tasks may have the
  // device, and scratch; what must survive lies in the carry.
  /// What lives across boundaries between layers, after use() and tune(). What a cut crosses is in the carry for all
  /// its life. A cut may follow each layer but the last. Empty: it cannot be cut.
  [[nodiscard]] virtual std::vector<LiveRange> live_ranges() const { return {}; }
  /// By layer, after use() and tune(). Where constants are streamed, what no segment to come reads is not there any
  /// more, and of what lies behind only some. Empty: they cannot be streamed.
  [[nodiscard]] virtual std::vector<ConstantRange> constant_ranges() const { return {}; }
  /// Segments end behind these layers, ascending, and behind the last one. After use() and tune(), and before memory()
  /// and constants() are asked, which may depend on it. Not called, or with none: one segment. bad_input: it cannot be
  /// cut so.
  [[nodiscard]] virtual Result<> cut(std::span<const std::uint32_t> after);
  /// Returns what memory() would return if the workload were cut so, and does not cut it.
  [[nodiscard]] virtual Result<MemoryDemand> memory_if_cut(std::span<const std::uint32_t> after) const;

  /// Gives the device addresses, and readies what execute() needs on `device`; called once after constants are in
  /// place, before the first job. `device` outlives the workload: its destructor may still give back to it what bind()
  /// took. An error ends the start, and is shown to the user behind the task's name.
  [[nodiscard]] virtual Result<> bind(Device& device, const Memory& memory) = 0;
  /// Before bind().
  virtual void observe(const LayerObserver&) {}
  /// Before bind(): who is told how its buffers get their first contents, where it has such.
  virtual void observe_contents(const tasks::initialise::Observer&) {}

  // What goes in and comes out: whoever runs the workload fills inputs() in the first CPU part, before it calls
  // before(), and may read outputs() and detections() in the last one, once after() has returned. Nobody else touches
  // their bytes from bind() on, since at other times the device may be reading or writing them. The tensors are known
  // from the start; where their bytes lie, after bind(), which does not change any more.
  [[nodiscard]] virtual std::span<const Tensor> inputs() const { return {}; }
  [[nodiscard]] virtual std::span<const Tensor> outputs() const { return {}; }
  /// Of the input with this number. Absent: it may hold any value of its type.
  [[nodiscard]] virtual std::optional<InputRange> input_range(std::size_t) const { return {}; }
  /// What it recognises, for all its life: which of the two that follow may hold something.
  [[nodiscard]] virtual Recognition recognises() const noexcept { return Recognition::nothing; }
  /// Of the last job whose after() has returned, best first.
  [[nodiscard]] virtual std::span<const Box> detections() const noexcept { return {}; }
  [[nodiscard]] virtual std::span<const RankedClass> classes() const noexcept { return {}; }

  // Tensors that stay on the device on their way between workloads of one device. Who runs them links inputs and
  // outputs before bind(); a linked tensor lies where he says for each job, in device memory, as it would in its bytes:
  // dense, row-major, aligned to 256 bytes. The bytes of a linked input are not looked at.
  /// Whether it can, for all its life. False: nothing of the following is called.
  [[nodiscard]] virtual bool links_on_device() const { return false; }
  virtual void link_input(std::size_t) {}
  /// `on_host`: others read its bytes as well. False: they need not be filled.
  virtual void link_output(std::size_t, bool) {}
  // In the first CPU part, before before(), and once after bind(): where the next execute() finds the input, and puts
  // the output. No allocation, no lock, no system call that can block.
  virtual void take_input(std::size_t, const std::byte*) noexcept {}
  virtual void give_output(std::size_t, std::byte*) noexcept {}

  // The parts of a job, in this order, never two at once. No allocation, no lock, no system call that can block, no
  // exception. In the warm-up before the first release job 0 runs once, so that code and buffers are in memory: it then
  // runs twice, and where jobs execute beside each other, its part on the device on each compute engine. After an error
  // of a part the job has failed and its later parts are left out; the next job begins with before().
  /// On the task's core: prepares job `job`, whose inputs are filled.
  [[nodiscard]] virtual Status before(std::uint64_t job) noexcept = 0;
  /// On a compute engine of the device: returns when the work of all segments is done. Not called where uses_device()
  /// is false. Where jobs execute beside each other, one job's may be on another thread than that of the job before.
  [[nodiscard]] virtual Status execute() noexcept = 0;
  /// In place of execute() where the job is cut: its segments in turn, from 0. Between two of them scratch may change.
  /// Returns when the segment's work is done; after an error when nothing of the job is under way.
  [[nodiscard]] virtual Status execute_segment(std::uint32_t) noexcept { return execute(); }
  /// Whether launch_segment() does anything; always the same.
  [[nodiscard]] virtual bool launches_segments() const noexcept { return false; }
  /// Hands the segment's work to the device and returns; execute_segment(), which then waits for it, is still called.
  /// The one before it is launched or has been executed, and nobody else has the device until this one has been. After
  /// an error the job has failed, and nothing of it is under way.
  [[nodiscard]] virtual Status launch_segment(std::uint32_t) noexcept { return {}; }
  /// The same as execute() for a job of a task under D/H, for which one of the two is chosen: D, or H where another job
  /// executes beside it. What is under one policy does the same for each.
  [[nodiscard]] virtual Status execute_as(MemoryPolicy) noexcept { return execute(); }
  /// On the task's core: finishes the outputs.
  [[nodiscard]] virtual Status after(std::uint64_t job) noexcept = 0;
  /// Between jobs, where it has state: those before were a rehearsal, and what they left is forgotten. Until it is
  /// called, each job finds what the first one does.
  virtual void begin_to_keep() noexcept {}

  // For who measures how long execute() takes that waits for nothing, on a compute engine, in turn:
  /// Brings what execute() reads into the device's own memory.
  [[nodiscard]] virtual Status make_resident() noexcept { return {}; }
  /// As execute(), without what make_resident() does and what brings results out.
  [[nodiscard]] virtual Status execute_resident() noexcept { return execute(); }

 protected:
  Workload() = default;
};

} // namespace rtexec
