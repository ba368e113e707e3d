// The device memory of one client. The client's agent loads and saves this memory at the daemon's command. Physical
// chunks (frames) are mapped into parts of the arena (slots). Implementations: CUDA in the preload library, host memory
// in tests.
//
// One thread calls the set-up functions while no chunk moves. The agent's real-time thread calls the functions that
// move chunks. The latter functions do not allocate, and wait only for the device.
#pragma once

#include <rtexec/result.hpp>
#include "config/base/descriptor.hpp"

#include <cstdint>

namespace rtexec::client {

class ClientMemory {
 public:
  virtual ~ClientMemory() = default;
  ClientMemory(const ClientMemory&) = delete;
  ClientMemory& operator=(const ClientMemory&) = delete;

  /// Set-up: uses `chunk` as the physical chunk with the number `frame`, if clients share chunks. The chunk may still
  /// have another client's contents.
  [[nodiscard]] virtual Result<> adopt(std::uint32_t frame, config::Descriptor chunk) = 0;
  /// Set-up: saves and unmaps all slots that have a frame. Afterwards no frame is known.
  [[nodiscard]] virtual Result<> forget_frames() = 0;

  /// Maps `frame` into the empty `slot`. Begins to copy in the slot's saved contents, or zeros if it has no saved
  /// contents. finish_load() waits for the oldest load in progress. After a failed load, the slot is empty.
  [[nodiscard]] virtual Status begin_load(std::uint32_t slot, std::uint32_t frame) noexcept = 0;
  [[nodiscard]] virtual Status finish_load() noexcept = 0;
  /// Begins to save `slot`. finish_save() waits for the oldest save in progress, and unmaps its slot. After a failed
  /// save, the slot is unchanged.
  [[nodiscard]] virtual Status begin_save(std::uint32_t slot) noexcept = 0;
  [[nodiscard]] virtual Status finish_save() noexcept = 0;

 protected:
  ClientMemory() = default;
};

} // namespace rtexec::client
