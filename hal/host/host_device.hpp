// The software device: HostMemory, a compute engine, an optional second one, and two copy engines. It is the embedded
// default, and tests of every code path run on it without a GPU.
#pragma once

#include <rtexec/board.hpp>
#include "hal/device_interface.hpp"
#include "hal/engine_thread.hpp"
#include "hal/host/host_memory.hpp"
#include "hal/pinned_memory.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::hal {

class HostDevice final : public Device {
 public:
  ~HostDevice() override;
  /// Opens the device and probes its capabilities. `chunk` must be a multiple of the page size; `capacity` is rounded
  /// down to whole chunks. Workloads on the device emulate `costs`, the times of the memory policies' operations on a
  /// board.
  [[nodiscard]] static Result<std::unique_ptr<HostDevice>> open(Bytes capacity, Bytes chunk,
                                                                const MemoryCosts& costs = {});

  [[nodiscard]] std::string name() const override { return "host"; }
  [[nodiscard]] DeviceKind kind() const noexcept override { return DeviceKind::host; }
  /// Returns the costs that workloads emulate. If no cost is set, nothing is emulated.
  [[nodiscard]] const MemoryCosts& memory_costs() const noexcept { return costs_; }
  [[nodiscard]] Bytes capacity() const override { return memory_.capacity(); }
  [[nodiscard]] Bytes chunk_size() const override { return memory_.chunk_size(); }
  [[nodiscard]] const DeviceCapabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] Result<std::vector<Chunk>> create_chunks(std::size_t count) override {
    return memory_.create_chunks(count);
  }
  [[nodiscard]] std::byte* window(Chunk chunk) const override { return memory_.window(chunk); }
  [[nodiscard]] std::size_t chunks_created() const override { return memory_.chunks_created(); }
  [[nodiscard]] Result<AddressRange> reserve(Bytes size) override { return memory_.reserve(size); }
  [[nodiscard]] Result<> release(AddressRange range) override { return memory_.release(range); }
  [[nodiscard]] Status map(AddressRange range, std::size_t slot, Chunk chunk, Access access) noexcept override {
    return memory_.map(range, slot, chunk, access);
  }
  [[nodiscard]] Status unmap(AddressRange range, std::size_t slot) noexcept override {
    return memory_.unmap(range, slot);
  }
  using Device::copy;
  /// Calls `during`, then copies: the engine's thread does both.
  [[nodiscard]] Status copy(std::byte* to, const std::byte* from, Bytes size, DuringCopy during) noexcept override;
  /// Records the copy; end_copy() performs it.
  [[nodiscard]] Status begin_copy(std::byte* to, const std::byte* from, Bytes size) noexcept override;
  [[nodiscard]] Status end_copy() noexcept override;
  [[nodiscard]] Status digest(const std::byte* at, Bytes size, Digest& result) noexcept override;
  /// Uses mlock().
  [[nodiscard]] Result<> pin(std::byte* begin, Bytes size) override;
  [[nodiscard]] Result<> unpin(std::byte* begin) override;
  [[nodiscard]] Engine& engine(EngineKind kind) override { return *engines_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] Result<> start_secondary_compute() override;
  void begin_execution(Concurrency concurrency) noexcept override;
  /// Returns the processor time that the compute engine's thread has used since begin_execution(). Returns `passed` if
  /// the workload waited during that time. Also returns `passed` if the job ran concurrently with a job of the other
  /// compute engine, because the processor time of that engine then counts too.
  [[nodiscard]] Duration executed(Duration passed) noexcept override;
  /// Allocates ordinary memory for every kind, and fills in its page tables.
  [[nodiscard]] Result<Buffer> allocate(BufferKind kind, Bytes size) override;
  [[nodiscard]] Result<> free(const Buffer& buffer) override;
  /// Counts chunks and buffers; there is no context.
  [[nodiscard]] Result<MemoryUse> memory_use() const override;
  /// Returns nullopt: a forbidden access sends a signal to the process instead.
  [[nodiscard]] std::optional<DeviceFault> fault() const override { return std::nullopt; }

 private:
  HostDevice(HostMemory memory, const MemoryCosts& costs) : memory_(std::move(memory)), costs_(costs) {}
  [[nodiscard]] Result<> start_engine(EngineKind kind);

  HostMemory memory_;
  MemoryCosts costs_;
  std::vector<Mapping> buffers_;
  PinnedMemory pinned_;
  DeviceCapabilities capabilities_;
  /// Engines by EngineKind; declared after the memory that their work touches
  std::array<std::unique_ptr<EngineThread>, engine_kinds> engines_;
};

/// Tries the capabilities of a host device on memory of its own, with work on `compute`.
[[nodiscard]] Result<DeviceCapabilities> probe_host_memory(Engine& compute);

} // namespace rtexec::hal
