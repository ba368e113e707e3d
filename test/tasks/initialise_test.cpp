// Tests initial contents computed on a GPU in tiles: which work goes into which stream in which order; the same bits as
// the host's; and which processor computes them.
#include "tasks/base/tiled.hpp"

#include "hal/host/host_device.hpp"
#include "hal/thread.hpp"
#include "tasks/loads/benchmarks/benchmark.hpp"
#include "tasks/loads/benchmarks/initialiser.hpp"
#include "tasks/loads/benchmarks/kernel_workload.hpp"
#include "test/hal/gpu.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/cuda_emulation/emulation.hpp"
#include "test/tasks/cuda_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace rtexec::tasks {
namespace {

using hal::EngineKind;
using hal::cuda::Code;
using hal::cuda::Driver;
using hal::test::FakeCudaWork;
using initialise::FirstContents;
using initialise::TileTimes;
using initialise::Tiling;
using testing::ElementsAre;

constexpr Bytes page{64 << 10};
constexpr Bytes large{5 * page.count / 2}; // three tiles of a page

/// Adds kernels that fill nothing.
void accept_fills(hal::test::FakeCudaDriver& driver) {
  driver.add_kernel("benchmark_fill", {sizeof(cuda::FillArguments)}, [](auto, auto, void**) {});
}

/// A fake GPU with one buffer.
class OneBuffer {
 public:
  explicit OneBuffer(Bytes size = large, BufferKind kind = BufferKind::managed,
                     const hal::test::FakeCudaProperties& properties = {.memory = {512 << 20}})
      : gpu_(properties), buffer_(gpu_.device().allocate(kind, size).value()) {
    if (test::emulation::unavailable() != nullptr) accept_fills(gpu_.driver());
    gpu_.driver().watch_work();
  }
  [[nodiscard]] hal::CudaDevice& device() { return gpu_.device(); }
  [[nodiscard]] hal::test::FakeCudaDriver& driver() { return gpu_.driver(); }
  [[nodiscard]] const Buffer& buffer() const { return buffer_; }
  [[nodiscard]] Initialiser initialiser(const InitialiserChoice& choice = {}) {
    auto made = Initialiser::make(gpu_.device(), EmulatedGpu::launching().images, choice);
    EXPECT_EQ(test::problem(made), "none");
    return std::move(*made);
  }
  /// Returns each piece of work as "stream: what", with the number of the moved tile.
  [[nodiscard]] std::vector<std::string> done() {
    std::vector<std::string> all;
    for (const FakeCudaWork& each : gpu_.driver().work()) {
      if (each.what == "record") continue;
      const std::string in = each.stream == device().stream(EngineKind::compute) ? "compute: " : "copy-in: ";
      const auto offset = each.at - reinterpret_cast<hal::cuda::DevicePointer>(buffer_.device);
      all.push_back(in + each.what + (each.at == 0 ? "" : ", tile " + std::to_string(offset / page.count)));
    }
    return all;
  }

 private:
  EmulatedGpu gpu_;
  Buffer buffer_;
};

/// Records its notifications.
class Onlooker {
 public:
  [[nodiscard]] initialise::Observer observer() {
    return {.made =
                [](void* self, const FirstContents& made) noexcept {
                  auto& onlooker = *static_cast<Onlooker*>(self);
                  onlooker.all.push_back(made);
                  onlooker.times.assign(made.tiles.begin(), made.tiles.end());
                },
            .self = this};
  }
  std::vector<FirstContents> all;
  std::vector<TileTimes> times; // of the last one
};

std::vector<unsigned> words_of(const std::byte* at, std::size_t count) {
  std::vector<unsigned> words(count);
  std::memcpy(words.data(), at, count * sizeof(unsigned));
  return words;
}

const auto fills = std::to_array<cuda::Fill>({{.kind = cuda::Fill::words, .seed = 7},
                                              {.kind = cuda::Fill::fractions, .seed = 8},
                                              {.kind = cuda::Fill::integers, .seed = 9, .least = -10, .range = 21},
                                              {.kind = cuda::Fill::scores, .range = 100}});

TEST(MemoryInitialisation, RoundsTilesToPagesAndLimitsTheirNumber) {
  EXPECT_EQ(initialise::tile_size({.tile = Bytes{1}}, large), page);
  EXPECT_EQ(initialise::tile_size({.tile = page + Bytes{1}}, large), page * 2);
  const Bytes huge{std::uint64_t{1} << 30};
  EXPECT_EQ(initialise::tile_size({.tile = page}, huge) * initialise::max_tiles, huge);
}

/// A second implementation of the fills.
TEST(MemoryInitialisation, HostFillsMatchDefinition) {
  constexpr std::size_t count = 1000;
  std::vector<unsigned> words(count);
  const auto fill = [&](const cuda::Fill& by) { benchmark::fill_words(by, words.data(), count); };
  fill(fills[1]);
  std::vector<float> fractions(count);
  std::memcpy(fractions.data(), words.data(), count * sizeof(float));
  EXPECT_TRUE(std::ranges::all_of(fractions, [](float x) {
    return x >= 0 && x < 1 && x * 0x1p24F == static_cast<float>(static_cast<int>(x * 0x1p24F));
  }));
  fill(fills[2]);
  std::set<int> values;
  for (const unsigned each : words) values.insert(static_cast<int>(each));
  EXPECT_EQ(values.size(), 21U);
  EXPECT_EQ(*values.begin(), -10);
  EXPECT_EQ(*values.rbegin(), 10);
  fill(fills[3]);
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const int row = i / 100, column = i % 100;
    EXPECT_EQ(static_cast<int>(words[static_cast<std::size_t>(i)]), row == 0      ? -10 * column
                                                                    : column == 0 ? -10 * row
                                                                                  : 0)
        << i;
  }
}

