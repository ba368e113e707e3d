// Tests networks with several inputs and outputs of every type: how they are read, and how the host device computes
// them.
#include "tasks/base/half.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"
#include "test/support/expected_result.hpp"
#include "test/tasks/dnn_onnx_text.hpp"
#include "test/tasks/bound_network.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace rtexec::tasks {
namespace {

using testing::ElementsAre;

constexpr int onnx_float = 1, onnx_uint8 = 2, onnx_int8 = 3, onnx_uint16 = 4, onnx_int16 = 5, onnx_int32 = 6,
              onnx_int64 = 7, onnx_bool = 9, onnx_float16 = 10, onnx_double = 11, onnx_uint32 = 12, onnx_uint64 = 13,
              onnx_bfloat16 = 16;

std::string cast(const std::string& from, const std::string& to, int type) {
  return onnx_node("Cast", {from}, {to}, onnx_attribute("to", type));
}
std::string value(std::string_view role, std::string_view name, int type,
                  const std::vector<std::string>& dimensions = {"4"}) {
  return onnx_value(role, name, dimensions, type);
}

TEST(NetworkTypes, FloatInputsAreAddedAndSubtracted) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> shape;
    std::size_t count = 1;
    for (std::size_t d = random() % 5; d > 0; --d) {
      const auto size = random() % 6 + 1;
      count *= size;
      shape.push_back(std::to_string(size));
    }
    Bound bound(value("input", "a", onnx_float, shape) + value("input", "b", onnx_float, shape) +
                onnx_node("Add", {"a", "b"}, {"y"}) + onnx_node("Sub", {"a", "b"}, {"z"}) +
                value("output", "y", onnx_float, shape) + value("output", "z", onnx_float, shape));
    std::vector<float> a(count), b(count), sum, difference;
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = static_cast<float>(random() % 100);
      b[i] = static_cast<float>(random() % 100);
      sum.push_back(a[i] + b[i]);
      difference.push_back(a[i] - b[i]);
    }
    bound.set(0, a);
    bound.set(1, b);
    EXPECT_EQ(bound.get<float>(0), sum);
    EXPECT_EQ(bound.get<float>(1), difference);
    EXPECT_EQ(bound.network().inputs()[1].name, "b");
    EXPECT_EQ(bound.network().outputs()[1].name, "z");
  }
}

TEST(NetworkTypes, Uint8InputIsCastAndScaled) {
  Bound bound(value("input", "x", onnx_uint8) + cast("x", "f", onnx_float) + onnx_floats("w", {4}) +
              onnx_node("Mul", {"f", "w"}, {"y"}) + value("output", "y", onnx_float));
  bound.set<std::uint8_t>(0, {0, 1, 128, 255});
  EXPECT_THAT(bound.get<float>(), ElementsAre(0, 2, 384, 1020));
}

TEST(NetworkTypes, IntegersAreTransposedConcatenatedAndCast) {
  Bound bound(value("input", "x", onnx_int64, {"2", "2"}) + onnx_node("Transpose", {"x"}, {"t"}) +
              onnx_node("Concat", {"t", "x"}, {"c"}, onnx_attribute("axis", 0)) + cast("x", "i", onnx_int32) +
              cast("i", "f", onnx_float) + onnx_node("Relu", {"f"}, {"r"}) +
              value("output", "c", onnx_int64, {"4", "2"}) + value("output", "i", onnx_int32, {"2", "2"}) +
              value("output", "r", onnx_float, {"2", "2"}));
  bound.set<std::int64_t>(0, {1, -2, 3, 1 << 20});
  EXPECT_THAT(bound.get<std::int64_t>(0), ElementsAre(1, 3, -2, 1 << 20, 1, -2, 3, 1 << 20));
  EXPECT_THAT(bound.get<std::int32_t>(1), ElementsAre(1, -2, 3, 1 << 20));
  EXPECT_THAT(bound.get<float>(2), ElementsAre(1, 0, 3, 1 << 20));
}

