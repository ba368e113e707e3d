// Tests a workload that uses time and memory, and notices changes of its memory.
#include "tasks/make/make_workload.hpp"
#include "tasks/loads/synthetic/synthetic_workload.hpp"

#include "hal/host/host_device.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

namespace rtexec::tasks {
namespace {

using namespace std::chrono_literals;

constexpr Bytes chunk{16 << 12};
constexpr int plenty = 100'000; // enough executions for an event to occur on a busy machine

Task task_of(MemoryClass kind, Bytes footprint, std::optional<Bytes> swappable = {}, const std::string& name = "load") {
  Task task;
  task.name = name;
  task.workload = WorkloadKind::synthetic;
  task.wcet = Wcet{.before = 0ns, .device = 200us, .after = 0ns};
  task.footprint = footprint;
  task.swappable = swappable;
  task.memory_class = kind;
  return task;
}

/// A workload whose swappable memory alone is mapped, from chunks of a host device.
class Placed {
 public:
  explicit Placed(const Task& task, std::size_t chunks = 4)
      : chunks_(*device_->create_chunks(chunks + 2)), range_(*device_->reserve(chunk * chunks)) {
    workload_ = *make_workload(task, DeviceKind::host);
    const auto constants = workload_->constants();
    for (std::size_t i = 0; i < chunks; ++i) {
      const auto part = constants.subspan(std::min(i * chunk.count, constants.size()));
      std::copy_n(part.begin(), std::min<std::size_t>(part.size(), chunk.count), window(i));
      EXPECT_TRUE(device_->map(range_, i, chunks_[i], constants.empty() ? hal::Access::read_write : hal::Access::read));
    }
    EXPECT_TRUE(workload_->bind(*device_, {.constant = range_.base, .scratch = range_.base, .state = range_.base}));
  }

  [[nodiscard]] std::byte* window(std::size_t i) { return device_->window(chunks_[i]); }
  /// Returns the contents of chunk number `i`, which may be one of the two that are not mapped.
  [[nodiscard]] std::vector<std::byte> contents(std::size_t i) { return {window(i), window(i) + chunk.count}; }
  void put(std::size_t i, const std::vector<std::byte>& contents) { std::ranges::copy(contents, window(i)); }
  void map(std::size_t slot, std::size_t i, hal::Access access = hal::Access::read_write) {
    EXPECT_TRUE(device_->unmap(range_, slot));
    EXPECT_TRUE(device_->map(range_, slot, chunks_[i], access));
  }

  [[nodiscard]] Status execute() { return workload_->execute(); }
  /// Executes until chunk `i` changes.
  void execute_until_changed(std::size_t i) {
    const auto before = contents(i);
    for (int n = 0; n < plenty && contents(i) == before; ++n) ASSERT_TRUE(execute());
    ASSERT_NE(contents(i), before);
  }
  [[nodiscard]] Status first_failure(int executions = plenty) {
    for (int n = 0; n < executions; ++n)
      if (const auto done = execute(); !done) return done;
    return {};
  }

