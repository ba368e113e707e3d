// Tests load generators: how much they move, where, and how evenly.
#include "tasks/loads/traffic/generator.hpp"

#include "hal/machine_files.hpp"
#include "hal/thread.hpp"
#include "tasks/base/random.hpp"
#include "tasks/loads/traffic/caches.hpp"
#include "tasks/loads/traffic/pacer.hpp"
#include "test/hal/failing_system.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::tasks {
namespace {

using namespace std::chrono_literals;

constexpr Bytes kibi{1024}, line{64};
constexpr TrafficPattern patterns[]{TrafficPattern::write, TrafficPattern::read, TrafficPattern::copy,
                                    TrafficPattern::latency};

std::unique_ptr<LineGenerator> lines_of(TrafficPattern pattern, Bytes buffer = kibi * 64, Bytes size = line) {
  auto generator = LineGenerator::make(pattern, buffer, size);
  EXPECT_EQ(test::problem(generator), "none");
  return generator ? std::move(*generator) : nullptr;
}

std::uint32_t word(const LineGenerator& generator, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, generator.buffer().data() + at, sizeof value);
  return value;
}

// ---- lines

TEST(TrafficLineGenerator, MovesExactlyWholeUnits) {
  for (const auto pattern : patterns) {
    const auto generator = lines_of(pattern);
    const Bytes unit = generator->unit();
    EXPECT_EQ(unit, pattern == TrafficPattern::copy ? line * 2 : line);
    EXPECT_EQ(generator->run(Bytes{0}), Bytes{0});
    EXPECT_EQ(generator->run(unit - Bytes{1}), Bytes{0});
    EXPECT_EQ(generator->run(unit * 7 + Bytes{63}), unit * 7);
    EXPECT_EQ(generator->run(kibi * 1024), kibi * 1024) << "more than the buffer, again and again";
  }
}

TEST(TrafficLineGenerator, ContinuesAtLastPosition) {
  for (const auto pattern : {TrafficPattern::write, TrafficPattern::read}) {
    const auto generator = lines_of(pattern);
    generator->run(line * 5);
    EXPECT_EQ(generator->position(), line * 5);
    generator->run(kibi * 64);
    EXPECT_EQ(generator->position(), line * 5) << "once around";
    generator->run(kibi * 64 - line * 5);
    EXPECT_EQ(generator->position(), Bytes{0});
  }
  const auto copies = lines_of(TrafficPattern::copy);
  copies->run(line * 2 * 5);
  EXPECT_EQ(copies->position(), line * 5);
  copies->run(kibi * 64);
  EXPECT_EQ(copies->position(), line * 5) << "half of the buffer is read, and half is written";
}

TEST(TrafficLineGenerator, WritesOneWordOfEachLine) {
  for (const Bytes size : {Bytes{64}, Bytes{128}}) {
    const auto generator = lines_of(TrafficPattern::write, kibi * 64, size);
    constexpr std::uint64_t count = 100;
    generator->run(size * count);
    const auto value = word(*generator, 0);
    for (std::size_t at = 0; at < generator->buffer().size(); at += 4) {
      const bool swept = at % size.count == 0 && at < count * size.count;
      if (swept) EXPECT_EQ(word(*generator, at), value) << at;
      else if (at % hal::page_size().count != 0) EXPECT_EQ(word(*generator, at), 0U) << at;
      else EXPECT_NE(word(*generator, at), value) << at;
    }
  }
}

TEST(TrafficLineGenerator, ReadsWithoutChangingBuffer) {
  const auto generator = lines_of(TrafficPattern::read);
  const std::vector before(generator->buffer().begin(), generator->buffer().end());
  generator->run(kibi * 100);
  EXPECT_TRUE(std::ranges::equal(before, generator->buffer()));
}

TEST(TrafficLineGenerator, CopiesWholeLines) {
  const auto generator = lines_of(TrafficPattern::copy);
  const auto half = generator->buffer().size() / 2;
  EXPECT_FALSE(std::ranges::equal(generator->buffer().first(half), generator->buffer().last(half)));
  generator->run(kibi * 64 - line * 2);
  EXPECT_FALSE(std::ranges::equal(generator->buffer().first(half), generator->buffer().last(half)) &&
               generator->position() == Bytes{0});
  generator->run(line * 2);
  EXPECT_TRUE(std::ranges::equal(generator->buffer().first(half), generator->buffer().last(half)));
}

