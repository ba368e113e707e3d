// Tests operators that reduce, order or normalise along axes, against the oracle.
#include "test/tasks/onnx_oracle/cases.hpp"

#include <algorithm>

namespace rtexec::test {
namespace {

/// Adds a reduction over `axes`: an attribute before opset `input_from`, an input from then on.
std::string reduced(Model& m, const std::string& type, const std::string& x, const Ints& axes, Attributes attributes,
                    int input_from) {
  if (m.opset() >= input_from) return m.node(type, {x, m.integers(axes)}, attributes);
  attributes["axes"] = axes;
  return m.node(type, {x}, attributes);
}

struct Reduction {
  std::string type;
  Range range;
  int input_from = 18; // the first opset with axes as an input
};
const std::vector<Reduction> reductions{
    {"ReduceMean", {-1, 2}},    {"ReduceSum", {-1, 2}, 13},  {"ReduceMax", {-3, -1}}, {"ReduceMin", {1, 3}},
    {"ReduceProd", {0.8, 1.2}}, {"ReduceL1", {-1, 1}},       {"ReduceL2", {-1, 1}},   {"ReduceSumSquare", {-1, 1}},
    {"ReduceLogSum", {0.1, 2}}, {"ReduceLogSumExp", {-4, 4}}};

Cases reduce_cases() {
  Cases cases;
  for (const auto& [type, range, input_from] : reductions)
    for (const int opset : {11, 13, 18, 20})
      for (const Index keep : {0, 1}) {
        const auto add = [&, keep = keep](const std::string& name, const Ints& shape, const Ints& axes) {
          cases.push_back(
              make_case(type + "_" + name + list_name(axes) + (keep == 1 ? "_kept" : "_dropped"), opset,
                        [=, type = type, range = range, input_from = input_from](Model& m) {
                          return reduced(m, type, m.input(shape, range), axes, {{"keepdims", keep}}, input_from);
                        }));
        };
        for (const Ints& axes : {Ints{0}, Ints{1}, Ints{3}, Ints{-1}, Ints{-4}, Ints{1, 2}, Ints{2, 3}, Ints{-1, -2},
                                 Ints{0, 3}, Ints{3, 0, 1}, Ints{0, 1, 2, 3}})
          add("of4", {2, 5, 7, 9}, axes);
        for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}}) add("of3", {3, 1, 37}, axes);
        for (const Ints& axes : {Ints{1}, Ints{0, 2, 4}, Ints{-2, -4}}) add("of5", {2, 3, 1, 4, 5}, axes);
        add("of1", {33}, {0});
        add("of1", {1}, {-1});
        add("ones", {1, 1, 1}, {0, 1});
      }
  return cases;
}

/// Returns reductions without axes.
Cases no_axis_cases() {
  Cases cases;
  for (const auto& [type, range, input_from] : reductions) {
    for (const Index keep : {0, 1})
      for (const int opset : {11, 13, 18})
        cases.push_back(
            of_one_input(type + "_all" + list_name({keep}), opset, type, {2, 5, 3}, {{"keepdims", keep}}, range));
    for (const Index noop : {0, 1})
      for (const bool given : {false, true})
        for (const Index keep : {0, 1})
          for (const int opset : {input_from, 20})
            cases.push_back(make_case(
                type + (given ? "_empty" : "_absent") + (noop == 1 ? "_noop" : "") + (keep == 1 ? "_kept" : "_dropped"),
                opset, [=, type = type, range = range](Model& m) {
                  Names from{m.input({2, 5, 3}, range)};
                  if (given) from.push_back(m.integers({}));
                  return m.node(type, from, {{"noop_with_empty_axes", noop}, {"keepdims", keep}});
                }));
    cases.push_back(of_one_input(type + "_scalar", 13, type, {}, {}, range));
  }
  std::ranges::sort(cases, {}, &Case::name);
  const auto repeated = std::ranges::unique(cases, {}, &Case::name);
  cases.erase(repeated.begin(), repeated.end());
  return cases;
}

Cases long_cases() {
  Cases cases;
  for (const auto& [type, range, input_from] : reductions) {
    if (type == "ReduceProd") continue;
    for (const auto& [shape, axes] : {std::pair{Ints{3, 2, 71, 67}, Ints{2, 3}}, {Ints{71, 67, 3, 2}, Ints{0, 1}}})
      cases.push_back(make_case(
          type + list_name(axes), 18,
          [=, type = type, range = range, shape = shape, axes = axes](Model& m) {
            return reduced(m, type, m.input(shape, range), axes, {}, 13);
          },
          many_terms));
  }
  return cases;
}

