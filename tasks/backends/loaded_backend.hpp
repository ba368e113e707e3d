// Inference back ends of third parties: shared objects that export rtexec_backend_get() (<rtexec/backend.h>).
#pragma once

#include <rtexec/result.hpp>
#include "tasks/api/backend.hpp"

#include <string>

namespace rtexec::tasks {

/// Loads a back end. A `name` with a '/' is a path. Any other name means librtexec-backend-NAME.so in the search path
/// of the dynamic linker. The shared object is loaded once and stays loaded until the process ends. Call this function
/// during set-up, from any thread. Returns bad_input if the shared object cannot be loaded or is no back end. Returns
/// unsupported if the back end was built for a different version of <rtexec/backend.h>.
[[nodiscard]] Result<const Backend*> load_backend(const std::string& name);

} // namespace rtexec::tasks
