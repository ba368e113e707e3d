// The device memory of one client, as its agent moves it at the daemon's command: it maps physical chunks (frames) into
// parts (slots) of the arena. Implementations: CUDA in the preload library, host memory in tests.
//
// One thread calls the set-up functions while no chunk moves. The agent's real-time thread calls those that move
// chunks: they do not allocate, and wait only for the device.
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

  /// Set-up: makes `chunk` the physical chunk `frame`, if clients share chunks. Its contents belong to another client.
  [[nodiscard]] virtual Result<> adopt(std::uint32_t frame, config::Descriptor chunk) = 0;
  /// Set-up: saves and empties all slots that hold a frame, and forgets all frames.
  [[nodiscard]] virtual Result<> forget_frames() = 0;

  /// Maps `frame` into the empty `slot`, and begins to copy in the slot's last saved contents, or zeros if there are
  /// none. finish_load() waits for the oldest load under way. A slot whose load fails is empty.
  [[nodiscard]] virtual Status begin_load(std::uint32_t slot, std::uint32_t frame) noexcept = 0;
  [[nodiscard]] virtual Status finish_load() noexcept = 0;
  /// Begins to save `slot`. finish_save() waits for the oldest save under way, and empties its slot. A slot whose save
  /// fails stays as it was.
  [[nodiscard]] virtual Status begin_save(std::uint32_t slot) noexcept = 0;
  [[nodiscard]] virtual Status finish_save() noexcept = 0;

 protected:
  ClientMemory() = default;
};

} // namespace rtexec::client
