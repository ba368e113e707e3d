#include "rtexec/runtime/planning/memory_choice.hpp"

#include "config/memory_policy.hpp"
#include "config/names.hpp"
#include "policies/admission/memory_policies.hpp"
#include "rtexec/runtime/channels/connect.hpp"
#include "tasks/make/make_workload.hpp"

#include <algorithm>

namespace rtexec::executive {

namespace {

using policies::MeasuredPolicy;

/// The measured memory policies of one task, and a workload made for each policy. All vectors have the same order.
struct Candidates {
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<MeasuredPolicy> measured;
};

/// Returns true if `entry` was measured with this workload, its inputs and links. In this case, applies the measured
/// tuning to the workload.
Result<bool> measured_with(const LoadedSet& set, std::size_t index, Workload& workload, const ProfileEntry& entry) {
  if (entry.workload != with_tuning(channels::fingerprint(set.tasks, index, workload, set.links), entry.tuning))
    return false;
  if (entry.tuning.empty()) return true;
  if (const auto used = workload.use(entry.tuning); !used) return Unexpected(used.error());
  return true;
}

/// Returns the workload's demand plus the memory of its linked outputs.
MemoryDemand memory_with_links(const LoadedSet& set, std::size_t index, const Workload& workload) {
  MemoryDemand memory = workload.memory();
  for (const channels::DeviceLink& link : set.links)
    if (link.producer == index) memory.fixed += link.latest->total_size();
  return memory;
}

MeasuredPolicy measured_of(Task task, MemoryPolicy policy, const MemoryDemand& memory, const ProfileEntry* entry) {
  task.memory_policy = policy;
  if (!task.wcet) fill(task, *entry);
  return {policy, memory, *task.wcet, task.co_run_wcet, task.mapping_idle};
}

/// Adds the profile's measurement of the task at `index` under `policy`, with a workload made for that policy. Adds
/// nothing if the entry is missing or stale.
Result<> add_candidate(Candidates& found, const LoadedSet& set, std::size_t index, MemoryPolicy policy) {
  Task task = set.tasks.tasks[index];
  task.memory_policy = policy;
  const ProfileEntry* const entry = entry_of(*set.profile, task.name, policy);
  if (entry == nullptr) return {};
  auto made = tasks::make_workload(task, set.board.device);
  if (!made) return Unexpected(made.error());
  channels::tell_links(**made, index, set.links);
  const auto measured = measured_with(set, index, **made, *entry);
  if (!measured) return Unexpected(measured.error());
  if (!*measured) return {};
  found.measured.push_back(measured_of(task, policy, memory_with_links(set, index, **made), entry));
  found.workloads.push_back(std::move(*made));
  return {};
}

Result<Candidates> candidates_of(const LoadedSet& set, std::size_t index) {
  const Task& task = set.tasks.tasks[index];
  Candidates found;
  for (const MemoryPolicy policy : open_policies(task, set.board))
    if (const auto added = add_candidate(found, set, index, policy); !added)
      return fail(added.error().code, "task '" + task.name + "': " + added.error().what);
  return found;
}

/// Returns a list with the measurement of a task whose policy is not open. The list is empty if the measurement is
/// missing or stale.
std::vector<MeasuredPolicy> as_it_is(const LoadedSet& set, std::size_t index) {
  const Task& task = set.tasks.tasks[index];
  Workload& workload = *set.workloads[index];
  const MemoryPolicy policy = config::in_force(task.memory_policy);
  const ProfileEntry* const entry = entry_of(*set.profile, task.name, policy);
  const bool measured = entry != nullptr && measured_with(set, index, workload, *entry).value_or(false);
  if (!task.wcet && !measured) return {};
  return {measured_of(task, policy, memory_with_links(set, index, workload), entry)};
}

// ---- why ----

Bytes memory_of(const MeasuredPolicy& each, const Board& board) {
  return each.memory.on_device() + (board.unified_memory ? each.memory.host : Bytes{0});
}

Duration time_of(const MeasuredPolicy& each) { return each.wcet.before + each.wcet.device + each.wcet.after; }

/// Returns the reason for a chosen policy, like "M: 12 MiB and 2.1 ms a job; 24 MiB and 1.9 ms under D; slack 3.1 ms"
std::string reason(std::span<const MeasuredPolicy> measured, std::size_t chosen, const Plan& plan, const Board& board) {
  const auto costs = [&](const MeasuredPolicy& each) {
    return readable(memory_of(each, board)) + " and " + readable(time_of(each));
  };
  if (measured.size() == 1) return "the only measured policy";
  std::string text = costs(measured[chosen]) + " a job";
  for (std::size_t k = 0; k < measured.size(); ++k)
    if (k != chosen) text += "; " + costs(measured[k]) + " under " + std::string(spelling(measured[k].policy));
  return text + (plan.proved ? "; slack " + readable(plan.end_to_end.slack) : "; not proved");
}

/// Returns an error, which states that no choice of policies fits into memory. `of_device` is the error of the plan in
/// which all of these tasks have device memory (D).
Unexpected<Error> none_fits(const LoadedSet& set, std::span<const std::size_t> choosing, const Error& of_device) {
  std::string names;
  for (const std::size_t index : choosing) names += (names.empty() ? "'" : ", '") + set.tasks.tasks[index].name + "'";
  return fail(of_device.code, of_device.what +
                                  "\n  this applies to D; no combination of measured memory policies for " + names +
                                  " fits and is proved");
}

} // namespace

std::vector<MemoryPolicy> open_policies(const Task& task, const Board& board) {
  if (task.memory_policy != MemoryPolicy::automatic || task.wcet) return {};
  std::vector<MemoryPolicy> open;
  for (const MemoryPolicy policy : tasks::memory_policies(task))
    if (std::ranges::find(board.memory_policies, policy) != board.memory_policies.end()) open.push_back(policy);
  return open;
}

Result<> choose_memory(LoadedSet& set, std::span<const std::size_t> choosing) {
  if (!set.profile) return {};
  std::vector<Candidates> candidates(set.workloads.size());
  std::vector<std::vector<MeasuredPolicy>> measured(set.workloads.size());
  for (const std::size_t index : choosing) {
    auto found = candidates_of(set, index);
    if (!found) return Unexpected(found.error());
    candidates[index] = std::move(*found);
    measured[index] = candidates[index].measured;
  }
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (std::ranges::find(choosing, i) == choosing.end()) measured[i] = as_it_is(set, i);
    if (measured[i].empty()) return {};
  }
  const auto plan = policies::choose_memory_policies(set, measured, set.tasks.device.memory_objective);
  if (!plan) return plan.error().code == Errc::not_proved ? none_fits(set, choosing, plan.error()) : Result<>();
  for (const std::size_t index : choosing) {
    const std::size_t chosen = plan->chosen[index];
    set.tasks.tasks[index].memory_policy = measured[index][chosen].policy;
    set.workloads[index] = std::move(candidates[index].workloads[chosen]);
    set.policy_reasons[index] = reason(measured[index], chosen, plan->plan, set.board);
  }
  return {};
}

} // namespace rtexec::executive
