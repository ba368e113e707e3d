// Tests operators that move a window over height and width, against the oracle.
#include "test/tasks/onnx_oracle/agreement.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::test {
namespace {

struct ConvShape {
  Index batch = 1, channels = 3, height = 8, width = 8, filters = 4, kernel_h = 3, kernel_w = 3, groups = 1;
};

/// Returns a Conv with random weights, scaled so that its output has a magnitude of about one.
Model conv_model(std::uint64_t seed, const ConvShape& s, Attributes attributes, bool bias = true, int opset = 13) {
  Model model(seed, opset);
  const Index terms = s.channels / s.groups * s.kernel_h * s.kernel_w;
  const double scale = 2 / std::sqrt(static_cast<double>(terms));
  std::vector<std::string> from{
      model.input({s.batch, s.channels, s.height, s.width}),
      model.constant({s.filters, s.channels / s.groups, s.kernel_h, s.kernel_w}, {-scale, scale})};
  if (bias) from.push_back(model.constant({s.filters}));
  if (s.groups != 1) attributes["group"] = s.groups;
  model.output(model.node("Conv", from, attributes));
  return model;
}

Ints even_pads(Index pad) { return {pad, pad, pad, pad}; }
/// Returns no padding, and the padding that keeps the size at stride 1.
Ints paddings(Index kernel) { return kernel == 1 ? Ints{0} : Ints{0, kernel / 2}; }

Cases conv_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, const ConvShape& shape, const Attributes& attributes,
                       bool bias = true) {
    const Index terms = shape.channels / shape.groups * shape.kernel_h * shape.kernel_w;
    const std::uint64_t seed = cases.size() + 1;
    cases.push_back(
        {name, [=] { return conv_model(seed, shape, attributes, bias); }, terms > 4096 ? many_terms : one_operator});
  };

  // Every combination of kernel, stride, dilation and padding, on odd sizes.
  for (const Index kernel : {1, 2, 3, 5, 7})
    for (const Index stride : {1, 2, 3})
      for (const Index dilation : {1, 2})
        for (const Index pad : paddings(kernel)) {
          if (dilation > 1 && kernel == 1) continue;
          const std::string name = "k" + std::to_string(kernel) + "s" + std::to_string(stride) + "d" +
                                   std::to_string(dilation) + "p" + std::to_string(pad);
          const Attributes attributes{
              {"strides", Ints{stride, stride}}, {"dilations", Ints{dilation, dilation}}, {"pads", even_pads(pad)}};
          add("Few_" + name, {1, 3, 17, 15, 5, kernel, kernel, 1}, attributes);
          add("Many_" + name, {1, 33, 14, 19, 35, kernel, kernel, 1}, attributes, false);
          add("Depthwise_" + name, {1, 19, 14, 19, 19, kernel, kernel, 19}, attributes);
          add("Grouped_" + name, {2, 12, 13, 16, 20, kernel, kernel, 4}, attributes);
        }
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    for (const Index kernel : {1, 2, 3, 4, 5})
      for (const Index stride : {1, 2, 3})
        add(std::string(mode) + "_k" + std::to_string(kernel) + "s" + std::to_string(stride),
            {1, 4, 13, 10, 6, kernel, kernel, 1}, {{"auto_pad", mode}, {"strides", Ints{stride, stride}}});
  add("SAME_UPPER_dilated", {1, 4, 13, 10, 6, 3, 3, 1}, {{"auto_pad", "SAME_UPPER"}, {"dilations", Ints{2, 3}}});
  add("SAME_LOWER_dilated", {1, 4, 13, 10, 6, 3, 2, 1}, {{"auto_pad", "SAME_LOWER"}, {"dilations", Ints{2, 3}}});
  add("NotSetWithPads", {1, 4, 13, 10, 6, 3, 3, 1}, {{"auto_pad", "NOTSET"}, {"pads", Ints{1, 0, 2, 1}}});

  add("AsymmetricPads", {1, 5, 9, 11, 7, 3, 3, 1}, {{"pads", Ints{0, 1, 2, 3}}});
  add("AsymmetricPads_Winograd", {1, 32, 12, 12, 32, 3, 3, 1}, {{"pads", Ints{0, 2, 1, 0}}});
  add("AsymmetricPads_Strided", {1, 16, 20, 20, 16, 3, 3, 1}, {{"pads", Ints{0, 0, 1, 1}}, {"strides", Ints{2, 2}}});
  add("AsymmetricPads_Depthwise", {1, 8, 9, 9, 8, 5, 5, 8}, {{"pads", Ints{3, 0, 1, 2}}});
  add("PaddedMoreThanTheKernel", {1, 3, 4, 5, 6, 3, 3, 1}, {{"pads", Ints{4, 5, 6, 3}}});
  add("PaddedMoreThanTheKernel_Wide", {1, 32, 6, 6, 40, 3, 3, 1}, {{"pads", Ints{4, 5, 6, 3}}});
  add("PaddedPointwise", {1, 6, 5, 7, 9, 1, 1, 1}, {{"pads", Ints{1, 2, 0, 1}}});
  add("KernelAboveInput", {1, 3, 3, 2, 4, 7, 7, 1}, {{"pads", even_pads(3)}});
  add("KernelAboveInput_Depthwise", {1, 8, 2, 3, 8, 7, 7, 8}, {{"pads", even_pads(4)}});
  add("KernelAboveInput_Many", {1, 64, 1, 1, 64, 3, 3, 1}, {{"pads", even_pads(1)}});
  add("KernelIsInput", {1, 16, 6, 7, 33, 6, 7, 1}, {});
  add("OnePixel", {1, 65, 1, 1, 67, 1, 1, 1}, {});
  add("OneRow", {1, 8, 1, 37, 8, 1, 5, 1}, {{"pads", Ints{0, 2, 0, 2}}});
  add("OneColumn", {1, 8, 37, 1, 8, 5, 1, 1}, {{"pads", Ints{2, 0, 2, 0}}});
  add("RowKernel", {1, 16, 12, 17, 24, 1, 7, 1}, {{"pads", Ints{0, 3, 0, 3}}}, false);
  add("ColumnKernel", {1, 16, 17, 12, 24, 7, 1, 1}, {{"pads", Ints{3, 0, 3, 0}}}, false);
  add("TallAndWide", {1, 4, 9, 40, 5, 2, 5, 1},
      {{"strides", Ints{1, 3}}, {"dilations", Ints{3, 1}}, {"pads", Ints{2, 1, 0, 4}}});
  add("OneChannelIn", {1, 1, 20, 21, 16, 3, 3, 1}, {{"pads", even_pads(1)}});
  add("OneChannelOut", {1, 40, 20, 21, 1, 3, 3, 1}, {{"pads", even_pads(1)}});
  add("OneChannelBoth", {1, 1, 9, 9, 1, 3, 3, 1}, {});
  add("Stem", {1, 3, 65, 63, 64, 7, 7, 1}, {{"pads", even_pads(3)}, {"strides", Ints{2, 2}}}, false);
  add("DeepWinograd", {1, 512, 7, 7, 32, 3, 3, 1}, {{"pads", even_pads(1)}});
  add("WideWinograd", {1, 64, 26, 26, 128, 3, 3, 1}, {{"pads", even_pads(1)}});
  add("LongSum", {1, 600, 5, 5, 16, 3, 3, 1}, {{"pads", even_pads(1)}});
  add("LongSum_Strided", {1, 600, 5, 5, 16, 3, 3, 1}, {{"pads", even_pads(1)}, {"strides", Ints{2, 2}}});
  add("LongPointwise", {1, 2048, 7, 7, 33, 1, 1, 1}, {});
  add("LongPointwise_Strided", {1, 256, 14, 13, 65, 1, 1, 1}, {{"strides", Ints{2, 2}}});
  add("Batch", {3, 17, 10, 11, 18, 3, 3, 1}, {{"pads", even_pads(1)}});
  add("BatchPointwise", {3, 17, 10, 11, 18, 1, 1, 1}, {});
  add("DepthwiseMultiplier", {1, 8, 10, 11, 24, 3, 3, 8}, {{"pads", even_pads(1)}});
  add("DepthwiseToFewer", {1, 24, 10, 11, 8, 3, 3, 8}, {{"pads", even_pads(1)}});
  add("DepthwiseBatch", {2, 33, 15, 14, 33, 3, 3, 33}, {{"pads", even_pads(1)}, {"strides", Ints{2, 1}}});
  add("DepthwiseInBands", {2, 19, 50, 201, 19, 5, 5, 19}, {{"pads", even_pads(2)}});
  for (const Index pad : {2, 4, 6}) // windows that reach beyond both sides at once
    add("DepthwiseDilated_p" + std::to_string(pad), {2, 18, 6, 8, 18, 5, 5, 18},
        {{"pads", even_pads(pad)}, {"dilations", Ints{2, 2}}});
  add("DepthwiseDilatedInBands", {1, 16, 50, 201, 16, 5, 5, 16}, {{"pads", even_pads(4)}, {"dilations", Ints{2, 2}}});
  add("DepthwiseInBands_Strided", {1, 16, 51, 202, 16, 3, 3, 16},
      {{"pads", Ints{0, 1, 2, 0}}, {"strides", Ints{2, 2}}});
  add("ResNextGroups", {1, 128, 8, 8, 128, 3, 3, 32}, {{"pads", even_pads(1)}});
  add("GroupedPointwise", {1, 48, 9, 7, 36, 1, 1, 3}, {});
  return cases;
}

