#include "test/hal/fake_cuda_driver.hpp"
#include "test/hal/gpu.hpp"
#include "test/hal/hal_support.hpp"

#include <dlfcn.h>

namespace rtexec::hal::test {
namespace {

using cuda::Code;

TEST(CudaDriver, OpensIfLibraryExistsElseReportsUnsupported) {
  const bool there = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr;
  const auto driver = cuda::open_driver();
  if (there) {
    ASSERT_TRUE(driver) << problem(driver);
    EXPECT_EQ(cuda::open_driver().value(), *driver) << "one table";
  } else {
    EXPECT_TRUE(fails(driver, Errc::unsupported, "libcuda.so.1"));
    EXPECT_FALSE(why_no_gpu().empty());
  }
}

TEST(CudaDriver, DistinguishesMissingLibraryFromWrongLibrary) {
  EXPECT_TRUE(fails(cuda::load_driver("libno-such-driver.so.1"), Errc::unsupported,
                    "There is no NVIDIA driver on this machine: libno-such-driver.so.1"));
  EXPECT_TRUE(fails(cuda::load_driver("libm.so.6"), Errc::refused, "libm.so.6 has no function cuInit"));
}

TEST(CudaDriver, OpenReturnsOverrideTableWhileOverrideLives) {
  const auto before = cuda::open_driver();
  {
    const FakeCudaDriver fake;
    EXPECT_EQ(cuda::open_driver().value(), &fake.table());
  }
  EXPECT_EQ(cuda::open_driver().has_value(), before.has_value());
}

TEST(CudaDriver, StickyErrorsAreThoseThatEndAContext) {
  for (const auto code :
       {Code::illegal_address, Code::launch_failed, Code::ecc_uncorrectable, Code::launch_timeout, Code::assert_failed,
        Code::hardware_stack_error, Code::illegal_instruction, Code::misaligned_address, Code::invalid_address_space,
        Code::invalid_pc, Code::contained, Code::context_destroyed, Code::tensor_memory_leak,
        Code::mps_client_terminated, Code::unknown}) {
    EXPECT_TRUE(cuda::is_sticky(code)) << int(code);
  }
  for (const auto code : {Code::success, Code::invalid_value, Code::out_of_memory, Code::no_device, Code::not_found,
                          Code::not_ready, Code::not_supported, Code::not_permitted, Code::invalid_context}) {
    EXPECT_FALSE(cuda::is_sticky(code)) << int(code);
  }
}

TEST(CudaDriver, DescribesErrorsByNameAndMeaning) {
  FakeCudaDriver fake;
  EXPECT_EQ(describe(fake.table(), Code::illegal_address), "CUDA_ERROR_ILLEGAL_ADDRESS (as the fake driver was told)");
  fake.fail<&cuda::Driver::error_text>(Code::invalid_value);
  EXPECT_EQ(describe(fake.table(), Code::illegal_address), "CUDA_ERROR_ILLEGAL_ADDRESS");
  fake.fail<&cuda::Driver::error_name>(Code::invalid_value);
  EXPECT_EQ(describe(fake.table(), Code::illegal_address), "CUDA error 700");
}

} // namespace
} // namespace rtexec::hal::test
