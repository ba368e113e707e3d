// Names of outcomes, culprits, bars and marks for the exports of an analysis.
#pragma once

#include "traces/analysis/analysis.hpp"
#include "traces/analysis/gantt.hpp"

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace rtexec::traces {

[[nodiscard]] std::string_view name(JobOutcome outcome);   // "in-time", "late", ...
[[nodiscard]] std::string_view name(Share::Where where);   // "core", "execution", ...
[[nodiscard]] std::string_view name(GanttBar::Kind kind);  // "response", "swap-in", ...
[[nodiscard]] std::string_view name(GanttMark::Kind kind); // "release", "deadline", ...
[[nodiscard]] std::string_view name(GanttLane::Kind kind); // "task", "copy-in", ...

/// Returns the time in UTC, to the second: "2025-03-01 12:34:56 UTC".
[[nodiscard]] std::string date_and_time(std::chrono::sys_time<Duration> at);

/// Returns the name of a task. Returns "task 3" for a task without a name: a recording whose start is missing may
/// contain such tasks.
[[nodiscard]] std::string task_name(const Analysis& analysis, std::uint32_t task);
[[nodiscard]] std::string task_name(std::span<const std::string> tasks, std::uint32_t task);
/// Returns the text of a bar or a mark, without its time: "front, job 17: swap-in of rear's chunk". `tasks` are the
/// names of the tasks.
[[nodiscard]] std::string label(std::span<const std::string> tasks, const GanttBar& bar);
[[nodiscard]] std::string label(std::span<const std::string> tasks, const GanttMark& mark);

} // namespace rtexec::traces
