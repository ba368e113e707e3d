// Tests operators that move elements or compute with shapes, against the oracle.
#include "test/tasks/onnx_oracle/agreement.hpp"

#include <algorithm>
#include <limits>

namespace rtexec::test {
namespace {

constexpr Index to_the_end = std::numeric_limits<Index>::max();
constexpr Index to_float = 1, to_int64 = 7; // TensorProto.DataType

std::string text_of(const Ints& list) {
  std::string text;
  for (const Index value : list)
    text += "_" + (value < 0 ? "m" + std::to_string(-std::max(value, -to_the_end)) : std::to_string(value));
  return text;
}

/// Returns a case whose model applies `make` to one input.
template <class F>
Case on_input(const std::string& name, const Ints& shape, F make, int opset = 13, Support support = Support::required) {
  return {name,
          [=] {
            Model model(53, opset);
            model.output(make(model, model.input(shape)));
            return model;
          },
          one_operator, support};
}

using Names = std::vector<std::string>;

Cases concat_cases() {
  Cases cases;
  const Ints shape{2, 3, 4, 5};
  for (Index axis = -4; axis < 4; ++axis)
    for (const std::size_t count : {1U, 2U, 5U})
      cases.push_back({"axis" + text_of({axis}) + "_of" + std::to_string(count), [=] {
                         Model model(59);
                         Names from;
                         for (std::size_t i = 0; i < count; ++i) {
                           Ints part = shape;
                           part[static_cast<std::size_t>(axis < 0 ? axis + 4 : axis)] += static_cast<Index>(i);
                           from.push_back(i == 3 ? model.constant(part) : model.input(part));
                         }
                         model.output(model.node("Concat", from, {{"axis", axis}}));
                         return model;
                       }});
  cases.push_back(on_input("SameTwice", {1, 3, 4, 4}, [](Model& m, const std::string& x) {
    return m.node("Concat", {x, x}, {{"axis", Index{1}}});
  }));
  cases.push_back(on_input("Vectors", {7}, [](Model& m, const std::string& x) {
    return m.node("Concat", {x, m.constant({3})}, {{"axis", Index{0}}});
  }));
  return cases;
}

Cases reshape_cases() {
  Cases cases;
  const std::pair<Ints, Ints> reshapes[] = {
      {{1, 4, 3, 5}, {1, -1}},    {{1, 4, 3, 5}, {0, -1}}, {{1, 4, 3, 5}, {-1}}, {{1, 4, 3, 5}, {0, 2, 2, 0, -1}},
      {{1, 4, 3, 5}, {0, 0, -1}}, {{1, 4, 3, 5}, {4, 15}}, {{2, 6}, {3, 4}},     {{24}, {2, 3, 4}},
      {{2, 3, 4}, {0, 0, 0}},     {{1}, {1, 1, -1, 1}},    {{1, 1, 1}, {1}},     {{5, 4}, {-1, 2, 2}}};
  for (const auto& [from, to] : reshapes)
    for (const int opset : {11, 14, 21})
      cases.push_back(on_input(
          "Reshape_" + to_text(from) + "_to" + text_of(to) + "_opset" + std::to_string(opset), from,
          [to = to](Model& m, const std::string& x) {
            return m.node("Reshape", {x, m.integers(to)});
          },
          opset));
  cases.push_back(on_input("Reshape_to_scalar", {1, 1}, [](Model& m, const std::string& x) {
    return m.node("Reshape", {x, m.integers({})});
  }));
  for (const int opset : {14, 19, 23}) // PyTorch's exporter sets allowzero although no dimension is zero
    cases.push_back(on_input(
        "Reshape_allowing_zero_opset" + std::to_string(opset), {1, 4, 3, 5},
        [](Model& m, const std::string& x) {
          return m.node("Reshape", {x, m.integers({1, -1})}, {{"allowzero", Index{1}}});
        },
        opset));
  for (Index axis = -4; axis <= 4; ++axis)
    cases.push_back(on_input(
        "Flatten_axis" + text_of({axis}), {2, 3, 4, 5},
        [=](Model& m, const std::string& x) {
          return m.node("Flatten", {x}, {{"axis", axis}});
        },
        11 + static_cast<int>(axis + 4)));
  cases.push_back(
      on_input("Flatten_default", {2, 3, 4, 5}, [](Model& m, const std::string& x) { return m.node("Flatten", {x}); }));
  cases.push_back(on_input("Flatten_vector", {7}, [](Model& m, const std::string& x) {
    return m.node("Flatten", {x}, {{"axis", Index{0}}});
  }));

  const auto with_axes = [](const std::string& type, const Ints& axes) {
    return [=](Model& m, const std::string& x) {
      if (m.opset() >= 13) return axes.empty() ? m.node(type, {x}) : m.node(type, {x, m.integers(axes)});
      return axes.empty() ? m.node(type, {x}) : m.node(type, {x}, {{"axes", axes}});
    };
  };
  for (const int opset : {11, 12, 13, 17, 21, 23}) {
    const std::string suffix = "_opset" + std::to_string(opset);
    for (const Ints& axes : {Ints{0}, Ints{2}, Ints{-1}, Ints{0, 3}, Ints{3, 1}, Ints{-1, 0}, Ints{-3, -1}})
      cases.push_back(on_input("Unsqueeze" + text_of(axes) + suffix, {3, 4}, with_axes("Unsqueeze", axes), opset));
    for (const Ints& axes : {Ints{}, Ints{0}, Ints{-1}, Ints{2, 4}, Ints{0, -1}})
      cases.push_back(on_input("Squeeze" + text_of(axes) + suffix, {1, 3, 1, 4, 1}, with_axes("Squeeze", axes), opset));
  }
  return cases;
}

Cases transpose_cases() {
  Cases cases;
  const auto add = [&](const Ints& shape, const Ints& order) {
    const std::string name = to_text(shape) + (order.empty() ? "_reversed" : "") + text_of(order);
    cases.push_back(on_input(name, shape, [=](Model& m, const std::string& x) {
      return order.empty() ? m.node("Transpose", {x}) : m.node("Transpose", {x}, {{"perm", order}});
    }));
  };
  Ints order{0, 1, 2, 3};
  do add({2, 3, 4, 5}, order);
  while (std::next_permutation(order.begin(), order.end()));
  add({1, 2, 8, 7, 6}, {0, 2, 1, 3, 4});
  add({1, 3, 5, 4, 4}, {0, 1, 3, 4, 2});
  add({3, 70, 65}, {0, 2, 1});
  add({3, 4}, {});
  add({2, 3, 4, 5}, {});
  add({9}, {0});
  return cases;
}

Cases slice_cases() {
  struct Cut {
    Ints starts, ends, axes, steps;
  };
  const Cut cuts[] = {{{1}, {3}, {1}, {}},
                      {{0}, {to_the_end}, {3}, {}},
                      {{2}, {to_the_end}, {2}, {2}},
                      {{-3}, {-1}, {-1}, {}},
                      {{-100}, {100}, {2}, {}},
                      {{0, 1}, {2, 4}, {0, 2}, {}},
                      {{0, 1, 2, 3}, {2, 5, 6, 7}, {}, {}},
                      {{0, 1}, {2, 3}, {}, {}},
                      {{1, 0}, {to_the_end, to_the_end}, {2, 3}, {2, 2}}, // YOLOv5's focus
                      {{0}, {to_the_end}, {3}, {3}},
                      {{-1}, {-to_the_end}, {3}, {-1}},
                      {{6}, {1}, {2}, {-2}},
                      {{100}, {0}, {2}, {-3}},
                      {{-1, -1}, {-100, -100}, {2, 1}, {-1, -2}}};
  Cases cases;
  for (const Cut& cut : cuts)
    cases.push_back(on_input(
        "Cut" + std::to_string(cases.size()), {2, 5, 7, 8},
        [=](Model& m, const std::string& x) {
          Names from{x, m.integers(cut.starts), m.integers(cut.ends)};
          if (!cut.axes.empty()) from.push_back(m.integers(cut.axes));
          if (cut.axes.empty() && !cut.steps.empty()) from.emplace_back();
          if (!cut.steps.empty()) from.push_back(m.integers(cut.steps));
          return m.node("Slice", from);
        },
        cases.size() % 2 == 0 ? 11 : 13));
  for (Index axis = -3; axis < 3; ++axis) {
    cases.push_back(on_input("Gather_list" + text_of({axis}), {4, 5, 6}, [=](Model& m, const std::string& x) {
      return m.node("Gather", {x, m.integers({2, 0, -1, 2})}, {{"axis", axis}});
    }));
    cases.push_back(on_input("Gather_one" + text_of({axis}), {4, 5, 6}, [=](Model& m, const std::string& x) {
      return m.node("Gather", {x, m.integer(-2)}, {{"axis", axis}});
    }));
  }
  cases.push_back(on_input("Rolled_by_0", {4, 5, 6}, [](Model& m, const std::string& x) { // as exporters write it
    const auto cut = [&](Index start, Index end) {
      return m.node("Slice", {x, m.integers({start}), m.integers({end}), m.integers({1})});
    };
    return m.node("Relu", {m.node("Concat", {cut(5, 9), cut(0, 5)}, {{"axis", Index{1}}})});
  }));
  cases.push_back(on_input("Split_off_nothing", {4, 5, 6}, [](Model& m, const std::string& x) {
    const auto parts = m.nodes("Split", {x, m.integers({2, 0, 3})}, 3, {{"axis", Index{1}}});
    return m.node("Concat", {parts[2], parts[1], parts[1], parts[0]}, {{"axis", Index{1}}});
  }));
  cases.push_back(on_input("Stored_nowhere", {4, 5}, [](Model& m, const std::string& x) { // x[3:3] = 0
    const std::string rows = m.node("Slice", {m.integers({0, 1, 2, 3}), m.integers({3}), m.integers({3})});
    const std::string row = m.node("Unsqueeze", {rows, m.integers({1})});
    const std::string places = m.node("Add", {row, m.integer_constant({1, 5}, {0, 1})});
    const std::string index = m.node("Expand", {m.node("Unsqueeze", {places, m.integers({2})}), m.integers({0, 5, 2})});
    const std::string shape = m.node("Where", {m.bool_constant({2}), m.integers({0, 5}), m.integers({0, 5})});
    const std::string values = m.node("Expand", {m.floats({1, 1}, {7}), shape});
    const std::string flat = m.node("Reshape", {values, m.integers({-1, 5})});
    return m.node("Relu", {m.node("ScatterND", {x, index, flat})});
  }));
  cases.push_back(on_input("Concat_with_nothing", {4, 5, 6}, [](Model& m, const std::string& x) {
    const std::string none = m.node("ConstantOfShape", {m.integers({4, 0, 6})});
    const std::string still = m.node("Concat", {none, none}, {{"axis", Index{1}}});
    return m.node("Relu", {m.node("Concat", {still, x}, {{"axis", Index{1}}})});
  }));
  cases.push_back(on_input("Gather_default", {4, 5}, [](Model& m, const std::string& x) {
    return m.node("Gather", {x, m.integers({3})});
  }));
  cases.push_back(on_input("Gather_table", {4, 5}, [](Model& m, const std::string& x) {
    const std::string table = m.node("Reshape", {m.integers({0, 1, 3, 2, 1, 0}), m.integers({2, 3})});
    return m.node("Gather", {x, table}, {{"axis", Index{1}}});
  }));
  return cases;
}

/// Concatenates the parts in reverse order, so that each one affects the result.
Cases split_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, Index axis, std::size_t parts, const Ints& sizes, int opset) {
    cases.push_back(on_input(
        name + "_axis" + text_of({axis}) + "_of" + std::to_string(parts) + "_opset" + std::to_string(opset),
        {2, 12, 5, 6},
        [=](Model& m, const std::string& x) {
          Names from{x};
          Attributes attributes{{"axis", axis}};
          if (!sizes.empty() && opset < 13) attributes["split"] = sizes;
          if (!sizes.empty() && opset >= 13) from.push_back(m.integers(sizes));
          if (sizes.empty() && opset >= 18) attributes["num_outputs"] = static_cast<Index>(parts);
          Names outputs = m.nodes("Split", from, parts, attributes);
          std::ranges::reverse(outputs);
          return m.node("Concat", outputs, {{"axis", axis}});
        },
        opset));
  };
  for (const int opset : {11, 13, 17, 18, 20, 23}) {
    add("Equal", 1, 3, {}, opset);
    add("Equal", -1, 2, {}, opset);
    add("Sizes", 1, 3, {1, 7, 4}, opset);
    add("Sizes", -2, 2, {4, 1}, opset);
    add("One", 0, 1, {}, opset);
    if (opset < 18) continue;
    add("LastSmaller", 2, 2, {}, opset);
    add("LastSmaller", 2, 3, {}, opset);
  }
  return cases;
}

