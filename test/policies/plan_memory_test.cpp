#include "policies/memory/plan_memory.hpp"

#include "policies/memory/swap_volumes.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <set>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using test::board_of;
using test::task_of;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t chunk = 4096;
constexpr std::uint64_t mib = 1 << 20;

Bytes chunks(std::uint64_t count) { return {count * chunk}; }

/// A set with its board and its memory, and the plan made from it.
struct Case {
  TaskSet set;
  Board board = board_of();
  std::vector<MemoryDemand> memory;
  Plan plan;

  explicit Case(SwapPolicy policy = SwapPolicy::pipelined) {
    set.swap.policy = policy;
    board.swap_costs = {{.store = policy == SwapPolicy::pageable ? StoreKind::pageable : StoreKind::pinned,
                         .chunk = {chunk},
                         .in_per_chunk = 10ns,
                         .out_per_chunk = 20ns,
                         .drop_per_chunk = 3ns}};
  }
  Task& add(const MemoryDemand& demand, Duration period = 10ms, Duration execution = 1ns) {
    memory.push_back(demand);
    set.tasks.push_back(
        task_of(std::string(1, static_cast<char>('a' + set.tasks.size())), period, {.device = execution}));
    return set.tasks.back();
  }
  void capacity(std::uint64_t count) { set.device.capacity = chunks(count); }
  Result<std::uint32_t> make() {
    plan = Plan{};
    plan.tasks.resize(set.tasks.size());
    return plan_memory(plan, test::resolved(set, board), memory);
  }
  Error error() {
    const auto made = make();
    return made ? Error{Errc::cancelled, "no error"} : made.error();
  }
  std::vector<Volumes> volumes(std::uint32_t overflow) const {
    std::vector<std::size_t> order(set.tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      return std::pair(set.tasks[i].criticality == Criticality::best_effort, set.tasks[i].period);
    });
    return swap_volumes(plan, test::resolved(set, board), order, overflow);
  }
};

std::vector<std::uint32_t> slots(const PlannedTask& task) {
  std::vector<std::uint32_t> result;
  for (const SwapSlot& each : task.swap_slots) result.push_back(each.slot);
  return result;
}

// ---- arenas and demand ----

MemoryDemand some_memory() {
  return {.constant = {chunk + 1}, .scratch = chunks(5), .state = {1}, .fixed = {2 * chunk + 7}};
}
MemoryDemand more_memory() { return {.constant = chunks(3), .scratch = {chunk / 2}, .state = {0}, .fixed = {0}}; }

TEST(PlanMemory, RoundsClassesUpToWholeChunksAndSharesScratch) {
  Case two;
  two.add(some_memory(), 10ms);
  two.add(more_memory(), 20ms);
  EXPECT_EQ(two.make().value(), 0u);
  const Arena& arena = two.plan.tasks[0].arena;
  EXPECT_EQ(std::tuple(arena.constant, arena.state, arena.fixed, arena.scratch, arena.padding),
            std::tuple(2u, 1u, 3u, 5u, 0u));
  EXPECT_EQ(two.plan.tasks[1].period, 20ms);
  EXPECT_TRUE(two.plan.shared_scratch);
  EXPECT_EQ(two.plan.demand, chunks(2 + 1 + 3 + 3 + 5));
  EXPECT_EQ(two.plan.separate, chunks(11 + 4));
  EXPECT_FALSE(two.plan.swap);
}

TEST(PlanMemory, DoesNotShareScratchUnderBaselinePolicies) {
  for (const SwapPolicy policy :
       {SwapPolicy::rt_swap, SwapPolicy::pageable, SwapPolicy::lru, SwapPolicy::min, SwapPolicy::mo_vmm}) {
    Case two(policy);
    two.add(some_memory());
    two.add(more_memory());
    EXPECT_EQ(two.make().value(), 0u);
    EXPECT_FALSE(two.plan.shared_scratch);
    EXPECT_EQ(two.plan.demand, chunks(11 + 4));
    EXPECT_EQ(two.plan.separate, chunks(11 + 4));
  }
}

