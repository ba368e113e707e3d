// Tests memory that is freed in the order of streams, against a model that knows which stream may use it.
#include "rtexec/sharing/preload/pending_frees.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace rtexec::preload {
namespace {

using client::Arena;
using hal::cuda::Code;
using hal::cuda::Event;
using hal::cuda::Stream;

/// Events are numbers. Those in `reached` have happened.
std::set<Event> reached, alive;
Code query(Event event) { return reached.contains(event) ? Code::success : Code::not_ready; }
Code destroy(Event event) { return alive.erase(event) == 1 ? Code::success : Code::invalid_handle; }

class PendingFreesTest : public testing::Test {
 protected:
  PendingFreesTest() {
    driver.event_query = query;
    driver.event_destroy = destroy;
    reached.clear();
    alive.clear();
  }
  Event event() {
    const auto made = reinterpret_cast<Event>(++last_);
    alive.insert(made);
    return made;
  }
  static Stream stream(std::uintptr_t number) { return reinterpret_cast<Stream>(number * 16); }

  RealDriver driver{};
  Arena arena{16, {65536}};
  PendingFrees frees;

 private:
  std::uintptr_t last_ = 0;
};

TEST_F(PendingFreesTest, ReusesBlockOnItsStreamAtOnceAndElsewhereAfterEvent) {
  const auto block = *arena.allocate({10240});
  const auto when = event();
  frees.add({block, stream(1), when});
  EXPECT_TRUE(frees.has(block.offset));
  frees.reclaim(driver, arena);
  EXPECT_TRUE(arena.find(block.offset));
  EXPECT_FALSE(frees.reuse(driver, arena, {512}, stream(2)));
  EXPECT_FALSE(frees.reuse(driver, arena, {10241}, stream(1)));
  const auto part = frees.reuse(driver, arena, {1000}, stream(1));
  ASSERT_TRUE(part);
  EXPECT_EQ(*part, (Arena::Block{block.offset, {1024}}));
  reached.insert(when);
  frees.reclaim(driver, arena);
  EXPECT_EQ(arena.used().count, 1024U);
  EXPECT_TRUE(alive.empty());
}

TEST_F(PendingFreesTest, WithholdsBlockOfDestroyedStreamUntilItsEvent) {
  const auto block = *arena.allocate({4096});
  frees.add({block, stream(1), event()});
  frees.forget(stream(1));
  EXPECT_FALSE(frees.reuse(driver, arena, {512}, stream(1)));
  EXPECT_EQ(frees.oldest()->block, block);
  EXPECT_FALSE(frees.oldest());
}

/// No two streams ever own a byte at once, and in the end no memory is lost.
TEST_F(PendingFreesTest, NeverGivesMemoryToTwoStreams) {
  std::mt19937 engine(5);
  struct Owned {
    Arena::Block block;
    std::uintptr_t stream;
  };
  std::vector<Owned> owned;
  std::map<Event, Owned> freed; // and not yet reached
  std::vector<Event> order;
  const auto conflicts = [&](const Owned& mine) {
    const auto meet = [&](const Owned& other) {
      return other.block.offset < mine.block.offset + mine.block.size &&
             mine.block.offset < other.block.offset + other.block.size;
    };
    for (const auto& each : owned)
      if (meet(each)) return true;
    for (const auto& [when, each] : freed)
      if (meet(each) && each.stream != mine.stream) return true;
    return false;
  };
  for (int step = 0; step < 5000; ++step) {
    const std::uintptr_t who = 1 + engine() % 3;
    frees.reclaim(driver, arena);
    if (engine() % 2 == 0) {
      const Bytes size{1 + engine() % 100000};
      auto block = engine() % 2 == 0 ? frees.reuse(driver, arena, size, stream(who)) : std::nullopt;
      if (!block) block = arena.allocate(size);
      if (!block) continue;
      ASSERT_GE(block->size.count, size.count);
      ASSERT_FALSE(conflicts({*block, who})) << step;
      owned.push_back({*block, who});
    } else if (!owned.empty()) {
      const auto at = owned.begin() + static_cast<std::ptrdiff_t>(engine() % owned.size());
      const auto when = event();
      frees.add({at->block, stream(at->stream), when});
      freed[when] = *at;
      order.push_back(when);
      owned.erase(at);
    }
    if (engine() % 3 == 0 && !order.empty()) { // streams advance, each in its order
      reached.insert(order.front());
      freed.erase(order.front());
      order.erase(order.begin());
    }
  }
  for (const auto when : order) reached.insert(when);
  frees.reclaim(driver, arena);
  for (const auto& each : owned) ASSERT_TRUE(arena.free(each.block.offset));
  EXPECT_EQ(arena.used().count, 0U);
  EXPECT_TRUE(alive.empty());
}

} // namespace
} // namespace rtexec::preload
