// Tests where jobs with streamed constants are cut, and through how many frames the constants pass.
#include "policies/segments/stream_plan.hpp"
#include "test/policies/plan_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace rtexec::policies {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

using Random = std::mt19937_64;
using Reads = std::vector<SlotRange>;

TEST(StreamPlan, OrdersReadsOfLayers) {
  EXPECT_EQ(in_order({{0, 2}, {1, 3}, {3, 4}}, 4), (Reads{{0, 2}, {1, 3}, {3, 4}}));
  EXPECT_EQ(in_order({{0, 2}, {2, 3}, {1, 4}}, 4), (Reads{{0, 2}, {1, 3}, {1, 4}})) << "an early one is read again";
  EXPECT_EQ(in_order({{0, 1}, {0, 0}, {1, 2}}, 2), (Reads{{0, 1}, {1, 1}, {1, 2}})) << "one layer reads none";
  EXPECT_EQ(in_order({{0, 1}, {2, 3}}, 5), (Reads{{0, 1}, {1, 5}})) << "what nobody reads comes, too";
}

TEST(StreamPlan, CutsBeforeEachFirstReadOfAChunk) {
  const Reads reads{{0, 1}, {0, 1}, {0, 2}, {1, 2}, {1, 3}, {3, 4}};
  const Cuts cuts = stream_cuts(reads);
  EXPECT_THAT(cuts, ElementsAre(1, 3, 4));
  EXPECT_EQ(reads_of(reads, cuts), (Reads{{0, 1}, {0, 2}, {1, 3}, {3, 4}}));
}

TEST(StreamPlan, MakesServableStreamOfAnyReads) {
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto chunks = static_cast<std::uint32_t>(1 + random() % 12);
    Reads reads(1 + random() % 10);
    for (SlotRange& each : reads) {
      each.begin = static_cast<std::uint32_t>(random() % chunks);
      each.end = each.begin + static_cast<std::uint32_t>(random() % (chunks - each.begin + 1));
    }
    const Reads ordered = in_order(reads, chunks), cut = reads_of(ordered, stream_cuts(ordered));
    ASSERT_EQ(in_order(ordered, chunks), ordered);
    for (const Reads& each : {ordered, cut}) {
      ASSERT_EQ(each.front().begin, 0u);
      ASSERT_EQ(each.back().end, chunks);
      for (std::size_t j = 1; j < each.size(); ++j) {
        ASSERT_LE(each[j - 1].begin, each[j].begin);
        ASSERT_LE(each[j].begin, each[j - 1].end);
        ASSERT_LE(each[j - 1].end, each[j].end);
      }
    }
    for (std::size_t j = 0; j < reads.size(); ++j) {
      ASSERT_LE(ordered[j].begin, reads[j].size() > 0 ? reads[j].begin : chunks);
      ASSERT_GE(ordered[j].end, reads[j].size() > 0 ? reads[j].end : 0);
    }
    for (std::size_t j = 1; j < cut.size(); ++j) ASSERT_LT(cut[j - 1].end, cut[j].end);
  }
}

TEST(StreamPlan, SizesRingByExecutionAndCopyTimes) {
  std::vector<StreamLayer> layers;
  for (std::uint32_t chunk = 0; chunk < 16; ++chunk) layers.push_back({.time = 100, .begin = chunk, .end = chunk + 1});
  EXPECT_EQ(ring_for(layers, {.copy = 50}), 2u) << "the next one comes beside each layer";
  EXPECT_EQ(ring_for(layers, {.copy = 1000}), 1u) << "the engine is always busy";
  EXPECT_GT(ring_for(layers, {.copy = 90, .in_flight = 200}), 3u) << "what others move is in the way";
  layers[7].end = layers[8].end = 12;
  for (std::size_t j = 9; j < 16; ++j)
    layers[j].begin = std::max(layers[j].begin, 8U), layers[j].end = std::max(layers[j].end, 12U);
  EXPECT_GE(ring_for(layers, {.copy = 50}), 5u) << "one layer reads five";
}

// ---- plans ----

constexpr Bytes chunk{4096};

