// The driver functions by which a program looks up driver functions.
#pragma once

#include "hal/cuda/driver.hpp"

#include <cstdint>

namespace rtexec::preload {

/// Returns the function for a program that asked cuGetProcAddress for `name` in `version` with `flags`, if the driver
/// answered `found`: this library's function of the same ABI, or `found`. To identify the ABI, it asks the driver for
/// the same name in the version of each row. A name of the table in a version of no row is passed on, with one message.
[[nodiscard]] void* translate(const char* name, void* found, int version, std::uint64_t flags) noexcept;

} // namespace rtexec::preload
