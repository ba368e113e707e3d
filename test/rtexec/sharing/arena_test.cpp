// Tests the allocator of a client's addresses against a list of intervals.
#include "rtexec/sharing/client/arena.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <vector>

namespace rtexec::client {
namespace {

constexpr std::uint64_t KiB = 1 << 10, MiB = 1 << 20;

/// Computes what an arena must do, by examining every object each time.
class Oracle {
 public:
  struct Gap {
    std::uint64_t begin, end;
  };
  Oracle(std::size_t slots, std::uint64_t slot) : slots_(slots), slot_(slot) {}

  void add(Arena::Block block) { objects_[block.offset.count] = block.offset.count + block.size.count; }
  void remove(std::uint64_t offset) { objects_.erase(offset); }
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& objects() const { return objects_; }

  [[nodiscard]] bool is_free(std::uint64_t begin, std::uint64_t end) const {
    return std::ranges::none_of(objects_,
                                [&](const auto& object) { return object.first < end && begin < object.second; });
  }
  [[nodiscard]] bool uses(std::size_t slot) const { return !is_free(slot * slot_, (slot + 1) * slot_); }
  [[nodiscard]] std::size_t in_use() const {
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < slots_; ++slot) count += uses(slot);
    return count;
  }
  [[nodiscard]] std::size_t spanned() const {
    std::size_t last = 0;
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      if (uses(slot)) last = slot + 1;
    }
    return last;
  }
  [[nodiscard]] std::uint64_t used() const {
    std::uint64_t sum = 0;
    for (const auto& [begin, end] : objects_) sum += end - begin;
    return sum;
  }
  [[nodiscard]] std::vector<Gap> gaps() const {
    std::vector<Gap> found;
    std::uint64_t at = 0;
    for (const auto& [begin, end] : objects_) {
      if (at < begin) found.push_back({at, begin});
      at = end;
    }
    if (at < slots_ * slot_) found.push_back({at, slots_ * slot_});
    return found;
  }
  /// Returns the number of slots that an object in [begin, end) would be the first to use.
  [[nodiscard]] std::size_t fresh(std::uint64_t begin, std::uint64_t end) const {
    std::size_t count = 0;
    for (auto slot = begin / slot_; slot <= (end - 1) / slot_; ++slot) count += !uses(slot);
    return count;
  }

 private:
  std::size_t slots_;
  std::uint64_t slot_;
  std::map<std::uint64_t, std::uint64_t> objects_;
};

std::uint64_t up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

void expect_same(const Arena& arena, const Oracle& oracle) {
  ASSERT_EQ(arena.objects(), oracle.objects().size());
  ASSERT_EQ(arena.used().count, oracle.used());
  ASSERT_EQ(arena.slots_in_use(), oracle.in_use());
  ASSERT_EQ(arena.slots_spanned(), oracle.spanned());
  for (std::size_t slot = 0; slot < arena.slots(); ++slot) ASSERT_EQ(arena.uses(slot), oracle.uses(slot)) << slot;
}

/// Returns the gaps in which an object of this size may be placed. The gap at the end counts only if no other fits.
std::vector<Oracle::Gap> fitting(const Oracle& oracle, std::uint64_t size, std::uint64_t alignment, std::uint64_t end) {
  std::vector<Oracle::Gap> inner, last;
  for (const auto& gap : oracle.gaps()) {
    if (up(gap.begin, alignment) + size <= gap.end) (gap.end == end ? last : inner).push_back(gap);
  }
  return inner.empty() ? last : inner;
}

void expect_best(const Oracle& oracle, Arena::Block block, std::uint64_t alignment, std::uint64_t slot,
                 const std::vector<Oracle::Gap>& gaps) {
  const auto begin = block.offset.count, size = block.size.count;
  std::size_t fewest = ~std::size_t{0};
  for (const auto& gap : gaps) {
    const auto packed = up(gap.begin, alignment), at_slot = up(packed, std::max(slot, alignment));
    fewest = std::min(fewest, oracle.fresh(packed, packed + size));
    if (size >= slot && at_slot + size <= gap.end) fewest = std::min(fewest, oracle.fresh(at_slot, at_slot + size));
  }
  ASSERT_EQ(oracle.fresh(begin, begin + size), fewest);
}