TEST(PlanMemory, AddsPaddingWhenObjectsHaveTheirOwnChunks) {
  Case one(SwapPolicy::mo_vmm);
  MemoryDemand& demand =
      one.memory.emplace_back(MemoryDemand{.constant = {3 * chunk}, .scratch = {chunk + 2}, .state = {chunk + 1}});
  one.set.tasks.push_back(task_of("a", 10ms, {}));
  one.make().value();
  EXPECT_EQ(one.plan.tasks[0].arena.padding, 0u) << "a class that lists no objects is one";
  demand.objects = {{MemoryClass::constant, {0}, {chunk / 2}},
                    {MemoryClass::constant, {chunk / 2}, {2 * chunk + chunk / 2}},
                    {MemoryClass::state, {0}, {1}},
                    {MemoryClass::state, {1}, {chunk}}};
  one.make().value();
  EXPECT_EQ(one.plan.tasks[0].arena.padding, (1 + 3 - 3) + (1 + 1 - 2u));
  EXPECT_EQ(one.plan.demand, chunks(3 + 2 + 2 + 1));
  EXPECT_EQ(one.plan.separate, chunks(3 + 2 + 2));
  one.set.swap.policy = SwapPolicy::rt_swap;
  one.make().value();
  EXPECT_EQ(one.plan.tasks[0].arena.padding, 0u);
}

TEST(PlanMemory, UsesSmallestChunksUnderMinAndMoVmm) {
  for (const SwapPolicy policy : {SwapPolicy::min, SwapPolicy::mo_vmm, SwapPolicy::rt_swap}) {
    const bool small = policy != SwapPolicy::rt_swap;
    Case one(policy);
    one.add({.state = {100 * mib}});
    one.board.capacity = Bytes{1000 * mib};
    one.set.device.chunk = Bytes{64 * mib};
    one.make().value();
    EXPECT_EQ(one.plan.chunk, Bytes{small ? 2 * mib : 64 * mib});
    EXPECT_EQ(one.plan.demand, Bytes{small ? 100 * mib : 128 * mib});
    EXPECT_EQ(one.plan.capacity, Bytes{small ? 1000 * mib : 960 * mib});
    one.set.device.chunk.reset();
    one.make().value();
    EXPECT_EQ(one.plan.chunk, one.board.chunk) << "a board's chunk that is smaller stays";
  }
}

// ---- sets that do not fit ----

TEST(PlanMemory, RejectsOverflowWithoutSwapping) {
  Case two(SwapPolicy::none);
  two.add({.constant = chunks(4), .scratch = chunks(2)}, 10ms, 100ns);
  two.add({.constant = chunks(4), .scratch = chunks(3)}, 10ms, 100ns);
  two.capacity(11);
  EXPECT_EQ(two.make().value(), 0u);
  two.capacity(10);
  const Error error = two.error();
  EXPECT_EQ(error.code, Errc::not_proved);
  EXPECT_THAT(error.what, AllOf(HasSubstr("the tasks need 44KiB"), HasSubstr("fixed 32KiB"), HasSubstr("scratch 12KiB"),
                                HasSubstr("capacity is 40KiB"), HasSubstr("[swap] policy = \"pipelined\"")));
  two.set.swap.policy = SwapPolicy::pipelined;
  EXPECT_EQ(two.make().value(), 1u) << "8 chunks take turns in 7: without (M) nothing is promised, but it can be run";
}

TEST(PlanMemory, NamesTaskThatExceedsCapacityAlone) {
  for (const SwapPolicy policy : {SwapPolicy::none, SwapPolicy::pipelined, SwapPolicy::lru}) {
    Case two(policy);
    two.add({.state = chunks(3)});
    two.add({.constant = chunks(4), .scratch = chunks(5), .state = {1}, .fixed = {1}});
    two.capacity(10);
    const Error error = two.error();
    EXPECT_EQ(error.code, Errc::not_proved);
    EXPECT_EQ(error.what,
              "task 'b' alone needs 44KiB of device memory, but the capacity is 40KiB; use a smaller model or size, or "
              "a larger [device] capacity" +
                  std::string(policy == SwapPolicy::pipelined ? ", or memory = \"stream\", with which `rtexec profile` "
                                                                "measures it with all memory of the device"
                                                              : ""));
    two.memory[1].state = two.memory[1].constant = two.memory[1].scratch = Bytes{~std::uint64_t{0}};
    EXPECT_THAT(two.error().what, HasSubstr("task 'b' alone needs"));
  }
}

TEST(PlanMemory, RejectsCapacitySmallerThanAChunk) {
  Case one(SwapPolicy::pipelined);
  one.add({.state = chunks(1)});
  one.capacity(1);
  one.set.device.capacity = Bytes{1024};
  EXPECT_EQ(one.error().what,
            "the capacity is 1KiB, less than one chunk, 4KiB; set a larger [device] capacity or a "
            "smaller chunk");
}

