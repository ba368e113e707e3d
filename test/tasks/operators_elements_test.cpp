// Tests element-wise operators against the oracle.
#include "test/tasks/onnx_oracle/cases.hpp"

#include <cmath>
#include <limits>

namespace rtexec::test {
namespace {

const std::vector<Ints> shapes{{}, {1}, {31}, {33}, {3, 11}, {1, 3, 7, 5}, {2, 16, 8, 9}, {1, 1031}, {2, 3, 2, 3, 2}};

Cases function_cases() {
  struct Kind {
    std::string name, type;
    Attributes attributes;
    Range range;
    std::vector<int> opsets;
  };
  const std::vector<Kind> kinds{{"Sin", "Sin", {}, {-7, 7}, {11, 22}},
                                {"Cos", "Cos", {}, {-7, 7}, {11, 22}},
                                {"Tan", "Tan", {}, {-1.3, 1.3}, {11, 22}},
                                {"Asin", "Asin", {}, {-1, 1}, {11, 22}},
                                {"Acos", "Acos", {}, {-1, 1}, {11, 22}},
                                {"Atan", "Atan", {}, {-9, 9}, {11, 22}},
                                {"Sinh", "Sinh", {}, {-4, 4}, {11, 22}},
                                {"Cosh", "Cosh", {}, {-4, 4}, {11, 22}},
                                {"Asinh", "Asinh", {}, {-9, 9}, {11, 22}},
                                {"Acosh", "Acosh", {}, {1.01, 9}, {11, 22}},
                                {"Atanh", "Atanh", {}, {-0.95, 0.95}, {11, 22}},
                                {"Exp", "Exp", {}, {-5, 5}, {11, 13}},
                                {"Log", "Log", {}, {1e-3, 9}, {11, 13}},
                                {"Log_small", "Log", {}, {1e-30, 1e-20}, {13}},
                                {"Sqrt", "Sqrt", {}, {0, 9}, {11, 13}},
                                {"Neg", "Neg", {}, {-3, 3}, {11, 13}},
                                {"Abs", "Abs", {}, {-3, 3}, {11, 13}},
                                {"Reciprocal", "Reciprocal", {}, {0.2, 5}, {11, 13}},
                                {"Sign", "Sign", {}, {-3, 3}, {11, 13}},
                                {"Floor", "Floor", {}, {-9, 9}, {11, 13}},
                                {"Ceil", "Ceil", {}, {-9, 9}, {11, 13}},
                                {"Round", "Round", {}, {-9, 9}, {11, 22}},
                                {"Erf", "Erf", {}, {-3, 3}, {11, 13}},
                                {"Erf_small", "Erf", {}, {-1e-3, 1e-3}, {13}},
                                {"Gelu", "Gelu", {}, {-5, 5}, {20, 24}},
                                {"Gelu_none", "Gelu", {{"approximate", "none"}}, {-5, 5}, {20}},
                                {"Gelu_tanh", "Gelu", {{"approximate", "tanh"}}, {-5, 5}, {20, 24}},
                                {"Elu", "Elu", {}, {-4, 4}, {11, 22}},
                                {"Elu_alpha", "Elu", {{"alpha", 1.7F}}, {-4, 4}, {11, 22}},
                                {"Selu", "Selu", {}, {-4, 4}, {11, 22}},
                                {"Selu_both", "Selu", {{"alpha", 2.0F}, {"gamma", 0.5F}}, {-4, 4}, {11, 22}},
                                {"Celu", "Celu", {}, {-4, 4}, {12}},
                                {"Celu_alpha", "Celu", {{"alpha", 2.5F}}, {-4, 4}, {12}},
                                {"Softplus", "Softplus", {}, {-5, 5}, {11, 22}},
                                {"Softplus_far", "Softplus", {}, {-120, 120}, {11, 22}},
                                {"Softsign", "Softsign", {}, {-5, 5}, {11, 22}},
                                {"Mish", "Mish", {}, {-5, 5}, {18, 22}},
                                {"Mish_far", "Mish", {}, {-120, 120}, {18}},
                                {"Swish", "Swish", {}, {-5, 5}, {24}},
                                {"Swish_alpha", "Swish", {{"alpha", 1.702F}}, {-5, 5}, {24}},
                                {"HardSwish", "HardSwish", {}, {-5, 5}, {14, 22}},
                                {"HardSigmoid", "HardSigmoid", {}, {-5, 5}, {11, 22}},
                                {"ThresholdedRelu", "ThresholdedRelu", {}, {-3, 3}, {11, 22}},
                                {"ThresholdedRelu_alpha", "ThresholdedRelu", {{"alpha", -0.5F}}, {-3, 3}, {11, 22}},
                                {"Shrink", "Shrink", {}, {-2, 2}, {11}},
                                {"Shrink_soft", "Shrink", {{"bias", 0.5F}}, {-2, 2}, {11}},
                                {"Shrink_both", "Shrink", {{"bias", 0.3F}, {"lambd", 0.8F}}, {-2, 2}, {11}}};
  Cases cases;
  for (const Kind& kind : kinds)
    for (const int opset : kind.opsets)
      for (const Ints& shape : shapes) {
        // The error of a single element is relative to itself, so its inputs must not cancel out.
        const Range range = product(shape) == 1 ? Range{kind.range.high / 2, kind.range.high} : kind.range;
        cases.push_back(
            of_one_input(kind.name + "_" + shape_name(shape), opset, kind.type, shape, kind.attributes, range));
      }
  return cases;
}

/// Returns cases with values at which a rounding, a sign or a threshold changes.
Cases edge_cases() {
  Cases cases;
  const std::vector<double> edges{-3.5, -2.5, -2, -1.5, -1, -0.75, -0.5, -0.25, -0.0, 0,   0.25,
                                  0.5,  0.75, 1,  1.5,  2,  2.5,   3.5,  7,     8.5,  9.5, 9};
  for (const std::string type : {"Round", "Floor", "Ceil", "Sign", "Abs", "Neg", "Shrink", "ThresholdedRelu", "Elu",
                                 "Celu", "Selu", "Softsign", "Relu", "LeakyRelu"})
    cases.push_back(make_case(type, 13, [=](Model& m) { return m.node(type, {m.input(vector_of(edges))}); }));
  // as in the normalisation of a vector
  cases.push_back(make_case("Clip_below_what_half_precision_has", 13, [](Model& m) {
    const std::string zeros = m.input({3, 5}, {0, 0});
    return m.node("Div", {zeros, m.node("Clip", {zeros, m.floats({}, {1e-12})})});
  }));
  cases.push_back(make_case("Clip_min_above_max", 13, [](Model& m) {
    return m.node("Clip", {m.input({3, 5}, {-3, 3}), m.floats({}, {2}), m.floats({}, {-1})});
  }));
  return cases;
}

/// Returns the inverse of the sigmoid as exporters write it: of a clipped value, with or without bounds of numerator
/// and denominator.
Cases logit_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, float least, const auto& denominator) {
    cases.push_back(make_case(name, 17, [=](Model& m) {
      const auto number = [&](float value) { return m.floats({}, {value}); };
      const std::string x = m.input({2, 3, 7}, {-0.3, 1.3});
      const std::string p = m.node("Clip", {x, number(least), number(1 - least)});
      const auto bounded = [&](const std::string& value, float bound) {
        return m.node("Clip", {value, number(bound)});
      };
      return denominator(m, p, m.node("Sub", {number(1), p}), bounded);
    }));
  };
  add("of_what_is_bounded", 1e-3F, [](Model& m, const auto& p, const auto& rest, const auto&) {
    return m.node("Log", {m.node("Div", {p, rest})});
  });
  for (const bool same : {true, false}) // another bound gives another function
    add(same ? "of_parts_with_one_bound" : "of_parts_with_two_bounds", 0,
        [=](Model& m, const auto& p, const auto& rest, const auto& bounded) {
          return m.node("Log", {m.node("Div", {bounded(p, 1e-2F), bounded(rest, same ? 1e-2F : 2e-2F)})});
        });
  add("of_what_is_read_elsewhere", 0.1F, [](Model& m, const auto& p, const auto& rest, const auto&) {
    const std::string quotient = m.node("Div", {p, rest});
    return Names{quotient, m.node("Log", {quotient}), m.node("Relu", {rest})};
  });
  return cases;
}