TEST(Arena, MatchesReferenceModelOfIntervals) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937_64 engine(seed);
    const std::uint64_t slot = std::uint64_t{4096} << (engine() % 4);
    const std::size_t slots = 2 + engine() % 30;
    Arena arena(slots, {slot});
    Oracle oracle(slots, slot);
    for (int step = 0; step < 300; ++step) {
      if (engine() % 5 < 3 || oracle.objects().empty()) {
        const auto size = 1 + engine() % (engine() % 4 == 0 ? 3 * slot : slot / 2);
        const auto alignment = engine() % 3 == 0 ? std::uint64_t{512} << (engine() % 6) : 512;
        const auto rounded = up(size, 512);
        const auto gaps = fitting(oracle, rounded, alignment, slots * slot);
        const auto block = arena.allocate({size}, {alignment});
        ASSERT_EQ(block.has_value(), !gaps.empty()) << "seed " << seed << ", step " << step;
        if (!block) continue;
        ASSERT_EQ(block->offset.count % alignment, 0U);
        ASSERT_EQ(block->size.count, rounded);
        ASSERT_LE(block->offset.count + rounded, slots * slot);
        ASSERT_TRUE(oracle.is_free(block->offset.count, block->offset.count + rounded));
        if (gaps.size() <= 8) expect_best(oracle, *block, alignment, slot, gaps);
        oracle.add(*block);
      } else {
        auto object = oracle.objects().begin();
        std::advance(object, engine() % oracle.objects().size());
        const auto [begin, end] = *object;
        ASSERT_EQ(arena.find({begin + engine() % (end - begin)}), (Arena::Block{{begin}, {end - begin}}));
        ASSERT_FALSE(arena.free({begin + 1}));
        if (const auto left = up(1 + engine() % (end - begin), 512); engine() % 4 == 0) {
          ASSERT_EQ(arena.split({begin}, {left}), left < end - begin);
          ASSERT_FALSE(arena.split({begin + 1}, {512}));
          if (left == end - begin) continue;
          oracle.add({{begin}, {left}});
          oracle.add({{begin + left}, {end - begin - left}});
          expect_same(arena, oracle);
          continue;
        }
        ASSERT_TRUE(arena.free({begin}));
        ASSERT_FALSE(arena.free({begin}));
        ASSERT_FALSE(arena.find({begin}));
        ASSERT_FALSE(arena.split({begin}, {512}));
        oracle.remove(begin);
      }
      expect_same(arena, oracle);
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
    while (!oracle.objects().empty()) {
      ASSERT_TRUE(arena.free({oracle.objects().begin()->first}));
      oracle.remove(oracle.objects().begin()->first);
    }
    expect_same(arena, oracle);
    EXPECT_TRUE(arena.allocate({slots * slot})) << "all gaps are one again";
  }
}

TEST(Arena, RefusesEmptyAndOversizedRequests) {
  Arena arena(2, {4096});
  EXPECT_FALSE(arena.allocate({0}));
  EXPECT_FALSE(arena.allocate({8193}));
  EXPECT_FALSE(arena.allocate({~std::uint64_t{0}}));
  EXPECT_FALSE(arena.find({8192}));
  EXPECT_FALSE(arena.uses(2));
  EXPECT_FALSE(arena.free({0}));
  EXPECT_EQ(arena.objects(), 0U);
}

