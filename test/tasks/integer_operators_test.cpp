// Tests operators of integers that integer_tensors_test.cpp does not cover, if they overflow, wrap around or meet NaN.
#include "test/tasks/host_and_gpu.hpp"
#include "test/tasks/integer_samples.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>

namespace rtexec::tasks {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr std::size_t count = 96;

std::string list(std::string_view name, const std::vector<std::int64_t>& values) {
  return onnx_ints(name, {std::ssize(values)}, values);
}

/// Returns a constant of the type of T.
template <class T> std::string constant(std::string_view name, const std::vector<T>& values) {
  const char* const field = std::is_same_v<T, std::int64_t>           ? "int64_data"
                            : sizeof(T) >= 4 && std::is_unsigned_v<T> ? "uint64_data"
                                                                      : "int32_data";
  std::string text = "initializer { name: \"" + std::string(name) + "\" data_type: " + std::to_string(onnx_type<T>()) +
                     " dims: " + std::to_string(values.size());
  for (const auto each : values) text += " " + std::string(field) + ": " + std::to_string(each);
  return text + " }\n";
}

template <class T> class IntegerOperators : public testing::Test {
 protected:
  static constexpr int kind = onnx_type<T>();
  static constexpr T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();

  /// Returns y of a network with the input x and, from b on, further inputs.
  static std::vector<T> run(const std::string& nodes, const std::vector<std::vector<T>>& inputs, std::size_t outputs,
                            int opset = 18) {
    std::string text = nodes + value("output", "y", kind, outputs);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      text += value("input", std::string(1, static_cast<char>('a' + i)), kind, inputs[i].size());
    HostAndGpu bound(text, opset);
    for (std::size_t i = 0; i < inputs.size(); ++i) bound.set(i, inputs[i]);
    return bound.template get<T>();
  }

  static void expect(const std::string& type, const std::function<T(T, T)>& formula,
                     const std::string& attributes = "") {
    const auto a = samples<T>(count, 21), b = samples<T>(count, 22);
    const auto y = run(onnx_node(type, {"a", "b"}, {"y"}, attributes), {a, b}, count);
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(y[i], formula(a[i], b[i])) << type << ' ' << +a[i] << ", " << +b[i];
  }
};
TYPED_TEST_SUITE(IntegerOperators, IntegerTypes);

template <class T> T low_bits(Wide value) { return static_cast<T>(value); }

TYPED_TEST(IntegerOperators, BinaryOperatorsWrapAround) {
  using T = TypeParam;
  this->expect(
      "Mod", [](T a, T b) { return b == 0 ? T{0} : low_bits<T>(Wide{a} % Wide{b}); }, onnx_attribute("fmod", 1));
  this->expect("Sum", [](T a, T b) { return low_bits<T>(Wide{a} + Wide{b}); });
  this->expect("PRelu", [](T a, T b) { return a < 0 ? low_bits<T>(product(a, b)) : a; });
}

TYPED_TEST(IntegerOperators, PowersWrapAround) {
  using T = TypeParam;
  const auto a = samples<T>(count, 23);
  std::vector<T> b(count);
  for (std::size_t i = 0; i < count; ++i) b[i] = static_cast<T>(i % 70);
  const auto y = this->run(onnx_node("Pow", {"a", "b"}, {"y"}), {a, b}, count);
  for (std::size_t i = 0; i < count; ++i) {
    T power = 1;
    for (std::size_t n = 0; n < i % 70; ++n) power = low_bits<T>(product(power, a[i]));
    EXPECT_EQ(y[i], power) << +a[i] << " to " << i % 70;
  }
}

TYPED_TEST(IntegerOperators, ShiftsBeyondWidthShiftOutAllBits) {
  using T = TypeParam;
  constexpr Wide bits = 8 * sizeof(T);
  const auto left = [](T a, T b) { return b < 0 || Wide{b} >= bits ? T{0} : low_bits<T>(Wide{a} << Wide{b}); };
  const auto right = [](T a, T b) { return low_bits<T>(Wide{a} >> (b < 0 || Wide{b} >= bits ? bits : Wide{b})); };
  this->expect("BitShift", left, onnx_text("direction", "LEFT"));
  this->expect("BitShift", right, onnx_text("direction", "RIGHT"));
}

TYPED_TEST(IntegerOperators, ClipToBoundsOfSameType) {
  using T = TypeParam;
  const auto a = samples<T>(count, 24);
  for (const auto& [low, high] : {std::pair<T, T>{this->lowest, this->highest}, {2, 10}, {10, 2}}) {
    const auto y = this->run(onnx_node("Clip", {"a", "b", "c"}, {"y"}), {a, {low}, {high}}, count);
    const auto known =
        this->run(constant<T>("l", {low}) + constant<T>("h", {high}) + list("scalar", {}) +
                      onnx_node("Reshape", {"l", "scalar"}, {"low"}) + onnx_node("Reshape", {"h", "scalar"}, {"high"}) +
                      onnx_node("Clip", {"a", "low", "high"}, {"y"}),
                  {a}, count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(y[i], std::min(std::max(a[i], low), high));
      EXPECT_EQ(known[i], y[i]);
    }
  }
}

TYPED_TEST(IntegerOperators, ExtremesAreFoundExactly) {
  using T = TypeParam;
  const std::vector<T> x{3,           this->highest, this->lowest, static_cast<T>(this->highest - 1), this->highest,
                         this->lowest};
  const auto index = [&](const std::string& type, std::int64_t last) {
    HostAndGpu bound(value("input", "x", this->kind, x.size()) +
                         onnx_node(type, {"x"}, {"y"}, onnx_attribute("select_last_index", last)) +
                         value("output", "y", onnx_int64, 1),
                     13);
    bound.set(0, x);
    return bound.template get<std::int64_t>().front();
  };
  EXPECT_EQ(index("ArgMax", 0), 1);
  EXPECT_EQ(index("ArgMax", 1), 4);
  EXPECT_EQ(index("ArgMin", 0), 2);
  EXPECT_EQ(index("ArgMin", 1), 5);
  EXPECT_THAT(
      this->run(list("k", {4}) + onnx_node("TopK", {"a", "k"}, {"y", "i"}, onnx_attribute("largest", 0)), {x}, 4),
      ElementsAre(this->lowest, this->lowest, 3, this->highest - 1));
}

TYPED_TEST(IntegerOperators, ScatterReductionsWrapAround) {
  using T = TypeParam;
  const std::vector<T> x{this->highest, 2, this->lowest}, updates{this->highest, 2, this->highest, 7};
  const auto expect = [&](const std::string& reduction, const std::function<Wide(Wide, Wide)>& formula) {
    T first = low_bits<T>(formula(x[0], updates[0]));
    first = low_bits<T>(formula(first, updates[2]));
    const T last = low_bits<T>(formula(x[2], updates[1]));
    const auto how = onnx_text("reduction", reduction);
    EXPECT_THAT(this->run(list("i", {0, 2, -3, 1}) + onnx_node("ScatterElements", {"a", "i", "b"}, {"y"}, how),
                          {x, updates}, 3),
                ElementsAre(first, low_bits<T>(formula(2, 7)), last))
        << reduction;
    EXPECT_THAT(this->run(onnx_ints("i", {4, 1}, {0, 2, -3, 1}) + onnx_node("ScatterND", {"a", "i", "b"}, {"y"}, how),
                          {x, updates}, 3),
                ElementsAre(first, low_bits<T>(formula(2, 7)), last))
        << reduction;
  };
  expect("none", [](Wide, Wide b) { return b; });
  expect("add", [](Wide a, Wide b) { return a + b; });
  expect("mul", product);
  expect("min", [](Wide a, Wide b) { return std::min(a, b); });
  expect("max", [](Wide a, Wide b) { return std::max(a, b); });
}

TYPED_TEST(IntegerOperators, CumulativeSumsWrapAroundInBothDirections) {
  using T = TypeParam;
  const auto x = samples<T>(count, 25);
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true}) {
      const auto how = onnx_attribute("exclusive", exclusive) + onnx_attribute("reverse", reverse);
      const auto y = this->run(onnx_ints("axis", {}, {0}) + onnx_node("CumSum", {"a", "axis"}, {"y"}, how), {x}, count);
      T sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const auto at = reverse ? count - 1 - i : i;
        const auto next = low_bits<T>(Wide{sum} + Wide{x[at]});
        EXPECT_EQ(y[at], exclusive ? sum : next);
        sum = next;
      }
    }
}

