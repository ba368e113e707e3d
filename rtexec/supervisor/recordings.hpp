// Folders of flight recorders, one for each start of the executive, of which the newest are kept.
#pragma once

#include <string>

namespace rtexec::supervisor {

inline constexpr unsigned kept_recordings = 8;

/// Below `data`, new, for start number `start`; an older one is removed for it.
[[nodiscard]] std::string recording(const std::string& data, unsigned start);

} // namespace rtexec::supervisor
