#include "policies/swap_volumes.hpp"

#include "policies/arithmetic.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

using Volumes = std::vector<std::uint32_t>;

// ---- which slots a task swaps, in which order -----------------------------------------------------------------------------

/// The size of the largest object in each slot of one class; where none is known, all of the class is one.
void rank_class(std::span<std::uint64_t> ranks, MemoryClass kind, Bytes size, std::span<const MemoryObject> objects, Bytes chunk) {
  bool known = false;
  for (const MemoryObject& object : objects) {
    if (object.kind != kind) continue;
    known = true;
    const std::uint64_t end = (object.offset.count + object.size.count + chunk.count - 1) / chunk.count;
    for (std::uint64_t slot = object.offset.count / chunk.count; slot < std::min<std::uint64_t>(end, ranks.size()); ++slot)
      ranks[slot] = std::max(ranks[slot], object.size.count);
  }
  if (!known) std::ranges::fill(ranks, size.count);
}

/// The size of the largest object in each slot of the arena.
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

/// The slots that may be swapped, those to be swapped first in front.
std::vector<SwapSlot> candidates_of(const Plan& plan, const PlannedTask& task, SwapCandidates order) {
  std::vector<SwapSlot> slots;
  for (std::uint32_t slot = 0; slot < task.arena.slots(); ++slot)
    if (may_swap(plan, task.arena, slot)) slots.push_back({slot, !plan.shared_scratch || slot >= task.arena.constant});
  const std::vector<std::uint64_t> ranks = ranks_of(task, plan.chunk);
  const bool constants_first = order == SwapCandidates::constants_first;
  std::ranges::sort(slots, {}, [&](const SwapSlot& each) {
    return std::tuple(constants_first && each.copied_out, std::numeric_limits<std::uint64_t>::max() - ranks[each.slot], each.slot);
  });
  return slots;
}

// ---- what fits ------------------------------------------------------------------------------------------------------------

/// What is known of one task's volume.
struct Choice {
  std::uint32_t least = 0;     // given by hand: least == most
  std::uint32_t most = 0;
  std::uint32_t constants = 0; // up to so many are dropped, and not copied out
  Nanos execution = 0;         // C: device part, with its charges
  Nanos period = 0;
  Nanos deadline = 0;
  bool real_time = true;
};

struct Problem {
  std::vector<Choice> tasks;
  std::uint32_t overflow = 0;
  bool staged = false; // the next job is loaded beside the one that executes: (M)
  bool both_ways = false;
  SwapCost cost;
};

Problem problem_of(const Plan& plan, const TaskSet& tasks, const Board& board, std::uint32_t overflow) {
  const SwapPlan& swap = *plan.swap;
  Problem problem{.tasks = {}, .overflow = overflow, .staged = swap.policy == SwapPolicy::pipelined, .both_ways = swap.copy_engines > 1,
                  .cost = swap.cost};
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const Task& task = tasks.tasks[i];
    const std::vector<SwapSlot> slots = candidates_of(plan, plan.tasks[i], tasks.swap.candidates);
    const auto constants = static_cast<std::uint32_t>(std::ranges::find(slots, true, &SwapSlot::copied_out) - slots.begin());
    Choice choice{.least = 0, .most = static_cast<std::uint32_t>(slots.size()), .constants = constants,
                  .execution = (task.wcet->device + 2 * board.dispatch).count(), .period = task.period.count(),
                  .deadline = task.deadline.count(), .real_time = task.criticality == Criticality::real_time};
    if (swap.policy == SwapPolicy::lru) choice.least = choice.most;
    if (task.swap_volume)
      choice.least = choice.most = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(round_up(*task.swap_volume, plan.chunk).count / plan.chunk.count, std::numeric_limits<std::uint32_t>::max()));
    problem.tasks.push_back(choice);
  }
  return problem;
}

std::uint64_t total_of(const Volumes& volumes) { return std::accumulate(volumes.begin(), volumes.end(), std::uint64_t{0}); }

Volumes most_of(const Problem& problem) {
  Volumes most;
  for (const Choice& task : problem.tasks) most.push_back(task.most);
  return most;
}