/// Returns cases whose indices are converted to floats, or are outputs.
Cases arg_cases() {
  Cases cases;
  for (const std::string type : {"ArgMax", "ArgMin"})
    for (const int opset : {11, 12, 13})
      for (const Index last : {0, 1}) {
        if (last == 1 && opset < 12) continue;
        for (const Index keep : {0, 1})
          for (const Index axis : {0, 1, 2, -1, -3}) {
            const auto found = [=](Model& m) {
              Attributes attributes{{"axis", axis}, {"keepdims", keep}};
              if (last == 1) attributes["select_last_index"] = last;
              return m.node(type, {m.input(whole_floats({3, 5, 8}, -2, 2, 11))}, attributes);
            };
            const std::string name =
                type + list_name({axis}) + (keep == 1 ? "_kept" : "_dropped") + (last == 1 ? "_last" : "");
            cases.push_back(make_case(name, opset, found));
            cases.push_back(make_case(name + "_cast", opset, [=](Model& m) {
              return m.node("Cast", {found(m)}, {{"to", as_float}});
            }));
          }
      }
  for (const std::string type : {"ArgMax", "ArgMin"})
    for (const Ints& shape : {Ints{1}, Ints{33}, Ints{1, 1000}, Ints{2, 21, 13, 17}, Ints{2, 3, 1, 4, 5}})
      cases.push_back(make_case(type + "_default_" + shape_name(shape), 13, [=](Model& m) {
        return m.node("Cast", {m.node(type, {m.input(shape)})}, {{"to", as_float}});
      }));
  return cases;
}

Cases top_k_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, int opset, const Ints& shape, Index k, const Attributes& attributes,
                       bool ties) {
    cases.push_back(make_case(name + "_" + shape_name(shape) + list_name({k}), opset, [=](Model& m) {
      const std::string x = ties ? m.input(whole_floats(shape, -3, 3, 13)) : m.input(shape);
      const Names found = m.nodes("TopK", {x, m.integers({k})}, 2, attributes);
      return Names{found[0], m.node("Cast", {found[1]}, {{"to", as_float}})};
    }));
  };
  for (const int opset : {11, 24})
    for (const Index largest : {0, 1})
      for (const bool ties : {false, true}) {
        const std::string name = std::string(largest == 1 ? "largest" : "smallest") + (ties ? "_ties" : "");
        const Attributes attributes{{"largest", largest}};
        for (const Index k : {1, 3, 8}) add(name, opset, {3, 5, 8}, k, attributes, ties);
        for (const Index k : {1, 7, 100}) add(name, opset, {1, 100}, k, attributes, ties);
        for (const Index k : {1, 300, 1024, 1500}) add(name + "_of_many", opset, {2, 3001}, k, attributes, ties);
        add(name + "_of_very_many", opset, {1, 24000}, 300, attributes, ties);
        for (const Index axis : {0, 1, -2}) {
          Attributes on_axis = attributes;
          on_axis["axis"] = axis;
          add(name + "_axis" + list_name({axis}), opset, {3, 5, 8}, 2, on_axis, ties);
        }
      }
  add("vector", 11, {33}, 5, {}, false);
  add("single", 11, {1}, 1, {}, false);
  cases.push_back(make_case("indices", 11, [](Model& m) {
    return m.nodes("TopK", {m.input({4, 9}), m.integers({3})}, 2).back();
  }));
  cases.push_back(make_case("unsorted_sum", 11, [](Model& m) { // the order is undefined, the sum is not
    const std::string best = m.nodes("TopK", {m.input({4, 9}), m.integers({3})}, 2, {{"sorted", Index{0}}}).front();
    return m.node("ReduceSum", {best}, {{"axes", Ints{-1}}});
  }));
  return cases;
}

Cases cumulative_cases() {
  Cases cases;
  for (const int opset : {11, 14})
    for (const Index exclusive : {0, 1})
      for (const Index reverse : {0, 1})
        for (const auto& [shape, axis] : {std::pair{Ints{9}, 0},
                                          {Ints{1}, 0},
                                          {Ints{3, 5, 8}, 0},
                                          {Ints{3, 5, 8}, 1},
                                          {Ints{3, 5, 8}, -1},
                                          {Ints{2, 1, 33}, 2},
                                          {Ints{2, 3, 4, 5}, -3}})
          for (const bool vector : {false, true})
            cases.push_back(
                make_case(shape_name(shape) + "_axis" + list_name({axis}) + (exclusive == 1 ? "_exclusive" : "") +
                              (reverse == 1 ? "_reverse" : "") + (vector ? "_vector" : ""),
                          opset, [=, shape = shape, axis = axis](Model& m) {
                            return m.node("CumSum", {m.input(shape), vector ? m.integers({axis}) : m.integer(axis)},
                                          {{"exclusive", exclusive}, {"reverse", reverse}});
                          }));
  return cases;
}

