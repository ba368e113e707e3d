#include "test/soundness/random_sets.hpp"

#include "policies/device/volume_search.hpp"
#include "test/rtexec/studies/soundness_budget.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rtexec::soundness {
namespace {

using policies::DeviceSet;
using policies::DeviceTask;
using policies::Nanos;
using simulator::chance;
using simulator::draw;

constexpr Bytes chunk{4096};

/// The number of tasks, their size, and the relation of their periods.
struct Shape {
  std::int64_t tasks = 3;
  std::int64_t max_chunks = 7;
  std::int64_t longest_execution = 30;
  enum class Periods { narrow, wide, harmonic } periods = Periods::narrow;
  int without_chunks = 25; // percentage of the tasks
};

Shape random_shape(Random& random) {
  Shape shape;
  shape.periods = static_cast<Shape::Periods>(draw(random, 0, 2));
  switch (draw(random, 0, 4)) {
  // Many chunks.
  case 0:
    shape = {.tasks = draw(random, 2, 3),
             .max_chunks = 20,
             .longest_execution = 20,
             .periods = shape.periods,
             .without_chunks = 10};
    break;
  // Many tasks.
  case 1:
    shape = {.tasks = draw(random, 6, 10),
             .max_chunks = 4,
             .longest_execution = 20,
             .periods = shape.periods,
             .without_chunks = 40};
    break;
  // Device-bound.
  case 2:
    shape = {.tasks = draw(random, 3, 6),
             .max_chunks = 6,
             .longest_execution = 60,
             .periods = shape.periods,
             .without_chunks = 25};
    break;
  // Small.
  case 3:
    shape = {.tasks = draw(random, 2, 5),
             .max_chunks = 3,
             .longest_execution = 6,
             .periods = shape.periods,
             .without_chunks = 25};
    break;
  default: shape.tasks = draw(random, 2, 5);
  }
  return shape;
}

std::int64_t share_of(Random& random, Shape::Periods periods) {
  switch (periods) {
  case Shape::Periods::narrow: return draw(random, 30, 50);
  case Shape::Periods::wide: return draw(random, 10, 200);
  case Shape::Periods::harmonic: return std::int64_t{10} << draw(random, 0, 3);
  }
  return 1;
}

/// Sets each period T in proportion to the task's share, so that all jobs together take all the time. D equals T or is
/// a part of it.
template <class Cost, class Set>
void set_periods(Random& random, const Shape& shape, std::size_t tasks, Cost cost, Set set) {
  std::vector<std::int64_t> shares;
  double sum = 0;
  for (std::size_t i = 0; i < tasks; ++i) {
    shares.push_back(share_of(random, shape.periods));
    sum += static_cast<double>(cost(i)) / static_cast<double>(shares[i]);
  }
  const bool short_deadlines = chance(random, 40);
  for (std::size_t i = 0; i < tasks; ++i) {
    const auto period = static_cast<std::int64_t>(sum * static_cast<double>(shares[i])) + 1;
    set(i, period,
        short_deadlines && chance(random, 60) ? draw(random, std::max<std::int64_t>(1, period / 2), period) : period);
  }
}

/// Returns the time to move one chunk in and out.
Nanos both_ways(const SwapCost& cost) { return (cost.in_per_chunk + test::charged(cost).out_per_chunk).count(); }

/// Draws an overflow: too few frames for all tasks, but enough for the largest.
std::uint32_t random_overflow(Random& random, std::uint32_t all, std::uint32_t largest) {
  return all <= largest ? 0 : static_cast<std::uint32_t>(draw(random, 1, all - largest));
}

} // namespace

