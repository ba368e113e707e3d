#include "policies/memory/plan_memory.hpp"

#include "config/memory_policy.hpp"
#include "config/names.hpp"
#include "config/base/text.hpp"
#include "policies/exact_arithmetic.hpp"
#include "policies/scheduler/co_run.hpp"
#include "policies/memory/swap_volumes.hpp"

#include <limits>
#include <map>
#include <string>

namespace rtexec::policies {
namespace {

Bytes saturated(Wide bytes) {
  return {static_cast<std::uint64_t>(std::min<Wide>(bytes, std::numeric_limits<std::uint64_t>::max()))};
}

/// True if the policy distinguishes constants, scratch and state. Other policies treat all memory like state.
bool classes_count(SwapPolicy policy) {
  return policy == SwapPolicy::pipelined || policy == SwapPolicy::serial || policy == SwapPolicy::none;
}

// ---- the device ----

Result<> plan_device(Plan& plan, const ResolvedSet& set) {
  plan.chunk = set.chunk;
  if (plan.chunk.count == 0)
    return fail(Errc::bad_input, "the device's chunk is 0 bytes; set [device] chunk or the board's");
  const Board& board = set.board;
  const Bytes asked = set.tasks.device.capacity.value_or(board.capacity);
  const bool known_to_board = board.capacity > Bytes{0};
  if (asked == Bytes{0})
    return fail(Errc::bad_input,
                "the capacity of board '" + board.name +
                    "' is not known on this machine; give [device] capacity, or plan on the machine with the device");
  if (known_to_board && asked > board.capacity)
    return fail(Errc::bad_input, "[device] capacity is " + to_string(asked) + ", but board '" + board.name + "' has " +
                                     to_string(board.capacity));
  if (asked < plan.chunk)
    return fail(Errc::bad_input, "the capacity is " + to_string(asked) + ", less than one chunk, " +
                                     to_string(plan.chunk) + "; set a larger [device] capacity or a smaller chunk");
  plan.capacity = {asked.count / plan.chunk.count * plan.chunk.count};
  plan.shared_scratch = classes_count(set.tasks.swap.policy);
  return {};
}

/// Returns the policies as text, such as "D or M".
std::string spelled(std::span<const MemoryPolicy> policies) {
  std::vector<std::string_view> names;
  for (const MemoryPolicy each : policies) names.push_back(spelling(each));
  return config::alternatives(names);
}

Result<> plan_policies(Plan& plan, const ResolvedSet& set) {
  std::string errors;
  const std::vector<MemoryPolicy>& there = set.board.memory_policies;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = set.tasks.tasks[i];
    const MemoryPolicy policy = config::in_force(task.memory_policy);
    plan.tasks[i].memory_policy = policy;
    const auto has = [&](MemoryPolicy each) { return std::ranges::find(there, each) != there.end(); };
    if (policy == MemoryPolicy::switching ? has(MemoryPolicy::device) && has(MemoryPolicy::host) : has(policy))
      continue;
    const std::string asked =
        "task '" + task.name + "': memory_policy = \"" + std::string(spelling(task.memory_policy)) + '"';
    config::add_line(errors, asked + (policy == task.memory_policy ? "" : " stays D if no policy was chosen") +
                                 ": board '" + set.board.name + "' does not have it; give " + spelled(there));
  }
  return errors.empty() ? Result<>{} : fail(Errc::bad_input, errors);
}

// ---- arenas ----

Wide chunks_of(Wide size, Bytes chunk) { return (size + chunk.count - 1) / chunk.count; }

/// Returns the number of chunks that one class loses if each memory object starts at a chunk boundary.
Wide padding_of(MemoryClass kind, Bytes size, std::span<const MemoryObject> objects, Bytes chunk) {
  Wide waste = 0;
  for (const MemoryObject& object : objects)
    if (object.kind == kind) waste += chunks_of(object.size.count, chunk) * chunk.count - object.size.count;
  return chunks_of(size.count + waste, chunk) - chunks_of(size.count, chunk);
}

/// The members of `Arena`, in a type in which they cannot overflow.
struct WideArena {
  Wide constant = 0, state = 0, fixed = 0, scratch = 0, carry = 0, padding = 0;
  [[nodiscard]] Wide slots() const { return constant + state + fixed + scratch + carry + padding; }
  [[nodiscard]] Arena narrow() const {
    const auto count = [](Wide slots) { return static_cast<std::uint32_t>(slots); };
    return {.constant = count(constant),
            .state = count(state),
            .fixed = count(fixed),
            .scratch = count(scratch),
            .carry = count(carry),
            .padding = count(padding)};
  }
};

WideArena arena_of(const MemoryDemand& memory, Bytes chunk, bool own_chunks) {
  const auto chunks = [&](Bytes size) { return chunks_of(size.count, chunk); };
  WideArena arena{.constant = chunks(memory.constant),
                  .state = chunks(memory.state),
                  .fixed = chunks(memory.fixed),
                  .scratch = chunks(memory.scratch),
                  .carry = chunks(memory.carry)};
  if (own_chunks)
    for (const auto& [kind, size] :
         {std::pair(MemoryClass::constant, memory.constant), std::pair(MemoryClass::state, memory.state),
          std::pair(MemoryClass::scratch, memory.scratch)})
      arena.padding += padding_of(kind, size, memory.objects, chunk);
  return arena;
}

/// Returns the memory of one task that is not in chunks but counts as demand.
Wide outside_of(const MemoryDemand& memory, const Board& board) {
  return Wide{memory.outside.count} + (board.unified_memory ? memory.host.count : 0);
}

/// Returns text with further advice for a task that is too large for the device.
std::string less_of_it(const Task& asked, const PlannedTask& task, const ResolvedSet& set) {
  const std::vector<MemoryPolicy>& policies = set.board.memory_policies;
  const bool on_device = task.memory_policy == MemoryPolicy::device;
  std::string ways;
  if (on_device && task.memory.outside > Bytes{0} && std::ranges::find(policies, MemoryPolicy::host) != policies.end())
    ways += ", or memory_policy = \"H\", which needs less device memory";
  if (asked.constants == Constants::whole) ways += ", or memory = \"auto\", with which its constants may be streamed";
  else if (asked.workload == WorkloadKind::dnn && on_device && set.tasks.swap.policy == SwapPolicy::pipelined)
    ways += ", or memory = \"stream\", with which `rtexec profile` measures it with all memory of the device";
  return ways;
}

/// Sets the arena of each task: how many chunks of each memory class it has. Returns not_proved if a single task does
/// not fit into the capacity under any swap policy.
Result<> plan_arenas(Plan& plan, const ResolvedSet& set, std::span<const MemoryDemand> memory) {
  const TaskSet& tasks = set.tasks;
  std::string errors;
  Wide all = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    PlannedTask& task = plan.tasks[i];
    task.memory = memory[i];
    task.period = tasks.tasks[i].period;
    const WideArena arena = arena_of(memory[i], plan.chunk, tasks.swap.policy == SwapPolicy::mo_vmm);
    task.arena = arena.narrow();
    const Wide outside = outside_of(memory[i], set.board);
    const Wide own = (arena.slots() - task.streamed_away()) * plan.chunk.count + outside;
    all += arena.slots() + chunks_of(outside, plan.chunk);
    if (own <= plan.capacity.count) continue;
    config::add_line(errors, "task '" + tasks.tasks[i].name + "' alone needs " + to_string(saturated(own)) +
                                 " of device memory, but the capacity is " + to_string(plan.capacity) +
                                 "; use a smaller model or size, or a larger [device] capacity" +
                                 less_of_it(tasks.tasks[i], task, set));
  }
  if (!errors.empty()) return fail(Errc::not_proved, errors);
  if (all > std::numeric_limits<std::uint32_t>::max())
    return fail(Errc::bad_input, "the tasks' memory is " + to_string(saturated(all * plan.chunk.count)) +
                                     " in chunks of " + to_string(plan.chunk) +
                                     ", more chunks than can be counted; set a larger [device] chunk");
  return {};
}

