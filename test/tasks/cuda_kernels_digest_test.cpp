// Tests the digest kernel of hal/ on the emulation: it computes the same bits as the host, for every division of the
// work.
#include "hal/cuda/kernels/digest_arguments.hpp"
#include "hal/digest_of.hpp"
#include "test/tasks/cuda_emulation/kernel_check.hpp"
#include "test/tasks/onnx_oracle/guarded_memory.hpp"

#include <random>

namespace rtexec::test {
namespace {

using hal::Digest;
using hal::cuda::DigestArguments;
using hal::cuda::DigestResult;
using hal::cuda::DigestSums;

Digest digest_by_kernel(const std::byte* contents, std::size_t size, unsigned blocks, DigestSums& sums) {
  DigestResult result{1, 2};
  DigestArguments arguments{contents, size, &sums, &result};
  void* argument = &arguments;
  emulation::launch({.name = "digest", .grid_x = blocks, .threads = hal::cuda::digest_threads}, &argument);
  return {result.low, result.high};
}

TEST(CudaDigestKernel, MatchesDigestOfHost) {
  SKIP_WITHOUT_EMULATION();
  std::mt19937_64 random(3);
  DigestSums sums; // the same for all launches, as in a stream
  for (const std::size_t size : {16UL, 32UL, 4080UL, 4096UL, 4112UL, 65536UL, 100'000UL}) {
    GuardedMemory memory(size);
    std::byte* const contents = memory.data();
    for (std::size_t i = 0; i < size; ++i) contents[i] = std::byte(random());
    memory.protect();
    const Digest expected = hal::digest_of(contents, Bytes{size});
    for (const unsigned blocks : {1U, 2U, 3U, 7U, 40U})
      for (const auto order : {emulation::Order::forward, emulation::Order::reverse}) {
        emulation::set_order(order);
        EXPECT_EQ(digest_by_kernel(contents, size, blocks, sums), expected)
            << size << " bytes, " << blocks << " blocks";
        EXPECT_TRUE(sums.low == 0 && sums.high == 0 && sums.blocks == 0) << "as the next launch needs them";
      }
  }
  emulation::set_order(emulation::Order::forward);
}

TEST(CudaDigestKernel, ReturnsZeroForEmptyMemory) {
  SKIP_WITHOUT_EMULATION();
  DigestSums sums;
  EXPECT_EQ(digest_by_kernel(nullptr, 0, 1, sums), Digest());
}

} // namespace
} // namespace rtexec::test
