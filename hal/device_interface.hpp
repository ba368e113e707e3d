// A device as the executive drives it: physical memory in uniform chunks, address ranges that chunks are mapped into,
// and engines that do the work, besides what workloads see of it (<rtexec/device.hpp>).
//
// Every chunk is mapped read-write once, for good, in the device's pool window; copies go through the window. Arenas
// map the same chunks where tasks expect them, read-only or read-write. Copying and mapping are therefore independent.
//
// Ownership: the Device owns chunks, ranges, buffers and engines; handles are plain values, valid until released or
// until the Device ends. Threading: set-up calls come from one thread at a time, and never beside mapping calls;
// mapping calls of one slot come from one thread at a time, those of different slots from different threads if they
// like; engines are fed by one thread each. Sibling back ends: hal/host (software), hal/cuda (NVIDIA). One set of rules
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

/// Index of a physical chunk, 0 .. chunks created - 1.
enum class Chunk : std::uint32_t {};
[[nodiscard]] constexpr std::size_t index(Chunk chunk) { return static_cast<std::size_t>(chunk); }

enum class Access { none, read, read_write };

/// A reserved range of device addresses. On the host device an access to a part that has no chunk is a real fault.
struct AddressRange {
  std::byte* base = nullptr;
  Bytes size;
};

/// What was found out by trying, never read from an attribute.
struct DeviceCapabilities {
  bool read_only_mapping = false; // a write through a read mapping is caught
  bool shared_mapping = false;    // one chunk at several addresses at once
  bool remap_under_load = false;  // mappings may change while the compute engine works elsewhere
  bool host_sees_window = false;  // the pool window is ordinary memory: files can be read straight into it
  /// Mapping fills page tables in the caller's name, which the kernel counts as page faults of its thread
  bool mapping_faults = false;
  bool digest = false;               // digest() answers
  bool computes_on_core = false;     // the compute engine's thread executes a part itself, and needs its core for it
  std::vector<std::string> findings; // one line per probe: what was tried, what came out, what it fell back to

  void note(const std::string& tried, bool works, const char* otherwise) {
    findings.push_back(tried + ": " + (works ? "works" : otherwise));
  }
};

/// `beside` computes beside `compute`, where it was started.
enum class EngineKind { compute, copy_in, copy_out, beside };
inline constexpr std::size_t engine_kinds = 4;
[[nodiscard]] constexpr bool copies(EngineKind kind) {
  return kind == EngineKind::copy_in || kind == EngineKind::copy_out;
}
/// Of what a compute engine executes.
enum class Company { alone, accompanied };

/// Of the whole device, as its driver counts it.
struct MemoryUse {
  Bytes own;     // taken since before this device was opened: everything below and what cannot be told apart
  Bytes context; // taken by opening the device, before its first chunk
};

/// What the calling thread does while its copy is under way, so that it costs no time of its own. A null function:
/// nothing.
struct Beside {
  Status (*run)(void* context) noexcept = nullptr;
  void* context = nullptr;
  [[nodiscard]] Status operator()() const noexcept { return run == nullptr ? Status() : run(context); }
};

/// Tells contents of the same length apart: 128 bits, different for different contents but for a chance of 2^-128.
/// Comparable only among digests of one device. No protection against somebody who wants two to be equal.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// What ended a device: after it, every call is answered with device_lost.
struct DeviceFault {
  std::string what; // the driver's name for it and what it means
};

class Device : public rtexec::Device {
 public:
  [[nodiscard]] virtual Bytes capacity() const = 0; // whole chunks; enforced
  [[nodiscard]] virtual Bytes chunk_size() const = 0;
  [[nodiscard]] virtual const DeviceCapabilities& capabilities() const = 0;

  /// Creates `count` chunks, zeroed, and maps them in the pool window; out_of_memory, and none created, when capacity
  /// would be exceeded. The chunks of one call follow each other in the window.
  [[nodiscard]] virtual Result<std::vector<Chunk>> create_chunks(std::size_t count) = 0;
  /// Where `chunk` stands in the pool window, read-write, for as long as the device lives.
  [[nodiscard]] virtual std::byte* window(Chunk chunk) const = 0;
  [[nodiscard]] virtual std::size_t chunks_created() const = 0;

