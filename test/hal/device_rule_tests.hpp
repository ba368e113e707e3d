// The rules that every Device keeps. A back end is a type with `static Bytes chunk()` and
// `static Result<std::unique_ptr<Device>> open(std::size_t chunks)`. Its tests contain
//   INSTANTIATE_TYPED_TEST_SUITE_P(NAME, DeviceRules, BackEnd);
// It may have `struct Environment`, which lives around the device; `static std::string why_not()`, the reason why this
// machine has no such device (empty: it has one); and `static constexpr bool driver_allocates`, true if a driver's
// allocations cannot be told from ours. Only Device::copy on a copy engine touches device memory, never a pointer.
#pragma once

#include "test/hal/hal_support.hpp"
#include "test/support/thread_counts.hpp"

#include "hal/device_interface.hpp"
#include "hal/digest_of.hpp"
#include "hal/resources.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace rtexec::hal::test {

using Contents = std::vector<std::byte>;

/// Runs `body` on an engine and waits for it.
template <class Body> Status on_engine(Engine& engine, Body body) { return engine.call(body).outcome; }

struct NoEnvironment {};
template <class BackEnd> struct EnvironmentOf { using Type = NoEnvironment; };
template <class BackEnd>
requires requires { typename BackEnd::Environment; }
struct EnvironmentOf<BackEnd> {
  using Type = typename BackEnd::Environment;
};

template <class BackEnd> class DeviceRules : public testing::Test {
 protected:
  static constexpr std::size_t capacity = 8; // chunks

  void SetUp() override {
    if constexpr (requires { BackEnd::why_not(); }) {
      if (const std::string why = BackEnd::why_not(); !why.empty()) GTEST_SKIP() << why;
    }
    auto opened = BackEnd::open(capacity);
    ASSERT_TRUE(opened) << problem(opened);
    device = std::move(*opened);
    chunk = BackEnd::chunk();
  }

  std::vector<Chunk> create(std::size_t count) {
    auto chunks = device->create_chunks(count);
    EXPECT_TRUE(chunks) << problem(chunks);
    return chunks.value_or(std::vector<Chunk>{});
  }

  AddressRange reserve(std::size_t chunks) {
    const auto range = device->reserve(chunk * chunks);
    EXPECT_TRUE(range) << problem(range);
    return range.value_or(AddressRange{});
  }

  std::byte* address(AddressRange range, std::size_t slot) const { return range.base + slot * chunk.count; }

  Contents pattern(unsigned seed) const {
    std::mt19937 random(seed);
    Contents contents(chunk.count);
    std::ranges::generate(contents, [&] { return std::byte(random()); });
    return contents;
  }

  void write(std::byte* to, const Contents& contents) {
    const auto copied = on_engine(device->engine(EngineKind::copy_in),
                                  [&]() noexcept { return device->copy(to, contents.data(), Bytes{contents.size()}); });
    ASSERT_TRUE(copied) << name(copied.error());
  }

  Contents read(const std::byte* from) { return read(from, chunk); }
  Contents read(const std::byte* from, Bytes size) {
    Contents contents(size.count);
    const auto copy = [&]() noexcept { return device->copy(contents.data(), from, size); };
    const auto copied = on_engine(device->engine(EngineKind::copy_out), copy);
    EXPECT_TRUE(copied);
    return contents;
  }

  Digest digest(const std::byte* at, Bytes size, EngineKind kind = EngineKind::copy_out) {
    Digest result;
    EXPECT_TRUE(on_engine(device->engine(kind), [&]() noexcept { return device->digest(at, size, result); }));
    return result;
  }

  Buffer allocate(BufferKind kind, Bytes size) {
    const auto buffer = device->allocate(kind, size);
    EXPECT_TRUE(buffer) << problem(buffer);
    return buffer.value_or(Buffer{});
  }

  /// Starts the secondary compute engine. Returns false if the device has none because its first engine keeps its core
  /// while it waits.
  bool start_secondary_compute() {
    const auto started = device->start_secondary_compute();
    EXPECT_TRUE(started || started.error().code == Errc::refused) << problem(started);
    return started.has_value();
  }

  MemoryUse use() {
    const auto known = device->memory_use();
    EXPECT_TRUE(known) << problem(known);
    return known.value_or(MemoryUse{});
  }

  typename EnvironmentOf<BackEnd>::Type environment;
  std::unique_ptr<Device> device;
  Bytes chunk;
};

TYPED_TEST_SUITE_P(DeviceRules);

TYPED_TEST_P(DeviceRules, CreatesWholeChunksOnlyUpToCapacity) {
  EXPECT_EQ(this->device->capacity(), this->chunk * this->capacity);
  EXPECT_EQ(this->device->chunk_size(), this->chunk);
  EXPECT_EQ(this->create(3).size(), 3u);
  EXPECT_TRUE(fails(this->device->create_chunks(this->capacity - 2), Errc::out_of_memory, "are left of a capacity"));
  EXPECT_EQ(this->device->chunks_created(), 3u) << "none of a refused call is created";
  EXPECT_EQ(this->create(this->capacity - 3).size(), this->capacity - 3);
  EXPECT_TRUE(fails(this->device->create_chunks(1), Errc::out_of_memory, ""));
  EXPECT_TRUE(fails(this->device->create_chunks(std::size_t(-1)), Errc::out_of_memory, ""));
  EXPECT_EQ(this->create(0).size(), 0u);
}

TYPED_TEST_P(DeviceRules, ChunksAreNumberedInOrderAndFollowEachOtherInTheWindow) {
  auto chunks = this->create(3);
  for (const Chunk each : this->create(2)) chunks.push_back(each);
  for (std::size_t i = 0; i < chunks.size(); ++i) EXPECT_EQ(index(chunks[i]), i);
  for (const std::size_t i : {1u, 2u, 4u})
    EXPECT_EQ(this->device->window(chunks[i]), this->device->window(chunks[i - 1]) + this->chunk.count);
}

