// A kernel that does nothing but write to memory.
#pragma once

#include "hal/cuda/cuda_device.hpp"

namespace rtexec::test {

// Writes 1 to the word that it is given.
inline constexpr char raise_word[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry raise_word(.param .u64 word) {
  .reg .u64 %address;
  .reg .u32 %one;
  ld.param.u64 %address, [word];
  mov.u32 %one, 1;
  st.volatile.global.u32 [%address], %one;
  ret;
}
)";

/// Of one launch on `word`, by a thread that has entered the device; `module`: loaded from `raise_word`.
inline Result<hal::CudaGraph> graph_that_raises(const std::byte* word, hal::CudaDevice& device,
                                                const hal::CudaModule& module) {
  const auto kernel = module.function("raise_word");
  if (!kernel) return Unexpected(kernel.error());
  return device.capture([&](hal::cuda::Stream stream) {
    void* arguments[] = {&word};
    return device.checked(device.driver().launch(*kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr),
                          "launching");
  });
}

} // namespace rtexec::test
