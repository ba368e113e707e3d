#include <rtexec/report.hpp>

#include <algorithm>

namespace rtexec {

bool ClockReport::steady() const noexcept {
  return limits.empty() && highest.hertz - lowest.hertz <= highest.hertz / 50;
}

bool Report::deadlines_kept() const {
  return std::ranges::all_of(
      tasks, [](const TaskReport& task) { return task.criticality == Criticality::best_effort || task.missed == 0; });
}

bool Report::bounds_kept() const {
  return std::ranges::all_of(tasks,
                             [](const TaskReport& task) { return !task.bound || task.response.max <= *task.bound; }) &&
         std::ranges::all_of(chains, [](const ChainReport& chain) { return chain.violations() == 0; });
}

std::string_view name(SchedulingClass::Kind value) noexcept {
  switch (value) {
  case SchedulingClass::Kind::other: return "OTHER";
  case SchedulingClass::Kind::fifo: return "FIFO";
  case SchedulingClass::Kind::deadline: return "DEADLINE";
  }
  return "?";
}

std::string to_string(const SchedulingClass& value) {
  std::string text(name(value.kind));
  if (value.kind == SchedulingClass::Kind::fifo) text += " " + std::to_string(value.priority);
  if (value.kind == SchedulingClass::Kind::deadline)
    text += " " + to_string(value.reservation.runtime) + "/" + to_string(value.reservation.window);
  return text;
}

std::string_view name(StopCause value) noexcept {
  switch (value) {
  case StopCause::none: return "";
  case StopCause::duration: return "duration";
  case StopCause::request: return "request";
  case StopCause::overrun: return "overrun";
  case StopCause::wcet_exceeded: return "WCET exceeded";
  case StopCause::device_fault: return "device fault";
  case StopCause::driver_fault: return "driver fault";
  }
  return "?";
}

std::string to_string(const Stop& value) {
  const std::string cause(name(value.cause));
  if (value.cause == StopCause::overrun) return cause + " of " + value.task;
  if (value.cause == StopCause::wcet_exceeded) return cause + " by " + value.task;
  if (value.cause == StopCause::device_fault) return cause + " in task '" + value.task + "'";
  return cause;
}

} // namespace rtexec
