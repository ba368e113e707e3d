// CUDA's functions for the test programs, which are linked with the stand-in driver, and the reaction of these programs
// to a failure.
#pragma once

#include "test/cuda/driver_symbols.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace rtexec::test {

[[noreturn]] inline void fail(const std::string& what) {
  std::printf("failed: %s\n", what.c_str());
  std::exit(1);
}
inline void check(hal::cuda::Code code, const char* what) {
  if (code != hal::cuda::Code::success) fail(std::string(what) + ": " + std::to_string(static_cast<int>(code)));
}

} // namespace rtexec::test
