// Tests operators that sample between elements, pad, or move windows over one to three dimensions, against the oracle.
#include "test/tasks/onnx_oracle/cases.hpp"

#include <cmath>

namespace rtexec::test {
namespace {

// ---- Resize ----

/// Returns the inputs of Resize by scales. Opset 11 requires a region, which may be empty.
Names by_scales(Model& m, const std::string& x, const Floats& scales) {
  return {x, m.opset() < 13 ? m.floats({0}, {}) : "", m.floats({static_cast<Index>(scales.size())}, scales)};
}
Names by_sizes(Model& m, const std::string& x, const Ints& sizes) {
  if (m.opset() < 13) return {x, m.floats({0}, {}), m.floats({0}, {}), m.integers(sizes)};
  return {x, "", "", m.integers(sizes)};
}

struct Scaling {
  Ints shape;
  Floats scales;
};

std::string scale_name(const Scaling& scaling) {
  std::string text = shape_name(scaling.shape) + "_by";
  for (const float scale : scaling.scales) text += "_" + std::to_string(std::lround(scale * 1000));
  return text;
}

/// These scales and their quotients are exact, so that coordinates of nearest elements do not depend on rounding.
const std::vector<Scaling> exact_scalings{{{1, 3, 5, 6}, {1, 1, 2, 2}},
                                          {{1, 3, 8, 6}, {1, 1, 0.5F, 0.5F}},
                                          {{2, 2, 4, 6}, {1, 1, 1.5F, 3}},
                                          {{1, 1, 1, 1}, {1, 1, 4, 2}},
                                          {{1, 2, 9}, {1, 1, 3}},
                                          {{4, 6}, {2, 0.5F}},
                                          {{1, 2, 3, 4, 2}, {1, 1, 2, 0.5F, 3}},
                                          {{8}, {0.25F}},
                                          {{2, 3, 4, 4}, {1, 2, 1, 2}}};
const std::vector<Scaling> scalings{{{1, 3, 5, 7}, {1, 1, 2, 2}},
                                    {{1, 3, 9, 8}, {1, 1, 0.6F, 0.45F}},
                                    {{2, 2, 7, 5}, {1, 1, 1.3F, 2.7F}},
                                    {{1, 1, 1, 1}, {1, 1, 3, 2}},
                                    {{1, 2, 11}, {1, 1, 1.7F}},
                                    {{5, 9}, {1.3F, 0.7F}},
                                    {{1, 2, 4, 5, 3}, {1, 1, 2, 0.7F, 1.5F}},
                                    {{1, 33, 8, 8}, {1, 1, 2, 2}}};

std::vector<std::string> coordinates_of(int opset) {
  std::vector<std::string> all{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"};
  if (opset >= 19) all.emplace_back("half_pixel_symmetric");
  return all;
}

Cases nearest_cases() {
  Cases cases;
  for (const int opset : {11, 13, 18, 19})
    for (const std::string& coordinates : coordinates_of(opset))
      for (const std::string rounding : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"})
        for (const Scaling& scaling : exact_scalings)
          cases.push_back(make_case(coordinates + "_" + rounding + "_" + scale_name(scaling), opset, [=](Model& m) {
            return m.node(
                "Resize", by_scales(m, m.input(scaling.shape), scaling.scales),
                {{"mode", "nearest"}, {"coordinate_transformation_mode", coordinates}, {"nearest_mode", rounding}});
          }));
  for (const Scaling& scaling : exact_scalings) {
    cases.push_back(make_case("default_" + scale_name(scaling), 13, [=](Model& m) {
      return m.node("Resize", by_scales(m, m.input(scaling.shape), scaling.scales));
    }));
    cases.push_back(make_case("tf_half_pixel_" + scale_name(scaling), 11, [=](Model& m) {
      return m.node("Resize", by_scales(m, m.input(scaling.shape), scaling.scales),
                    {{"coordinate_transformation_mode", "tf_half_pixel_for_nn"}, {"nearest_mode", "floor"}});
    }));
  }
  return cases;
}

Cases interpolation_cases() {
  Cases cases;
  for (const std::string mode : {"linear", "cubic"})
    for (const int opset : {11, 13, 18, 19})
      for (const std::string& coordinates : coordinates_of(opset))
        for (const Scaling& scaling : scalings) {
          const auto add = [&](const std::string& name, const Attributes& more) {
            cases.push_back(
                make_case(mode + "_" + name + coordinates + "_" + scale_name(scaling), opset, [=](Model& m) {
                  Attributes attributes = more;
                  attributes["mode"] = mode;
                  attributes["coordinate_transformation_mode"] = coordinates;
                  return m.node("Resize", by_scales(m, m.input(scaling.shape), scaling.scales), attributes);
                }));
          };
          add("", {});
          if (opset >= 18) add("antialias_", {{"antialias", Index{1}}});
          if (mode != "cubic" || opset == 11) continue;
          add("half_", {{"cubic_coeff_a", -0.5F}});
          add("inside_", {{"exclude_outside", Index{1}}});
          if (opset >= 18) add("antialias_inside_", {{"antialias", Index{1}}, {"exclude_outside", Index{1}}});
        }
  return cases;
}

Cases size_cases() {
  Cases cases;
  for (const std::string mode : {"linear", "cubic", "nearest"})
    for (const int opset : {11, 13, 18, 19})
      for (const auto& [shape, sizes] : {std::pair{Ints{1, 3, 5, 7}, Ints{1, 3, 8, 12}},
                                         {Ints{1, 3, 8, 5}, Ints{1, 3, 3, 8}},
                                         {Ints{1, 2, 7}, Ints{1, 2, 4}},
                                         {Ints{2, 1, 9, 9}, Ints{2, 1, 1, 2}},
                                         {Ints{1, 3, 4, 4}, Ints{1, 3, 4, 4}}})
        for (const std::string coordinates : {"half_pixel", "align_corners"})
          cases.push_back(make_case(mode + "_" + coordinates + "_" + shape_name(shape) + "_to_" + shape_name(sizes),
                                    opset, [=, shape = shape, sizes = sizes](Model& m) {
                                      return m.node("Resize", by_sizes(m, m.input(shape), sizes),
                                                    {{"mode", mode}, {"coordinate_transformation_mode", coordinates}});
                                    }));
  for (const std::string policy : {"stretch", "not_larger", "not_smaller"})
    for (const std::string mode : {"linear", "cubic"})
      for (const auto& [height, width] : {std::pair{8, 9}, {4, 15}, {13, 5}})
        cases.push_back(make_case(mode + "_" + policy + list_name({height, width}), 18,
                                  [=, height = Index{height}, width = Index{width}](Model& m) {
                                    return m.node(
                                        "Resize", by_sizes(m, m.input({1, 3, 6, 8}), {height, width}),
                                        {{"mode", mode}, {"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", policy}});
                                  }));
  for (const Ints& axes : {Ints{2, 3}, Ints{3, 2}, Ints{-1}, Ints{1}, Ints{-2, 0}})
    for (const std::string mode : {"linear", "nearest"})
      for (const int opset : {18, 19})
        cases.push_back(make_case(mode + "_axes" + list_name(axes), opset, [=](Model& m) {
          return m.node("Resize", by_scales(m, m.input({2, 3, 5, 7}), axes.size() == 1 ? Floats{2} : Floats{2, 1.5F}),
                        {{"mode", mode}, {"axes", axes}});
        }));
  return cases;
}

Cases crop_cases() {
  Cases cases;
  for (const std::string mode : {"linear", "cubic", "nearest"})
    for (const int opset : {11, 13, 18, 19})
      for (const Floats& region : {Floats{0, 0, 0, 0, 1, 1, 1, 1}, Floats{0, 0, 0.21F, 0.33F, 1, 1, 0.77F, 0.89F},
                                   Floats{0, 0, -0.31F, 0.47F, 1, 1, 0.6F, 1.31F}})
        for (const Ints& sizes : {Ints{1, 3, 4, 9}, Ints{1, 3, 1, 3}})
          cases.push_back(make_case(
              mode + "_from" + std::to_string(std::lround(100 + region[2] * 100)) + "_to_" + shape_name(sizes), opset,
              [=](Model& m) {
                const std::string scales = opset < 13 ? m.floats({0}, {}) : "";
                return m.node("Resize", {m.input({1, 3, 6, 7}), m.floats({8}, region), scales, m.integers(sizes)},
                              {{"mode", mode},
                               {"coordinate_transformation_mode", "tf_crop_and_resize"},
                               {"extrapolation_value", -3.0F}});
              }));
  return cases;
}

// ---- attention to positions, as exporters write it ----

struct Deformable {
  std::string name;
  Index batch = 1, channels = 8, points = 3;
  bool stacked = false; // samples of images, then all of them in another shape
  bool keeps = true;
  std::string mode = "linear";
};

std::string attend(Model& m, const Deformable& d) {
  constexpr Index heads = 2, queries = 5;
  const Ints sizes{4, 2, 3};
  const Index all = d.points * std::ssize(sizes), together = d.batch * heads;
  const auto transpose = [&](const std::string& x, const Ints& order) {
    return m.node("Transpose", {x}, {{"perm", order}});
  };
  const auto reshape = [&](const std::string& x, const Ints& shape) {
    return m.node("Reshape", {x, m.integers(shape)});
  };
  const auto slice = [&](const std::string& x, Index axis, Index first, Index count) {
    return m.node("Slice", {x, m.integers({first}), m.integers({first + count}), m.integers({axis})});
  };
  const std::string rows = m.input({d.batch, 29, heads, d.channels});
  const std::string values = reshape(transpose(rows, {0, 2, 3, 1}), {together, d.channels, 29});
  const std::string places = transpose(m.input({d.batch, queries, heads, all, 2}, {-1.2, 1.2}), {0, 2, 1, 3, 4});
  const std::string grids = reshape(places, {together, queries, all, 2});
  const std::string shares =
      m.node("Softmax", {m.input({d.batch, queries, heads, all}, {-2, 2})}, {{"axis", Index{-1}}});
  Names samples;
  Index first = 0;
  for (std::size_t i = 0; i < sizes.size(); first += sizes[i] * sizes[i], ++i) {
    const std::string image =
        reshape(slice(values, 2, first, sizes[i] * sizes[i]), {together, d.channels, sizes[i], sizes[i]});
    const std::string grid = slice(grids, 2, static_cast<Index>(i) * d.points, d.points);
    samples.push_back(m.node("GridSample", {image, grid}, {{"mode", d.mode}}));
    if (d.stacked) samples.back() = m.node("Unsqueeze", {samples.back(), m.integers({3})});
  }
  std::string sampled = m.node("Concat", samples, {{"axis", Index{3}}});
  if (d.stacked) sampled = reshape(sampled, {together, d.channels, queries, all});
  const std::string apart = reshape(shares, {d.batch, queries, heads, std::ssize(sizes), d.points});
  const std::string heads_first = d.stacked ? transpose(apart, {0, 2, 1, 3, 4}) : transpose(shares, {0, 2, 1, 3});
  const std::string weights = reshape(heads_first, {together, 1, queries, all});
  const std::string sum =
      m.node("ReduceSum", {m.node("Mul", {sampled, weights}), m.integers({-1})}, {{"keepdims", Index{d.keeps}}});
  return transpose(reshape(sum, {d.batch, heads * d.channels, queries}), {0, 2, 1});
}

Cases deformable_cases() {
  Cases cases;
  for (const Deformable& each :
       {Deformable{"of_one"}, Deformable{"of_a_batch", 2}, Deformable{"of_few_channels", 1, 3},
        Deformable{"of_many_channels", 2, 40, 1}, Deformable{"stacked", 1, 8, 4, true, false},
        Deformable{"nearest", 2, 8, 3, false, false, "nearest"}, Deformable{"cubic", 1, 16, 2, true, true, "cubic"}})
    cases.push_back(make_case(each.name, 20, [=](Model& m) { return attend(m, each); }));
  return cases;
}

// ---- GridSample ----

Cases grid_cases() {
  Cases cases;
  const auto add = [&](const std::string& mode, int opset, const Ints& shape, const Ints& places) {
    for (const std::string padding : {"zeros", "border", "reflection"})
      for (const Index corners : {0, 1}) {
        // If a cubic sample is outside of a border, implementations differ.
        const double far = mode.ends_with("cubic") && padding == "border" ? 0.99 : 1.6;
        cases.push_back(make_case(
            mode + "_" + padding + "_" + shape_name(shape) + (corners == 1 ? "_corners" : ""), opset, [=](Model& m) {
              Ints grid = places;
              grid.insert(grid.begin(), shape[0]);
              grid.push_back(std::ssize(places));
              return m.node("GridSample", {m.input(shape), m.input(grid, {-far, far})},
                            {{"mode", mode}, {"padding_mode", padding}, {"align_corners", corners}});
            }));
      }
  };
  for (const Ints& shape : {Ints{1, 3, 5, 7}, Ints{2, 1, 8, 8}, Ints{1, 9, 2, 3}, Ints{1, 2, 1, 4}}) {
    for (const std::string mode : {"bilinear", "nearest", "bicubic"}) add(mode, 16, shape, {4, 9});
    for (const std::string mode : {"linear", "nearest", "cubic"})
      for (const int opset : {20, 22}) add(mode, opset, shape, {4, 9});
  }
  for (const Ints& shape : {Ints{1, 2, 3, 4, 5}, Ints{2, 1, 5, 2, 8}})
    for (const std::string mode : {"linear", "nearest", "cubic"}) add(mode, 20, shape, {2, 3, 5});
  cases.push_back(make_case("defaults", 16, [](Model& m) {
    return m.node("GridSample", {m.input({1, 3, 5, 7}), m.input({1, 4, 4, 2}, {-1.2, 1.2})});
  }));
  cases.push_back(make_case("of_a_constant_grid", 16, [](Model& m) {
    return m.node("GridSample", {m.input({1, 3, 5, 7}), m.constant({1, 4, 4, 2}, {-1.2, 1.2})});
  }));
  for (const Index axis : {2, 3}) // as in deformable attention, on the values of two heads at all levels
    cases.push_back(make_case("of_levels_beside_each_other" + list_name({axis}), 16, [=](Model& m) {
      const std::string rows = m.node("Reshape", {m.input({1, 20, 16}), m.integers({20, 2, 8})});
      const std::string values = m.node("Transpose", {rows}, {{"perm", Ints{1, 2, 0}}});
      const auto level = [&](Index first, Index size) {
        const auto end = m.integers({first + size * size}), last = m.integers({2});
        const std::string pixels = m.node("Slice", {values, m.integers({first}), end, last});
        const std::string image = m.node("Reshape", {pixels, m.integers({2, 8, size, size})});
        return m.node("GridSample", {image, m.input({2, 5, 3, 2}, {-1.2, 1.2})});
      };
      const std::string all = m.node("Concat", {level(0, 4), level(16, 2)}, {{"axis", axis}});
      return m.node("Mul", {all, m.input({2, 1, 1, 1})});
    }));
  for (const Index corners : {0, 1})
    for (const Ints& size : {Ints{2, 3, 5, 7}, Ints{2, 1, 2, 3, 4}})
      cases.push_back(make_case("AffineGrid_" + shape_name(size) + (corners == 1 ? "_corners" : ""), 20, [=](Model& m) {
        const Index rank = std::ssize(size) - 2;
        const std::string grid =
            m.node("AffineGrid", {m.input({size[0], rank, rank + 1}), m.integers(size)}, {{"align_corners", corners}});
        return Names{grid, m.node("GridSample", {m.input(size), grid}, {{"align_corners", corners}})};
      }));
  for (const int opset : {11, 16, 22})
    for (const Index ratio : {0, 1, 2})
      for (const std::string coordinates : {"", "half_pixel", "output_half_pixel"}) {
        if (opset < 16 && !coordinates.empty()) continue;
        cases.push_back(make_case("RoiAlign" + list_name({ratio}) + "_" + coordinates, opset, [=](Model& m) {
          Attributes attributes{{"output_height", Index{3}},
                                {"output_width", Index{4}},
                                {"sampling_ratio", ratio},
                                {"spatial_scale", 0.5F}};
          if (!coordinates.empty()) attributes["coordinate_transformation_mode"] = coordinates;
          const std::string x = m.input({2, 3, 8, 9});
          const std::string regions = m.floats({3, 4}, {1.3F, 2.1F, 9.7F, 11.2F, 0.4F, 0.6F, 5.1F, 3.9F, 4, 3, 30, 28});
          return m.node("RoiAlign", {x, regions, m.integers({0, 1, 1})}, attributes);
        }));
      }
  for (const std::string mode : {"avg", "max"}) // with computed regions
    cases.push_back(make_case("RoiAlign_" + mode, 16, [=](Model& m) {
      const std::string x = m.input({2, 3, 8, 9}), regions = m.input({4, 4}, {0, 8});
      return m.node(
          "RoiAlign", {x, regions, m.integer_input({4}, {0, 1})},
          {{"output_height", Index{2}}, {"output_width", Index{2}}, {"sampling_ratio", Index{2}}, {"mode", mode}});
    }));
  for (const Ints& wanted : {Ints{3, 4}, Ints{6, 9}, Ints{5, 3}, Ints{5, 7}, Ints{8, 2}})
    cases.push_back(make_case("CenterCropPad" + list_name(wanted), 18, [=](Model& m) {
      return m.node("CenterCropPad", {m.input({2, 5, 7}), m.integers(wanted)}, {{"axes", Ints{1, -1}}});
    }));
  return cases;
}

// ---- Pad ----

struct Padding {
  Ints shape, pads, axes;

  /// True if every axis has more elements than are reflected.
  [[nodiscard]] bool reflects() const {
    for (std::size_t i = 0; i < pads.size(); ++i) {
      const std::size_t of = i % (pads.size() / 2);
      const Index axis = axes.empty() ? static_cast<Index>(of) : axes[of];
      if (pads[i] >= shape[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(shape) : axis)]) return false;
    }
    return true;
  }
};

Cases pad_cases() {
  const std::vector<Padding> all{{{1, 3, 5, 6}, {0, 0, 1, 2, 0, 0, 2, 1}, {}},
                                 {{2, 3, 4, 5}, {1, 2, 3, 4, 1, 2, 3, 4}, {}},
                                 {{7}, {3, 5}, {}},
                                 {{4, 33}, {0, 9, 2, 0}, {}},
                                 {{2, 3, 4}, {0, 0, 0, 0, 0, 0}, {}},
                                 {{2, 2, 3, 4, 3}, {0, 1, 2, 0, 1, 1, 0, 1, 3, 2}, {}},
                                 {{1, 3, 5, 6}, {0, 0, -1, -2, 0, 0, -1, 0}, {}},
                                 {{1, 3, 5, 6}, {1, 2, 3, 4}, {2, 3}},
                                 {{1, 3, 5, 6}, {2, 1, 1, 2}, {-1, -3}},
                                 {{1, 3, 5, 6}, {2, 1}, {1}}};
  Cases cases;
  for (const std::string mode : {"constant", "reflect", "edge", "wrap"})
    for (const int opset : {11, 13, 18, 19, 21, 24})
      for (const Padding& padding : all) {
        if ((mode == "wrap" && opset < 19) || (!padding.axes.empty() && opset < 18)) continue;
        if (mode == "reflect" && !padding.reflects()) continue;
        cases.push_back(make_case(mode + "_" + shape_name(padding.shape) + "_by" + list_name(padding.pads) + "_axes" +
                                      list_name(padding.axes),
                                  opset, [=](Model& m) {
                                    Names from{m.input(padding.shape), m.integers(padding.pads)};
                                    if (mode == "constant") from.push_back(m.floats({}, {-1.25F}));
                                    else if (!padding.axes.empty()) from.emplace_back();
                                    if (!padding.axes.empty()) from.push_back(m.integers(padding.axes));
                                    return m.node("Pad", from, {{"mode", mode}});
                                  }));
      }
  // cut on one side, padded on the other
  for (const Ints& pads : {Ints{0, -1, 2, -2}, Ints{-1, 3, 0, 1}, Ints{1, -3, 1, -3}})
    cases.push_back(make_case("mixed" + list_name(pads), 13, [=](Model& m) {
      return m.node("Pad", {m.input({5, 8}), m.integers(pads), m.floats({}, {0.5F})});
    }));
  return cases;
}

// ---- Windows over one to three dimensions ----

struct Window {
  Ints spatial, kernel, strides, dilations, pads;
  Index channels = 6, filters = 8, groups = 1, batch = 1;

  [[nodiscard]] std::string text() const {
    return shape_name(spatial) + "_k" + to_text(kernel) + "_s" + to_text(strides) + "_d" + to_text(dilations) + "_p" +
           to_text(pads) + "_" + to_text({batch, channels, filters, groups});
  }
  [[nodiscard]] Ints input() const { return behind({batch, channels}, spatial); }
  [[nodiscard]] Attributes attributes() const {
    return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}};
  }
  [[nodiscard]] Attributes pool() const {
    Attributes all = attributes();
    all["kernel_shape"] = kernel;
    return all;
  }
  static Ints behind(Ints front, const Ints& back) {
    front.insert(front.end(), back.begin(), back.end());
    return front;
  }
};

const std::vector<Window> windows{{{17}, {3}, {1}, {1}, {1, 1}},
                                  {{33}, {5}, {2}, {1}, {2, 2}},
                                  {{31}, {3}, {1}, {4}, {4, 4}, 6, 8, 2, 2},
                                  {{8}, {1}, {1}, {1}, {0, 0}, 7, 5},
                                  {{9}, {4}, {3}, {1}, {1, 2}, 6, 6, 6},
                                  {{1}, {1}, {1}, {1}, {0, 0}, 1, 1},
                                  {{160}, {7}, {1}, {1}, {0, 0}, 1, 33},
                                  {{9, 8}, {3, 3}, {2, 1}, {1, 1}, {1, 1, 1, 1}},
                                  {{7, 11}, {2, 5}, {1, 3}, {2, 1}, {1, 2, 0, 1}, 6, 9, 3},
                                  {{5, 6, 7}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1, 1, 1, 1}},
                                  {{4, 9, 8}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1, 0, 1, 1}, 3, 8},
                                  {{8, 5, 5}, {3, 1, 1}, {1, 1, 1}, {2, 1, 1}, {2, 0, 0, 2, 0, 0}, 6, 6, 6, 2},
                                  {{3, 4, 5}, {2, 3, 2}, {2, 1, 3}, {1, 2, 1}, {1, 2, 0, 0, 1, 1}, 6, 4, 2},
                                  {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, 5, 3}};

