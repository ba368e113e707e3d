// Tests operators that move elements according to indices, repeat them, or make tensors, against the oracle.
#include "test/tasks/onnx_oracle/cases.hpp"

#include <algorithm>
#include <numeric>

namespace rtexec::test {
namespace {

std::string as_floats(Model& m, const std::string& x) { return m.node("Cast", {x}, {{"to", as_float}}); }

/// Returns indices of an axis of `extent` elements, including negative ones, as a constant or as an input.
std::string indices(Model& m, const Ints& shape, Index extent, bool constant, Kind kind = Kind::int64) {
  const Range range{static_cast<double>(-extent), static_cast<double>(extent - 1)};
  return constant ? m.integer_constant(shape, range, kind) : m.integer_input(shape, range, kind);
}

std::string name_of_source(bool constant, Kind kind) {
  return std::string(constant ? "_constant" : "_variable") + (kind == Kind::int32 ? "_int32" : "");
}

Cases gather_cases() {
  Cases cases;
  for (const bool constant : {true, false})
    for (const Kind kind : {Kind::int64, Kind::int32})
      for (const Index axis : {0, 1, 2, -1, -3})
        for (const Ints& shape : {Ints{}, Ints{1}, Ints{7}, Ints{2, 3}, Ints{1, 2, 2}})
          cases.push_back(
              make_case("axis" + list_name({axis}) + "_by_" + shape_name(shape) + name_of_source(constant, kind), 13,
                        [=](Model& m) {
                          const Index extent = Ints{5, 4, 9}[static_cast<std::size_t>((axis + 3) % 3)];
                          const std::string x = m.input({5, 4, 9});
                          return m.node("Gather", {x, indices(m, shape, extent, constant, kind)}, {{"axis", axis}});
                        }));
  cases.push_back(make_case("Embedding", 13, [](Model& m) {
    return m.node("Gather", {m.constant({101, 24}), m.integer_input({2, 7}, {0, 100})});
  }));
  cases.push_back(make_case("OfAVector", 13, [](Model& m) {
    return m.node("Gather", {m.input({33}), m.integer_input({4}, {-33, 32})});
  }));
  for (const Ints& shape : {Ints{}, Ints{1}, Ints{4}, Ints{2, 3}})
    for (const bool constant : {true, false})
      cases.push_back(make_case(
          "OfAConstantVector_by_" + shape_name(shape) + name_of_source(constant, Kind::int64), 13, [=](Model& m) {
            const std::string values = m.constant({33}), x = m.input({5, 1, 1});
            return m.node("Mul", {x, m.node("Gather", {values, indices(m, shape, 33, constant)})});
          }));
  return cases;
}

Cases gather_elements_cases() {
  Cases cases;
  for (const bool constant : {true, false})
    for (const Kind kind : {Kind::int64, Kind::int32})
      for (const int opset : {11, 13})
        for (const auto& [shape, taken, axis] : {std::tuple{Ints{3, 5}, Ints{3, 5}, 0},
                                                 {Ints{3, 5}, Ints{3, 5}, 1},
                                                 {Ints{3, 5}, Ints{2, 4}, -1},
                                                 {Ints{3, 5}, Ints{7, 5}, 0},
                                                 {Ints{9}, Ints{4}, 0},
                                                 {Ints{2, 3, 4, 5}, Ints{2, 3, 8, 5}, 2},
                                                 {Ints{2, 3, 4, 5}, Ints{1, 2, 3, 9}, -1},
                                                 {Ints{1, 1}, Ints{1, 1}, 0}})
          cases.push_back(make_case(
              shape_name(shape) + "_by_" + shape_name(taken) + "_axis" + list_name({axis}) +
                  name_of_source(constant, kind),
              opset, [=, shape = shape, taken = taken, axis = Index{axis}](Model& m) {
                const Index extent = shape[static_cast<std::size_t>(axis < 0 ? axis + std::ssize(shape) : axis)];
                const std::string x = m.input(shape);
                return m.node("GatherElements", {x, indices(m, taken, extent, constant, kind)}, {{"axis", axis}});
              }));
  return cases;
}

/// Returns cases in which every dimension has the same extent, so that any index is valid everywhere.
Cases gather_nd_cases() {
  Cases cases;
  for (const bool constant : {true, false})
    for (const int opset : {11, 12, 13})
      for (const auto& [rank, shape, batch] : {std::tuple{2, Ints{2, 2}, 0},
                                               {2, Ints{3, 1}, 0},
                                               {3, Ints{2}, 0},
                                               {3, Ints{4, 2}, 0},
                                               {3, Ints{4, 3}, 0},
                                               {3, Ints{2, 1, 2}, 0},
                                               {4, Ints{3, 2, 2}, 0},
                                               {3, Ints{4, 1}, 1},
                                               {3, Ints{4, 2}, 1},
                                               {3, Ints{4, 5, 1}, 1},
                                               {4, Ints{4, 4, 1}, 2},
                                               {4, Ints{4, 4, 3, 2}, 2},
                                               {1, Ints{5, 1}, 0}}) {
        if (batch > 0 && opset < 12) continue;
        cases.push_back(make_case("of" + std::to_string(rank) + "_by_" + shape_name(shape) + "_batch" +
                                      std::to_string(batch) + name_of_source(constant, Kind::int64),
                                  opset, [=, rank = rank, shape = shape, batch = batch](Model& m) {
                                    Attributes attributes;
                                    if (batch > 0) attributes["batch_dims"] = Index{batch};
                                    const std::string x = m.input(Ints(static_cast<std::size_t>(rank), 4));
                                    return m.node("GatherND", {x, indices(m, shape, 4, constant)}, attributes);
                                  }));
      }
  return cases;
}

struct Reduction {
  std::string name;
  int opset = 11;
};
const std::vector<Reduction> reductions{{"", 11},    {"", 13},    {"none", 16}, {"none", 18}, {"add", 16},
                                        {"mul", 16}, {"add", 18}, {"mul", 18},  {"max", 18},  {"min", 18}};

Attributes how(const Reduction& reduction) {
  return reduction.name.empty() ? Attributes{} : Attributes{{"reduction", reduction.name}};
}
/// True if duplicate indices are allowed: only if updates are reduced.
bool may_meet(const Reduction& reduction) { return !reduction.name.empty() && reduction.name != "none"; }

/// Returns `lines` times 0, 1, ... in random order, sometimes counted from the end.
Ints shuffled(Index lines, Index count, Index extent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Ints all;
  for (Index line = 0; line < lines; ++line) {
    Ints order(static_cast<std::size_t>(extent));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    for (Index i = 0; i < count; ++i) {
      const Index index = order[static_cast<std::size_t>(i)];
      all.push_back(random() % 3 == 0 ? index - extent : index);
    }
  }
  return all;
}

Cases scatter_elements_cases() {
  Cases cases;
  for (const Reduction& reduction : reductions)
    for (const bool constant : {true, false})
      for (const auto& [shape, updated] : {std::pair{Ints{9}, Ints{4}},
                                           {Ints{3, 5}, Ints{3, 5}},
                                           {Ints{3, 5}, Ints{2, 3}},
                                           {Ints{1, 1}, Ints{1, 1}},
                                           {Ints{2, 3, 8}, Ints{2, 2, 7}},
                                           {Ints{2, 3, 4, 33}, Ints{1, 3, 4, 31}}})
        for (const Index axis : {0, -1})
          cases.push_back(make_case(shape_name(shape) + "_by_" + shape_name(updated) + "_axis" + list_name({axis}) +
                                        "_" + reduction.name + name_of_source(constant, Kind::int64),
                                    reduction.opset, [=, shape = shape, updated = updated](Model& m) {
                                      const std::size_t at = axis == 0 ? 0 : shape.size() - 1;
                                      const Index count = updated[at], lines = product(updated) / count;
                                      // Along the last axis, one line each. Along the first, all get the same.
                                      const Ints along = shuffled(axis == 0 ? 1 : lines, count, shape[at], 3);
                                      Array where(updated, Kind::int64);
                                      for (Index i = 0; i < where.size(); ++i)
                                        where[i] = static_cast<double>(
                                            along[static_cast<std::size_t>(axis == 0 ? i / lines : i)]);
                                      const std::string x = m.input(shape);
                                      std::string index;
                                      if (may_meet(reduction)) index = indices(m, updated, shape[at], constant);
                                      else index = constant ? m.constant(where) : m.input(where);
                                      Attributes attributes = how(reduction);
                                      attributes["axis"] = axis;
                                      return m.node("ScatterElements", {x, index, m.input(updated)}, attributes);
                                    }));
  return cases;
}

Cases scatter_nd_cases() {
  Cases cases;
  for (const Reduction& reduction : reductions)
    for (const bool constant : {true, false})
      for (const auto& [shape, tuple] : {std::pair{Ints{9}, 1},
                                         {Ints{5, 7}, 1},
                                         {Ints{5, 7}, 2},
                                         {Ints{4, 3, 8}, 1},
                                         {Ints{4, 3, 8}, 2},
                                         {Ints{4, 3, 8}, 3},
                                         {Ints{1, 2, 5, 6}, 3},
                                         {Ints{1}, 1}})
        cases.push_back(
            make_case(shape_name(shape) + "_by" + std::to_string(tuple) + "_" + reduction.name +
                          name_of_source(constant, Kind::int64),
                      reduction.opset, [=, shape = shape, tuple = Index{tuple}](Model& m) {
                        const Ints outer(shape.begin(), shape.begin() + tuple);
                        const Index all = product(outer), count = (all + 1) / 2;
                        const Ints chosen = shuffled(1, may_meet(reduction) ? all : count, all, 5);
                        Array where({count, tuple}, Kind::int64);
                        for (Index i = 0; i < count; ++i) {
                          Index left = chosen[static_cast<std::size_t>(may_meet(reduction) ? i / 2 : i)];
                          if (left < 0) left += all;
                          for (Index d = tuple; d-- > 0;) {
                            where[i * tuple + d] = static_cast<double>(left % outer[static_cast<std::size_t>(d)]);
                            left /= outer[static_cast<std::size_t>(d)];
                          }
                        }
                        Ints updates{count};
                        updates.insert(updates.end(), shape.begin() + tuple, shape.end());
                        return m.node("ScatterND",
                                      {m.input(shape), constant ? m.constant(where) : m.input(where), m.input(updates)},
                                      how(reduction));
                      }));
  return cases;
}

Cases repeat_cases() {
  Cases cases;
  for (const int opset : {11, 13}) {
    for (const auto& [shape, to] : {std::pair{Ints{3, 1}, Ints{3, 4}},
                                    {Ints{3, 1}, Ints{2, 1, 6}},
                                    {Ints{1}, Ints{33}},
                                    {Ints{}, Ints{2, 3}},
                                    {Ints{2, 1, 5, 1}, Ints{2, 3, 1, 7}},
                                    {Ints{4, 5}, Ints{1, 1}},
                                    {Ints{4, 5}, Ints{4, 5}},
                                    {Ints{1, 8, 1, 1}, Ints{1, 8, 5, 3}},
                                    {Ints{5}, Ints{}},
                                    {Ints{1, 2, 1, 2, 1}, Ints{3, 2, 3, 2, 3}}})
      cases.push_back(make_case("Expand_" + shape_name(shape) + "_to_" + shape_name(to), opset,
                                [=, shape = shape, to = to](Model& m) {
                                  return m.node("Expand", {m.input(shape), m.integers(to)});
                                }));
    for (const auto& [shape, times] : {std::pair{Ints{3}, Ints{2}},
                                       {Ints{2, 3}, Ints{1, 1}},
                                       {Ints{2, 3}, Ints{3, 1}},
                                       {Ints{2, 3}, Ints{1, 3}},
                                       {Ints{2, 3}, Ints{2, 2}},
                                       {Ints{2, 3, 4, 5}, Ints{1, 2, 3, 1}},
                                       {Ints{1, 1, 7}, Ints{5, 1, 3}},
                                       {Ints{1}, Ints{33}},
                                       {Ints{2, 3, 1, 2, 2}, Ints{1, 2, 2, 1, 3}}})
      cases.push_back(make_case("Tile_" + shape_name(shape) + "_times" + list_name(times), opset,
                                [=, shape = shape, times = times](Model& m) {
                                  return m.node("Tile", {m.input(shape), m.integers(times)});
                                }));
    cases.push_back(make_case("Expand_to_the_shape_of_another", opset, [](Model& m) {
      const std::string y = m.input({2, 3, 5, 7});
      return m.node("Add", {y, m.node("Expand", {m.input({1, 3, 1, 1}), m.node("Shape", {y})})});
    }));
  }
  return cases;
}

Cases range_cases() {
  Cases cases;
  for (const auto& [start, limit, delta] : {std::tuple{0, 9, 1}, {3, 9, 3}, {10, 4, -2}, {0, 1, 1}, {-5, 6, 4}}) {
    const std::string name = list_name({start, limit, delta});
    cases.push_back(make_case("Whole" + name, 11, [=, start = start, limit = limit, delta = delta](Model& m) {
      const std::string all = m.node("Range", {m.integer(start), m.integer(limit), m.integer(delta)});
      return m.node("Add", {as_floats(m, all), m.input({1})});
    }));
    cases.push_back(make_case("Floats" + name, 11, [=, start = start, limit = limit, delta = delta](Model& m) {
      const auto scalar = [&](int value) { return m.floats({}, {static_cast<float>(value) * 0.5F}); };
      const std::string from = scalar(start), to = scalar(limit), by = scalar(delta);
      return m.node("Add", {m.node("Range", {from, to, by}), m.input({1})});
    }));
  }
  cases.push_back(make_case("OfALength", 13, [](Model& m) { // as positions are computed
    const std::string x = m.input({2, 7, 5});
    const std::string length = m.node("Gather", {m.node("Shape", {x}), m.integer(1)});
    const std::string positions = m.node("Range", {m.integer(0), length, m.integer(1)});
    return m.node("Add", {x, m.node("Gather", {m.constant({16, 5}), positions})});
  }));
  return cases;
}

/// Returns what exporters write for operations that depend on a shape unknown to them.
std::string flat_if_one(Model& m, const std::string& x) {
  const std::string length = m.node("Gather", {m.node("Shape", {x}), m.integer(-1)});
  return m.choice(
      m.node("Equal", {length, m.integer(1)}), [&] { return m.node("Flatten", {x}); },
      [&] { return m.node("Identity", {x}); });
}

Cases choice_cases() {
  Cases cases;
  for (const Index last : {1, 4}) {
    cases.push_back(make_case("Flatten" + std::to_string(last), 13, [=](Model& m) {
      return m.node("Relu", {flat_if_one(m, m.input({3, 5, last}))});
    }));
    cases.push_back(make_case("Nested" + std::to_string(last), 16, [=](Model& m) {
      const std::string x = m.input({3, 1, last});
      return m.choice(
          m.bool_constant({1}), [&] { return m.node("Sigmoid", {flat_if_one(m, m.node("Neg", {x}))}); },
          [&] { return flat_if_one(m, flat_if_one(m, x)); });
    }));
    cases.push_back(make_case("OfWhatIsAround" + std::to_string(last), 13, [=](Model& m) {
      const std::string x = m.input({3, last}), y = m.node("Relu", {x});
      const std::string chosen = m.choice(
          m.constant(integers_of({}, {last - 1}, Kind::boolean)), [&] { return x; }, [&] { return y; });
      return m.node("Add", {m.node("Exp", {chosen}), y});
    }));
    cases.push_back(make_case("OfAShape" + std::to_string(last), 13, [=](Model& m) {
      const std::string x = m.input({3, 2, last}), shape = m.node("Shape", {x});
      const std::string length = m.node("Gather", {shape, m.integer(2)});
      const std::string wanted = m.choice(
          m.node("Equal", {length, m.integer(1)}),
          [&] {
            return m.integers({2, -1});
          },
          [&] {
            return m.node("Slice", {shape, m.integers({0}), m.integers({2})});
          });
      return m.node("Relu", {m.node("Reshape", {m.node("ReduceMean", {x}, {{"axes", Ints{2}}}), wanted})});
    }));
  }
  return cases;
}

/// Returns tensors that depend only on shapes and constants.
Cases made_cases() {
  Cases cases;
  for (const int opset : {11, 20, 24}) {
    cases.push_back(make_case("ConstantOfShape_zeros", opset, [](Model& m) {
      return m.node("Add", {m.input({3, 5}), m.node("ConstantOfShape", {m.integers({3, 5})})});
    }));
    cases.push_back(make_case("ConstantOfShape_value", opset, [](Model& m) {
      return m.node(
          "Mul", {m.input({3, 5}), m.node("ConstantOfShape", {m.integers({2, 1, 1})}, {{"value", vector_of({2.5})}})});
    }));
    cases.push_back(make_case("ConstantOfShape_of_a_shape", opset, [](Model& m) {
      const std::string x = m.input({2, 4});
      const std::string ones = m.node("ConstantOfShape", {m.node("Shape", {x})}, {{"value", integers_of({1}, {1})}});
      return m.node("Add", {x, as_floats(m, ones)});
    }));
    cases.push_back(make_case("ConstantOfShape_of_nothing", opset, [](Model& m) { // as pads are extended
      const std::string none = m.node("ConstantOfShape", {m.integers({0})}, {{"value", integers_of({1}, {0})}});
      const std::string pads = m.node("Concat", {m.integers({0, 1, 2, 0}), none}, {{"axis", Index{0}}});
      return m.node("Pad", {m.input({3, 5}), pads});
    }));
    cases.push_back(make_case("Size", opset, [](Model& m) {
      const std::string x = m.input({2, 4, 7});
      return m.node("Div", {x, as_floats(m, m.node("Size", {x}))});
    }));
  }
  for (const Ints& part : {Ints{0, 4}, Ints{1, 3}, Ints{-2, 4}, Ints{0, -1}, Ints{-3, -1}, Ints{2, 9}})
    cases.push_back(make_case("Shape" + list_name(part), 15, [=](Model& m) {
      const std::string shape = m.node("Shape", {m.input({2, 3, 4, 5})}, {{"start", part[0]}, {"end", part[1]}});
      return m.node("Mul", {as_floats(m, shape), m.input({1})});
    }));
  cases.push_back(make_case("NonZero", 13, [](Model& m) {
    const std::string found = m.node("NonZero", {m.floats({2, 3}, {0, 1, 2, 0, 0, -1})});
    return m.node("Add", {as_floats(m, found), m.input({1})});
  }));
  cases.push_back(make_case("NonZero_of_ones", 13, [](Model& m) { // PyTorch's way of listing all indices
    const std::string ones = m.node("ConstantOfShape", {m.integers({5})}, {{"value", integers_of({1}, {1})}});
    const std::string all = m.node("Transpose", {m.node("NonZero", {ones})}, {{"perm", Ints{1, 0}}});
    return m.node("Gather", {m.input({9, 3}), m.node("Reshape", {all, m.integers({-1})})});
  }));
  for (const Index k : {0, 1, -2})
    for (const int opset : {11, 22})
      cases.push_back(make_case("EyeLike" + list_name({k}), opset, [=](Model& m) {
        const std::string x = m.input({4, 6});
        return m.node("Add", {x, m.node("EyeLike", {x}, {{"k", k}})});
      }));
  cases.push_back(make_case("EyeLike_dtype", 22, [](Model& m) {
    return m.node("EyeLike", {m.constant(integers_of({3, 3}, Ints(9, 0)))}, {{"dtype", as_float}});
  }));
  return cases;
}

Cases one_hot_cases() {
  Cases cases;
  for (const bool constant : {true, false})
    for (const Ints& shape : {Ints{1}, Ints{7}, Ints{2, 3}, Ints{2, 1, 4}})
      for (Index axis = -1; axis <= std::ssize(shape); ++axis)
        for (const Index depth : {1, 5, 33})
          cases.push_back(make_case(
              shape_name(shape) + "_axis" + list_name({axis}) + "_of" + std::to_string(depth) +
                  name_of_source(constant, Kind::int64),
              11, [=](Model& m) {
                const std::string index = indices(m, shape, depth, constant);
                return m.node("OneHot", {index, m.integer(depth), m.floats({2}, {-0.5F, 2})}, {{"axis", axis}});
              }));
  cases.push_back(make_case("Outside", 11, [](Model& m) {
    const std::string index = m.input(integers_of({6}, {0, 3, 4, -4, -5, 99}));
    return m.node("OneHot", {index, m.integers({4}), m.floats({2}, {0, 1})});
  }));
  return cases;
}

Cases compress_cases() {
  Cases cases;
  for (const bool constant : {true, false})
    for (const Index time : {0, 1})
      cases.push_back(
          make_case("ReverseSequence" + list_name({time}) + (constant ? "" : "_run_time"), 11, [=](Model& m) {
            const std::string x = m.input(time == 0 ? Ints{6, 3, 2} : Ints{3, 6, 2});
            const Array lengths = integers_of({3}, {6, 1, 4});
            return m.node("ReverseSequence", {x, constant ? m.constant(lengths) : m.input(lengths)},
                          {{"time_axis", time}, {"batch_axis", 1 - time}});
          }));
  const auto condition = [](Model& m, const Ints& values) {
    return m.constant(integers_of({static_cast<Index>(values.size())}, values, Kind::boolean));
  };
  for (const Index axis : {0, 1, -1, -3})
    cases.push_back(make_case("axis" + list_name({axis}), 11, [=](Model& m) {
      return m.node("Compress", {m.input({4, 5, 6}), condition(m, {1, 0, 1, 1})}, {{"axis", axis}});
    }));
  cases.push_back(make_case("flat", 11, [=](Model& m) {
    return m.node("Compress", {m.input({2, 3}), condition(m, {0, 1, 1, 0, 1})});
  }));
  cases.push_back(make_case("all", 11, [=](Model& m) {
    return m.node("Compress", {m.input({3, 7}), condition(m, {1, 1, 1})}, {{"axis", Index{0}}});
  }));
  return cases;
}

Cases triangle_cases() {
  Cases cases;
  for (const Index upper : {0, 1})
    for (const Ints& shape : {Ints{5, 5}, Ints{3, 8}, Ints{8, 3}, Ints{2, 3, 4, 5}, Ints{1, 1}, Ints{2, 1, 7}}) {
      const std::string name = std::string(upper == 1 ? "upper_" : "lower_") + shape_name(shape);
      cases.push_back(of_one_input(name, 14, "Trilu", shape, {{"upper", upper}}));
      for (const Index k : {0, 1, -1, 3, -3, 20, -20})
        cases.push_back(make_case(name + list_name({k}), 14, [=](Model& m) {
          return m.node("Trilu", {m.input(shape), m.integer(k)}, {{"upper", upper}});
        }));
    }
  return cases;
}

Cases depth_cases() {
  Cases cases;
  for (const int opset : {11, 13}) {
    for (const Index block : {1, 2, 3})
      for (const Ints& shape : {Ints{1, 36, 1, 1}, Ints{2, 36, 3, 5}, Ints{1, 72, 4, 7}})
        for (const std::string mode : {"DCR", "CRD", ""})
          cases.push_back(of_one_input(
              "DepthToSpace_" + shape_name(shape) + "_by" + std::to_string(block) + mode, opset, "DepthToSpace", shape,
              mode.empty() ? Attributes{{"blocksize", block}} : Attributes{{"blocksize", block}, {"mode", mode}}));
    for (const Index block : {1, 2, 3})
      for (const Ints& shape : {Ints{1, 3, 6, 12}, Ints{2, 5, 6, 6}, Ints{1, 1, 18, 6}})
        cases.push_back(of_one_input("SpaceToDepth_" + shape_name(shape) + "_by" + std::to_string(block), opset,
                                     "SpaceToDepth", shape, {{"blocksize", block}}));
  }
  cases.push_back(make_case("PixelShuffle_by_transposes", 13, [](Model& m) { // as older exporters write it
    const std::string split = m.node("Reshape", {m.input({1, 12, 5, 4}), m.integers({1, 3, 2, 2, 5, 4})});
    const std::string turned = m.node("Transpose", {split}, {{"perm", Ints{0, 1, 4, 2, 5, 3}}});
    return m.node("Reshape", {turned, m.integers({1, 3, 10, 8})});
  }));
  cases.push_back(make_case("ChannelShuffle", 13, [](Model& m) {
    const std::string split = m.node("Reshape", {m.input({1, 12, 5, 4}), m.integers({1, 3, 4, 5, 4})});
    const std::string turned = m.node("Transpose", {split}, {{"perm", Ints{0, 2, 1, 3, 4}}});
    return m.node("Reshape", {turned, m.integers({1, 12, 5, 4})});
  }));
  return cases;
}

/// Returns cases with constant boxes, so that the number of chosen ones is known beforehand.
Cases suppression_cases() {
  Cases cases;
  for (const Index center : {0, 1})
    for (const Index most : {1, 3, 20})
      for (const float overlap : {0.0F, 0.3F, 0.7F, 1.0F})
        for (const bool threshold : {false, true})
          cases.push_back(
              make_case(std::string(center == 1 ? "centres" : "corners") + list_name({most}) + "_iou" +
                            std::to_string(static_cast<int>(overlap * 10)) + (threshold ? "_score" : ""),
                        11, [=](Model& m) {
                          Names from{m.constant({2, 16, 4}, {0.1, 1}), m.constant({2, 3, 16}, {0, 1}),
                                     m.integers({most}), m.floats({1}, {overlap})};
                          if (threshold) from.push_back(m.floats({1}, {0.4F}));
                          const std::string chosen = m.node("NonMaxSuppression", from, {{"center_point_box", center}});
                          return m.node("Add", {as_floats(m, chosen), m.input({1})});
                        }));
  return cases;
}

INSTANTIATE_TEST_SUITE_P(GatherConstant, OnnxOperator, testing::ValuesIn(covering(gather_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(GatherElements, OnnxOperator, testing::ValuesIn(covering(gather_elements_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(GatherND, OnnxOperator, testing::ValuesIn(covering(gather_nd_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ScatterElements, OnnxOperator, testing::ValuesIn(covering(scatter_elements_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(ScatterND, OnnxOperator, testing::ValuesIn(covering(scatter_nd_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Repeat, OnnxOperator, testing::ValuesIn(covering(repeat_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Range, OnnxOperator, testing::ValuesIn(covering(range_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(If, OnnxOperator, testing::ValuesIn(covering(choice_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Made, OnnxOperator, testing::ValuesIn(covering(made_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(OneHot, OnnxOperator, testing::ValuesIn(covering(one_hot_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Compress, OnnxOperator, testing::ValuesIn(covering(compress_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Trilu, OnnxOperator, testing::ValuesIn(covering(triangle_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(Depth, OnnxOperator, testing::ValuesIn(covering(depth_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(NonMaxSuppression, OnnxOperator, testing::ValuesIn(covering(suppression_cases())), name_of);

} // namespace
} // namespace rtexec::test
