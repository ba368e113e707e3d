// Draws tiny sets that a test of the device alone just accepts, for the exploration of every schedule.
#pragma once

#include "policies/device/device_tests.hpp"
#include "test/policies/swap_exhaustive.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace rtexec::test {

/// A schedulability test, and the swap rule for which it gives bounds.
struct DeviceWay {
  SwapPolicy policy{};
  policies::DeviceTest test{};
  Order order{};
  unsigned copy_engines = 1;
};

struct TinyPromise {
  TinySwapSet set;
  std::vector<std::optional<int>> bounds; // by task; nullopt: it is not real-time
};

/// Returns nullopt if the drawn set is not accepted at any tiny scale.
[[nodiscard]] std::optional<TinyPromise> random_tiny(std::mt19937_64& random, const DeviceWay& way);

[[nodiscard]] std::string described(const TinyPromise& promise, const SwapExploration& found);

} // namespace rtexec::test