Cases pad_cases() {
  Cases cases;
  const auto add = [&](const Ints& pads, bool value, const std::string& mode = "",
                       Support support = Support::required) {
    cases.push_back(on_input(
        "Pad" + text_of(pads) + (value ? "_value" : "") + mode, {1, 3, 5, 6},
        [=](Model& m, const std::string& x) {
          Names from{x, m.integers(pads)};
          if (value) from.push_back(m.floats({}, {-1.25F}));
          return mode.empty() ? m.node("Pad", from) : m.node("Pad", from, {{"mode", mode}});
        },
        value ? 11 : 13, support));
  };
  for (const bool value : {false, true}) {
    add({0, 0, 1, 1, 0, 0, 1, 1}, value);
    add({0, 0, 0, 1, 0, 0, 2, 3}, value);
    add({0, 2, 0, 0, 0, 1, 0, 0}, value);
    add({1, 0, 0, 0, 2, 0, 0, 0}, value);
    add({1, 2, 3, 4, 4, 3, 2, 1}, value);
    add({0, 0, 0, 0, 0, 0, 0, 0}, value);
    add({0, 0, 7, 7, 0, 0, 7, 7}, value, "constant");
  }
  const auto on_axes = [&](const Ints& pads, const Ints& axes, bool value, int opset) { // from opset 18 on
    cases.push_back(on_input(
        "Pad" + text_of(pads) + "_axes" + text_of(axes) + "_opset" + std::to_string(opset), {1, 3, 5, 6},
        [=](Model& m, const std::string& x) {
          return m.node("Pad", {x, m.integers(pads), value ? m.floats({}, {-1.25F}) : "", m.integers(axes)});
        },
        opset));
  };
  for (const int opset : {18, 19, 21, 23}) {
    on_axes({1, 2, 3, 4}, {2, 3}, true, opset);
    on_axes({1, 2, 3, 4}, {-1, 1}, false, opset);
    on_axes({2, 1}, {-3}, opset % 2 == 0, opset);
  }
  add({0, 0, -1, 1, 0, 0, 0, -2}, false, "", Support::optional);
  add({0, 0, 1, 1, 0, 0, 1, 1}, false, "reflect", Support::optional);
  add({0, 0, 1, 1, 0, 0, 1, 1}, false, "edge", Support::optional);
  return cases;
}