TYPED_TEST_P(DeviceRules, ChunksStartZeroedAndRetainWindowWrites) {
  const auto chunks = this->create(2);
  for (const Chunk each : chunks) EXPECT_EQ(this->read(this->device->window(each)), Contents(this->chunk.count));
  for (const Chunk each : chunks) this->write(this->device->window(each), this->pattern(unsigned(index(each))));
  (void)this->create(1); // moves nothing
  for (const Chunk each : chunks)
    EXPECT_EQ(this->read(this->device->window(each)), this->pattern(unsigned(index(each))));
}

TYPED_TEST_P(DeviceRules, RangesAreWholeChunksAndDoNotOverlap) {
  const auto odd = this->device->reserve(this->chunk + Bytes{1});
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->size, this->chunk * 2);
  std::vector<AddressRange> ranges{*odd, this->reserve(1), this->reserve(3)};
  std::ranges::sort(ranges, {}, &AddressRange::base);
  for (std::size_t i = 1; i < ranges.size(); ++i)
    EXPECT_GE(ranges[i].base, ranges[i - 1].base + ranges[i - 1].size.count);
  EXPECT_TRUE(fails(this->device->reserve(Bytes{0}), Errc::bad_input, "of 0 bytes"));
}

TYPED_TEST_P(DeviceRules, ReservesMoreAddressesThanCapacity) { // far more addresses than the capacity may be reserved
  const auto range = this->reserve(this->capacity * 1000);
  const auto chunks = this->create(1);
  const std::size_t last = this->capacity * 1000 - 1;
  ASSERT_TRUE(this->device->map(range, last, chunks[0], Access::read_write));
  this->write(this->address(range, last), this->pattern(1));
  EXPECT_EQ(this->read(this->device->window(chunks[0])), this->pattern(1));
}

TYPED_TEST_P(DeviceRules, MappedChunkAliasesItsWindow) {
  const auto chunks = this->create(2);
  const auto range = this->reserve(2);
  ASSERT_TRUE(this->device->map(range, 0, chunks[1], Access::read_write));
  ASSERT_TRUE(this->device->map(range, 1, chunks[0], Access::read));
  this->write(this->address(range, 0), this->pattern(10));
  EXPECT_EQ(this->read(this->device->window(chunks[1])), this->pattern(10));
  this->write(this->device->window(chunks[0]), this->pattern(11)); // while it is mapped read-only
  EXPECT_EQ(this->read(this->address(range, 1)), this->pattern(11));
}

TYPED_TEST_P(DeviceRules, MapsOneChunkAtSeveralAddressesAtOnce) {
  if (!this->device->capabilities().shared_mapping) GTEST_SKIP() << "this device cannot";
  const auto chunks = this->create(1);
  const auto one = this->reserve(2);
  const auto other = this->reserve(1);
  ASSERT_TRUE(this->device->map(one, 0, chunks[0], Access::read_write));
  ASSERT_TRUE(this->device->map(one, 1, chunks[0], Access::read));
  ASSERT_TRUE(this->device->map(other, 0, chunks[0], Access::read_write));
  this->write(this->address(other, 0), this->pattern(3));
  EXPECT_EQ(this->read(this->address(one, 0)), this->pattern(3));
  EXPECT_EQ(this->read(this->address(one, 1)), this->pattern(3));
}

TYPED_TEST_P(DeviceRules, ContentsFollowTheChunkNotTheAddress) {
  const auto chunks = this->create(2);
  const auto range = this->reserve(1);
  for (const std::size_t i : {0u, 1u}) this->write(this->device->window(chunks[i]), this->pattern(unsigned(i)));
  for (const std::size_t i : {0u, 1u, 0u, 1u}) {
    ASSERT_TRUE(this->device->map(range, 0, chunks[i], Access::read));
    EXPECT_EQ(this->read(range.base), this->pattern(unsigned(i)));
    ASSERT_TRUE(this->device->unmap(range, 0));
    EXPECT_EQ(this->read(this->device->window(chunks[i])), this->pattern(unsigned(i))) << "kept while unmapped";
  }
}

TYPED_TEST_P(DeviceRules, RejectsInvalidMappingsWithoutEffect) {
  const auto chunks = this->create(2);
  const auto range = this->reserve(2);
  const Chunk foreign{2};
  ASSERT_TRUE(this->device->map(range, 0, chunks[0], Access::read_write));
  this->write(range.base, this->pattern(5));
  const auto map = [&](AddressRange where, std::size_t slot, Chunk what, Access access) {
    return this->device->map(where, slot, what, access);
  };
  EXPECT_TRUE(fails(map(range, 0, chunks[1], Access::read), Errc::bad_input)) << "the slot is mapped";
  EXPECT_TRUE(fails(map(range, 2, chunks[1], Access::read), Errc::bad_input)) << "no such slot";
  EXPECT_TRUE(fails(map(range, std::size_t(-1), chunks[1], Access::read), Errc::bad_input));
  EXPECT_TRUE(fails(map(range, 1, foreign, Access::read), Errc::bad_input)) << "no such chunk";
  EXPECT_TRUE(fails(map(range, 1, chunks[1], Access::none), Errc::bad_input));
  EXPECT_TRUE(fails(map(AddressRange{}, 0, chunks[1], Access::read), Errc::bad_input)) << "no such range";
  EXPECT_TRUE(fails(map({range.base + this->chunk.count, this->chunk}, 0, chunks[1], Access::read), Errc::bad_input))
      << "a part of a range";
  EXPECT_TRUE(fails(this->device->unmap(range, 1), Errc::bad_input)) << "not mapped";
  EXPECT_TRUE(fails(this->device->unmap(range, 2), Errc::bad_input));
  EXPECT_TRUE(fails(this->device->unmap(AddressRange{}, 0), Errc::bad_input));
  EXPECT_EQ(this->read(range.base), this->pattern(5));
  EXPECT_TRUE(this->device->unmap(range, 0));
  EXPECT_TRUE(fails(this->device->unmap(range, 0), Errc::bad_input)) << "unmapped twice";
}