 private:
  std::unique_ptr<hal::HostDevice> device_ = std::move(*hal::HostDevice::open(chunk * 16, chunk));
  std::vector<hal::Chunk> chunks_;
  hal::AddressRange range_;
  std::unique_ptr<Workload> workload_;
};

Task state_task(const std::string& name = "load") { return task_of(MemoryClass::state, chunk * 4, {}, name); }

TEST(SyntheticWorkload, RunsForSumOfItsWcetParts) {
  Task task = state_task();
  task.wcet = Wcet{1ms, 2ms, 1ms};
  task.footprint = Bytes{0};
  const auto workload = make_workload(task, DeviceKind::host);
  ASSERT_TRUE(workload);
  const auto device = hal::HostDevice::open(chunk, chunk);
  ASSERT_TRUE(device);
  ASSERT_TRUE((*workload)->bind(**device, {}));
  const auto begin = hal::now();
  EXPECT_TRUE((*workload)->before(0));
  EXPECT_TRUE((*workload)->execute());
  EXPECT_TRUE((*workload)->after(0));
  EXPECT_GE(hal::now() - begin, 3800us); // 95 % of 4 ms
}

TEST(SyntheticWorkload, RequiresWcet) {
  Task task = state_task();
  task.wcet.reset();
  EXPECT_TRUE(test::fails(make_workload(task, DeviceKind::host), Errc::bad_input, "wcet"));
}

TEST(SyntheticWorkload, SplitsFootprintIntoSwappableAndFixedMemory) {
  struct Case {
    MemoryClass kind;
    Bytes MemoryDemand::*size;
  };
  for (const auto& [kind, size] : {Case{MemoryClass::constant, &MemoryDemand::constant},
                                   {MemoryClass::scratch, &MemoryDemand::scratch},
                                   {MemoryClass::state, &MemoryDemand::state}}) {
    const auto workload = make_workload(task_of(kind, Bytes{5000}, Bytes{3000}), DeviceKind::host);
    ASSERT_TRUE(workload);
    const auto demand = (*workload)->memory();
    EXPECT_EQ(demand.*size, Bytes{3000});
    EXPECT_EQ(demand.constant + demand.scratch + demand.state, Bytes{3000});
    EXPECT_EQ(demand.fixed, Bytes{2000});
    ASSERT_EQ(demand.objects.size(), 1U);
    EXPECT_EQ(demand.objects[0].kind, kind);
    EXPECT_EQ(demand.objects[0].offset, Bytes{0});
    EXPECT_EQ(demand.objects[0].size, Bytes{3000});
    EXPECT_EQ((*workload)->constants().size(), demand.constant.count);
  }
  const auto all = make_workload(state_task(), DeviceKind::host);
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)->memory().state, chunk * 4);
  EXPECT_EQ((*all)->memory().fixed, Bytes{0});
  const auto none = make_workload(task_of(MemoryClass::state, chunk, Bytes{0}), DeviceKind::host);
  ASSERT_TRUE(none);
  EXPECT_EQ((*none)->memory().fixed, chunk);
  EXPECT_TRUE((*none)->memory().objects.empty());
  EXPECT_TRUE(test::fails(make_workload(task_of(MemoryClass::state, chunk, chunk * 2), DeviceKind::host),
                          Errc::bad_input, "swappable = 128KiB"));
}

TEST(SyntheticWorkload, FingerprintDependsOnMemoryAndWcet) {
  const auto print = [](const Task& task) { return (*make_workload(task, DeviceKind::host))->fingerprint(); };
  const Task task = state_task();
  EXPECT_EQ(print(task), print(state_task("another")));
  EXPECT_EQ(print(task), print(task_of(MemoryClass::state, chunk * 9, chunk * 4))) << "fixed memory is never touched";
  EXPECT_NE(print(task), print(task_of(MemoryClass::state, chunk * 4, chunk)));
  EXPECT_NE(print(task), print(task_of(MemoryClass::scratch, chunk * 4)));
  Task slower = task;
  slower.wcet->device += 1ns;
  EXPECT_NE(print(task), print(slower));
}

TEST(SyntheticState, SurvivesMovingItsChunks) {
  Placed placed(state_task());
  placed.execute_until_changed(3);
  placed.put(4, placed.contents(1)); // as a swap does: out, and back into another chunk
  placed.put(1, std::vector<std::byte>(chunk.count, std::byte{0xff}));
  placed.map(1, 4);
  placed.execute_until_changed(4);
  EXPECT_TRUE(placed.first_failure(100));
}

TEST(SyntheticState, IsVisitedInPartsWhenWcetIsShort) {
  constexpr std::size_t chunks = 12;
  Task task = task_of(MemoryClass::state, chunk * chunks);
  task.wcet->device = 5us;
  Placed placed(task, chunks);
  for (std::size_t i = 0; i < chunks; ++i) placed.execute_until_changed(i);
  EXPECT_TRUE(placed.first_failure(1000));
}

TEST(SyntheticState, DoesNotAllocateInItsJobs) {
  Placed placed(state_task());
  const auto before = test::allocations();
  EXPECT_TRUE(placed.execute());
  EXPECT_EQ(test::allocations(), before);
}

/// Errors of chunks. Each one is detected for as long as it persists. When the earlier contents return, the jobs
/// continue.
class DamagedState : public testing::Test {
 protected:
  Placed placed_{state_task()};
  std::vector<std::byte> old_;
  void SetUp() override {
    placed_.execute_until_changed(3);
    old_ = placed_.contents(2);
    placed_.execute_until_changed(2);
  }
  void expect_noticed(const std::vector<std::byte>& damage) {
    const auto good = placed_.contents(2);
    ASSERT_NE(good, damage);
    placed_.put(2, damage);
    EXPECT_TRUE(test::fails(placed_.first_failure(), Errc::corrupted));
    EXPECT_TRUE(test::fails(placed_.first_failure(), Errc::corrupted));
    EXPECT_EQ(placed_.contents(2), damage) << "nothing is repaired";
    placed_.put(2, good);
    EXPECT_TRUE(placed_.first_failure(100));
  }
};

