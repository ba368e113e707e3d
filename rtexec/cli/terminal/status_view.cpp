#include "rtexec/cli/terminal/status_view.hpp"

#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/runtime/json/plan_json.hpp"

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

bool promised(const RunStatus& run) { return run.proved != 0 && run.degraded.text().empty(); }

std::string promise(const RunStatus& run) {
  if (promised(run)) return "promised";
  return run.proved == 0 ? "not proved, no deadline is promised" : "degraded, no deadline is promised";
}

struct Paragraph {
  Tone tone;
  std::string text;
};

/// Returns the paragraphs about the run that are shown above the tasks, the most important first.
std::vector<Paragraph> above(const Snapshot& snapshot, unsigned process) {
  const RunStatus& run = snapshot.run;
  const std::string file = run.task_set.text(), policy = run.swap_policy.text();
  std::vector<Paragraph> result;
  result.push_back({promised(run) ? Tone::good : Tone::warning,
                    (file.empty() ? "A task set without a file" : file) + ", process " + std::to_string(process) +
                        ": " + readable(run.elapsed) +
                        (run.planned > Duration(0) ? " of " + readable(run.planned) : "") + ", " + promise(run)});
  std::istringstream degraded(run.degraded.text());
  for (std::string line; std::getline(degraded, line);)
    result.push_back({Tone::warning, "Degraded, the promise does not hold: " + line});
  result.push_back({Tone::plain, "Device " + run.device.text() + ": " + percent(device_share(snapshot)) + " busy, " +
                                     readable(run.used) + " in use, demand " + readable(run.demand) + ", capacity " +
                                     readable(run.capacity) + "; order " + run.order.text() + "; core " +
                                     std::to_string(run.compute_core) + " computes, core " +
                                     std::to_string(run.service_core) + " schedules"});
  if (!policy.empty())
    result.push_back({Tone::plain, "Swapped (" + policy + "): " + readable(run.swapped.in) + " in, " +
                                       readable(run.swapped.out) + " out; " +
                                       readable(per_second(run.swapped_recently.in, run.recently)) + "/s in, " +
                                       readable(per_second(run.swapped_recently.out, run.recently)) + "/s out"});
  return result;
}

std::string below(const RunStatus& run, TaskOrder order) {
  return std::string("Tasks ") + sorted(order) + "; response: the longest; recent figures and shares: of the last " +
         readable(run.recently);
}

/// Returns complete paragraphs if all paragraphs fit into `room`. Otherwise returns only the first line of each
/// paragraph, for as many paragraphs as fit.
std::vector<Paragraph> fitted(const std::vector<Paragraph>& paragraphs, report::Room room) {
  std::vector<Paragraph> whole, cut;
  for (const Paragraph& each : paragraphs) {
    for (std::string& line : report::wrapped(each.text, room.columns)) whole.push_back({each.tone, std::move(line)});
    if (cut.size() < room.lines) cut.push_back({each.tone, report::cut(each.text, room.columns)});
  }
  return whole.size() <= room.lines ? whole : cut;
}

/// A column of the table. The columns are listed in the order of importance, because a narrow terminal shows only the
/// first columns.
struct Column {
  const char* title;
  std::string (*cell)(const TaskStatus&, const RunStatus&);
};
constexpr Column task_columns[] = {
    {"task", [](const TaskStatus& task, const RunStatus&) { return task.name.text(); }},
    {"missed", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.total.missed); }},
    {"response", [](const TaskStatus& task, const RunStatus&) { return readable(task.max_response); }},
    {"deadline", [](const TaskStatus& task, const RunStatus&) { return readable(task.deadline); }},
    {"max/deadline", [](const TaskStatus& task, const RunStatus&) { return bar(task.max_response, task.deadline); }},
    {"> WCET", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.above_wcet.all()); }},
    {"now", [](const TaskStatus& task, const RunStatus&) { return std::string(executive::describe(task.state)); }},
    {"bound", [](const TaskStatus& task,
                 const RunStatus&) { return task.bound > Duration(0) ? readable(task.bound) : std::string("-"); }},
    {"last", [](const TaskStatus& task, const RunStatus&) { return readable(task.last_response); }},
    {"p50", [](const TaskStatus& task, const RunStatus&) { return readable(task.p50_response); }},
    {"p99", [](const TaskStatus& task, const RunStatus&) { return readable(task.p99_response); }},
    {"released", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.released); }},
    {"completed", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.completed); }},
    {"skipped", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.skipped); }},
    {"aborted", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.aborted); }},
    {"failed", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.failed); }},
    {"paired", [](const TaskStatus& task,
                  const RunStatus&) { return task.may_pair != 0 ? std::to_string(task.paired) : std::string("-"); }},
    {"device use",
     [](const TaskStatus& task, const RunStatus& run) { return percent(share(task.recent.on_device, run.recently)); }},
    {"missed recently", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.recent.missed); }},
    {"core", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.core); }},
    {"core use",
     [](const TaskStatus& task, const RunStatus& run) { return percent(share(task.recent.on_core, run.recently)); }},
    {"released late by", [](const TaskStatus& task, const RunStatus&) { return readable(task.max_release_latency); }},
    {"sampled before by",
     [](const TaskStatus& task, const RunStatus&) {
       return task.input_delays > 0 ? readable(task.max_input_delay) : std::string("-");
     }},
    {"> input_delay", [](const TaskStatus& task, const RunStatus&) { return std::to_string(task.above_input_delay); }},
    {"period", [](const TaskStatus& task, const RunStatus&) { return readable(task.period); }},
};

