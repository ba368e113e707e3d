// Tests the CUDA device on a real GPU, if there is one: the rules of every device, and properties that only hardware
// can show.
#include "test/hal/device_rule_tests.hpp"
#include "test/hal/gpu.hpp"

#include "hal/cuda/cuda_device.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace rtexec::hal::test {
namespace {

constexpr Bytes chunk_of_gpu{2 << 20};

template <Completion completion> struct Gpu {
  static constexpr bool driver_allocates = true;
  static std::string why_not() { return why_no_gpu(); }
  static Bytes chunk() { return chunk_of_gpu; }
  static Result<std::unique_ptr<Device>> open(std::size_t chunks) {
    auto device = CudaDevice::open({.capacity = chunk() * chunks, .chunk = chunk(), .completion = completion});
    if (!device) return Unexpected(device.error());
    return std::move(*device);
  }
};
using GpuBackEnds = testing::Types<Gpu<Completion::block>, Gpu<Completion::spin>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, DeviceRules, GpuBackEnds);

// *to = *from, one word.
constexpr char copy_word[] = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry copy_word(.param .u64 to, .param .u64 from)
{
  .reg .u64 %target, %source;
  .reg .u32 %word;
  ld.param.u64 %target, [to];
  ld.param.u64 %source, [from];
  ld.u32 %word, [%source];
  st.u32 [%target], %word;
  ret;
}
)";

/// A device whose kernel copies a word from `from` to `to`. Both are chunks, mapped read-write and read-only.
struct WordCopier {
  std::unique_ptr<CudaDevice> device;
  GpuModule module;
  GpuKernel kernel;
  std::vector<Chunk> chunks;
  AddressRange writable, readable;

  Result<> set_up(Completion completion = Completion::block) {
    auto opened = CudaDevice::open({.capacity = chunk_of_gpu * 4, .completion = completion});
    if (!opened) return Unexpected(opened.error());
    device = std::move(*opened);
    auto loaded = device->load(copy_word, "copy_word");
    if (!loaded) return Unexpected(loaded.error());
    module = std::move(*loaded);
    const auto found = module.kernel("copy_word");
    if (!found) return Unexpected(found.error());
    kernel = *found;
    auto created = device->create_chunks(3);
    if (!created) return Unexpected(created.error());
    chunks = *created;
    for (auto* range : {&writable, &readable}) {
      const auto reserved = device->reserve(device->chunk_size());
      if (!reserved) return Unexpected(reserved.error());
      *range = *reserved;
    }
    const bool mapped =
        device->map(writable, 0, chunks[0], Access::read_write) && device->map(readable, 0, chunks[1], Access::read);
    return mapped ? Result<>() : fail(Errc::device_fault, "mapping");
  }

  Result<GpuGraph> graph(std::byte* to, const std::byte* from) {
    return device->capture([&]() -> Result<> {
      std::array<void*, 2> arguments{static_cast<void*>(&to), static_cast<void*>(&from)};
      const auto launched = device->launch(kernel, {}, {}, {}, arguments.data());
      return launched ? Result<>() : fail(launched.error(), "launching copy_word failed");
    });
  }

  Status run(const GpuGraph& graph) {
    return on_engine(device->engine(EngineKind::compute), [&]() noexcept { return device->run(graph); });
  }
  void put(Chunk chunk, std::uint32_t word) {
    EXPECT_TRUE(device->copy(device->window(chunk), reinterpret_cast<const std::byte*>(&word), Bytes{sizeof word}));
  }
  std::uint32_t get(Chunk chunk) {
    std::uint32_t word = 0;
    EXPECT_TRUE(device->copy(reinterpret_cast<std::byte*>(&word), device->window(chunk), Bytes{sizeof word}));
    return word;
  }
};

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    const auto ready = copier.set_up();
    ASSERT_TRUE(ready) << problem(ready);
  }
  WordCopier copier;
};

TEST_F(GpuTest, SupportsExpectedCapabilities) {
  const auto& can = copier.device->capabilities();
  for (const auto& finding : can.findings) std::printf("%s\n", finding.c_str());
  EXPECT_TRUE(can.read_only_mapping);
  EXPECT_TRUE(can.shared_mapping);
  EXPECT_EQ(can.digest, !cuda::choose_images(cuda::kernel_images(), copier.device->architecture()).empty());
  if (copier.device->architecture() >= 75) { EXPECT_TRUE(can.remap_under_load); }
}

TEST_F(GpuTest, ReportsClocks) {
  const auto clocks = copier.device->clocks();
  if (!clocks) GTEST_SKIP() << "NVML tells no clocks here";
  std::printf("cores %s of %s, memory %s, limits %u\n", readable(clocks->cores).c_str(), readable(clocks->most).c_str(),
              readable(clocks->memory).c_str(), clocks->limits);
  EXPECT_GT(clocks->cores, Frequency{10'000'000});
  EXPECT_LE(clocks->cores, clocks->most);
  EXPECT_GT(clocks->memory, Frequency{10'000'000});
}