/// Returns cases with NaN and infinities.
Cases special_cases() {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> values{0, 1, -1, infinite, -infinite, std::nan(""), 3e38, -3e38, 1e-40, 2, -2};
  Cases cases;
  const auto add = [&](const std::string& name, const std::string& type, int opset, const Attributes& attributes) {
    cases.push_back(make_case(name, opset, [=](Model& m) {
      const std::string found = m.node(type, {m.input(vector_of(values))}, attributes);
      return m.node("Cast", {found}, {{"to", as_float}});
    }));
    cases.push_back(make_case(name + "_chooses", opset, [=](Model& m) {
      const std::string found = m.node(type, {m.input(vector_of(values))}, attributes);
      return m.node("Where", {found, m.constant({11}), m.constant({1})});
    }));
  };
  for (const int opset : {11, 13, 20}) {
    add("IsNaN", "IsNaN", opset, {});
    add("IsInf", "IsInf", opset, {});
    add("IsInf_positive", "IsInf", opset, {{"detect_negative", Index{0}}});
    add("IsInf_negative", "IsInf", opset, {{"detect_positive", Index{0}}});
    add("IsInf_neither", "IsInf", opset, {{"detect_positive", Index{0}}, {"detect_negative", Index{0}}});
  }
  return cases;
}