TYPED_TEST_P(DeviceRules, ReleaseUnmapsAndIsFinal) {
  const auto chunks = this->create(1);
  const auto range = this->reserve(2);
  ASSERT_TRUE(this->device->map(range, 1, chunks[0], Access::read_write));
  this->write(this->address(range, 1), this->pattern(6));
  EXPECT_TRUE(this->device->release(range));
  EXPECT_TRUE(fails(this->device->release(range), Errc::bad_input, "already released"));
  EXPECT_TRUE(fails(this->device->map(range, 0, chunks[0], Access::read), Errc::bad_input));
  EXPECT_TRUE(fails(this->device->unmap(range, 1), Errc::bad_input));
  EXPECT_EQ(this->read(this->device->window(chunks[0])), this->pattern(6)) << "the chunk lives on";
}

// Compares a long random history with a model of three maps.
TYPED_TEST_P(DeviceRules, RandomMappingsAndWritesMatchReferenceModel) {
  const auto chunks = this->create(4);
  const std::vector<AddressRange> ranges{this->reserve(3), this->reserve(2)};
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::size_t, Access>> mapped; // (range, slot) -> chunk
  std::vector<unsigned> contents(chunks.size());                                        // seeds
  std::mt19937 random(20);
  unsigned last_seed = 0;
  const auto below = [&](std::size_t limit) { return std::size_t(random() % limit); };
  for (std::size_t i = 0; i < chunks.size(); ++i)
    this->write(this->device->window(chunks[i]), this->pattern(contents[i] = ++last_seed));
  for (int step = 0; step < 400; ++step) {
    const std::size_t range = below(2);
    const std::size_t slot = below(range == 0 ? 3 : 2);
    const std::pair key{range, slot};
    const auto found = mapped.find(key);
    switch (below(3)) {
    case 0: {
      const std::size_t which = below(chunks.size());
      const Access access = below(2) == 0 ? Access::read : Access::read_write;
      EXPECT_EQ(this->device->map(ranges[range], slot, chunks[which], access).has_value(), found == mapped.end());
      if (found == mapped.end()) mapped[key] = {which, access};
      break;
    }
    case 1:
      EXPECT_EQ(this->device->unmap(ranges[range], slot).has_value(), found != mapped.end());
      if (found != mapped.end()) mapped.erase(found);
      break;
    default:
      if (found == mapped.end()) break;
      if (found->second.second == Access::read_write) {
        this->write(this->address(ranges[range], slot), this->pattern(contents[found->second.first] = ++last_seed));
      }
      for (const auto& [place, what] : mapped) {
        ASSERT_EQ(this->read(this->address(ranges[place.first], place.second)), this->pattern(contents[what.first]))
            << "step " << step;
      }
    }
  }
  for (std::size_t i = 0; i < chunks.size(); ++i)
    EXPECT_EQ(this->read(this->device->window(chunks[i])), this->pattern(contents[i]));
}

TYPED_TEST_P(DeviceRules, RunsThreeOrFourEnginesConcurrently) {
  // Each kind of engine waits inside its work until all are there. This is impossible on fewer threads.
  struct Meeting {
    int size = 0;
    std::atomic<int> present = 0;
    std::atomic<int> done = 0;
    Signal changed = {};
  };
  const auto threads_before = held().threads;
  std::set<int> threads;
  Work work{
      .run = [](void* context) noexcept -> Status {
        auto& all = *static_cast<Meeting*>(context);
        ++all.present;
        all.changed.raise();
        for (auto seen = all.changed.value(); all.present < all.size; seen = all.changed.value())
          all.changed.wait(seen);
        return {};
      },
      .done = [](void* context, Status, Instant, Instant) noexcept { ++static_cast<Meeting*>(context)->done; },
  };
  const auto meet = [&](const std::vector<EngineKind>& kinds) {
    Meeting meeting{.size = static_cast<int>(kinds.size())};
    work.context = &meeting;
    for (const auto kind : kinds) {
      EXPECT_TRUE(this->device->engine(kind).submit(work));
      threads.insert(this->device->engine(kind).kernel_id());
    }
    EXPECT_TRUE(eventually([&] { return meeting.done == meeting.size; }));
    EXPECT_EQ(threads.size(), kinds.size());
  };
  meet({EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out});
  EXPECT_EQ(held().threads, threads_before) << "the second compute engine has no thread before it is started";
  if (this->start_secondary_compute())
    meet({EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out, EngineKind::secondary_compute});
}

TYPED_TEST_P(DeviceRules, SecondComputeEngineStartsOnceAndWorksLikeFirst) {
  if (!this->start_secondary_compute()) GTEST_SKIP() << "this device cannot";
  EXPECT_TRUE(fails(this->device->start_secondary_compute(), Errc::bad_input, "already running"));
  const auto chunks = this->create(1);
  const Contents contents = this->pattern(3);
  Contents back(this->chunk.count);
  auto& engine = this->device->engine(EngineKind::secondary_compute);
  EXPECT_TRUE(on_engine(engine, [&]() noexcept -> Status {
    std::byte* const at = this->device->window(chunks[0]);
    if (auto copied = this->device->copy(at, contents.data(), this->chunk); !copied) return copied;
    if (auto begun = this->device->begin_copy(back.data(), at, this->chunk); !begun) return begun;
    return this->device->end_copy();
  }));
  EXPECT_EQ(back, contents);
  if (!this->device->capabilities().digest) return;
  const auto at = this->device->window(chunks[0]);
  EXPECT_EQ(this->digest(at, this->chunk, EngineKind::secondary_compute),
            this->digest(at, this->chunk, EngineKind::compute));
}

