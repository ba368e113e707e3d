#include "rtexec/runtime/channels/latest_mailbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace rtexec::channels {
namespace {

using namespace std::chrono_literals;

Instant at(std::int64_t ns) { return Instant(Duration(ns)); }

void fill(std::span<std::byte> bytes, std::uint64_t value) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof value) std::memcpy(bytes.data() + i, &value, sizeof value);
}

void write(LatestMailbox& latest, std::uint64_t value, Instant visible = {}) {
  latest.write({.sampled = at(static_cast<std::int64_t>(value)), .visible = visible},
               [&](std::span<std::byte> bytes) { fill(bytes, value); });
}

/// Returns the common value of all words, or nullopt if they differ.
std::optional<std::uint64_t> value_of(const LatestMailbox::Value& value) {
  std::uint64_t first = 0;
  std::memcpy(&first, value.bytes.data(), sizeof first);
  for (std::size_t i = 0; i < value.bytes.size(); i += sizeof first)
    if (std::memcmp(value.bytes.data() + i, &first, sizeof first) != 0) return std::nullopt;
  return first;
}

TEST(LatestValueMailbox, IsEmptyBeforeFirstValue) {
  LatestMailbox latest(8, 1, 1);
  EXPECT_FALSE(latest.newest(0, at(100)));
}

TEST(LatestValueMailbox, GivesNewestValueToEachReader) {
  LatestMailbox latest(64, 2, 1);
  write(latest, 7);
  write(latest, 8);
  for (const std::size_t reader : {0u, 1u}) {
    const auto value = latest.newest(reader, at(0));
    ASSERT_TRUE(value);
    EXPECT_EQ(value_of(*value), 8u);
    EXPECT_EQ(value->version, 2u);
    EXPECT_EQ(value->stamp.sampled, at(8));
  }
}

TEST(LatestValueMailbox, KeepsValueUnchangedWhileItIsRead) {
  LatestMailbox latest(64, 2, 1);
  write(latest, 1);
  const auto held = latest.newest(0, at(0));
  for (std::uint64_t next = 2; next < 100; ++next) {
    write(latest, next);
    EXPECT_EQ(value_of(*latest.newest(1, at(0))), next);
    EXPECT_EQ(value_of(*held), 1u);
  }
  EXPECT_EQ(value_of(*latest.newest(0, at(0))), 99u);
}

TEST(LatestValueMailbox, ShowsValueFromItsVisibilityTime) {
  LatestMailbox latest(8, 1, 3);
  EXPECT_FALSE(latest.newest(0, at(5)));
  for (const std::uint64_t each : {10u, 20u, 30u}) write(latest, each, at(static_cast<std::int64_t>(each)));
  EXPECT_FALSE(latest.newest(0, at(9)));
  EXPECT_EQ(value_of(*latest.newest(0, at(10))), 10u);
  EXPECT_EQ(value_of(*latest.newest(0, at(29))), 20u);
  EXPECT_EQ(value_of(*latest.newest(0, at(30))), 30u);
  write(latest, 40, at(40));
  EXPECT_EQ(value_of(*latest.newest(0, at(25))), 20u) << "three are kept";
}

TEST(LatestValueMailbox, ShowsValueOnlyOncePublished) {
  LatestMailbox latest(8, 1, 1);
  write(latest, 1);
  const std::uint64_t next = 2;
  const auto taken = latest.take();
  std::memcpy(taken.data(), &next, sizeof next);
  EXPECT_EQ(value_of(*latest.newest(0, at(0))), 1u);
  EXPECT_EQ(latest.take().data(), taken.data()) << "the same until then";
  latest.publish({});
  EXPECT_EQ(value_of(*latest.newest(0, at(0))), 2u);
  latest.publish({});
  EXPECT_EQ(latest.newest(0, at(0))->version, 2u) << "nothing was taken";
}

TEST(LatestValueMailbox, UsesOnlySlotsOfGivenMemory) {
  LatestMailbox latest(100, 2, 3, LatestMailbox::Where::given_memory);
  std::vector<std::byte> memory(latest.total_size().count + 1, std::byte{0x5a});
  EXPECT_EQ(latest.total_size().count, 6u * 256);
  latest.use_memory(memory.data());
  std::set<const std::byte*> places;
  for (int value = 0; value < 50; ++value) {
    const auto taken = latest.take();
    EXPECT_EQ(taken.size(), 100u);
    EXPECT_EQ((taken.data() - memory.data()) % 256, 0);
    places.insert(taken.data());
    latest.publish({.sampled = {}, .visible = at(value)});
    EXPECT_EQ(latest.newest(0, at(value))->bytes.data(), taken.data());
    (void)latest.newest(1, at(value - 2));
  }
  EXPECT_LE(places.size(), 6u);
  EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte each) { return each == std::byte{0x5a}; })) << "untouched";
}

/// How the writer proceeds from one value to the next.
enum class Writing { at_once, taken_before, taken_and_not_published };
class LatestValueMailboxStress : public testing::TestWithParam<Writing> {};
INSTANTIATE_TEST_SUITE_P(EachWay, LatestValueMailboxStress,
                         testing::Values(Writing::at_once, Writing::taken_before, Writing::taken_and_not_published));

void write(LatestMailbox& latest, std::uint64_t value, Writing how) {
  if (how == Writing::at_once) return write(latest, value);
  if (how == Writing::taken_and_not_published && value % 3 == 0) {
    fill(latest.take(), ~value); // as a failing job does
    std::this_thread::yield();
  }
  const auto taken = latest.take();
  std::this_thread::yield();
  fill(taken, value);
  latest.publish({.sampled = at(static_cast<std::int64_t>(value)), .visible = {}});
}

/// Readers run as fast as they can. No value is torn, none comes back, and each is at least as new as one complete
/// before the read began.
TEST_P(LatestValueMailboxStress, NeverGivesTornOrOlderValue) {
  constexpr std::size_t readers = 3;
  LatestMailbox latest(4096, readers, 1);
  std::atomic<std::uint64_t> written{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> torn{0}, older{0}, read{0};
  for (std::size_t reader = 0; reader < readers; ++reader)
    threads.emplace_back([&, reader] {
      std::uint64_t last = 0;
      while (!over.load()) {
        const std::uint64_t least = written.load();
        const auto value = latest.newest(reader, at(0));
        if (!value) continue;
        const auto found = value_of(*value);
        if (!found || *found != value->version) ++torn;
        else if (*found < std::max(last, least)) ++older;
        last = found.value_or(last);
        ++read;
      }
    });
  const auto end = std::chrono::steady_clock::now() + 500ms;
  for (std::uint64_t next = 1; std::chrono::steady_clock::now() < end; ++next) {
    write(latest, next, GetParam());
    written.store(next);
  }
  over.store(true);
  for (auto& thread : threads) thread.join();
  EXPECT_GT(read.load(), 100u);
  EXPECT_EQ(torn.load(), 0u);
  EXPECT_EQ(older.load(), 0u);
}

} // namespace
} // namespace rtexec::channels
