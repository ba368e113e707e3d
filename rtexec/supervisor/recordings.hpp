// Folders of flight recorders, one for each start of the executive, of which the newest are kept.
#pragma once

#include <string>

namespace rtexec::supervisor {

inline constexpr unsigned kept_recordings = 8;

/// Makes a new folder below `data` for start number `start`, and returns it. Removes the oldest folder if there are too
/// many.
[[nodiscard]] std::string recording(const std::string& data, unsigned start);

} // namespace rtexec::supervisor
