// The interface of a device that the executive uses: physical memory in chunks of one size, address ranges that chunks
// are mapped into, and engines that execute work. <rtexec/device.hpp> has the part of a device that workloads see.
//
// Every chunk is permanently mapped read-write in one address range of the device, the pool window. Copies use
// addresses in the pool window. Arenas are the address ranges of tasks. They map the same chunks, read-only or
// read-write, at the addresses that tasks expect. So copying and mapping are independent of each other.
//
// Ownership: the Device owns chunks, ranges, buffers and engines. Handles are plain values, valid until they are
// released or the Device ends. Threading: one thread at a time makes set-up calls, and never during mapping calls.
// Mapping calls of one slot come from one thread at a time; different slots may have different threads. One thread
// submits to each engine. Sibling back ends: hal/host (software), hal/cuda (NVIDIA). One set of rules
// (test/hal/device_rule_tests.hpp) runs against each.
#pragma once

#include <rtexec/device.hpp>
#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/clocks.hpp"
#include "hal/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::hal {

/// The index of a physical chunk: 0 to chunks created - 1.
enum class Chunk : std::uint32_t {};
[[nodiscard]] constexpr std::size_t index(Chunk chunk) { return static_cast<std::size_t>(chunk); }

enum class Access { none, read, read_write };

/// A reserved range of device addresses. On the host device an access to an unmapped slot ends the process by a signal.
struct AddressRange {
  std::byte* base = nullptr;
  Bytes size;
};

/// Capabilities that were found by trials, never read from an attribute.
struct DeviceCapabilities {
  bool read_only_mapping = false; // true if a write through a read-only mapping faults
  bool shared_mapping = false;    // true if one chunk can be mapped at several addresses at once
  bool remap_under_load = false;  // true if mappings may change while the compute engine uses other memory
  bool host_sees_window = false;  // true if the pool window is ordinary memory: files can be read directly into it
  /// True if mapping fills page tables on the calling thread; the kernel counts this as page faults of that thread
  bool mapping_faults = false;
  bool digest = false; // digest() is supported
  /// True if the compute engine's thread executes a part of the work itself, and needs its core for that
  bool computes_on_core = false;
  std::vector<std::string> findings; // one line per probe: the trial, the outcome, the fallback

  void note(const std::string& tried, bool works, const char* otherwise) {
    findings.push_back(tried + ": " + (works ? "works" : otherwise));
  }
};

/// The engines of a device. `secondary_compute` is the second compute engine, which works concurrently with `compute`
/// after start_secondary_compute().
enum class EngineKind { compute, copy_in, copy_out, secondary_compute };
inline constexpr std::size_t engine_kinds = 4;
[[nodiscard]] constexpr bool copies(EngineKind kind) {
  return kind == EngineKind::copy_in || kind == EngineKind::copy_out;
}
/// Says if a job executes alone, or concurrently with a job of the other compute engine.
enum class Concurrency { alone, concurrent };

/// Memory use of the whole device, as its driver counts it.
struct MemoryUse {
  /// Memory that rtexec has taken since just before this device was opened. Includes memory of other processes if the
  /// driver cannot tell them apart
  Bytes own;
  Bytes context; // memory taken by opening the device, before its first chunk
};

/// A function of the caller that the thread of a copy() runs during the copy, so that its execution adds no time. A
/// null function means no work.
struct DuringCopy {
  Status (*run)(void* context) noexcept = nullptr;
  void* context = nullptr;
  [[nodiscard]] Status operator()() const noexcept { return run == nullptr ? Status() : run(context); }
};

/// A 128-bit hash that distinguishes contents of equal length. Different contents have equal digests with a probability
/// of 2^-128. Digests of different devices cannot be compared. Gives no protection against deliberate collisions.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// The error that ended a device. After it, every call returns device_lost.
struct DeviceFault {
  std::string what; // the driver's name of the error and its meaning
};

class Device : public rtexec::Device {
 public:
  [[nodiscard]] virtual Bytes capacity() const = 0; // in whole chunks; create_chunks() enforces this limit
  [[nodiscard]] virtual Bytes chunk_size() const = 0;
  [[nodiscard]] virtual const DeviceCapabilities& capabilities() const = 0;

  /// Creates `count` chunks, zeroed, and maps them in the pool window, one after another. Returns out_of_memory and
  /// creates none if the capacity would be exceeded.
  [[nodiscard]] virtual Result<std::vector<Chunk>> create_chunks(std::size_t count) = 0;
  /// Returns the address of `chunk` in the pool window. It is read-write, and valid as long as the device lives.
  [[nodiscard]] virtual std::byte* window(Chunk chunk) const = 0;
  [[nodiscard]] virtual std::size_t chunks_created() const = 0;