Cases softmax_cases() {
  Cases cases;
  for (const std::string type : {"Softmax", "LogSoftmax", "Hardmax"})
    for (const int opset : {11, 13, 22}) {
      for (const Ints& shape : {Ints{10}, Ints{1}, Ints{1, 1000}, Ints{3, 7}, Ints{2, 3, 5}, Ints{2, 3, 4, 5},
                                Ints{1, 21, 9, 8}, Ints{2, 1, 3, 2, 33}, Ints{150, 12}}) {
        if (shape.size() > 1 || opset >= 13) // before 13 the default axis is 1
          cases.push_back(of_one_input(type + "_" + shape_name(shape), opset, type, shape, {}, {-6, 6}));
        for (Index axis = -std::ssize(shape); axis < std::ssize(shape); ++axis)
          cases.push_back(of_one_input(type + "_" + shape_name(shape) + "_axis" + list_name({axis}), opset, type, shape,
                                       {{"axis", axis}}, {-6, 6}));
      }
      cases.push_back(of_one_input(type + "_far", opset, type, {2, 9}, {}, {-500, 500}));
      cases.push_back(make_case(type + "_ties", opset, [=](Model& m) {
        return m.node(type, {m.input(whole_floats({4, 9}, -1, 1, 17))});
      }));
    }
  return cases;
}

Cases layer_normalization_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, const std::string& type, int opset, const Ints& shape, Index axis,
                       const Ints& scale, bool bias, const Attributes& more = {}) {
    cases.push_back(
        make_case(name + type + "_" + shape_name(shape) + "_axis" + list_name({axis}) + (bias ? "_bias" : ""), opset,
                  [=](Model& m) {
                    Names from{m.input(shape, {-2, 3}), m.constant(scale, {0.5, 2})};
                    if (bias) from.push_back(m.constant(scale));
                    Attributes attributes = more;
                    attributes["axis"] = axis;
                    return m.node(type, from, attributes);
                  }));
  };
  for (const Ints& shape : {Ints{2, 3, 8}, Ints{1, 5, 33}, Ints{2, 3, 4, 5}, Ints{4, 1}, Ints{1, 197, 64}, Ints{7}})
    for (Index axis = -std::ssize(shape); axis < std::ssize(shape); ++axis) {
      const Index first = axis < 0 ? axis + std::ssize(shape) : axis;
      const Ints scale(shape.begin() + first, shape.end());
      if (product(scale) == 1) continue; // otherwise the result depends on epsilon alone
      for (const bool bias : {false, true}) add("", "LayerNormalization", 17, shape, axis, scale, bias);
      add("", "RMSNormalization", 23, shape, axis, scale, false);
    }
  add("epsilon_", "LayerNormalization", 17, {2, 3, 8}, -1, {8}, true, {{"epsilon", 0.1F}});
  cases.push_back(make_case("RowsOfOne", 17, [](Model& m) { // equal values leave only zeros
    return m.node("LayerNormalization", {m.input({50, 1}, {3, 5}), m.constant({1}), m.floats({1}, {0.01F})});
  }));
  add("epsilon_", "RMSNormalization", 23, {2, 3, 8}, -1, {8}, false, {{"epsilon", 0.1F}});
  add("one_scale_", "LayerNormalization", 17, {2, 3, 8}, 1, {1}, true);
  add("row_scale_", "LayerNormalization", 17, {2, 3, 8}, 1, {8}, true);
  add("column_scale_", "LayerNormalization", 17, {2, 3, 8}, 1, {3, 1}, true);
  add("row_scale_", "RMSNormalization", 23, {2, 3, 8}, 1, {8}, false);
  cases.push_back(make_case("moments", 17, [](Model& m) {
    return m.nodes("LayerNormalization", {m.input({2, 3, 8}, {-2, 3}), m.constant({8})}, 3);
  }));
  cases.push_back(make_case("variable_scale", 17, [](Model& m) {
    return m.node("LayerNormalization", {m.input({2, 3, 8}), m.input({8}), m.input({8})});
  }));
  cases.push_back(make_case("as_exported_before_opset_17", 13, [](Model& m) {
    const std::string x = m.input({2, 5, 24}, {-2, 3});
    const Attributes last{{"axes", Ints{-1}}};
    const std::string from_mean = m.node("Sub", {x, m.node("ReduceMean", {x}, last)});
    const std::string variance = m.node("ReduceMean", {m.node("Pow", {from_mean, m.floats({}, {2})})}, last);
    const std::string deviation = m.node("Sqrt", {m.node("Add", {variance, m.floats({}, {1e-5F})})});
    const std::string y = m.node("Mul", {m.node("Div", {from_mean, deviation}), m.constant({24})});
    return m.node("Add", {y, m.constant({24})});
  }));
  return cases;
}