TYPED_TEST_P(DeviceRules, ComputeEnginesMeasureExecutionTimesIndependently) {
  if (!this->start_secondary_compute()) GTEST_SKIP() << "this device cannot";
  struct Part {
    Device& device;
    Part* partner;
    std::atomic<bool> begun = false, ended = false;
    Signal changed = {};
    Duration passed = {}, executed = {};
    void await(const std::atomic<bool>& what) noexcept {
      for (auto seen = changed.value(); !what; seen = changed.value()) changed.wait(seen);
    }
    void tell(std::atomic<bool>& what) noexcept {
      what = true;
      partner->changed.raise();
    }
  };
  Part first{.device = *this->device, .partner = nullptr}, second{.device = *this->device, .partner = &first};
  first.partner = &second;
  // The second one begins and ends within the first. If they shared state, the second would spoil the first one's
  // measurement.
  const auto submit = [&](EngineKind kind, Part& part, Status (*run)(void*) noexcept) {
    return this->device->engine(kind).submit(
        {.run = run, .done = [](void*, Status, Instant, Instant) noexcept {}, .context = &part});
  };
  ASSERT_TRUE(submit(EngineKind::compute, first, [](void* context) noexcept -> Status {
    auto& mine = *static_cast<Part*>(context);
    const Instant begin = now();
    mine.device.begin_execution(Concurrency::concurrent);
    sleep_until(begin + std::chrono::milliseconds(20));
    mine.tell(mine.begun);
    mine.await(mine.partner->ended);
    mine.passed = now() - begin;
    mine.executed = mine.device.executed(mine.passed);
    mine.tell(mine.ended);
    return {};
  }));
  ASSERT_TRUE(submit(EngineKind::secondary_compute, second, [](void* context) noexcept -> Status {
    auto& mine = *static_cast<Part*>(context);
    mine.await(mine.partner->begun);
    const Instant begin = now();
    mine.device.begin_execution(Concurrency::concurrent);
    mine.passed = now() - begin;
    mine.executed = mine.device.executed(mine.passed);
    mine.tell(mine.ended);
    return {};
  }));
  second.await(first.ended);
  EXPECT_EQ(first.executed, first.passed) << "nothing of it was on its way";
  EXPECT_EQ(second.executed, second.passed);
  EXPECT_GE(first.passed, std::chrono::milliseconds(20) + second.passed);
}

TYPED_TEST_P(DeviceRules, RemapsWhileComputeEngineUsesOtherAddresses) {
  if (!this->device->capabilities().remap_under_load) GTEST_SKIP() << "this device cannot";
  const auto chunks = this->create(3);
  const auto busy = this->reserve(1);
  const auto changing = this->reserve(1);
  ASSERT_TRUE(this->device->map(busy, 0, chunks[0], Access::read_write));
  const Contents ones = this->pattern(1);
  struct Load {
    Device& device;
    std::byte* target;
    const Contents& contents;
    std::atomic<bool> stop = false;
    Signal begun = {};
    Signal ended = {};
  } load{*this->device, busy.base, ones};
  const Work work{
      .run = [](void* context) noexcept -> Status {
        auto& mine = *static_cast<Load*>(context);
        Status outcome = mine.device.copy(mine.target, mine.contents.data(), Bytes{mine.contents.size()});
        mine.begun.raise();
        while (!mine.stop && outcome)
          outcome = mine.device.copy(mine.target, mine.contents.data(), Bytes{mine.contents.size()});
        return outcome;
      },
      .done = [](void* context, Status, Instant, Instant) noexcept { static_cast<Load*>(context)->ended.raise(); },
      .context = &load,
  };
  ASSERT_TRUE(this->device->engine(EngineKind::compute).submit(work));
  while (load.begun.value() == 0) load.begun.wait(0);
  for (std::size_t round = 0; round < 200; ++round) {
    EXPECT_TRUE(this->device->map(changing, 0, chunks[1 + round % 2], Access::read_write));
    EXPECT_TRUE(this->device->unmap(changing, 0));
  }
  load.stop = true;
  while (load.ended.value() == 0) load.ended.wait(0);
  EXPECT_EQ(this->read(this->device->window(chunks[0])), ones);
}

TYPED_TEST_P(DeviceRules, RemapsDifferentSlotsConcurrently) {
  if (!this->device->capabilities().remap_under_load) GTEST_SKIP() << "this device cannot";
  const auto chunks = this->create(3);
  const auto one = this->reserve(2);
  const auto other = this->reserve(1);
  struct Remapper {
    Device& device;
    AddressRange range;
    std::size_t slot;
    Chunk chunk;
    std::size_t rounds = 0, failed = 0;
    Signal ended = {};
    bool round() noexcept {
      std::byte* const at = range.base + slot * device.chunk_size().count;
      const std::uint64_t mark = ++rounds;
      std::uint64_t seen = 0;
      const bool written = device.map(range, slot, chunk, Access::read_write) &&
                           device.copy(at, reinterpret_cast<const std::byte*>(&mark), Bytes{sizeof mark}) &&
                           device.copy(reinterpret_cast<std::byte*>(&seen), device.window(chunk), Bytes{sizeof seen});
      return written && seen == mark && device.unmap(range, slot);
    }
  };
  std::array<Remapper, 3> remappers{
      {{*this->device, one, 0, chunks[0]}, {*this->device, one, 1, chunks[1]}, {*this->device, other, 0, chunks[2]}}};
  const auto kinds = {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out};
  for (const auto kind : kinds) {
    const Work work{
        .run = [](void* context) noexcept -> Status {
          auto& mine = *static_cast<Remapper*>(context);
          for (int round = 0; round < 300; ++round) mine.failed += !mine.round();
          return {};
        },
        .done = [](void* context, Status, Instant,
                   Instant) noexcept { static_cast<Remapper*>(context)->ended.raise(); },
        .context = &remappers[static_cast<std::size_t>(kind)],
    };
    ASSERT_TRUE(this->device->engine(kind).submit(work));
  }
  for (Remapper& each : remappers) {
    while (each.ended.value() == 0) each.ended.wait(0);
    EXPECT_EQ(each.rounds, 300u);
    EXPECT_EQ(each.failed, 0u);
  }
}

