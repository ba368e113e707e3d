#include "rtexec/studies/simulator/release_patterns.hpp"

#include "config/base/files.hpp"
#include "config/base/text.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace rtexec::simulator {
namespace {

using policies::JobId;

constexpr Instant never = Instant::max();
constexpr std::size_t max_record_bytes = std::size_t{1} << 30;
/// The maximum of a recorded execution time, which is also the maximum of a WCET
constexpr Duration longest_execution = std::chrono::hours(1);

/// Mixes several numbers into one random number (splitmix64). So a job's random numbers do not depend on the order of
/// the draws.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  std::uint64_t value = seed;
  for (const std::uint64_t each : {a, b}) {
    value += each + 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    value ^= value >> 31;
  }
  return value;
}

/// Converts random bits into a number from the interval [0, 1).
double share(std::uint64_t number) { return std::ldexp(static_cast<double>(number >> 11), -53); }

Duration part_of(Duration whole, double of) {
  return Duration(static_cast<Duration::rep>(of * static_cast<double>(whole.count())));
}

Duration uniform(Duration most, double least, std::uint64_t number) {
  const Duration min_time = part_of(most, least);
  return min_time + part_of(most - min_time + Duration(1), share(number));
}

// ---- the record of a run ----

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t comma = line.find(','); comma != line.npos; comma = line.find(',')) {
    fields.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  fields.push_back(line);
  return fields;
}

/// The positions of the columns that are read from a record.
struct Columns {
  std::size_t count = 0, task = 0, begin = 0, end = 0, outcome = 0;
  std::optional<std::size_t> executed; // absent in records of older versions
};

std::optional<Columns> columns_of(std::string_view header) {
  const std::vector<std::string_view> names = fields_of(header);
  const auto column = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  };
  Columns columns{
      names.size(), column("task"), column("device_begin_ns"), column("device_end_ns"), column("outcome"), {}};
  if (const auto executed = column("device_executed_ns"); executed < columns.count) columns.executed = executed;
  const bool complete = std::max({columns.task, columns.begin, columns.end, columns.outcome}) < columns.count;
  return complete ? std::optional(columns) : std::nullopt;
}

/// Returns the execution time of the device part in a row of the record.
Result<Duration> executed_in(const std::vector<std::string_view>& fields, const Columns& columns) {
  const auto begin = config::number<Duration::rep>(fields[columns.begin]);
  const auto end = config::number<Duration::rep>(fields[columns.end]);
  if (!begin || !end || *begin < 0 || *end < *begin)
    return fail(Errc::bad_input, "device_begin_ns and device_end_ns must be times in this order");
  const Duration passed(*end - *begin);
  if (passed > longest_execution)
    return fail(Errc::bad_input, "the device part took longer than " + to_string(longest_execution));
  if (!columns.executed) return passed;
  const auto executed = config::number<Duration::rep>(fields[*columns.executed]);
  if (!executed || *executed < 0 || Duration(*executed) > passed)
    return fail(Errc::bad_input, "device_executed_ns must be at most the time from device_begin_ns to device_end_ns");
  return Duration(*executed);
}

} // namespace

NextRelease listed_releases(const TaskSet& tasks) {
  if (std::ranges::none_of(tasks.tasks, [](const Task& task) { return task.releases.has_value(); })) return {};
  struct List {
    std::optional<std::vector<Duration>> releases;
    std::size_t next = 0;
  };
  std::vector<List> lists;
  for (const Task& task : tasks.tasks) lists.push_back({.releases = task.releases});
  return [lists = std::move(lists)](std::uint32_t task, Instant earliest) mutable {
    List& list = lists[task];
    if (!list.releases) return earliest;
    if (list.next == list.releases->size()) return never;
    return std::max(earliest, Instant{} + (*list.releases)[list.next++]);
  };
}

std::vector<bool> kept_grids(const TaskSet& tasks) {
  std::vector<bool> kept;
  for (const Task& task : tasks.tasks)
    kept.push_back(task.trigger == Trigger::timer && std::ranges::any_of(tasks.chains, [&](const Chain& chain) {
                     return std::ranges::find(chain.tasks, task.name) != chain.tasks.end();
                   }));
  return kept;
}

