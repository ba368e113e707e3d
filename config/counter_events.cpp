#include "config/counter_events.hpp"

namespace rtexec::config {

EventMeaning meaning_of(std::string_view event) {
  for (const std::string_view each : {"cpu-clock", "task-clock", "cycles", "instructions", "bus-cycles"})
    if (event == each) return EventMeaning::time;
  return event == "page-faults" || event == "context-switches" ? EventMeaning::other : EventMeaning::traffic;
}

} // namespace rtexec::config
