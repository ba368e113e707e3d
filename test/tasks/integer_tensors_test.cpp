// Tests that integers stay integers: every type, every operator, at the limits of their ranges, against 128-bit
// arithmetic.
#include "tasks/engine/host/kernels/arithmetic.hpp"
#include "test/tasks/host_and_gpu.hpp"
#include "test/tasks/integer_samples.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

namespace rtexec::tasks {
namespace {

using testing::ElementsAre;

template <class T> class Integers : public testing::Test {};
TYPED_TEST_SUITE(Integers, IntegerTypes);

constexpr std::size_t count = 200;

template <class T> using Formula = std::function<Wide(Wide, Wide)>;

template <class T> void expect_modular(const std::string& type, const Formula<T>& formula, bool divides = false) {
  const auto kind = onnx_type<T>();
  HostAndGpu bound(value("input", "a", kind, count) + value("input", "b", kind, count) +
                       onnx_node(type, {"a", "b"}, {"y"}) + value("output", "y", kind, count),
                   18);
  const auto a = samples<T>(count, 1);
  auto b = samples<T>(count, 2);
  if (divides) std::ranges::replace(b, T{0}, T{3});
  bound.set(0, a);
  bound.set(1, b);
  const auto y = bound.template get<T>();
  for (std::size_t i = 0; i < count; ++i)
    EXPECT_EQ(y[i], static_cast<T>(formula(Wide{a[i]}, Wide{b[i]}))) << type << ' ' << +a[i] << ", " << +b[i];
}

TYPED_TEST(Integers, BinaryOperatorsWrapAround) {
  expect_modular<TypeParam>("Add", [](Wide a, Wide b) { return a + b; });
  expect_modular<TypeParam>("Sub", [](Wide a, Wide b) { return a - b; });
  expect_modular<TypeParam>("Mul", product);
  expect_modular<TypeParam>("Min", [](Wide a, Wide b) { return std::min(a, b); });
  expect_modular<TypeParam>("Max", [](Wide a, Wide b) { return std::max(a, b); });
  expect_modular<TypeParam>("BitwiseAnd", [](Wide a, Wide b) { return a & b; });
  expect_modular<TypeParam>("BitwiseOr", [](Wide a, Wide b) { return a | b; });
  expect_modular<TypeParam>("BitwiseXor", [](Wide a, Wide b) { return a ^ b; });
  expect_modular<TypeParam>(
      "Div", [](Wide a, Wide b) { return a / b; }, true);
  const auto modulo = [](Wide a, Wide b) { return (a % b + b) % b; };
  expect_modular<TypeParam>("Mod", modulo, true);
}

TYPED_TEST(Integers, DivisionByZeroGivesZero) {
  const auto kind = onnx_type<TypeParam>();
  for (const std::string type : {"Div", "Mod"}) {
    HostAndGpu bound(value("input", "a", kind, 3) + value("input", "b", kind, 3) + onnx_node(type, {"a", "b"}, {"y"}) +
                     value("output", "y", kind, 3));
    bound.set<TypeParam>(0, {0, 1, std::numeric_limits<TypeParam>::min()});
    bound.set<TypeParam>(1, {0, 0, 0});
    EXPECT_THAT(bound.get<TypeParam>(), ElementsAre(0, 0, 0)) << type;
  }
}

TYPED_TEST(Integers, UnaryOperatorsWrapAround) {
  const auto kind = onnx_type<TypeParam>();
  const auto x = samples<TypeParam>(count, 3);
  const auto expect = [&](const std::string& type, auto formula) {
    HostAndGpu bound(
        value("input", "x", kind, count) + onnx_node(type, {"x"}, {"y"}) + value("output", "y", kind, count), 18);
    bound.set(0, x);
    const auto y = bound.template get<TypeParam>();
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(y[i], static_cast<TypeParam>(formula(Wide{x[i]}))) << type << ' ' << +x[i];
  };
  expect("Abs", [](Wide a) { return a < 0 ? -a : a; });
  expect("Neg", [](Wide a) { return -a; });
  expect("Sign", [](Wide a) { return Wide{(a > 0) - (a < 0)}; });
  expect("BitwiseNot", [](Wide a) { return ~a; });
  expect("Relu", [](Wide a) { return std::max(a, Wide{0}); });
  expect("Identity", [](Wide a) { return a; });
}

TYPED_TEST(Integers, AreComparedExactly) {
  const auto kind = onnx_type<TypeParam>();
  const auto a = samples<TypeParam>(count, 4), b = samples<TypeParam>(count, 5);
  const auto expect = [&](const std::string& type, auto formula) {
    HostAndGpu bound(value("input", "a", kind, count) + value("input", "b", kind, count) +
                     onnx_node(type, {"a", "b"}, {"y"}) + value("output", "y", onnx_bool, count));
    bound.set(0, a);
    bound.set(1, b);
    const auto y = bound.get<bool>();
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(y[i], formula(a[i], b[i])) << type << ' ' << +a[i] << ", " << +b[i];
  };
  expect("Equal", std::equal_to());
  expect("Less", std::less());
  expect("LessOrEqual", std::less_equal());
  expect("Greater", std::greater());
  expect("GreaterOrEqual", std::greater_equal());
}

template <class From, class To> void expect_cast() {
  HostAndGpu bound(value("input", "x", onnx_type<From>(), count) +
                   onnx_node("Cast", {"x"}, {"y"}, onnx_attribute("to", onnx_type<To>())) +
                   value("output", "y", onnx_type<To>(), count));
  const auto x = samples<From>(count, 6);
  bound.set(0, x);
  const auto y = bound.get<To>();
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(y[i], static_cast<To>(x[i])) << +x[i];
}

TYPED_TEST(Integers, KeepLowBitsWhenCast) {
  expect_cast<TypeParam, std::uint8_t>();
  expect_cast<TypeParam, std::int8_t>();
  expect_cast<TypeParam, std::uint16_t>();
  expect_cast<TypeParam, std::int16_t>();
  expect_cast<TypeParam, std::uint32_t>();
  expect_cast<TypeParam, std::int32_t>();
  expect_cast<TypeParam, std::uint64_t>();
  expect_cast<TypeParam, std::int64_t>();
}

TYPED_TEST(Integers, CastsFromFloatTruncate) {
  const auto kind = onnx_type<TypeParam>();
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x{0, -0.9F, 0.9F, 1.5F, -1.5F, inf, -inf, std::nanf(""), 1e30F, -1e30F, 254.9F, -128.9F};
  for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64})
    for (const float near : {1.0F, 1 - 0x1p-24F, 1 + 0x1p-23F})
      for (const float sign : {1.0F, -1.0F}) x.push_back(sign * std::ldexp(near, bits));
  HostAndGpu bound(value("input", "x", onnx_float, x.size()) +
                   onnx_node("Cast", {"x"}, {"y"}, onnx_attribute("to", kind)) + value("output", "y", kind, x.size()));
  bound.set(0, x);
  const auto y = bound.template get<TypeParam>();
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], kernels::truncated<TypeParam>(x[i])) << x[i];
}

