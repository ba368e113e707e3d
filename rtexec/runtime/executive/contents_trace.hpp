// Traces when a buffer gets its first contents, and when each tile of these contents is written. Any thread; has no
// effect if no trace is recorded.
#pragma once

#include "tasks/base/initialise_observer.hpp"

#include <cstdint>

namespace rtexec::executive {

void trace_first_contents(std::uint32_t task, std::uint32_t buffer,
                          const tasks::initialise::FirstContents& contents) noexcept;

} // namespace rtexec::executive