NextRelease sporadic_releases(const TaskSet& tasks, std::uint64_t seed) {
  std::vector<std::pair<Duration, std::uint64_t>> drawn; // of each task: its period, and the number of draws so far
  for (const Task& task : tasks.tasks) drawn.emplace_back(task.period, 0);
  return [drawn = std::move(drawn), on_grid = kept_grids(tasks), seed](std::uint32_t task, Instant earliest) mutable {
    if (on_grid[task]) return earliest;
    auto& [period, draws] = drawn[task];
    return earliest + part_of(period, share(mixed(seed, task, draws++)));
  };
}

ExecutionTime uniform_executions(const Plan& plan, double least, std::uint64_t seed) {
  std::vector<Wcet> wcets;
  for (const PlannedTask& task : plan.tasks) wcets.push_back(task.wcet);
  return [wcets = std::move(wcets), least, seed](JobId job, Part part) {
    return uniform(of(wcets[job.task], part), least,
                   mixed(seed, job.task, job.number * 3 + static_cast<std::uint64_t>(part)));
  };
}

CoRunExecution uniform_co_run_executions(const Plan& plan, double least, std::uint64_t seed) {
  std::vector<Duration> longest;
  for (const PlannedTask& task : plan.tasks) longest.push_back(task.co_run ? task.co_run->wcet : Duration(0));
  return [longest = std::move(longest), least, seed](JobId job, JobId) {
    return uniform(longest[job.task], least,
                   mixed(seed, job.task, job.number * 3 + static_cast<std::uint64_t>(Part::device)));
  };
}

Result<RecordedExecutions> read_executions(const std::filesystem::path& file, const TaskSet& tasks) {
  auto content = config::read_file(file, max_record_bytes);
  if (!content) return Unexpected(content.error());
  std::istringstream in(std::move(*content));
  std::string line;
  std::getline(in, line);
  const auto columns = columns_of(line);
  if (!columns)
    return fail(Errc::bad_input, file.string() +
                                     ":1: no columns task, device_begin_ns, device_end_ns and outcome; `rtexec run "
                                     "--jobs FILE.csv` writes such a file");
  RecordedExecutions recorded(tasks.tasks.size());
  for (std::size_t row = 2; std::getline(in, line); ++row) {
    const std::vector<std::string_view> fields = fields_of(line);
    const std::string where = file.string() + ":" + std::to_string(row) + ": ";
    if (fields.size() != columns->count)
      return fail(Errc::bad_input,
                  where + std::to_string(columns->count) + " fields are expected, as in the first line");
    const auto task = std::ranges::find(tasks.tasks, fields[columns->task], &Task::name);
    if (task == tasks.tasks.end()) continue;
    if (fields[columns->outcome] != "in-time" && fields[columns->outcome] != "late") continue;
    const auto executed = executed_in(fields, *columns);
    if (!executed) return fail(Errc::bad_input, where + executed.error().what);
    recorded[static_cast<std::size_t>(task - tasks.tasks.begin())].push_back(*executed);
  }
  for (std::size_t i = 0; i < recorded.size(); ++i)
    if (recorded[i].empty())
      return fail(Errc::bad_input,
                  file.string() + ": no job of task '" + tasks.tasks[i].name + "' that executed to its end");
  return recorded;
}

ExecutionTime recorded_executions(const Plan& plan, RecordedExecutions recorded, std::optional<std::uint64_t> seed) {
  std::vector<Wcet> wcets;
  for (const PlannedTask& task : plan.tasks) wcets.push_back(task.wcet);
  return [wcets = std::move(wcets), recorded = std::move(recorded), seed](JobId job, Part part) {
    if (part != Part::device) return of(wcets[job.task], part);
    const std::span of_task(recorded[job.task]);
    return of_task[(seed ? mixed(*seed, job.task, job.number) : job.number) % of_task.size()];
  };
}

} // namespace rtexec::simulator