TYPED_TEST(Integers, ReductionsWrapAround) {
  const auto kind = onnx_type<TypeParam>();
  const auto x = samples<TypeParam>(count, 7);
  const auto expect = [&](const std::string& type, auto fold, Wide first) {
    HostAndGpu bound(onnx_value("input", "x", {"2", std::to_string(count / 2)}, kind) +
                         onnx_node(type, {"x"}, {"y"}, onnx_attribute("axes", std::vector<std::int64_t>{1})) +
                         onnx_value("output", "y", {"2", "1"}, kind),
                     12);
    bound.set(0, x);
    const auto y = bound.template get<TypeParam>();
    for (std::size_t row = 0; row < 2; ++row) {
      Wide all = first;
      for (std::size_t i = 0; i < count / 2; ++i) {
        const auto each = Wide{x[row * (count / 2) + i]};
        all = i == 0 && type != "ReduceSumSquare" && type != "ReduceL1" ? each : fold(all, each);
        all = static_cast<Wide>(static_cast<TypeParam>(all)); // products would exceed 128 bits
      }
      EXPECT_EQ(y[row], static_cast<TypeParam>(all)) << type;
    }
  };
  expect(
      "ReduceSum", [](Wide a, Wide b) { return a + b; }, 0);
  expect("ReduceProd", product, 1);
  expect(
      "ReduceMin", [](Wide a, Wide b) { return std::min(a, b); }, 0);
  expect(
      "ReduceMax", [](Wide a, Wide b) { return std::max(a, b); }, 0);
  expect(
      "ReduceSumSquare", [](Wide a, Wide b) { return a + product(b, b); }, 0);
  expect(
      "ReduceL1", [](Wide a, Wide b) { return a + (b < 0 ? -b : b); }, 0);
}

