#include "policies/scheduler/co_run.hpp"
#include "policies/memory/swap_volumes.hpp"

#include "config/base/text.hpp"
#include "policies/bounds/charges.hpp"
#include "policies/bounds/priorities.hpp"
#include "policies/scheduler/swap_rule.hpp"
#include "policies/device/volume_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>

namespace rtexec::policies {
namespace {

// ---- the slots that a task swaps, and their order ----

/// Sets the rank of each slot of one memory class: the size of the largest memory object that overlaps the slot. If no
/// object is known, the whole class counts as one object.
void rank_class(std::span<std::uint64_t> ranks, MemoryClass kind, Bytes size, std::span<const MemoryObject> objects,
                Bytes chunk) {
  bool known = false;
  for (const MemoryObject& object : objects) {
    if (object.kind != kind) continue;
    known = true;
    const std::uint64_t end = (object.offset.count + object.size.count + chunk.count - 1) / chunk.count;
    for (std::uint64_t slot = object.offset.count / chunk.count; slot < std::min<std::uint64_t>(end, ranks.size());
         ++slot)
      ranks[slot] = std::max(ranks[slot], object.size.count);
  }
  if (!known) std::ranges::fill(ranks, size.count);
}

/// Returns the rank of each slot of the task's memory: the size in bytes of the largest object that overlaps the slot.
/// A slot is the address range for one chunk.
std::vector<std::uint64_t> ranks_of(const PlannedTask& task, Bytes chunk) {
  const Arena& arena = task.arena;
  const MemoryDemand& memory = task.memory;
  std::vector<std::uint64_t> ranks(arena.slots());
  const std::span all(ranks);
  rank_class(all.subspan(0, arena.constant), MemoryClass::constant, memory.constant, memory.objects, chunk);
  rank_class(all.subspan(arena.constant, arena.state), MemoryClass::state, memory.state, memory.objects, chunk);
  std::ranges::fill(all.subspan(arena.constant + arena.state, arena.fixed), memory.fixed.count);
  const std::size_t first_scratch = arena.constant + arena.state + arena.fixed;
  rank_class(all.subspan(first_scratch, arena.scratch), MemoryClass::scratch, memory.scratch, memory.objects, chunk);
  return ranks;
}

bool may_swap(const Plan& plan, const Arena& arena, std::uint32_t slot) {
  if (plan.swap->policy == SwapPolicy::lru) return true;
  const std::uint32_t first_fixed = arena.constant + arena.state;
  return slot < first_fixed || (!plan.shared_scratch && slot >= first_fixed + arena.fixed);
}

/// Returns the slots of a task that may be swapped, in the order in which they are chosen. Returns no slots if the task
/// does not use the device.
std::vector<SwapSlot> candidates_of(const Plan& plan, const TaskSet& tasks, std::size_t index) {
  if (!tasks.tasks[index].wcet->uses_device()) return {};
  const PlannedTask& task = plan.tasks[index];
  std::vector<SwapSlot> slots;
  if (task.stream) {
    for (std::uint32_t slot = 0; slot < task.arena.constant; ++slot) slots.push_back({slot, false});
    return slots;
  }
  for (std::uint32_t slot = 0; slot < task.arena.slots(); ++slot)
    if (may_swap(plan, task.arena, slot)) slots.push_back({slot, !plan.shared_scratch || slot >= task.arena.constant});
  const std::vector<std::uint64_t> ranks = ranks_of(task, plan.chunk);
  const bool constants_first = tasks.swap.candidates == SwapCandidates::constants_first;
  std::ranges::sort(slots, {}, [&](const SwapSlot& each) {
    return std::tuple(constants_first && each.copied_out, std::numeric_limits<std::uint64_t>::max() - ranks[each.slot],
                      each.slot);
  });
  return slots;
}

// ---- the device alone ----

std::uint32_t chunks_of(Bytes volume, Bytes chunk) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(round_up(volume, chunk).count / chunk.count, std::numeric_limits<std::uint32_t>::max()));
}

/// Returns the part of the deadline that release jitter and CPU parts leave.
Nanos device_deadline(const Task& task, const Board& board) {
  const Duration parts = task.wcet->before + task.wcet->after + 4 * board.context_switch + release_jitter(board);
  return std::max(Nanos{1}, (task.deadline - parts).count());
}

DeviceTask device_task(const Plan& plan, const ResolvedSet& set, std::size_t index) {
  const Task& task = set.tasks.tasks[index];
  DeviceTask result{.period = task.period.count(),
                    .deadline = device_deadline(task, set.board),
                    .execution = (device_part(*task.wcet, plan.tasks[index].co_run) + 2 * set.board.dispatch).count(),
                    .real_time = task.real_time()};
  if (!plan.swap) return result;
  const std::vector<SwapSlot> slots = candidates_of(plan, set.tasks, index);
  result.most = static_cast<std::uint32_t>(slots.size());
  result.constants = static_cast<std::uint32_t>(std::ranges::find(slots, true, &SwapSlot::copied_out) - slots.begin());
  if (plan.swap->policy == SwapPolicy::lru) result.least = result.most;
  if (const auto& stream = plan.tasks[index].stream) result.least = result.most = result.constants = stream->ring;
  if (task.swap_volume) result.least = result.most = chunks_of(*task.swap_volume, plan.chunk);
  return result;
}

