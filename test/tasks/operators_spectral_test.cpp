// Tests operators composed of others: Fourier transforms and deformable convolutions, against the oracle.
#include "test/tasks/onnx_oracle/cases.hpp"

namespace rtexec::test {
namespace {

Cases transform_cases() {
  Cases cases;
  for (const Index parts : {1, 2})
    for (const Index axis : {0, 1, 2})
      for (const Index inverse : {0, 1})
        for (const Index length : {0, 4, 12}) {
          const std::string name = "axis" + std::to_string(axis) + "_parts" + std::to_string(parts) +
                                   (inverse == 1 ? "_inverse" : "") + "_to" + std::to_string(length);
          const Ints shape{3, 8, 5, parts};
          cases.push_back(make_case(name, 17, [=](Model& m) {
            return m.node("DFT", {m.input(shape), length > 0 ? m.integer(length) : ""},
                          {{"axis", axis}, {"inverse", inverse}});
          }));
          cases.push_back(make_case(name, 20, [=](Model& m) {
            return m.node("DFT", {m.input(shape), length > 0 ? m.integer(length) : "", m.integer(axis)},
                          {{"inverse", inverse}});
          }));
        }
  for (const Index length : {7, 8}) {
    cases.push_back(make_case("OneSided" + std::to_string(length), 17, [=](Model& m) {
      return m.node("DFT", {m.input({2, length, 1})}, {{"onesided", Index{1}}});
    }));
    cases.push_back(make_case("OneSided" + std::to_string(length), 20, [=](Model& m) {
      return m.node("DFT", {m.input({2, 3, length, 1})}, {{"onesided", Index{1}}});
    }));
  }
  return cases;
}

Cases short_time_cases() {
  Cases cases;
  for (const Index step : {1, 4, 9})
    for (const Index one_sided : {0, 1})
      for (const std::string window : {"no", "constant", "computed"})
        cases.push_back(make_case(
            window + "_window_step" + std::to_string(step) + (one_sided == 1 ? "_onesided" : ""), 17, [=](Model& m) {
              const std::string by = window == "no" ? "" : window == "constant" ? m.constant({8}) : m.input({8});
              return m.node("STFT", {m.input({2, 33, 1}), m.integer(step), by, m.integer(8)},
                            {{"onesided", one_sided}});
            }));
  cases.push_back(make_case("TwoDimensions", 17, [](Model& m) {
    return m.node("STFT", {m.input({2, 40}), m.integer(5), m.constant({10})});
  }));
  cases.push_back(make_case("Complex", 17, [](Model& m) {
    return m.node("STFT", {m.input({2, 40, 2}), m.integer(5), m.constant({10})}, {{"onesided", Index{0}}});
  }));
  return cases;
}

Cases deformable_cases() {
  struct Deformed {
    Ints weights, out;
    Index groups = 1, offset_groups = 1;
    Attributes attributes = {};
  };
  const Ints x{2, 4, 6, 7};
  const std::vector<Deformed> all{
      {{5, 4, 3, 3}, {4, 5}},
      {{5, 4, 1, 1}, {6, 7}},
      {{6, 2, 3, 2}, {4, 6}, 2, 1},
      {{6, 2, 3, 3}, {4, 5}, 2, 2},
      {{4, 1, 2, 2}, {5, 6}, 4, 2},
      {{3, 4, 3, 3}, {6, 7}, 1, 4, {{"pads", Ints{1, 1, 1, 1}}}},
      {{3, 4, 3, 3}, {3, 4}, 1, 2, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}},
      {{3, 4, 3, 3}, {4, 6}, 1, 1, {{"pads", Ints{1, 2, 1, 1}}, {"dilations", Ints{2, 2}}}}};
  Cases cases;
  for (const int opset : {19, 22})
    for (const Deformed& each : all)
      for (const std::string more : {"", "_bias", "_mask", "_bias_mask"})
        cases.push_back(make_case(shape_name(each.weights) + "_to_" + shape_name(each.out) + "_groups" +
                                      list_name({each.groups, each.offset_groups}) + more,
                                  opset, [=](Model& m) {
                                    const Index taps = each.weights[2] * each.weights[3] * each.offset_groups;
                                    Attributes attributes = each.attributes;
                                    attributes["group"] = each.groups;
                                    attributes["offset_group"] = each.offset_groups;
                                    const Ints mask{x[0], taps, each.out[0], each.out[1]};
                                    Names inputs{m.input(x), m.constant(each.weights),
                                                 m.input({x[0], 2 * taps, each.out[0], each.out[1]}, {-2.5, 2.5})};
                                    inputs.push_back(more.starts_with("_bias") ? m.constant({each.weights[0]}) : "");
                                    if (more.ends_with("_mask")) inputs.push_back(m.input(mask, {0, 1}));
                                    return m.node("DeformConv", inputs, attributes);
                                  }));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Dft, OnnxOperator, testing::ValuesIn(covering(transform_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Stft, OnnxOperator, testing::ValuesIn(covering(short_time_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(DeformConv, OnnxOperator, testing::ValuesIn(covering(deformable_cases())), name_of);

} // namespace
} // namespace rtexec::test
