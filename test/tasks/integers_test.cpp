// Tests that integer constants are stored in their own type and read as int64.
#include "tasks/engine/graph/integers.hpp"

#include "tasks/engine/onnx/operators.hpp"
#include "test/tasks/bound_network.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace rtexec::tasks {
namespace {

using testing::ElementsAre;

TEST(StoredIntegers, WrapToElementType) {
  const std::vector<std::int64_t> values{-1, 0, 1, 300, -129};
  EXPECT_THAT(Integers(values, ElementType::uint8), ElementsAre(255, 0, 1, 44, 127));
  EXPECT_THAT(Integers(values, ElementType::int8), ElementsAre(-1, 0, 1, 44, 127));
  EXPECT_THAT(Integers(values, ElementType::boolean), ElementsAre(1, 0, 1, 1, 1));
  EXPECT_THAT(Integers(values, ElementType::uint32), ElementsAre(0xffffffff, 0, 1, 300, 0xffffff7f));
  EXPECT_THAT(Integers(values, ElementType::uint64), ElementsAre(-1, 0, 1, 300, -129));
  EXPECT_EQ(Integers(values, ElementType::int16).bytes().size(), 10U);
}

TEST(StoredIntegers, SupportRandomAccess) {
  static_assert(std::ranges::random_access_range<Integers>);
  const Integers integers({3, -7, 5}, ElementType::int8);
  EXPECT_EQ(std::ranges::max(integers), 5);
  EXPECT_EQ(std::ranges::min_element(integers) - integers.begin(), 1);
  EXPECT_EQ(std::vector<std::int64_t>(integers.begin(), integers.end()), (std::vector<std::int64_t>{3, -7, 5}));
}

constexpr std::size_t many = onnx_source::Ints::max_count + 10;

/// Returns an int64 initialiser that counts from 0 to 99 repeatedly.
std::string many_integers(const std::string& name) {
  std::vector<std::int64_t> values(many);
  for (std::size_t i = 0; i < many; ++i) values[i] = static_cast<std::int64_t>(i % 100);
  return onnx_ints(name, {std::ssize(values)}, values);
}

TEST(LargeIntegerTensor, GivesCorrectIndicesAfterArithmetic) {
  const auto size = std::to_string(many);
  Bound bound(onnx_value("input", "x", {"100"}) + many_integers("i") + onnx_ints("one", {1}, {1}) +
              onnx_ints("axis", {1}, {0}) + onnx_node("Sub", {"i", "one"}, {"s"}) +
              onnx_node("Unsqueeze", {"s", "axis"}, {"u"}) + onnx_node("Squeeze", {"u", "axis"}, {"t"}) +
              onnx_node("Gather", {"x", "t"}, {"y"}) + onnx_value("output", "y", {size}));
  std::vector<float> x(100);
  std::iota(x.begin(), x.end(), 0.0F);
  bound.set(0, x);
  const auto y = bound.get<float>();
  ASSERT_EQ(y.size(), many);
  for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(y[i], static_cast<float>((i + 99) % 100));
}

} // namespace
} // namespace rtexec::tasks
