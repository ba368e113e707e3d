// A digest computed by the calling thread: what the host device answers, and what other devices are held against.
#pragma once

#include <rtexec/units.hpp>
#include "hal/device_interface.hpp"

#include <cstddef>
#include <cstdint>

namespace rtexec::hal {

/// What Device::digest() takes.
[[nodiscard]] inline bool is_digestible(const std::byte* at, Bytes size) noexcept {
  return at != nullptr && reinterpret_cast<std::uintptr_t>(at) % 16 == 0 && size.count % 16 == 0;
}

/// Of `size` bytes, a multiple of 8, at any address. Any thread.
[[nodiscard]] Digest digest_of(const std::byte* at, Bytes size) noexcept;

} // namespace rtexec::hal
