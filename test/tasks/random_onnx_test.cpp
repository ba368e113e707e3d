// Tests that random models are refused with a reason, or run within their tensors. test/fuzz/networks.cpp tries many
// more, under sanitizers.
#include "test/tasks/random_onnx.hpp"

#include "test/tasks/isolated_nodes.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rtexec::test {
namespace {

TEST(RandomOnnx, IsRejectedOrRunsWithinItsTensors) {
  std::map<std::string, int> outcomes;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_THROW(++outcomes[try_model(random_onnx(seed), seed).outcome]);
  }
  EXPECT_GE(outcomes["run"], 60) << "the generator no longer writes models that are valid";
}

} // namespace
} // namespace rtexec::test