TEST(Arena, AlignsLargeObjectToSlotWhenNoExtraSlotIsUsed) {
  Arena arena(16, {64 * KiB});
  ASSERT_TRUE(arena.allocate({8 * KiB}));
  const auto whole = arena.allocate({128 * KiB});
  ASSERT_TRUE(whole);
  EXPECT_EQ(arena.slots_of(*whole), (Arena::Slots{1, 2}));
  const auto behind = arena.allocate({16 * KiB});
  ASSERT_TRUE(behind);
  EXPECT_EQ(arena.slots_of(*behind), (Arena::Slots{0, 1})) << "the rest of the first slot is not lost";

  const auto not_whole = arena.allocate({96 * KiB});
  ASSERT_TRUE(not_whole);
  EXPECT_EQ(arena.slots_of(*not_whole), (Arena::Slots{3, 2}));
  const auto fills_it_up = arena.allocate({96 * KiB});
  ASSERT_TRUE(fills_it_up);
  EXPECT_EQ(arena.slots_of(*fills_it_up), (Arena::Slots{4, 2})) << "by a slot of its own it would use one more";
  EXPECT_EQ(arena.slots_in_use(), 6U);
}

TEST(Arena, FreesWithoutAllocating) {
  Arena arena(64, {1 * MiB});
  std::vector<Arena::Block> blocks;
  std::mt19937 engine(5);
  for (int i = 0; i < 400; ++i) {
    if (const auto block = arena.allocate({1 + engine() % (256 * KiB)})) blocks.push_back(*block);
  }
  std::ranges::shuffle(blocks, engine);
  const auto before = test::allocations();
  for (const auto& block : blocks) EXPECT_TRUE(arena.free(block.offset));
  EXPECT_EQ(test::allocations(), before);
  EXPECT_EQ(arena.slots_in_use(), 0U);
}

/// Draws a block size as PyTorch's caching allocator requests it: 2 MiB for small tensors, 20 MiB for those up to 10
/// MiB, larger ones in multiples of 2 MiB. It frees blocks in bursts when it empties its cache.
std::uint64_t framework_block(std::mt19937& engine) {
  const auto kind = engine() % 20;
  if (kind < 10) return 2 * MiB;
  if (kind < 16) return 20 * MiB;
  return 2 * MiB * (6 + engine() % (kind < 19 ? 20 : 100));
}

TEST(Arena, WastesFewSlotsUnderFrameworkAllocations) {
  constexpr std::uint64_t slot = 64 * MiB, most = 3072 * MiB;
  struct Figure {
    double worst = 0, sum = 0;
    int count = 0;
    void add(std::size_t slots, Bytes used) {
      const auto waste = static_cast<double>(slots * slot) / static_cast<double>(used.count) - 1;
      worst = std::max(worst, waste);
      sum += waste;
      ++count;
    }
    [[nodiscard]] double mean() const { return sum / count; }
  } in_use, spanned;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 engine(seed);
    Arena arena(128, {slot});
    std::vector<Arena::Block> blocks;
    for (int phase = 0; phase < 20; ++phase) {
      while (arena.used().count < most) {
        const auto block = arena.allocate({framework_block(engine)});
        ASSERT_TRUE(block);
        blocks.push_back(*block);
      }
      in_use.add(arena.slots_in_use(), arena.used());
      spanned.add(arena.slots_spanned(), arena.used());
      std::ranges::shuffle(blocks, engine);
      for (std::size_t freed = blocks.size() * (1 + engine() % 5) / 10; freed > 0; --freed) {
        ASSERT_TRUE(arena.free(blocks.back().offset));
        blocks.pop_back();
      }
    }
  }
  std::cout << "slots beyond what objects take: in use, mean " << 100 * in_use.mean() << " %, worst "
            << 100 * in_use.worst << " %; spanned, mean " << 100 * spanned.mean() << " %, worst " << 100 * spanned.worst
            << " %\n";
  EXPECT_LT(in_use.mean(), 0.12);
  EXPECT_LT(spanned.mean(), 0.20);
}

} // namespace
} // namespace rtexec::client