DeviceSet random_hole(Random& random, const Way& way) {
  DeviceSet set{
      .tasks = {}, .overflow = 0, .copy_engines = way.copy_engines, .rule = policies::rule_of(way.policy), .cost = {}};
  const auto chunks = static_cast<std::uint32_t>(draw(random, 4, 10));
  const Nanos in = draw(random, 10, 40), out = in * draw(random, 80, 120) / 100,
              execution = draw(random, in, chunks * in);
  set.cost.in_per_chunk = Duration(in);
  set.cost.out_per_chunk = Duration(out);
  set.cost.drop_per_chunk = Duration(chance(random, 50) ? out : draw(random, 0, 2 * out));
  const Nanos blocking = chunks * in + execution;
  const Nanos urgent = blocking * 100 / draw(random, 25, 50);
  // Due after an urgent job that is released when the blocking ends.
  const Nanos middle = urgent + blocking + urgent * draw(random, 2, 10) / 100;
  const auto add = [&](Nanos period, Nanos time, std::uint32_t most) {
    set.tasks.push_back({.period = period, .deadline = period, .execution = time, .least = most, .most = most});
  };
  add(urgent, 1, 1);
  // The rest of the middle tasks' time.
  const Nanos rest = middle * (urgent - blocking - 1 - in - out) / urgent - execution / 2;
  for (Nanos used = 0; used < rest; used += execution)
    add(middle, std::min(execution, std::max<Nanos>(1, rest - used)), 0);
  for (int i = 0; i < 3; ++i) add(1000 * urgent, execution, chunks);
  set.overflow = 2 * chunks + 1;
  return set;
}

DeviceSet random_device(Random& random, const Way& way) {
  DeviceSet set{.tasks = {},
                .overflow = 0,
                .copy_engines = way.copy_engines,
                .rule = policies::rule_of(way.policy),
                .cost = test::random_cost(random, chunk)};
  if (chance(random, 3)) return random_hole(random, way);
  const Shape shape = random_shape(random);
  const std::int64_t classes = draw(random, 0, 2); // state, constants, or both
  const bool planned = chance(random, 20);
  std::uint32_t all = 0, largest = 0;
  for (std::int64_t i = 0; i < shape.tasks; ++i) {
    DeviceTask task{.execution = draw(random, 1, shape.longest_execution)};
    if (!chance(random, shape.without_chunks))
      task.most = static_cast<std::uint32_t>(draw(random, 1, shape.max_chunks));
    task.constants = classes == 0   ? 0
                     : classes == 1 ? task.most
                                    : static_cast<std::uint32_t>(draw(random, 0, task.most));
    task.least = planned ? 0 : task.most;
    all += task.most;
    largest = std::max(largest, task.most);
    set.tasks.push_back(task);
  }
  set.overflow = chance(random, 4) ? 0 : random_overflow(random, all, largest);
  const Nanos moved = both_ways(set.cost);
  set_periods(
      random, shape, set.tasks.size(),
      [&](std::size_t i) { return set.tasks[i].execution + moved * set.tasks[i].most; },
      [&](std::size_t i, Nanos period, Nanos deadline) {
        set.tasks[i].period = period;
        set.tasks[i].deadline = deadline;
      });
  if (way.order == Order::edf || chance(random, 80)) std::ranges::sort(set.tasks, {}, &DeviceTask::deadline);
  if (set.tasks.size() > 2 && chance(random, 15)) set.tasks.back().real_time = false;
  return set;
}