/// Operators that move elements must also move the limits of a range.
TYPED_TEST(IntegerOperators, MovedElementsKeepTheirBits) {
  using T = TypeParam;
  const auto x = samples<T>(24, 26);
  std::vector<T> places(24);
  std::iota(places.begin(), places.end(), T{1});
  const auto expect = [&](const std::string& nodes, std::size_t size, bool pads = false) {
    const auto text = list("shape", {2, 3, 4}) + onnx_node("Reshape", {"a", "shape"}, {"x"}) + nodes +
                      list("flat", {-1}) + onnx_node("Reshape", {"z", "flat"}, {"y"});
    const auto moved = this->run(text, {places}, size), y = this->run(text, {x}, size);
    for (std::size_t i = 0; i < size; ++i) {
      if (moved[i] == 0) EXPECT_TRUE(pads && y[i] == 0) << nodes;
      else EXPECT_EQ(y[i], x[static_cast<std::size_t>(moved[i]) - 1]) << nodes;
    }
  };
  expect(list("i", {1, -1}) + onnx_node("Gather", {"x", "i"}, {"z"}, onnx_attribute("axis", 2)), 12);
  expect(onnx_ints("i", {2, 1, 4}, {0, 1, 2, -1, -2, 0, 1, 2}) +
             onnx_node("GatherElements", {"x", "i"}, {"z"}, onnx_attribute("axis", 1)),
         8);
  expect(onnx_ints("i", {2, 2}, {0, 1, 1, -1}) + onnx_node("GatherND", {"x", "i"}, {"z"}), 8);
  expect(list("to", {2, 2, 3, 4}) + onnx_node("Expand", {"x", "to"}, {"z"}), 48);
  expect(list("times", {1, 2, 2}) + onnx_node("Tile", {"x", "times"}, {"z"}), 96);
  expect(onnx_node("Trilu", {"x"}, {"z"}, onnx_attribute("upper", 0)), 24, true);
  expect(list("pads", {0, 1, 0, 0, 0, 2}) + onnx_node("Pad", {"x", "pads"}, {"z"}, onnx_text("mode", "reflect")), 48);
  expect(onnx_node("Split", {"x"}, {"u", "z"}, onnx_attribute("axis", 2) + onnx_attribute("num_outputs", 2)), 12);
  expect(list("lengths", {1, 2, 0}) + onnx_node("ReverseSequence", {"x", "lengths"}, {"z"},
                                                onnx_attribute("time_axis", 0) + onnx_attribute("batch_axis", 1)),
         24);
  expect(list("wide", {1, 4, 2, 3}) + onnx_node("Reshape", {"x", "wide"}, {"w"}) +
             onnx_node("DepthToSpace", {"w"}, {"z"}, onnx_attribute("blocksize", 2)),
         24);
  expect(list("crop", {2, 5, 2}) + onnx_node("CenterCropPad", {"x", "crop"}, {"z"}), 20, true);
}

