// Lists the assumptions on which a plan's verdict depends, and the known facts about each assumption.
#include "hal/machine_files.hpp"
#include <rtexec/planning.hpp>
#include <rtexec/profile.hpp>
#include "policies/bounds/charges.hpp"
#include "rtexec/runtime/planning/origins.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

namespace rtexec {
namespace {

using Standing = Condition::Standing;

std::string whose(const ResolvedSet& set) { return set.machine.here ? "this machine" : "that machine"; }

/// Returns the date of the file's last change, like "2026-11-23", or an empty text if it is unknown.
std::string date_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file, error);
  if (error) return {};
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::file_clock::to_sys(written));
  std::tm parts{};
  char text[16];
  return ::localtime_r(&time, &parts) != nullptr && std::strftime(text, sizeof text, "%F", &parts) > 0 ? text : "";
}

std::string by_hand(std::size_t tasks, std::size_t all) {
  return "given by hand" +
         (tasks == all ? "" : " for " + std::to_string(tasks) + " of " + std::to_string(all) + " tasks");
}

std::string without_zeros(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + '0' : text;
}

bool below_observed(const ProfileEntry& entry) {
  return std::ranges::any_of(std::array{Part::before, Part::device, Part::after},
                             [&](Part part) { return entry.wcet.of(part) < entry.observed.of(part); });
}

/// Returns the known reasons why jobs may take longer than the times in `measured`. Each reason follows a semicolon.
std::string doubts(const std::vector<const ProfileEntry*>& measured) {
  std::string text;
  for (const ProfileEntry* entry : measured)
    if (below_observed(*entry)) text += "; a WCET of '" + entry->task + "' is below the longest measured time";
  std::set<std::string> refused;
  for (const ProfileEntry* entry : measured) refused.insert(entry->degraded.begin(), entry->degraded.end());
  for (const std::string& each : refused) text += "; measured in a degraded run: " + each.substr(0, each.find('\n'));
  return text;
}

Condition execution_times(const ResolvedSet& set, const Plan& plan) {
  const executive::Origins origins = executive::origins(set, plan);
  std::vector<const ProfileEntry*> measured;
  for (const auto& entry : origins.entries)
    if (entry) measured.push_back(&*entry);
  Condition condition{.supposed = "execution times hold", .standing = Standing::unknown, .known = {}};
  const std::size_t given = plan.tasks.size() - measured.size();
  if (measured.empty()) return condition.known = by_hand(given, given), condition;
  const bool same = origins.profile->machine == set.machine.name;
  const std::string date = date_of(set.tasks.executive.profile);
  const auto least = [&](auto member) {
    return (*std::ranges::min_element(measured, {}, [&](auto* e) { return e->*member; }))->*member;
  };
  condition.known = "measured on " + (same ? whose(set) : "another machine (" + origins.profile->machine + ")") +
                    (date.empty() ? "" : " on " + date) + " with margin " +
                    without_zeros(least(&ProfileEntry::margin)) + " from " +
                    std::to_string(least(&ProfileEntry::samples)) + " jobs";
  const std::string against = doubts(measured);
  condition.known += against;
  if (given > 0) condition.known += "; " + by_hand(given, plan.tasks.size());
  else condition.standing = same && against.empty() ? Standing::holds : Standing::against;
  return condition;
}

Condition class_and_memory(const ResolvedSet& set) {
  const bool reserved = policies::reserved(set.tasks);
  std::string refusals;
  for (const std::string& refusal :
       {reserved ? set.machine.no_deadline : set.machine.no_fifo, set.machine.no_memory_lock})
    if (!refusal.empty()) refusals += (refusals.empty() ? "" : "; ") + refusal.substr(0, refusal.find('\n'));
  return {.supposed = std::string(reserved ? "SCHED_DEADLINE" : "SCHED_FIFO") + " and locked memory",
          .standing = refusals.empty() ? Standing::holds : Standing::against,
          .known = refusals.empty() ? whose(set) + " grants them" : refusals};
}

