// Texts of errno values in messages.
#pragma once

#include <string>

namespace rtexec::config {

/// Returns the text of an errno. For EMFILE, the limit of this process and the remedy follow on a line of their own.
[[nodiscard]] std::string errno_text(int error);

/// True if the error comes from a lack of memory or file descriptors, and not from the file that the call used.
[[nodiscard]] bool is_shortage(int error);

} // namespace rtexec::config