TYPED_TEST(IntegerOperators, OneHotKeepsExtremeValues) {
  using T = TypeParam;
  const std::vector<T> values{this->lowest, this->highest};
  EXPECT_THAT(
      this->run(list("i", {1, -1, 7}) + onnx_ints("depth", {}, {2}) + list("flat", {-1}) +
                    onnx_node("OneHot", {"i", "depth", "a"}, {"z"}) + onnx_node("Reshape", {"z", "flat"}, {"y"}),
                {values}, 6),
      ElementsAre(this->lowest, this->highest, this->lowest, this->highest, this->lowest, this->lowest));
}

TYPED_TEST(IntegerOperators, FloatCastsTruncateAndSaturate) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{nan, infinity, -infinity, 3e38F, -3e38F, -0.0F, 1e-45F, 1.99F, 100.5F};
  HostAndGpu bound(value("input", "x", onnx_float, x.size()) +
                   onnx_node("Cast", {"x"}, {"y"}, onnx_attribute("to", this->kind)) +
                   value("output", "y", this->kind, x.size()));
  bound.set(0, x);
  EXPECT_THAT(bound.template get<TypeParam>(),
              ElementsAre(0, this->highest, this->lowest, this->highest, this->lowest, 0, 0, 1, 100));
}

TYPED_TEST(IntegerOperators, IntegersAreCastToFloatsAndBooleans) {
  const auto x = samples<TypeParam>(count, 27);
  HostAndGpu bound(value("input", "x", this->kind, count) +
                   onnx_node("Cast", {"x"}, {"f"}, onnx_attribute("to", onnx_float)) +
                   onnx_node("Cast", {"x"}, {"t"}, onnx_attribute("to", onnx_bool)) +
                   onnx_node("Cast", {"t"}, {"y"}, onnx_attribute("to", this->kind)) +
                   value("output", "f", onnx_float, count) + value("output", "y", this->kind, count));
  bound.set(0, x);
  const auto floats = bound.template get<float>(0);
  const auto truths = bound.template get<TypeParam>(1);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(floats[i], static_cast<float>(x[i]));
    EXPECT_EQ(truths[i], x[i] != 0);
  }
}