TEST(NetworkTypes, CastToIntegerTruncatesAndSaturates) {
  const float huge = 1e30F, none = std::numeric_limits<float>::quiet_NaN();
  const auto network = [](int type) {
    return Bound(value("input", "x", onnx_float, {"6"}) +
                 "initializer { name: \"m\" data_type: 1 dims: 1 float_data: -1 }" +
                 onnx_node("Mul", {"x", "m"}, {"n"}) + cast("n", "c", type) + onnx_node("Identity", {"c"}, {"y"}) +
                 value("output", "y", type, {"6"}));
  };
  const std::vector<float> x{-1.75F, 1.75F, -huge, huge, none, -254.9F};
  auto bytes = network(onnx_uint8), ints = network(onnx_int32), longs = network(onnx_int64);
  for (Bound* bound : {&bytes, &ints, &longs}) bound->set(0, x);
  EXPECT_THAT(bytes.get<std::uint8_t>(), ElementsAre(1, 0, 255, 0, 0, 254));
  EXPECT_THAT(ints.get<std::int32_t>(), ElementsAre(1, -1, INT32_MAX, INT32_MIN, 0, 254));
  EXPECT_THAT(longs.get<std::int64_t>(), ElementsAre(1, -1, INT64_MAX, INT64_MIN, 0, 254));
}

TEST(NetworkTypes, HalfPrecisionIsAcceptedAsInputAndOutput) {
  // Constants in half precision: 0.5 in each element.
  Bound bound(value("input", "x", onnx_float16) +
              "initializer { name: \"w\" data_type: 10 dims: 1 int32_data: 14336 }" +
              onnx_node("Mul", {"x", "w"}, {"y"}) + value("output", "y", onnx_float16));
  std::vector<Float16> x;
  for (const float each : {1.0F, -3.0F, 0x1p-24F, 65504.0F}) x.push_back({to_half(each)});
  bound.set(0, x);
  std::vector<float> y;
  for (const auto each : bound.get<Float16>()) y.push_back(from_half(each.bits));
  EXPECT_THAT(y, ElementsAre(0.5F, -1.5F, 0, 32752)) << "half of the least is a tie to even";
}

TEST(NetworkTypes, Bfloat16IsReadAndWrittenAsFloats) {
  // Constants -2.5 and 2^-126, as numbers and as bytes: floats without their lower half.
  Bound bound(value("input", "x", onnx_bfloat16, {"2"}) +
              "initializer { name: \"w\" data_type: 16 dims: 2 int32_data: 49184 int32_data: 128 }" +
              R"(initializer { name: "b" data_type: 16 dims: 2 raw_data: " \300\200\000" })" +
              onnx_node("Mul", {"x", "w"}, {"p"}) + onnx_node("Add", {"p", "b"}, {"s"}) + cast("s", "c", onnx_float) +
              cast("c", "y", onnx_bfloat16) + value("output", "y", onnx_bfloat16, {"2"}));
  bound.set(0, std::vector<float>{3.0F, 1.0F});
  EXPECT_THAT(bound.get<float>(), ElementsAre(-10.0F, 0x1p-125F));
}

TEST(NetworkTypes, OutputPrecisionFollowsModelFile) {
  const auto graph = parse_onnx(onnx_bytes(value("input", "x", onnx_float) + onnx_node("Relu", {"x"}, {"y"}) +
                                           value("output", "y", onnx_float16)));
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->tensors[graph->outputs.front()].type, ElementType::float16);
  const auto noted = parse_onnx(
      onnx_bytes(value("input", "x", onnx_float) + onnx_node("Relu", {"x"}, {"y"}) + value("output", "y", 11)));
  ASSERT_TRUE(noted);
  EXPECT_EQ(noted->tensors[noted->outputs.front()].type, ElementType::float64);
  EXPECT_THAT(noted->notes, ElementsAre(testing::HasSubstr("DOUBLE")));
}