Cases resize_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, const Ints& shape, const Floats& scales, const Attributes& attributes,
                       Support support, int opset = 13) {
    cases.push_back(on_input(
        name + "_opset" + std::to_string(opset), shape,
        [=](Model& m, const std::string& x) {
          return m.node("Resize", {x, opset == 11 ? m.floats({0}, {}) : "", m.floats({4}, scales)}, attributes);
        },
        opset, support));
  };
  const auto nearest = [](const char* coordinates, const char* rounding) {
    return Attributes{{"mode", "nearest"}, {"coordinate_transformation_mode", coordinates}, {"nearest_mode", rounding}};
  };
  const auto linear = [](const char* coordinates) {
    return Attributes{{"mode", "linear"}, {"coordinate_transformation_mode", coordinates}};
  };
  const Attributes yolo = nearest("asymmetric", "floor");
  for (const int opset : {11, 13, 17}) {
    add("Yolo", {1, 5, 13, 13}, {1, 1, 2, 2}, yolo, Support::required, opset);
    add("YoloBatch", {2, 3, 4, 7}, {1, 1, 2, 2}, yolo, Support::required, opset);
  }
  add("YoloThree", {1, 3, 4, 5}, {1, 1, 3, 3}, yolo, Support::required);
  add("YoloUneven", {1, 3, 4, 5}, {1, 1, 4, 2}, yolo, Support::required);
  add("YoloOnePixel", {1, 3, 1, 1}, {1, 1, 2, 2}, yolo, Support::required);
  const auto by_size = [&](const std::string& name, const Attributes& attributes, Index height, Index width,
                           Support support) {
    cases.push_back(on_input(
        name, {1, 3, 6, 8},
        [=](Model& m, const std::string& x) {
          return m.node("Resize", {x, "", "", m.integers({1, 3, height, width})}, attributes);
        },
        13, support));
  };
  by_size("YoloBySize", yolo, 12, 16, Support::required);
  // The subgraph that PyTorch exports.
  cases.push_back(on_input("YoloByComputedSize", {1, 3, 6, 8}, [=](Model& m, const std::string& x) {
    const std::string shape = m.node("Shape", {x});
    const std::string front = m.node("Slice", {shape, m.integers({0}), m.integers({2}), m.integers({0})});
    const std::string size = m.node("Concat", {front, m.integers({12, 16})}, {{"axis", Index{0}}});
    return m.node("Resize", {x, "", "", size}, yolo);
  }));
  for (const char* coordinates : {"asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"}) {
    for (const char* rounding : {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}) {
      const std::string suffix = std::string("_") + coordinates + "_" + rounding;
      const Attributes attributes = nearest(coordinates, rounding);
      add("Nearest" + suffix, {1, 3, 5, 6}, {1, 1, 2, 2}, attributes, Support::optional);
      add("NearestDown" + suffix, {1, 3, 8, 6}, {1, 1, 0.5F, 0.5F}, attributes, Support::optional);
    }
    add(std::string("Linear_") + coordinates, {1, 3, 5, 6}, {1, 1, 2, 2}, linear(coordinates), Support::optional);
    add(std::string("LinearDown_") + coordinates, {1, 3, 8, 6}, {1, 1, 0.5F, 0.5F}, linear(coordinates),
        Support::optional);
    add(std::string("LinearUneven_") + coordinates, {1, 3, 4, 6}, {1, 1, 1.5F, 2.5F}, linear(coordinates),
        Support::optional);
    by_size(std::string("LinearBySize_") + coordinates, linear(coordinates), 9, 20, Support::optional);
  }
  for (const int opset : {18, 19, 21, 23}) {
    add("Yolo", {1, 5, 13, 13}, {1, 1, 2, 2}, yolo, Support::required, opset);
    for (const bool by_sizes : {false, true})
      for (const Ints& axes : {Ints{2, 3}, Ints{-1, -2}, Ints{3}, Ints{0, 1, 2, 3}})
        for (const Attributes& how : {yolo, linear("half_pixel"), linear("align_corners")}) {
          const std::string name = std::string("Axes") + text_of(axes) + (by_sizes ? "_sizes" : "_scales") +
                                   std::to_string(cases.size()) + "_opset" + std::to_string(opset);
          cases.push_back(on_input(
              name, {1, 3, 5, 6},
              [=](Model& m, const std::string& x) {
                const Floats all_scales{1, 1, 3, 2};
                const Ints all_sizes{1, 3, 15, 12};
                Floats scales;
                Ints sizes;
                for (const Index axis : axes) {
                  scales.push_back(all_scales[static_cast<std::size_t>(axis < 0 ? axis + 4 : axis)]);
                  sizes.push_back(all_sizes[static_cast<std::size_t>(axis < 0 ? axis + 4 : axis)]);
                }
                Attributes attributes = how;
                attributes["axes"] = axes;
                attributes["antialias"] = Index{0};
                attributes["keep_aspect_ratio_policy"] = "stretch";
                if (by_sizes) return m.node("Resize", {x, "", "", m.integers(sizes)}, attributes);
                return m.node("Resize", {x, "", m.floats({static_cast<Index>(scales.size())}, scales)}, attributes);
              },
              opset));
        }
  }
  for (const int opset : {11, 13})
    cases.push_back(on_input(
        "Upsample_opset" + std::to_string(opset), {1, 3, 5, 6},
        [](Model& m, const std::string& x) {
          return m.node("Upsample", {x, m.floats({4}, {1, 1, 2, 2})}, {{"mode", "nearest"}});
        },
        opset, Support::optional)); // ONNX removed it in opset 10
  return cases;
}

