// Traces the first contents of a buffer, and each tile of them. Any thread; has no effect without a recording.
#pragma once

#include "tasks/base/initialise_observer.hpp"

#include <cstdint>

namespace rtexec::executive {

void trace_first_contents(std::uint32_t task, std::uint32_t buffer,
                          const tasks::initialise::FirstContents& contents) noexcept;

} // namespace rtexec::executive
