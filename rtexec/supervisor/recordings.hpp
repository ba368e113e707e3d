// Folders for the recordings of flight recorders, one for each start of the executive. Only the newest folders are
// kept.
#pragma once

#include <string>

namespace rtexec::supervisor {

inline constexpr unsigned kept_recordings = 8;

/// Creates a folder below `data` for start number `start`, and returns it. Removes the oldest folder if there are too
/// many folders.
[[nodiscard]] std::string recording(const std::string& data, unsigned start);

} // namespace rtexec::supervisor
