#include "traces/report/export_names.hpp"

#include <array>
#include <cstddef>
#include <ctime>

namespace rtexec::traces {
namespace {

template <class Enum, std::size_t N> std::string_view of(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? names[index] : "unknown";
}

std::string job_name(std::span<const std::string> tasks, policies::JobId job) {
  return task_name(tasks, job.task) + ", job " + std::to_string(job.number);
}

std::string buffer_name(std::span<const std::string> tasks, const GanttBar& bar) {
  return task_name(tasks, bar.job.task) + ", buffer " + std::to_string(bar.owner);
}

} // namespace

std::string_view name(JobOutcome outcome) {
  static constexpr std::array<std::string_view, 4> names{"in-time", "late", "failed", "aborted"};
  return of(names, outcome);
}

std::string_view name(Share::Where where) {
  static constexpr std::array<std::string_view, 4> names{"core", "execution", "swap-in", "swap-out"};
  return of(names, where);
}

std::string_view name(GanttBar::Kind kind) {
  static constexpr std::array<std::string_view, 12> names{"response", "before",         "device",    "after",
                                                          "swap-in",  "swap-out",       "throttled", "preempted",
                                                          "load",     "first-contents", "prefetch",  "make"};
  return of(names, kind);
}

std::string_view name(GanttMark::Kind kind) {
  static constexpr std::array<std::string_view, 4> names{"release", "deadline", "miss", "dropped"};
  return of(names, kind);
}

std::string_view name(GanttLane::Kind kind) {
  static constexpr std::array<std::string_view, 5> names{"task", "core", "device", "copy-in", "copy-out"};
  return of(names, kind);
}

std::string date_and_time(std::chrono::sys_time<Duration> at) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  std::tm parts{};
  char text[64];
  if (!::gmtime_r(&seconds, &parts)) return {};
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

std::string task_name(const Analysis& analysis, std::uint32_t task) {
  return task < analysis.tasks.size() ? analysis.tasks[task].setup.name : "task " + std::to_string(task);
}

std::string task_name(std::span<const std::string> tasks, std::uint32_t task) {
  return task < tasks.size() ? tasks[task] : "task " + std::to_string(task);
}

std::string label(std::span<const std::string> tasks, const GanttBar& bar) {
  using enum GanttBar::Kind;
  const std::string job = job_name(tasks, bar.job);
  switch (bar.kind) {
  case response: return job + ": response";
  case before: return job + ": before the device";
  case device: return job + ": on the device";
  case after: return job + ": after the device";
  case swap_in:
  case swap_out: return job + ": " + std::string(name(bar.kind)) + " of " + task_name(tasks, bar.owner) + "'s chunk";
  case throttled: return "memory bandwidth used up: throttled";
  case preempted: return job + ": preempted on the device";
  case load: return task_name(tasks, bar.job.task) + ": loaded";
  case contents: return buffer_name(tasks, bar) + ": first contents";
  case prefetch:
  case make:
    return buffer_name(tasks, bar) + ", tile " + std::to_string(bar.job.number) + ": " + std::string(name(bar.kind));
  }
  return job;
}

std::string label(std::span<const std::string> tasks, const GanttMark& mark) {
  using enum GanttMark::Kind;
  const std::string job = job_name(tasks, mark.job);
  switch (mark.kind) {
  case release: return "release of " + job;
  case deadline: return "deadline of " + job;
  case miss: return "DEADLINE MISSED: " + job;
  case dropped: return "release dropped, instead of " + job;
  }
  return job;
}

} // namespace rtexec::traces
