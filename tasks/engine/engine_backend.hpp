// The built-in back end, named "rtexec": this project's inference engine.
#pragma once

#include "tasks/api/backend.hpp"

namespace rtexec::tasks {

[[nodiscard]] const Backend& engine_backend();

} // namespace rtexec::tasks
