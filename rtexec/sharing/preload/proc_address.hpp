// Replaces the results of cuGetProcAddress, with which a program looks up driver functions.
#pragma once

#include "hal/cuda/driver.hpp"

#include <cstdint>

namespace rtexec::preload {

/// Replaces a function that the driver found for cuGetProcAddress(`name`, `version`, `flags`). Returns this library's
/// function with the same ABI, or `found` if this library has no such function. To identify the ABI, requests the same
/// name from the driver in the version of each row of the table. If the table has the name but no row has the ABI,
/// returns `found` and prints one message.
[[nodiscard]] void* translate(const char* name, void* found, int version, std::uint64_t flags) noexcept;

} // namespace rtexec::preload
