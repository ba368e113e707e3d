// A device: physical memory in uniform chunks, address ranges that chunks are mapped into, and engines that do the work.
//
// Every chunk is mapped read-write once, for good, in the device's pool window; copies go through the window. Arenas map
// the same chunks where tasks expect them, read-only or read-write. Copying and mapping are therefore independent.
//
// Ownership: the Device owns chunks, ranges, buffers and engines; handles are plain values, valid until released or until the
// Device ends. Threading: set-up and mapping calls come from one thread at a time; engines are fed by one thread each.
// Sibling back ends: hal/host (software), hal/cuda (NVIDIA). One set of rules (test/hal/device_rules.hpp) runs against each.
#pragma once

#include "config/result.hpp"
#include "config/units.hpp"
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
  bool read_only_mapping = false;    // a write through a read mapping is caught
  bool shared_mapping = false;       // one chunk at several addresses at once
  bool remap_under_load = false;     // mappings may change while the compute engine works elsewhere
  std::vector<std::string> findings; // one line per probe: what was tried, what came out, what it fell back to
};

enum class EngineKind { compute, copy_in, copy_out };

/// Where a buffer lives: the memory policies D, M and H of the literature.
enum class BufferKind {
  device,  // device memory, which the host does not see
  managed, // one address for both, pages move to who touches them
  host,    // page-locked host memory that the device reads and writes in place
};

/// Memory beside the chunks, zeroed. An address is null where that side does not see the buffer.
struct Buffer {
  BufferKind kind = BufferKind::host;
  std::byte* host = nullptr;
  std::byte* device = nullptr;
  Bytes size;
};

/// Of the whole device, as its driver counts it.
struct MemoryUse {
  Bytes own;     // taken since before this device was opened: everything below and what cannot be told apart
  Bytes context; // taken by opening the device, before its first chunk
};

/// What ended a device: after it, every call is answered with device_lost.
struct DeviceFault {
  std::string what; // the driver's name for it and what it means
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Bytes capacity() const = 0;     // whole chunks; enforced
  [[nodiscard]] virtual Bytes chunk_size() const = 0;
  [[nodiscard]] virtual const DeviceCapabilities& capabilities() const = 0;

  /// Creates `count` chunks, zeroed, and maps them in the pool window; out_of_memory, and none created, when capacity would be
  /// exceeded. The chunks of one call follow each other in the window.
  [[nodiscard]] virtual Result<std::vector<Chunk>> create_chunks(std::size_t count) = 0;
  /// Where `chunk` stands in the pool window, read-write, for as long as the device lives.
  [[nodiscard]] virtual std::byte* window(Chunk chunk) const = 0;
  [[nodiscard]] virtual std::size_t chunks_created() const = 0;

  /// Reserves addresses, inaccessible until mapped. `size` is rounded up to whole chunks.
  [[nodiscard]] virtual Result<AddressRange> reserve(Bytes size) = 0;
  /// Unmaps what is still mapped in `range` and gives the addresses back.
  [[nodiscard]] virtual Result<> release(AddressRange range) = 0;

  /// Maps `chunk` as the `slot`-th chunk of `range`; bad_input when the slot is mapped or not there, or the chunk was not created.
  /// One chunk may be mapped in many places. No allocation, and no page fault on a later access.
  [[nodiscard]] virtual Status map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept = 0;
  /// Makes the slot inaccessible; the chunk keeps its contents. Unmapping an unmapped slot is bad_input.
  [[nodiscard]] virtual Status unmap(AddressRange range, std::size_t slot) noexcept = 0;

  /// Copies between host memory and device addresses (window or arena); called on an engine's thread, returns when done.
  [[nodiscard]] virtual Status copy(std::byte* to, const std::byte* from, Bytes size) noexcept = 0;

  [[nodiscard]] virtual Engine& engine(EngineKind kind) = 0;

  /// A buffer of `kind`, aligned to 256 bytes; it counts against no capacity. Set-up only. out_of_memory, unsupported.
  [[nodiscard]] virtual Result<Buffer> allocate(BufferKind kind, Bytes size) = 0;
  /// Gives `buffer` back, which allocate() returned. Set-up only, and never while work that uses it runs.
  [[nodiscard]] virtual Result<> free(const Buffer& buffer) = 0;

  [[nodiscard]] virtual Result<MemoryUse> memory_use() const = 0;
  /// What ended the device, if anything did. The call that met it was answered with device_fault, all later ones with device_lost.
  /// Any thread.
  [[nodiscard]] virtual std::optional<DeviceFault> fault() const = 0;

 protected:
  Device() = default;
};

} // namespace rtexec::hal
