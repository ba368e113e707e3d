// The built-in back end, "rtexec": our own inference engine.
#pragma once

#include "tasks/api/backend.hpp"

namespace rtexec::tasks {

[[nodiscard]] const Backend& engine_backend();

} // namespace rtexec::tasks
