// A client's memory on an NVIDIA device: a range of addresses in slots of one chunk, a copy of each slot in page-locked
// host memory, and the daemon's chunks, imported, or where it hands none out chunks of its own, which come and go.
//
// Threading: as ClientMemory says. The range, and the host's memory, live as long as the process.
#pragma once

#include "rtexec/client/memory.hpp"
#include "rtexec/preload/real_driver.hpp"

#include <rtexec/units.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rtexec::preload {

class DeviceMemory final : public client::ClientMemory {
 public:
  /// `context` is that of `device`, and outlives it.
  DeviceMemory(const RealDriver& driver, hal::cuda::Context context, hal::cuda::Ordinal device)
      : driver_(driver), context_(context), device_(device) {}

  /// The smallest chunk of the device.
  [[nodiscard]] Result<Bytes> granularity() const;
  /// Reserves the range. Once, before anything is loaded.
  [[nodiscard]] Result<> reserve(std::uint32_t slots, Bytes chunk);
  /// Host memory for the first `slots` slots.
  [[nodiscard]] Result<> prepare(std::uint32_t slots);
  /// All slots are empty, and what stood in them is lost. Nothing moves, or will.
  void vanish() noexcept;
  [[nodiscard]] hal::cuda::DevicePointer base() const noexcept { return base_; }

  Result<> adopt(std::uint32_t frame, config::Descriptor chunk) override;
  Result<> forget_frames() override;
  Status begin_load(std::uint32_t slot, std::uint32_t frame) noexcept override;
  Status finish_load() noexcept override;
  Status begin_save(std::uint32_t slot) noexcept override;
  Status finish_save() noexcept override;

 private:
  struct Slot {
    hal::cuda::AllocationHandle own = 0; // a chunk that goes with the slot
    std::byte* host = nullptr;
    bool stands = false;
    bool saved = false;
  };
  /// Copies in one direction that are under way, the oldest first.
  struct Lane {
    static constexpr std::size_t room = 8;
    hal::cuda::Stream stream = nullptr;
    std::array<hal::cuda::Event, room> ended{};
    std::array<std::uint32_t, room> slots{};
    std::size_t first = 0, count = 0;
  };

  [[nodiscard]] bool enter() const noexcept;
  [[nodiscard]] Result<> open(Lane& lane) const;
  [[nodiscard]] Status queue(Lane& lane, std::uint32_t slot) noexcept;
  [[nodiscard]] Status await(Lane& lane, std::uint32_t& slot) noexcept;
  [[nodiscard]] bool stand(std::uint32_t slot, std::uint32_t frame) noexcept;
  void empty(std::uint32_t slot) noexcept;
  [[nodiscard]] hal::cuda::DevicePointer address(std::uint32_t slot) const noexcept {
    return base_ + slot * chunk_.count;
  }

  const RealDriver& driver_;
  hal::cuda::Context context_;
  hal::cuda::Ordinal device_;
  Bytes chunk_{0};
  hal::cuda::DevicePointer base_ = 0;
  std::vector<Slot> slots_;
  std::vector<hal::cuda::AllocationHandle> frames_; // 0: none that was handed out
  Lane loads_, saves_;
};

} // namespace rtexec::preload