TEST_F(DamagedState, IsDetectedWhenChunkIsZeroed) { expect_noticed(std::vector<std::byte>(chunk.count)); }
TEST_F(DamagedState, IsDetectedWhenChunkIsGarbage) {
  expect_noticed(std::vector<std::byte>(chunk.count, std::byte{0xff}));
}
TEST_F(DamagedState, IsDetectedWhenChunkIsStale) { expect_noticed(old_); }
TEST_F(DamagedState, IsDetectedWhenChunkHoldsOtherChunk) { expect_noticed(placed_.contents(1)); }
TEST_F(DamagedState, IsDetectedWhenOneBitFlips) {
  std::byte& byte = placed_.window(2)[5 << 12];
  byte ^= std::byte{1};
  EXPECT_TRUE(test::fails(placed_.first_failure(), Errc::corrupted));
  EXPECT_TRUE(test::fails(placed_.first_failure(), Errc::corrupted));
  byte ^= std::byte{1};
  EXPECT_TRUE(placed_.first_failure(100));
}
TEST_F(DamagedState, IsDetectedWhenChunkIsOfOtherTask) {
  Placed other(state_task("other"));
  for (int n = 0; n < 50; ++n) { // in one round the other task has executed equally often
    other.execute_until_changed(2);
    placed_.put(2, other.contents(2));
    ASSERT_TRUE(test::fails(placed_.first_failure(1000), Errc::corrupted)) << n;
  }
}

TEST(SyntheticConstants, DetectWrongOrZeroedChunks) {
  Placed placed(task_of(MemoryClass::constant, chunk * 4));
  EXPECT_TRUE(placed.first_failure(100));
  for (const std::size_t other : {std::size_t{5}, std::size_t{0}}) { // zeros, and constants of another position
    placed.map(3, other, hal::Access::read);
    EXPECT_TRUE(test::fails(placed.first_failure(), Errc::corrupted));
    placed.map(3, 3, hal::Access::read);
    EXPECT_TRUE(placed.first_failure(100));
  }
}

TEST(SyntheticConstants, DependOnTaskName) {
  const auto first_word = [](const std::string& name) {
    const auto workload = *make_workload(task_of(MemoryClass::constant, chunk, {}, name), DeviceKind::host);
    std::uint64_t word = 0;
    std::memcpy(&word, workload->constants().data(), sizeof word);
    return word;
  };
  EXPECT_EQ(first_word("a"), first_word("a"));
  EXPECT_NE(first_word("a"), first_word("b"));
}

TEST(SyntheticScratch, IsWrittenByJobsAndMayBeLostBetweenThem) {
  Placed placed(task_of(MemoryClass::scratch, chunk * 4));
  for (int n = 0; n < 20; ++n) {
    for (std::size_t i = 0; i < 4; ++i)
      placed.put(i, std::vector<std::byte>(chunk.count, static_cast<std::byte>(n + 100)));
    placed.execute_until_changed(3);
  }
}

TEST(SyntheticMemory, IsNotWrittenBeyondItsEnd) {
  for (const auto kind : {MemoryClass::state, MemoryClass::scratch}) { // a whole word only
    Placed placed(task_of(kind, Bytes{4096 + 7}), 1);
    placed.execute_until_changed(0);
    EXPECT_TRUE(placed.first_failure(10));
    const auto contents = placed.contents(0);
    EXPECT_TRUE(std::all_of(contents.begin() + 8, contents.end(), [](std::byte byte) { return byte == std::byte{0}; }));
  }
}

/// On a GPU it checks one byte of each chunk.
class SyntheticGpuWorkload : public testing::Test {
 protected:
  hal::test::FakeCudaDriver driver_;
  std::unique_ptr<hal::CudaDevice> device_ = std::move(*hal::CudaDevice::open({.capacity = chunk * 8, .chunk = chunk}));
  std::vector<hal::Chunk> chunks_ = *device_->create_chunks(3);
  hal::AddressRange range_ = *device_->reserve(chunk * 3);
  std::unique_ptr<Workload> workload_;

  void place(MemoryClass kind) {
    ASSERT_TRUE(device_->enter());
    for (std::size_t i = 0; i < 3; ++i)
      ASSERT_TRUE(device_->map(range_, i, chunks_[i],
                               kind == MemoryClass::constant ? hal::Access::read : hal::Access::read_write));
    Task task = task_of(kind, chunk * 4, chunk * 2 + Bytes{1});
    task.wcet->device = 100ms; // half of it covers operations that take microseconds
    workload_ = *make_workload(task, DeviceKind::cuda);
    ASSERT_TRUE(workload_->bind(*device_, {.constant = range_.base, .scratch = range_.base, .state = range_.base}));
  }
};

