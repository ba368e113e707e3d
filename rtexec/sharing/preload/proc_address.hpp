// The result of cuGetProcAddress, by which a program looks up driver functions.
#pragma once

#include "hal/cuda/driver.hpp"

#include <cstdint>

namespace rtexec::preload {

/// Replaces a function that the driver found for cuGetProcAddress(`name`, `version`, `flags`). Returns this library's
/// function with the same ABI, or `found` if it has none. To identify the ABI, it asks the driver for the same name
/// in the version of each row of the table. If the table has the name but no row has the ABI, it returns `found` and
/// prints one message.
[[nodiscard]] void* translate(const char* name, void* found, int version, std::uint64_t flags) noexcept;

} // namespace rtexec::preload
