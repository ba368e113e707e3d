// Inference back ends of third parties: shared objects that export rtexec_backend_get() (<rtexec/backend.h>).
#pragma once

#include <rtexec/result.hpp>
#include "tasks/api/backend.hpp"

#include <string>

namespace rtexec::tasks {

/// Loads a back end. A `name` with a '/' is a path. Any other name means librtexec-backend-NAME.so in the search path
/// of the dynamic linker. The shared object is loaded once and stays loaded until the process ends. Call it during
/// set-up, from any thread. Returns bad_input if it cannot be loaded or is no back end, and unsupported if its version
/// differs.
[[nodiscard]] Result<const Backend*> load_backend(const std::string& name);

} // namespace rtexec::tasks
