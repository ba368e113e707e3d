// Counts the heap allocations of the calling thread, C and C++ alike, also under the sanitizers.
#pragma once

#include <cstddef>

namespace rtexec::test {

/// Allocations (malloc, calloc, realloc, new...) of this thread since it began.
[[nodiscard]] std::size_t allocations() noexcept;

} // namespace rtexec::test