Cases constant_cases() {
  Cases cases;
  const auto add = [&](const std::string& name, const Attributes& attributes, int opset) {
    cases.push_back(on_input(
        name, {2, 3},
        [=](Model& m, const std::string& x) {
          return m.node("Add", {x, m.node("Constant", {}, attributes)});
        },
        opset));
  };
  Array tensor({2, 3});
  tensor.values = {1, -2, 3, -4, 5, 6};
  add("Tensor", {{"value", tensor}}, 11);
  add("Float", {{"value_float", 2.5F}}, 12);
  add("Floats", {{"value_floats", Floats{1, 2, 3}}}, 13);
  cases.push_back(on_input("Ints", {2, 3}, [](Model& m, const std::string& x) {
    return m.node("Reshape", {x, m.node("Constant", {}, {{"value_ints", Ints{3, -1}}})});
  }));
  cases.push_back(on_input("Int", {2, 3}, [](Model& m, const std::string& x) {
    return m.node("Gather", {x, m.node("Constant", {}, {{"value_int", Index{1}}})});
  }));
  // A subgraph of constants.
  cases.push_back(on_input("OfOperators", {2, 3}, [](Model& m, const std::string& x) {
    const std::string a = m.node("Exp", {m.constant({2, 3})}), b = m.node("Transpose", {m.constant({3, 2})});
    return m.node("Mul", {x, m.node("Softmax", {m.node("Div", {b, a})})});
  }));
  return cases;
}