  /// Reserves addresses, inaccessible until mapped. `size` is rounded up to whole chunks.
  [[nodiscard]] virtual Result<AddressRange> reserve(Bytes size) = 0;
  /// Unmaps the mapped slots of `range` and releases its addresses.
  [[nodiscard]] virtual Result<> release(AddressRange range) = 0;

  /// Maps `chunk` as the `slot`-th chunk of `range`. Returns bad_input if the slot is mapped or does not exist, or if
  /// the chunk was not created. One chunk may be mapped at several addresses at once. Does not allocate, and later
  /// accesses cause no page fault.
  [[nodiscard]] virtual Status map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept = 0;
  /// Makes the slot inaccessible; the chunk keeps its contents. Returns bad_input if the slot is not mapped.
  [[nodiscard]] virtual Status unmap(AddressRange range, std::size_t slot) noexcept = 0;

  /// Copies between host memory and device addresses (window or arena). Called on an engine's thread. Calls `during`
  /// once during the copy, and returns when both the copy and `during` have ended. Returns the first error of the two;
  /// the copy has ended in any case.
  [[nodiscard]] virtual Status copy(std::byte* to, const std::byte* from, Bytes size, DuringCopy during) noexcept = 0;
  [[nodiscard]] Status copy(std::byte* to, const std::byte* from, Bytes size) noexcept {
    return copy(to, from, size, DuringCopy{});
  }
  /// The first half of copy(): submits the copy to the device and returns, so that copies follow each other without a
  /// gap. Called on an engine's thread. Until the copy ends, the thread may call copy() and digest(), but must not
  /// touch the memory of the copy. After an error end_copy() must not be called. Returns out_of_memory if
  /// `copies_at_once` copies are pending: begun by this thread and not ended.
  [[nodiscard]] virtual Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept = 0;
  /// Waits for the oldest pending copy of this thread. Ends that copy even if an error is returned. Returns bad_input
  /// if no copy is pending.
  [[nodiscard]] virtual Status end_copy() noexcept = 0;
  static constexpr std::size_t copies_at_once = 4; // maximum number of pending copies, for each engine
  /// Computes, on the device, the digest of `size` bytes (a multiple of 16) at a device address aligned to 16 (window
  /// or arena). Called on an engine's thread. Returns bad_input for a wrong size or address, and unsupported if
  /// `capabilities().digest` is false.
  [[nodiscard]] virtual Status digest(const std::byte* at, Bytes size, Digest& result) noexcept = 0;

  /// Page-locks host memory that the caller mapped, in whole pages, so that copies run at full speed. The memory must
  /// stay mapped until unpin(), or until the Device ends, which unpins all memory that is still pinned. Set-up only.
  /// Returns bad_input if the memory is pinned already, refused if the limit of locked memory is reached, and
  /// unsupported if the driver cannot pin memory.
  [[nodiscard]] virtual Result<> pin(std::byte* begin, Bytes size) = 0;
  /// Unpins the whole memory that one call of pin() pinned. Set-up only, and never during a copy from or to that
  /// memory.
  [[nodiscard]] virtual Result<> unpin(std::byte* begin) = 0;

  /// Returns an engine. `secondary_compute` exists only after start_secondary_compute().
  [[nodiscard]] virtual Engine& engine(EngineKind kind) = 0;
  /// Starts the second compute engine; without this call it has no thread. Set-up, before any engine works. Returns
  /// refused if the first compute engine's thread keeps its core busy while it waits for the device. Returns bad_input
  /// if the second compute engine is already started.
  [[nodiscard]] virtual Result<> start_secondary_compute() = 0;

  /// Begins the execution of one job; called on the thread of the job's compute engine. `concurrent`: a job of the
  /// other compute engine may execute on the same compute core.
  virtual void begin_execution(Concurrency) noexcept {}
  /// Returns the time for which the device executed the job, measured by the device's own clock. `passed` is the time
  /// since begin_execution(). The difference is overhead: the time until the device began the work, and the time until
  /// its end was noticed. A device without such a clock returns `passed`.
  [[nodiscard]] virtual Duration executed(Duration passed) noexcept { return passed; }

  [[nodiscard]] virtual Result<MemoryUse> memory_use() const = 0;
  /// Returns the present clocks. Returns nullopt if the device has no clocks of its own, or if they are unknown. May be
  /// called on any thread without real-time priority.
  [[nodiscard]] virtual std::optional<DeviceClocks> clocks() const noexcept { return std::nullopt; }
  /// Returns the error that ended the device, or nullopt. The call in which the error occurred returned device_fault;
  /// all later calls return device_lost. Any thread.
  [[nodiscard]] virtual std::optional<DeviceFault> fault() const = 0;
};

} // namespace rtexec::hal
