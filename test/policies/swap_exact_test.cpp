// Tests the bounds of a device that swaps against the exact worst case of tiny sets: no schedule of the real scheduler
// exceeds a bound.
#include "test/policies/tiny_devices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace rtexec::policies {
namespace {

struct Way {
  const char* name;
  rtexec::test::DeviceWay way;
};

class SwapBounds : public testing::TestWithParam<Way> {};

TEST_P(SwapBounds, CoverEveryScheduleOfTinySets) {
  constexpr int wanted = 30;
  constexpr std::size_t max_states = 8'000;
  std::mt19937_64 random(21);
  int sets = 0, reached = 0;
  while (sets < wanted) {
    const auto promise = rtexec::test::random_tiny(random, GetParam().way);
    if (!promise) continue;
    const rtexec::test::SwapExploration found = rtexec::test::explore(promise->set, max_states);
    if (!found.complete) continue;
    ++sets;
    for (std::size_t i = 0; i < promise->bounds.size(); ++i) {
      if (!promise->bounds[i]) continue;
      ASSERT_LE(found.worst[i], *promise->bounds[i]) << "task " << i << "\n"
                                                     << rtexec::test::described(*promise, found);
      reached += found.worst[i] == *promise->bounds[i];
    }
  }
  RecordProperty("reached", reached);
}

constexpr Order edf = Order::edf, fixed = Order::static_priority;

INSTANTIATE_TEST_SUITE_P(
    EveryTest, SwapBounds,
    testing::Values(Way{"serial_baker", {SwapPolicy::serial, DeviceTest::baker, edf}},
                    Way{"serial_demand", {SwapPolicy::serial, DeviceTest::demand, edf}},
                    Way{"serial_rta", {SwapPolicy::serial, DeviceTest::rta, fixed}},
                    Way{"rt_swap_baker", {SwapPolicy::rt_swap, DeviceTest::baker, edf}},
                    Way{"rt_swap_demand", {SwapPolicy::rt_swap, DeviceTest::demand, edf}},
                    Way{"rt_swap_rta", {SwapPolicy::rt_swap, DeviceTest::rta, fixed}},
                    Way{"pipelined_edf_1", {SwapPolicy::pipelined, DeviceTest::pipelined, edf, 1}},
                    Way{"pipelined_edf_2", {SwapPolicy::pipelined, DeviceTest::pipelined, edf, 2}},
                    Way{"pipelined_static_1", {SwapPolicy::pipelined, DeviceTest::pipelined, fixed, 1}},
                    Way{"pipelined_static_2", {SwapPolicy::pipelined, DeviceTest::pipelined, fixed, 2}}),
    [](const auto& way) { return std::string(way.param.name); });

} // namespace
} // namespace rtexec::policies