TEST(PlanMemory, RejectsMoreChunksThanCanBeCounted) {
  Case many;
  many.board.capacity = Bytes{std::uint64_t{1} << 40};
  many.set.device.chunk = Bytes{256};
  for (int i = 0; i < 3; ++i) many.add({.state = {(std::uint64_t{1} << 39) - 256}});
  const Error error = many.error();
  EXPECT_EQ(error.code, Errc::bad_input);
  EXPECT_THAT(error.what, HasSubstr("set a larger [device] chunk"));
}

// ---- buffers outside of chunks ----

TEST(PlanMemory, RoundsSumOfBuffersOutsideChunksToWholeChunks) {
  Case two;
  for (int i = 0; i < 2; ++i) two.add({.constant = chunks(3), .outside = {chunk / 4}, .host = chunks(2)});
  two.capacity(7);
  EXPECT_EQ(two.make().value(), 0u);
  EXPECT_EQ(two.plan.demand, (Bytes{6 * chunk + chunk / 2}));
  EXPECT_EQ(two.plan.separate, two.plan.demand);
  EXPECT_EQ(two.plan.outside, Bytes{chunk / 2});
  EXPECT_EQ(two.plan.host, chunks(4)) << "memory of its own";
  two.capacity(6);
  EXPECT_EQ(two.make().value(), 1u);
  two.set.swap.policy = SwapPolicy::none;
  EXPECT_THAT(two.error().what, HasSubstr("shared scratch 0B, buffers of workloads 2KiB), but"));
}

TEST(PlanMemory, ChargesHostBuffersToUnifiedMemory) {
  Case two;
  two.board.unified_memory = true;
  two.board.swap_costs.front().store = StoreKind::file;
  for (int i = 0; i < 2; ++i) two.add({.constant = chunks(3), .outside = chunks(1), .host = chunks(2)});
  two.capacity(12);
  EXPECT_EQ(two.make().value(), 0u);
  EXPECT_EQ(two.plan.demand, chunks(12));
  EXPECT_EQ(two.plan.outside, chunks(6));
  EXPECT_EQ(two.plan.host, chunks(4));
  two.capacity(10);
  EXPECT_EQ(two.make().value(), 2u);
  two.capacity(5);
  EXPECT_THAT(two.error().what, HasSubstr("task 'a' alone needs 24KiB"));
  EXPECT_THAT(two.error().what, Not(HasSubstr("memory_policy")));
  two.board.memory_policies.push_back(MemoryPolicy::host);
  EXPECT_THAT(two.error().what, HasSubstr(", or memory_policy = \"H\", which needs less device memory"));
}

TEST(PlanMemory, NeverSwapsBuffersOutsideChunks) {
  Case two;
  two.add({.constant = chunks(3), .outside = chunks(3)});
  two.add({.constant = chunks(3), .outside = chunks(3)});
  two.capacity(9);
  EXPECT_EQ(two.make().value(), 3u);
  two.capacity(8);
  EXPECT_THAT(two.error().what, HasSubstr("16KiB more than the capacity of 32KiB, and of 24KiB that may be swapped"));
  two.memory[0].outside = {1'500'000'000'000};
  two.set.device.capacity.reset();
  two.board.capacity = {2'000'000'000'000};
  two.board.chunk = {256};
  EXPECT_THAT(two.error().what, HasSubstr("set a larger [device] chunk")) << "more than can be counted";
}

TEST(PlanMemory, RejectsOverflowBeyondSwappableMemory) {
  Case three(SwapPolicy::rt_swap);
  for (const std::uint64_t state : {6u, 3u, 2u}) three.add({.state = chunks(state), .fixed = chunks(4)});
  three.capacity(18);
  EXPECT_EQ(three.make().value(), 5u);
  three.capacity(17);
  EXPECT_EQ(three.error().code, Errc::not_proved);
  EXPECT_THAT(three.error().what,
              AllOf(HasSubstr("the tasks need 92KiB"), HasSubstr("24KiB more than the capacity of 68KiB"),
                    HasSubstr("of 44KiB that may be swapped"),
                    HasSubstr("only 20KiB can be swapped out while task 'a' executes, which needs 24KiB of it")));
  three.set.tasks[0].swap_volume = chunks(5);
  EXPECT_THAT(three.error().what, HasSubstr("raise swappable or swap_volume"));
  three.capacity(11);
  EXPECT_THAT(three.error().what, HasSubstr("only 40KiB may be swapped"));
}

TEST(PlanMemory, RejectsSwapVolumeBeyondSwappableMemory) {
  Case two;
  two.add({.constant = chunks(4), .scratch = chunks(9), .state = chunks(2), .fixed = chunks(1)}).swap_volume =
      Bytes{6 * chunk + 1};
  two.add({.constant = chunks(8)});
  two.capacity(20);
  const Error error = two.error();
  EXPECT_EQ(error.code, Errc::bad_input);
  EXPECT_THAT(error.what, AllOf(HasSubstr("task 'a': swap_volume is 24577B"), HasSubstr("at most 24KiB")));
  two.capacity(24);
  EXPECT_EQ(two.make().value(), 0u) << "nothing is swapped";
}