/// Returns shape computations as exporters write them.
Cases chain_cases() {
  Cases cases;
  const auto dimension = [](Model& m, const std::string& x, Index axis) {
    return m.node("Gather", {m.node("Shape", {x}), m.integer(axis)});
  };
  const auto raised = [](Model& m, const std::string& scalar) {
    return m.opset() >= 13 ? m.node("Unsqueeze", {scalar, m.integers({0})})
                           : m.node("Unsqueeze", {scalar}, {{"axes", Ints{0}}});
  };
  for (const int opset : {11, 12, 13, 15, 17, 18, 21, 23}) {
    const std::string suffix = "_opset" + std::to_string(opset);
    cases.push_back(on_input(
        "FlattenByShape" + suffix, {2, 3, 4, 5},
        [=](Model& m, const std::string& x) {
          const std::string to =
              m.node("Concat", {raised(m, dimension(m, x, 0)), m.integers({-1})}, {{"axis", Index{0}}});
          return m.node("Reshape", {m.node("Relu", {x}), to});
        },
        opset));
    cases.push_back(on_input(
        "ChannelShuffle" + suffix, {1, 12, 5, 7},
        [=](Model& m, const std::string& x) {
          const std::string n = dimension(m, x, 0), c = dimension(m, x, 1), h = dimension(m, x, 2),
                            w = dimension(m, x, 3);
          const std::string half = m.node("Div", {c, m.integer(2)});
          const auto list = [&](const Names& from) {
            Names vectors;
            for (const std::string& scalar : from) vectors.push_back(raised(m, scalar));
            return m.node("Concat", vectors, {{"axis", Index{0}}});
          };
          const std::string split = m.node("Reshape", {x, list({n, m.integer(2), half, h, w})});
          const std::string turned = m.node("Transpose", {split}, {{"perm", Ints{0, 2, 1, 3, 4}}});
          return m.node("Reshape", {turned, list({n, c, h, w})});
        },
        opset));
    // torch.chunk(2, dim=1)
    cases.push_back(on_input(
        "ChunkByShape" + suffix, {1, 10, 5, 7},
        [=](Model& m, const std::string& x) {
          const std::string half = m.node("Div", {m.node("Add", {dimension(m, x, 1), m.integer(1)}), m.integer(2)});
          const std::string cut = raised(m, m.node("Mul", {half, m.integer(1)})),
                            end = raised(m, m.node("Mul", {half, m.integer(2)}));
          const std::string one = m.integers({1});
          const std::string first = m.node("Slice", {x, m.integers({0}), cut, one}),
                            second = m.node("Slice", {x, cut, end, one});
          return m.node("Concat", {second, first}, {{"axis", Index{1}}});
        },
        opset));
    // The shape is used as data.
    cases.push_back(on_input(
        "ScaleOfShape" + suffix, {1, 3, 5, 7},
        [=](Model& m, const std::string& x) {
          const std::string shape = m.node("Cast", {m.node("Shape", {x})}, {{"to", to_float}});
          return m.node("Div", {x, m.node("Sqrt", {m.node("Gather", {shape, m.integer(3)})})});
        },
        opset));
    cases.push_back(on_input(
        "ThereAndBack" + suffix, {1, 6, 5, 7},
        [=](Model& m, const std::string& x) {
          const std::string real = m.node("Cast", {dimension(m, x, 1)}, {{"to", to_float}});
          // 6 / 4 is truncated to 1.
          const std::string third = m.node("Cast", {m.node("Div", {real, m.floats({}, {4})})}, {{"to", to_int64}});
          const std::string to =
              m.node("Concat", {m.integers({0}), raised(m, third), m.integers({6, -1})}, {{"axis", Index{0}}});
          return m.node("Reshape", {x, to});
        },
        opset));
    cases.push_back(on_input(
        "SqueezedSlice" + suffix, {1, 6, 5, 7},
        [=](Model& m, const std::string& x) {
          const std::string piece =
              m.node("Slice", {m.node("Shape", {x}), m.integers({2}), m.integers({3}), m.integers({0})});
          const std::string scalar = m.opset() >= 13 ? m.node("Squeeze", {piece, m.integers({0})})
                                                     : m.node("Squeeze", {piece}, {{"axes", Ints{0}}});
          const std::string last = m.node("Sub", {scalar, m.integer(1)});
          return m.node("Gather", {x, last}, {{"axis", Index{2}}});
        },
        opset));
  }
  cases.push_back(on_input(
      "ShapeFrom", {2, 3, 4, 5},
      [](Model& m, const std::string& x) {
        const std::string to =
            m.node("Concat", {m.integers({-1}), m.node("Shape", {x}, {{"start", Index{-2}}})}, {{"axis", Index{0}}});
        return m.node("Reshape", {x, to});
      },
      15));
  cases.push_back(on_input(
      "ShapeFromTo", {2, 3, 4, 5},
      [](Model& m, const std::string& x) {
        const std::string middle = m.node("Shape", {x}, {{"start", Index{1}}, {"end", Index{-1}}});
        const std::string to = m.node("Concat", {middle, m.integers({-1})}, {{"axis", Index{0}}});
        return m.node("Reshape", {x, to});
      },
      17));
  cases.push_back({"BatchByName", [=] {
                     Model m(61, 13);
                     const std::string x = m.batch_input({1, 3, 4, 5});
                     const std::string to =
                         m.node("Concat", {raised(m, dimension(m, x, 0)), m.integers({-1})}, {{"axis", Index{0}}});
                     m.output(m.node("Reshape", {x, to}));
                     return m;
                   }});
  cases.push_back(on_input("GlobalMeanThenGemm", {1, 16, 5, 7}, [](Model& m, const std::string& x) {
    const std::string mean =
        m.node("ReduceMean", {m.node("Relu", {x})}, {{"axes", Ints{2, 3}}, {"keepdims", Index{0}}});
    return m.node("Gemm", {mean, m.constant({10, 16}), m.constant({10})}, {{"transB", Index{1}}});
  }));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Concat, OnnxOperator, testing::ValuesIn(covering(concat_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Reshape, OnnxOperator, testing::ValuesIn(covering(reshape_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Transpose, OnnxOperator, testing::ValuesIn(covering(transpose_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Slice, OnnxOperator, testing::ValuesIn(covering(slice_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Split, OnnxOperator, testing::ValuesIn(covering(split_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Pad, OnnxOperator, testing::ValuesIn(covering(pad_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Resize, OnnxOperator, testing::ValuesIn(covering(resize_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Constant, OnnxOperator, testing::ValuesIn(covering(constant_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Chain, OnnxOperator, testing::ValuesIn(covering(chain_cases())), name_of);

} // namespace
} // namespace rtexec::test
