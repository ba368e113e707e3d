// Helpers shared by the tests of hal/.
#pragma once

#include "hal/system.hpp"
#include "hal/thread.hpp"
#include "test/support/eventually.hpp"
#include "test/support/expected_result.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace rtexec::hal::test {

using namespace rtexec::test;

/// Kernel objects that this process holds, to detect leaks.
struct Held {
  std::size_t files = 0;
  std::size_t device_mappings = 0;
  std::size_t threads = 0;
  friend bool operator==(const Held&, const Held&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Held& held) {
    return out << held.files << " files, " << held.device_mappings << " mappings of device memory, " << held.threads
               << " threads";
  }
};
[[nodiscard]] Held held();

/// Returns an empty text if this process may use the real-time class, otherwise the reason.
[[nodiscard]] std::string why_no_fifo();
[[nodiscard]] std::string why_no_deadline();

} // namespace rtexec::hal::test
