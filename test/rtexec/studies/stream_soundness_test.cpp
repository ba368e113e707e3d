// Attacks plans whose tasks stream their constants. Random sets at the edge of acceptance run in the simulator under
// adversarial releases, execution times, transfer times and contents of the frames; no job may end after its bound.
//
// RTEXEC_SOUNDNESS_SETS: sets, instead of the few that a normal run can afford.
#include "policies/admission/admission.hpp"
#include "test/rtexec/studies/soundness_budget.hpp"
#include "test/support/resolved.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <sstream>
#include <string>

namespace rtexec::simulator {
namespace {

using policies::LayeredTask;
using test::random_cost;

constexpr Bytes chunk{4096};

struct StreamSet {
  TaskSet tasks;
  Board board;
  std::vector<MemoryDemand> memory;
  std::vector<LayeredTask> layered;
};

std::uint32_t up_to(Random& random, std::uint32_t most) { return static_cast<std::uint32_t>(draw(random, 0, most)); }

/// Draws a device part of some layers that read `chunks` chunks, each layer at most `most` of them.
LayeredTask random_layers(Random& random, std::uint32_t chunks, std::uint32_t most) {
  LayeredTask task;
  SlotRange read;
  while (read.end < chunks || task.reads.empty()) {
    const std::uint32_t begin = read.begin + up_to(random, read.size());
    read = {begin, std::min({chunks, begin + most, read.end + up_to(random, most)})};
    task.reads.push_back(read);
    task.layers.times.push_back(draw(random, 0, 12));
  }
  task.layers.times.back() += 1;
  task.layers.overheads.assign(task.layers.times.size() - 1, 0);
  return task;
}

void add_task(StreamSet& set, Random& random) {
  const std::uint32_t chunks = up_to(random, 12);
  const bool streams = chunks >= 2 && chance(random, 60);
  const std::uint32_t most = 1 + up_to(random, 2);
  LayeredTask layered = random_layers(random, chunks, most);
  const auto device = std::accumulate(layered.layers.times.begin(), layered.layers.times.end(), std::int64_t{0});
  Task& task = set.tasks.tasks.emplace_back();
  task.name = "t" + std::to_string(set.tasks.tasks.size());
  task.wcet = Wcet{.device = Duration(device)};
  task.core = static_cast<unsigned>(set.tasks.tasks.size());
  task.priority = 100 - static_cast<int>(set.tasks.tasks.size());
  if (streams) {
    task.constants = Constants::streamed;
    if (chance(random, 70)) task.stream_chunks = most + up_to(random, chunks - std::min(chunks, most));
  }
  layered.streams = streams;
  task.period = task.deadline = Duration((device + 3 * chunks) * draw(random, 1, 6));
  set.memory.push_back({.constant = chunk * chunks});
  set.layered.push_back(std::move(layered));
}

StreamSet random_set(Random& random) {
  StreamSet set;
  set.tasks.executive = {.order = chance(random, 50) ? Order::edf : Order::static_priority,
                         .priorities = PriorityAssignment::explicit_priorities,
                         .duration = {},
                         .profile = {}};
  for (std::int64_t n = draw(random, 1, 4); n > 0; --n) add_task(set, random);
  std::uint32_t all = 0;
  for (const MemoryDemand& each : set.memory) all += static_cast<std::uint32_t>(each.constant.count / chunk.count);
  set.board.capacity = chunk * (1 + up_to(random, all + 2));
  set.board.chunk = chunk;
  set.board.copy_engines = static_cast<unsigned>(draw(random, 1, 2));
  set.board.service_core = 100; // the simulation has no costs of decisions and copies: they must burden no task
  set.board.memory_policies = {MemoryPolicy::device};
  set.board.swap_costs = {test::charged(random_cost(random))};
  set.board.swap_costs.front().chunk = chunk;
  return set;
}

std::optional<Claim> admitted(const StreamSet& set) {
  auto plan = policies::make_plan(test::resolved(set.tasks, set.board), set.memory, set.layered);
  const auto streams = [](const PlannedTask& task) { return task.stream.has_value(); };
  if (!plan || !plan->proved || std::ranges::none_of(plan->tasks, streams)) return std::nullopt;
  Claim claim;
  claim.tasks = set.tasks;
  claim.plan = std::move(*plan);
  return claim;
}

/// Finds the shortest periods and deadlines that are still accepted.
std::optional<Claim> at_the_edge(const StreamSet& original) {
  std::optional<Claim> best;
  for (std::int64_t low = 4, high = 1024; high - low > 1;) {
    const std::int64_t middle = (low + high) / 2;
    StreamSet set = original;
    for (Task& task : set.tasks.tasks) task.period = task.deadline = std::max(Duration(1), task.period * middle / 64);
    auto accepted = admitted(set);
    (accepted ? high : low) = middle;
    if (accepted) best = std::move(accepted);
  }
  return best;
}

std::string shapes_of(const Plan& plan) {
  std::ostringstream text;
  for (const PlannedTask& task : plan.tasks) {
    text << task.name << ": class " << task.device_class << ", segments";
    for (const Duration each : task.segment_wcets) text << " " << each.count();
    if (task.stream) text << ", ring " << task.stream->ring << ", reads";
    if (task.stream)
      for (const SlotRange& read : task.stream->reads) text << " " << read.begin << "-" << read.end;
    text << ", bound " << (task.response_bound ? task.response_bound->count() : -1) << "\n";
  }
  return text.str();
}

TEST(StreamSoundness, AcceptedSetsKeepEveryBound) {
  constexpr int attacks = 6;
  constexpr int steps = 40;
  const int wanted = test::sets_to_try(60);
  Random random(5);
  int sets = 0, several = 0;
  for (int attempt = 0; attempt < 100 * wanted && sets < wanted; ++attempt) {
    const auto claim = at_the_edge(random_set(random));
    if (!claim) continue;
    ++sets;
    several += claim->plan.tasks.size() > 1 ? 1 : 0;
    for (int i = 0; i < attacks; ++i) {
      const auto found = Adversary(*claim, random).attack(steps);
      ASSERT_FALSE(found) << test::describe(*claim, *found) << test::describe(*claim) << shapes_of(claim->plan);
    }
  }
  EXPECT_EQ(sets, wanted);
  EXPECT_GE(several, wanted / 2);
}

} // namespace
} // namespace rtexec::simulator