TYPED_TEST_P(DeviceRules, WorkDuringCopyRunsOnceOnCopyThread) {
  const auto chunks = this->create(1);
  const auto range = this->reserve(1);
  struct Neighbour {
    Device& device;
    AddressRange range;
    Chunk chunk;
    int calls = 0;
    int thread = 0;
  } seen{*this->device, range, chunks[0]};
  const DuringCopy during{[](void* context) noexcept -> Status {
                            auto& mine = *static_cast<Neighbour*>(context);
                            ++mine.calls;
                            mine.thread = ::gettid();
                            return mine.device.map(mine.range, 0, mine.chunk, Access::read);
                          },
                          &seen};
  const Contents contents = this->pattern(4);
  auto& engine = this->device->engine(EngineKind::copy_in);
  const auto copy = [&](const Contents& from) {
    return on_engine(engine, [&]() noexcept {
      return this->device->copy(this->device->window(chunks[0]), from.data(), this->chunk, during);
    });
  };
  EXPECT_TRUE(copy(contents));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.thread, engine.kernel_id());
  EXPECT_EQ(this->read(range.base), contents) << "copied and mapped";
  const Contents others = this->pattern(5);
  EXPECT_TRUE(fails(copy(others), Errc::bad_input)) << "of what ran beside: the slot is mapped";
  EXPECT_EQ(this->read(range.base), others) << "the copy ended all the same";
}

TYPED_TEST_P(DeviceRules, EndCopyCompletesBegunCopiesInOrder) {
  const auto chunks = this->create(4);
  const std::array sources{this->pattern(1), this->pattern(2), this->pattern(3), this->pattern(4)};
  const auto window = [&](std::size_t i) { return this->device->window(chunks[i]); };
  Contents back(this->chunk.count), last = back;
  const Status copied = on_engine(this->device->engine(EngineKind::copy_in), [&]() noexcept -> Status {
    for (int round = 0; round < 3; ++round) { // the ring wraps around
      for (const std::size_t i : {0u, 1u, 2u})
        if (auto begun = this->device->begin_copy(window(i), sources[(i + unsigned(round)) % 3].data(), this->chunk);
            !begun)
          return begun;
      if (auto whole = this->device->copy(window(3), sources[3].data(), this->chunk); !whole) return whole;
      for (const std::size_t i : {0u, 1u, 2u}) {
        if (auto ended = this->device->end_copy(); !ended) return ended;
        if (auto seen = this->device->copy(back.data(), window(i), this->chunk); !seen) return seen;
        if (back != sources[(i + unsigned(round)) % 3]) return Unexpected(Errc::corrupted);
      }
    }
    // Copies out, and begins the next copy while one is under way.
    if (auto begun = this->device->begin_copy(back.data(), window(0), this->chunk); !begun) return begun;
    if (auto begun = this->device->begin_copy(last.data(), window(3), this->chunk); !begun) return begun;
    if (auto ended = this->device->end_copy(); !ended) return ended;
    return this->device->end_copy();
  });
  EXPECT_TRUE(copied) << name(copied.error());
  EXPECT_EQ(back, sources[2]);
  EXPECT_EQ(last, sources[3]) << "a whole copy in between";
}

TYPED_TEST_P(DeviceRules, RejectsUnpairedBeginCopyAndEndCopy) {
  const auto chunks = this->create(1);
  const Contents contents = this->pattern(1);
  std::byte* const to = this->device->window(chunks[0]);
  EXPECT_TRUE(on_engine(this->device->engine(EngineKind::copy_in), [&]() noexcept -> Status {
    EXPECT_TRUE(fails(this->device->end_copy(), Errc::bad_input)) << "none is begun";
    EXPECT_TRUE(fails(this->device->begin_copy(nullptr, contents.data(), this->chunk), Errc::bad_input));
    EXPECT_TRUE(fails(this->device->begin_copy(to, nullptr, this->chunk), Errc::bad_input));
    for (std::size_t i = 0; i < Device::copies_at_once; ++i)
      EXPECT_TRUE(this->device->begin_copy(to, contents.data(), this->chunk));
    EXPECT_TRUE(fails(this->device->begin_copy(to, contents.data(), this->chunk), Errc::out_of_memory));
    for (std::size_t i = 0; i < Device::copies_at_once; ++i) EXPECT_TRUE(this->device->end_copy());
    EXPECT_TRUE(fails(this->device->end_copy(), Errc::bad_input)) << "a refused one is not begun";
    return {};
  }));
  EXPECT_EQ(this->read(to), contents);
}

TYPED_TEST_P(DeviceRules, EndCopyEndsOnlyCopiesOfSameEngine) {
  const auto chunks = this->create(2);
  const Contents contents = this->pattern(1);
  const auto on = [&](EngineKind kind, auto body) { return on_engine(this->device->engine(kind), body); };
  const auto end = [&]() noexcept { return this->device->end_copy(); };
  EXPECT_TRUE(on(EngineKind::copy_in, [&]() noexcept {
    return this->device->begin_copy(this->device->window(chunks[0]), contents.data(), this->chunk);
  }));
  EXPECT_TRUE(fails(on(EngineKind::copy_out, end), Errc::bad_input));
  Contents back(this->chunk.count, std::byte{1});
  EXPECT_TRUE(on(EngineKind::copy_out, [&]() noexcept {
    return this->device->begin_copy(back.data(), this->device->window(chunks[1]), this->chunk);
  }));
  EXPECT_TRUE(on(EngineKind::copy_in, end));
  EXPECT_TRUE(on(EngineKind::copy_out, end));
  EXPECT_EQ(this->read(this->device->window(chunks[0])), contents);
  EXPECT_EQ(back, Contents(this->chunk.count));
}