Cases conv_cases() {
  Cases cases;
  for (const Window& w : windows)
    for (const bool bias : {false, true})
      for (const int opset : {11, 22})
        cases.push_back(make_case(w.text() + (bias ? "_bias" : ""), opset, [=](Model& m) {
          Names from{m.input(w.input()), m.constant(Window::behind({w.filters, w.channels / w.groups}, w.kernel))};
          if (bias) from.push_back(m.constant({w.filters}));
          Attributes attributes = w.attributes();
          attributes["group"] = w.groups;
          return m.node("Conv", from, attributes);
        }));
  for (const Window& w : windows)
    cases.push_back(make_case("VariableWeights_" + w.text(), 11, [=](Model& m) {
      Attributes attributes = w.attributes();
      attributes["group"] = w.groups;
      return m.node("Conv",
                    {m.input(w.input()), m.input(Window::behind({w.filters, w.channels / w.groups}, w.kernel)),
                     m.constant({w.filters})},
                    attributes);
    }));
  for (const std::string mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    for (const Ints& kernel : {Ints{4}, Ints{3, 2, 4}})
      cases.push_back(make_case(mode + "_k" + to_text(kernel), 11, [=](Model& m) {
        const Ints spatial(kernel.size(), 9), strides(kernel.size(), 2);
        return m.node("Conv", {m.input(Window::behind({1, 3}, spatial)), m.constant(Window::behind({5, 3}, kernel))},
                      {{"auto_pad", mode}, {"strides", strides}});
      }));
  cases.push_back(make_case("VariableWeights", 13, [](Model& m) {
    return m.node("Conv", {m.input({1, 3, 9}), m.input({4, 3, 3}), m.input({4})});
  }));
  return cases;
}

Cases conv_transpose_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, const Window& w, const Attributes& more, bool bias, int opset) {
    cases.push_back(make_case(w.text() + name + (bias ? "_bias" : ""), opset, [=](Model& m) {
      Names from{m.input(w.input()), m.constant(Window::behind({w.channels, w.filters / w.groups}, w.kernel))};
      if (bias) from.push_back(m.constant({w.filters}));
      Attributes attributes{{"strides", w.strides}, {"dilations", w.dilations}, {"group", w.groups}};
      for (const auto& [key, value] : more) attributes[key] = value;
      return m.node("ConvTranspose", from, attributes);
    }));
  };
  for (const Window& w : windows)
    for (const bool bias : {false, true})
      for (const int opset : {11, 22}) {
        const std::size_t rank = w.spatial.size();
        bool positive = true;
        Ints padding, shape;
        for (std::size_t d = 0; d < rank; ++d) {
          const Index all = w.strides[d] * (w.spatial[d] - 1) + (w.kernel[d] - 1) * w.dilations[d] + 1;
          positive = positive && all > w.pads[d] + w.pads[d + rank];
          padding.push_back(w.strides[d] - 1);              // less than the stride
          shape.push_back(std::max(w.spatial[d], all - 1)); // never smaller than the input
        }
        add("_unpadded", w, {}, bias, opset);
        if (positive) add("", w, {{"pads", w.pads}}, bias, opset);
        if (positive) add("_output_padding", w, {{"pads", w.pads}, {"output_padding", padding}}, bias, opset);
        add("_output_shape", w, {{"output_shape", shape}}, bias, opset);
      }
  for (const std::string mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    for (const Index kernel : {2, 3, 4})
      for (const Index stride : {1, 2}) {
        if (kernel < stride) continue;
        add("_" + mode, {{9}, {kernel}, {stride}, {1}, {0, 0}}, {{"auto_pad", mode}}, false, 11);
        add("_" + mode, {{5, 6}, {kernel, 3}, {stride, 2}, {1, 1}, {0, 0, 0, 0}}, {{"auto_pad", mode}}, true, 11);
      }
  add("_UNet", {{8, 9}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, 32, 16}, {}, true, 13);
  add("_DCGAN", {{8, 8}, {4, 4}, {2, 2}, {1, 1}, {1, 1, 1, 1}, 24, 12}, {{"pads", Ints{1, 1, 1, 1}}}, false, 13);
  cases.push_back(make_case("defaults", 11, [](Model& m) {
    return m.node("ConvTranspose", {m.input({1, 3, 5, 4}), m.constant({3, 2, 3, 3})});
  }));
  return cases;
}