TEST(MemoryInitialisation, GpuFillsMatchHostBits) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  OneBuffer one;
  auto initialiser = one.initialiser();
  const std::size_t count = large.count / sizeof(unsigned);
  for (const cuda::Fill& fill : fills)
    for (const Tiling& tiling : {Tiling{.tile = page, .blocks = 3}, Tiling{.tile = large}, Tiling{.prefetch = false}}) {
      std::memset(one.buffer().host, 0xcd, large.count);
      ASSERT_EQ(test::problem(initialiser.fill_on_gpu(one.buffer(), fill, tiling)), "none");
      std::vector<unsigned> expected(count);
      benchmark::fill_words(fill, expected.data(), count);
      EXPECT_EQ(words_of(one.buffer().host, count), expected) << fill.kind;
    }
}

/// A kernel waits only for the prefetch of its tile. The next prefetch is in the other stream.
TEST(MemoryInitialisation, FillsTileWhileNextIsPrefetched) {
  OneBuffer one;
  auto initialiser = one.initialiser();
  ASSERT_EQ(test::problem(initialiser.fill_on_gpu(one.buffer(), fills[0], {.tile = page, .blocks = 1})), "none");
  EXPECT_THAT(one.done(), ElementsAre("copy-in: to device 0, tile 0", "compute: wait", "compute: benchmark_fill",
                                      "copy-in: to device 0, tile 1", "compute: wait", "compute: benchmark_fill",
                                      "copy-in: to device 0, tile 2", "compute: wait", "compute: benchmark_fill"));
  std::vector<std::size_t> sizes;
  std::vector<hal::cuda::Event> awaited, recorded;
  for (const FakeCudaWork& each : one.driver().work()) {
    if (each.size > 0) sizes.push_back(each.size);
    if (each.what == "wait") awaited.push_back(each.event);
    if (each.what == "record" && each.stream == one.device().stream(EngineKind::copy_in))
      recorded.push_back(each.event);
  }
  EXPECT_THAT(sizes, ElementsAre(page.count, page.count, page.count / 2));
  ASSERT_EQ(recorded.size(), 4U) << "one behind each prefetch, and the last wait's";
  recorded.pop_back();
  EXPECT_EQ(awaited, recorded) << "each tile's own";
  EXPECT_EQ(std::set(awaited.begin(), awaited.end()).size(), 3U);
}

TEST(MemoryInitialisation, SkipsUnneededPrefetches) {
  {
    OneBuffer one;
    auto initialiser = one.initialiser();
    ASSERT_TRUE(initialiser.fill_on_gpu(one.buffer(), fills[0], {.tile = large, .prefetch = false}));
    EXPECT_THAT(one.done(), ElementsAre("compute: benchmark_fill"));
  }
  {
    OneBuffer one(large, BufferKind::device);
    auto initialiser = one.initialiser();
    ASSERT_TRUE(initialiser.fill_on_gpu(one.buffer(), fills[0], {.tile = large}));
    EXPECT_THAT(one.done(), ElementsAre("compute: benchmark_fill"));
  }
  OneBuffer one(large, BufferKind::managed, {.concurrent_managed = false});
  auto initialiser = one.initialiser();
  ASSERT_TRUE(initialiser.fill_on_gpu(one.buffer(), fills[0], {.tile = large}));
  EXPECT_THAT(one.done(), ElementsAre("compute: benchmark_fill"));
}

