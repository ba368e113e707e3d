// Fills a RunSetup from the set-up events of a trace.
#pragma once

#include "traces/events.hpp"
#include "traces/reading/recorded_setup.hpp"

#include <cstdint>

namespace rtexec::traces {

class SetupDecoder {
 public:
  explicit SetupDecoder(RunSetup& setup) : setup_(setup) {}

  // One overload for each event of the set-up.
#define RTEXEC_SETUP_EVENT(event_, ...) void take(const event::event_& event);
#define RTEXEC_EVENT(...)
#include "traces/events.inc"

 private:
  /// Returns null if there are too many tasks, or too many buffers of a task.
  [[nodiscard]] TaskSetup* task(std::uint32_t index);
  [[nodiscard]] ContentsSetup* contents(std::uint32_t task, std::uint32_t buffer);

  RunSetup& setup_;
};

} // namespace rtexec::traces
