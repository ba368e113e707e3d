// Digests computed by the calling thread: for the host device, and as a reference for other devices.
#pragma once

#include <rtexec/units.hpp>
#include "hal/device_interface.hpp"

#include <cstddef>
#include <cstdint>

namespace rtexec::hal {

/// True if Device::digest() accepts this address and size.
[[nodiscard]] inline bool is_digestible(const std::byte* at, Bytes size) noexcept {
  return at != nullptr && reinterpret_cast<std::uintptr_t>(at) % 16 == 0 && size.count % 16 == 0;
}

/// Computes the digest of `size` bytes (a multiple of 8) at any address. Any thread.
[[nodiscard]] Digest digest_of(const std::byte* at, Bytes size) noexcept;

} // namespace rtexec::hal