TEST(MemoryInitialisation, ReportsTimesOfEachTileToObserver) {
  OneBuffer one;
  auto initialiser = one.initialiser();
  const Tiling tiling{.tile = page, .blocks = 1};
  ASSERT_TRUE(initialiser.fill_on_gpu(one.buffer(), fills[0], tiling));
  EXPECT_EQ(one.driver().calls<&Driver::event_elapsed>(), 0) << "nobody looks on";
  Onlooker onlooker;
  const Instant before = hal::now();
  ASSERT_TRUE(initialiser.fill_on_gpu(one.buffer(), fills[0], tiling, onlooker.observer()));
  const Instant behind = hal::now();
  ASSERT_EQ(onlooker.all.size(), 1U);
  const FirstContents& made = onlooker.all[0];
  EXPECT_EQ(made.size, large);
  EXPECT_EQ(made.tile, page);
  ASSERT_EQ(onlooker.times.size(), 3U);
  EXPECT_EQ(onlooker.times.front().prefetch_begin, Duration(0));
  EXPECT_EQ(made.tiles_begin + onlooker.times.back().make_end, made.end);
  Instant last = before;
  for (const Instant at : {made.begin, made.tiles_begin, made.end, behind}) {
    EXPECT_GE(at, last);
    last = at;
  }
  Duration time{0};
  for (const auto& each : onlooker.times) { // the fake driver executes one after the other
    for (const Duration next : {each.prefetch_begin, each.prefetch_end, each.make_begin, each.make_end}) {
      EXPECT_GE(next, time);
      time = next;
    }
  }
}

TEST(MemoryInitialisation, ReportsContentsMadeByHost) {
  OneBuffer one;
  auto initialiser = one.initialiser({.tiling = {.tile = page}, .threshold = large + Bytes{1}});
  Onlooker onlooker;
  ASSERT_TRUE(initialiser.fill(one.buffer(), fills[0], onlooker.observer()));
  const auto host = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  const Buffer buffer = host->allocate(BufferKind::managed, Bytes{1000}).value();
  const std::vector<std::byte> constants(900);
  ASSERT_TRUE(initialise::load(*host, buffer, constants, onlooker.observer()));
  ASSERT_EQ(onlooker.all.size(), 2U);
  EXPECT_EQ(onlooker.all[0].size, large);
  EXPECT_EQ(onlooker.all[1].size, Bytes{900});
  for (const FirstContents& made : onlooker.all) {
    EXPECT_TRUE(made.tiles.empty());
    EXPECT_LE(made.begin, made.end);
  }
}

TEST(MemoryInitialisation, ReleasesItsEvents) {
  EmulatedGpu gpu;
  accept_fills(gpu.driver());
  const auto before = gpu.driver().objects();
  {
    const Buffer buffer = gpu.device().allocate(BufferKind::managed, large).value();
    auto initialiser = Initialiser::make(gpu.device(), EmulatedGpu::launching().images).value();
    ASSERT_TRUE(initialiser.fill_on_gpu(buffer, fills[0], {.tile = page}));
    EXPECT_TRUE(gpu.device().free(buffer));
  }
  EXPECT_EQ(gpu.driver().objects(), before);
}

TEST(MemoryInitialisation, ReportsErrorsAfterWaitingForStreams) {
  OneBuffer one;
  auto initialiser = one.initialiser();
  Onlooker onlooker;
  const auto fill = [&] {
    return test::problem(initialiser.fill_on_gpu(one.buffer(), fills[0], {.tile = page}, onlooker.observer()));
  };
  const auto waits = [&] { return one.driver().calls<&Driver::event_synchronize>(); };
  int before = waits();
  one.driver().fail<&Driver::prefetch_async>(Code::invalid_value, 2);
  EXPECT_THAT(fill(), testing::HasSubstr("prefetching managed memory to Fake GPU failed"));
  EXPECT_EQ(waits(), before + 2) << "for both streams";
  one.driver().fail<&Driver::stream_wait_event>(Code::invalid_value);
  EXPECT_THAT(fill(), testing::HasSubstr("waiting for a prefetch"));
  one.driver().fail<&Driver::launch>(Code::invalid_value, 3);
  EXPECT_THAT(fill(), testing::HasSubstr("launching a kernel that fills memory"));
  one.driver().fail<&Driver::event_elapsed>(Code::invalid_value);
  EXPECT_THAT(fill(), testing::HasSubstr("reading an event's time"));
  EXPECT_TRUE(onlooker.all.empty());
  EXPECT_EQ(fill(), "none");
  EXPECT_EQ(onlooker.all.size(), 1U);
  one.driver().break_device(Code::illegal_address);
  EXPECT_NE(fill(), "none");
}