const std::vector<std::pair<Ints, Ints>> pairs{{{1, 3, 5, 7}, {1, 3, 5, 7}},
                                               {{2, 16, 8, 8}, {2, 16, 8, 8}},
                                               {{1, 3, 5, 7}, {1, 3, 1, 1}},
                                               {{1, 3, 1, 1}, {1, 3, 5, 7}},
                                               {{1, 3, 5, 7}, {3, 1, 1}},
                                               {{7}, {1, 3, 5, 7}},
                                               {{1, 3, 5, 7}, {}},
                                               {{}, {3, 5}},
                                               {{}, {}},
                                               {{2, 1, 5, 1}, {1, 3, 1, 7}},
                                               {{4, 1}, {1, 9}},
                                               {{1, 1, 33}, {31, 1}},
                                               {{5, 1, 4, 1, 3}, {2, 1, 6, 1}},
                                               {{2, 2, 2, 2, 3, 1}, {2, 1, 5}}};

Cases binary_cases() {
  struct Kind {
    std::string name, type;
    Attributes attributes;
    Range range;
    std::vector<int> opsets;
  };
  const std::vector<Kind> kinds{
      {"Add", "Add", {}, {-2, 2}, {11, 14}},        {"Sub", "Sub", {}, {-2, 2}, {11, 14}},
      {"Mul", "Mul", {}, {-2, 2}, {11, 14}},        {"Div", "Div", {}, {0.5, 2}, {11, 14}},
      {"Pow", "Pow", {}, {0.3, 2.5}, {11, 12, 15}}, {"Mod", "Mod", {{"fmod", Index{1}}}, {0.7, 5}, {11, 13}},
      {"Min", "Min", {}, {-2, 2}, {11, 13}},        {"Max", "Max", {}, {-2, 2}, {11, 13}},
      {"Sum", "Sum", {}, {-2, 2}, {11, 13}},        {"Mean", "Mean", {}, {-2, 2}, {11, 13}}};
  Cases cases;
  for (const Kind& kind : kinds)
    for (const auto& [a, b] : pairs)
      for (const std::string constant : {"neither", "left", "right"})
        cases.push_back(make_case(kind.name + "_" + shape_name(a) + "_with_" + shape_name(b) + "_constant_" + constant,
                                  kind.opsets[cases.size() % kind.opsets.size()], [=, a = a, b = b](Model& m) {
                                    const std::string left =
                                        constant == "left" ? m.constant(a, kind.range) : m.input(a, kind.range);
                                    const std::string right =
                                        constant == "right" ? m.constant(b, kind.range) : m.input(b, kind.range);
                                    return m.node(kind.type, {left, right}, kind.attributes);
                                  }));
  for (const float exponent : {0.0F, 0.5F, 1.0F, 2.0F, 3.0F, -1.0F, -0.5F, -2.0F})
    cases.push_back(make_case("Pow_constant" + list_name({static_cast<Index>(exponent * 10)}), 13, [=](Model& m) {
      return m.node("Pow", {m.input({2, 3, 7}, {0.3, 3}), m.floats({}, {exponent})});
    }));
  for (const float exponent : {2.0F, 3.0F}) // also for negative numbers
    cases.push_back(make_case("Pow_signed" + list_name({static_cast<Index>(exponent)}), 13, [=](Model& m) {
      return m.node("Pow", {m.input({2, 3, 7}, {-3, 3}), m.floats({1}, {exponent})});
    }));
  cases.push_back(make_case("Mod_signs", 13, [](Model& m) {
    const std::string a = m.input(vector_of({7.5, -7.5, 7.5, -7.5, 3, -3})),
                      b = m.input(vector_of({2, 2, -2, -2, 3, 3}));
    return m.node("Mod", {a, b}, {{"fmod", Index{1}}});
  }));
  return cases;
}