TEST_F(SyntheticGpuWorkload, WritesToEachChunkOfStateOrScratch) {
  for (const auto kind : {MemoryClass::state, MemoryClass::scratch}) {
    place(kind);
    for (unsigned execution = 1; execution <= 2; ++execution) {
      EXPECT_TRUE(workload_->execute());
      for (const auto each : chunks_) {
        EXPECT_EQ(device_->window(each)[0], static_cast<std::byte>(execution));
        EXPECT_EQ(device_->window(each)[1], std::byte{0});
      }
    }
    for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(device_->unmap(range_, i));
  }
}

TEST_F(SyntheticGpuWorkload, LeavesConstantsUnchanged) {
  place(MemoryClass::constant);
  EXPECT_TRUE(workload_->execute());
  for (const auto each : chunks_) EXPECT_EQ(device_->window(each)[0], std::byte{0});
}

TEST_F(SyntheticGpuWorkload, RunsForItsWcetAndHasNothingToTune) {
  place(MemoryClass::constant);
  const Instant begin = hal::now();
  EXPECT_TRUE(workload_->execute());
  EXPECT_GE(hal::now() - begin, 90ms);
  EXPECT_TRUE(workload_->tune(*device_, {})->empty());
  EXPECT_TRUE(workload_->use({}));
  const std::vector<std::string> foreign{"conv1 own"};
  EXPECT_TRUE(test::fails(workload_->use(foreign), Errc::bad_input, "conv1 own"));
}

TEST_F(SyntheticGpuWorkload, BindRejectsHostDevice) {
  const auto host = *hal::HostDevice::open(chunk, chunk);
  workload_ = *make_workload(state_task(), DeviceKind::cuda);
  EXPECT_TRUE(test::fails(workload_->bind(*host, {}), Errc::unsupported,
                          "this synthetic task was made for an NVIDIA GPU, and the device is 'host'"));
}

TEST_F(SyntheticGpuWorkload, ReportsDeviceFaultAndThenLostDevice) {
  place(MemoryClass::state);
  driver_.fail<&hal::cuda::Driver::set_bytes_async>(hal::cuda::Code::illegal_address);
  EXPECT_TRUE(test::fails(workload_->execute(), Errc::device_fault));
  EXPECT_TRUE(test::fails(workload_->execute(), Errc::device_lost));
}

TEST_F(SyntheticGpuWorkload, ReportsFaultOfPendingWrites) {
  place(MemoryClass::state);
  driver_.break_device(hal::cuda::Code::illegal_address);
  EXPECT_TRUE(test::fails(workload_->execute(), Errc::device_fault));
}

// ---- segments

/// A workload of three layers, with its own memory for the live state (carry).
class SyntheticSegments : public testing::Test {
 protected:
  static constexpr std::size_t live_words = 5;
  std::unique_ptr<hal::HostDevice> device_ = std::move(*hal::HostDevice::open(chunk * 4, chunk));
  std::vector<std::byte> carry_ = std::vector<std::byte>(live_words << 12, std::byte{0xff});
  std::unique_ptr<Workload> workload_;

  static std::unique_ptr<Workload> make(Duration each, const std::string& name = "load") {
    Task task = task_of(MemoryClass::state, Bytes{0}, {}, name);
    task.wcet->device = each * 3;
    task.layers = SyntheticLayers{.times = {each, each, each}};
    task.live = Bytes{live_words << 12};
    return std::move(*SyntheticWorkload::make(task, DeviceKind::host));
  }
  std::unique_ptr<Workload> bound(std::vector<std::uint32_t> cuts, const std::string& name = "load") {
    auto workload = make(10ms, name);
    EXPECT_TRUE(workload->cut(cuts));
    EXPECT_TRUE(workload->bind(*device_, {.carry = carry_.data()}));
    return workload;
  }
};

TEST_F(SyntheticSegments, RunForTheirShareOfWcet) {
  auto workload = make(4ms);
  ASSERT_TRUE(workload->cut(std::vector<std::uint32_t>{0}));
  ASSERT_TRUE(workload->bind(*device_, {.carry = carry_.data()}));
  const auto took = [](const auto& execute) {
    const Instant begin = hal::now();
    EXPECT_TRUE(execute());
    return hal::now() - begin;
  };
  EXPECT_GE(took([&] { return workload->execute_segment(0); }), 3800us);
  EXPECT_GE(took([&] { return workload->execute_segment(1); }), 7600us);
  EXPECT_GE(took([&] { return workload->execute(); }), 11400us);
}