namespace {

/// Leaves the cores of some tasks to the plan.
void leave_cores_open(Random& random, WholeSet& set) {
  if (chance(random, 60)) return;
  const int open = chance(random, 50) ? 100 : 40;
  for (Task& task : set.tasks.tasks)
    if (chance(random, open)) task.core.reset();
}

/// Multiplies all durations by `times`.
void stretch(WholeSet& set, std::int64_t times) {
  for (Task& task : set.tasks.tasks)
    for (Duration* each : {&task.period, &task.deadline, &task.wcet->before, &task.wcet->device, &task.wcet->after})
      *each *= times;
  SwapCost& cost = set.board.swap_costs[0];
  for (Duration* each :
       {&cost.in_per_chunk, &cost.out_per_chunk, &cost.drop_per_chunk, &cost.in_fixed, &cost.out_fixed})
    *each *= times;
}

/// Draws traffic of at most one line in each `least`.
Bytes traffic_of(Random& random, Duration part, Duration least) {
  const std::int64_t most = part / least;
  return Bytes{64 * static_cast<std::uint64_t>(chance(random, 40) ? most : draw(random, 0, most))};
}

/// Adds bandwidth budgets. The set is in microseconds, as the regulator's costs on a core are.
void regulate(Random& random, WholeSet& set) {
  stretch(set, 1000);
  Board& board = set.board;
  board.release_latency =
      std::chrono::microseconds(chance(random, 30) ? 0 : draw(random, 1, chance(random, 70) ? 6 : 20));
  board.context_switch = Duration(chance(random, 60) ? 0 : draw(random, 1, 1500));
  board.dispatch = Duration(chance(random, 60) ? 0 : draw(random, 1, 3000));
  board.counters = {{.event = "r17", .write_event = {}, .line = Bytes{64}, .cores = {}}};
  BandwidthOptions& options = set.tasks.bandwidth;
  options.period = std::chrono::microseconds(draw(random, 25, 90));
  options.overshoot = chance(random, 50) ? Overshoot::carry : Overshoot::forgive;
  // Otherwise a line may take no time at all.
  const bool known = options.overshoot == Overshoot::carry || chance(random, 70);
  set.line = Duration(known ? std::int64_t{250} << draw(random, 0, 3) : 1);
  const Duration least = known ? set.line : Duration(1000);
  if (known) board.memory.core_bandwidth = {64'000'000'000U / static_cast<std::uint64_t>(set.line.count())};
  const auto lines =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, options.period * draw(random, 3, 80) / 100 / least));
  const auto period = static_cast<std::uint64_t>(options.period.count());
  for (const unsigned core : set.cores)
    if (core == 0 || chance(random, 60))
      set.tasks.core_budgets.push_back({.core = core, .budget = {(lines * 64'000'000'000U + period - 1) / period}});
  for (Task& task : set.tasks.tasks) {
    task.traffic_before = traffic_of(random, task.wcet->before, least);
    task.traffic_after = traffic_of(random, task.wcet->after, least);
  }
}

/// Adds reservations. The set is in milliseconds, as the costs of reservations on a core are.
void reserve(Random& random, WholeSet& set) {
  stretch(set, chance(random, 50) ? 1'000'000 : 8'000'000);
  set.tasks.executive.threads = ThreadPolicy::deadline;
  Board& board = set.board;
  board.release_latency = std::chrono::microseconds(chance(random, 40) ? 0 : draw(random, 1, 4000));
  board.context_switch = std::chrono::microseconds(chance(random, 40) ? 0 : draw(random, 1, 30));
  board.dispatch = std::chrono::microseconds(chance(random, 40) ? 0 : draw(random, 1, 4000));
  // With the host device, the compute engine uses up its reservation, and pauses.
  board.device = chance(random, 50) ? DeviceKind::host : DeviceKind::cuda;
  if (chance(random, 25)) board.service_core = 0;
}

/// Draws a stall, from a short one to one longer than a device part.
Duration random_platform_stall(Random& random, const WholeSet& set) {
  Duration longest{1};
  for (const Task& task : set.tasks.tasks) longest = std::max(longest, task.wcet->device);
  return Duration(draw(random, 1, std::max<std::int64_t>(1, longest.count() * draw(random, 1, 120) / 100)));
}

} // namespace

WholeSet random_whole(Random& random, SwapPolicy policy, Order order, bool swaps, Cores cores_kind) {
  WholeSet set;
  const Shape shape = random_shape(random);
  const std::int64_t cores = draw(random, 1, 3);
  // The longest CPU part.
  const std::int64_t cpu = chance(random, 30) ? 0 : draw(random, 1, shape.longest_execution / 2 + 1);
  const std::int64_t classes = draw(random, 0, 2);
  const bool given = chance(random, 60);
  set.tasks.executive = {
      .order = order, .priorities = PriorityAssignment::explicit_priorities, .duration = {}, .profile = {}};
  set.tasks.swap.policy = policy;
  std::uint64_t all = 0, largest = 0, fixed = 0, scratch = 0;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(shape.tasks, 7); ++i) {
    Task& task = set.tasks.tasks.emplace_back();
    task.name = "t" + std::to_string(i);
    task.core = static_cast<unsigned>(draw(random, 0, cores - 1));
    task.priority = 90 - static_cast<int>(i);
    task.on_overrun = static_cast<OnOverrun>(draw(random, 0, 3)); // a late job does not end the run
    task.wcet = Wcet{Duration(draw(random, 0, cpu)), Duration(draw(random, 1, shape.longest_execution)),
                     Duration(draw(random, 0, cpu))};
    const bool uses_device = i == 0 || !chance(random, 12);
    if (!uses_device) task.wcet->device = Duration(0);
    const auto chunks = swaps && uses_device && !chance(random, shape.without_chunks)
                            ? static_cast<std::uint64_t>(draw(random, 1, shape.max_chunks))
                            : 0;
    const std::uint64_t constants =
        classes == 0   ? 0
        : classes == 1 ? chunks
                       : static_cast<std::uint64_t>(draw(random, 0, static_cast<std::int64_t>(chunks)));
    const auto own_fixed = static_cast<std::uint64_t>(uses_device ? draw(random, 0, 2) : 0),
               own_scratch = static_cast<std::uint64_t>(uses_device && chance(random, 30) ? draw(random, 0, 2) : 0);
    set.memory.push_back({.constant = chunk * constants,
                          .scratch = chunk * own_scratch,
                          .state = chunk * (chunks - constants),
                          .fixed = chunk * own_fixed});
    if (given && swaps && policy != SwapPolicy::lru) task.swap_volume = chunk * chunks;
    all += chunks;
    largest = std::max(largest, chunks);
    fixed += own_fixed;
    scratch = policy == SwapPolicy::pipelined || policy == SwapPolicy::none ? std::max(scratch, own_scratch)
                                                                            : scratch + own_scratch;
  }
  for (unsigned core = 0; core < static_cast<unsigned>(cores); ++core) set.cores.push_back(core);
  set.board.chunk = chunk;
  set.board.copy_engines = static_cast<unsigned>(draw(random, 1, 2));
  set.board.service_core = 100; // the simulation has no costs of decisions and copies: they must burden no task
  set.board.memory_policies = {MemoryPolicy::device};
  if (chance(random, 25)) set.board.release_latency = Duration(draw(random, 1, 5));
  if (chance(random, 25)) set.board.context_switch = Duration(draw(random, 1, 3));
  if (chance(random, 25)) set.board.dispatch = Duration(draw(random, 1, 4));
  set.board.swap_costs = {test::random_cost(random, chunk)};
  const auto overflow =
      swaps ? random_overflow(random, static_cast<std::uint32_t>(all), static_cast<std::uint32_t>(largest)) : 0U;
  set.board.capacity = chunk * std::max<std::uint64_t>(1, all + fixed + scratch - overflow);
  // It swaps everything.
  if (policy == SwapPolicy::lru && overflow > 0) set.board.capacity = chunk * (all + fixed + scratch - 1);
  const Nanos moved = swaps ? both_ways(set.board.swap_costs[0]) : 0;
  set_periods(
      random, shape, set.tasks.tasks.size(),
      [&](std::size_t i) {
        const Wcet& wcet = *set.tasks.tasks[i].wcet;
        const auto chunks =
            static_cast<Nanos>((set.memory[i].constant.count + set.memory[i].state.count) / chunk.count);
        return (wcet.before + wcet.device + wcet.after).count() + moved * chunks;
      },
      [&](std::size_t i, Nanos period, Nanos deadline) {
        set.tasks.tasks[i].period = Duration(period);
        set.tasks.tasks[i].deadline = Duration(deadline);
      });
  if (set.tasks.tasks.size() > 2 && chance(random, 15)) {
    Task& last = set.tasks.tasks.back();
    last.criticality = Criticality::best_effort;
    if (chance(random, 50)) last.period = last.deadline = std::max(Duration(1), last.period / draw(random, 2, 8));
  }
  leave_cores_open(random, set);
  if (cores_kind == Cores::regulated) regulate(random, set);
  if (cores_kind == Cores::reserved) reserve(random, set);
  // Stalls by budgets are not charged on a machine with platform stalls.
  if (cores_kind != Cores::regulated && chance(random, 50))
    set.board.platform_stall = random_platform_stall(random, set);
  return set;
}

policies::Layers random_layers(Random& random, Nanos execution, Nanos overhead) {
  policies::Layers layers;
  for (Nanos pieces = draw(random, 1, std::min<Nanos>(execution, 8)); pieces > 1; --pieces) {
    layers.times.push_back(draw(random, 1, std::min(2 * execution / pieces, execution - pieces + 1)));
    execution -= layers.times.back();
  }
  layers.times.push_back(execution);
  layers.overheads.assign(layers.times.size() - 1, overhead);
  return layers;
}

/// Draws a set in microseconds or longer units, so that the step of the search for cuts is short.
WholeSet random_divisible(Random& random, Order order, bool swaps, Cores cores) {
  constexpr std::int64_t times = 1000;
  WholeSet set = random_whole(random, swaps ? SwapPolicy::pipelined : SwapPolicy::none, order, swaps, cores);
  if (cores == Cores::by_priority) {
    stretch(set, times);
    for (Duration* each :
         {&set.board.release_latency, &set.board.context_switch, &set.board.dispatch, &set.board.platform_stall})
      *each *= times;
  }
  const bool classes = chance(random, 40), cuts = chance(random, 40);
  for (std::size_t i = 0; i < set.tasks.tasks.size(); ++i) {
    const Task& task = set.tasks.tasks[i];
    policies::LayeredTask& layered = set.layered.emplace_back();
    layered.layers = random_layers(random, std::max<Nanos>(1, task.wcet->device.count()), 0);
    const bool swapped = set.memory[i].constant.count + set.memory[i].state.count > 0;
    if (classes) layered.device_class = static_cast<unsigned>(draw(random, swapped ? 1 : 0, 3));
    if (!cuts || chance(random, 40)) continue;
    layered.given.emplace();
    for (std::uint32_t layer = 0; layer + 1 < layered.layers.times.size(); ++layer)
      if (chance(random, 60)) layered.given->cuts.push_back(layer);
  }
  if (chance(random, 50)) set.tasks.device.launch_ahead = static_cast<std::uint32_t>(draw(random, 0, 2));
  if (chance(random, 50)) set.board.cut = Duration(draw(random, 0, set.board.dispatch.count()));
  return set;
}

WholeSet random_co_running(Random& random, Order order) {
  WholeSet set = random_whole(random, SwapPolicy::none, order, false);
  set.tasks.device.co_run = true;
  set.board.memory_policies = {MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host};
  set.board.capacity += set.board.capacity; // scratch of two jobs
  const auto waiting = static_cast<int>(draw(random, 20, 80));
  const auto slower = draw(random, 0, 100);
  for (Task& task : set.tasks.tasks) {
    if (!task.wcet->uses_device() || chance(random, 10)) continue;
    constexpr MemoryPolicy policies[] = {MemoryPolicy::managed, MemoryPolicy::host, MemoryPolicy::switching};
    task.memory_policy =
        chance(random, waiting) ? policies[static_cast<std::size_t>(draw(random, 0, 2))] : MemoryPolicy::device;
    task.co_run_wcet = task.wcet->device + task.wcet->device * draw(random, 0, slower) / 100;
    if (task.memory_policy != MemoryPolicy::device)
      task.mapping_idle = chance(random, 60) ? *task.co_run_wcet : *task.co_run_wcet * draw(random, 0, 100) / 100;
  }
  return set;
}

namespace {

/// Removes the device part of some tasks, usually such that less urgent tasks of their core are shut out.
void take_off_device(Random& random, WholeSet& set) {
  for (std::size_t i = 0; i < set.tasks.tasks.size(); ++i) {
    if (!chance(random, 40)) continue;
    set.tasks.tasks[i].wcet->device = Duration(0);
    set.memory[i] = {};
  }
}

/// Gives tasks periods with a common divisor at every scale.
void put_on_grid(Random& random, WholeSet& set) {
  constexpr std::int64_t scales = 64;
  stretch(set, scales);
  Duration shortest = Duration::max();
  for (const Task& task : set.tasks.tasks) shortest = std::min(shortest, task.period);
  const Duration grain = scales * std::max(Duration(1), shortest / scales / draw(random, 1, 4));
  for (Task& task : set.tasks.tasks) task.period = (task.period + grain - Duration(1)) / grain * grain;
}

void follow(Task& task, const Task& first) {
  task.trigger = Trigger::after;
  task.after = first.name;
  task.period = std::min(task.period, first.period);
  task.deadline = std::min(task.deadline, task.period);
}

/// Lets each task follow one that precedes it in `order`, or none.
void set_triggers(Random& random, WholeSet& set, std::span<const std::size_t> order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    Task& task = set.tasks.tasks[order[i]];
    if (i > 0 && chance(random, 40)) {
      follow(task, set.tasks.tasks[order[static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(i) - 1))]]);
    } else if (chance(random, 20)) {
      task.trigger = chance(random, 70) ? Trigger::input : Trigger::call;
    } else if (chance(random, 70)) {
      task.offset = Duration(draw(random, 0, task.period.count()));
    }
    if (task.trigger != Trigger::after && chance(random, 40))
      task.input_delay =
          chance(random, 20) ? task.period * draw(random, 1, 3) : Duration(draw(random, 0, task.period.count()));
    if (task.trigger != Trigger::timer && task.on_overrun == OnOverrun::abort_job) task.on_overrun = OnOverrun::skip;
  }
}

