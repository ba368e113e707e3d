// Tells the trace of a buffer that got its first contents, and of each tile of them. Any thread; without a recording it
// does nothing.
#pragma once

#include "tasks/base/initialise_observer.hpp"

#include <cstdint>

namespace rtexec::executive {

void trace_first_contents(std::uint32_t task, std::uint32_t buffer,
                          const tasks::initialise::FirstContents& contents) noexcept;

} // namespace rtexec::executive