// ---- digests ----

#define SKIP_WITHOUT_DIGEST()               \
  if (!this->device->capabilities().digest) \
  GTEST_SKIP() << "this device cannot: " << this->device->capabilities().findings.back()

TYPED_TEST_P(DeviceRules, DigestDependsOnContentsNotAddress) {
  SKIP_WITHOUT_DIGEST();
  const auto chunks = this->create(3);
  const auto range = this->reserve(2);
  for (const std::size_t i : {0u, 1u}) this->write(this->device->window(chunks[i]), this->pattern(1));
  this->write(this->device->window(chunks[2]), this->pattern(2));
  ASSERT_TRUE(this->device->map(range, 0, chunks[2], Access::read));
  ASSERT_TRUE(this->device->map(range, 1, chunks[1], Access::read));
  for (const Bytes size : {this->chunk, Bytes{this->chunk.count / 2 - 16}, Bytes{16}, Bytes{0}}) {
    const Digest one = this->digest(this->device->window(chunks[0]), size);
    EXPECT_EQ(one, digest_of(this->pattern(1).data(), size));
    EXPECT_EQ(one, this->digest(this->device->window(chunks[1]), size));
    EXPECT_EQ(one, this->digest(this->address(range, 1), size)) << "through a read-only mapping";
    EXPECT_EQ(one, this->digest(this->address(range, 1), size, EngineKind::compute)) << "whoever asks";
    EXPECT_EQ(one == this->digest(range.base, size), size.count == 0) << "another chunk";
  }
  const Bytes part{this->chunk.count - 16};
  EXPECT_EQ(this->digest(this->device->window(chunks[0]) + 16, part), digest_of(this->pattern(1).data() + 16, part));
  EXPECT_EQ(this->digest(this->device->window(chunks[0]), this->chunk * 2), digest_of(
                                                                                [&] {
                                                                                  Contents both = this->pattern(1);
                                                                                  both.insert(both.end(), both.begin(),
                                                                                              both.end());
                                                                                  return both;
                                                                                }()
                                                                                    .data(),
                                                                                this->chunk * 2))
      << "of two chunks";
}

// Checks both halves: at a single position, both are permutations of words.
TYPED_TEST_P(DeviceRules, DigestChangesWithEveryBit) {
  SKIP_WITHOUT_DIGEST();
  const auto chunks = this->create(1);
  std::byte* const base = this->device->window(chunks[0]);
  Contents contents = this->pattern(7);
  this->write(base, contents);
  const Digest before = this->digest(base, this->chunk);
  std::mt19937_64 random(11);
  std::size_t failed = 0, missed = 0;
  EXPECT_TRUE(on_engine(this->device->engine(EngineKind::copy_in), [&]() noexcept -> Status {
    for (int flip = 0; flip < 10'000; ++flip) {
      const std::size_t bit = random() % (contents.size() * 8);
      const std::size_t at = bit / 8;
      const std::byte flipped = contents[at] ^ std::byte(1u << bit % 8);
      Digest after;
      failed += !this->device->copy(base + at, &flipped, Bytes{1});
      failed += !this->device->digest(base, this->chunk, after);
      failed += !this->device->copy(base + at, &contents[at], Bytes{1});
      missed += after.low == before.low || after.high == before.high;
    }
    return {};
  }));
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(missed, 0u);
  EXPECT_EQ(this->digest(base, this->chunk), before);
}

// Checks each half by itself.
TYPED_TEST_P(DeviceRules, DigestChangesWhenWordsMove) {
  SKIP_WITHOUT_DIGEST();
  const auto chunks = this->create(1);
  std::byte* const base = this->device->window(chunks[0]);
  const auto digest_with = [&](const std::vector<std::uint64_t>& words) {
    Contents contents(this->chunk.count);
    std::memcpy(contents.data(), words.data(), contents.size());
    this->write(base, contents);
    return this->digest(base, this->chunk);
  };
  const auto differ = [](const Digest& one, const Digest& other) {
    return one.low != other.low && one.high != other.high;
  };
  std::mt19937_64 random(12);
  std::vector<std::uint64_t> words(this->chunk.count / 8);
  const Digest zeros = digest_with(words);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, words.size() / 2, words.size() - 1}) {
    auto one = words;
    one[i] = 1;
    one[(i + 2) % words.size()] = ~std::uint64_t{0};
    const Digest there = digest_with(one);
    std::swap(one[i], one[(i + 1) % one.size()]);
    EXPECT_TRUE(differ(there, zeros)) << i;
    EXPECT_TRUE(differ(there, digest_with(one))) << i;
  }
  std::ranges::generate(words, random);
  const Digest before = digest_with(words);
  for (int round = 0; round < 50; ++round) {
    auto swapped = words;
    const std::size_t i = random() % words.size();
    const std::size_t j = (i + 1 + random() % (words.size() - 1)) % words.size();
    std::swap(swapped[i], swapped[j]);
    EXPECT_TRUE(differ(digest_with(swapped), before)) << i << " and " << j;
    // A change that a plain sum of words would miss.
    swapped = words;
    ++swapped[i];
    --swapped[j];
    EXPECT_TRUE(differ(digest_with(swapped), before)) << i << " and " << j;
  }
  auto turned = words;
  std::ranges::rotate(turned, turned.begin() + 1);
  EXPECT_TRUE(differ(digest_with(turned), before));
}