Cases channel_normalization_cases() {
  Cases cases;
  for (const Ints& shape : {Ints{1, 4, 5, 7}, Ints{2, 6, 8, 8}, Ints{3, 12, 9}, Ints{1, 6, 3, 4, 5}, Ints{2, 30, 3, 3}})
    for (const float epsilon : {1e-5F, 0.1F}) {
      const std::string name = shape_name(shape) + (epsilon > 0.01F ? "_epsilon" : "");
      const Ints channels{shape[1]};
      for (const int opset : {11, 22})
        cases.push_back(make_case("Instance_" + name, opset, [=](Model& m) {
          return m.node("InstanceNormalization",
                        {m.input(shape, {-2, 3}), m.constant(channels, {0.5, 2}), m.constant(channels)},
                        {{"epsilon", epsilon}});
        }));
      for (const Index groups : {Index{1}, Index{2}, shape[1]})
        for (const int opset : {18, 21}) {
          const Ints factors{opset < 21 ? groups : shape[1]};
          cases.push_back(make_case("Group_" + name + "_of" + list_name({groups}), opset, [=](Model& m) {
            return m.node("GroupNormalization",
                          {m.input(shape, {-2, 3}), m.constant(factors, {0.5, 2}), m.constant(factors)},
                          {{"epsilon", epsilon}, {"num_groups", groups}});
          }));
        }
    }
  cases.push_back(make_case("Group_as_exported", 17, [](Model& m) { // by InstanceNormalization of groups
    const std::string x = m.input({2, 6, 5, 4}, {-2, 3});
    const std::string groups = m.node("Reshape", {x, m.integers({0, 3, -1})});
    const std::string y = m.node("InstanceNormalization", {groups, m.floats({3}, {1, 1, 1}), m.floats({3}, {0, 0, 0})});
    const std::string whole = m.node("Reshape", {y, m.node("Shape", {x})});
    return m.node("Add", {m.node("Mul", {whole, m.constant({6, 1, 1})}), m.constant({6, 1, 1})});
  }));
  return cases;
}

Cases other_normalization_cases() {
  Cases cases;
  for (const Ints& shape : {Ints{2, 3, 4, 5}, Ints{7}, Ints{1, 33}, Ints{3, 1, 8}})
    for (Index axis = -std::ssize(shape); axis < std::ssize(shape); ++axis)
      for (const Index p : {1, 2})
        for (const int opset : {11, 22})
          cases.push_back(of_one_input("Lp" + std::to_string(p) + "_" + shape_name(shape) + "_axis" + list_name({axis}),
                                       opset, "LpNormalization", shape, {{"axis", axis}, {"p", p}}));
  cases.push_back(of_one_input("Lp_default", 11, "LpNormalization", {3, 7}));
  cases.push_back(make_case("Lp_of_zeros", 22, [](Model& m) {
    return m.node("LpNormalization", {m.input(vector_of({0, 0, 0}))});
  }));
  for (const int opset : {11, 13}) {
    cases.push_back(
        of_one_input("MeanVariance_default", opset, "MeanVarianceNormalization", {2, 3, 5, 4}, {}, {-2, 3}));
    for (const Ints& axes : {Ints{2, 3}, Ints{0}, Ints{1}, Ints{0, 1, 2, 3}, Ints{-1}})
      cases.push_back(of_one_input("MeanVariance" + list_name(axes), opset, "MeanVarianceNormalization", {3, 3, 5, 4},
                                   {{"axes", axes}}, {-2, 3}));
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Reduce, OnnxOperator, testing::ValuesIn(covering(reduce_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ReduceNoAxis, OnnxOperator, testing::ValuesIn(covering(no_axis_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ReduceLong, OnnxOperator, testing::ValuesIn(covering(long_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Arg, OnnxOperator, testing::ValuesIn(covering(arg_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(TopK, OnnxOperator, testing::ValuesIn(covering(top_k_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(CumSum, OnnxOperator, testing::ValuesIn(covering(cumulative_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(SoftmaxFamily, OnnxOperator, testing::ValuesIn(covering(softmax_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(LayerNormalization, OnnxOperator, testing::ValuesIn(covering(layer_normalization_cases())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(ChannelNormalization, OnnxOperator, testing::ValuesIn(covering(channel_normalization_cases())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(OtherNormalization, OnnxOperator, testing::ValuesIn(covering(other_normalization_cases())),
                         name_of);

} // namespace
} // namespace rtexec::test
