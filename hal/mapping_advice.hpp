// Remedies for a mapping of memory that the kernel refused.
#pragma once

#include <rtexec/units.hpp>

#include <string>

namespace rtexec::hal {

/// Returns the remedy for an mmap() of `size` that failed with `error` (an errno). Empty if no remedy is known.
[[nodiscard]] std::string mapping_advice(int error, Bytes size);

} // namespace rtexec::hal