TYPED_TEST_P(DeviceRules, ConcurrentDigestsOfEnginesDoNotInterfere) {
  SKIP_WITHOUT_DIGEST();
  const auto chunks = this->create(4);
  struct Digester {
    Device& device;
    const std::byte* at = nullptr;
    Digest expected = {};
    std::size_t wrong = 0;
    Signal ended = {};
  };
  std::array<Digester, engine_kinds> digesters{{{*this->device}, {*this->device}, {*this->device}, {*this->device}}};
  std::vector kinds{EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out};
  if (this->start_secondary_compute()) kinds.push_back(EngineKind::secondary_compute);
  for (const auto kind : kinds) {
    const auto number = static_cast<std::size_t>(kind);
    Digester& mine = digesters[number];
    const Contents contents = this->pattern(unsigned(number));
    mine.at = this->device->window(chunks[number]);
    mine.expected = digest_of(contents.data(), this->chunk);
    this->write(this->device->window(chunks[number]), contents);
  }
  for (const auto kind : kinds) {
    const Work work{
        .run = [](void* context) noexcept -> Status {
          auto& mine = *static_cast<Digester*>(context);
          for (int round = 0; round < 200; ++round) {
            Digest found;
            const Status done = mine.device.digest(mine.at, mine.device.chunk_size(), found);
            mine.wrong += !done || found != mine.expected;
          }
          return {};
        },
        .done = [](void* context, Status, Instant,
                   Instant) noexcept { static_cast<Digester*>(context)->ended.raise(); },
        .context = &digesters[static_cast<std::size_t>(kind)],
    };
    ASSERT_TRUE(this->device->engine(kind).submit(work));
  }
  for (Digester& each : std::span(digesters).first(kinds.size())) {
    while (each.ended.value() == 0) each.ended.wait(0);
    EXPECT_EQ(each.wrong, 0u);
  }
}

TYPED_TEST_P(DeviceRules, RejectsDigestOfNullOrUnalignedData) {
  const auto chunks = this->create(1);
  Digest result{1, 2};
  const auto ask = [&](const std::byte* at, Bytes size) { return this->device->digest(at, size, result); };
  EXPECT_TRUE(fails(ask(nullptr, Bytes{16}), Errc::bad_input));
  EXPECT_TRUE(fails(ask(this->device->window(chunks[0]) + 8, Bytes{16}), Errc::bad_input));
  EXPECT_TRUE(fails(ask(this->device->window(chunks[0]), Bytes{24}), Errc::bad_input));
  EXPECT_EQ(result, (Digest{1, 2}));
}

// ---- pinned memory ----

TYPED_TEST_P(DeviceRules, CopiesFromPinnedMemoryAndUnpinsItOnce) {
  const auto chunks = this->create(1);
  const Bytes page = page_size();
  auto memory = Mapping::anonymous(page * 4, PROT_READ | PROT_WRITE, 0, "a test");
  ASSERT_TRUE(memory);
  std::byte* const base = memory->base();
  const auto half_pinned = this->device->pin(base, page * 2);
  ASSERT_TRUE(half_pinned) << problem(half_pinned);
  EXPECT_TRUE(this->device->pin(base + (page * 2).count, page * 2)) << "its neighbour";
  EXPECT_TRUE(fails(this->device->pin(base, page * 2), Errc::bad_input, "already page-locked"));
  EXPECT_TRUE(fails(this->device->pin(base + page.count, page * 2), Errc::bad_input, "already page-locked"));
  std::ranges::fill_n(base, static_cast<std::ptrdiff_t>(page.count), std::byte{9});
  const auto copy = [&]() noexcept { return this->device->copy(this->device->window(chunks[0]), base, page); };
  EXPECT_TRUE(on_engine(this->device->engine(EngineKind::copy_in), copy));
  EXPECT_EQ(this->read(this->device->window(chunks[0]), page), Contents(page.count, std::byte{9}));
  EXPECT_TRUE(fails(this->device->unpin(base + page.count), Errc::bad_input, "not page-locked")) << "inside of one";
  EXPECT_TRUE(this->device->unpin(base));
  EXPECT_TRUE(fails(this->device->unpin(base), Errc::bad_input, "already unlocked"));
  EXPECT_TRUE(this->device->pin(base, page)) << "again, another size";
  EXPECT_EQ(base[page.count - 1], std::byte{9});
  EXPECT_TRUE(fails(this->device->pin(base + page.count + 1, page), Errc::bad_input, "whole pages"));
  EXPECT_TRUE(fails(this->device->pin(base + page.count, Bytes{page.count - 1}), Errc::bad_input, "whole pages"));
  EXPECT_TRUE(fails(this->device->pin(base + page.count, Bytes{0}), Errc::bad_input, "whole pages"));
  this->device.reset(); // unpins the rest before the memory is freed
}

// ---- other rules ----

TYPED_TEST_P(DeviceRules, MappingCopyingAndSubmittingAllocateNothing) {
  if constexpr (requires { TypeParam::driver_allocates; })
    GTEST_SKIP() << "the driver's own allocations cannot be told apart";
  const auto chunks = this->create(2);
  const auto range = this->reserve(2);
  Contents host(this->chunk.count);
  const auto counted = [&] {
    std::uint64_t sum = allocations();
    for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out})
      sum += counts_of(this->device->engine(kind).kernel_id()).allocations;
    return sum;
  };
  const auto before = counted();
  std::size_t failed = 0;
  for (std::size_t round = 0; round < 20; ++round) {
    failed += !this->device->map(range, round % 2, chunks[round % 2], Access::read_write);
    const auto copy = [&]() noexcept {
      return this->device->copy(this->address(range, round % 2), host.data(), this->chunk);
    };
    failed += !on_engine(this->device->engine(EngineKind::copy_in), copy);
    if (this->device->capabilities().digest) {
      Digest result;
      const auto digest = [&]() noexcept {
        return this->device->digest(this->address(range, round % 2), this->chunk, result);
      };
      failed += !on_engine(this->device->engine(EngineKind::copy_out), digest);
    }
    failed += !this->device->unmap(range, round % 2);
  }
  EXPECT_EQ(counted(), before);
  EXPECT_EQ(failed, 0u);
}

TYPED_TEST_P(DeviceRules, RejectsCopyWithNullPointer) {
  const auto chunks = this->create(1);
  Contents host(1);
  EXPECT_TRUE(fails(this->device->copy(nullptr, host.data(), Bytes{1}), Errc::bad_input));
  EXPECT_TRUE(fails(this->device->copy(this->device->window(chunks[0]), nullptr, Bytes{1}), Errc::bad_input));
}

