// A workload: what a task runs in each job. Set-up may allocate; the three parts of a job may not.
//
// A workload owns no device memory: it says what it needs by class, and is given addresses. Its host-side buffers
// (staged inputs and outputs, the image of its constants) are its own.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include "hal/device.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

/// Addresses of a task's device memory, each valid on the device for the size that memory() asked for.
struct Memory {
  const std::byte* constant = nullptr; // mapped read-only
  std::byte* scratch = nullptr;        // contents are lost between jobs
  std::byte* state = nullptr;          // zero before the rehearsal of the first job
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

class Workload {
 public:
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  [[nodiscard]] virtual MemoryDemand memory() const = 0;
  /// The bytes that the constants must hold, to be copied to the device before the first job; lives as long as the
  /// workload.
  [[nodiscard]] virtual std::span<const std::byte> constants() const = 0;
  /// What a measured WCET of this workload depends on: model contents, input size. Changes when a measurement is stale.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  /// Names of the layers, by the number that the observer is given.
  [[nodiscard]] virtual std::span<const std::string> layers() const { return {}; }

  /// Choices that tune() made, in the same words: before memory() and constants() are asked, which may depend on them.
  /// bad_input: they are not of this workload; it then keeps its defaults.
  [[nodiscard]] virtual Result<> use(std::span<const std::string> tuning);
  /// Measures on `device` which of its ways to compute are fastest, uses them from then on, and tells them: opaque
  /// lines of text, so that every later run computes in the same way. `progress` is told how far it is, and stops it by
  /// false (cancelled). Before bind().
  [[nodiscard]] virtual Result<std::vector<std::string>> tune(hal::Device& device, const TuningProgress& progress);

  /// Gives the device addresses, and readies what execute() needs on `device`; called once after constants are in
  /// place, before the first job. `device` outlives the workload: its destructor may still give back to it what bind()
  /// took.
  [[nodiscard]] virtual Result<> bind(hal::Device& device, const Memory& memory) = 0;
  /// Before bind().
  virtual void observe(const LayerObserver&) {}

  // The parts of a job, in this order, never two at once. No allocation, no lock, no system call that can block. Before
  // the first release one job, number 0, is rehearsed, so that code and buffers are in memory: job 0 then runs twice.
  /// On the task's core: fetches and prepares the input of job `job`.
  [[nodiscard]] virtual Status before(std::uint64_t job) noexcept = 0;
  /// On the device's compute engine.
  [[nodiscard]] virtual Status execute() noexcept = 0;
  /// On the task's core: takes the outputs.
  [[nodiscard]] virtual Status after(std::uint64_t job) noexcept = 0;

 protected:
  Workload() = default;
};

/// One memory object of `size` bytes behind what `demand` has of its class; none where the size is 0.
void add_object(MemoryDemand& demand, MemoryClass kind, Bytes size);

/// Makes the workload that `task` asks for, to run on a device of `kind`, which need not be there. Errors name the
/// file, and the node or value that cannot be used.
[[nodiscard]] Result<std::unique_ptr<Workload>> make_workload(const Task& task, DeviceKind kind);

} // namespace rtexec::tasks