/// The numbers of physical chunks that all tasks together need on the device.
struct SlotDemand {
  std::uint32_t kept = 0;    // the sum of the tasks' own chunks: constants (or stream ring), state, fixed and carry
  std::uint32_t scratch = 0; // chunks that all tasks share
};

/// Returns the number of chunks of shared scratch. If two jobs execute at once, the job under memory policy D (device
/// memory) uses the first chunks, and the other job the last chunks.
std::uint32_t shared_scratch(const Plan& plan) {
  std::uint32_t alone = 0, executing = 0, waiting = 0;
  for (const PlannedTask& task : plan.tasks) {
    std::uint32_t& most = !task.co_run ? alone : task.co_run->idle ? waiting : executing;
    most = std::max(most, task.arena.scratch);
  }
  return std::max(alone, executing + waiting);
}

/// Returns the number of chunks for the carry (tensors kept between segments) of all tasks. In each level (preemption
/// class 1, 2, ..) only one job at a time is between two segments, so the tasks of a level share memory. Several
/// top-class jobs (class 0) may be between two segments, so each top-class task needs its own memory.
std::uint32_t shared_carry(const Plan& plan) {
  std::uint32_t top_class = 0;
  std::map<std::uint32_t, std::uint32_t> levels;
  for (const PlannedTask& task : plan.tasks) {
    if (task.device_class == 0) top_class += task.arena.carry;
    else levels[task.device_class] = std::max(levels[task.device_class], task.arena.carry);
  }
  for (const auto& [level, most] : levels) top_class += most;
  return top_class;
}