TYPED_TEST_P(DeviceRules, ReportsNameAndProbeFindings) {
  EXPECT_GE(this->device->capabilities().findings.size(), 3u);
  EXPECT_FALSE(this->device->name().empty());
}

TYPED_TEST_P(DeviceRules, BuffersStartZeroedAndVisibleToHostUnlessDeviceOnly) {
  constexpr Bytes size{10'000};
  Contents ones(size.count, std::byte{1});
  for (const auto kind : {BufferKind::device, BufferKind::managed, BufferKind::host}) {
    const Buffer buffer = this->allocate(kind, size);
    EXPECT_EQ(buffer.kind, kind);
    EXPECT_EQ(buffer.size, size);
    EXPECT_EQ(buffer.host == nullptr, kind == BufferKind::device);
    ASSERT_NE(buffer.device, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.device) % 256, 0u);
    if (kind == BufferKind::managed) { EXPECT_EQ(buffer.host, buffer.device) << "one address for both"; }
    EXPECT_EQ(this->read(buffer.device, size), Contents(size.count));
    this->write(buffer.device, ones);
    EXPECT_EQ(this->read(buffer.device, size), ones);
    if (buffer.host == nullptr) continue;
    EXPECT_TRUE(std::equal(ones.begin(), ones.end(), buffer.host))
        << "the host sees what was written through the device";
    buffer.host[size.count - 1] = std::byte{7};
    EXPECT_EQ(this->read(buffer.device, size).back(), std::byte{7}) << "and the other way";
  }
}

TYPED_TEST_P(DeviceRules, BufferCanBeFreedOnlyOnce) {
  for (const auto kind : {BufferKind::device, BufferKind::managed, BufferKind::host}) {
    const Buffer buffer = this->allocate(kind, Bytes{100});
    const Buffer kept = this->allocate(kind, Bytes{100});
    EXPECT_NE(buffer.device, kept.device);
    EXPECT_TRUE(this->device->free(buffer));
    EXPECT_TRUE(fails(this->device->free(buffer), Errc::bad_input, "already freed"));
    EXPECT_EQ(this->read(kept.device, Bytes{100}), Contents(100)) << "the other one lives on";
    EXPECT_TRUE(fails(this->device->allocate(kind, Bytes{0}), Errc::bad_input, "of 0 bytes"));
  }
  EXPECT_TRUE(fails(this->device->free(Buffer{}), Errc::bad_input, ""));
}

TYPED_TEST_P(DeviceRules, BuffersDoNotReduceChunkCapacity) {
  (void)this->allocate(BufferKind::device, this->chunk * this->capacity);
  EXPECT_EQ(this->create(this->capacity).size(), this->capacity);
}

TYPED_TEST_P(DeviceRules, MemoryUseCountsChunksAndDeviceBuffers) {
  const MemoryUse before = this->use();
  EXPECT_LE(before.context, before.own);
  (void)this->create(3);
  const MemoryUse with_chunks = this->use();
  EXPECT_GE(with_chunks.own, before.own + this->chunk * 3);
  const Bytes size{16 << 20};
  const Buffer buffer = this->allocate(BufferKind::device, size);
  EXPECT_GE(this->use().own, with_chunks.own + size);
  EXPECT_TRUE(this->device->free(buffer));
  EXPECT_LT(this->use().own, with_chunks.own + size);
  EXPECT_EQ(this->use().context, before.context) << "of the opening";
}

TYPED_TEST_P(DeviceRules, ReportsNoFaultAfterInvalidCalls) {
  EXPECT_FALSE(this->device->fault());
  (void)this->device->copy(nullptr, nullptr, Bytes{1});
  (void)this->device->unmap(AddressRange{}, 0);
  EXPECT_FALSE(this->device->fault()) << "a mistake of the caller is none";
}

REGISTER_TYPED_TEST_SUITE_P(
    DeviceRules, CreatesWholeChunksOnlyUpToCapacity, ChunksAreNumberedInOrderAndFollowEachOtherInTheWindow,
    ChunksStartZeroedAndRetainWindowWrites, RangesAreWholeChunksAndDoNotOverlap, ReservesMoreAddressesThanCapacity,
    MappedChunkAliasesItsWindow, MapsOneChunkAtSeveralAddressesAtOnce, ContentsFollowTheChunkNotTheAddress,
    RejectsInvalidMappingsWithoutEffect, ReleaseUnmapsAndIsFinal, RandomMappingsAndWritesMatchReferenceModel,
    RunsThreeOrFourEnginesConcurrently, SecondComputeEngineStartsOnceAndWorksLikeFirst,
    ComputeEnginesMeasureExecutionTimesIndependently, RemapsWhileComputeEngineUsesOtherAddresses,
    RemapsDifferentSlotsConcurrently, WorkDuringCopyRunsOnceOnCopyThread, EndCopyCompletesBegunCopiesInOrder,
    RejectsUnpairedBeginCopyAndEndCopy, EndCopyEndsOnlyCopiesOfSameEngine, DigestDependsOnContentsNotAddress,
    DigestChangesWithEveryBit, DigestChangesWhenWordsMove, ConcurrentDigestsOfEnginesDoNotInterfere,
    RejectsDigestOfNullOrUnalignedData, CopiesFromPinnedMemoryAndUnpinsItOnce,
    MappingCopyingAndSubmittingAllocateNothing, RejectsCopyWithNullPointer, ReportsNameAndProbeFindings,
    BuffersStartZeroedAndVisibleToHostUnlessDeviceOnly, BufferCanBeFreedOnlyOnce, BuffersDoNotReduceChunkCapacity,
    MemoryUseCountsChunksAndDeviceBuffers, ReportsNoFaultAfterInvalidCalls);

} // namespace rtexec::hal::test