TYPED_TEST(Integers, CumulativeSumsWrapAround) {
  const auto kind = onnx_type<TypeParam>();
  HostAndGpu bound(value("input", "x", kind, count) + onnx_ints("axis", {}, {0}) +
                       onnx_node("CumSum", {"x", "axis"}, {"y"}) + value("output", "y", kind, count),
                   14);
  const auto x = samples<TypeParam>(count, 8);
  bound.set(0, x);
  const auto y = bound.template get<TypeParam>();
  Wide sum = 0;
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(y[i], static_cast<TypeParam>(sum += x[i]));
}

TYPED_TEST(Integers, AreOrderedExactly) {
  const auto kind = onnx_type<TypeParam>();
  HostAndGpu bound(value("input", "x", kind, count) + onnx_ints("k", {1}, {static_cast<std::int64_t>(count)}) +
                   onnx_node("TopK", {"x", "k"}, {"v", "i"}) +
                   onnx_node("ArgMin", {"x"}, {"m"}, onnx_attribute("keepdims", 0)) +
                   value("output", "v", kind, count) + value("output", "i", onnx_int64, count) +
                   onnx_value("output", "m", {}, onnx_int64));
  const auto x = samples<TypeParam>(count, 9);
  bound.set(0, x);
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), [&](auto i) { return x[static_cast<std::size_t>(i)]; });
  std::vector<TypeParam> sorted;
  for (const auto i : order) sorted.push_back(x[static_cast<std::size_t>(i)]);
  EXPECT_EQ(bound.template get<TypeParam>(0), sorted);
  EXPECT_EQ(bound.template get<std::int64_t>(1), order);
  EXPECT_THAT(bound.template get<std::int64_t>(2), ElementsAre(std::ranges::min_element(x) - x.begin()));
}

TYPED_TEST(Integers, KeepTheirValuesWhenMoved) {
  const auto kind = onnx_type<TypeParam>();
  const auto x = samples<TypeParam>(24, 10);
  HostAndGpu bound(onnx_value("input", "x", {"4", "6"}, kind) + onnx_value("input", "c", {"6", "4"}, onnx_bool) +
                       onnx_node("Transpose", {"x"}, {"t"}) + onnx_node("Where", {"c", "t", "t"}, {"w"}) +
                       onnx_ints("pads", {4}, {0, 1, 0, 0}) + onnx_node("Pad", {"w", "pads"}, {"p"}) +
                       onnx_node("Concat", {"p", "p"}, {"y"}, onnx_attribute("axis", 1)) +
                       onnx_value("output", "y", {"6", "10"}, kind),
                   13);
  bound.set(0, x);
  const auto y = bound.template get<TypeParam>();
  for (std::size_t row = 0; row < 6; ++row)
    for (std::size_t i = 0; i < 10; ++i)
      EXPECT_EQ(y[row * 10 + i], i % 5 == 0 ? TypeParam{0} : x[(i % 5 - 1) * 6 + row]);
}

template <class T> class WideIntegers : public testing::Test {};
TYPED_TEST_SUITE(WideIntegers, WideIntegerTypes);

TYPED_TEST(WideIntegers, MatrixProductsWrapAround) {
  const auto kind = onnx_type<TypeParam>();
  constexpr std::size_t batch = 2, m = 5, k = 7, n = 9;
  HostAndGpu bound(onnx_value("input", "a", {"2", "5", "7"}, kind) + onnx_value("input", "b", {"7", "9"}, kind) +
                   onnx_node("MatMul", {"a", "b"}, {"y"}) + onnx_value("output", "y", {"2", "5", "9"}, kind));
  const auto a = samples<TypeParam>(batch * m * k, 11), b = samples<TypeParam>(k * n, 12);
  bound.set(0, a);
  bound.set(1, b);
  const auto y = bound.template get<TypeParam>();
  for (std::size_t row = 0; row < batch * m; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      auto sum = TypeParam{0};
      for (std::size_t i = 0; i < k; ++i)
        sum = static_cast<TypeParam>(
            Wide{sum} + static_cast<Wide>(static_cast<TypeParam>(product(a[row * k + i], b[i * n + column]))));
      EXPECT_EQ(y[row * n + column], sum);
    }
}