TEST(NetworkTypes, OldOpsetAttributesMatchNewOpsetInputs) {
  const auto number = [](const char* name, const char* of) {
    return std::string("initializer { name: \"") + name + "\" data_type: 1 float_data: " + of + " }";
  };
  const auto real = [](const char* name, const char* of) {
    return std::string("attribute { name: \"") + name + "\" type: FLOAT f: " + of + " } ";
  };
  using Ints = std::vector<std::int64_t>;
  struct Case {
    int opset;
    std::string before, now;
    int now_opset = 13;
  };
  const std::string twice = "attribute { name: \"scales\" type: FLOATS floats: 1 floats: 1 floats: 2 floats: 2 } ",
                    twice_input =
                        "initializer { name: \"s\" data_type: 1 dims: 4 float_data: 1 float_data: 1 float_data: "
                        "2 float_data: 2 }";
  for (const auto& [opset, before, now, now_opset] :
       {Case{7, onnx_node("Clip", {"x"}, {"y"}, real("min", "-0.5") + real("max", "2")),
             number("a", "-0.5") + number("b", "2") + onnx_node("Clip", {"x", "a", "b"}, {"y"})},
        {7, onnx_node("Pad", {"x"}, {"y"}, onnx_attribute("pads", Ints{0, 0, 1, 0, 0, 0, 0, 2}) + real("value", "7")),
         onnx_ints("p", {8}, {0, 0, 1, 0, 0, 0, 0, 2}) + number("v", "7") + onnx_node("Pad", {"x", "p", "v"}, {"y"})},
        {9,
         onnx_node(
             "Slice", {"x"}, {"y"},
             onnx_attribute("starts", Ints{1}) + onnx_attribute("ends", Ints{-1}) + onnx_attribute("axes", Ints{3})),
         onnx_ints("s", {1}, {1}) + onnx_ints("e", {1}, {-1}) + onnx_ints("a", {1}, {3}) +
             onnx_node("Slice", {"x", "s", "e", "a"}, {"y"})},
        {9, onnx_node("TopK", {"x"}, {"y", "i"}, onnx_attribute("k", 2)),
         onnx_ints("k", {1}, {2}) + onnx_node("TopK", {"x", "k"}, {"y", "i"})},
        {7, onnx_node("Upsample", {"x"}, {"y"}, twice),
         twice_input +
             onnx_node("Resize", {"x", "", "s"}, {"y"},
                       onnx_text("coordinate_transformation_mode", "asymmetric") + onnx_text("nearest_mode", "floor"))},
        {10, twice_input + onnx_node("Resize", {"x", "s"}, {"y"}),
         twice_input +
             onnx_node("Resize", {"x", "", "s"}, {"y"},
                       onnx_text("coordinate_transformation_mode", "asymmetric") + onnx_text("nearest_mode", "floor"))},
        {23, onnx_node("Attention", {"x", "x", "x"}, {"y"}, onnx_attribute("is_causal", 1)),
         onnx_node("Attention", {"x", "x", "x"}, {"y"}, onnx_attribute("right_window_size", 0)), 25}}) {
    SCOPED_TRACE(before);
    const std::string x = value("input", "x", onnx_float, {"1", "2", "3", "4"}), y = "output { name: \"y\" }";
    Bound old(x + before + y, opset), fresh(x + now + y, now_opset);
    std::vector<float> values(24);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) - 4;
    old.set(0, values);
    fresh.set(0, values);
    EXPECT_EQ(old.get<float>(), fresh.get<float>());
    EXPECT_EQ(old.network().outputs()[0].shape, fresh.network().outputs()[0].shape);
  }
}

TEST(NetworkTypes, CastsBetweenIntegersKeepLowBits) {
  const auto network = [](int type) {
    return Bound(value("input", "x", onnx_int64) + cast("x", "y", type) + value("output", "y", type));
  };
  const std::vector<std::int64_t> x{300, -1, 70'000, -40'000};
  auto bytes = network(onnx_uint8), signed_bytes = network(onnx_int8), words = network(onnx_uint16),
       signed_words = network(onnx_int16);
  for (Bound* bound : {&bytes, &signed_bytes, &words, &signed_words}) bound->set(0, x);
  EXPECT_THAT(bytes.get<std::uint8_t>(), ElementsAre(44, 255, 112, 192));
  EXPECT_THAT(signed_bytes.get<std::int8_t>(), ElementsAre(44, -1, 112, -64));
  EXPECT_THAT(words.get<std::uint16_t>(), ElementsAre(300, 65535, 4464, 25536));
  EXPECT_THAT(signed_words.get<std::int16_t>(), ElementsAre(300, -1, 4464, 25536));
}

TEST(NetworkTypes, CastToIntegerAndBackTruncates) {
  Bound bound(value("input", "x", onnx_float) + cast("x", "i", onnx_int64) + cast("i", "y", onnx_float) +
              value("output", "y", onnx_float));
  bound.set<float>(0, {1.75F, -1.75F, 0.5F, -3});
  EXPECT_THAT(bound.get<float>(), ElementsAre(1, -1, 0, -3));
}

