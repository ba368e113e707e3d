// Tests chunks that processes pass to each other, on the host device and on the simulated NVIDIA driver.
#include "hal/shared_chunks.hpp"
#include "hal/cuda/driver.hpp"
#include "test/hal/failing_system.hpp"
#include "test/hal/fake_cuda_driver.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

using test::FakeCudaDriver;
using test::FakeCudaObjects;
using testing::HasSubstr;

constexpr Bytes chunk{64 << 10};

Board board_of(DeviceKind kind) {
  Board board;
  board.name = "test";
  board.device = kind;
  return board;
}

/// A chunk as another process maps it, through its own descriptor.
class Mapped {
 public:
  explicit Mapped(int descriptor)
      : descriptor_(::dup(descriptor)),
        base_(static_cast<unsigned char*>(
            ::mmap(nullptr, chunk.count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.number(), 0))) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { ::munmap(base_, chunk.count); }
  unsigned char& last() { return base_[chunk.count - 1]; }

 private:
  FileDescriptor descriptor_;
  unsigned char* base_;
};

class SharedDeviceChunks : public testing::TestWithParam<DeviceKind> {
 protected:
  FakeCudaDriver driver_;
};

// A client that truncates its chunk would take it from the next client.
TEST(SharedHostChunks, CannotBeResizedOrSealed) {
  const auto chunks = share_chunks(board_of(DeviceKind::host), 2, chunk);
  ASSERT_TRUE(chunks) << chunks.error().what;
  for (const off_t size : {off_t{0}, static_cast<off_t>(chunk.count) * 2}) {
    EXPECT_EQ(::ftruncate(chunks->descriptor(0), size), -1) << size;
    EXPECT_EQ(errno, EPERM) << size;
  }
  EXPECT_EQ(::fallocate(chunks->descriptor(0), 0, 0, static_cast<off_t>(chunk.count) * 2), -1);
  EXPECT_EQ(::fcntl(chunks->descriptor(0), F_ADD_SEALS, F_SEAL_WRITE), -1)
      << "nor does one client stop another's writes";
  Mapped(chunks->descriptor(0)).last() = 7;
  EXPECT_EQ(Mapped(chunks->descriptor(0)).last(), 7);
}

TEST_P(SharedDeviceChunks, AreDistinctAndVisibleToAllDescriptorHolders) {
  const auto chunks = share_chunks(board_of(GetParam()), 3, chunk);
  ASSERT_TRUE(chunks) << chunks.error().what;
  ASSERT_EQ(chunks->count(), 3u);
  EXPECT_EQ(chunks->chunk_size(), chunk);
  for (unsigned i = 0; i < 3; ++i) Mapped(chunks->descriptor(i)).last() = static_cast<unsigned char>(i + 1);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(Mapped(chunks->descriptor(i)).last(), i + 1) << i;
}

TEST_P(SharedDeviceChunks, OutliveCreatorWhileDescriptorIsHeld) {
  auto chunks = share_chunks(board_of(GetParam()), 1, chunk);
  ASSERT_TRUE(chunks) << chunks.error().what;
  const FileDescriptor kept(::dup(chunks->descriptor(0)));
  Mapped(kept.number()).last() = 7;
  chunks = fail(Errc::cancelled, "gone");
  EXPECT_EQ(Mapped(kept.number()).last(), 7);
  EXPECT_EQ(driver_.objects(), FakeCudaObjects{});
}

TEST_P(SharedDeviceChunks, RejectSizeNotMultipleOfGranularity) {
  const auto odd = share_chunks(board_of(GetParam()), 1, Bytes{1000});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, Errc::bad_input);
  EXPECT_THAT(odd.error().what, HasSubstr("is not a multiple of"));
}

INSTANTIATE_TEST_SUITE_P(Each, SharedDeviceChunks, testing::Values(DeviceKind::host, DeviceKind::cuda),
                         [](const auto& which) { return which.param == DeviceKind::host ? "Host" : "Cuda"; });

TEST(SharedCudaChunks, LeaveNothingBehindIfOneFails) {
  for (const bool at_export : {false, true}) {
    FakeCudaDriver driver;
    if (at_export) driver.fail<&cuda::Driver::export_handle>(cuda::Code::not_supported, 2);
    // the first call fails because there is no context yet
    else driver.fail<&cuda::Driver::create>(cuda::Code::out_of_memory, 3);
    const auto chunks = share_chunks(board_of(DeviceKind::cuda), 3, chunk);
    ASSERT_FALSE(chunks);
    EXPECT_EQ(chunks.error().code, at_export ? Errc::unsupported : Errc::out_of_memory) << chunks.error().what;
    EXPECT_EQ(driver.objects(), FakeCudaObjects{});
  }
}

TEST(SharedCudaChunks, RequireDriverThatExportsHandles) {
  const FakeCudaDriver driver({.old = true});
  const auto chunks = share_chunks(board_of(DeviceKind::cuda), 1, chunk);
  ASSERT_FALSE(chunks);
  EXPECT_EQ(chunks.error().code, Errc::unsupported);
  EXPECT_THAT(chunks.error().what, HasSubstr("chunks = \"separate\""));
}

TEST(SharedHostChunks, ReportOutOfMemoryIfAllocationFails) {
  static System full;
  full = linux_system();
  full.fallocate = [](int, int, off_t, off_t) { return errno = ENOSPC, -1; };
  const SystemOverride override_(full);
  const auto chunks = share_chunks(board_of(DeviceKind::host), 1, chunk);
  ASSERT_FALSE(chunks);
  EXPECT_EQ(chunks.error().code, Errc::out_of_memory);
}

} // namespace
} // namespace rtexec::hal