TEST_F(SyntheticSegments, HaveLiveStateOnlyWhenCut) {
  const auto workload = make(1ms);
  EXPECT_EQ(workload->layers().size(), 3U);
  EXPECT_EQ(workload->live_ranges(), (std::vector<LiveRange>{{Bytes{live_words << 12}, 0, 2}}));
  EXPECT_EQ(workload->memory().carry, Bytes{0});
  ASSERT_TRUE(workload->cut(std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(workload->memory().carry, Bytes{live_words << 12});
  EXPECT_TRUE(test::fails(workload->cut(std::vector<std::uint32_t>{2}), Errc::bad_input, "after layer 2 of 3"));
  const auto whole = *make_workload(state_task(), DeviceKind::host);
  EXPECT_TRUE(whole->live_ranges().empty());
  EXPECT_TRUE(test::fails(whole->cut(std::vector<std::uint32_t>{0}), Errc::bad_input, "after layer 0 of 1"));
}

TEST_F(SyntheticSegments, NextJobStartsWithoutLiveStateOfPreviousJob) {
  const auto workload = bound({0, 1});
  for (int job = 0; job < 3; ++job) {
    for (std::uint32_t segment = 0; segment < 3; ++segment) ASSERT_TRUE(workload->execute_segment(segment));
    std::ranges::fill(carry_, std::byte{0}); // the live state is dead between jobs
  }
  ASSERT_TRUE(workload->execute_segment(0));
  carry_[2 << 12] ^= std::byte{1};
  EXPECT_TRUE(test::fails(workload->execute_segment(1), Errc::corrupted));
  EXPECT_TRUE(workload->execute()) << "the next job begins anew";
}

TEST_F(SyntheticSegments, DetectDamagedLiveState) {
  const auto expect_noticed = [&](const std::function<void()>& damage) {
    const auto workload = bound({0});
    ASSERT_TRUE(workload->execute_segment(0));
    damage();
    EXPECT_TRUE(test::fails(workload->execute_segment(1), Errc::corrupted));
  };
  expect_noticed([&] { std::ranges::fill(carry_, std::byte{0}); });
  expect_noticed([&] { std::ranges::rotate(carry_, carry_.begin() + (1 << 12)); });
  expect_noticed([&] { EXPECT_TRUE(bound({0}, "other")->execute_segment(0)); });
  expect_noticed([&] { // by the first segment of the next job, or by an earlier segment
    const auto same = bound({0});
    for (int job = 0; job < 2; ++job) EXPECT_TRUE(same->execute());
  });
}

TEST_F(SyntheticSegments, ReportEachLayerToObserver) {
  auto workload = make(100us);
  ASSERT_TRUE(workload->cut(std::vector<std::uint32_t>{1}));
  std::vector<std::uint32_t> ended;
  workload->observe({.end = [](void* self, std::uint32_t layer,
                               Instant) noexcept { static_cast<std::vector<std::uint32_t>*>(self)->push_back(layer); },
                     .self = &ended});
  ASSERT_TRUE(workload->bind(*device_, {.carry = carry_.data()}));
  EXPECT_TRUE(workload->execute_segment(0));
  EXPECT_TRUE(workload->execute_segment(1));
  EXPECT_EQ(ended, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST_F(SyntheticGpuWorkload, WritesToEachChunkOfLiveState) {
  ASSERT_TRUE(device_->enter());
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(device_->map(range_, i, chunks_[i], hal::Access::read_write));
  Task task = task_of(MemoryClass::state, Bytes{0});
  task.wcet->device = 200ms;
  task.layers = SyntheticLayers{.times = {100ms, 100ms}};
  task.live = chunk * 2 + Bytes{1};
  workload_ = *SyntheticWorkload::make(task, DeviceKind::cuda);
  ASSERT_TRUE(workload_->cut(std::vector<std::uint32_t>{0}));
  ASSERT_TRUE(workload_->bind(*device_, {.state = range_.base, .carry = range_.base}));
  EXPECT_TRUE(workload_->execute_segment(0));
  for (const auto each : chunks_) EXPECT_EQ(device_->window(each)[0], std::byte{1});
}

} // namespace
} // namespace rtexec::tasks
