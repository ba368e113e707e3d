// Tests quantized, integer and boolean tensors against the oracle.
#include "test/tasks/onnx_oracle/cases.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::test {
namespace {

std::string kind_name(Kind kind) {
  constexpr const char* names[] = {"real",  "bool",   "uint8", "int8",   "uint16",
                                   "int16", "uint32", "int32", "uint64", "int64"};
  return names[static_cast<std::size_t>(kind)];
}

/// Returns all values of the 8-bit kinds, and for other kinds a range in which products and sums are exact.
Range values_of(Kind kind) {
  if (kind == Kind::uint8 || kind == Kind::int8) return {limits(kind).low, limits(kind).high};
  return {is_signed(kind) ? -1000.0 : 0.0, 1000};
}
std::string integer(Model& m, const Ints& shape, Kind kind, bool constant = false) {
  return constant ? m.integer_constant(shape, values_of(kind), kind) : m.integer_input(shape, values_of(kind), kind);
}
std::string scalar(Model& m, Index value, Kind kind) { return m.constant(integers_of({}, {value}, kind)); }

/// Powers of two are exact in any division or multiplication.
enum class Scale { power_of_two, any };

std::string scales(Model& m, const Ints& shape, Scale scale, double about) {
  Array all(shape);
  for (Index i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>(scale == Scale::power_of_two
                                    ? std::exp2(std::round(std::log2(about)) - static_cast<double>(i % 3))
                                    : about * (1 + 0.37 * static_cast<double>(i % 5)));
  return m.constant(all);
}
std::string scale_name(Scale scale) { return scale == Scale::power_of_two ? "" : "_any_scale"; }
double tolerance_of(Scale scale, Kind kind) {
  if (scale == Scale::power_of_two) return one_operator;
  return kind == Kind::uint16 || kind == Kind::int16 ? one_unit / 256 : one_unit;
}

/// The granularity of scales: one for all, one per position along an axis, or one per block.
struct Granularity {
  std::string name;
  Ints scales;
  Attributes attributes;
  int opset = 11;
};
const Ints quantized_shape{2, 6, 5, 8};
const std::vector<Granularity> granularities{
    {"tensor", {}, {}, 11},
    {"tensor", {}, {}, 21},
    {"channel", {6}, {{"axis", Index{1}}}, 13},
    {"channel_default", {6}, {}, 13},
    {"last", {8}, {{"axis", Index{-1}}}, 19},
    {"first", {2}, {{"axis", Index{0}}}, 23},
    {"block", {2, 2, 5, 8}, {{"axis", Index{1}}, {"block_size", Index{3}}}, 21},
    {"uneven_block", {2, 6, 2, 8}, {{"axis", Index{2}}, {"block_size", Index{3}}}, 24}};

bool has_kind(Kind kind, int opset) { return kind == Kind::uint8 || kind == Kind::int8 || opset >= 21; }

Cases quantize_cases() {
  Cases cases;
  for (const Granularity& g : granularities)
    for (const Kind kind : {Kind::uint8, Kind::int8, Kind::uint16, Kind::int16}) {
      if (!has_kind(kind, g.opset)) continue;
      const double span = limits(kind).high - limits(kind).low, about = 8 / span;
      for (const Scale scale : {Scale::power_of_two, Scale::any})
        for (const bool zero : {false, true}) {
          const std::string name = g.name + "_" + kind_name(kind) + scale_name(scale) + (zero ? "_zero" : "");
          const auto zeros = [=](Model& m) {
            return zero ? m.integer_constant(g.scales, {limits(kind).low / 4, limits(kind).high / 4}, kind)
                        : m.constant(integers_of(g.scales, Ints(static_cast<std::size_t>(product(g.scales)), 0), kind));
          };
          cases.push_back(make_case(
              "Quantize_" + name, g.opset,
              [=](Model& m) { // some values are out of range
                const std::string x = m.input(quantized_shape, {-6, 6});
                return m.node("QuantizeLinear", {x, scales(m, g.scales, scale, about), zeros(m)}, g.attributes);
              },
              tolerance_of(scale, kind)));
          cases.push_back(make_case("Dequantize_" + name, g.opset, [=](Model& m) {
            const std::string x = m.integer_input(quantized_shape, {limits(kind).low, limits(kind).high}, kind);
            return m.node("DequantizeLinear", {x, scales(m, g.scales, scale, about), zeros(m)}, g.attributes);
          }));
          cases.push_back(make_case(
              "Both_" + name, g.opset,
              [=](Model& m) {
                const std::string x = m.input(quantized_shape, {-6, 6}), by = scales(m, g.scales, scale, about),
                                  from = zeros(m);
                const std::string quantized = m.node("QuantizeLinear", {x, by, from}, g.attributes);
                return m.node("DequantizeLinear", {quantized, by, from}, g.attributes);
              },
              tolerance_of(scale, kind)));
        }
    }
  cases.push_back(make_case("Quantize_without_zero_point", 13, [](Model& m) {
    return m.node("QuantizeLinear", {m.input({3, 7}, {-1, 6}), m.floats({}, {0.03125F})});
  }));
  cases.push_back(make_case("Quantize_ties", 13, [](Model& m) {
    const std::string x = m.input(vector_of({0.5, 1.5, 2.5, -0.5, -1.5, 300, -300, 127.5, 254.5}));
    return m.node("QuantizeLinear", {x, m.floats({}, {1}), scalar(m, 3, Kind::uint8)});
  }));
  cases.push_back(make_case("Quantize_output_dtype", 21, [](Model& m) {
    return m.node("QuantizeLinear", {m.input({3, 7}, {-6, 6}), m.floats({}, {0.0625F})}, {{"output_dtype", Index{3}}});
  }));
  cases.push_back(make_case("Dequantize_int32", 13, [](Model& m) {
    return m.node("DequantizeLinear",
                  {m.integer_input({3, 7}, {-100000, 100000}, Kind::int32), m.floats({}, {0.001F})});
  }));
  for (const Range range : {Range{-3, 5}, Range{1, 5}, Range{-5, -1}})
    for (const Ints& shape : {Ints{33}, Ints{2, 3, 5}})
      cases.push_back(make_case(
          "Dynamic_" + shape_name(shape) + list_name({std::lround(range.low), std::lround(range.high)}), 11,
          [=](Model& m) {
            const Names all = m.nodes("DynamicQuantizeLinear", {m.input(shape, range)}, 3);
            const std::string back = m.node("DequantizeLinear", {all[0], all[1], all[2]});
            return Names{all[0], all[1], all[2], back};
          },
          one_unit));
  return cases;
}

/// Returns networks with the nodes that quantizers write around every operator.
Cases quantized_network_cases() {
  Cases cases;
  const auto through = [](Model& m, const std::string& x, double about, Kind kind, Index zero) {
    const std::string scale = m.floats({}, {static_cast<float>(about)}), from = scalar(m, zero, kind);
    return m.node("DequantizeLinear", {m.node("QuantizeLinear", {x, scale, from}), scale, from});
  };
  const auto weights = [](Model& m, const Ints& shape, Index axis) {
    const Ints channels{shape[static_cast<std::size_t>(axis)]};
    const std::string scale = scales(m, channels, Scale::any, 0.004);
    return m.node("DequantizeLinear",
                  {m.integer_constant(shape, {-127, 127}, Kind::int8), scale,
                   m.constant(integers_of(channels, Ints(static_cast<std::size_t>(channels[0]), 0), Kind::int8))},
                  {{"axis", axis}});
  };
  for (const int opset : {13, 21})
    for (const Kind kind : {Kind::uint8, Kind::int8}) {
      const Index zero = kind == Kind::uint8 ? 128 : 0;
      cases.push_back(make_case(
          "Conv_" + kind_name(kind), opset,
          [=](Model& m) {
            const std::string x = through(m, m.input({1, 5, 9, 8}), 0.01, kind, zero);
            const std::string y =
                m.node("Conv", {x, weights(m, {7, 5, 3, 3}, 0), m.constant({7})}, {{"pads", Ints{1, 1, 1, 1}}});
            return through(m, m.node("Relu", {y}), 0.03, kind, kind == Kind::uint8 ? 0 : -128);
          },
          one_unit));
      cases.push_back(make_case(
          "MatMul_" + kind_name(kind), opset,
          [=](Model& m) {
            const std::string x = through(m, m.input({2, 9, 16}), 0.01, kind, zero);
            return through(m, m.node("MatMul", {x, weights(m, {16, 12}, 1)}), 0.03, kind, zero);
          },
          one_unit));
      cases.push_back(make_case(
          "Add_" + kind_name(kind), opset,
          [=](Model& m) {
            const std::string a = through(m, m.input({1, 5, 9, 8}), 0.01, kind, zero);
            const std::string b = through(m, m.input({1, 5, 9, 8}), 0.008, kind, zero);
            return through(m, m.node("Add", {a, b}), 0.013, kind, zero);
          },
          one_unit));
    }
  return cases;
}

struct Window {
  Ints spatial, kernel, strides, dilations, pads;
  Index channels = 6, filters = 8, groups = 1;

  [[nodiscard]] Ints input() const {
    Ints shape{2, channels};
    shape.insert(shape.end(), spatial.begin(), spatial.end());
    return shape;
  }
  [[nodiscard]] Ints weights() const {
    Ints shape{filters, channels / groups};
    shape.insert(shape.end(), kernel.begin(), kernel.end());
    return shape;
  }
  [[nodiscard]] Attributes attributes() const {
    return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", groups}};
  }
  [[nodiscard]] std::string text() const {
    return shape_name(spatial) + "_k" + to_text(kernel) + "_p" + to_text(pads) + "_g" + std::to_string(groups);
  }
};
const std::vector<Window> windows{{{9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                                  {{9, 8}, {3, 3}, {2, 1}, {1, 2}, {0, 2, 1, 2}},
                                  {{7, 7}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 33, 31},
                                  {{9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, 6, 6, 6},
                                  {{5, 6}, {2, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 6, 9, 3},
                                  {{17}, {3}, {2}, {1}, {1, 1}},
                                  {{4, 5, 6}, {2, 3, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0, 0, 1, 1}}};

const std::vector<std::pair<Kind, Kind>> operand_kinds{
    {Kind::uint8, Kind::uint8}, {Kind::uint8, Kind::int8}, {Kind::int8, Kind::int8}};

Cases conv_cases() {
  Cases cases;
  for (const Window& w : windows)
    for (const auto& [x_kind, w_kind] : operand_kinds)
      for (const bool of_channel : {false, true})
        for (const bool bias : {false, true})
          for (const Scale scale : {Scale::power_of_two, Scale::any})
            cases.push_back(make_case(
                "QLinearConv_" + w.text() + "_" + kind_name(x_kind) + "_" + kind_name(w_kind) +
                    (of_channel ? "_channel" : "") + (bias ? "_bias" : "") + scale_name(scale),
                11,
                [=, x_kind = x_kind, w_kind = w_kind](Model& m) {
                  const Ints channels = of_channel ? Ints{w.filters} : Ints{};
                  const double terms = static_cast<double>(product(w.weights()) / w.filters);
                  const Index middle = x_kind == Kind::uint8 ? 121 : -3;
                  Names from{integer(m, w.input(), x_kind), scales(m, {}, scale, 0.02), scalar(m, middle, x_kind),
                             integer(m, w.weights(), w_kind, true), scales(m, channels, scale, 0.01)};
                  from.push_back(w_kind == Kind::uint8
                                     ? m.integer_constant(channels, {110, 140}, w_kind)
                                     : m.constant(integers_of(
                                           channels, Ints(static_cast<std::size_t>(product(channels)), 0), w_kind)));
                  from.push_back(scales(m, {}, scale, 0.02 * 0.01 * 60 * std::sqrt(terms)));
                  from.push_back(scalar(m, middle, x_kind));
                  if (bias) from.push_back(m.integer_constant({w.filters}, {-9000, 9000}, Kind::int32));
                  return m.node("QLinearConv", from, w.attributes());
                },
                tolerance_of(scale, Kind::uint8)));
  for (const Window& w : windows)
    for (const auto& [x_kind, w_kind] : operand_kinds)
      for (const std::string zeros : {"none", "x", "both"})
        cases.push_back(
            make_case("ConvInteger_" + w.text() + "_" + kind_name(x_kind) + "_" + kind_name(w_kind) + "_zero_" + zeros,
                      11, [=, x_kind = x_kind, w_kind = w_kind](Model& m) {
                        Names from{integer(m, w.input(), x_kind), integer(m, w.weights(), w_kind, true)};
                        if (zeros != "none") from.push_back(scalar(m, x_kind == Kind::uint8 ? 117 : 4, x_kind));
                        if (zeros == "both") from.push_back(scalar(m, w_kind == Kind::uint8 ? 130 : 0, w_kind));
                        return m.node("ConvInteger", from, w.attributes());
                      }));
  return cases;
}

const std::vector<std::pair<Ints, Ints>> matrices{{{3, 5}, {5, 7}},     {{1, 33}, {33, 1}},
                                                  {{17, 64}, {64, 31}}, {{2, 3, 5}, {2, 5, 7}},
                                                  {{2, 3, 5}, {5, 7}},  {{1, 2, 4, 9}, {1, 2, 9, 3}}};

Cases matmul_cases() {
  Cases cases;
  for (const auto& [a, b] : matrices)
    for (const auto& [a_kind, b_kind] : operand_kinds)
      for (const bool constant : {false, true}) {
        const std::string name = shape_name(a) + "_by_" + shape_name(b) + "_" + kind_name(a_kind) + "_" +
                                 kind_name(b_kind) + (constant ? "_constant" : "");
        for (const std::string zeros : {"none", "a", "both"})
          cases.push_back(make_case("MatMulInteger_" + name + "_zero_" + zeros, 11,
                                    [=, a = a, b = b, a_kind = a_kind, b_kind = b_kind](Model& m) {
                                      Names from{integer(m, a, a_kind), integer(m, b, b_kind, constant)};
                                      if (zeros != "none") from.push_back(scalar(m, 12, a_kind));
                                      if (zeros == "both")
                                        from.push_back(scalar(m, -3 + (b_kind == Kind::uint8 ? 100 : 0), b_kind));
                                      return m.node("MatMulInteger", from);
                                    }));
        for (const int opset : {11, 21})
          for (const Scale scale : {Scale::power_of_two, Scale::any})
            cases.push_back(make_case(
                "QLinearMatMul_" + name + scale_name(scale), opset,
                [=, a = a, b = b, a_kind = a_kind, b_kind = b_kind](Model& m) {
                  const Index a_zero = a_kind == Kind::uint8 ? 121 : -3, b_zero = b_kind == Kind::uint8 ? 130 : 2;
                  const double out = 0.02 * 0.01 * 60 * 60 * std::sqrt(static_cast<double>(a.back())) / 60;
                  return m.node("QLinearMatMul",
                                {integer(m, a, a_kind), scales(m, {}, scale, 0.02), scalar(m, a_zero, a_kind),
                                 integer(m, b, b_kind, constant), scales(m, {}, scale, 0.01), scalar(m, b_zero, b_kind),
                                 scales(m, {}, scale, out), scalar(m, a_zero, a_kind)});
                },
                tolerance_of(scale, Kind::uint8)));
      }
  for (const auto& [a_kind, b_kind] : operand_kinds) { // one for each row, and one for each column
    cases.push_back(make_case("MatMulInteger_columns_" + kind_name(a_kind) + "_" + kind_name(b_kind), 11,
                              [=, a_kind = a_kind, b_kind = b_kind](Model& m) {
                                return m.node("MatMulInteger",
                                              {integer(m, {4, 9}, a_kind), integer(m, {9, 6}, b_kind, true),
                                               scalar(m, 12, a_kind), m.integer_constant({6}, {0, 100}, b_kind)});
                              }));
    cases.push_back(make_case("QLinearMatMul_columns_" + kind_name(a_kind) + "_" + kind_name(b_kind), 11,
                              [=, a_kind = a_kind, b_kind = b_kind](Model& m) {
                                return m.node("QLinearMatMul",
                                              {integer(m, {4, 9}, a_kind), scales(m, {}, Scale::power_of_two, 0.02),
                                               scalar(m, 12, a_kind), integer(m, {9, 6}, b_kind, true),
                                               scales(m, {6}, Scale::power_of_two, 0.01),
                                               m.integer_constant({6}, {0, 100}, b_kind),
                                               scales(m, {}, Scale::power_of_two, 0.04), scalar(m, 12, a_kind)});
                              }));
  }
  return cases;
}

const std::vector<std::pair<Ints, Ints>> pairs{
    {{2, 3, 5}, {2, 3, 5}}, {{2, 3, 5}, {5}}, {{3, 1}, {1, 33}}, {{}, {7}}, {{31}, {}}, {{2, 1, 4, 1}, {3, 1, 5}}};

/// Adds a tensor, its scale and its zero point.
void add_quantised(Model& m, Names& to, const Ints& shape, Kind kind, double scale, bool constant = false) {
  to.push_back(integer(m, shape, kind, constant));
  to.push_back(scales(m, {}, Scale::power_of_two, scale));
  to.push_back(scalar(m, kind == Kind::uint8 ? 121 : -3, kind));
}
void add_scale(Model& m, Names& to, Kind kind, double scale) {
  to.push_back(scales(m, {}, Scale::power_of_two, scale));
  to.push_back(scalar(m, kind == Kind::uint8 ? 130 : 2, kind));
}

/// Returns operators of onnxruntime's quantizer.
Cases microsoft_cases() {
  Cases cases;
  for (const Kind kind : {Kind::uint8, Kind::int8}) {
    const auto add = [&](const std::string& name, auto make, double tolerance = one_operator) {
      cases.push_back(make_case(name + "_" + kind_name(kind), 13, make, tolerance));
    };
    for (const auto& [a, b] : pairs)
      for (const std::string type : {"QLinearAdd", "QLinearMul"})
        add(type + "_" + shape_name(a) + "_with_" + shape_name(b), [=, a = a, b = b](Model& m) {
          Names from;
          add_quantised(m, from, a, kind, 0.02);
          add_quantised(m, from, b, kind, 0.01);
          add_scale(m, from, kind, 0.03);
          return m.node("com.microsoft." + type, from);
        });
    add("QLinearAdd_zeros_at_zero", [=](Model& m) {
      const auto scale = [&](double about) { return scales(m, {}, Scale::power_of_two, about); };
      return m.node("com.microsoft.QLinearAdd",
                    {integer(m, {2, 9}, kind), scale(0.02), "", integer(m, {9}, kind), scale(0.01), "", scale(0.03)});
    });
    for (const std::string type : {"QLinearSigmoid", "QLinearLeakyRelu"})
      add(
          type,
          [=](Model& m) {
            Names from;
            add_quantised(m, from, {2, 3, 7}, kind, 0.03);
            add_scale(m, from, kind, type == "QLinearSigmoid" ? 0.004 : 0.03);
            return m.node("com.microsoft." + type, from);
          },
          one_unit);
    for (const Ints& shape : {Ints{2, 5, 8, 8}, Ints{1, 3, 4}})
      add("QLinearGlobalAveragePool_" + shape_name(shape), [=](Model& m) {
        Names from;
        add_quantised(m, from, shape, kind, 0.02);
        add_scale(m, from, kind, 0.01);
        return m.node("com.microsoft.QLinearGlobalAveragePool", from);
      });
    for (const Index axis : {1, -1})
      add("QLinearConcat" + list_name({axis}), [=](Model& m) {
        Names from;
        add_scale(m, from, kind, 0.03);
        for (const Index size : {3, 4, 8})
          add_quantised(m, from, axis == 1 ? Ints{2, size, 5} : Ints{2, 5, size}, kind,
                        0.003 * static_cast<double>(size));
        return m.node("com.microsoft.QLinearConcat", from, {{"axis", axis}});
      });
    for (const Index swap : {0, 1})
      for (const std::string more : {"", "_bias", "_float"})
        add("QGemm" + list_name({swap}) + more, [=](Model& m) {
          Names from;
          add_quantised(m, from, swap == 1 ? Ints{33, 4} : Ints{4, 33}, kind, 0.02);
          add_quantised(m, from, swap == 1 ? Ints{6, 33} : Ints{33, 6}, Kind::int8, 0.01, true);
          from.push_back(more == "_bias" ? m.integer_constant({6}, {-9000, 9000}, Kind::int32) : "");
          if (more != "_float") add_scale(m, from, kind, 0.06);
          return m.node("com.microsoft.QGemm", from, {{"transA", swap}, {"transB", swap}});
        });
  }
  return cases;
}

Cases arithmetic_cases() {
  Cases cases;
  for (const Kind kind : {Kind::int32, Kind::int64, Kind::uint8, Kind::int8})
    for (const auto& [a, b] : pairs) {
      const std::string name = kind_name(kind) + "_" + shape_name(a) + "_with_" + shape_name(b);
      const bool small = kind == Kind::uint8 || kind == Kind::int8; // arithmetic of these exists from opset 14 on
      for (const std::string type : {"Add", "Sub", "Mul", "Min", "Max"})
        cases.push_back(make_case(type + "_" + name, small ? 14 : 13, [=, a = a, b = b](Model& m) {
          const Range range = small ? Range{0, 11} : values_of(kind);
          const std::string low = m.integer_input(b, range, kind);
          const bool difference = kind == Kind::uint8 && type == "Sub"; // must remain positive
          const std::string high = m.integer_input(a, difference ? Range{11, 99} : range, kind);
          return m.node(type, {high, low});
        }));
      const auto divisor = [](Model& m, const Ints& shape, Kind of) {
        Array all = integers_of(shape, Ints(static_cast<std::size_t>(product(shape)), 0), of);
        for (Index i = 0; i < all.size(); ++i)
          all[i] = static_cast<double>((1 + i % 9) * (is_signed(of) && i % 2 == 1 ? -1 : 1));
        return m.input(all);
      };
      cases.push_back(make_case("Div_" + name, small ? 14 : 13, [=, a = a, b = b](Model& m) {
        return m.node("Div", {integer(m, a, kind), divisor(m, b, kind)});
      }));
      for (const Index fmod : {0, 1})
        cases.push_back(make_case("Mod" + std::to_string(fmod) + "_" + name, 13, [=, a = a, b = b](Model& m) {
          return m.node("Mod", {integer(m, a, kind), divisor(m, b, kind)}, {{"fmod", fmod}});
        }));
      for (const std::string type : {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"})
        cases.push_back(make_case(type + "_" + name, 16, [=, a = a, b = b](Model& m) {
          return m.node(type, {m.integer_input(a, {0, 4}, kind), m.integer_input(b, {0, 4}, kind)});
        }));
      cases.push_back(make_case("Where_" + name, 16, [=, a = a, b = b](Model& m) {
        return m.node("Where", {m.bool_input(a), integer(m, a, kind), integer(m, b, kind)});
      }));
    }
  for (const Kind kind : {Kind::int32, Kind::int64, Kind::int8})
    for (const std::string type : {"Abs", "Neg", "Sign"})
      cases.push_back(make_case(type + "_" + kind_name(kind), 13, [=](Model& m) {
        return m.node(type, {m.integer_input({3, 11}, {-120, 120}, kind)});
      }));
  for (const Kind kind : {Kind::int32, Kind::int64})
    for (const bool floats : {false, true})
      cases.push_back(
          make_case(std::string("Pow_") + kind_name(kind) + (floats ? "_by_floats" : ""), 15, [=](Model& m) {
            const std::string x = m.integer_input({3, 11}, {-9, 9}, kind);
            return m.node("Pow", {x, floats ? m.floats({}, {2}) : scalar(m, 3, kind)});
          }));
  for (const std::string type : {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceL1"})
    for (const Kind kind : {Kind::int32, Kind::int64}) {
      if (type == "ReduceMean" && kind == Kind::int64) continue;
      cases.push_back(make_case(type + "_" + kind_name(kind), 18, [=](Model& m) {
        const bool mean = type == "ReduceMean";
        const std::string x =
            mean ? m.constant(integers_of({2, 2}, {2, 4, -6, 8}, kind)) : m.integer_input({2, 5, 3}, {-5, 5}, kind);
        const std::string y = mean ? m.node("Add", {x, m.input(integers_of({1}, {2}, kind))}) : x;
        return m.node(type, {y, m.integers({1})});
      }));
    }
  return cases;
}

Cases cast_cases() {
  Cases cases;
  const Kind kinds[] = {Kind::real, Kind::boolean, Kind::uint8, Kind::int8, Kind::int32, Kind::int64};
  for (const int opset : {11, 13, 21})
    for (const Kind from : kinds)
      for (const Kind to : kinds) // values that both can hold
        cases.push_back(make_case(kind_name(from) + "_to_" + kind_name(to), opset, [=](Model& m) {
          const Range range{std::max({-100.0, limits(from).low, limits(to).low}), std::min(100.0, limits(from).high)};
          const std::string x = from == Kind::real ? m.input({3, 11}, range) : m.integer_input({3, 11}, range, from);
          return m.node("Cast", {x}, {{"to", data_type_of(to)}});
        }));
  return cases;
}

/// Returns cases of operators that move elements; these support any kind.
Cases move_cases() {
  Cases cases;
  for (const Kind kind : {Kind::boolean, Kind::uint8, Kind::int8, Kind::int32, Kind::int64}) {
    const auto add = [&](const std::string& name, auto make) {
      cases.push_back(make_case(name + "_" + kind_name(kind), 16, [=](Model& m) {
        return make(m, m.integer_input({2, 3, 4}, kind == Kind::boolean ? Range{0, 1} : values_of(kind), kind));
      }));
    };
    using X = const std::string&;
    add("Reshape", [](Model& m, X x) { return m.node("Reshape", {x, m.integers({4, -1})}); });
    add("Transpose", [](Model& m, X x) { return m.node("Transpose", {x}, {{"perm", Ints{2, 0, 1}}}); });
    add("Concat", [](Model& m, X x) { return m.node("Concat", {x, x}, {{"axis", Index{1}}}); });
    add("Slice", [](Model& m, X x) { return m.node("Slice", {x, m.integers({1}), m.integers({3}), m.integers({2})}); });
    add("Gather", [](Model& m, X x) { return m.node("Gather", {x, m.integers({2, 0, -1})}, {{"axis", Index{1}}}); });
    add("Expand", [](Model& m, X x) { return m.node("Expand", {x, m.integers({2, 2, 3, 4})}); });
    add("Tile", [](Model& m, X x) { return m.node("Tile", {x, m.integers({1, 2, 3})}); });
    add("Unsqueeze", [](Model& m, X x) { return m.node("Unsqueeze", {x, m.integers({1})}); });
    add("Split", [](Model& m, X x) { return m.nodes("Split", {x}, 2, {{"axis", Index{2}}}); });
    add("Identity", [](Model& m, X x) { return m.node("Identity", {x}); });
    add("Pad", [](Model& m, X x) { return m.node("Pad", {x, m.integers({0, 1, 2, 0, 0, 1})}); });
    add("Trilu", [](Model& m, X x) { return m.node("Trilu", {x}); });
  }
  for (const Kind kind : {Kind::uint8, Kind::int8})
    cases.push_back(make_case("MaxPool_" + kind_name(kind), 12, [=](Model& m) {
      return m.node("MaxPool", {integer(m, {1, 3, 9, 8}, kind)},
                    {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 0, 1, 1}}});
    }));
  for (const Kind kind : {Kind::int32, Kind::int64}) {
    cases.push_back(make_case("TopK_" + kind_name(kind), 11, [=](Model& m) {
      return m.nodes("TopK", {integer(m, {3, 9}, kind), m.integers({4})}, 2);
    }));
    cases.push_back(make_case("ArgMax_" + kind_name(kind), 13, [=](Model& m) {
      return m.node("ArgMax", {integer(m, {3, 9}, kind)}, {{"axis", Index{1}}});
    }));
    cases.push_back(make_case("CumSum_" + kind_name(kind), 14, [=](Model& m) {
      return m.node("CumSum", {integer(m, {3, 9}, kind), m.integer(1)});
    }));
    cases.push_back(make_case("Clip_" + kind_name(kind), 13, [=](Model& m) {
      return m.node("Clip", {integer(m, {3, 9}, kind), scalar(m, -100, kind), scalar(m, 333, kind)});
    }));
    cases.push_back(make_case("ScatterND_add_" + kind_name(kind), 16, [=](Model& m) {
      return m.node("ScatterND",
                    {integer(m, {5}, kind), m.constant(integers_of({3, 1}, {0, 4, 0})), integer(m, {3}, kind)},
                    {{"reduction", "add"}});
    }));
    cases.push_back(make_case("MatMul_" + kind_name(kind), 13, [=](Model& m) {
      return m.node("MatMul", {integer(m, {3, 5}, kind), integer(m, {5, 4}, kind)});
    }));
    cases.push_back(make_case("Range_" + kind_name(kind), 11, [=](Model& m) {
      const std::string all = m.node("Range", {scalar(m, 10, kind), scalar(m, 4, kind), scalar(m, -2, kind)});
      return m.node("Add", {all, m.integer_input({1}, {0, 9}, kind)});
    }));
    cases.push_back(make_case("OneHot_" + kind_name(kind), 11, [=](Model& m) {
      return m.node("OneHot",
                    {m.integer_input({4}, {0, 5}, kind), m.integer(6), m.constant(integers_of({2}, {2, 7}, kind))});
    }));
  }
  return cases;
}

Cases boolean_cases() {
  Cases cases;
  for (const std::string type : {"And", "Or", "Xor", "Equal"})
    for (const auto& [a, b] : pairs)
      cases.push_back(make_case(type + "_" + shape_name(a) + "_with_" + shape_name(b), 13, [=, a = a, b = b](Model& m) {
        return m.node(type, {m.bool_input(a), m.bool_input(b)});
      }));
  for (const Ints& shape : {Ints{}, Ints{33}, Ints{2, 3, 5}})
    cases.push_back(
        make_case("Not_" + shape_name(shape), 11, [=](Model& m) { return m.node("Not", {m.bool_input(shape)}); }));
  for (const std::string type : {"ReduceMax", "ReduceMin"}) // any and all
    cases.push_back(make_case(type, 20, [=](Model& m) {
      return m.node(type, {m.bool_input({5, 3}), m.integers({1})});
    }));
  cases.push_back(make_case("Where", 16, [](Model& m) {
    return m.node("Where", {m.bool_input({3, 5}), m.bool_input({3, 5}), m.bool_input({5})});
  }));
  cases.push_back(make_case("Comparison_as_output", 16, [](Model& m) {
    return m.node("Greater", {m.input({3, 5}), m.input({5})});
  }));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Quantize, OnnxOperator, testing::ValuesIn(covering(quantize_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(QuantizedNetwork, OnnxOperator, testing::ValuesIn(covering(quantized_network_cases())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(IntegerConv, OnnxOperator, testing::ValuesIn(covering(conv_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(IntegerMatMul, OnnxOperator, testing::ValuesIn(covering(matmul_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Microsoft, OnnxOperator, testing::ValuesIn(covering(microsoft_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(IntegerArithmetic, OnnxOperator, testing::ValuesIn(covering(arithmetic_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(CastKinds, OnnxOperator, testing::ValuesIn(covering(cast_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(MoveKinds, OnnxOperator, testing::ValuesIn(covering(move_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Boolean, OnnxOperator, testing::ValuesIn(covering(boolean_cases())), name_of);

} // namespace
} // namespace rtexec::test
