// Functions by which a program asks the driver for functions.
#pragma once

#include "hal/cuda/driver.hpp"

#include <cstdint>

namespace rtexec::preload {

/// What a program is to get that asked cuGetProcAddress for `name` in `version` with `flags`, and was given `found` by
/// the driver: our function of the same ABI, or `found`. Which ABI that is, the driver says: it is asked for the same
/// name in the version of each row. A name of the table in a version that no row has is passed on, and said once.
[[nodiscard]] void* translate(const char* name, void* found, int version, std::uint64_t flags) noexcept;

} // namespace rtexec::preload