/// True if padding is smaller than the kernel on all axes, as pools require.
bool pools(const Window& w) {
  for (std::size_t d = 0; d < w.pads.size(); ++d)
    if (w.pads[d] >= w.kernel[d % w.kernel.size()]) return false;
  return true;
}

Cases pool_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, const std::string& type, int opset, const Window& w,
                       const Attributes& more = {}) {
    cases.push_back(make_case(type + name + "_" + w.text(), opset, [=](Model& m) {
      Attributes attributes = w.pool();
      if (type == "AveragePool" && m.opset() < 19) attributes.erase("dilations");
      if (type == "LpPool" && m.opset() < 18) attributes.erase("dilations");
      for (const auto& [key, value] : more) attributes[key] = value;
      return m.node(type, {m.input(w.input(), {-3, -0.5})}, attributes);
    }));
  };
  for (const Window& w : windows) {
    if (!pools(w)) continue;
    for (const int opset : {11, 12, 22})
      for (const Index ceil : {0, 1}) add(ceil == 1 ? "_ceil" : "", "MaxPool", opset, w, {{"ceil_mode", ceil}});
    for (const int opset : {11, 19, 22})
      for (const Index ceil : {0, 1})
        for (const Index counts : {0, 1})
          add(std::string(ceil == 1 ? "_ceil" : "") + (counts == 1 ? "_counting" : ""), "AveragePool", opset, w,
              {{"ceil_mode", ceil}, {"count_include_pad", counts}});
    for (const int opset : {11, 18, 22})
      for (const Index p : {1, 2, 3}) add("_p" + std::to_string(p), "LpPool", opset, w, {{"p", p}});
    add("_ceil", "LpPool", 18, w, {{"ceil_mode", Index{1}}});
    cases.push_back(make_case("Indices_" + w.text(), 12, [=](Model& m) {
      const Names found = m.nodes("MaxPool", {m.input(w.input())}, 2, w.pool());
      return Names{found[0], m.node("Cast", {found[1]}, {{"to", as_float}})};
    }));
    cases.push_back(make_case("Indices_by_column_" + w.text(), 12, [=](Model& m) {
      Attributes attributes = w.pool();
      attributes["storage_order"] = Index{1};
      return m.nodes("MaxPool", {m.input(w.input())}, 2, attributes);
    }));
  }
  for (const Ints& shape : {Ints{2, 3, 8}, Ints{1, 2, 6, 8}, Ints{1, 1, 4, 4, 6}}) // transform and inverse
    cases.push_back(make_case("MaxUnpool_" + shape_name(shape), 11, [=](Model& m) {
      const Ints two(shape.size() - 2, 2);
      const Attributes attributes{{"kernel_shape", two}, {"strides", two}};
      return m.node("MaxUnpool", m.nodes("MaxPool", {m.input(shape)}, 2, attributes), attributes);
    }));
  for (const std::string type : {"MaxPool", "AveragePool", "LpPool"})
    for (const std::string mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
      for (const Ints& kernel : {Ints{4}, Ints{3, 2, 4}})
        cases.push_back(make_case(type + "_" + mode + "_k" + to_text(kernel), 11, [=](Model& m) {
          const Ints spatial(kernel.size(), 9), strides(kernel.size(), 2);
          return m.node(type, {m.input(Window::behind({1, 3}, spatial))},
                        {{"auto_pad", mode}, {"strides", strides}, {"kernel_shape", kernel}});
        }));
  for (const std::string type : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"})
    for (const int opset : {11, 22})
      for (const Ints& shape :
           {Ints{1, 1, 1}, Ints{2, 3, 7}, Ints{1, 33, 5, 6}, Ints{2, 3, 4, 5, 6}, Ints{1, 8, 1, 31}}) {
        cases.push_back(of_one_input(type + "_" + shape_name(shape), opset, type, shape, {}, {-3, -0.5}));
        if (type != "GlobalLpPool") continue;
        cases.push_back(of_one_input(type + "_p1_" + shape_name(shape), opset, type, shape, {{"p", Index{1}}}));
      }
  return cases;
}

Cases column_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, const Ints& columns, const Ints& image, const Ints& block,
                       const Attributes& attributes) {
    cases.push_back(make_case(name, 18, [=](Model& m) {
      return m.node("Col2Im", {m.input(columns), m.integers(image), m.integers(block)}, attributes);
    }));
  };
  add("side_by_side", {1, 15, 4}, {2, 10}, {1, 5}, {{"strides", Ints{1, 5}}});
  add("overlapping", {2, 18, 20}, {6, 7}, {3, 3}, {});
  add("strided", {1, 12, 12}, {6, 9}, {2, 3}, {{"strides", Ints{2, 2}}});
  add("padded", {1, 8, 36}, {5, 6}, {2, 2}, {{"pads", Ints{1, 0, 1, 1}}});
  add("dilated", {1, 8, 20}, {6, 7}, {2, 2}, {{"dilations", Ints{2, 2}}});
  add("three_dimensions", {1, 16, 24}, {3, 4, 5}, {2, 2, 2}, {});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(ResizeNearest, OnnxOperator, testing::ValuesIn(covering(nearest_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ResizeBetween, OnnxOperator, testing::ValuesIn(covering(interpolation_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ResizeToSize, OnnxOperator, testing::ValuesIn(covering(size_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ResizeCrop, OnnxOperator, testing::ValuesIn(covering(crop_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Grid, OnnxOperator, testing::ValuesIn(covering(grid_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Deformable, OnnxOperator, testing::ValuesIn(covering(deformable_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(PadModes, OnnxOperator, testing::ValuesIn(covering(pad_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ConvAnyRank, OnnxOperator, testing::ValuesIn(covering(conv_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ConvTranspose, OnnxOperator, testing::ValuesIn(covering(conv_transpose_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(PoolAnyRank, OnnxOperator, testing::ValuesIn(covering(pool_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Col2Im, OnnxOperator, testing::ValuesIn(covering(column_cases())), name_of);

} // namespace
} // namespace rtexec::test
