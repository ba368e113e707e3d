#include "traces/analysis/gantt.hpp"

#include <algorithm>
#include <set>

namespace rtexec::traces {

std::vector<GanttLane> lanes_of(const RunSetup& setup) {
  std::set<unsigned> cores = setup.regulated_cores;
  for (const TaskSetup& task : setup.tasks) cores.insert(task.core);
  std::vector<GanttLane> lanes;
  for (std::uint32_t i = 0; i < setup.tasks.size(); ++i)
    lanes.push_back({GanttLane::Kind::task, i, setup.tasks[i].name});
  for (const unsigned core : cores) lanes.push_back({GanttLane::Kind::core, core, "core " + std::to_string(core)});
  lanes.push_back({GanttLane::Kind::device, 0, "device"});
  if (setup.co_runs()) lanes.push_back({GanttLane::Kind::device, 1, "beside"});
  if (setup.swap || std::ranges::any_of(setup.tasks, &TaskSetup::was_prefetched))
    lanes.push_back({GanttLane::Kind::copy_in, 0, "copy in"});
  if (setup.swap) lanes.push_back({GanttLane::Kind::copy_out, 0, "copy out"});
  return lanes;
}

Gantt empty_gantt(const RunSetup& setup) {
  Gantt gantt;
  gantt.lanes = lanes_of(setup);
  for (const TaskSetup& task : setup.tasks) gantt.tasks.push_back(task.name);
  if (setup.swap) gantt.memory_capacity = setup.swap->frames * setup.swap->chunk.count;
  return gantt;
}

} // namespace rtexec::traces