// ---- costs and stores ----

Case overflowing(SwapPolicy policy = SwapPolicy::rt_swap) {
  Case two(policy);
  two.add({.constant = chunks(4)});
  two.add({.constant = chunks(4)});
  two.capacity(6);
  return two;
}

TEST(PlanMemory, TakesSwapCostOfChunkFromBoardUnlessOverridden) {
  Case two = overflowing();
  two.board.copy_engines = 2;
  two.board.swap_costs = {{.chunk = {2 * chunk}, .in_per_chunk = 99ns},
                          {.chunk = {chunk},
                           .in_per_chunk = 1ns,
                           .out_per_chunk = 2ns,
                           .drop_per_chunk = 3ns,
                           .in_fixed = 4ns,
                           .out_fixed = 5ns,
                           .residual = 6ns}};
  two.set.device.swap_cost = {
      .in_per_chunk = {}, .out_per_chunk = 20ns, .in_fixed = 40ns, .out_fixed = {}, .drop_per_chunk = {}};
  EXPECT_EQ(two.make().value(), 2u);
  const SwapPlan& swap = two.plan.swap.value();
  EXPECT_EQ(std::tuple(swap.cost.chunk, swap.cost.in_per_chunk, swap.cost.out_per_chunk, swap.cost.drop_per_chunk,
                       swap.cost.in_fixed, swap.cost.out_fixed),
            std::tuple(Bytes{chunk}, 1ns, 20ns, 3ns, 40ns, 5ns));
  EXPECT_EQ(swap.policy, SwapPolicy::rt_swap);
  EXPECT_EQ(swap.copy_engines, 2u);
  EXPECT_EQ(swap.store, "");
  two.set.device.swap_cost = {
      .in_per_chunk = 10ns, .out_per_chunk = {}, .in_fixed = {}, .out_fixed = 50ns, .drop_per_chunk = 30ns};
  two.make().value();
  EXPECT_EQ(std::tuple(swap.cost.in_per_chunk, swap.cost.out_per_chunk, swap.cost.drop_per_chunk, swap.cost.in_fixed,
                       swap.cost.out_fixed),
            std::tuple(10ns, 30ns, 30ns, 4ns, 50ns)); // a copy is charged at least as much as a drop
}

TEST(PlanMemory, IgnoresSwapCostsOfOtherStores) {
  Case two = overflowing();
  two.set.swap.policy = SwapPolicy::pageable;
  EXPECT_THAT(two.error().what, AllOf(HasSubstr("store \"pageable\" (none is calibrated)"),
                                      HasSubstr("run 'rtexec calibrate --store pageable'")));
  two.board.swap_costs.push_back(
      {.store = StoreKind::pageable, .chunk = {chunk}, .in_per_chunk = 70ns, .out_per_chunk = 80ns});
  two.make().value();
  EXPECT_EQ(two.plan.swap->cost.in_per_chunk, 70ns);
  two.set.swap.store = SwapStore{.file = "swap"};
  EXPECT_THAT(two.error().what, AllOf(HasSubstr("store \"file\" (none is calibrated)"),
                                      HasSubstr("run 'rtexec calibrate --store file:PATH'")));
  two.board.swap_costs.push_back(
      {.store = StoreKind::file, .chunk = {chunk}, .in_per_chunk = 700ns, .out_per_chunk = 800ns});
  two.make().value();
  EXPECT_EQ(two.plan.swap->cost.in_per_chunk, 700ns);
}