  /// Reserves addresses, inaccessible until mapped. `size` is rounded up to whole chunks.
  [[nodiscard]] virtual Result<AddressRange> reserve(Bytes size) = 0;
  /// Unmaps what is still mapped in `range` and gives the addresses back.
  [[nodiscard]] virtual Result<> release(AddressRange range) = 0;

  /// Maps `chunk` as the `slot`-th chunk of `range`; bad_input when the slot is mapped or not there, or the chunk was
  /// not created. One chunk may be mapped in many places. No allocation, and no page fault on a later access.
  [[nodiscard]] virtual Status map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept = 0;
  /// Makes the slot inaccessible; the chunk keeps its contents. Unmapping an unmapped slot is bad_input.
  [[nodiscard]] virtual Status unmap(AddressRange range, std::size_t slot) noexcept = 0;

  /// Copies between host memory and device addresses (window or arena); called on an engine's thread, returns when it
  /// and `beside`, which is called once while the copy is under way, are done. The first error of the two; the copy has
  /// ended all the same.
  [[nodiscard]] virtual Status copy(std::byte* to, const std::byte* from, Bytes size, Beside beside) noexcept = 0;
  [[nodiscard]] Status copy(std::byte* to, const std::byte* from, Bytes size) noexcept {
    return copy(to, from, size, Beside{});
  }
  /// The halves of copy(), so that copies follow each other without a gap: the first hands the copy to the device and
  /// returns. Called on an engine's thread, which may copy() and digest() in between, but nothing that a begun copy
  /// touches. After an error there is nothing to end; out_of_memory: `copies_at_once` are begun and not ended.
  [[nodiscard]] virtual Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept = 0;
  /// Waits for the oldest copy that this thread has begun and not ended. Whatever it answers, that one is ended;
  /// bad_input: there is none.
  [[nodiscard]] virtual Status end_copy() noexcept = 0;
  static constexpr std::size_t copies_at_once = 4; // at once, by each engine
  /// Of `size` bytes, a multiple of 16, at a device address that is aligned to 16 (window or arena), computed on the
  /// device; called on an engine's thread. bad_input; unsupported: capabilities().digest is false.
  [[nodiscard]] virtual Status digest(const std::byte* at, Bytes size, Digest& result) noexcept = 0;

  /// Page-locks host memory that the caller mapped, whole pages, so that copies of it run at full speed. The memory
  /// must stay mapped until unpin(), or the Device's end, which unpins what is left. Set-up only. bad_input: pinned
  /// already; refused: the limit of locked memory; unsupported: the driver cannot.
  [[nodiscard]] virtual Result<> pin(std::byte* begin, Bytes size) = 0;
  /// What pin() was given, as a whole. Set-up only, and never while it is copied.
  [[nodiscard]] virtual Result<> unpin(std::byte* begin) = 0;

  /// `beside` only once start_beside() has started it.
  [[nodiscard]] virtual Engine& engine(EngineKind kind) = 0;
  /// Starts the second compute engine; without it there is no thread for it. Set-up, before any engine works. refused:
  /// the first one waits for the device without giving its core away; bad_input: it has been started.
  [[nodiscard]] virtual Result<> start_beside() = 0;

  /// Around what is executed for one job, on its compute engine's thread. Accompanied, it shares its compute core with
  /// what the other compute engine executes.
  virtual void begin_execution(Company) noexcept {}
  /// Of the `passed` time since then, what the device itself used, by its own clock. The rest is not the job's: work
  /// was on its way to the device, or ended and not yet noticed. Where the device has no such clock, it is all.
  [[nodiscard]] virtual Duration executed(Duration passed) noexcept { return passed; }

  [[nodiscard]] virtual Result<MemoryUse> memory_use() const = 0;
  /// Now; absent: the device has none of its own, or they are not known. Any thread without real-time priority.
  [[nodiscard]] virtual std::optional<DeviceClocks> clocks() const noexcept { return std::nullopt; }
  /// What ended the device, if anything did. The call that met it was answered with device_fault, all later ones with
  /// device_lost. Any thread.
  [[nodiscard]] virtual std::optional<DeviceFault> fault() const = 0;
};

} // namespace rtexec::hal
