// The rules that every Device keeps. A back end is a type with `static Bytes chunk()` and
// `static Result<std::unique_ptr<Device>> open(std::size_t chunks)`; its tests say
//   INSTANTIATE_TYPED_TEST_SUITE_P(NAME, DeviceRules, BackEnd);
// It may have: `struct Environment`, which lives around the device; `static std::string why_not()`, why this machine has no such device
// (empty: it has); `static constexpr bool driver_allocates`, where allocations of a driver cannot be told from ours.
// Device memory is touched by Device::copy on a copy engine only, never through a pointer.
#pragma once

#include "test/hal/support.hpp"
#include "test/support/thread_counts.hpp"

#include "hal/device.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace rtexec::hal::test {

using Contents = std::vector<std::byte>;

/// Runs `body` on an engine and waits for it.
template <class Body>
Status on_engine(Engine& engine, Body body) {
  struct Request {
    Body& body;
    Status outcome;
    Signal ended;
  } request{body, {}, {}};
  const Work work{
      .run = [](void* context) noexcept -> Status { return static_cast<Request*>(context)->body(); },
      .done = [](void* context, Status outcome, Instant, Instant) noexcept {
        static_cast<Request*>(context)->outcome = outcome;
        static_cast<Request*>(context)->ended.raise();
      },
      .context = &request,
  };
  if (auto submitted = engine.submit(work); !submitted) return submitted;
  while (request.ended.value() == 0) request.ended.wait(0);
  return request.outcome;
}

struct NoEnvironment {};
template <class BackEnd>
struct EnvironmentOf {
  using Type = NoEnvironment;
};
template <class BackEnd>
  requires requires { typename BackEnd::Environment; }
struct EnvironmentOf<BackEnd> {
  using Type = typename BackEnd::Environment;
};

template <class BackEnd>
class DeviceRules : public testing::Test {
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
    const auto copied = on_engine(device->engine(EngineKind::copy_in), [&]() noexcept { return device->copy(to, contents.data(), Bytes{contents.size()}); });
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

  Buffer allocate(BufferKind kind, Bytes size) {
    const auto buffer = device->allocate(kind, size);
    EXPECT_TRUE(buffer) << problem(buffer);
    return buffer.value_or(Buffer{});
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

TYPED_TEST_P(DeviceRules, CapacityIsWholeChunksAndEnforced) {
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
  for (const std::size_t i : {1u, 2u, 4u}) EXPECT_EQ(this->device->window(chunks[i]), this->device->window(chunks[i - 1]) + this->chunk.count);
}

TYPED_TEST_P(DeviceRules, ChunksAreZeroedAndKeepWhatIsWrittenInTheWindow) {
  const auto chunks = this->create(2);
  for (const Chunk each : chunks) EXPECT_EQ(this->read(this->device->window(each)), Contents(this->chunk.count));
  for (const Chunk each : chunks) this->write(this->device->window(each), this->pattern(unsigned(index(each))));
  (void)this->create(1); // moves nothing
  for (const Chunk each : chunks) EXPECT_EQ(this->read(this->device->window(each)), this->pattern(unsigned(index(each))));
}

TYPED_TEST_P(DeviceRules, RangesAreWholeChunksAndDoNotOverlap) {
  const auto odd = this->device->reserve(this->chunk + Bytes{1});
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->size, this->chunk * 2);
  std::vector<AddressRange> ranges{*odd, this->reserve(1), this->reserve(3)};
  std::ranges::sort(ranges, {}, &AddressRange::base);
  for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_GE(ranges[i].base, ranges[i - 1].base + ranges[i - 1].size.count);
  EXPECT_TRUE(fails(this->device->reserve(Bytes{0}), Errc::bad_input, "no bytes"));
}

TYPED_TEST_P(DeviceRules, AddressesAreNoMemory) { // far more may be reserved than there is capacity
  const auto range = this->reserve(this->capacity * 1000);
  const auto chunks = this->create(1);
  const std::size_t last = this->capacity * 1000 - 1;
  ASSERT_TRUE(this->device->map(range, last, chunks[0], Access::read_write));
  this->write(this->address(range, last), this->pattern(1));
  EXPECT_EQ(this->read(this->device->window(chunks[0])), this->pattern(1));
}

TYPED_TEST_P(DeviceRules, AMappedChunkIsTheSameMemoryAsItsWindow) {
  const auto chunks = this->create(2);
  const auto range = this->reserve(2);
  ASSERT_TRUE(this->device->map(range, 0, chunks[1], Access::read_write));
  ASSERT_TRUE(this->device->map(range, 1, chunks[0], Access::read));
  this->write(this->address(range, 0), this->pattern(10));
  EXPECT_EQ(this->read(this->device->window(chunks[1])), this->pattern(10));
  this->write(this->device->window(chunks[0]), this->pattern(11)); // while it is mapped read-only
  EXPECT_EQ(this->read(this->address(range, 1)), this->pattern(11));
}

TYPED_TEST_P(DeviceRules, OneChunkStandsInSeveralPlacesAtOnce) {
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

TYPED_TEST_P(DeviceRules, ImpossibleMappingsAreBadInputAndChangeNothing) {
  const auto chunks = this->create(2);
  const auto range = this->reserve(2);
  const Chunk foreign{2};
  ASSERT_TRUE(this->device->map(range, 0, chunks[0], Access::read_write));
  this->write(range.base, this->pattern(5));
  const auto map = [&](AddressRange where, std::size_t slot, Chunk what, Access access) { return this->device->map(where, slot, what, access); };
  EXPECT_TRUE(fails(map(range, 0, chunks[1], Access::read), Errc::bad_input)) << "the slot is mapped";
  EXPECT_TRUE(fails(map(range, 2, chunks[1], Access::read), Errc::bad_input)) << "no such slot";
  EXPECT_TRUE(fails(map(range, std::size_t(-1), chunks[1], Access::read), Errc::bad_input));
  EXPECT_TRUE(fails(map(range, 1, foreign, Access::read), Errc::bad_input)) << "no such chunk";
  EXPECT_TRUE(fails(map(range, 1, chunks[1], Access::none), Errc::bad_input));
  EXPECT_TRUE(fails(map(AddressRange{}, 0, chunks[1], Access::read), Errc::bad_input)) << "no such range";
  EXPECT_TRUE(fails(map({range.base + this->chunk.count, this->chunk}, 0, chunks[1], Access::read), Errc::bad_input)) << "a part of a range";
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
  EXPECT_TRUE(fails(this->device->release(range), Errc::bad_input, "released before"));
  EXPECT_TRUE(fails(this->device->map(range, 0, chunks[0], Access::read), Errc::bad_input));
  EXPECT_TRUE(fails(this->device->unmap(range, 1), Errc::bad_input));
  EXPECT_EQ(this->read(this->device->window(chunks[0])), this->pattern(6)) << "the chunk lives on";
}

// A long random history against a model of three maps.
TYPED_TEST_P(DeviceRules, AnyHistoryAgreesWithTheModel) {
  const auto chunks = this->create(4);
  const std::vector<AddressRange> ranges{this->reserve(3), this->reserve(2)};
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::size_t, Access>> mapped; // range, slot -> chunk
  std::vector<unsigned> contents(chunks.size());                                        // seeds
  std::mt19937 random(20);
  unsigned last_seed = 0;
  const auto below = [&](std::size_t limit) { return std::size_t(random() % limit); };
  for (std::size_t i = 0; i < chunks.size(); ++i) this->write(this->device->window(chunks[i]), this->pattern(contents[i] = ++last_seed));
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
          ASSERT_EQ(this->read(this->address(ranges[place.first], place.second)), this->pattern(contents[what.first])) << "step " << step;
        }
    }
  }
  for (std::size_t i = 0; i < chunks.size(); ++i) EXPECT_EQ(this->read(this->device->window(chunks[i])), this->pattern(contents[i]));
}