/// What freeing a frame is charged: a copy, as soon as any swap slot is copied out.
Nanos eviction(const Problem& problem, const Volumes& volumes) {
  bool copied = false;
  for (std::size_t i = 0; i < volumes.size(); ++i) copied = copied || volumes[i] > problem.tasks[i].constants;
  return (copied ? problem.cost.out_per_chunk : problem.cost.drop_per_chunk).count();
}

/// alpha: what one chunk of a load takes.
Nanos per_chunk(const Problem& problem, Nanos evicted) {
  const Nanos in = problem.cost.in_per_chunk.count();
  return problem.both_ways ? std::max(in, evicted) : in + evicted;
}

/// The frames that are to land beside task k's, while it executes; absent: never enough.
std::optional<std::uint64_t> landing_room(Nanos execution, Nanos alpha) {
  if (execution == 0) return 0;
  if (alpha == 0) return std::nullopt;
  return (static_cast<std::uint64_t>(execution) + static_cast<std::uint64_t>(alpha) - 1) / static_cast<std::uint64_t>(alpha);
}

/// Whether what `task` needs holds, with `others` the largest volume beside its own.
bool loads(const Problem& problem, std::size_t task, const Volumes& volumes, std::uint64_t frames, std::uint32_t others, Nanos alpha) {
  const std::uint32_t own = volumes[task];
  if (own == 0) return true;
  if (own > frames) return false;
  if (!problem.staged || std::uint64_t{own} + others <= frames) return true;
  const auto room = landing_room(problem.tasks[task].execution, alpha);
  return room && own + *room <= frames;
}

/// The first task whose needs do not hold; absent: everything fits. The frames must not be negative.
std::optional<std::size_t> first_without_room(const Problem& problem, const Volumes& volumes) {
  const std::uint64_t frames = total_of(volumes) - problem.overflow;
  const Nanos alpha = per_chunk(problem, eviction(problem, volumes));
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(volumes) - volumes.begin());
  std::uint32_t second = 0;
  for (std::size_t i = 0; i < volumes.size(); ++i)
    if (i != largest) second = std::max(second, volumes[i]);
  for (std::size_t i = 0; i < volumes.size(); ++i)
    if (!loads(problem, i, volumes, frames, i == largest ? second : volumes[largest], alpha)) return i;
  return std::nullopt;
}

bool fits(const Problem& problem, const Volumes& volumes) {
  return total_of(volumes) >= problem.overflow && !first_without_room(problem, volumes);
}

// ---- the search -----------------------------------------------------------------------------------------------------------

/// Where volumes are looked for: `frames` is P, no volume exceeds `highest`, and each task gets what is hidden behind an execution of length
/// `hidden` before any task gets more.
struct Shape {
  std::uint64_t frames = 0;
  std::uint64_t highest = 0;
  Nanos hidden = 0;
};

/// Tasks whose volumes cost least come first: best-effort ones, which are charged as blocking only, then by longest period.
std::vector<std::size_t> by_patience(const Problem& problem) {
  std::vector<std::size_t> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const Choice& task = problem.tasks[i];
    return std::tuple(task.real_time, -task.period, -task.deadline, i);
  });
  return order;
}

/// The most that `task` may swap in `shape`: beside it another of `highest` fits, or what lands while it executes.
std::uint32_t cap_of(const Problem& problem, const Choice& task, const Shape& shape, Nanos alpha) {
  if (task.least == task.most) return task.most;
  std::uint64_t cap = std::min<std::uint64_t>(task.most, shape.highest);
  if (!problem.staged) return static_cast<std::uint32_t>(cap);
  const std::uint64_t room = landing_room(task.execution, alpha).value_or(shape.frames);
  const std::uint64_t beside = shape.frames - std::min({shape.frames, room, shape.highest});
  return static_cast<std::uint32_t>(std::min(cap, beside));
}

/// What a load takes beside alpha for each of its chunks.
Nanos load_start(const Problem& problem, Nanos evicted) {
  const SwapCost& cost = problem.cost;
  const Nanos fixed = (cost.in_fixed + cost.out_fixed).count();
  return problem.both_ways ? fixed + std::min(cost.in_per_chunk.count(), evicted) : fixed;
}

