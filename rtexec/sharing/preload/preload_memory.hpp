// A client's memory on an NVIDIA device: a range of addresses for the arena, and slots of one chunk each. A slot can be
// assigned an address, in the range or elsewhere. Each slot has a copy in page-locked host memory. Slots are mapped to
// chunks of the daemon that the process imports. If clients do not share chunks, slots are mapped to chunks of the
// process, which are created and released as needed. A slot without an address has no contents, and needs no copies.
//
// Threading: the rules of ClientMemory apply. place(): any thread, one at a time. settle(): any thread, while the
// client holds the device. The range and the host memory exist until the process ends.
#pragma once

#include "hal/inheriting_mutex.hpp"
#include "rtexec/sharing/client/client_memory.hpp"
#include "rtexec/sharing/preload/real_driver.hpp"

#include <rtexec/units.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace rtexec::preload {

class DeviceMemory final : public client::ClientMemory {
 public:
  /// `context` is a context of `device`. `context` must outlive this object.
  DeviceMemory(const RealDriver& driver, hal::cuda::Context context, hal::cuda::Ordinal device)
      : driver_(driver), context_(context), device_(device) {}

  /// Returns the granularity of the device's chunks, which is the smallest possible chunk size.
  [[nodiscard]] Result<Bytes> granularity() const;
  /// Reserves the address range for `slots` slots of `chunk` bytes. Called once, before any load.
  [[nodiscard]] Result<> reserve(std::uint32_t slots, Bytes chunk);
  /// Allocates host memory for the copies of the first `slots` slots.
  [[nodiscard]] Result<> prepare(std::uint32_t slots);
  /// Ends all use of the driver. Contents are lost. Later saves succeed without effect, and loads fail. If `empties` is
  /// true, also unmaps the memory and releases its chunks; the caller must then ensure that no work uses the memory.
  void end(bool empties) noexcept;
  /// Assigns `address` to `slot`; 0 removes the slot's address. The contents of the slot are lost. The next load of the
  /// slot, or settle(), maps the slot at `address`.
  void place(std::uint32_t slot, hal::cuda::DevicePointer address) noexcept;
  [[nodiscard]] bool unsettled() const noexcept {
    return placed_.load(std::memory_order_acquire) != settled_.load(std::memory_order_acquire);
  }
  /// Frees a reserved range as soon as no slot is mapped in the range. Requires that no slot is assigned to an address
  /// in the range.
  void retire(hal::cuda::DevicePointer begin, std::size_t size) noexcept;
  /// Maps all resident slots at their assigned addresses. Returns false if the driver refuses a mapping.
  bool settle() noexcept;
  [[nodiscard]] hal::cuda::DevicePointer base() const noexcept { return base_; }

  Result<> adopt(std::uint32_t frame, config::Descriptor chunk) override;
  Result<> forget_frames() override;
  Status begin_load(std::uint32_t slot, std::uint32_t frame) noexcept override;
  Status finish_load() noexcept override;
  Status begin_save(std::uint32_t slot) noexcept override;
  Status finish_save() noexcept override;

 private:
  struct Slot {
    hal::cuda::AllocationHandle own = 0; // the slot's own chunk, if clients do not share chunks
    std::uint32_t frame = 0;
    std::byte* host = nullptr;
    std::atomic<hal::cuda::DevicePointer> wanted{0}; // the assigned address; 0: none
    hal::cuda::DevicePointer at = 0;                 // the address where the slot is mapped; 0: it is not mapped
    bool stands = false;
    std::atomic<bool> saved{false};
  };
  /// The copies in progress in one direction, in order of age; the oldest is first.
  struct Lane {
    static constexpr std::size_t room = 8;
    hal::cuda::Stream stream = nullptr;
    std::array<hal::cuda::Event, room> ended{};
    std::array<std::uint32_t, room> slots{};
    std::size_t first = 0, count = 0;
  };

  void vanish() noexcept;
  [[nodiscard]] bool enter() const noexcept;
  [[nodiscard]] Result<> open(Lane& lane) const;
  [[nodiscard]] Status queue(Lane& lane, std::uint32_t slot) noexcept;
  [[nodiscard]] Status await(Lane& lane, std::uint32_t& slot) noexcept;
  [[nodiscard]] bool stand(std::uint32_t slot, std::uint32_t frame) noexcept;
  [[nodiscard]] bool map(Slot& slot) noexcept;
  void unmap(Slot& slot) noexcept;
  void clear(hal::cuda::DevicePointer address) noexcept;
  void empty(std::uint32_t slot) noexcept;
  [[nodiscard]] hal::cuda::Code fill(const Slot& slot) const noexcept;

  const RealDriver& driver_;
  hal::cuda::Context context_;
  hal::cuda::Ordinal device_;
  Bytes chunk_{0};
  hal::cuda::DevicePointer base_ = 0;
  std::vector<Slot> slots_;
  std::vector<hal::cuda::AllocationHandle> frames_; // by frame; 0: the daemon has not sent this frame
  hal::InheritingMutex moving_;                     // guards the following members; chunks do not move during end()
  Lane loads_, saves_;
  bool ended_ = false;
  std::atomic<std::uint64_t> placed_{0}, settled_{0}; // number of address changes: in total; at the last settle()
  std::mutex settling_;                               // guards the following member
  std::vector<std::pair<hal::cuda::DevicePointer, std::size_t>> retired_;
};

} // namespace rtexec::preload