TEST(PlanMemory, RequiresBothCopyCostsWhenChunkIsNotCalibrated) {
  Case two = overflowing();
  two.board.swap_costs.clear();
  EXPECT_EQ(two.error().code, Errc::bad_input);
  EXPECT_THAT(two.error().what, AllOf(HasSubstr("chunks of 4KiB and store \"pinned\" (none is calibrated)"),
                                      HasSubstr("run 'rtexec calibrate --store pinned'")));
  two.board.swap_costs = {{.chunk = {2 * chunk}}, {.chunk = {mib}}};
  EXPECT_THAT(two.error().what, HasSubstr("(8KiB, 1MiB are calibrated)"));
  two.set.device.swap_cost.in_per_chunk = 7ns;
  EXPECT_EQ(two.error().code, Errc::bad_input);
  two.set.device.swap_cost.out_per_chunk = 8ns;
  EXPECT_EQ(two.make().value(), 2u);
  EXPECT_EQ(two.plan.swap->cost.chunk, Bytes{chunk});
  EXPECT_EQ(two.plan.swap->cost.drop_per_chunk, 8ns);
  two.set.device.swap_cost.drop_per_chunk = 1ns;
  two.make().value();
  EXPECT_EQ(two.plan.swap->cost.drop_per_chunk, 1ns);
  two.set.device.swap_cost.in_fixed = Duration::max();
  EXPECT_THAT(two.error().what, HasSubstr("out of range"));
  two.capacity(8);
  two.board.swap_costs.clear();
  two.set.device.swap_cost = {};
  EXPECT_EQ(two.make().value(), 0u) << "where everything fits, no cost is needed";
}

TEST(PlanMemory, UsesFileStoreOnUnifiedMemory) {
  Case two = overflowing();
  two.board.swap_costs.push_back(two.board.swap_costs.front());
  two.board.swap_costs.back().store = StoreKind::file;
  two.board.unified_memory = true;
  two.make().value();
  EXPECT_EQ(two.plan.swap->store, "rtexec.swap");
  two.set.file = "sets/front.toml";
  two.make().value();
  EXPECT_EQ(two.plan.swap->store, "sets/front.swap");
  two.set.swap.store = SwapStore{};
  two.make().value();
  EXPECT_EQ(two.plan.swap->store, "") << "asked for";
  two.board.unified_memory = false;
  two.set.swap.store = SwapStore{"/data/swap"};
  two.make().value();
  EXPECT_EQ(two.plan.swap->store, "/data/swap");
}

// ---- choice of slots ----

/// Returns a case whose task a has constants of 1 and 3 chunks, state of 2 and 4 chunks, and one more chunk of state.
/// That last chunk contains the end of the large object and a small object.
Case ordered(SwapPolicy policy, SwapCandidates candidates) {
  Case two(policy);
  two.set.swap.candidates = candidates;
  two.add({.constant = chunks(4),
           .scratch = chunks(2),
           .state = chunks(7),
           .fixed = chunks(1),
           .objects = {{MemoryClass::constant, {0}, chunks(1)},
                       {MemoryClass::constant, chunks(1), chunks(3)},
                       {MemoryClass::state, {0}, chunks(2)},
                       {MemoryClass::state, chunks(2), {4 * chunk + 1}},
                       {MemoryClass::state, {6 * chunk + 1}, {chunk - 1}},
                       {MemoryClass::scratch, {0}, {2 * chunk - 1}},
                       {MemoryClass::scratch, {chunk}, {chunk / 2}}}});
  two.add({.state = chunks(20)});
  two.capacity(30);
  return two;
}

TEST(SwapVolumes, TakeConstantsThenChunksOfLargestObjects) {
  Case two = ordered(SwapPolicy::pipelined, SwapCandidates::constants_first);
  const std::uint32_t overflow = two.make().value();
  ASSERT_EQ(overflow, 4u);
  assign_volumes(two.plan, two.set, Volumes{11, 3}, overflow);
  const PlannedTask& task = two.plan.tasks[0];
  EXPECT_THAT(slots(task), ElementsAre(1, 2, 3, 0, 6, 7, 8, 9, 10, 4, 5));
  for (const SwapSlot& each : task.swap_slots) EXPECT_EQ(each.copied_out, each.slot >= 4);
  EXPECT_EQ(task.swap_volume, chunks(11));
  EXPECT_THAT(slots(two.plan.tasks[1]), ElementsAre(0, 1, 2));
  EXPECT_EQ(two.plan.swap->frames, 10u);

  assign_volumes(two.plan, two.set, Volumes{2, 3}, overflow);
  EXPECT_THAT(slots(task), ElementsAre(1, 2));
  EXPECT_EQ(two.plan.swap->frames, 1u);

  two.set.swap.candidates = SwapCandidates::largest_first;
  assign_volumes(two.plan, two.set, Volumes{9, 3}, overflow);
  EXPECT_THAT(slots(task), ElementsAre(6, 7, 8, 9, 10, 1, 2, 3, 4));
  for (const SwapSlot& each : task.swap_slots) EXPECT_EQ(each.copied_out, each.slot >= 4);
}