/// Returns cases with random shapes and attributes.
Cases random_conv_cases() {
  Cases cases;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    cases.push_back({"Seed" + std::to_string(seed), [seed] {
                       std::mt19937_64 random(seed);
                       const auto between = [&](Index low, Index high) {
                         return std::uniform_int_distribution<Index>(low, high)(random);
                       };
                       ConvShape s;
                       s.groups = between(0, 2) == 0 ? between(2, 9) : 1;
                       s.channels = s.groups * between(1, s.groups == 1 ? 70 : 9);
                       s.filters = s.groups * between(1, s.groups == 1 ? 70 : 9);
                       s.batch = between(1, 2);
                       s.kernel_h = between(1, 5);
                       s.kernel_w = between(0, 2) == 0 ? between(1, 5) : s.kernel_h;
                       const Ints dilations{between(1, 2), between(1, 2)};
                       s.height = between(1, 24);
                       s.width = between(1, 24);
                       Ints pads{between(0, 3), between(0, 3), between(0, 3), between(0, 3)};
                       pads[2] +=
                           std::max<Index>(0, (s.kernel_h - 1) * dilations[0] + 1 - s.height - pads[0] - pads[2]);
                       pads[3] += std::max<Index>(0, (s.kernel_w - 1) * dilations[1] + 1 - s.width - pads[1] - pads[3]);
                       Attributes attributes{
                           {"pads", pads}, {"dilations", dilations}, {"strides", Ints{between(1, 3), between(1, 3)}}};
                       if (between(0, 1) == 0) attributes["kernel_shape"] = Ints{s.kernel_h, s.kernel_w};
                       const bool bias = between(0, 1) == 0;
                       return conv_model(seed, s, attributes, bias, static_cast<int>(between(11, 23)));
                     }});
  }
  return cases;
}

