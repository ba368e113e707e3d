#include "rtexec/runtime/executive/requirements.hpp"

#include "config/base/text.hpp"
#include "hal/machine_files.hpp"
#include "rtexec/runtime/executive/run.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <sys/mman.h>

namespace rtexec::executive {
namespace {

/// Returns the missing cores, each with a text that names its users.
std::map<unsigned, std::string> missing_cores(const ResolvedSet& set, const Plan& plan) {
  std::map<unsigned, std::string> missing;
  const auto use = [&](unsigned core, const std::string& who) {
    if (std::ranges::find(set.machine.cores, core) == set.machine.cores.end())
      missing[core] += (missing[core].empty() ? "" : ", ") + who;
  };
  use(set.compute_core, "the compute engine of board '" + set.board.name + "'");
  use(set.service_core, "the scheduler and the copy engines of board '" + set.board.name + "'");
  for (const PlannedTask& task : plan.tasks) use(task.core, "task '" + task.name + "'");
  return missing;
}

bool withheld(const ResolvedSet& set, unsigned core) {
  return std::ranges::find(set.machine.withheld, core) != set.machine.withheld.end();
}

std::string list(const std::map<unsigned, std::string>& cores) {
  std::vector<unsigned> numbers;
  for (const auto& [core, who] : cores) numbers.push_back(core);
  return (numbers.size() == 1 ? "core " : "cores ") + hal::core_list(numbers);
}

constexpr const char* keepers = "taskset, a cpuset or a container withholds it";

} // namespace

Requirement given(std::string subject, std::string state) {
  return {.subject = std::move(subject), .state = std::move(state), .refused = {}};
}

Requirement refused(std::string subject, const Error& error) {
  const auto line = std::min(error.what.find('\n'), error.what.size());
  return {.subject = std::move(subject),
          .state = error.what.substr(0, line),
          .refused = error.code,
          .advice = error.what.substr(std::min(line + 1, error.what.size()))};
}

Requirement indispensable(Requirement need) {
  need.indispensable = true;
  return need;
}

std::vector<Requirement> absent_cores(const ResolvedSet& set, const Plan& plan) {
  std::vector<Requirement> needs;
  const std::string there = hal::core_list(set.machine.cores);
  for (const auto& [core, who] : missing_cores(set, plan)) {
    const std::string name = "core " + std::to_string(core);
    Requirement need{.subject = name, .state = who + ": ", .refused = Errc::refused};
    if (withheld(set, core))
      need.state += "this process may not use " + name + ", only cores " + there + ": " + keepers;
    else need.state += std::string(set.machine.here ? "this" : "that") + " machine has cores " + there + " only";
    need.advice = "Choose one of these cores in the task set, or in the board's file (compute_core, service_core).";
    need.instead = "core " + std::to_string(set.machine.cores.front()) + " is used instead of " + name;
    needs.push_back(std::move(need));
  }
  return needs;
}

std::string other_machine(const ResolvedSet& set, const Plan& plan) {
  const auto missing = missing_cores(set, plan);
  if (missing.empty()) return {};
  const bool kept = std::ranges::all_of(missing, [&](const auto& each) { return withheld(set, each.first); });
  const std::string there = hal::core_list(set.machine.cores);
  if (kept) return "a process with " + list(missing) + "; this process may use only cores " + there;
  return "a machine with " + list(missing) + "; " + (set.machine.here ? "this" : "that") + " one has cores " + there;
}

Result<> refusal_of(const std::vector<Requirement>& needs, bool allow_degraded) {
  std::string lines;
  std::optional<Errc> code;
  bool acceptable = true;
  for (const Requirement& need : needs) {
    if (!need.refused || (allow_degraded && !need.indispensable)) continue;
    config::add_line(lines, need.subject + ": " + need.state);
    for (const auto line : config::parts(need.advice, '\n')) config::add_line(lines, "  " + std::string(line));
    if (!code) code = need.refused;
    acceptable = acceptable && !need.indispensable;
  }
  if (!code) return {};
  if (acceptable) config::add_line(lines, "Or run without a promise: allow_degraded = true in [executive].");
  return fail(*code, lines);
}

std::vector<std::string> degradations(const std::vector<Requirement>& needs) {
  std::vector<std::string> lines;
  for (const Requirement& need : needs)
    if (need.refused) lines.push_back((need.instead.empty() ? need.subject : need.instead) + ": " + need.state);
  return lines;
}

Result<Inquiry> inquire(TaskSet tasks) {
  Setup setup;
  setup.inquires = true;
  const auto prepared = Run::prepare(std::move(tasks), std::move(setup));
  if (!prepared) return Unexpected(prepared.error());
  Run& run = **prepared;
  Inquiry inquiry{.planned = {static_cast<const ResolvedSet&>(run.set_), run.plan_}, .startable = {}, .needs = {}};
  inquiry.startable = run.startable();
  if (const auto board = right_board(run.set_); board && board->refused && !run.set_.tasks.executive.allow_degraded) {
    inquiry.not_asked = board->state;
    inquiry.needs.push_back(*board);
  } else {
    Placement placement;
    inquiry.needs = run.ask(placement);
  }
  std::ranges::move(run.acquire_channels(), std::back_inserter(inquiry.needs));
  // Undoes hal::lock_memory(), because later allocations would otherwise count against the limit of locked memory.
  static_cast<void>(::munlockall());
  return inquiry;
}

Result<std::vector<Requirement>> find_needs(TaskSet tasks) {
  auto inquiry = inquire(std::move(tasks));
  if (!inquiry) return Unexpected(inquiry.error());
  if (!inquiry->startable) inquiry->needs.push_back(refused("promise", inquiry->startable.error()));
  return std::move(inquiry->needs);
}

} // namespace rtexec::executive