/// Chunks whose load takes no longer than `time`.
std::uint64_t loaded_within(const Problem& problem, Nanos time, Nanos evicted) {
  const Nanos alpha = per_chunk(problem, evicted);
  const Nanos start = load_start(problem, evicted);
  return alpha > 0 && time > start ? static_cast<std::uint64_t>((time - start) / alpha) : 0;
}

/// Volumes of `shape` with P + V in all; empty: there is no room for so many.
Volumes filled(const Problem& problem, std::span<const std::size_t> order, const Shape& shape) {
  const Nanos evicted = eviction(problem, most_of(problem));
  const Nanos alpha = per_chunk(problem, evicted);
  Volumes volumes;
  for (const Choice& task : problem.tasks) volumes.push_back(task.least);
  const std::uint64_t asked = shape.frames + problem.overflow;
  std::uint64_t left = asked - std::min(asked, total_of(volumes));
  const std::uint64_t hidden = loaded_within(problem, shape.hidden, evicted);
  for (const std::uint64_t most : {hidden, std::uint64_t{std::numeric_limits<std::uint32_t>::max()}})
    for (const std::size_t i : order) {
      const std::uint64_t upto = std::min<std::uint64_t>(most, cap_of(problem, problem.tasks[i], shape, alpha));
      const std::uint64_t more = std::min(left, upto - std::min<std::uint64_t>(upto, volumes[i]));
      volumes[i] += static_cast<std::uint32_t>(more);
      left -= more;
    }
  return left > 0 || !fits(problem, volumes) ? Volumes{} : volumes;
}

/// More frames than these change nothing: no cap depends on them.
std::uint64_t most_frames(const Problem& problem) {
  const Volumes most = most_of(problem);
  const std::uint64_t all = total_of(most);
  const std::uint64_t largest = std::ranges::max(most);
  if (all <= problem.overflow || !problem.staged) return all > problem.overflow ? std::min(largest, all - problem.overflow) : 0;
  const Nanos alpha = per_chunk(problem, eviction(problem, most));
  std::uint64_t beside = largest;
  for (const Choice& task : problem.tasks)
    if (const auto room = landing_room(task.execution, alpha); room && *room < all) beside = std::max(beside, *room);
  return std::min(largest + beside, all - problem.overflow);
}

/// No volume is above so many quarters of P, and what is loaded while a job of length `hidden` executes is given to each task first.
struct Family {
  std::uint64_t quarters = 4;
  Nanos hidden = 0;
};

std::vector<Family> families_of(const Problem& problem) {
  if (!problem.staged) return {{.quarters = 4, .hidden = 0}};
  std::vector<Nanos> executions;
  for (const Choice& task : problem.tasks) executions.push_back(task.execution);
  std::ranges::sort(executions);
  const Nanos median = executions[executions.size() / 2];
  const Nanos longest = executions.back();
  return {{.quarters = 4, .hidden = 0}, {.quarters = 4, .hidden = median}, {.quarters = 4, .hidden = longest},
          {.quarters = 3, .hidden = longest}, {.quarters = 2, .hidden = 0}};
}

/// The volumes of one family, by number of frames; where there are many such numbers, of a thousand of them.
std::vector<Volumes> members_of(const Problem& problem, const Family& family) {
  const std::vector<std::size_t> order = by_patience(problem);
  std::uint64_t given = 0;
  for (const Choice& task : problem.tasks) given += task.least;
  const std::uint64_t first = std::max<std::uint64_t>(1, given - std::min<std::uint64_t>(given, problem.overflow));
  const std::uint64_t last = most_frames(problem);
  std::vector<Volumes> members;
  for (std::uint64_t frames = first; frames <= last; frames += last / 1000 + 1) {
    Volumes volumes = filled(problem, order, {.frames = frames, .highest = (frames * family.quarters + 3) / 4, .hidden = family.hidden});
    if (!volumes.empty()) members.push_back(std::move(volumes));
  }
  return members;
}