/// Returns the cores that execute real-time parts, or the threads that feed the device.
std::vector<unsigned> cores_of(const ResolvedSet& set, const Plan& plan) {
  std::set<unsigned> cores{set.compute_core, set.service_core};
  for (const PlannedTask& task : plan.tasks) cores.insert(task.core);
  return {cores.begin(), cores.end()};
}

std::string list(const std::vector<Condition>& conditions, Standing standing) {
  std::string text;
  for (const Condition& each : conditions)
    if (each.standing == standing) text += (text.empty() ? "" : ", ") + each.known;
  return text;
}

Condition nothing_above(const ResolvedSet& set, const Plan& plan) {
  const auto& found = set.machine.disturbances;
  Condition condition{.supposed = "nothing preempts the executive on cores " + hal::core_list(cores_of(set, plan)),
                      .standing = Standing::holds,
                      .known = whose(set) + " shows nothing"};
  const std::string against = list(found, Standing::against), unknown = list(found, Standing::unknown);
  if (!unknown.empty()) condition = {condition.supposed, Standing::unknown, "not known: " + unknown};
  if (!against.empty())
    condition = {condition.supposed, Standing::against,
                 whose(set) + " has " + against + (unknown.empty() ? "" : "; " + condition.known)};
  if (found.empty())
    condition = {condition.supposed, Standing::unknown,
                 whose(set) + "'s file does not say; write it again with rtexec probe --json"};
  return condition;
}

Condition swap_costs(const ResolvedSet& set, const Plan& plan) {
  const SwapCostOptions& given = set.tasks.device.swap_cost;
  const bool by_hand =
      given.in_per_chunk || given.out_per_chunk || given.in_fixed || given.out_fixed || given.drop_per_chunk;
  return {.supposed = "swapping takes at most the charged costs",
          .standing = Standing::unknown,
          .known = readable(plan.swap->cost.in_per_chunk) + " in, " + readable(plan.swap->cost.out_per_chunk) +
                   " out a chunk, " + (by_hand ? "given by hand" : "as board '" + set.board.name + "' says")};
}

Condition rare_stops(const ResolvedSet& set) {
  const bool reserved = policies::reserved(set.tasks);
  return {.supposed =
              "the platform stalls for at most " + readable(set.board.platform_stall) + ", once in the span of a job",
          .standing = Standing::unknown,
          .known = "platform_stall, as board '" + set.board.name + "' says" +
                   (reserved ? "; no stall consumes runtime (the kernel counts stolen time)" : "")};
}

/// Returns the condition that the inputs of the first tasks of chains keep their assumed input delays. Returns nullopt
/// if no first task has an input delay.
std::optional<Condition> input_delays(const ResolvedSet& set) {
  std::string tasks;
  bool released = false; // true: a trigger instead of a timer releases at least one of the tasks
  for (const Task& task : set.tasks.tasks) {
    const auto begins = [&](const Chain& chain) { return chain.tasks.front() == task.name; };
    if (!task.input_delay || std::ranges::none_of(set.tasks.chains, begins)) continue;
    tasks += (tasks.empty() ? "'" : ", '") + task.name + "'";
    released = released || task.trigger != Trigger::timer;
  }
  if (tasks.empty()) return std::nullopt;
  return Condition{
      .supposed = std::string("input delays hold") + (released ? ", and samples are at least a period apart" : ""),
      .standing = Standing::unknown,
      .known = "given by hand for " + tasks};
}

} // namespace

std::vector<Condition> conditions(const ResolvedSet& set, const Plan& plan) {
  std::vector<Condition> all{execution_times(set, plan), class_and_memory(set), nothing_above(set, plan)};
  if (set.board.platform_stall > Duration(0)) all.push_back(rare_stops(set));
  if (plan.swap) all.push_back(swap_costs(set, plan));
  if (auto delays = input_delays(set)) all.push_back(std::move(*delays));
  return all;
}

} // namespace rtexec