TEST(NetworkTypes, DoublesAndUnsignedIntegersAreAcceptedAsInputAndOutput) {
  Bound bound(value("input", "x", onnx_double) + value("input", "i", onnx_uint32) + cast("x", "l", onnx_uint64) +
              onnx_node("Identity", {"i"}, {"j"}) + onnx_node("Neg", {"x"}, {"y"}) + value("output", "y", onnx_double) +
              value("output", "j", onnx_uint32) + value("output", "l", onnx_uint64));
  bound.set<double>(0, {1.5, -2, 0.25, 1e9});
  bound.set<std::uint32_t>(1, {0, 1, 1 << 20, 0xff000000});
  EXPECT_THAT(bound.get<double>(0), ElementsAre(-1.5, 2, -0.25, -1e9));
  EXPECT_THAT(bound.get<std::uint32_t>(1), ElementsAre(0, 1, 1 << 20, 0xff000000));
  EXPECT_THAT(bound.get<std::uint64_t>(2), ElementsAre(1, 0, 0, 1'000'000'000));
}

TEST(NetworkTypes, SelectedBoxesArePaddedWithMinusOnes) {
  const auto scalar = [](const char* name, const char* number) {
    return std::string("initializer { name: \"") + name + "\" data_type: 1 dims: 1 float_data: " + number + " }";
  };
  Bound bound(value("input", "b", onnx_float, {"1", "4", "4"}) + value("input", "s", onnx_float, {"1", "2", "4"}) +
              onnx_ints("n", {1}, {3}) + scalar("o", "0.5") + scalar("t", "0.2") +
              onnx_node("NonMaxSuppression", {"b", "s", "n", "o", "t"}, {"y"}) +
              value("output", "y", onnx_int64, {"chosen", "3"}));
  const std::vector<float> boxes{0, 0, 1, 1, 0, 0, 1, 0.9F, 2, 2, 3, 3, 5, 5, 6, 6};
  bound.set(0, boxes);
  bound.set<float>(1, {0.5F, 0.9F, 0.3F, 0.1F, 0, 0, 0, 0.3F});
  EXPECT_THAT(bound.get<std::int64_t>(), ElementsAre(0, 0, 1, 0, 0, 2, 0, 1, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1));
  bound.set<float>(1, {0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(bound.get<std::int64_t>(), testing::Each(-1));
}

TEST(NetworkTypes, SelectedBoxesReadByOtherNodesAreRejected) {
  EXPECT_TRUE(
      test::fails(parse_onnx(onnx_bytes(value("input", "b", onnx_float, {"1", "4", "4"}) +
                                        value("input", "s", onnx_float, {"1", "2", "4"}) + onnx_ints("n", {1}, {3}) +
                                        onnx_node("NonMaxSuppression", {"b", "s", "n"}, {"c"}) +
                                        onnx_node("Identity", {"c"}, {"y"}) + "output { name: \"y\" }")),
                  Errc::unsupported, "known only at run time"));
}

TEST(NetworkTypes, UnsupportedOrMismatchedTypesAreRejected) {
  struct Case {
    std::string graph, part;
    Errc code = Errc::unsupported;
  };
  const std::string bytes = value("input", "x", onnx_uint8), floats = value("input", "x", onnx_float),
                    y = "output { name: \"y\" }";
  for (const auto& [graph, part, code] :
       {Case{floats + cast("x", "y", 17) + y, "it converts to FLOAT8E4M3FN"},
        {bytes + value("input", "l", onnx_int64) + onnx_node("Concat", {"x", "l"}, {"y"}, onnx_attribute("axis", 0)) +
             y,
         "'x' and 'l' are of types uint8 and int64", Errc::bad_input},
        {floats + onnx_node("Relu", {"x"}, {"y"}) + value("output", "y", onnx_int64),
         "is declared as int64 in the file, but is float32", Errc::bad_input},
        {bytes + onnx_node("Identity", {"x"}, {"y"}) + value("output", "y", onnx_float),
         "is declared as float32 in the file, but is uint8", Errc::bad_input},
        {floats + onnx_node("Relu", {"x"}, {"y"}) + value("output", "y", onnx_bool),
         "is declared as bool in the file, but is float32", Errc::bad_input}})
    EXPECT_TRUE(test::fails(parse_onnx(onnx_bytes(graph)), code, part)) << graph;
}

} // namespace
} // namespace rtexec::tasks