TYPED_TEST_P(DeviceRules, EnginesAreThreeAndWorkAtOnce) {
  // Each kind waits inside its work until all three are there: they could not be, on fewer threads.
  struct Meeting {
    std::atomic<int> present = 0;
    std::atomic<int> done = 0;
    Signal changed;
  } meeting;
  std::set<int> threads;
  const Work work{
      .run = [](void* context) noexcept -> Status {
        auto& all = *static_cast<Meeting*>(context);
        ++all.present;
        all.changed.raise();
        for (auto seen = all.changed.value(); all.present < 3; seen = all.changed.value()) all.changed.wait(seen);
        return {};
      },
      .done = [](void* context, Status, Instant, Instant) noexcept { ++static_cast<Meeting*>(context)->done; },
      .context = &meeting,
  };
  for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out}) {
    ASSERT_TRUE(this->device->engine(kind).submit(work));
    threads.insert(this->device->engine(kind).kernel_id());
  }
  EXPECT_TRUE(eventually([&] { return meeting.done == 3; }));
  EXPECT_EQ(threads.size(), 3u);
}

TYPED_TEST_P(DeviceRules, MappingsChangeWhileTheComputeEngineWorksElsewhere) {
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
        while (!mine.stop && outcome) outcome = mine.device.copy(mine.target, mine.contents.data(), Bytes{mine.contents.size()});
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

TYPED_TEST_P(DeviceRules, MappingCopyingAndSubmittingAllocateNothing) {
  if constexpr (requires { TypeParam::driver_allocates; }) GTEST_SKIP() << "the driver's own allocations cannot be told apart";
  const auto chunks = this->create(2);
  const auto range = this->reserve(2);
  Contents host(this->chunk.count);
  const auto counted = [&] {
    std::uint64_t sum = allocations();
    for (const auto kind : {EngineKind::compute, EngineKind::copy_in, EngineKind::copy_out}) sum += counts_of(this->device->engine(kind).kernel_id()).allocations;
    return sum;
  };
  const auto before = counted();
  std::size_t failed = 0;
  for (std::size_t round = 0; round < 20; ++round) {
    failed += !this->device->map(range, round % 2, chunks[round % 2], Access::read_write);
    const auto copy = [&]() noexcept { return this->device->copy(this->address(range, round % 2), host.data(), this->chunk); };
    failed += !on_engine(this->device->engine(EngineKind::copy_in), copy);
    failed += !this->device->unmap(range, round % 2);
  }
  EXPECT_EQ(counted(), before);
  EXPECT_EQ(failed, 0u);
}

TYPED_TEST_P(DeviceRules, CopiesOfNothingAreBadInput) {
  const auto chunks = this->create(1);
  Contents host(1);
  EXPECT_TRUE(fails(this->device->copy(nullptr, host.data(), Bytes{1}), Errc::bad_input));
  EXPECT_TRUE(fails(this->device->copy(this->device->window(chunks[0]), nullptr, Bytes{1}), Errc::bad_input));
}

TYPED_TEST_P(DeviceRules, ItSaysWhatItsProbesFound) {
  EXPECT_GE(this->device->capabilities().findings.size(), 3u);
  EXPECT_FALSE(this->device->name().empty());
}

TYPED_TEST_P(DeviceRules, BuffersAreZeroedAndSeenByTheirSides) {
  constexpr Bytes size{10'000};
  Contents ones(size.count, std::byte{1});
  for (const auto kind : {BufferKind::device, BufferKind::managed, BufferKind::host}) {
    const Buffer buffer = this->allocate(kind, size);
    EXPECT_EQ(buffer.kind, kind);
    EXPECT_EQ(buffer.size, size);
    EXPECT_EQ(buffer.host == nullptr, kind == BufferKind::device);
    ASSERT_NE(buffer.device, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.device) % 256, 0u);
    if (kind == BufferKind::managed) {
      EXPECT_EQ(buffer.host, buffer.device) << "one address for both";
    }
    EXPECT_EQ(this->read(buffer.device, size), Contents(size.count));
    this->write(buffer.device, ones);
    EXPECT_EQ(this->read(buffer.device, size), ones);
    if (buffer.host == nullptr) continue;
    EXPECT_TRUE(std::equal(ones.begin(), ones.end(), buffer.host)) << "the host sees what was written through the device";
    buffer.host[size.count - 1] = std::byte{7};
    EXPECT_EQ(this->read(buffer.device, size).back(), std::byte{7}) << "and the other way";
  }
}

TYPED_TEST_P(DeviceRules, BuffersAreFreedOnce) {
  for (const auto kind : {BufferKind::device, BufferKind::managed, BufferKind::host}) {
    const Buffer buffer = this->allocate(kind, Bytes{100});
    const Buffer kept = this->allocate(kind, Bytes{100});
    EXPECT_NE(buffer.device, kept.device);
    EXPECT_TRUE(this->device->free(buffer));
    EXPECT_TRUE(fails(this->device->free(buffer), Errc::bad_input, "freed before"));
    EXPECT_EQ(this->read(kept.device, Bytes{100}), Contents(100)) << "the other one lives on";
    EXPECT_TRUE(fails(this->device->allocate(kind, Bytes{0}), Errc::bad_input, "no bytes"));
  }
  EXPECT_TRUE(fails(this->device->free(Buffer{}), Errc::bad_input, ""));
}

TYPED_TEST_P(DeviceRules, BuffersCountAgainstNoCapacity) {
  (void)this->allocate(BufferKind::device, this->chunk * this->capacity);
  EXPECT_EQ(this->create(this->capacity).size(), this->capacity);
}

TYPED_TEST_P(DeviceRules, MemoryUseFollowsChunksAndDeviceBuffers) {
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

TYPED_TEST_P(DeviceRules, AHealthyDeviceHasNoFault) {
  EXPECT_FALSE(this->device->fault());
  (void)this->device->copy(nullptr, nullptr, Bytes{1});
  (void)this->device->unmap(AddressRange{}, 0);
  EXPECT_FALSE(this->device->fault()) << "a mistake of the caller is none";
}

REGISTER_TYPED_TEST_SUITE_P(DeviceRules, CapacityIsWholeChunksAndEnforced, ChunksAreNumberedInOrderAndFollowEachOtherInTheWindow,
                            ChunksAreZeroedAndKeepWhatIsWrittenInTheWindow, RangesAreWholeChunksAndDoNotOverlap, AddressesAreNoMemory,
                            AMappedChunkIsTheSameMemoryAsItsWindow, OneChunkStandsInSeveralPlacesAtOnce, ContentsFollowTheChunkNotTheAddress,
                            ImpossibleMappingsAreBadInputAndChangeNothing, ReleaseUnmapsAndIsFinal, AnyHistoryAgreesWithTheModel,
                            EnginesAreThreeAndWorkAtOnce, MappingsChangeWhileTheComputeEngineWorksElsewhere,
                            MappingCopyingAndSubmittingAllocateNothing, CopiesOfNothingAreBadInput, ItSaysWhatItsProbesFound,
                            BuffersAreZeroedAndSeenByTheirSides, BuffersAreFreedOnce, BuffersCountAgainstNoCapacity,
                            MemoryUseFollowsChunksAndDeviceBuffers, AHealthyDeviceHasNoFault);

} // namespace rtexec::hal::test
