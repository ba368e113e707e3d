// The meaning of the generic events of counters for one core.
#pragma once

#include <string_view>

namespace rtexec::config {

enum class EventMeaning {
  traffic, // memory traffic; also any event that is not known by name
  time,    // counts while the core executes anything: a thread that spins causes as many as any other
  other,   // occurs as the program chooses
};
[[nodiscard]] EventMeaning meaning_of(std::string_view event);

} // namespace rtexec::config
