// Tests when a chunk is loaded and mapped, and the state after an error, transfer by transfer.
#include "rtexec/runtime/executive/device_memory.hpp"
#include "test/rtexec/runtime/device_doubles.hpp"
#include "test/rtexec/runtime/swap_doubles.hpp"

#include <array>
#include <gtest/gtest.h>

namespace rtexec::test {
namespace {

using executive::DeviceMemory;
using policies::Transfer;

/// Two tasks of three chunks of state each, in three frames that first hold the first task's.
class DeviceMemoryTest : public testing::Test {
 protected:
  static constexpr std::uint32_t chunks = 3;

  void SetUp() override {
    device_ = std::make_unique<DeviceDouble>(faults_, small_chunk * 8, small_chunk);
    executive::TaskMemory task{
        .constants = {}, .arena = {.constant = 0, .state = chunks, .fixed = 0, .scratch = 0}, .swap_slots = {}};
    for (std::uint32_t slot = 0; slot < chunks; ++slot) task.swap_slots.push_back({.slot = slot, .copied_out = true});
    auto memory = DeviceMemory::lay_out(*device_, std::array{task, task},
                                        {.frames = chunks, .open_store = store_opener(orders_)});
    ASSERT_TRUE(memory);
    memory_ = std::move(*memory);
    policies::DeviceScheduler::State state;
    state.slots.assign(2, std::vector<policies::DeviceScheduler::Slot>(chunks));
    for (std::uint32_t slot = 0; slot < chunks; ++slot)
      state.slots[0][slot] = {policies::DeviceScheduler::Residence::resident, slot};
    ASSERT_TRUE(memory_->bring_in(state));
  }
  /// Returns which slots of a task the CPU can read.
  std::vector<bool> mapped(std::uint32_t task) const {
    std::vector<bool> found;
    for (std::uint32_t slot = 0; slot < chunks; ++slot) found.push_back(probe_.readable(at(task, slot)));
    return found;
  }
  std::byte* at(std::uint32_t task, std::uint32_t slot) const {
    return memory_->addresses()[task].state + slot * small_chunk.count;
  }

  void begin_save(Transfer transfer) {
    ASSERT_TRUE(device_->engine(hal::EngineKind::copy_out)
                    .call([&]() noexcept -> Status {
                      memory_->begin_save(transfer);
                      return {};
                    })
                    .outcome);
  }
  Status end_save(Transfer transfer) {
    return device_->engine(hal::EngineKind::copy_out)
        .call([&]() noexcept -> Status {
          const auto saved = memory_->save(transfer);
          return saved ? Status() : Unexpected(saved.error());
        })
        .outcome;
  }
  Status save(Transfer transfer) {
    begin_save(transfer);
    return end_save(transfer);
  }
  Status load(Transfer transfer) {
    return device_->engine(hal::EngineKind::copy_in)
        .call([&]() noexcept -> Status {
          memory_->begin_load(transfer);
          const auto loaded = memory_->load(transfer);
          return loaded ? Status() : Unexpected(loaded.error());
        })
        .outcome;
  }
  /// Prepares memory as before a segment of a job of `task`.
  Status prepare(std::uint32_t task, std::uint32_t segment = 0) {
    return device_->engine(hal::EngineKind::compute)
        .call([&]() noexcept { return memory_->prepare(task, segment); })
        .outcome;
  }
  const std::vector<bool> none = {false, false, false}, all = {true, true, true};
  std::shared_ptr<StoreOrders> orders_ = std::make_shared<StoreOrders>();
  std::shared_ptr<DeviceState> faults_ = std::make_shared<DeviceState>();
  std::unique_ptr<DeviceDouble> device_;
  std::unique_ptr<DeviceMemory> memory_;
  Probe probe_;
};

/// Four chunks of constants that pass through two frames, one in each of four segments.
class StreamedMemoryTest : public DeviceMemoryTest {
 protected:
  static constexpr std::uint32_t streamed = 4;