TEST(MemoryInitialisation, LoadsConstantsTileByTile) {
  OneBuffer one;
  std::vector<std::byte> constants(large.count - 10);
  for (std::size_t i = 0; i < constants.size(); ++i) constants[i] = static_cast<std::byte>(i * 31);
  ASSERT_EQ(test::problem(initialise::load(one.device(), one.buffer(), constants, {}, {.tile = page})), "none");
  EXPECT_THAT(one.done(), ElementsAre("copy-in: to device 0, tile 0", "compute: wait", "compute: copy, tile 0",
                                      "copy-in: to device 0, tile 1", "compute: wait", "compute: copy, tile 1",
                                      "copy-in: to device 0, tile 2", "compute: wait", "compute: copy, tile 2"));
  EXPECT_EQ(std::memcmp(one.buffer().host, constants.data(), constants.size()), 0);
  constants.resize(large.count + 1);
  EXPECT_TRUE(test::fails(initialise::load(one.device(), one.buffer(), constants), Errc::bad_input, "do not fit into"));
  EXPECT_TRUE(initialise::load(one.device(), one.buffer(), {}));
}

TEST(MemoryInitialisation, LoadsConstantsOnEveryDeviceAndBufferKind) {
  const auto host = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  EmulatedGpu gpu;
  std::vector<std::byte> constants(1000, std::byte{42});
  for (Device* device : {static_cast<Device*>(host.get()), static_cast<Device*>(&gpu.device())})
    for (const auto kind : {BufferKind::device, BufferKind::managed, BufferKind::host}) {
      const Buffer buffer = device->allocate(kind, Bytes{1000}).value();
      ASSERT_EQ(test::problem(initialise::load(*device, buffer, constants)), "none");
      EXPECT_EQ(std::memcmp(buffer.device, constants.data(), constants.size()), 0) << "the fake's is the host's";
      EXPECT_TRUE(device->free(buffer));
    }
}

// ---- choice of the processor ----

TEST(Initialiser, HostFillsBuffersBelowThreshold) {
  OneBuffer one;
  for (const auto& [threshold, launches] : {std::pair(large, 1), {large + Bytes{1}, 0}}) {
    auto initialiser = one.initialiser({.tiling = {.tile = large}, .threshold = threshold});
    const int before = one.driver().calls<&Driver::launch>();
    ASSERT_TRUE(initialiser.fill(one.buffer(), fills[0]));
    EXPECT_EQ(one.driver().calls<&Driver::launch>() - before, launches);
  }
}

TEST(Initialiser, HostFillsBuffersOnHostDevice) {
  const auto host = std::move(*hal::HostDevice::open(Bytes{1 << 20}, Bytes{1 << 20}));
  auto initialiser = Initialiser::make(*host, {}, {{}, Bytes{0}}).value();
  EXPECT_FALSE(initialiser.has_gpu());
  const Buffer buffer = host->allocate(BufferKind::managed, Bytes{4000}).value();
  ASSERT_TRUE(initialiser.fill(buffer, fills[0]));
  std::vector<unsigned> expected(1000);
  benchmark::fill_words(fills[0], expected.data(), expected.size());
  EXPECT_EQ(words_of(buffer.host, 1000), expected);
  EXPECT_EQ(initialiser.tune(buffer, {}).value(), initialiser.choice());
}

TEST(Initialiser, CrossoverIsSizeFromWhichGpuStaysFaster) {
  const auto times = [](std::vector<std::pair<int, int>> host_and_gpu) {
    std::vector<InitialisationTimes> made;
    for (const auto& [host, gpu] : host_and_gpu)
      made.push_back({Bytes{std::uint64_t{1} << made.size()}, Duration(host), Duration(gpu)});
    return crossover(made);
  };
  EXPECT_EQ(times({{1, 9}, {5, 9}, {10, 9}, {20, 9}}), Bytes{4});
  EXPECT_EQ(times({{9, 8}, {5, 9}, {10, 9}}), Bytes{4}) << "one that was disturbed";
  EXPECT_EQ(times({{2, 1}, {2, 1}}), Bytes{1});
  EXPECT_EQ(times({{2, 1}, {2, 2}}), std::nullopt);
  EXPECT_EQ(times({}), std::nullopt);
}