/// Returns the test of the device alone with which swap volumes are chosen under a swap policy.
DeviceTest test_for(SwapPolicy policy, Order order) {
  if (rule_of(policy) == SwapRule::pipelined) return DeviceTest::pipelined;
  return order == Order::edf ? DeviceTest::demand : DeviceTest::rta;
}

DeviceSet with_less_time(DeviceSet device, int eighths) {
  for (DeviceTask& task : device.tasks) task.deadline = std::max(task.deadline * eighths / 8, Nanos{1});
  return device;
}

std::vector<Volumes> of_plan(const Plan& plan, std::span<const std::size_t> urgency, std::vector<Volumes> found) {
  for (Volumes& volumes : found) volumes = by_task<std::uint32_t>(volumes, urgency, plan.tasks.size());
  return found;
}

// ---- why nothing fits ----

std::string size_of(const Plan& plan, std::uint64_t chunks) { return to_string(plan.chunk * chunks); }

Result<> check_given(const Plan& plan, const TaskSet& tasks) {
  std::string errors;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const auto& given = tasks.tasks[i].swap_volume;
    if (!given) continue;
    const std::uint64_t most = candidates_of(plan, tasks, i).size();
    if (*given <= plan.chunk * most) continue;
    config::add_line(errors, "task '" + tasks.tasks[i].name + "': swap_volume is " + to_string(*given) +
                                 ", but at most " + size_of(plan, most) +
                                 " of its memory can be swapped, in chunks of " + to_string(plan.chunk));
  }
  return errors.empty() ? Result<>{} : fail(Errc::bad_input, errors);
}

/// Returns the reason why the set does not fit even with the largest possible swap volumes. `most`: by task, the
/// largest number of chunks that may be swapped.
std::string shortage(const Plan& plan, const TaskSet& tasks, const Volumes& most, std::uint32_t overflow) {
  const std::uint64_t all = std::accumulate(most.begin(), most.end(), std::uint64_t{0});
  if (all < overflow) return "only " + size_of(plan, all) + " may be swapped";
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(most) - most.begin());
  return "of " + size_of(plan, all) + " that may be swapped, only " + size_of(plan, all - most[largest]) +
         " can be swapped out while task '" + tasks.tasks[largest].name + "' executes, which needs " +
         size_of(plan, most[largest]) + " of it";
}

} // namespace

DeviceSet device_set(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                     std::uint32_t overflow) {
  DeviceSet device{.tasks = {}, .overflow = overflow, .copy_engines = set.board.copy_engines, .cost = {}};
  if (plan.swap) {
    if (rule_of(plan.swap->policy) == SwapRule::rt_swap) device.rule = SwapRule::rt_swap;
    device.cost = plan.swap->cost;
    device.cost.in_fixed += set.board.dispatch;
    device.cost.out_fixed += set.board.dispatch;
  }
  for (const std::size_t index : urgency) device.tasks.push_back(device_task(plan, set, index));
  return device;
}

Result<> check_volumes(const Plan& plan, const ResolvedSet& set, std::uint32_t overflow) {
  const TaskSet& tasks = set.tasks;
  if (const auto valid = check_given(plan, tasks); !valid) return valid;
  DeviceSet device{.tasks = {}, .overflow = overflow, .cost = {}};
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) device.tasks.push_back(device_task(plan, set, i));
  const Volumes most = max_of(device);
  if (fits(device, most)) return {};
  const bool by_hand = std::ranges::any_of(tasks.tasks, [](const Task& task) { return task.swap_volume.has_value(); });
  return fail(Errc::not_proved,
              "the tasks need " + to_string(plan.demand) + " of device memory, which is " + size_of(plan, overflow) +
                  " more than the capacity of " + to_string(plan.capacity) + ", and " +
                  shortage(plan, tasks, most, overflow) +
                  "; use smaller models, fewer tasks or a larger [device] capacity, or raise swappable" +
                  (by_hand ? " or swap_volume" : ""));
}

std::vector<Volumes> swap_volumes(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                  std::uint32_t overflow, int eighths, std::span<const Nanos> charged) {
  DeviceSet device = with_less_time(device_set(plan, set, urgency, overflow), eighths);
  for (std::size_t i = 0; i < device.tasks.size() && !charged.empty(); ++i)
    device.tasks[i].charged = charged[urgency[i]];
  return of_plan(plan, urgency, volumes_for(device, test_for(plan.swap->policy, plan.order), plan.order));
}

std::vector<Volumes> tight_swap_volumes(const Plan& plan, const ResolvedSet& set, std::span<const std::size_t> urgency,
                                        std::uint32_t overflow, int eighths) {
  if (rule_of(plan.swap->policy) != SwapRule::pipelined) return {};
  const DeviceSet device = with_less_time(device_set(plan, set, urgency, overflow), eighths);
  return of_plan(plan, urgency, tight_volumes(device, plan.order));
}

void assign_volumes(Plan& plan, const TaskSet& tasks, std::span<const std::uint32_t> volumes, std::uint32_t overflow) {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    PlannedTask& task = plan.tasks[i];
    task.swap_slots = candidates_of(plan, tasks, i);
    if (!task.stream) task.swap_slots.resize(volumes[i]);
    task.swap_volume = plan.chunk * volumes[i];
    total += volumes[i];
  }
  plan.swap->frames = total - overflow;
}

} // namespace rtexec::policies
