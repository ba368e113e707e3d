// Says whether the machine has a GPU, for tests that need a real one.
#pragma once

#include "hal/cuda/driver.hpp"

#include <string>

namespace rtexec::hal::test {

/// Returns an empty text if the machine has an NVIDIA GPU that this process may use, otherwise the reason. Makes no
/// context. The result is cached, because a test may later replace the driver by the simulated one.
[[nodiscard]] inline const std::string& why_no_gpu() {
  static const std::string why = []() -> std::string {
    const auto driver = cuda::open_driver();
    if (!driver) return driver.error().what;
    const cuda::Driver& table = **driver;
    if (const auto code = table.init(0); code != cuda::Code::success)
      return "The NVIDIA driver does not start: " + describe(table, code);
    int count = 0;
    if (const auto code = table.device_count(&count); code != cuda::Code::success)
      return "No GPU can be counted: " + describe(table, code);
    return count > 0 ? "" : "The NVIDIA driver shows no GPU.";
  }();
  return why;
}

} // namespace rtexec::hal::test