TEST_F(GpuTest, KernelReadsReadOnlyMapping) {
  const auto graph = copier.graph(copier.writable.base, copier.readable.base);
  ASSERT_TRUE(graph) << problem(graph);
  copier.put(copier.chunks[1], 12345);
  EXPECT_TRUE(copier.run(*graph));
  EXPECT_EQ(copier.get(copier.chunks[0]), 12345u);
}

TEST_F(GpuTest, CapturedGraphFollowsRemapping) {
  const auto graph = copier.graph(copier.writable.base, copier.readable.base);
  ASSERT_TRUE(graph) << problem(graph);
  copier.put(copier.chunks[1], 1);
  copier.put(copier.chunks[2], 2);
  for (const std::size_t which : {1u, 2u, 1u, 2u}) {
    ASSERT_TRUE(copier.device->unmap(copier.readable, 0));
    ASSERT_TRUE(copier.device->map(copier.readable, 0, copier.chunks[which], Access::read));
    EXPECT_TRUE(copier.run(*graph));
    EXPECT_EQ(copier.get(copier.chunks[0]), which);
  }
}

TEST_F(GpuTest, RunWaitsForGraphCompletion) {
  for (const auto completion : {Completion::block, Completion::spin}) {
    WordCopier another;
    const auto ready = another.set_up(completion);
    ASSERT_TRUE(ready) << problem(ready);
    const auto graph = another.graph(another.writable.base, another.readable.base);
    ASSERT_TRUE(graph) << problem(graph);
    for (std::uint32_t round = 1; round <= 200; ++round) {
      another.put(another.chunks[1], round);
      ASSERT_TRUE(another.run(*graph));
      ASSERT_EQ(another.get(another.chunks[0]), round);
    }
  }
}

TEST_F(GpuTest, MeasuresExecutionTimeOfGraphOnDevice) {
  const auto graph = copier.device->capture([&]() -> Result<> {
    std::array<void*, 2> arguments{static_cast<void*>(&copier.writable.base),
                                   static_cast<void*>(&copier.readable.base)};
    for (int i = 0; i < 2000; ++i)
      if (const auto launched = copier.device->launch(copier.kernel, {}, {}, {}, arguments.data()); !launched)
        return fail(launched.error(), "launching copy_word failed");
    return {};
  });
  ASSERT_TRUE(graph) << problem(graph);
  for (int job = 0; job < 20; ++job) {
    Duration passed{}, executed{};
    ASSERT_TRUE(on_engine(copier.device->engine(EngineKind::compute), [&]() noexcept -> Status {
      copier.device->begin_execution(Concurrency::alone);
      const Instant begin = now();
      const Status ran = copier.device->run(*graph);
      passed = now() - begin;
      executed = copier.device->executed(passed);
      return ran;
    }));
    EXPECT_LT(executed, passed);
    if (job > 0) { EXPECT_GT(executed, passed / 2) << "2000 kernels that follow one another"; }
  }
}

TEST_F(GpuTest, InvalidKernelsFailWithoutLosingDevice) {
  const auto garbage = copier.device->load("no kernel", "garbage");
  ASSERT_FALSE(garbage);
  EXPECT_NE(garbage.error().what.find("loading the kernels of garbage"), std::string::npos) << garbage.error().what;
  EXPECT_TRUE(fails(copier.module.kernel("no_such_kernel"), Errc::unsupported, "no_such_kernel"));
  EXPECT_FALSE(copier.device->fault());
  EXPECT_TRUE(copier.device->wait(EngineKind::compute));
}

TEST_F(GpuTest, MemoryUseIncludesContextAndChunks) {
  const auto use = copier.device->memory_use();
  ASSERT_TRUE(use) << problem(use);
  std::printf("context %s, own %s\n", readable(use->context).c_str(), readable(use->own).c_str());
  EXPECT_GT(use->context, Bytes{0});
  EXPECT_GE(use->own, use->context + copier.device->chunk_size() * 3);
}

/// Writes through a read-only mapping with a kernel, and prints the result to stderr. Returns 0 if all was as expected.
int write_to_constants() {
  WordCopier copier;
  if (const auto ready = copier.set_up(); !ready) {
    std::fprintf(stderr, "%s\n", ready.error().what.c_str());
    return 1;
  }
  copier.put(copier.chunks[1], 77);
  const auto graph = copier.graph(copier.readable.base, copier.writable.base);
  if (!graph) return 2;
  const Status first = copier.run(*graph);
  if (first || first.error() != Errc::device_fault) return 3;
  const auto fault = copier.device->fault();
  if (!fault) return 4;
  std::fprintf(stderr, "fault: %s\n", fault->what.c_str());
  const Status second = copier.run(*graph);
  if (second || second.error() != Errc::device_lost) return 5;
  if (const auto chunks = copier.device->create_chunks(1); chunks || chunks.error().code != Errc::device_lost) return 6;
  return 0;
}

// Runs in a child process: the fault destroys the context, and would break every later test.
TEST(GpuDeathTest, KernelWriteToReadOnlyMappingFaultsAndProcessSurvives) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  if (const auto why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EXIT(std::exit(write_to_constants()), testing::ExitedWithCode(0), "fault: CUDA_ERROR_ILLEGAL_ADDRESS");
}

} // namespace
} // namespace rtexec::hal::test