/// Adds some of each group, from its first to its last, up to `most_volumes` in all.
void add_spread(std::vector<Volumes>& found, std::vector<std::vector<Volumes>> groups) {
  std::ranges::sort(groups, {}, &std::vector<Volumes>::size); // what small groups do not take is left to the others
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<Volumes>& group = groups[i];
    const std::size_t count = std::min(group.size(), (most_volumes - found.size()) / (groups.size() - i));
    for (std::size_t k = 0; k < count; ++k) found.push_back(group[k * (group.size() - 1) / std::max<std::size_t>(1, count - 1)]);
  }
}

/// The same where nobody swaps more than `most`; what was given by hand stays.
Problem limited(Problem problem, const Volumes& most) {
  for (std::size_t i = 0; i < most.size(); ++i)
    if (problem.tasks[i].least == 0) problem.tasks[i].most = std::min(problem.tasks[i].most, most[i]);
  return problem;
}

/// As few tasks as possible swap: those that can swap most.
Volumes of_fewest_tasks(const Problem& problem) {
  std::vector<std::size_t> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return problem.tasks[i].most; });
  Volumes most(problem.tasks.size());
  for (const std::size_t i : order) {
    most[i] = problem.tasks[i].most;
    const Problem fewer = limited(problem, most);
    Volumes largest = most_of(fewer);
    if (!fits(fewer, largest)) continue;
    std::vector<Volumes> members = members_of(fewer, {});
    return members.empty() ? largest : members.front();
  }
  return {};
}

/// As it is, and where state is swapped too, with constants alone: freeing a frame then never takes a copy.
std::vector<Problem> variants_of(const Problem& problem) {
  Volumes constants;
  for (const Choice& task : problem.tasks) constants.push_back(task.constants);
  Problem dropped = limited(problem, constants);
  if (most_of(dropped) == most_of(problem)) return {problem};
  return {problem, std::move(dropped)};
}

/// What a job of one task takes of the device, and for how long it can hold up others.
struct Charge {
  Wide job = 0;
  Wide blocking = 0;
};

/// Serial: as in RT-Swap, (2) and (3). Staged: the longer of the execution and the load that goes on beside another execution.
Charge charge_of(const Problem& problem, const Choice& task, std::uint32_t volume, Nanos evicted) {
  const SwapCost& cost = problem.cost;
  if (volume == 0) return {task.execution, task.execution};
  if (problem.staged) {
    const Wide longer = std::max<Wide>(task.execution, load_start(problem, evicted) + Wide{per_chunk(problem, evicted)} * volume);
    return {longer, longer};
  }
  const Wide in = cost.in_fixed.count() + Wide{cost.in_per_chunk.count()} * volume;
  const Wide out = cost.out_fixed.count() + Wide{evicted} * volume;
  return {task.execution + in + out, std::max(out, in + task.execution)};
}

/// How busy the device would be per second: all jobs of real-time tasks, and the longest blocking in the shortest deadline.
Nanos estimated_load(const Problem& problem, const Volumes& volumes) {
  const Nanos evicted = eviction(problem, volumes);
  const auto bounded = [](Wide time) { return static_cast<Nanos>(std::min<Wide>(time, unbounded)); };
  Utilisation load;
  Wide blocking = 0;
  Nanos shortest = longest_time;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Choice& task = problem.tasks[i];
    const Charge charge = charge_of(problem, task, volumes[i], evicted);
    blocking = std::max(blocking, charge.blocking);
    if (!task.real_time) continue;
    load.add(bounded(charge.job), task.period);
    shortest = std::min(shortest, task.deadline);
  }
  load.add(bounded(blocking), shortest);
  return load.per_second();
}

/// The first with fewer swapping tasks than all before.
std::vector<Volumes> corners_of(const std::vector<Volumes>& members) {
  std::vector<Volumes> corners;
  std::ptrdiff_t most_resident = -1;
  for (const Volumes& each : members) {
    const std::ptrdiff_t resident = std::ranges::count(each, 0U);
    if (resident <= most_resident) continue;
    most_resident = resident;
    corners.push_back(each);
  }
  return corners;
}

