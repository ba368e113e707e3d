// The meaning of the generic events that count on one core.
#pragma once

#include <string_view>

namespace rtexec::config {

enum class EventMeaning {
  traffic, // memory traffic; also any event that is not known by name
  time,    // counts while the core executes anything: a spinning thread causes as many as any other
  other,   // occurs as often as the program chooses
};
[[nodiscard]] EventMeaning meaning_of(std::string_view event);

} // namespace rtexec::config