TEST(SwapVolumes, IncludeScratchAndCopyOutAllUnderBaselinePolicies) {
  Case two = ordered(SwapPolicy::rt_swap, SwapCandidates::constants_first);
  const std::uint32_t overflow = two.make().value();
  assign_volumes(two.plan, two.set, Volumes{13, 0}, overflow);
  EXPECT_THAT(slots(two.plan.tasks[0]), ElementsAre(6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 12, 13, 0))
      << "the fixed slot 11 stays";
  EXPECT_TRUE(std::ranges::all_of(two.plan.tasks[0].swap_slots, &SwapSlot::copied_out));
}

TEST(SwapVolumes, IncludeEveryChunkUnderOnDemandPaging) {
  Case two = ordered(SwapPolicy::lru, SwapCandidates::largest_first);
  const std::uint32_t overflow = two.make().value();
  const auto volumes = two.volumes(overflow);
  ASSERT_THAT(volumes, ElementsAre(Volumes{14, 20}));
  assign_volumes(two.plan, two.set, volumes[0], overflow);
  EXPECT_EQ(two.plan.swap->frames, 30u);
  EXPECT_THAT(slots(two.plan.tasks[0]), Contains(11u));
}

TEST(SwapVolumes, TakePaddingLast) {
  Case two(SwapPolicy::mo_vmm);
  two.add(
      {.state = chunks(2),
       .fixed = chunks(1),
       .objects = {{MemoryClass::state, {0}, {chunk / 2}}, {MemoryClass::state, {chunk / 2}, {chunk + chunk / 2}}}});
  two.add({.state = chunks(8)});
  two.capacity(9);
  const std::uint32_t overflow = two.make().value();
  assign_volumes(two.plan, two.set, Volumes{3, 8}, overflow);
  EXPECT_THAT(slots(two.plan.tasks[0]), ElementsAre(0, 1, 3));
}

// ---- number of slots ----

/// Returns true if the memory of `plan`, whose slots are assigned, suffices. A second implementation of the rule.
bool works(const Case& given) {
  const Plan& plan = given.plan;
  const SwapPlan& swap = *plan.swap;
  std::uint64_t resident = 0;
  std::uint64_t scratch = 0;
  bool copied = false;
  for (const PlannedTask& task : plan.tasks) {
    const std::uint64_t kept = task.arena.slots() - task.swap_slots.size();
    resident += plan.shared_scratch ? kept - task.arena.scratch : kept;
    if (plan.shared_scratch) scratch = std::max<std::uint64_t>(scratch, task.arena.scratch);
    for (const SwapSlot& slot : task.swap_slots) copied = copied || slot.copied_out;
  }
  if (resident + scratch + swap.frames != plan.capacity.count / plan.chunk.count) return false;
  const auto out = (copied ? swap.cost.out_per_chunk : swap.cost.drop_per_chunk).count();
  const auto in = swap.cost.in_per_chunk.count();
  const auto alpha = swap.copy_engines == 1 ? in + out : std::max(in, out);
  for (std::size_t k = 0; k < plan.tasks.size(); ++k) {
    const std::size_t own = plan.tasks[k].swap_slots.size();
    if (own > swap.frames) return false;
    if (own == 0 || swap.policy != SwapPolicy::pipelined) continue;
    bool beside = true;
    for (std::size_t j = 0; j < plan.tasks.size(); ++j)
      beside = beside && (j == k || own + plan.tasks[j].swap_slots.size() <= swap.frames);
    const auto execution = (given.set.tasks[k].wcet->device + 2 * given.board.dispatch).count();
    if (!beside && alpha * static_cast<std::int64_t>(swap.frames - own) < execution) return false;
  }
  return true;
}

/// True if `volumes` work when assigned to a copy of the plan.
bool works(Case given, const Volumes& volumes, std::uint32_t overflow) {
  if (std::accumulate(volumes.begin(), volumes.end(), 0u) < overflow) return false;
  assign_volumes(given.plan, given.set, volumes, overflow);
  return works(given);
}

/// True if every job can load its chunks, whether or not it is proved.
bool executes(const Case& given, const Volumes& volumes, std::uint32_t overflow) {
  const std::uint32_t all = std::accumulate(volumes.begin(), volumes.end(), 0u);
  return all >= overflow && std::ranges::max(volumes) <= all - overflow && volumes.size() == given.set.tasks.size();
}

std::uint32_t swappable(const Plan& plan, const Arena& arena) {
  if (plan.swap->policy == SwapPolicy::lru) return arena.slots();
  return arena.constant + arena.state + (plan.shared_scratch ? 0 : arena.scratch + arena.padding);
}