Table table_of(const std::vector<TaskStatus>& tasks, const RunStatus& run) {
  std::vector<std::string> titles;
  for (const Column& column : task_columns) titles.emplace_back(column.title);
  Table table(std::move(titles));
  for (const TaskStatus& task : tasks) {
    std::vector<std::string> cells;
    for (const Column& column : task_columns) cells.push_back(column.cell(task, run));
    table.add(std::move(cells), tone_of(task.total.missed, task.above_wcet));
  }
  return table;
}

std::vector<Reactions> reactions_of(const std::vector<executive::ChainStatus>& chains) {
  std::vector<Reactions> all;
  for (const executive::ChainStatus& chain : chains)
    all.push_back({.chain = chain.name.text(),
                   .longest = chain.longest,
                   .bound = chain.bound > Duration(0) ? std::optional(chain.bound) : std::nullopt,
                   .count = chain.reactions,
                   .above = chain.above});
  return all;
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
          {"paired", task.may_pair != 0 ? json(task.paired) : json(nullptr)},
          {"above_wcet", rtexec::to_json(task.above_wcet)},
          {"response_ns",
           {{"last", task.last_response.count()},
            {"p50", task.p50_response.count()},
            {"p99", task.p99_response.count()},
            {"max", task.max_response.count()}}},
          {"release_latency_ns", {{"max", task.max_release_latency.count()}}},
          {"input_delay_ns",
           {{"max", task.input_delays > 0 ? json(task.max_input_delay.count()) : json(nullptr)},
            {"count", task.input_delays},
            {"above_bound", task.above_input_delay}}},
          {"total", activity(task.total, run.elapsed)},
          {"recent", activity(task.recent, run.recently)}};
}

json to_json(const executive::ChainStatus& chain) {
  return {{"name", chain.name.text()},
          {"reactions", chain.reactions},
          {"above_bound", chain.above},
          {"reaction_ns",
           {{"max", chain.longest.count()},
            {"bound", chain.bound > Duration(0) ? json(chain.bound.count()) : json(nullptr)}}}};
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

std::string view(const Snapshot& snapshot, unsigned process, TaskOrder order, report::Room room, bool colours) {
  const RunStatus& run = snapshot.run;
  const std::vector<TaskStatus> tasks = ordered(snapshot, order);
  room.lines = std::max<std::size_t>(room.lines, 4); // at least one line of each part, and two lines of the table
  const std::size_t table = std::min(tasks.size() + 1, room.lines / 2 + 1);
  const auto head = fitted(above(snapshot, process), {.columns = room.columns, .lines = room.lines - table - 1});
  std::ostringstream out;
  report::use_colours(out, colours);
  for (const auto& [tone, line] : head) out << Toned{tone, line} << '\n';
  room.lines -= head.size() + 1;
  table_of(tasks, run).print(out, room);
  print_below(out, reactions_of(snapshot.chains), tasks.size(), room);
  out << report::cut(below(run, order), room.columns) << '\n';
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
  json chains = json::array();
  for (const executive::ChainStatus& chain : snapshot.chains) chains.push_back(to_json(chain));
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
          {"chains", chains},
          {"degraded", lines_of(run.degraded.text())}};
}

} // namespace rtexec::command
