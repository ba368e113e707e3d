// Counts heap allocations of the test program; the counter is defined beside the replaced operator new.
#pragma once

#include <cstdint>

namespace rtexec::test {
[[nodiscard]] std::uint64_t allocations() noexcept;
} // namespace rtexec::test
