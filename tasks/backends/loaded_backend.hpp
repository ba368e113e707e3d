// Back ends of others: shared objects that export rtexec_backend_get() (<rtexec/backend.h>).
#pragma once

#include <rtexec/result.hpp>
#include "tasks/api/backend.hpp"

#include <string>

namespace rtexec::tasks {

/// `name`: a path, where it has a '/'; else librtexec-backend-NAME.so, where the dynamic linker looks. It is loaded
/// once and stays loaded until the process ends. Set-up, any thread. bad_input: it cannot be loaded, or is no back end;
/// unsupported: of another version.
[[nodiscard]] Result<const Backend*> load_backend(const std::string& name);

} // namespace rtexec::tasks