/// Returns all volumes that work, by trying all.
std::set<Volumes> all_that_work(const Case& given, std::uint32_t overflow) {
  std::set<Volumes> result;
  Volumes volumes(given.set.tasks.size());
  const std::function<void(std::size_t)> choose = [&](std::size_t i) {
    if (i == volumes.size()) {
      if (works(given, volumes, overflow)) result.insert(volumes);
      return;
    }
    const std::uint32_t most = swappable(given.plan, given.plan.tasks[i].arena);
    std::uint32_t first = 0, last = most;
    if (given.plan.swap->policy == SwapPolicy::lru) first = most;
    if (const auto& by_hand = given.set.tasks[i].swap_volume)
      first = last = static_cast<std::uint32_t>((by_hand->count + chunk - 1) / chunk);
    for (volumes[i] = first; volumes[i] <= last; ++volumes[i]) choose(i + 1);
  };
  choose(0);
  return result;
}

using Random = std::mt19937;
int draw(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

MemoryDemand random_memory(Random& random) {
  const auto some = [&] {
    return draw(random, 0, 1) == 0 ? Bytes{0} : Bytes{static_cast<std::uint64_t>(draw(random, 1, 4 * chunk))};
  };
  MemoryDemand demand{.constant = some(), .scratch = some(), .state = some(), .fixed = some()};
  for (std::uint64_t at = 0; at < demand.state.count && draw(random, 0, 3) > 0;) {
    const std::uint64_t size =
        std::min<std::uint64_t>(demand.state.count - at, static_cast<std::uint64_t>(draw(random, 1, 2 * chunk)));
    demand.objects.push_back({MemoryClass::state, {at}, {size}});
    at += size;
  }
  return demand;
}

Case random_case(Random& random) {
  static constexpr SwapPolicy policies[] = {SwapPolicy::pipelined, SwapPolicy::pipelined, SwapPolicy::pipelined,
                                            SwapPolicy::rt_swap,   SwapPolicy::mo_vmm,    SwapPolicy::min,
                                            SwapPolicy::pageable,  SwapPolicy::lru};
  Case result(policies[draw(random, 0, 7)]);
  result.set.swap.candidates =
      draw(random, 0, 1) == 0 ? SwapCandidates::constants_first : SwapCandidates::largest_first;
  result.board.copy_engines = static_cast<unsigned>(draw(random, 1, 2));
  const Duration out(draw(random, 0, 6));
  SwapCost& cost = result.board.swap_costs.front();
  cost.in_per_chunk = Duration(draw(random, 0, 6));
  cost.out_per_chunk = out;
  cost.drop_per_chunk = Duration(draw(random, 0, static_cast<int>(out.count())));
  result.board.dispatch = Duration(draw(random, 0, 2));
  for (int i = draw(random, 1, 4); i > 0; --i) {
    Task& task = result.add(random_memory(random), Duration(draw(random, 100, 1000)), Duration(draw(random, 1, 30)));
    if (draw(random, 0, 5) == 0) task.criticality = Criticality::best_effort;
    if (draw(random, 0, 7) == 0) task.swap_volume = Bytes{static_cast<std::uint64_t>(draw(random, 0, 4 * chunk))};
  }
  result.capacity(static_cast<std::uint64_t>(draw(random, 1, 30)));
  return result;
}

TEST(SwapVolumes, AreFeasibleAndProposedWheneverAnyAreFeasible) {
  Random random(4);
  int proposed = 0, refused = 0, by_hand = 0;
  for (int run = 0; run < 3'000; ++run) {
    Case tried = random_case(random);
    const auto overflow = tried.make();
    if (overflow && *overflow == 0) continue;
    if (!tried.plan.swap || (!overflow && overflow.error().code == Errc::bad_input)) {
      const bool alone = std::ranges::any_of(
          tried.plan.tasks, [&](const PlannedTask& task) { return chunks(task.arena.slots()) > tried.plan.capacity; });
      const bool too_much =
          tried.plan.swap && std::ranges::any_of(tried.plan.tasks, [&](const PlannedTask& task) {
            const auto& given = tried.set.tasks[static_cast<std::size_t>(&task - tried.plan.tasks.data())].swap_volume;
            return given && *given > chunks(swappable(tried.plan, task.arena));
          });
      EXPECT_TRUE(alone || too_much) << overflow.error().what;
      continue;
    }
    const auto missing = static_cast<std::uint32_t>((tried.plan.demand - tried.plan.capacity).count / chunk);
    const std::set<Volumes> all = all_that_work(tried, missing);
    const std::vector<Volumes> found = tried.volumes(missing);
    ASSERT_EQ(overflow.has_value(), !found.empty()) << run;
    ASSERT_EQ(std::set(found.begin(), found.end()).size(), found.size());
    for (const Volumes& each : found)
      ASSERT_TRUE(all.empty() ? executes(tried, each, missing) : all.contains(each))
          << run << ": " << testing::PrintToString(each);
    ASSERT_TRUE(all.empty() || !found.empty()) << run;
    ++(all.empty() ? refused : proposed);
    by_hand += !all.empty() &&
               std::ranges::any_of(tried.set.tasks, [](const Task& task) { return task.swap_volume > Bytes{0}; });
  }
  EXPECT_GT(proposed, 200);
  EXPECT_GT(refused, 150);
  EXPECT_GT(by_hand, 30);
}

/// Returns the case study of RT-Swap, Tables III and IV: DenseNet 416, ResNet 256 and four ResNext 608, in chunks of 32
/// MB.
Case case_study(SwapPolicy policy, std::uint64_t capacity) {
  Case six(policy);
  six.board.capacity = six.board.chunk = Bytes{32 * mib};
  six.board.capacity = six.board.chunk * capacity;
  six.board.copy_engines = 2;
  six.board.swap_costs = {{.chunk = six.board.chunk, .in_per_chunk = 2830us, .out_per_chunk = 2620us}};
  const auto network = [&](double footprint, double swappable, Duration period, Duration execution) {
    constexpr double gib = 1024.0 * mib;
    six.add({.state = {static_cast<std::uint64_t>(swappable * gib)},
             .fixed = {static_cast<std::uint64_t>((footprint - swappable) * gib)}},
            period, execution);
  };
  network(1.6, 0.9, 600ms, 34ms);
  network(1.4, 0.7, 600ms, 29ms);
  for (const Duration period : {900ms, 900ms, 1200ms, 1200ms}) network(5.7, 4.5, period, 63ms);
  return six;
}

TEST(SwapVolumes, MatchPublishedCaseStudyOfRtSwap) {
  Case six = case_study(SwapPolicy::rt_swap, 24 * 32);
  EXPECT_EQ(six.make().value(), 62u) << "(52 + 46 + 4 * 183) chunks for 768";
  EXPECT_EQ(six.volumes(62).front(), (Volumes{0, 0, 21, 20, 21, 21}));

  six = case_study(SwapPolicy::rt_swap, 24 * 32 + 8); // its overflow is 1.7 GB, as in the paper
  EXPECT_EQ(six.make().value(), 54u);
  EXPECT_EQ(six.volumes(54).front(), (Volumes{0, 0, 18, 18, 18, 18})) << "Table IV: 576 MB each";
}

TEST(SwapVolumes, LeaveRoomToLoadNextJobDuringExecution) {
  Case six = case_study(SwapPolicy::pipelined, 24 * 32);
  ASSERT_EQ(six.make().value(), 62u);
  const auto volumes = six.volumes(62);
  // Loading 23 chunks takes 63 ms: P - x_k >= 23 must hold, or two tasks must fit into P.
  EXPECT_FALSE(works(six, {0, 0, 21, 20, 21, 21}, 62)) << "P = 21";
  EXPECT_TRUE(works(six, {0, 0, 31, 30, 31, 31}, 62)) << "P = 61: not two, but 30 can land beside 31";
  for (const Volumes& each : volumes) EXPECT_TRUE(works(six, each, 62));
}

TEST(SwapVolumes, PreferLongPeriodAndBestEffortTasks) {
  Case four(SwapPolicy::rt_swap);
  four.add({.state = chunks(10)}, 100ms);
  four.add({.state = chunks(10)}, 400ms);
  four.add({.state = chunks(10)}, 200ms);
  four.add({.state = chunks(10)}, 50ms).criticality = Criticality::best_effort;
  four.capacity(32);
  const std::uint32_t overflow = four.make().value();
  ASSERT_EQ(overflow, 8u);
  for (const Volumes& volumes : four.volumes(overflow))
    EXPECT_GE(std::min(volumes[1], volumes[3]), std::max(volumes[0], volumes[2]));
  EXPECT_THAT(four.volumes(overflow), Contains(Volumes{0, 4, 4, 4}));
}

TEST(SwapVolumes, AreFoundForManyTasksInSmallChunks) {
  Case many;
  for (int i = 0; i < 100; ++i)
    many.add({.constant = chunks(600), .state = chunks(20)}, Duration(1'000'000 + i), Duration(5'000 + i));
  many.board.capacity = chunks(20'000);
  const std::uint32_t overflow = many.make().value();
  const auto volumes = many.volumes(overflow);
  EXPECT_FALSE(volumes.empty());
  for (const Volumes& each : volumes) ASSERT_TRUE(works(many, each, overflow));
}

} // namespace
} // namespace rtexec::policies