Cases slope_cases() { // a slope is broadcast to the input, never the other way round
  const std::pair<Ints, Ints> slopes[] = {
      {{1, 3, 5, 7}, {3, 1, 1}},   {{1, 3, 5, 7}, {1}}, {{1, 3, 5, 7}, {1, 3, 1, 1}},
      {{2, 8, 4, 4}, {8, 1, 1}},   {{4, 9}, {9}},       {{4, 9}, {4, 9}},
      {{1, 33, 3, 3}, {33, 1, 1}}, {{2, 3, 5}, {3, 1}}, {{7}, {1}}};
  Cases cases;
  for (const auto& [shape, slope] : slopes)
    for (const bool constant : {true, false})
      for (const int opset : {11, 16})
        cases.push_back(make_case(
            shape_name(shape) + "_with_" + shape_name(slope) + (constant ? "" : "_variable"), opset,
            [=, shape = shape, slope = slope](Model& m) {
              return m.node("PRelu", {m.input(shape, {-3, 3}), constant ? m.constant(slope) : m.input(slope)});
            }));
  return cases;
}

Cases variadic_cases() {
  const std::vector<std::vector<Ints>> groups{{{2, 3, 4}},
                                              {{2, 3, 4}, {3, 1}, {4}},
                                              {{7}, {7}, {7}, {7}},
                                              {{1, 5}, {5, 1}, {}, {1}},
                                              {{2, 1, 3, 1}, {4, 1, 5}, {2, 4, 3, 5}},
                                              {{33}, {33}, {1}, {33}, {33}, {33}}};
  Cases cases;
  for (const std::string type : {"Min", "Max", "Sum", "Mean"})
    for (const std::vector<Ints>& group : groups)
      for (const int opset : {11, 13}) {
        std::string name = type;
        for (const Ints& shape : group) name += "_" + shape_name(shape);
        cases.push_back(make_case(name, opset, [=](Model& m) {
          Names from;
          for (const Ints& shape : group) from.push_back(from.size() == 2 ? m.constant(shape) : m.input(shape));
          return m.node(type, from);
        }));
      }
  return cases;
}

/// Returns cases of comparisons that are converted to floats, select values, or are outputs.
Cases comparison_cases() {
  Cases cases;
  const auto add = [&](const std::string& type, int opset, const Ints& a, const Ints& b) {
    const std::string name = type + "_" + shape_name(a) + "_with_" + shape_name(b);
    const auto compared = [=](Model& m) {
      const std::string x = m.input(whole_floats(a, -2, 2, 5)), y = m.input(whole_floats(b, -2, 2, 6));
      return m.node(type, {x, y});
    };
    cases.push_back(make_case(name + "_cast", opset, [=](Model& m) {
      return m.node("Cast", {compared(m)}, {{"to", as_float}});
    }));
    cases.push_back(make_case(name + "_where", opset, [=](Model& m) {
      const std::string which = compared(m);
      return m.node("Where", {which, m.input(m.value(which).shape), m.floats({}, {-7})});
    }));
    cases.push_back(make_case(name + "_not", opset, [=](Model& m) {
      return m.node("Cast", {m.node("Not", {compared(m)})}, {{"to", as_float}});
    }));
  };
  for (const auto& [a, b] : pairs) {
    for (const std::string type : {"Equal", "Greater", "Less"})
      for (const int opset : {11, 13}) add(type, opset, a, b);
    for (const std::string type : {"GreaterOrEqual", "LessOrEqual"})
      for (const int opset : {12, 16}) add(type, opset, a, b);
  }
  return cases;
}

