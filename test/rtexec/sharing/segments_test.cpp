// Tests the record of a program's own mappings against a list of intervals.
#include "rtexec/sharing/preload/driver_mappings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace rtexec::preload {
namespace {

using hal::cuda::Code;

constexpr std::size_t unit = 64 << 10, slot = 16 * unit;
constexpr Segments::Address base = 1ULL << 40;

struct Oracle {
  struct Chunk {
    std::size_t size = 0;
    bool held = true;
    Segments::Address at = 0;
  };
  std::map<Segments::Handle, Chunk> chunks;
  std::map<Segments::Address, Segments::Piece> pieces;

  [[nodiscard]] std::set<Segments::Address> places(bool ours) const {
    std::set<Segments::Address> found;
    for (const auto& [begin, piece] : pieces) {
      if ((piece.handle != 0) != ours) continue;
      for (auto at = begin; at < begin + piece.size; at += unit) found.insert(base + (at - base) / slot * slot);
    }
    return found;
  }
  [[nodiscard]] bool overlaps(Segments::Address begin, std::size_t size) const {
    return std::ranges::any_of(
        pieces, [&](const auto& each) { return each.first < begin + size && begin < each.first + each.second.size; });
  }
  [[nodiscard]] bool mixes(Segments::Address begin, std::size_t size, bool ours) const {
    const auto others = places(!ours);
    for (auto at = begin; at < begin + size; at += unit)
      if (others.contains(base + (at - base) / slot * slot)) return true;
    return false;
  }
  void drop_unused() {
    std::erase_if(chunks, [](const auto& each) { return !each.second.held && each.second.at == 0; });
  }
};

void expect_same(const Segments& segments, const Oracle& oracle) {
  std::size_t bytes = 0, mapped = 0;
  for (const auto& [handle, chunk] : oracle.chunks) {
    bytes += chunk.size;
    if (chunk.at != 0) mapped += chunk.size;
  }
  ASSERT_EQ(segments.bytes(), bytes);
  ASSERT_EQ(segments.bytes_to_map(), bytes - mapped);
  ASSERT_EQ(segments.room(), oracle.places(true).size() * slot - mapped);
}

TEST(Segments, MatchReferenceModelOfMappedPieces) {
  constexpr std::size_t size = 5 * slot + 3 * unit;
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937_64 engine(seed);
    Segments segments({slot});
    Oracle oracle;
    segments.add_range({base, size});
    for (int step = 0; step < 600; ++step) {
      const auto at = base + engine() % (size / unit) * unit;
      const std::size_t bytes = (1 + engine() % 20) * unit;
      const auto places_before = oracle.places(true);
      std::vector<Segments::Address> emptied;
      Segments::Handle handle = 0;
      if (!oracle.chunks.empty() && engine() % 6 != 0)
        handle = std::next(oracle.chunks.begin(), static_cast<int>(engine() % oracle.chunks.size()))->first;
      switch (engine() % 5) {
      case 0:
        if (oracle.chunks.size() < 12) oracle.chunks[segments.create(bytes)].size = bytes;
        break;
      case 1:
        ASSERT_EQ(segments.release(handle) == Code::success, handle != 0 && oracle.chunks[handle].held);
        if (handle != 0) oracle.chunks[handle].held = false;
        break;
      case 2: {
        const std::size_t wanted = handle != 0 ? oracle.chunks[handle].size : bytes;
        const bool fits =
            at + wanted <= base + size && !oracle.overlaps(at, wanted) && !oracle.mixes(at, wanted, handle != 0);
        const bool good = fits && (handle == 0 || (oracle.chunks[handle].held && oracle.chunks[handle].at == 0));
        ASSERT_EQ(segments.may_map(at, wanted, 0, handle) == Code::success, good) << seed << ", " << step;
        if (handle != 0) {
          ASSERT_NE(segments.may_map(at, wanted + unit, 0, handle), Code::success);
          ASSERT_NE(segments.may_map(at, wanted, unit, handle), Code::success);
        }
        if (!good) break;
        segments.map(at, wanted, handle);
        oracle.pieces[at] = {at, wanted, handle};
        if (handle != 0) oracle.chunks[handle].at = at;
        break;
      }
      case 3: {
        std::size_t covered = 0;
        while (covered < bytes && oracle.pieces.contains(at + covered)) covered += oracle.pieces[at + covered].size;
        const auto pieces = segments.pieces_in(at, bytes);
        ASSERT_EQ(pieces.has_value(), covered == bytes);
        if (!pieces) break;
        for (const auto& piece : *pieces) {
          segments.unmap(piece.begin, emptied);
          oracle.pieces.erase(piece.begin);
          if (piece.handle != 0) oracle.chunks[piece.handle].at = 0;
        }
        break;
      }
      default:
        ASSERT_NE(segments.remove_range(base, size - unit), Code::success);
        ASSERT_FALSE(segments.remove_range(base + unit, size).has_value());
        if (!oracle.pieces.empty()) {
          ASSERT_EQ(segments.remove_range(base, size), Code::invalid_value);
          break;
        }
        ASSERT_EQ(segments.remove_range(base, size), Code::success);
        ASSERT_FALSE(segments.range_of(at));
        segments.add_range({base, size});
      }
      oracle.drop_unused();
      auto gone = places_before;
      for (const auto place : oracle.places(true)) gone.erase(place);
      ASSERT_EQ(std::set(emptied.begin(), emptied.end()), gone);
      ASSERT_EQ(emptied.size(), gone.size());
      ASSERT_EQ(segments.piece_of(at).has_value(), oracle.overlaps(at, 1));
      expect_same(segments, oracle);
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Segments, HandleIsFreedAfterAsManyReleasesAsHolds) {
  Segments segments({slot});
  const auto handle = segments.create(unit);
  EXPECT_TRUE(segments.gave(handle));
  EXPECT_EQ(segments.retain(handle), Code::success);
  EXPECT_EQ(segments.release(handle), Code::success);
  EXPECT_EQ(segments.release(handle), Code::success);
  EXPECT_FALSE(segments.gave(handle));
  EXPECT_EQ(segments.release(handle), Code::invalid_value);
  EXPECT_EQ(segments.retain(handle), Code::invalid_value);
  EXPECT_NE(segments.create(unit), handle);
}

} // namespace
} // namespace rtexec::preload
