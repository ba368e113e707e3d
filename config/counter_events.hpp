// The meaning of the generic events that count on one core.
#pragma once

#include <string_view>

namespace rtexec::config {

enum class EventMeaning {
  traffic, // memory traffic; also used for any event with an unknown name
  time,    // counts time: a spinning thread causes as many events as any other thread
  other,   // neither memory traffic nor time: page faults and context switches, whose number depends on the program
};
[[nodiscard]] EventMeaning meaning_of(std::string_view event);

} // namespace rtexec::config