Cases logic_cases() {
  Cases cases;
  for (const std::string type : {"And", "Or", "Xor"})
    for (const auto& [a, b] : pairs)
      cases.push_back(make_case(type + "_" + shape_name(a) + "_with_" + shape_name(b), 11, [=, a = a, b = b](Model& m) {
        return m.node("Cast", {m.node(type, {m.bool_input(a), m.bool_input(b)})}, {{"to", as_float}});
      }));
  for (const std::string type : {"And", "Or", "Xor"}) // of comparisons, as in masks
    cases.push_back(make_case(type + "_of_comparisons", 13, [=](Model& m) {
      const std::string x = m.input({3, 17});
      const std::string above = m.node("Greater", {x, m.floats({}, {-0.5F})});
      const std::string below = m.node("Less", {x, m.floats({}, {0.5F})});
      return m.node("Where", {m.node(type, {above, below}), x, m.constant({17})});
    }));
  return cases;
}

Cases where_cases() {
  const std::vector<std::vector<Ints>> groups{{{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
                                              {{3, 1}, {4}, {2, 1, 1}},
                                              {{}, {5}, {5}},
                                              {{5}, {}, {}},
                                              {{1}, {2, 9}, {9}},
                                              {{2, 1, 7}, {1, 3, 1}, {2, 3, 7}},
                                              {{1, 1, 9, 9}, {2, 4, 9, 9}, {}},
                                              {{33}, {33}, {1}},
                                              {{2, 2, 1, 2, 2}, {2, 1, 3, 1, 2}, {2}}};
  Cases cases;
  for (const std::vector<Ints>& group : groups)
    for (const int opset : {11, 16})
      for (const std::string constant : {"none", "condition", "yes", "no", "both"})
        cases.push_back(make_case(
            shape_name(group[0]) + "_" + shape_name(group[1]) + "_" + shape_name(group[2]) + "_constant_" + constant,
            opset, [=](Model& m) {
              const bool yes = constant == "yes" || constant == "both", no = constant == "no" || constant == "both";
              return m.node("Where", {constant == "condition" ? m.bool_constant(group[0]) : m.bool_input(group[0]),
                                      yes ? m.constant(group[1]) : m.input(group[1]),
                                      no ? m.constant(group[2]) : m.input(group[2])});
            }));
  cases.push_back(make_case("masks_with_minus_infinity", 16, [](Model& m) {
    const std::string scores =
        m.node("Where", {m.input(integers_of({1, 4}, {1, 1, 0, 1}, Kind::boolean)), m.input({3, 4}),
                         m.floats({}, {-std::numeric_limits<float>::infinity()})});
    return m.node("Softmax", {scores});
  }));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Function, OnnxOperator, testing::ValuesIn(covering(function_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Edge, OnnxOperator, testing::ValuesIn(covering(edge_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Logit, OnnxOperator, testing::ValuesIn(covering(logit_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Special, OnnxOperator, testing::ValuesIn(covering(special_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Broadcast, OnnxOperator, testing::ValuesIn(covering(binary_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(PRelu, OnnxOperator, testing::ValuesIn(covering(slope_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Variadic, OnnxOperator, testing::ValuesIn(covering(variadic_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Comparison, OnnxOperator, testing::ValuesIn(covering(comparison_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Logic, OnnxOperator, testing::ValuesIn(covering(logic_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Where, OnnxOperator, testing::ValuesIn(covering(where_cases())), name_of);

} // namespace
} // namespace rtexec::test
