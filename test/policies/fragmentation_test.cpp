// Compares memory objects with chunks of their own to memory objects in one arena.
#include "test/bench/fragmentation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rtexec::bench {
namespace {

constexpr Bytes granularity{2 << 20};

std::vector<MemoryObject> objects_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<MemoryObject> objects;
  for (const auto size : sizes) objects.push_back({.size = {size}});
  return objects;
}

TEST(Fragmentation, IsZeroWithoutObjects) {
  const auto none = fragmentation({}, granularity);
  EXPECT_EQ(none.small + none.large, 0U);
  EXPECT_EQ(none.total + none.per_object + none.arena, Bytes{0});
}

TEST(Fragmentation, CountsAnObjectOfOneChunkAsLarge) {
  const auto found = fragmentation(objects_of({1, (2 << 20) - 1, 2 << 20, (2 << 20) + 1}), granularity);
  EXPECT_EQ(found.small, 2U);
  EXPECT_EQ(found.large, 2U);
  EXPECT_EQ(found.total, (Bytes{(6 << 20) + 1}));
  EXPECT_EQ(found.per_object, granularity * 5);
  EXPECT_EQ(found.arena, granularity * 4);
}

TEST(Fragmentation, CountsOverlappingScratchObjectsSeparately) {
  const std::vector<MemoryObject> overlapping(
      3, MemoryObject{.kind = MemoryClass::scratch, .offset = {0}, .size = granularity});
  EXPECT_EQ(fragmentation(overlapping, granularity).total, granularity * 3);
}

TEST(Fragmentation, StaysBelowOneChunkForAnArena) {
  std::mt19937 engine(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> sizes(1 + engine() % 50);
    for (auto& size : sizes) size = 1 + engine() % (std::uint64_t{1} << (1 + engine() % 26));
    const auto found = fragmentation(objects_of(sizes), granularity);
    EXPECT_EQ(found.small + found.large, sizes.size());
    EXPECT_GE(found.arena, found.total);
    EXPECT_LT((found.arena - found.total).count, granularity.count);
    EXPECT_GE(found.per_object, found.arena);
    EXPECT_LE(found.per_object, found.arena + granularity * sizes.size());
    EXPECT_EQ(found.per_object.count % granularity.count, 0U);
  }
}

} // namespace
} // namespace rtexec::bench