/// A task of 16 layers of 10 ms, each of which reads a chunk, together with a short task.
struct Streaming {
  TaskSet tasks;
  Board board = test::board_of();
  std::vector<MemoryDemand> memory;
  std::vector<LayeredTask> layered;

  Streaming() {
    tasks.tasks = {test::task_of("front", 100ms, {0ns, 5ms, 0ns}, 0),
                   test::task_of("large", 1000ms, {0ns, 160ms, 0ns}, 1)};
    tasks.tasks[1].constants = Constants::streamed;
    memory = {{}, {.constant = chunk * 16}};
    layered.resize(2);
    layered[0].layers.times = {5'000'000};
    LayeredTask& large = layered[1];
    large.layers.times.assign(16, 10'000'000);
    large.layers.overheads.assign(15, 0);
    large.layers.tensors = {{chunk, 0, 15}};
    for (std::uint32_t i = 0; i < 16; ++i) large.reads.push_back({i, i + 1});
    large.streams = true;
    board.capacity = chunk * 8;
    board.chunk = chunk;
    board.swap_costs = {SwapCost{.chunk = chunk, .in_per_chunk = 2ms, .out_per_chunk = 2ms, .drop_per_chunk = 1ms}};
  }
  Result<Plan> plan() const { return make_plan(test::resolved(tasks, board), memory, layered); }
};

TEST(StreamedPlans, ReserveMemoryForRingInsteadOfAllConstants) {
  const Streaming streaming;
  const auto plan = streaming.plan();
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_TRUE(plan->proved) << plan->end_to_end.explanation;
  const PlannedTask& large = plan->tasks[1];
  ASSERT_TRUE(large.stream);
  EXPECT_LT(large.stream->ring, 8u);
  EXPECT_EQ(large.segments, 16u);
  EXPECT_EQ(large.stream->reads.size(), 16u);
  EXPECT_EQ(large.swap_slots.size(), 16u);
  EXPECT_EQ(large.begins_with(), large.stream->ring);
  EXPECT_EQ(plan->swap->frames, large.stream->ring);
  EXPECT_EQ(plan->demand, chunk * (large.stream->ring + 1)) << "and what lives across cuts";
  EXPECT_GE(large.stream->execution, 160ms);
  EXPECT_GE(*large.response_bound, large.stream->execution + 2ms * large.stream->ring);
}

TEST(StreamedPlans, KeepGivenRingSize) {
  Streaming streaming;
  streaming.tasks.tasks[1].stream_chunks = 5;
  const auto plan = streaming.plan();
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->tasks[1].stream->ring, 5u);
  streaming.tasks.tasks[1].stream_chunks = 40;
  streaming.board.capacity = chunk * 20;
  const auto whole = streaming.plan();
  ASSERT_TRUE(whole) << whole.error().what;
  EXPECT_FALSE(whole->tasks[1].stream) << "nothing is left to stream";
  EXPECT_FALSE(whole->swap);
}

TEST(StreamedPlans, AreChosenWhenConstantsExceedTheDevice) {
  Streaming streaming;
  streaming.tasks.tasks[1].constants = Constants::automatic;
  streaming.layered[1].streams = false;
  const auto small = streaming.plan();
  ASSERT_TRUE(small) << small.error().what;
  EXPECT_TRUE(small->proved);
  EXPECT_TRUE(small->tasks[1].stream) << "it is larger than the device";
  streaming.board.capacity = chunk * 20;
  EXPECT_FALSE(streaming.plan()->tasks[1].stream);
}

TEST(StreamedPlans, RejectRingSmallerThanReadsOfOneLayer) {
  Streaming streaming;
  for (SlotRange& each : streaming.layered[1].reads) each = {0, 16};
  streaming.tasks.tasks[1].stream_chunks = 3;
  EXPECT_THAT(streaming.plan().error().what, HasSubstr("one of its layers reads 16 chunks"));
}

TEST(StreamedPlans, RequirePipelinedSwapPolicy) {
  Streaming streaming;
  streaming.tasks.swap.policy = SwapPolicy::serial;
  EXPECT_THAT(streaming.plan().error().what, HasSubstr("[swap] policy = \"pipelined\""));
}

} // namespace
} // namespace rtexec::policies
