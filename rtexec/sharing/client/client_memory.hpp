// The device memory of one client, as its agent moves it at the daemon's command: which physical chunk (frame) stands
// in which piece (slot) of the arena. Siblings: CUDA's in the preload library, tests' in host memory.
//
// Set-up functions are called by one thread while nothing moves; those that move chunks by the agent's thread, which is
// real-time: they allocate nothing, and wait only for the device.
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

  /// Set-up: the physical chunk that is `frame` from now on, where clients hand chunks on. Its contents are another's.
  [[nodiscard]] virtual Result<> adopt(std::uint32_t frame, config::Descriptor chunk) = 0;
  /// Set-up: saves all slots that hold a frame, and empties them; no frame is known any more.
  [[nodiscard]] virtual Result<> forget_frames() = 0;

  /// Maps `frame` into `slot`, which is empty, and begins to fill it with what was saved of it last; where nothing was,
  /// with zeros. finish_load() waits for the oldest load that has begun: a slot whose load fails is empty.
  [[nodiscard]] virtual Status begin_load(std::uint32_t slot, std::uint32_t frame) noexcept = 0;
  [[nodiscard]] virtual Status finish_load() noexcept = 0;
  /// Begins to save `slot`. finish_save() waits for the oldest save that has begun, and empties its slot: one whose
  /// save fails is as it was.
  [[nodiscard]] virtual Status begin_save(std::uint32_t slot) noexcept = 0;
  [[nodiscard]] virtual Status finish_save() noexcept = 0;

 protected:
  ClientMemory() = default;
};

} // namespace rtexec::client