SlotDemand need_of(const Plan& plan) {
  SlotDemand need{.kept = shared_carry(plan), .scratch = plan.shared_scratch ? shared_scratch(plan) : 0};
  for (const PlannedTask& task : plan.tasks)
    need.kept +=
        task.arena.slots() - task.streamed_away() - task.arena.carry - (plan.shared_scratch ? task.arena.scratch : 0);
  return need;
}

Bytes separate_of(const Plan& plan) {
  std::uint32_t chunks = 0;
  for (const PlannedTask& task : plan.tasks) chunks += task.arena.slots() - task.arena.padding;
  return saturated(Wide{plan.chunk.count} * chunks + plan.outside.count);
}

void plan_buffers(Plan& plan, const ResolvedSet& set, std::span<const MemoryDemand> memory) {
  Wide outside = 0, host = 0;
  for (const MemoryDemand& each : memory) {
    outside += outside_of(each, set.board);
    host += each.host.count;
  }
  plan.outside = saturated(outside);
  plan.host = saturated(host);
}

/// Returns the parts of the demand as text: "constants, state and fixed 4 MiB, shared scratch 2 MiB, buffers 1 MiB".
std::string parts_of(const Plan& plan, const SlotDemand& need) {
  std::string text = "constants, state and fixed " + to_string(plan.chunk * need.kept) + ", shared scratch " +
                     to_string(plan.chunk * need.scratch);
  if (plan.outside > Bytes{0}) text += ", buffers of workloads " + to_string(plan.outside);
  return text;
}

// ---- swapping ----

std::string calibrated_chunks(const Board& board, StoreKind store) {
  std::string list;
  std::size_t count = 0;
  for (const SwapCost& cost : board.swap_costs)
    if (cost.store == store) list += (count++ == 0 ? "" : ", ") + to_string(cost.chunk);
  return count == 0 ? "none is" : list + (count > 1 ? " are" : " is");
}

std::string how_to_calibrate(StoreKind store) {
  return "run 'rtexec calibrate --store " + std::string(spelling(store)) + (store == StoreKind::file ? ":PATH'" : "'");
}

bool streams(const Plan& plan) {
  return std::ranges::any_of(plan.tasks, [](const PlannedTask& task) { return task.stream.has_value(); });
}

} // namespace

Result<SwapCost> swap_cost(const ResolvedSet& set, StoreKind store) {
  const Board& board = set.board;
  const Bytes chunk = set.chunk;
  const SwapCostOptions& given = set.tasks.device.swap_cost;
  const auto known = std::ranges::find_if(
      board.swap_costs, [&](const SwapCost& cost) { return cost.store == store && cost.chunk == chunk; });
  const bool calibrated = known != board.swap_costs.end();
  if (!calibrated && !(given.in_per_chunk && given.out_per_chunk))
    return fail(Errc::bad_input, "not everything fits into device memory, but what swapping costs on board '" +
                                     board.name + "' is not known for chunks of " + to_string(chunk) + " and store \"" +
                                     std::string(spelling(store)) + "\" (" + calibrated_chunks(board, store) +
                                     " calibrated); " + how_to_calibrate(store) +
                                     ", set [device] chunk to one that is calibrated, or give in_per_chunk and "
                                     "out_per_chunk in [device.swap_cost]");
  SwapCost cost =
      calibrated ? *known : SwapCost{.store = store, .chunk = chunk, .drop_per_chunk = *given.out_per_chunk};
  cost.in_per_chunk = given.in_per_chunk.value_or(cost.in_per_chunk);
  cost.out_per_chunk = given.out_per_chunk.value_or(cost.out_per_chunk);
  cost.drop_per_chunk = given.drop_per_chunk.value_or(cost.drop_per_chunk);
  cost.in_fixed = given.in_fixed.value_or(cost.in_fixed);
  cost.out_fixed = given.out_fixed.value_or(cost.out_fixed);
  for (const Duration each :
       {cost.in_per_chunk, cost.out_per_chunk, cost.drop_per_chunk, cost.in_fixed, cost.out_fixed})
    if (each < Duration::zero() || each.count() > longest_time)
      return fail(Errc::bad_input, "a swap cost of " + to_string(each) + " is out of range; it must be between 0 and " +
                                       readable(Duration(longest_time)));
  // Charges and searches assume that out_per_chunk is the highest cost to free a frame (physical chunk). So
  // out_per_chunk must be at least the cost to drop a chunk.
  cost.out_per_chunk = std::max(cost.out_per_chunk, cost.drop_per_chunk);
  return cost;
}