TEST(Initialiser, ChoiceRoundTripsThroughTuningLine) {
  const InitialiserChoice choice{{.tile = Bytes{1 << 24}, .blocks = 528}, Bytes{1 << 18}};
  EXPECT_EQ(line_of(choice), "initialise tile 16777216 blocks 528 threshold 262144");
  EXPECT_EQ(parse_initialiser(line_of(choice)).value(), choice);
  for (const char* bad : {"", "initialise tile 1 blocks 2", "initialise tile 1 blocks 2 threshold 3 ",
                          "initialise tile -1 blocks 2 threshold 3", "initialise tile 1 blocks 4000000000 threshold 3"})
    EXPECT_TRUE(test::fails(parse_initialiser(bad), Errc::bad_input, "no choice")) << bad;
}

TEST(Initialiser, TunesByMeasuringAndUsesResult) {
  OneBuffer one;
  accept_fills(one.driver());
  auto initialiser = one.initialiser();
  std::size_t asked = 0;
  const auto choice = initialiser.tune(one.buffer(), [&] { return ++asked > 0; });
  ASSERT_EQ(test::problem(choice), "none");
  EXPECT_EQ(*choice, initialiser.choice());
  EXPECT_GE(choice->tiling.tile, page);
  EXPECT_GT(choice->tiling.blocks, 0U);
  EXPECT_LE(asked, Initialiser::max_measurements);
  EXPECT_TRUE(test::fails(initialiser.tune(one.buffer(), [] { return false; }), Errc::cancelled, "stopped"));
  one.driver().fail<&Driver::launch>(Code::invalid_value);
  EXPECT_TRUE(test::fails(initialiser.tune(one.buffer(), {}), Errc::device_fault, "fills memory"));
}

/// Kernels take as long as the host does for a page: below that size the host is faster, above it the GPU.
TEST(Initialiser, TuningFindsThreshold) {
  OneBuffer one(page * 64);
  one.driver().add_kernel("benchmark_fill", {sizeof(cuda::FillArguments)}, [](auto, auto, void**) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < until) {}
  });
  auto initialiser = one.initialiser();
  auto choice = initialiser.tune(one.buffer(), {});
  for (int again = 0; again < 10 && choice && choice->tiling.tile != page * 64; ++again) // repeats on a shared machine
    choice = initialiser.tune(one.buffer(), {});
  ASSERT_EQ(test::problem(choice), "none");
  EXPECT_GT(choice->threshold, Bytes{4096});
  EXPECT_EQ(choice->tiling.tile, page * 64) << "each tile takes a kernel";
}

// ---- workloads ----