/// Of every family some, its corners among them, beside the largest and those of the fewest tasks.
std::vector<Volumes> proposals(const Problem& problem) {
  Volumes largest = most_of(problem);
  if (!fits(problem, largest)) return {};
  std::vector<Volumes> found{std::move(largest), of_fewest_tasks(problem)};

  std::vector<std::vector<Volumes>> groups;
  for (const Problem& variant : variants_of(problem))
    for (const Family& family : families_of(problem)) {
      auto members = members_of(variant, family);
      if (members.empty()) continue;
      groups.push_back(corners_of(members));
      groups.push_back(std::move(members));
    }
  add_spread(found, groups);

  std::ranges::sort(found, {}, [&](const Volumes& volumes) { return std::pair(estimated_load(problem, volumes), volumes); });
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

// ---- why nothing fits -----------------------------------------------------------------------------------------------------

std::string size_of(const Plan& plan, std::uint64_t chunks) { return to_string(plan.chunk * chunks); }

Result<> check_given(const Plan& plan, const TaskSet& tasks) {
  std::string errors;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const auto& given = tasks.tasks[i].swap_volume;
    if (!given) continue;
    const std::uint64_t most = candidates_of(plan, plan.tasks[i], tasks.swap.candidates).size();
    if (*given <= plan.chunk * most) continue;
    errors += std::string(errors.empty() ? "" : "\n") + "task '" + tasks.tasks[i].name + "': swap_volume is " + to_string(*given) + ", but at most " +
              size_of(plan, most) + " of its memory can be swapped, in chunks of " + to_string(plan.chunk);
  }
  return errors.empty() ? Result<>{} : fail(Errc::bad_input, errors);
}

/// Why not even the largest volumes fit.
std::string shortage(const Plan& plan, const TaskSet& tasks, const Problem& problem) {
  const Volumes most = most_of(problem);
  const std::uint64_t all = total_of(most);
  const std::string available = "of " + size_of(plan, all) + " that may be swapped";
  if (all < problem.overflow) return "only " + size_of(plan, all) + " may be swapped";
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(most) - most.begin());
  if (all - most[largest] < problem.overflow)
    return available + " only " + size_of(plan, all - most[largest]) + " can be away while task '" + tasks.tasks[largest].name +
           "' executes, which needs " + size_of(plan, most[largest]) + " of it";
  const std::size_t without = *first_without_room(problem, most);
  return available + " too little can be away at once: while task '" + tasks.tasks[without].name + "' executes with " +
         size_of(plan, most[without]) + " of it in " + size_of(plan, all - problem.overflow) +
         " of frames, the next job cannot be loaded beside it (condition (M) of policies/README.md); [swap] policy = \"rt-swap\" needs less";
}

} // namespace

Result<> check_volumes(const Plan& plan, const TaskSet& tasks, const Board& board, std::uint32_t overflow) {
  if (const auto valid = check_given(plan, tasks); !valid) return valid;
  const Problem problem = problem_of(plan, tasks, board, overflow);
  if (fits(problem, most_of(problem))) return {};
  const bool by_hand = std::ranges::any_of(tasks.tasks, [](const Task& task) { return task.swap_volume.has_value(); });
  return fail(Errc::not_proved, "the tasks need " + to_string(plan.demand) + " of device memory, which is " + size_of(plan, overflow) +
                                    " more than the capacity of " + to_string(plan.capacity) + ", and " + shortage(plan, tasks, problem) +
                                    "; use smaller models, fewer tasks or a larger [device] capacity, or raise swappable" +
                                    (by_hand ? " or swap_volume" : ""));
}

std::vector<Volumes> swap_volumes(const Plan& plan, const TaskSet& tasks, const Board& board, std::uint32_t overflow) {
  return proposals(problem_of(plan, tasks, board, overflow));
}

void assign_volumes(Plan& plan, const TaskSet& tasks, std::span<const std::uint32_t> volumes, std::uint32_t overflow) {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    PlannedTask& task = plan.tasks[i];
    task.swap_slots = candidates_of(plan, task, tasks.swap.candidates);
    task.swap_slots.resize(volumes[i]);
    task.swap_volume = plan.chunk * volumes[i];
    total += volumes[i];
  }
  plan.swap->frames = total - overflow;
}

} // namespace rtexec::policies