/// Draws a chain: from a task that follows none through others, each of which follows or samples the last one.
Chain random_walk(Random& random, const TaskSet& set, std::span<const std::size_t> order) {
  Chain chain;
  for (const std::size_t index : order) {
    const Task& task = set.tasks[index];
    const bool starts = task.trigger != Trigger::after;
    const bool follows = !chain.tasks.empty() && chain.tasks.back() == task.after;
    if (follows || (starts && chance(random, chain.tasks.empty() ? 60 : 40))) chain.tasks.push_back(task.name);
  }
  return chain;
}

} // namespace

WholeSet random_chained(Random& random, Order order, Cores cores) {
  WholeSet set = random_whole(random, SwapPolicy::none, order, false, cores);
  take_off_device(random, set);
  if (cores == Cores::by_priority && chance(random, 60)) put_on_grid(random, set);
  std::vector<std::size_t> turn;
  for (std::size_t i = 0; i < set.tasks.tasks.size(); ++i)
    if (set.tasks.tasks[i].real_time()) turn.push_back(i);
  std::ranges::shuffle(turn, random);
  set_triggers(random, set, turn);
  const Communication communicate = chance(random, 25) ? Communication::let : Communication::immediate;
  for (std::int64_t chains = draw(random, 1, 3); chains > 0; --chains) {
    Chain chain = random_walk(random, set.tasks, turn);
    chain.name = "c" + std::to_string(chains);
    chain.communicate = communicate;
    if (!chain.tasks.empty()) set.tasks.chains.push_back(std::move(chain));
  }
  return set;
}

} // namespace rtexec::soundness
