#include "rtexec/command/status_view.hpp"

#include "rtexec/command/text.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace rtexec::command {

using executive::RunStatus;
using executive::Snapshot;
using executive::TaskStatus;
using nlohmann::json;

namespace {

constexpr const char* bold = "\033[1m";
constexpr const char* red = "\033[31m";
constexpr const char* plain = "\033[0m";

double share(Duration part, Duration whole) {
  return whole > Duration(0) ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

Bytes per_second(Bytes moved, Duration in) {
  return {in > Duration(0)
              ? static_cast<std::uint64_t>(static_cast<double>(moved.count) / (static_cast<double>(in.count()) * 1e-9))
              : 0};
}

double device_share(const Snapshot& snapshot) {
  Duration all{0};
  for (const TaskStatus& task : snapshot.tasks) all += task.recent.on_device;
  return share(all, snapshot.run.recently);
}

std::vector<TaskStatus> ordered(const Snapshot& snapshot, TaskOrder order) {
  std::vector<TaskStatus> tasks = snapshot.tasks;
  const auto by = [&](auto key) { std::ranges::stable_sort(tasks, std::greater<>(), key); };
  if (order == TaskOrder::by_misses) by([](const TaskStatus& task) { return task.total.missed; });
  if (order == TaskOrder::by_closeness)
    by([](const TaskStatus& task) { return share(task.max_response, task.deadline); });
  if (order == TaskOrder::by_device) by([](const TaskStatus& task) { return task.recent.on_device; });
  return tasks;
}

const char* sorted(TaskOrder order) {
  switch (order) {
  case TaskOrder::as_listed: return "as listed";
  case TaskOrder::by_misses: return "by misses";
  case TaskOrder::by_closeness: return "by max/deadline";
  case TaskOrder::by_device: return "by use of the device";
  }
  std::unreachable();
}

/// What is told of the run beside its tasks.
void print_run(std::ostream& out, const Snapshot& snapshot, unsigned process) {
  const RunStatus& run = snapshot.run;
  const std::string file = run.task_set.text(), policy = run.swap_policy.text();
  out << (file.empty() ? "A task set without a file" : file) << ", process " << process << ": " << readable(run.elapsed)
      << (run.planned > Duration(0) ? " of " + readable(run.planned) : "") << ", "
      << (run.proved != 0 ? "promised" : "not proved, nothing is promised") << '\n';
  out << "Device " << run.device.text() << ": " << percent(device_share(snapshot)) << " busy, " << readable(run.used)
      << " in use, demand " << readable(run.demand) << ", capacity " << readable(run.capacity) << "; order "
      << run.order.text() << "; core " << run.compute_core << " computes, core " << run.service_core << " schedules\n";
  if (!policy.empty())
    out << "Swapped (" << policy << "): " << readable(run.swapped.in) << " in, " << readable(run.swapped.out)
        << " out; " << readable(per_second(run.swapped_recently.in, run.recently)) << "/s in, "
        << readable(per_second(run.swapped_recently.out, run.recently)) << "/s out\n";
}

Table table_of(const std::vector<TaskStatus>& tasks, const RunStatus& run) {
  const auto count = [](std::uint64_t number) { return std::to_string(number); };
  Table table({"task",         "now",     "released", "completed",  "missed",
               "recently",     "skipped", "aborted",  "failed",     "response last",
               "p50",          "p99",     "max",      "bound",      "deadline",
               "max/deadline", "core",    "core use", "device use", "released late by",
               "period"});
  for (const TaskStatus& task : tasks)
    table.add({task.name.text(),
               executive::describe(task.state),
               count(task.released),
               count(task.completed),
               count(task.total.missed),
               count(task.recent.missed),
               count(task.skipped),
               count(task.aborted),
               count(task.failed),
               readable(task.last_response),
               readable(task.p50_response),
               readable(task.p99_response),
               readable(task.max_response),
               task.bound > Duration(0) ? readable(task.bound) : "-",
               readable(task.deadline),
               bar(task.max_response, task.deadline),
               count(task.core),
               percent(share(task.recent.on_core, run.recently)),
               percent(share(task.recent.on_device, run.recently)),
               readable(task.max_release_latency),
               readable(task.period)});
  return table;
}

/// The header in bold, and tasks that missed in red. Whole lines, since the table counts what it pads.
std::string coloured(const std::string& table, const std::vector<TaskStatus>& tasks) {
  std::istringstream lines(table);
  std::ostringstream out;
  std::string line;
  std::getline(lines, line);
  out << bold << line << plain << '\n';
  for (std::size_t i = 0; i < tasks.size() && std::getline(lines, line); ++i)
    out << (tasks[i].total.missed > 0 ? red + line + plain : line) << '\n';
  return out.str();
}

json activity(const executive::TaskActivity& activity, Duration over) {
  return {{"missed", activity.missed},
          {"on_core_ns", activity.on_core.count()},
          {"on_device_ns", activity.on_device.count()},
          {"core_share", share(activity.on_core, over)},
          {"device_share", share(activity.on_device, over)}};
}

json to_json(const TaskStatus& task, const RunStatus& run) {
  return {{"name", task.name.text()},
          {"state", executive::describe(task.state)},
          {"period_ns", task.period.count()},
          {"deadline_ns", task.deadline.count()},
          {"response_bound_ns", task.bound > Duration(0) ? json(task.bound.count()) : json(nullptr)},
          {"core", task.core},
          {"released", task.released},
          {"completed", task.completed},
          {"missed", task.total.missed},
          {"skipped", task.skipped},
          {"aborted", task.aborted},
          {"failed", task.failed},
          {"response_ns",
           {{"last", task.last_response.count()},
            {"p50", task.p50_response.count()},
            {"p99", task.p99_response.count()},
            {"max", task.max_response.count()}}},
          {"release_latency_ns", {{"max", task.max_release_latency.count()}}},
          {"total", activity(task.total, run.elapsed)},
          {"recent", activity(task.recent, run.recently)}};
}

json lines_of(const std::string& text) {
  json lines = json::array();
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

} // namespace

TaskOrder next(TaskOrder order) {
  return order == TaskOrder::by_device ? TaskOrder::as_listed : static_cast<TaskOrder>(static_cast<int>(order) + 1);
}

std::string view(const Snapshot& snapshot, unsigned process, TaskOrder order, bool colours) {
  const RunStatus& run = snapshot.run;
  const std::vector<TaskStatus> tasks = ordered(snapshot, order);
  std::ostringstream out, table;
  print_run(out, snapshot, process);
  table_of(tasks, run).print(table);
  out << (colours ? coloured(table.str(), tasks) : table.str());
  out << "Recent figures and shares are of the last " << readable(run.recently) << "; tasks " << sorted(order) << '\n';
  std::istringstream degraded(run.degraded.text());
  for (std::string line; std::getline(degraded, line);) out << "Degraded, the promise does not hold: " << line << '\n';
  return out.str();
}

json to_json(const Snapshot& snapshot, unsigned process) {
  const RunStatus& run = snapshot.run;
  const auto text = [](const auto& value) { return value.text().empty() ? json(nullptr) : json(value.text()); };
  const auto moved = [](const executive::SwapActivity& swap) {
    return json{{"in_bytes", swap.in.count}, {"out_bytes", swap.out.count}};
  };
  json tasks = json::array();
  for (const TaskStatus& task : snapshot.tasks) tasks.push_back(to_json(task, run));
  return {{"process", process},
          {"task_set", text(run.task_set)},
          {"verdict", run.proved != 0 ? "proved" : "not proved"},
          {"order", run.order.text()},
          {"swap_policy", text(run.swap_policy)},
          {"elapsed_ns", run.elapsed.count()},
          {"duration_ns", run.planned > Duration(0) ? json(run.planned.count()) : json(nullptr)},
          {"recently_ns", run.recently.count()},
          {"written_ns", run.written.time_since_epoch().count()},
          {"writes", run.writes},
          {"ended", run.ended != 0},
          {"stopped_by", text(run.stopped_by)},
          {"device",
           {{"name", run.device.text()},
            {"share", device_share(snapshot)},
            {"used_bytes", run.used.count},
            {"context_bytes", run.context.count},
            {"demand_bytes", run.demand.count},
            {"capacity_bytes", run.capacity.count},
            {"chunk_bytes", run.chunk.count},
            {"compute_core", run.compute_core},
            {"service_core", run.service_core}}},
          {"swap", {{"total", moved(run.swapped)}, {"recent", moved(run.swapped_recently)}}},
          {"tasks", tasks},
          {"degraded", lines_of(run.degraded.text())}};
}

} // namespace rtexec::command