TEST(TrafficLineGenerator, PointerChaseVisitsEachLineOnce) {
  const Bytes page = hal::page_size();
  for (const Bytes size : {Bytes{8}, Bytes{64}, Bytes{128}, page})
    for (const Bytes buffer : {page * 2, page * 3, page * 61}) {
      const auto generator = lines_of(TrafficPattern::latency, buffer, size);
      const auto count = buffer.count / size.count;
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < count; ++i) {
        EXPECT_EQ(generator->position().count % size.count, 0U);
        seen.insert(generator->position().count);
        generator->run(size);
      }
      EXPECT_EQ(seen.size(), count);
      EXPECT_EQ(generator->position(), Bytes{0}) << "the cycle is closed";
    }
}

TEST(TrafficLineGenerator, PointerChaseIsRandomButReproducible) {
  const auto steps = [] {
    const auto generator = lines_of(TrafficPattern::latency);
    std::vector<std::uint64_t> positions;
    for (int i = 0; i < 1000; ++i) positions.push_back((generator->run(line), generator->position().count));
    return positions;
  };
  const auto positions = steps();
  EXPECT_EQ(positions, steps());
  std::size_t neighbours = 0;
  for (std::size_t i = 1; i < positions.size(); ++i)
    neighbours += positions[i] == positions[i - 1] + line.count ? 1U : 0U;
  EXPECT_LT(neighbours, positions.size() / 50) << "nothing that a prefetcher could guess";
}

TEST(TrafficLineGenerator, RunsWithoutAllocating) {
  for (const auto pattern : patterns) {
    const auto generator = lines_of(pattern);
    const auto before = test::allocations();
    generator->run(kibi * 200);
    EXPECT_EQ(test::allocations(), before);
  }
}

TEST(TrafficLineGenerator, RejectsImpossibleSizes) {
  const auto make = [](Bytes buffer, Bytes size) { return LineGenerator::make(TrafficPattern::write, buffer, size); };
  for (const Bytes size : {Bytes{0}, Bytes{4}, Bytes{48}, hal::page_size() * 2})
    EXPECT_TRUE(test::fails(make(kibi * 64, size), Errc::bad_input, "power of two"));
  EXPECT_TRUE(test::fails(make(Bytes{0}, line), Errc::bad_input, "two lines"));
  EXPECT_TRUE(test::fails(make(hal::page_size(), hal::page_size()), Errc::bad_input, "two lines"));
  EXPECT_EQ(make(Bytes{1}, line).value()->buffer().size(), hal::page_size().count);
}

TEST(TrafficLineGenerator, ReportsLackOfMemory) {
  const hal::test::Failing<&hal::System::mmap> none(ENOMEM);
  EXPECT_TRUE(test::fails(LineGenerator::make(TrafficPattern::write, kibi * 64, line), Errc::out_of_memory,
                          "traffic generator"));
}

TEST(TrafficLineGenerator, RunsEvenWhenMemoryCannotBeLocked) {
  const hal::test::Failing<&hal::System::mlock> refused(EPERM);
  const auto generator = lines_of(TrafficPattern::write);
  EXPECT_EQ(refused.calls(), 1);
  EXPECT_FALSE(generator->locked());
  EXPECT_EQ(generator->run(kibi * 64), kibi * 64);
}

// ---- pages