TYPED_TEST(WideIntegers, PowersWrapAround) {
  const auto kind = onnx_type<TypeParam>();
  HostAndGpu bound(value("input", "x", kind, 4) + value("input", "p", kind, 4) + onnx_node("Pow", {"x", "p"}, {"y"}) +
                   value("output", "y", kind, 4));
  bound.set<TypeParam>(0, {3, 65537, 2, 7});
  bound.set<TypeParam>(1, {20, 2, 31, 0});
  EXPECT_THAT(bound.template get<TypeParam>(),
              ElementsAre(static_cast<TypeParam>(3486784401LL), static_cast<TypeParam>(4295098369LL),
                          static_cast<TypeParam>(2147483648LL), 1));
}

// ---- beyond 2^24, where floats cannot count

TEST(IntegerTensors, KeepBitsBeyondFloatPrecision) {
  constexpr std::int64_t big = (std::int64_t{1} << 53) + 1;
  HostAndGpu bound(value("input", "x", onnx_int64, 2) + onnx_ints("big", {1}, {big}) +
                   onnx_node("Add", {"x", "big"}, {"s"}) + onnx_node("Equal", {"s", "big"}, {"e"}) +
                   onnx_node("Concat", {"s", "big"}, {"y"}, onnx_attribute("axis", 0)) +
                   value("output", "e", onnx_bool, 2) + value("output", "y", onnx_int64, 3));
  bound.set<std::int64_t>(0, {0, 1});
  EXPECT_THAT(bound.get<bool>(0), ElementsAre(true, false));
  EXPECT_THAT(bound.get<std::int64_t>(1), ElementsAre(big, big + 1, big));
}

/// Returns ones, followed by eight other numbers. The largest is the fourth from the end.
std::vector<std::uint8_t> beyond_floats() {
  std::vector<std::uint8_t> x((1 << 24) + 8, 1);
  for (std::size_t i = 0; i < 8; ++i) x[x.size() - 8 + i] = static_cast<std::uint8_t>(92 + i);
  std::swap(x[x.size() - 1], x[x.size() - 4]);
  return x;
}

TEST(IntegerTensors, IndexBeyondFloatPrecision) {
  const auto x = beyond_floats();
  const auto size = static_cast<std::int64_t>(x.size());
  HostAndGpu bound(value("input", "x", 2, x.size()) + value("input", "i", onnx_int64, 3) +
                   onnx_node("Gather", {"x", "i"}, {"g"}) + onnx_node("ArgMax", {"x"}, {"a"}) +
                   value("output", "g", 2, 3) + value("output", "a", onnx_int64, 1));
  bound.set(0, x);
  bound.set<std::int64_t>(1, {size - 7, size - 5, -2});
  EXPECT_THAT(bound.get<std::uint8_t>(0), ElementsAre(93, 95, 98));
  EXPECT_THAT(bound.get<std::int64_t>(1), ElementsAre(size - 4));
}

/// Runs on the host only: the emulation takes seconds for it.
TEST(IntegerTensors, TopKIndicesExceedFloatPrecision) {
  const auto x = beyond_floats();
  Bound bound(value("input", "x", 2, x.size()) + onnx_ints("k", {1}, {1}) + onnx_node("TopK", {"x", "k"}, {"v", "t"}) +
              value("output", "t", onnx_int64, 1));
  bound.set(0, x);
  EXPECT_THAT(bound.get<std::int64_t>(), ElementsAre(static_cast<std::int64_t>(x.size()) - 4));
}

TEST(IntegerTensors, ClampIndicesOutsideRange) {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  HostAndGpu bound(value("input", "x", onnx_float, 3) + value("input", "i", onnx_int64, 4) +
                   onnx_node("Gather", {"x", "i"}, {"g"}) + onnx_node("ScatterElements", {"x", "i4", "u"}, {"y"}) +
                   onnx_ints("i4", {1}, {huge}) + onnx_floats("u", {1}) + value("output", "g", onnx_float, 4) +
                   value("output", "y", onnx_float, 3));
  bound.set<float>(0, {10, 20, 30});
  bound.set<std::int64_t>(1, {huge, -huge - 1, 16777217, -3});
  EXPECT_THAT(bound.get<float>(0), ElementsAre(30, 10, 30, 10));
  EXPECT_THAT(bound.get<float>(1), ElementsAre(10, 20, 1));
}

// ---- bytes with zero points: sums that floats round