WholeChunks whole_chunks(const MemoryDemand& memory, Bytes chunk, SwapPolicy policy) {
  const WideArena arena = arena_of(memory, chunk, policy == SwapPolicy::mo_vmm);
  const Wide shared = classes_count(policy) ? arena.scratch : 0;
  return {.kept = saturated((arena.slots() - shared) * chunk.count), .shared = saturated(shared * chunk.count)};
}

Result<std::uint32_t> plan_memory(Plan& plan, const ResolvedSet& set, std::span<const MemoryDemand> memory) {
  if (const auto known = plan_device(plan, set); !known) return Unexpected(known.error());
  if (const auto given = plan_policies(plan, set); !given) return Unexpected(given.error());
  if (const auto laid = plan_arenas(plan, set, memory); !laid) return Unexpected(laid.error());

  plan_co_running(plan, set.tasks, set.board);
  const SlotDemand need = need_of(plan);
  plan_buffers(plan, set, memory);
  plan.scratch_chunks = plan.shared_scratch ? need.scratch : 0;
  plan.demand = saturated(Wide{plan.chunk.count} * (need.kept + need.scratch) + plan.outside.count);
  plan.separate = separate_of(plan);
  const std::uint32_t overflow = overflow_of(plan);
  if (overflow == 0 && !streams(plan)) return 0;
  if (plan.co_runs())
    return fail(Errc::not_proved, "the tasks need " + to_string(plan.demand) +
                                      " of device memory, with scratch for two jobs that execute at once " +
                                      to_string(plan.chunk * need.scratch) + ", but the capacity is " +
                                      to_string(plan.capacity) +
                                      "; leave out [device] co_run, which needs all memory on the device, or use "
                                      "smaller models, fewer tasks or a larger [device] capacity");
  if (set.tasks.swap.policy == SwapPolicy::none)
    return fail(
        Errc::not_proved,
        "the tasks need " + to_string(plan.demand) + " of device memory (" + parts_of(plan, need) +
            "), but the capacity is " + to_string(plan.capacity) +
            "; set [swap] policy = \"pipelined\", or use smaller models, fewer tasks or a larger [device] capacity");

  plan.swap = SwapPlan{.policy = set.tasks.swap.policy,
                       .frames = 0,
                       .copy_engines = set.board.copy_engines,
                       .cost = {},
                       .store = set.store};
  const auto cost = swap_cost(set, plan.swap->store_kind());
  if (!cost) return Unexpected(cost.error());
  plan.swap->cost = *cost;
  if (const auto possible = check_volumes(plan, set, overflow); !possible) return Unexpected(possible.error());
  return overflow;
}

std::uint32_t overflow_of(const Plan& plan) {
  const Bytes missing = plan.demand - std::min(plan.demand, plan.capacity);
  return static_cast<std::uint32_t>(chunks_of(missing.count, plan.chunk));
}

Result<> assign_residents(Plan& plan, const TaskSet& tasks) {
  std::string errors;
  Bytes all;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const auto& resident = tasks.tasks[i].resident;
    if (!resident) continue;
    PlannedTask& task = plan.tasks[i];
    std::string problem;
    if (resident->count % plan.chunk.count != 0) problem = "not a multiple of the chunk, " + to_string(plan.chunk);
    else if (*resident > task.swap_volume)
      problem =
          "more than is swapped of this task, " + to_string(task.swap_volume) + "; give swap_volume to fix its volume";
    if (!problem.empty())
      config::add_line(errors, "task '" + task.name + "': resident = \"" + to_string(*resident) + "\": " + problem);
    task.resident_slots = static_cast<std::uint32_t>(resident->count / plan.chunk.count);
    all += *resident;
  }
  if (!errors.empty()) return fail(Errc::bad_input, errors);
  const Bytes frames = plan.chunk * (plan.swap ? plan.swap->frames : 0);
  if (all <= frames) return {};
  return fail(Errc::bad_input, "the tasks' resident memory is " + to_string(all) +
                                   " in total, but the frames that they share hold " + to_string(frames) +
                                   "; lower resident of a task, or raise [device] capacity");
}

Bytes swap_volume(const Plan& plan) {
  Bytes sum;
  for (const PlannedTask& task : plan.tasks) sum += task.swap_volume;
  return sum;
}

} // namespace rtexec::policies