Model pool_model(const std::string& type, const Ints& shape, const Attributes& attributes, int opset = 13) {
  Model model(7, opset);
  // Negative values: padding must never be the maximum.
  model.output(model.node(type, {model.input(shape, {-3, -0.5})}, attributes));
  return model;
}

Cases pool_cases() {
  Cases cases;
  const auto add = [&](const std::string& type, const std::string& name, const Ints& shape,
                       const Attributes& attributes, int opset = 13) {
    cases.push_back({type + "_" + name, [=] { return pool_model(type, shape, attributes, opset); }});
  };
  for (const std::string type : {"MaxPool", "AveragePool"})
    for (const Index kernel : {1, 2, 3, 5})
      for (const Index stride : {1, 2, 3})
        for (const Index ceil : {0, 1})
          for (const Index pad : paddings(kernel))
            for (const Index padding_counts : {0, 1}) {
              if (padding_counts == 1 && type == "MaxPool") continue;
              Attributes attributes{{"kernel_shape", Ints{kernel, kernel}},
                                    {"strides", Ints{stride, stride}},
                                    {"pads", even_pads(pad)},
                                    {"ceil_mode", ceil}};
              if (padding_counts == 1) attributes["count_include_pad"] = Index{1};
              const std::string name = "k" + std::to_string(kernel) + "s" + std::to_string(stride) + "p" +
                                       std::to_string(pad) + (ceil == 1 ? "_ceil" : "") +
                                       (padding_counts == 1 ? "_counting" : "");
              add(type, name, {2, 5, 13, 10}, attributes);
              add(type, name + "_many", {2, 11, 13, 10}, attributes);
            }
  for (const std::string type : {"MaxPool", "AveragePool"}) {
    for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
      for (const Index kernel : {2, 3})
        for (const Index stride : {1, 2})
          add(type, std::string(mode) + "_k" + std::to_string(kernel) + "s" + std::to_string(stride), {1, 3, 9, 12},
              {{"auto_pad", mode}, {"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}});
    add(type, "DefaultStrides", {1, 3, 9, 12}, {{"kernel_shape", Ints{2, 3}}}, 11);
    add(type, "AsymmetricPads", {1, 3, 9, 12}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{0, 1, 2, 2}}}, 17);
    add(type, "YoloSamePool", {1, 17, 13, 13},
        {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}, {"strides", Ints{1, 1}}});
    add(type, "InBands", {1, 17, 50, 201},
        {{"kernel_shape", Ints{3, 3}}, {"pads", even_pads(1)}, {"strides", Ints{1, 1}}});
    add(type, "Whole", {2, 7, 6, 5}, {{"kernel_shape", Ints{6, 5}}});
    add(type, "Rows", {1, 3, 9, 33}, {{"kernel_shape", Ints{1, 4}}, {"strides", Ints{1, 2}}});
    add(type, "Columns", {1, 3, 33, 9}, {{"kernel_shape", Ints{4, 1}}, {"strides", Ints{3, 1}}});
    add(type, "Spatial5", {1, 32, 13, 13}, {{"kernel_shape", Ints{5, 5}}, {"pads", even_pads(2)}});
    add(type, "ResNetStem", {1, 16, 56, 55},
        {{"kernel_shape", Ints{3, 3}}, {"pads", even_pads(1)}, {"strides", Ints{2, 2}}});
  }
  add("AveragePool", "SAME_UPPER_counting", {1, 3, 9, 12},
      {{"auto_pad", "SAME_UPPER"},
       {"kernel_shape", Ints{3, 3}},
       {"strides", Ints{2, 2}},
       {"count_include_pad", Index{1}}});
  for (const Index dilation : {2, 3})
    for (const Index ceil : {0, 1})
      add("MaxPool", "d" + std::to_string(dilation) + (ceil == 1 ? "_ceil" : ""), {1, 4, 14, 15},
          {{"kernel_shape", Ints{3, 2}},
           {"dilations", Ints{dilation, dilation}},
           {"strides", Ints{2, 1}},
           {"pads", Ints{1, 0, 1, 1}},
           {"ceil_mode", ceil}});
  for (const int opset : {19, 20, 22}) // an average has dilations from 19 on
    for (const Index dilation : {2, 3})
      for (const Index ceil : {0, 1})
        for (const Index padding_counts : {0, 1})
          add("AveragePool",
              "d" + std::to_string(dilation) + (ceil == 1 ? "_ceil" : "") + (padding_counts == 1 ? "_counting" : "") +
                  "_opset" + std::to_string(opset),
              {2, 4, 14, 15},
              {{"kernel_shape", Ints{3, 2}},
               {"dilations", Ints{dilation, dilation}},
               {"strides", Ints{2, 1}},
               {"pads", Ints{1, 0, 1, 1}},
               {"count_include_pad", padding_counts},
               {"ceil_mode", ceil}},
              opset);
  for (const std::string type : {"MaxPool", "AveragePool"})
    for (const int opset : {18, 19, 21, 22, 23})
      for (const Index ceil : {0, 1})
        add(type, std::string(ceil == 1 ? "ceil" : "floor") + "_opset" + std::to_string(opset), {1, 3, 13, 10},
            {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{3, 2}}, {"pads", Ints{1, 0, 1, 1}}, {"ceil_mode", ceil}},
            opset);
  for (const Ints& shape :
       {Ints{1, 1, 1, 1}, Ints{2, 3, 4, 5}, Ints{1, 65, 7, 7}, Ints{1, 5, 41, 39}, Ints{3, 16, 1, 9}})
    add("GlobalAveragePool", to_text(shape), shape, {});
  return cases;
}

Cases lrn_cases() {
  Cases cases;
  for (const Index size : {1, 2, 3, 4, 5, 9})
    for (const Index channels : {1, 4, 17})
      cases.push_back({"size" + std::to_string(size) + "c" + std::to_string(channels), [=] {
                         Model model;
                         model.output(model.node("LRN", {model.input({2, channels, 5, 6}, {-4, 4})},
                                                 {{"size", size}, {"alpha", 0.3F}, {"beta", 0.6F}, {"bias", 1.5F}}));
                         return model;
                       }});
  cases.push_back({"Defaults", [] {
                     Model model;
                     model.output(model.node("LRN", {model.input({1, 8, 5, 6}, {-40, 40})}, {{"size", Index{5}}}));
                     return model;
                   }});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Conv, OnnxOperator, testing::ValuesIn(covering(conv_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(RandomConv, OnnxOperator, testing::ValuesIn(covering(random_conv_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Pool, OnnxOperator, testing::ValuesIn(covering(pool_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Lrn, OnnxOperator, testing::ValuesIn(covering(lrn_cases())), name_of);

} // namespace
} // namespace rtexec::test