  void SetUp() override {
    device_ = std::make_unique<DeviceDouble>(faults_, small_chunk * 8, small_chunk);
    for (std::uint32_t chunk = 0; chunk < streamed; ++chunk)
      constants_.insert(constants_.end(), small_chunk.count, std::byte(chunk + 1));
    executive::TaskMemory task{.constants = constants_,
                               .arena = {.constant = streamed, .state = 0, .fixed = 0, .scratch = 0},
                               .swap_slots = {}};
    for (std::uint32_t slot = 0; slot < streamed; ++slot) {
      task.swap_slots.push_back({.slot = slot, .copied_out = false});
      task.reads.push_back({slot, slot + 1});
    }
    auto memory = DeviceMemory::lay_out(*device_, std::array{task}, {.frames = 2, .open_store = store_opener(orders_)});
    ASSERT_TRUE(memory);
    memory_ = std::move(*memory);
  }
  int first_of(std::uint32_t slot) const {
    return std::to_integer<int>(memory_->addresses()[0].constant[slot * small_chunk.count]);
  }

  std::vector<std::byte> constants_;
};

TEST_F(StreamedMemoryTest, EachSegmentFindsConstantsThatItReads) {
  for (int job = 0; job < 3; ++job) {
    for (std::uint32_t slot = 0; slot < streamed; ++slot) {
      ASSERT_TRUE(load({0, slot, (slot + static_cast<std::uint32_t>(job)) % 2}));
      ASSERT_TRUE(prepare(0, slot));
      EXPECT_EQ(first_of(slot), static_cast<int>(slot) + 1);
    }
  }
}

TEST_F(StreamedMemoryTest, RefusesSegmentWhoseChunkIsNotResident) {
  ASSERT_TRUE(load({0, 0, 0}));
  ASSERT_TRUE(load({0, 1, 1}));
  EXPECT_TRUE(prepare(0, 0));
  EXPECT_EQ(prepare(0, 2), Status(Unexpected(Errc::device_fault))) << "not there yet";
  ASSERT_TRUE(load({0, 2, 0}));
  EXPECT_TRUE(prepare(0, 2));
  EXPECT_TRUE(prepare(0, 1));
  EXPECT_EQ(prepare(0, 0), Status(Unexpected(Errc::device_fault)));
}

TEST_F(StreamedMemoryTest, MapsEverySlotWhileBinding) {
  ASSERT_TRUE(memory_->with_all_slots(0, [&]() -> Result<> {
    for (std::uint32_t slot = 0; slot < streamed; ++slot)
      EXPECT_TRUE(probe_.readable(memory_->addresses()[0].constant + slot * small_chunk.count));
    return {};
  }));
}

TEST(SharedScratch, OfConcurrentTasksUsesFirstAndLastChunks) {
  DeviceDouble device(std::make_shared<DeviceState>(), small_chunk * 8, small_chunk);
  const auto memory_of = [](std::uint32_t scratch, bool at_end) {
    return executive::TaskMemory{.constants = {},
                                 .arena = {.constant = 0, .state = 0, .fixed = 0, .scratch = scratch},
                                 .swap_slots = {},
                                 .scratch_at_end = at_end};
  };
  const std::array tasks{memory_of(2, false), memory_of(1, true), memory_of(3, false), memory_of(2, true)};
  const auto memory = DeviceMemory::lay_out(device, tasks, {.scratch_chunks = 4, .open_store = {}});
  ASSERT_TRUE(memory);
  EXPECT_EQ(device.chunks_created(), 4u);
  const auto word = [&](std::size_t task, std::size_t chunk) -> std::byte& {
    return (*memory)->addresses()[task].scratch[chunk * small_chunk.count];
  };
  // By chunk: the places (task, slot) that share it.
  const std::vector<std::vector<std::pair<std::size_t, std::size_t>>> same{
      {{0, 0}, {2, 0}}, {{0, 1}, {2, 1}}, {{2, 2}, {3, 0}}, {{1, 0}, {3, 1}}};
  for (std::size_t chunk = 0; chunk < same.size(); ++chunk)
    for (const auto& [task, place] : same[chunk]) word(task, place) = std::byte(chunk + 1);
  for (std::size_t chunk = 0; chunk < same.size(); ++chunk)
    for (const auto& [task, place] : same[chunk]) EXPECT_EQ(std::to_integer<std::size_t>(word(task, place)), chunk + 1);
}

TEST_F(DeviceMemoryTest, MapsEachLoadedChunkAtOnceWhenNoSaveIsInProgress) {
  EXPECT_EQ(mapped(0), all);
  EXPECT_EQ(mapped(1), none);
  ASSERT_TRUE(save({0, 0, 0}));
  ASSERT_TRUE(load({1, 0, 0}));
  EXPECT_EQ(mapped(0), (std::vector{false, true, true}));
  EXPECT_EQ(mapped(1), (std::vector{true, false, false}));
}

TEST_F(DeviceMemoryTest, DefersMappingWhileSavesRunUntilTaskHasAllChunks) {
  ASSERT_TRUE(save({0, 0, 0}));
  begin_save({0, 1, 1});
  ASSERT_TRUE(load({1, 0, 0}));
  EXPECT_EQ(mapped(1), none);
  ASSERT_TRUE(end_save({0, 1, 1}));
  begin_save({0, 2, 2});
  ASSERT_TRUE(load({1, 1, 1}));
  EXPECT_EQ(mapped(1), none);
  ASSERT_TRUE(end_save({0, 2, 2}));
  ASSERT_TRUE(load({1, 2, 2}));
  EXPECT_EQ(mapped(1), all);
  EXPECT_EQ(mapped(0), none);
}

TEST_F(DeviceMemoryTest, MapsAllWithLastChunkEvenWhileSaveRuns) {
  ASSERT_TRUE(save({0, 0, 0}));
  ASSERT_TRUE(save({0, 1, 1}));
  ASSERT_TRUE(save({0, 2, 2}));
  ASSERT_TRUE(load({1, 0, 0}));
  ASSERT_TRUE(load({1, 1, 1}));
  *at(1, 0) = std::byte{1};
  begin_save({1, 0, 0}); // the scheduler never orders this while task 1 is loaded
  ASSERT_TRUE(load({1, 2, 2}));
  EXPECT_EQ(mapped(1), all);
  ASSERT_TRUE(end_save({1, 0, 0}));
  EXPECT_EQ(mapped(1), (std::vector{false, true, true}));
}

TEST_F(DeviceMemoryTest, MapsAllChunksWhenFailedLoadIsRepeated) {
  ASSERT_TRUE(save({0, 0, 0}));
  ASSERT_TRUE(save({0, 1, 1}));
  begin_save({0, 2, 2});
  ASSERT_TRUE(load({1, 0, 0}));
  ASSERT_TRUE(load({1, 1, 1}));
  ASSERT_TRUE(end_save({0, 2, 2}));
  orders_->failing_loads = 1;
  EXPECT_EQ(load({1, 2, 2}).error(), Errc::io_error);
  EXPECT_FALSE(mapped(1)[2]);
  ASSERT_TRUE(load({1, 2, 2}));
  EXPECT_EQ(mapped(1), all);
}

TEST_F(DeviceMemoryTest, SavesChunkThatWasNeverMapped) {
  ASSERT_TRUE(save({0, 0, 0}));
  begin_save({0, 1, 1});
  ASSERT_TRUE(load({1, 0, 0}));
  ASSERT_TRUE(end_save({0, 1, 1}));
  *device_->window(hal::Chunk(0)) = std::byte{7};
  ASSERT_TRUE(save({1, 0, 0}));
  ASSERT_TRUE(load({1, 0, 1}));
  EXPECT_EQ(*at(1, 0), std::byte{7});
}

TEST_F(DeviceMemoryTest, FailedSaveLeavesSlotMappedWithItsContent) {
  *at(0, 0) = std::byte{9};
  orders_->failing_saves = 1;
  EXPECT_EQ(save({0, 0, 0}).error(), Errc::io_error);
  EXPECT_EQ(mapped(0), all);
  EXPECT_EQ(*at(0, 0), std::byte{9});
  ASSERT_TRUE(save({0, 0, 0}));
  ASSERT_TRUE(load({1, 0, 0}));
  EXPECT_EQ(*at(1, 0), std::byte{0});
  ASSERT_TRUE(save({0, 1, 1}));
  ASSERT_TRUE(load({0, 0, 1}));
  EXPECT_EQ(*at(0, 0), std::byte{9});
}

// ---- two errors in one transfer ----

TEST_F(DeviceMemoryTest, RetriesFailedRemappingBeforeTaskExecutes) {
  *at(0, 0) = std::byte{9};
  orders_->failing_saves = 1;
  faults_->failing_maps = 1;
  EXPECT_EQ(save({0, 0, 0}).error(), Errc::io_error);
  EXPECT_EQ(mapped(0), (std::vector{false, true, true}));
  ASSERT_TRUE(prepare(0));
  ASSERT_EQ(mapped(0), all);
  EXPECT_EQ(*at(0, 0), std::byte{9});
}

TEST_F(DeviceMemoryTest, RefusesJobWhileChunkOfItsTaskCannotBeMapped) {
  orders_->failing_saves = 1;
  faults_->failing_maps = 2;
  ASSERT_FALSE(save({0, 0, 0}));
  EXPECT_EQ(prepare(0).error(), Errc::device_fault);
  EXPECT_TRUE(prepare(0));
  EXPECT_EQ(mapped(0), all);
}

TEST_F(DeviceMemoryTest, RefusesJobWhoseTaskLacksChunk) {
  EXPECT_TRUE(prepare(0));
  EXPECT_EQ(prepare(1).error(), Errc::device_fault);
  ASSERT_TRUE(save({0, 1, 1}));
  EXPECT_EQ(prepare(0).error(), Errc::device_fault);
}

TEST_F(DeviceMemoryTest, RemovesMappingOfFailedLoadBeforeSlotIsReloaded) {
  *at(0, 0) = std::byte{9};
  ASSERT_TRUE(save({0, 0, 0}));
  orders_->failing_loads = 1;
  faults_->failing_unmaps = 1;
  EXPECT_EQ(load({1, 0, 0}).error(), Errc::io_error);
  EXPECT_EQ(mapped(1), (std::vector{true, false, false})) << "nothing was left behind";
  ASSERT_TRUE(load({0, 0, 0}));
  ASSERT_TRUE(save({0, 1, 1}));
  ASSERT_TRUE(load({1, 0, 1}));
  EXPECT_EQ(*at(1, 0), std::byte{0});
  *at(1, 0) = std::byte{5};
  EXPECT_EQ(*at(0, 0), std::byte{9});
}

TEST_F(DeviceMemoryTest, LoadFailsWhileMappingOfFailedLoadCannotBeRemoved) {
  ASSERT_TRUE(save({0, 0, 0}));
  orders_->failing_loads = 1;
  faults_->failing_unmaps = 3; // of the first load, and both attempts of the second
  ASSERT_FALSE(load({1, 0, 0}));
  EXPECT_EQ(load({1, 0, 0}).error(), Errc::device_fault);
  ASSERT_TRUE(load({0, 0, 0}));
  EXPECT_EQ(mapped(0), all);
  EXPECT_TRUE(prepare(0));
  ASSERT_TRUE(save({0, 1, 1}));
  ASSERT_TRUE(load({1, 0, 1}));
  *at(1, 0) = std::byte{5};
  EXPECT_EQ(*at(0, 0), std::byte{0});
}

/// After a failed unmapping the state of the mapping is unknown: the kernel may have removed it before it failed.
TEST_F(DeviceMemoryTest, RestoresMappingWhoseUnmappingFailed) {
  *at(0, 0) = std::byte{9};
  faults_->failing_unmaps = 1;
  faults_->failing_maps = 1;
  EXPECT_EQ(save({0, 0, 0}).error(), Errc::device_fault);
  EXPECT_EQ(mapped(0), (std::vector{false, true, true}));
  ASSERT_TRUE(prepare(0));
  ASSERT_EQ(mapped(0), all);
  EXPECT_EQ(*at(0, 0), std::byte{9});
}

} // namespace
} // namespace rtexec::test