TEST(IntegerTensors, ByteProductsAreExact) {
  constexpr std::size_t k = 5000;
  HostAndGpu bound(onnx_value("input", "a", {"1", std::to_string(k)}, 2) +
                   onnx_value("input", "b", {std::to_string(k), "1"}, 2) +
                   "initializer { name: \"z\" data_type: 2 int32_data: 1 }" +
                   onnx_node("MatMulInteger", {"a", "b", "z"}, {"y"}) + onnx_value("output", "y", {"1", "1"}, 6));
  std::vector<std::uint8_t> a(k), b(k);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < k; ++i) {
    a[i] = static_cast<std::uint8_t>(255 - i % 3);
    b[i] = static_cast<std::uint8_t>(255 - i % 7);
    sum += (a[i] - 1) * b[i];
  }
  bound.set(0, a);
  bound.set(1, b);
  EXPECT_THAT(bound.get<std::int32_t>(), ElementsAre(sum));
}

std::string bytes_constant(const std::string& name, int type, const std::vector<std::string>& dimensions,
                           const std::vector<int>& values) {
  std::string text = "initializer { name: \"" + name + "\" data_type: " + std::to_string(type);
  for (const auto& dimension : dimensions) text += " dims: " + dimension;
  for (const auto value : values) text += " int32_data: " + std::to_string(value);
  return text + " }";
}

/// Covers weights that bytes can represent after subtracting the zero point, and others.
TEST(IntegerTensors, ByteConvolutionsAcceptComputedZeroPoints) {
  constexpr int uint8 = 2, channels = 3, filters = 5, side = 6;
  std::vector<int> weights(filters * channels * 9);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int>(i * 37 % 256);
  for (const int zero : {0, 128, 255}) {
    HostAndGpu bound(
        onnx_value("input", "x", {"2", std::to_string(channels), std::to_string(side), std::to_string(side)}, uint8) +
        onnx_value("input", "z", {}, uint8) +
        bytes_constant("w", uint8, {std::to_string(filters), std::to_string(channels), "3", "3"}, weights) +
        bytes_constant("wz", uint8, {}, {zero}) +
        onnx_node("ConvInteger", {"x", "w", "z", "wz"}, {"y"},
                  onnx_attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})) +
        onnx_value("output", "y", {"2", std::to_string(filters), std::to_string(side), std::to_string(side)}, 6));
    const auto x = samples<std::uint8_t>(2 * channels * side * side, 17);
    bound.set(0, x);
    bound.set<std::uint8_t>(1, {201});
    const auto y = bound.get<std::int32_t>();
    int sum = 0; // the last filter in the last corner of the second image
    for (int c = 0; c < channels; ++c)
      for (int h = 0; h < 2; ++h)
        for (int w = 0; w < 2; ++w) {
          const auto at = static_cast<std::size_t>(((channels + c) * side + side - 2 + h) * side + side - 2 + w);
          const auto weight = static_cast<std::size_t>(((filters - 1) * channels + c) * 9 + h * 3 + w);
          sum += (x[at] - 201) * (weights[weight] - zero);
        }
    EXPECT_EQ(y.back(), sum);
  }
}

TEST(IntegerTensors, ByteProductsAcceptComputedZeroPoints) {
  constexpr int int8 = 3;
  std::vector<int> weights(40 * 7);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int>(i * 53 % 256) - 128;
  HostAndGpu bound(onnx_value("input", "x", {"2", "3", "40"}, int8) + onnx_value("input", "z", {}, int8) +
                   bytes_constant("w", int8, {"40", "7"}, weights) +
                   onnx_node("MatMulInteger", {"x", "w", "z"}, {"y"}) + onnx_value("output", "y", {"2", "3", "7"}, 6));
  const auto x = samples<std::int8_t>(2 * 3 * 40, 18);
  bound.set(0, x);
  bound.set<std::int8_t>(1, {-77});
  int sum = 0;
  for (std::size_t k = 0; k < 40; ++k) sum += (x[5 * 40 + k] + 77) * weights[k * 7 + 6];
  EXPECT_EQ(bound.get<std::int32_t>().back(), sum);
}

