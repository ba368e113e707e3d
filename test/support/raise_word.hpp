// A kernel that only writes to memory.
#pragma once

#include <rtexec/device.hpp>

namespace rtexec::test {

// Writes 1 to the word at the address in its argument.
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

/// Captures a graph with one launch of the kernel on `word`. `module` must be loaded from `raise_word`.
inline Result<GpuGraph> graph_that_raises(const std::byte* word, Gpu& gpu, const GpuModule& module) {
  const auto kernel = module.kernel("raise_word");
  if (!kernel) return Unexpected(kernel.error());
  return gpu.capture([&]() -> Result<> {
    void* arguments[] = {&word};
    const auto launched = gpu.launch(*kernel, {}, {}, {}, arguments);
    return launched ? Result<>() : fail(launched.error(), "launching failed");
  });
}

} // namespace rtexec::test
