// Random tiny sets that a test of the device alone just accepts, for the exploration of every schedule.
#pragma once

#include "policies/device/device_tests.hpp"
#include "test/policies/swap_exhaustive.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace rtexec::test {

/// A test, and the rule under which it promises.
struct DeviceWay {
  SwapPolicy policy{};
  policies::DeviceTest test{};
  Order order{};
  unsigned copy_engines = 1;
};

struct TinyPromise {
  TinySwapSet set;
  std::vector<std::optional<int>> bounds; // by task; absent: it is not real-time
};

/// Nothing: this one is not accepted at any scale that is tiny.
[[nodiscard]] std::optional<TinyPromise> random_tiny(std::mt19937_64& random, const DeviceWay& way);

[[nodiscard]] std::string described(const TinyPromise& promise, const SwapExploration& found);

} // namespace rtexec::test