std::int64_t minor_faults() {
  rusage usage{};
  EXPECT_EQ(::getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_minflt;
}

/// Returns the number of touched pages, and of the page faults that occurred.
std::pair<std::int64_t, std::int64_t> touch(PageGenerator& generator, std::int64_t pages) {
  const auto before = minor_faults();
  const auto moved = generator.run(generator.unit() * static_cast<std::uint64_t>(pages));
  return {static_cast<std::int64_t>(moved.count / generator.unit().count), minor_faults() - before};
}

TEST(TrafficPageGenerator, CausesOneFaultPerPage) {
  const auto made = PageGenerator::make(hal::page_size() * 64);
  ASSERT_EQ(test::problem(made), "none");
  auto& generator = **made;
  EXPECT_EQ(generator.unit(), hal::page_size());
  (void)touch(generator, 200); // so that pages of a sanitizer, or of first calls, do not count
  for (const std::int64_t pages : {1, 63, 64, 65, 1000}) {
    const auto [moved, faults] = touch(generator, pages);
    EXPECT_EQ(moved, pages);
    EXPECT_EQ(faults, pages);
  }
  EXPECT_EQ(touch(generator, 0).second, 0);
  EXPECT_EQ(generator.run(generator.unit() - Bytes{1}), Bytes{0});
}

TEST(TrafficPageGenerator, CausesFaultsInProcessWithLockedMemory) {
  if (test::sanitized) GTEST_SKIP() << "a sanitizer's address space cannot be locked";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!hal::lock_memory()) ::_exit(77);
    const auto made = PageGenerator::make(hal::page_size() * 16);
    if (!made) ::_exit(1);
    (void)touch(**made, 40);
    const auto [moved, faults] = touch(**made, 100);
    ::_exit(moved == 100 && faults == 100 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this machine does not let a process lock its memory";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(TrafficPageGenerator, RequiresMemoryOfOnePage) {
  EXPECT_TRUE(test::fails(PageGenerator::make(Bytes{0}), Errc::bad_input, "one page"));
  const hal::test::Failing<&hal::System::mmap> none(ENOMEM);
  EXPECT_TRUE(test::fails(PageGenerator::make(), Errc::out_of_memory, "pages to touch"));
}

// ---- time

/// A virtual clock. Each sleep ends `late` after its requested end.
struct VirtualTime {
  Instant now{Instant(1s)};
  Duration late{0};
  std::uint64_t sleeps = 0;

  [[nodiscard]] Clock clock() {
    return {[](void* self) noexcept { return static_cast<VirtualTime*>(self)->now; },
            [](void* self, Instant when) noexcept {
              auto& time = *static_cast<VirtualTime*>(self);
              ++time.sleeps;
              time.now = std::max(time.now, when + time.late);
            },
            this};
  }
};

/// A generator that moves no data, but takes time. It records the largest amount requested between two sleeps.
class VirtualGenerator final : public Generator {
 public:
  VirtualGenerator(VirtualTime& time, Bandwidth speed, Bytes unit = line) : time_(time), speed_(speed), unit_(unit) {}
  Bytes run(Bytes bytes) noexcept override {
    const Bytes whole{bytes.count / unit_.count * unit_.count};
    const Bytes moved = std::min(whole, left);
    left = left - moved;
    total += moved;
    time_.now += Duration(static_cast<std::int64_t>(1e9 * static_cast<double>(moved.count) /
                                                    static_cast<double>(speed_.bytes_per_second)));
    if (stall > Duration(0) && total >= stall_at) time_.now += std::exchange(stall, Duration(0));
    burst_ = time_.sleeps == sleeps_ ? burst_ + moved : moved;
    sleeps_ = time_.sleeps;
    largest_burst = std::max(largest_burst, burst_);
    return moved;
  }
  [[nodiscard]] Bytes unit() const noexcept override { return unit_; }
  [[nodiscard]] bool locked() const noexcept override { return true; }

  Bytes left{UINT64_MAX}; // until it fails
  Duration stall{0};      // once, after this amount
  Bytes stall_at;
  Bytes total, largest_burst;

 private:
  VirtualTime& time_;
  Bandwidth speed_;
  Bytes unit_;
  std::uint64_t sleeps_ = 0;
  Bytes burst_;
};

constexpr Bandwidth gigabyte{1'000'000'000}, megabyte{1'000'000};

void expect_share(Bandwidth got, Bandwidth wanted, double tolerance) {
  EXPECT_NEAR(static_cast<double>(got.bytes_per_second) / static_cast<double>(wanted.bytes_per_second), 1.0, tolerance);
}

TEST(GreedyTraffic, RunsForGivenTimeAndReportsBandwidth) {
  VirtualTime time;
  VirtualGenerator generator(time, gigabyte);
  const auto traffic = run_course(generator, {.until = time.now + 1s}, time.clock());
  EXPECT_EQ(traffic.moved, generator.total);
  EXPECT_GE(traffic.elapsed, 1s);
  EXPECT_LT(traffic.elapsed, 1s + 100us) << "a piece at most";
  EXPECT_EQ(traffic.dropped, Bytes{0});
  EXPECT_FALSE(traffic.failed);
  EXPECT_EQ(time.sleeps, 0U);
  expect_share(traffic.bandwidth(), gigabyte, 1e-3);
}

TEST(GreedyTraffic, EndsWhenGeneratorFails) {
  VirtualTime time;
  VirtualGenerator generator(time, gigabyte);
  generator.left = line * 1000;
  const auto traffic = run_course(generator, {.until = time.now + 1s}, time.clock());
  EXPECT_TRUE(traffic.failed);
  EXPECT_EQ(traffic.moved, line * 1000);
  VirtualGenerator paced(time, gigabyte);
  paced.left = line * 1000;
  EXPECT_TRUE(run_course(paced, {.rate = megabyte, .until = time.now + 1s}, time.clock()).failed);
  EXPECT_EQ(paced.total, line * 1000);
}

TEST(PacedTraffic, KeepsRateInSmallBursts) {
  for (const Bytes unit : {Bytes{64}, Bytes{128}, Bytes{4096}})
    for (const std::uint64_t rate :
         {std::uint64_t{100'000}, std::uint64_t{1'000'001}, std::uint64_t{123'456'789}, std::uint64_t{5'000'000'000}})
      for (const Duration late : {0us, 57us, 1500us}) {
        VirtualTime time;
        time.late = late;
        VirtualGenerator generator(time, Bandwidth{20'000'000'000}, unit);
        const auto traffic = run_course(generator, {.rate = Bandwidth{rate}, .until = time.now + 10s}, time.clock());
        EXPECT_GE(traffic.elapsed, 10s);
        EXPECT_EQ(traffic.dropped, Bytes{0});
        const double wanted = static_cast<double>(rate) * 10;
        // Never more than the rate permits, and less only by the duration of a sleep at the end.
        EXPECT_LE(static_cast<double>(generator.total.count), wanted);
        EXPECT_GE(static_cast<double>(generator.total.count), wanted * (1 - 2e-4) - static_cast<double>(unit.count))
            << rate << " " << unit.count;
        const double most =
            static_cast<double>(rate) * std::chrono::duration<double>(Pacer::grid + late * 1.1).count() * 1.2;
        EXPECT_LE(static_cast<double>(generator.largest_burst.count), most + static_cast<double>(unit.count)) << rate;
      }
}

TEST(PacedTraffic, ReportsDroppedBytesWhenTooSlow) {
  VirtualTime time;
  VirtualGenerator generator(time, gigabyte);
  const auto traffic = run_course(generator, {.rate = Bandwidth{4'000'000'000}, .until = time.now + 1s}, time.clock());
  expect_share(traffic.bandwidth(), gigabyte, 0.01);
  EXPECT_NEAR(static_cast<double>(traffic.dropped.count), 3e9, 1e8);
}

TEST(PacedTraffic, CatchesUpAfterShortStallOnly) {
  for (const bool is_long : {false, true}) {
    VirtualTime time;
    VirtualGenerator generator(time, Bandwidth{10'000'000'000});
    generator.stall = is_long ? 2s : 5ms;
    generator.stall_at = Bytes{50'000'000};
    const auto traffic = run_course(generator, {.rate = Bandwidth{100'000'000}, .until = time.now + 10s}, time.clock());
    const double dropped = static_cast<double>(traffic.dropped.count);
    EXPECT_NEAR(dropped, is_long ? 199e6 : 0, 1e5) << "all but the last 10 ms of the stall";
    EXPECT_NEAR(static_cast<double>(traffic.moved.count), 1e9 - dropped, 1e5);
  }
}

TEST(TrafficPacer, BurstsMatchRateAtEveryGridPoint) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t rate = 1 + random.next() % (std::uint64_t{1} << (10 + random.next() % 26));
    const std::uint64_t unit = std::uint64_t{8} << random.next() % 10;
    const Instant start(Duration(static_cast<std::int64_t>(random.next() % 1'000'000)));
    Pacer pacer({rate}, {unit}, start);
    std::uint64_t sum = 0;
    Instant last = start - 1ns;
    for (int i = 0; i < 100; ++i) {
      const auto burst = pacer.next(start);
      EXPECT_GT(burst.due, last);
      EXPECT_EQ((burst.due - start) % Pacer::grid, Duration(0));
      EXPECT_GT(burst.size, Bytes{0});
      last = burst.due;
      sum += burst.size.count;
      const auto periods = static_cast<std::uint64_t>((burst.due - start) / Pacer::grid) + 1;
      ASSERT_EQ(sum, rate * periods / 10'000 / unit * unit) << rate << " B/s, units of " << unit << ", burst " << i;
    }
    EXPECT_EQ(pacer.dropped(), Bytes{0});
  }
}

TEST(TrafficPacer, KeepsGridWhenItDropsBursts) {
  const Instant start(1s);
  Pacer pacer({64 * 10'000}, line, start); // one line in each step
  EXPECT_EQ(pacer.next(start).due, start);
  EXPECT_EQ(pacer.next(start + Pacer::max_behind + 100us).due, start + 100us) << "just not too late";
  const auto burst = pacer.next(start + 1s + 30us);
  EXPECT_EQ((burst.due - start) % Pacer::grid, Duration(0));
  EXPECT_GE(burst.due, start + 1s + 30us - Pacer::max_behind);
  EXPECT_LT(burst.due, start + 1s + 30us - Pacer::max_behind + Pacer::grid);
  const auto steps = static_cast<std::uint64_t>((burst.due - start) / Pacer::grid);
  EXPECT_EQ(pacer.dropped(), line * (steps - 2));
  EXPECT_EQ(burst.size, line);
}

// ---- caches

class TrafficCacheFacts : public testing::Test {
 protected:
  void cache(unsigned core, unsigned index, const char* level, const char* type, const char* size,
             const char* line_size) {
    const std::string at =
        "sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index" + std::to_string(index) + "/";
    for (const auto& [name, value] :
         {std::pair("level", level), {"type", type}, {"size", size}, {"coherency_line_size", line_size}})
      test::write_text(folder_ / (at + name), std::string(value) + "\n");
  }
  void cores(const std::string& list) { test::write_text(folder_ / "sys/devices/system/cpu/online", list + "\n"); }
  [[nodiscard]] CacheFacts facts() const { return cache_facts(hal::Machine(folder_.path())); }

  test::ScratchFolder folder_;
};

TEST_F(TrafficCacheFacts, LastLevelIsLargestOfAllCores) {
  cores("0-1");
  cache(0, 0, "1", "Data", "32K", "64");
  cache(0, 1, "1", "Instruction", "48K", "64");
  cache(0, 2, "2", "Unified", "512K", "64");
  cache(1, 0, "1", "Data", "64K", "64");
  cache(1, 2, "2", "Unified", "2048K", "128");
  EXPECT_EQ(facts().last_level, kibi * 2048);
  EXPECT_EQ(facts().line, Bytes{128});
  EXPECT_EQ(sweep_size(facts()), kibi * 16 * 1024) << "the least";
}

TEST_F(TrafficCacheFacts, IgnoreOfflineCoresAndInstructionCaches) {
  cores("0");
  cache(0, 0, "1", "Data", "32K", "32");
  cache(0, 1, "2", "Instruction", "1024K", "64");
  cache(1, 0, "3", "Unified", "64M", "64");
  EXPECT_EQ(facts().last_level, kibi * 32);
  EXPECT_EQ(facts().line, Bytes{32});
}

TEST_F(TrafficCacheFacts, UseDefaultsWhenKernelReportsNothing) {
  EXPECT_EQ(facts().last_level, Bytes{0});
  EXPECT_EQ(facts().line, Bytes{64});
  EXPECT_EQ(sweep_size(facts()), kibi * 64 * 1024);
  cores("0");
  cache(0, 0, "2", "Unified", "many", "64");
  EXPECT_EQ(facts().last_level, Bytes{0});
  cache(0, 0, "2", "Unified", "1024K", "?");
  EXPECT_EQ(facts().line, Bytes{64});
}

TEST(TrafficSweep, SizeIsFourTimesCacheWithinBounds) {
  const Bytes mebi{1 << 20};
  const auto of = [&](std::uint64_t size) { return sweep_size({mebi * size, line}).count >> 20; };
  EXPECT_EQ(of(2), 16U);
  EXPECT_EQ(of(8), 32U);
  EXPECT_EQ(of(64), 256U);
  EXPECT_EQ(of(105), 256U);
  EXPECT_EQ(of(384), 768U) << "still larger than the cache";
}

} // namespace
} // namespace rtexec::tasks