KernelWorkload::Options managed_sum() {
  return {WorkloadKind::vector_add, 100'000, MemoryPolicy::managed, EmulatedGpu::launching().images};
}

TEST(Initialiser, ManagedArraysStartWithInputsOfJobZero) {
  if (const auto* why = test::emulation::unavailable()) GTEST_SKIP() << why;
  EmulatedGpu gpu;
  for (const auto kind : {WorkloadKind::vector_add, WorkloadKind::matrix_multiply, WorkloadKind::needleman_wunsch,
                          WorkloadKind::random_access}) {
    for (const char* threshold : {"0", "100000000"}) {
      auto options = managed_sum();
      options.kind = kind;
      options.size = kind == WorkloadKind::vector_add || kind == WorkloadKind::random_access ? 10'000 : 100;
      const auto workload = KernelWorkload::make(options, DeviceKind::cuda).value();
      ASSERT_TRUE(workload->use(std::array{"initialise tile 65536 blocks 2 threshold " + std::string(threshold)}));
      ASSERT_EQ(test::problem(workload->bind(gpu.device(), {})), "none");
      std::vector<std::vector<unsigned>> first;
      for (const auto& array : workload->arrays()) first.push_back(words_of(array.host(), array.size().count / 4));
      EXPECT_TRUE(workload->before(0));
      for (std::size_t i = 0; i < first.size(); ++i)
        EXPECT_EQ(words_of(workload->arrays()[i].host(), first[i].size()), first[i]) << name(kind) << " " << i;
    }
  }
}

TEST(Initialiser, WorkloadReportsEachArrayThatItFills) {
  EmulatedGpu gpu;
  accept_fills(gpu.driver());
  const auto workload = KernelWorkload::make(managed_sum(), DeviceKind::cuda).value();
  ASSERT_TRUE(workload->use(std::array<std::string, 1>{"initialise tile 131072 blocks 2 threshold 0"}));
  Onlooker onlooker;
  workload->observe_contents(onlooker.observer());
  ASSERT_EQ(test::problem(workload->bind(gpu.device(), {})), "none");
  ASSERT_EQ(onlooker.all.size(), 2U) << "a and b";
  EXPECT_EQ(onlooker.all[1].size, Bytes{400'000});
  EXPECT_EQ(onlooker.times.size(), 4U);
  EXPECT_GE(onlooker.all[1].begin, onlooker.all[0].end);
}

TEST(Initialiser, ManagedArraysStartOnHost) {
  EmulatedGpu gpu;
  accept_fills(gpu.driver());
  const auto workload = KernelWorkload::make(managed_sum(), DeviceKind::cuda).value();
  gpu.driver().watch_work();
  ASSERT_EQ(test::problem(workload->bind(gpu.device(), {})), "none");
  std::vector<std::string> moved;
  for (const auto& each : gpu.driver().work())
    if (each.what != "record" && each.what != "wait") moved.push_back(each.what);
  EXPECT_THAT(moved, ElementsAre("to device 0", "to device 0", "to device 0", "to device 0", "benchmark_fill",
                                 "to host", "to device 0", "benchmark_fill", "to host", "to host"))
      << "allocated: a, b and sum; filled: a and b";
}

TEST(Initialiser, WorkloadTunesOnlyManagedArrays) {
  EmulatedGpu gpu;
  accept_fills(gpu.driver());
  const auto lines = [&](MemoryPolicy policy) {
    auto options = managed_sum();
    options.policy = policy;
    return KernelWorkload::make(options, DeviceKind::cuda).value()->tune(gpu.device(), {}).value();
  };
  EXPECT_THAT(lines(MemoryPolicy::managed), ElementsAre(testing::StartsWith("initialise tile ")));
  EXPECT_THAT(lines(MemoryPolicy::device), testing::IsEmpty());
  const auto copied = KernelWorkload::make({WorkloadKind::vector_add, 10}, DeviceKind::cuda).value();
  EXPECT_EQ(copied->use(std::array<std::string, 1>{"initialise tile 1 blocks 1 threshold 1"}).error().code,
            Errc::bad_input);
  const auto managed = KernelWorkload::make(managed_sum(), DeviceKind::cuda).value();
  EXPECT_TRUE(test::fails(managed->use(std::array<std::string, 1>{"nonsense"}), Errc::bad_input, "no choice"));
  EXPECT_TRUE(managed->use({}));
}

// ---- a real GPU ----

TEST(GpuInitialisation, GivesHostBitsWhilePagesMove) {
  if (const auto why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const auto device = std::move(*hal::CudaDevice::open({.capacity = Bytes{64 << 20}}));
  const Buffer buffer = device->allocate(BufferKind::managed, Bytes{64 << 20}).value();
  auto initialiser = Initialiser::make(*device, cuda::kernel_images()).value();
  const Tiling tiling{.tile = Bytes{8 << 20}};
  Onlooker onlooker;
  for (const cuda::Fill& fill : fills) {
    ASSERT_EQ(test::problem(initialiser.move(buffer, hal::Side::host)), "none");
    ASSERT_EQ(test::problem(initialiser.fill_on_gpu(buffer, fill, tiling, onlooker.observer())), "none");
    std::vector<unsigned> expected(buffer.size.count / sizeof(unsigned));
    benchmark::fill_words(fill, expected.data(), expected.size());
    EXPECT_EQ(std::memcmp(buffer.host, expected.data(), buffer.size.count), 0) << fill.kind;
  }
  const auto& times = onlooker.times;
  ASSERT_EQ(times.size(), 8U);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_GE(times[i].make_end, times[i].prefetch_end) << i;
  if (!device->can_prefetch()) return;
  const auto overlaps = [&](std::size_t i) { return times[i].make_begin < times[i + 1].prefetch_end; };
  std::size_t overlapping = 0;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) overlapping += overlaps(i) ? 1U : 0U;
  EXPECT_GT(overlapping, times.size() / 2) << "tiles are made while others are on their way";
}

} // namespace
} // namespace rtexec::tasks