/// Computation while the model is loaded must equal computation while it runs.
TYPED_TEST(IntegerOperators, ConstantOperandsGiveSameResultAsInputs) {
  using T = TypeParam;
  const auto a = samples<T>(20, 28);
  auto b = samples<T>(20, 29);
  std::ranges::replace(b, T{0}, T{3});
  for (const std::string type : {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Min", "BitwiseXor", "Sum", "PRelu"}) {
    const auto node = onnx_node(type, {"a", "b"}, {"y"});
    HostAndGpu bound(constant("a", a) + constant("b", b) + node + value("output", "y", this->kind, 20), 18);
    EXPECT_THAT(bound.template get<T>(), ElementsAreArray(this->run(node, {a, b}, 20))) << type;
  }
}

template <class T> class WideIntegerOperators : public IntegerOperators<T> {};
TYPED_TEST_SUITE(WideIntegerOperators, WideIntegerTypes);

TYPED_TEST(WideIntegerOperators, MatrixProductsWrapAround) {
  using T = TypeParam;
  const auto a = samples<T>(12, 30), b = samples<T>(12, 31), c = samples<T>(3, 32);
  const auto matrices = [&](const std::string& node, const std::vector<std::vector<T>>& inputs) {
    return this->run(list("wide", {3, 4}) + onnx_node("Reshape", {"a", "wide"}, {"p"}) +
                         onnx_node("Reshape", {"b", "wide"}, {"q"}) + node + list("flat", {-1}) +
                         onnx_node("Reshape", {"z", "flat"}, {"y"}),
                     inputs, 9);
  };
  const auto gemm = matrices(onnx_node("Gemm", {"p", "q", "c"}, {"z"}, onnx_attribute("transB", 1)), {a, b, c});
  const auto einsum = matrices(onnx_node("Einsum", {"p", "q"}, {"z"}, onnx_text("equation", "ik,jk->ij")), {a, b});
  for (std::size_t i = 0; i < 9; ++i) {
    T sum = 0;
    for (std::size_t k = 0; k < 4; ++k)
      sum = low_bits<T>(Wide{sum} + low_bits<T>(product(a[i / 3 * 4 + k], b[i % 3 * 4 + k])));
    EXPECT_EQ(einsum[i], sum);
    EXPECT_EQ(gemm[i], low_bits<T>(Wide{sum} + Wide{c[i % 3]}));
  }
}

// ---- quantized operators

TEST(QuantizedExtremes, SumsOfProductsWrapAround) {
  constexpr std::size_t k = 40'000; // 255^2 of each: above 2^31
  const auto line = std::to_string(k);
  std::string bytes;
  for (std::size_t i = 0; i < k; ++i) bytes += "\\377";
  HostAndGpu bound(onnx_value("input", "a", {"1", line}, 2) + onnx_value("input", "b", {line, "1"}, 2) +
                   onnx_node("MatMulInteger", {"a", "b"}, {"y"}) + onnx_value("output", "y", {"1", "1"}, 6) +
                   onnx_value("input", "x", {"1", line, "1", "1"}, 2) +
                   "initializer { name: \"w\" data_type: 2 dims: 1 dims: " + line + " dims: 1 dims: 1 raw_data: \"" +
                   bytes + "\" }" + onnx_node("ConvInteger", {"x", "w"}, {"z"}) +
                   onnx_value("output", "z", {"1", "1", "1", "1"}, 6));
  const std::vector<std::uint8_t> all(k, 255);
  for (std::size_t i = 0; i < 3; ++i) bound.set(i, all);
  EXPECT_THAT(bound.get<std::int32_t>(0), ElementsAre(static_cast<std::int32_t>(Wide{k} * 255 * 255)));
  EXPECT_THAT(bound.get<std::int32_t>(1), ElementsAre(static_cast<std::int32_t>(Wide{k} * 255 * 255)));
}

TEST(QuantizedExtremes, ZeroPointsAtRangeLimitsGiveExactProduct) {
  HostAndGpu bound(onnx_value("input", "a", {"1", "2"}, 3) + onnx_value("input", "b", {"2", "1"}, 2) +
                   "initializer { name: \"az\" data_type: 3 int32_data: 127 }" +
                   "initializer { name: \"bz\" data_type: 2 int32_data: 255 }" +
                   onnx_node("MatMulInteger", {"a", "b", "az", "bz"}, {"y"}) +
                   onnx_value("output", "y", {"1", "1"}, 6));
  bound.set<std::int8_t>(0, {-128, 127});
  bound.set<std::uint8_t>(1, {0, 0});
  EXPECT_THAT(bound.get<std::int32_t>(), ElementsAre(255 * 255));
}

template <class T> class QuantizedTypes : public IntegerOperators<T> {};
TYPED_TEST_SUITE(QuantizedTypes, QuantizedIntegerTypes);

TYPED_TEST(QuantizedTypes, InfinitiesSaturateToRangeLimits) {
  using T = TypeParam;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{infinity, -infinity, 3e38F, -3e38F, 0};
  for (const bool constant_scale : {true, false}) {
    HostAndGpu bound(value("input", "x", onnx_float, x.size()) + onnx_value("input", "s", {}) + constant<T>("z1", {1}) +
                         list("scalar", {}) + onnx_node("Reshape", {"z1", "scalar"}, {"z"}) +
                         "initializer { name: \"half\" data_type: 1 float_data: 0.5 }" +
                         onnx_node("QuantizeLinear", {"x", constant_scale ? "half" : "s", "z"}, {"y"}) +
                         value("output", "y", this->kind, x.size()),
                     21);
    bound.set(0, x);
    bound.template set<float>(1, {0.5F});
    EXPECT_THAT(bound.template get<T>(), ElementsAre(this->highest, this->lowest, this->highest, this->lowest, 1));
  }
}

} // namespace
} // namespace rtexec::tasks
