#include "traces/analysis/gantt_windows.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::traces {
namespace {

constexpr std::size_t max_missed = 8;

/// Returns a window around a job, with half its response time on either side.
Window around(const JobBreakdown& job, const Analysis& analysis) {
  const Duration margin = job.response / 2;
  const std::string& task = analysis.tasks[job.job.task].setup.name;
  return {.title = "job " + std::to_string(job.job.number) + " of " + task +
                   (job.outcome == JobOutcome::in_time ? ", its longest" : ", missed"),
          .from = std::max(analysis.from, job.nominal - margin),
          .to = std::min(analysis.to, job.nominal + job.response + margin),
          .job = job.job};
}

/// Returns a window around the longest reaction, with a tenth of the reaction's length on either side.
Window around(const ChainAnalysis& chain, const Analysis& analysis) {
  const ChainPath& path = *chain.worst;
  const Duration margin = path.reaction / 10;
  return {.title = "the longest reaction of " + chain.setup.name,
          .from = std::max(analysis.from, path.event - margin),
          .to = std::min(analysis.to, path.event + path.reaction + margin),
          .job = {}};
}

/// Returns a window at the beginning of the recording. `part` is the window's share of the whole recording.
Window beginning(const Analysis& analysis, double part) {
  const auto length = static_cast<Duration::rep>(static_cast<double>((analysis.to - analysis.from).count()) * part);
  return {.title = "the beginning", .from = analysis.from, .to = analysis.from + Duration(length), .job = {}};
}

} // namespace

std::vector<Window> windows_of(const Analysis& analysis, std::uint64_t pieces) {
  if (pieces <= GanttCollector::max_whole)
    return {{.title = "the whole recording", .from = analysis.from, .to = analysis.to, .job = {}}};
  std::vector<Window> windows;
  for (const JobBreakdown& job : analysis.missed_jobs) {
    if (windows.size() == max_missed) break;
    windows.push_back(around(job, analysis));
  }
  for (const TaskAnalysis& task : analysis.tasks)
    if (task.worst && std::ranges::find(windows, task.worst->job, &Window::job) == windows.end())
      windows.push_back(around(*task.worst, analysis));
  for (const ChainAnalysis& chain : analysis.chains)
    if (chain.worst) windows.push_back(around(chain, analysis));
  windows.push_back(
      beginning(analysis, static_cast<double>(GanttCollector::max_in_window) / static_cast<double>(pieces)));
  return windows;
}

GanttCollector::GanttCollector(const std::vector<Window>& windows, Instant origin, std::size_t most)
    : most_(windows.size() > 1 ? max_in_window : most) {
  for (const Window& window : windows) {
    Gantt& gantt = gantts_.emplace_back();
    gantt.title = window.title;
    gantt.origin = origin;
    gantt.from = window.from;
    gantt.to = window.to;
  }
}

void GanttCollector::setup(const RunSetup& setup) {
  for (Gantt& gantt : gantts_) {
    const Gantt empty = empty_gantt(setup);
    gantt.lanes = empty.lanes;
    gantt.tasks = empty.tasks;
    gantt.memory_capacity = empty.memory_capacity;
  }
}

/// True if the picture may get another bar, mark or step. If not, cuts the picture off at `at`.
bool GanttCollector::room(Gantt& gantt, Instant at) const {
  if (gantt.bars.size() + gantt.marks.size() + gantt.memory.size() < most_) return true;
  gantt.to = std::max(gantt.from, std::min(gantt.to, at));
  return false;
}

void GanttCollector::bar(const GanttBar& bar) {
  for (Gantt& gantt : gantts_)
    if (bar.end > gantt.from && bar.begin < gantt.to && room(gantt, bar.begin)) gantt.bars.push_back(bar);
}

void GanttCollector::mark(const GanttMark& mark) {
  for (Gantt& gantt : gantts_)
    if (mark.at >= gantt.from && mark.at <= gantt.to && room(gantt, mark.at)) gantt.marks.push_back(mark);
}

void GanttCollector::memory(const GanttStep& step) {
  for (Gantt& gantt : gantts_) {
    if (step.at > gantt.to) continue;
    if (step.at <= gantt.from) gantt.memory.assign(1, {gantt.from, step.bytes}); // the window's initial value
    else if (room(gantt, step.at)) gantt.memory.push_back(step);
  }
}

std::vector<Gantt> GanttCollector::take() {
  for (Gantt& gantt : gantts_) { // room() may have reduced `to` after these pieces were added
    std::erase_if(gantt.bars, [&](const GanttBar& bar) { return bar.begin >= gantt.to; });
    std::erase_if(gantt.marks, [&](const GanttMark& mark) { return mark.at > gantt.to; });
    std::erase_if(gantt.memory, [&](const GanttStep& step) { return step.at > gantt.to; });
  }
  return std::move(gantts_);
}

} // namespace rtexec::traces