/// The sums have so many terms that floats cannot represent them.
TEST(IntegerTensors, LongSumsOfByteProductsAreExact) {
  constexpr int uint8 = 2, terms = 900, columns = 3, rows = 70;
  std::vector<int> factors(terms * columns), filters(factors.size());
  for (int p = 0; p < terms; ++p)
    for (int j = 0; j < columns; ++j)
      factors[static_cast<std::size_t>(p * columns + j)] = filters[static_cast<std::size_t>(j * terms + p)] =
          200 + (p * 37 + j * 11) % 56;
  const auto deep = std::to_string(terms), wide = std::to_string(columns), many = std::to_string(rows);
  HostAndGpu bound(onnx_value("input", "a", {many, deep}, uint8) + bytes_constant("b", uint8, {deep, wide}, factors) +
                   onnx_node("MatMulInteger", {"a", "b"}, {"y"}) + onnx_value("output", "y", {many, wide}, 6) +
                   onnx_value("input", "x", {"2", deep, "5", "7"}, uint8) +
                   bytes_constant("w", uint8, {wide, deep, "1", "1"}, filters) +
                   onnx_node("ConvInteger", {"x", "w"}, {"z"}) + onnx_value("output", "z", {"2", wide, "5", "7"}, 6));
  std::vector<std::uint8_t> a(rows * terms), x(a.size());
  for (int i = 0; i < rows; ++i)
    for (int p = 0; p < terms; ++p) // row i is a pixel of an image
      a[static_cast<std::size_t>(i * terms + p)] = x[static_cast<std::size_t>((i / 35 * terms + p) * 35 + i % 35)] =
          static_cast<std::uint8_t>(255 - (i * 13 + p * 29) % 40);
  bound.set(0, a);
  bound.set(1, x);
  const auto product = bound.get<std::int32_t>(0), image = bound.get<std::int32_t>(1);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      std::int32_t sum = 0;
      for (int p = 0; p < terms; ++p)
        sum += a[static_cast<std::size_t>(i * terms + p)] * factors[static_cast<std::size_t>(p * columns + j)];
      ASSERT_GT(sum, 1 << 24);
      EXPECT_EQ(product[static_cast<std::size_t>(i * columns + j)], sum);
      EXPECT_EQ(image[static_cast<std::size_t>((i / 35 * columns + j) * 35 + i % 35)], sum);
    }
}

// ---- NaN is ordered after all numbers

TEST(FloatOrder, TreatsNanAsLargest) {
  const float nan = std::nanf("");
  HostAndGpu bound(value("input", "x", onnx_float, 5) + onnx_ints("k", {1}, {3}) +
                       onnx_node("TopK", {"x", "k"}, {"v", "i"}) +
                       onnx_node("TopK", {"x", "k"}, {"u", "j"}, onnx_attribute("largest", 0)) +
                       onnx_node("ArgMax", {"x"}, {"a"}) + onnx_node("ArgMin", {"x"}, {"b"}) +
                       value("output", "i", onnx_int64, 3) + value("output", "j", onnx_int64, 3) +
                       value("output", "a", onnx_int64, 1) + value("output", "b", onnx_int64, 1),
                   13);
  bound.set<float>(0, {1, nan, 5, nan, -2});
  EXPECT_THAT(bound.get<std::int64_t>(0), ElementsAre(1, 3, 2));
  EXPECT_THAT(bound.get<std::int64_t>(1), ElementsAre(4, 0, 2));
  EXPECT_THAT(bound.get<std::int64_t>(2), ElementsAre(1));
  EXPECT_THAT(bound.get<std::int64_t>(3), ElementsAre(4));
}

/// All NaNs must be treated alike: the exponent of a NaN belongs to no number.
TEST(FloatOrder, ActivationsKeepEveryNan) {
  const std::vector<float> x{std::bit_cast<float>(0x7fc00000), std::bit_cast<float>(0x7fc00001),
                             std::bit_cast<float>(0x7fffffff), std::bit_cast<float>(0xffc12345),
                             std::bit_cast<float>(0xffffffff), std::bit_cast<float>(0x7fd55555)};
  for (const std::string type :
       {"Relu", "LeakyRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Exp", "Tanh", "Sqrt", "Elu", "Selu", "Mish",
        "Gelu", "Swish", "Softplus", "Softsign", "Erf", "Sinh", "Sign"}) {
    Bound bound(value("input", "x", onnx_float, x.size()) + onnx_node(type, {"x"}, {"y"}) +
                    value("output", "y", onnx_float, x.size()),
                24);
    bound.set(0, x);
    for (const float y : bound.get<float>()) EXPECT_TRUE(std::isnan(y)) << type << " gives " << y;
  }
}

TEST(IntegerTensors, AcceptAnyNonzeroByteAsTrue) {
  HostAndGpu bound(value("input", "x", onnx_bool, 3) + onnx_node("Cast", {"x"}, {"y"}, onnx_attribute("to", 6)) +
                   value("output", "y", 6, 3));
  bound.set<bool>(0, {false, true, true});
  bound.network().inputs()[0].bytes[2] = std::byte{0x80};
  EXPECT_THAT(bound.get<std::int32_t>(), ElementsAre(0, 1, 1));
}

} // namespace
} // namespace rtexec::tasks
