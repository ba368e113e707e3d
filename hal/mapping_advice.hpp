// What to do where memory cannot be mapped.
#pragma once

#include <rtexec/units.hpp>

#include <string>

namespace rtexec::hal {

/// What mends an mmap() of `size` that failed with `error`, one of errno; empty: nothing is known to.
[[nodiscard]] std::string mapping_advice(int error, Bytes size);

} // namespace rtexec::hal
