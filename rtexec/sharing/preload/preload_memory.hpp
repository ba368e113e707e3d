// A client's memory on an NVIDIA device: a range of addresses for the arena, slots of one chunk, each of which is to
// stand at a place, there or elsewhere, a copy of each in page-locked host memory, and the daemon's chunks, imported,
// or where it hands none out chunks of its own, which come and go. A slot without a place has no contents, and costs no
// copies.
//
// Threading: as ClientMemory says; place() on any thread, one at a time, and settle() on any that has the device. The
// range, and the host's memory, live as long as the process.
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
  /// `context` is that of `device`, and outlives it.
  DeviceMemory(const RealDriver& driver, hal::cuda::Context context, hal::cuda::Ordinal device)
      : driver_(driver), context_(context), device_(device) {}

  /// The smallest chunk of the device.
  [[nodiscard]] Result<Bytes> granularity() const;
  /// Reserves the range. Once, before anything is loaded.
  [[nodiscard]] Result<> reserve(std::uint32_t slots, Bytes chunk);
  /// Host memory for the first `slots` slots.
  [[nodiscard]] Result<> prepare(std::uint32_t slots);
  /// What stands is lost, and the driver is not called any more: saves succeed, loads fail. `empties`: no work uses it,
  /// and it is unmapped before.
  void end(bool empties) noexcept;
  /// Where `slot` is to stand; 0: nowhere. What it had is lost. It stands there once it is loaded, or after settle().
  void place(std::uint32_t slot, hal::cuda::DevicePointer address) noexcept;
  [[nodiscard]] bool unsettled() const noexcept {
    return placed_.load(std::memory_order_acquire) != settled_.load(std::memory_order_acquire);
  }
  /// A reserved range that no slot is to stand in any more is the driver's again once none does.
  void retire(hal::cuda::DevicePointer begin, std::size_t size) noexcept;
  /// All slots that are on the device stand where they are to. False: the driver refused.
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
    hal::cuda::AllocationHandle own = 0; // a chunk that goes with the slot
    std::uint32_t frame = 0;
    std::byte* host = nullptr;
    std::atomic<hal::cuda::DevicePointer> wanted{0}; // where it is to stand; 0: nowhere
    hal::cuda::DevicePointer at = 0;                 // where it does; 0: nowhere
    bool stands = false;
    std::atomic<bool> saved{false};
  };
  /// Copies in one direction that are under way, the oldest first.
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
  std::vector<hal::cuda::AllocationHandle> frames_; // 0: none that was handed out
  hal::InheritingMutex moving_;                     // guards what follows, and that nothing moves while all ends
  Lane loads_, saves_;
  bool ended_ = false;
  std::atomic<std::uint64_t> placed_{0}, settled_{0}; // how often something was placed, and was when all was settled
  std::mutex settling_;                               // guards what follows
  std::vector<std::pair<hal::cuda::DevicePointer, std::size_t>> retired_;
};

} // namespace rtexec::preload
