// What the generic events of counters tell of a core.
#pragma once

#include <string_view>

namespace rtexec::config {

enum class EventMeaning {
  traffic, // memory traffic; also of every event that is not known by name
  time,    // passes while the core executes anything: a thread that spins makes as many as any other
  other,   // happens at the program's will
};
[[nodiscard]] EventMeaning meaning_of(std::string_view event);

} // namespace rtexec::config
