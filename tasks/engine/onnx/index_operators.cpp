#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace rtexec::tasks::onnx_source {
namespace {

/// Returns a View if the indices are evenly spaced, and otherwise a Gather.
Operation gather_along(std::size_t axis, std::vector<std::int64_t> indices, const Shape& x) {
  if (indices.empty()) return GatherConstant{axis, {}};
  const auto step = indices.size() > 1 ? indices[1] - indices[0] : 0;
  for (std::size_t i = 1; i < indices.size(); ++i)
    if (indices[i] - indices[i - 1] != step) return GatherConstant{axis, std::move(indices)};
  View view{0, dense_strides(x)};
  view.offset = indices.front() * view.strides[axis];
  view.strides[axis] *= step;
  return view;
}

void gather(NodeContext& node) {
  const auto x = node.shape(0), wanted = node.shape(1);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", 0), x.size());
  Shape shape(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), wanted.begin(), wanted.end());
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
  if (!node.is_known(1))
    return node.set_output(node.emit(Gather{axis}, {node.tensor(0), node.indices(1)}, std::move(shape)));
  auto indices = checked_indices(node, node.ints(1, "the indices"), x[axis]);
  auto along = x;
  along[axis] = static_cast<std::int64_t>(indices.size());
  const auto taken = node.emit(gather_along(axis, std::move(indices), x), {node.tensor(0)}, std::move(along));
  node.set_output(wanted.size() == 1 ? taken : node.emit(Reshape{}, {taken}, std::move(shape)));
}

void gather_elements(NodeContext& node) {
  const auto x = node.shape(0), indices = node.shape(1);
  node.require(!x.empty() && x.size() == indices.size(), "its indices must have as many dimensions as its input");
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", 0), x.size());
  for (std::size_t d = 0; d < x.size(); ++d)
    node.require(d == axis || indices[d] <= x[d], "its indices are larger than its input");
  node.set_output(node.emit(GatherElements{axis}, {node.tensor(0), node.indices(1)}, indices));
}

void gather_slices(NodeContext& node) {
  const auto x = node.shape(0), indices = node.shape(1);
  const auto batch = node.attribute<std::int64_t>("batch_dims", 0);
  node.require(!indices.empty() && batch >= 0 && batch < static_cast<std::int64_t>(indices.size()),
               "its batch_dims do not match its indices");
  const auto first = static_cast<std::size_t>(batch);
  const auto depth = indices.back();
  node.require(depth >= 1 && batch + depth <= static_cast<std::int64_t>(x.size()), "its indices are too long");
  for (std::size_t d = 0; d < first; ++d) node.require(x[d] == indices[d], "its batches differ");
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), x.begin() + static_cast<std::ptrdiff_t>(batch + depth), x.end());
  node.set_output(node.emit(GatherND{first}, {node.tensor(0), node.indices(1)}, std::move(shape)));
}

Scatter::Kind reduction(NodeContext& node) {
  const auto name = node.attribute<std::string>("reduction", "none");
  if (name == "none") return Scatter::Kind::replace;
  if (name == "add") return Scatter::Kind::add;
  if (name == "mul") return Scatter::Kind::multiply;
  if (name == "min") return Scatter::Kind::minimum;
  if (name == "max") return Scatter::Kind::maximum;
  node.bad("reduction is " + config::quoted(name));
}

void put(NodeContext& node, Scatter put) {
  node.set_output(node.emit(put, {node.tensor(0), node.indices(1), node.tensor(2)}, node.shape(0)));
}

void scatter_elements(NodeContext& node) {
  const auto x = node.shape(0), indices = node.shape(1);
  node.require(!x.empty() && x.size() == indices.size() && indices == node.shape(2),
               "the shapes of its indices and updates do not match its input");
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", 0), x.size());
  for (std::size_t d = 0; d < x.size(); ++d)
    node.require(d == axis || indices[d] <= x[d], "its indices are larger than its input");
  put(node, {reduction(node), axis});
}

void scatter_slices(NodeContext& node) {
  const auto x = node.shape(0), indices = node.shape(1);
  if (node.is_empty(1)) { // some exporters write empty indices of any shape
    node.ignore_attribute("reduction");
    return node.set_output(node.emit(Reshape{}, {node.tensor(0)}, x));
  }
  node.require(!indices.empty() && indices.back() >= 1 && indices.back() <= static_cast<std::int64_t>(x.size()),
               "the shape of its indices does not match its input");
  Shape updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), x.begin() + static_cast<std::ptrdiff_t>(indices.back()), x.end());
  node.require(updates == node.shape(2), "the shape of its updates does not match its indices");
  put(node, {reduction(node), {}});
}

/// Returns x with its elements repeated along new or extended dimensions (broadcast).
TensorId repeated(NodeContext& node, TensorId x, const Shape& from, const Shape& to) {
  return node.emit(View{0, tasks::broadcast(from, dense_strides(from), to)}, {x}, to);
}

void expand(NodeContext& node) {
  const auto x = node.shape(0);
  const auto wanted = node.checked(node.ints(1, "the shape"));
  node.set_output(repeated(node, node.tensor(0), x, broadcast(node, x, wanted)));
}

/// Lowers Tile: expands each dimension d to [repeats, d], then merges both dimensions.
void tile(NodeContext& node) {
  const auto x = node.shape(0);
  const auto& repeats = node.ints(1, "the repeats");
  node.require(repeats.size() == x.size(), "it needs one number of repeats for each dimension");
  Shape shape;
  View view;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs; // length and stride of each dimension of the view
  const auto strides = dense_strides(x);
  for (std::size_t d = 0; d < x.size(); ++d) {
    node.require(repeats[d] >= 0 && repeats[d] <= max_elements / std::max<std::int64_t>(x[d], 1),
                 "a number of repeats is negative, or too large");
    shape.push_back(x[d] * repeats[d]);
    if (repeats[d] != 1) runs.emplace_back(repeats[d], 0);
    if (x[d] != 1 || repeats[d] == 1) runs.emplace_back(x[d], strides[d]);
  }
  shape = node.checked(std::move(shape));
  Shape long_shape;
  for (const auto& [length, stride] : runs) {
    long_shape.push_back(length);
    view.strides.push_back(stride);
  }
  const auto all = node.emit(std::move(view), {node.tensor(0)}, std::move(long_shape));
  node.set_output(node.emit(Reshape{}, {all}, std::move(shape)));
}

/// Returns the element of a constant scalar.
template <class T> T scalar_of(NodeContext& node, std::size_t input, const std::vector<T>& values) {
  if (values.size() != 1) node.bad("input " + node.name_of(input) + " must be a scalar");
  return values.front();
}

std::int64_t checked_length(NodeContext& node, double wanted) {
  if (!(wanted <= static_cast<double>(max_elements)))
    node.unsupported("it has more than " + std::to_string(max_elements) + " elements; split the range");
  return static_cast<std::int64_t>(std::max(wanted, 0.0));
}

/// Returns the number of values start, start + step, and so on that precede `limit`. `limit` itself does not count.
std::uint64_t steps_between(std::int64_t start, std::int64_t limit, std::int64_t step) {
  const bool up = step > 0;
  if (up ? start >= limit : start <= limit) return 0;
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(limit),
             by = static_cast<std::uint64_t>(step);
  return ((up ? to - from : from - to) - 1) / (up ? by : 0 - by) + 1;
}

void range_of_integers(NodeContext& node) {
  const auto one = [&](std::size_t input) { return scalar_of(node, input, node.ints(input, "a bound or the step")); };
  const auto start = one(0), limit = one(1), step = one(2);
  node.require(step != 0, "its step is 0");
  const auto count = checked_length(node, static_cast<double>(steps_between(start, limit, step)));
  const auto type = node.element_type(0);
  Integers values(type, node.reserve({count}, stored_size(type)));
  auto next = static_cast<std::uint64_t>(start);
  for (std::size_t i = 0; i < values.size(); ++i, next += static_cast<std::uint64_t>(step))
    values.set(i, static_cast<std::int64_t>(next));
  node.set_constant({{count}, std::move(values)});
}

void range(NodeContext& node) {
  node.ignore_attribute("stash_type"); // stash_type is the type used for computing, which is always float32 here
  if (is_integer(node.element_type(0))) return range_of_integers(node);
  const auto one = [&](std::size_t input) {
    return static_cast<double>(scalar_of(node, input, node.floats(input, "a bound or the step")));
  };
  const double start = one(0), limit = one(1), step = one(2);
  node.require(step != 0, "its step is 0");
  const auto count = checked_length(node, std::ceil((limit - start) / step));
  std::vector<float> values(node.reserve({count}));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(start + static_cast<double>(i) * step);
  node.set_constant({{count}, std::move(values)});
}

void eye(NodeContext& node) {
  const auto x = node.shape_of_rank(0, 2);
  const auto k = node.attribute<std::int64_t>("k", 0);
  const auto type = node.has_attribute("dtype") ? data_type(node, "dtype") : node.element_type(0);
  const auto diagonal = node.filled(x, ElementType::boolean, [&](std::int64_t i) { return i % x[1] - i / x[1] == k; });
  node.set_output(node.cast(diagonal, type));
}

/// Lowers Trilu, which keeps the elements on one side of a diagonal, and sets all others to zero.
void triangle(NodeContext& node) {
  const auto x = node.shape(0);
  node.require(x.size() >= 2, "its input has fewer than two dimensions");
  const bool upper = node.attribute<std::int64_t>("upper", 1) != 0;
  const auto k = node.has(1) ? node.integer(1, "k") : 0;
  const auto rows = x[x.size() - 2], columns = x.back();
  const auto kept = node.filled({rows, columns}, ElementType::boolean, [&](std::int64_t i) {
    const auto diagonal = i % columns - i / columns;
    return upper ? diagonal >= k : diagonal <= k;
  });
  const auto zero = node.scalar(0, node.element_type(0));
  node.set_output(node.emit(Where{}, {kept, node.tensor(0), zero}, x, node.element_type(0)));
}

// ---- selections that depend on values, which must be known when the model is loaded

/// Returns the elements of a constant as booleans: true for all values but zero.
std::vector<bool> truths(NodeContext& node, std::size_t input, const char* role) {
  if (!node.is_known(input))
    node.unsupported(std::string(role) +
                     " is computed at run time, so the size of the output is not known when the model is loaded; use "
                     "Where, or TopK with a fixed number, instead");
  std::vector<bool> truths;
  if (is_integer(node.element_type(input)))
    for (const auto value : node.ints(input, role)) truths.push_back(value != 0);
  else
    for (const auto value : node.floats(input, role)) truths.push_back(value != 0);
  return truths;
}

void compress(NodeContext& node) {
  const auto condition = truths(node, 1, "the condition");
  auto shape = node.shape(0);
  auto x = node.tensor(0);
  std::size_t axis = 0;
  if (node.has_attribute("axis")) axis = node.axis(node.attribute<std::int64_t>("axis"), shape.size());
  else x = node.emit(Reshape{}, {x}, shape = {element_count(shape)});
  node.require(std::ssize(condition) <= shape[axis], "its condition is longer than its input");
  GatherConstant gather{axis, {}};
  for (std::size_t i = 0; i < condition.size(); ++i)
    if (condition[i]) gather.indices.push_back(static_cast<std::int64_t>(i));
  shape[axis] = std::ssize(gather.indices);
  node.set_output(node.emit(std::move(gather), {x}, std::move(shape), node.element_type(0)));
}

/// Lowers NonZero, which returns the indices of all non-zero elements, one row for each dimension.
void non_zero(NodeContext& node) {
  const auto shape = node.shape(0);
  const auto truth = truths(node, 0, "its input");
  node.charge(truth.size() * shape.size(), sizeof(std::int64_t));
  const auto strides = dense_strides(shape);
  std::vector<std::int64_t> values;
  for (std::size_t d = 0; d < shape.size(); ++d)
    for (std::size_t i = 0; i < truth.size(); ++i)
      if (truth[i]) values.push_back(static_cast<std::int64_t>(i) / strides[d] % shape[d]);
  const auto count = std::ranges::count(truth, true);
  node.set_constant({{std::ssize(shape), count}, std::move(values)});
}

/// Sets the output to the rows of `rows`, a constant [count, 3], that describe kept boxes. Unused rows hold -1, and are
/// left out.
void set_rows(NodeContext& node, const Integers& rows) {
  std::vector<std::int64_t> values(rows.begin(), rows.end());
  std::erase(values, -1);
  node.set_constant({{std::ssize(values) / 3, 3}, std::move(values)});
}

void suppress(NodeContext& node) {
  const auto boxes = node.shape_of_rank(0, 3), scores = node.shape_of_rank(1, 3);
  node.require(boxes[0] == scores[0] && boxes[1] == scores[2] && boxes[2] == 4,
               "the shapes of its boxes and scores do not match");
  const auto threshold = [&](std::size_t input, const char* role) {
    const auto& values = node.floats(input, role);
    node.require(values.size() == 1, "its thresholds must be scalars");
    return values.front();
  };
  NonMaxSuppression suppression;
  const auto most = node.has(2) ? node.ints(2, "the number of boxes") : std::vector<std::int64_t>{0};
  node.require(most.size() == 1, "its number of boxes must be a scalar");
  suppression.most = std::clamp<std::int64_t>(most.front(), 0, boxes[1]);
  if (node.has(3)) suppression.overlap = threshold(3, "the overlap");
  if (node.has(4)) suppression.score = threshold(4, "the least score");
  suppression.centred = node.attribute<std::int64_t>("center_point_box", 0) != 0;
  const auto chosen = node.emit(suppression, {node.tensor(0), node.tensor(1)},
                                {scores[0] * scores[1] * suppression.most, 3}, ElementType::int64);
  if (node.is_constant(chosen) || element_count(node.shape_of(chosen)) == 0)
    return set_rows(node, node.integers_of(chosen));
  if (node.is_read_by_nodes(0))
    node.unsupported(
        "the number of boxes is known only at run time, but other nodes read them; make them an output of the network, "
        "and process the boxes after it");
  node.set_output(chosen);
}

/// Lowers ReverseSequence, which reverses each sequence of the batch along time. Elements after the end of a sequence
/// are not moved.
void reverse_sequence(NodeContext& node) {
  const auto x = node.shape(0);
  const auto time = node.axis(node.attribute<std::int64_t>("time_axis", 0), x.size()),
             batch = node.axis(node.attribute<std::int64_t>("batch_axis", 1), x.size());
  node.require(time <= 1 && batch == 1 - time && node.shape(1) == Shape{x[batch]},
               "its axes and lengths do not match its input");
  Shape along_time{1, 1}, along_batch{1, 1}, plane{x[0], x[1]};
  along_time[time] = x[time];
  along_batch[batch] = x[batch];
  const auto steps = node.filled(along_time, ElementType::int64, std::identity());
  const auto lengths = node.emit(Reshape{}, {node.indices(1)}, along_batch);
  const auto inside = node.emit(Binary{Binary::Kind::less}, {steps, lengths}, plane, ElementType::boolean);
  const auto last =
      node.emit(Binary{Binary::Kind::subtract}, {lengths, node.scalar(1, ElementType::int64)}, along_batch);
  const auto turned = node.emit(Binary{Binary::Kind::subtract}, {last, steps}, plane);
  auto indices = node.emit(Where{}, {inside, turned, steps}, plane, ElementType::int64);
  View each{0, {x[1], 1}};
  each.strides.resize(x.size(), 0);
  indices = node.emit(std::move(each), {indices}, x);
  node.set_output(node.emit(GatherElements{time}, {node.tensor(0), indices}, x, node.element_type(0)));
}

/// Lowers DepthToSpace, which moves blocks of channels to neighbouring pixels.
void depth_to_space(NodeContext& node) {
  const auto x = node.shape_of_rank(0, 4);
  const auto block = node.attribute<std::int64_t>("blocksize");
  const auto mode = node.attribute<std::string>("mode", "DCR");
  node.require(block >= 1 && block <= x[1] && x[1] % (block * block) == 0,
               "its channels do not divide evenly among its blocks");
  const auto channels = x[1] / (block * block), plane = x[2] * x[3];
  const bool depth_first = mode == "DCR";
  if (!depth_first && mode != "CRD") node.bad("mode is " + config::quoted(mode));
  const auto channel = depth_first ? plane : block * block * plane;
  const auto down = depth_first ? block * channels * plane : block * plane;
  const auto across = depth_first ? channels * plane : plane;
  const auto moved = node.emit(View{0, {x[1] * plane, channel, x[3], down, 1, across}}, {node.tensor(0)},
                               {x[0], channels, x[2], block, x[3], block});
  node.set_output(node.emit(Reshape{}, {moved}, {x[0], channels, x[2] * block, x[3] * block}));
}

void space_to_depth(NodeContext& node) {
  const auto x = node.shape_of_rank(0, 4);
  const auto block = node.attribute<std::int64_t>("blocksize");
  node.require(block >= 1 && x[2] % block == 0 && x[3] % block == 0, "its blocks do not match its input");
  const auto mode = node.attribute<std::string>("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") node.bad("mode is " + config::quoted(mode));
  const auto plane = x[2] * x[3], down = x[2] / block, across = x[3] / block;
  const bool depth_first = mode == "DCR";
  View view{0, {x[1] * plane, x[3], 1, plane, block * x[3], block}};
  Shape blocks{x[0], block, block, x[1], down, across};
  if (!depth_first) {
    view.strides = {x[1] * plane, plane, x[3], 1, block * x[3], block};
    blocks = {x[0], x[1], block, block, down, across};
  }
  const auto moved = node.emit(std::move(view), {node.tensor(0)}, std::move(blocks));
  node.set_output(node.emit(Reshape{}, {moved}, {x[0], x[1] * block * block, x[2] / block, x[3] / block}));
}

} // namespace

void add_index_operators(OperatorTable& table) {
  table["Gather"] = {gather};
  table["GatherElements"] = {gather_elements, "", 11};
  table["GatherND"] = {gather_slices, "", 11};
  table["Scatter"] = {scatter_elements, "as older exporters write it", 9};
  table["ScatterElements"] = {scatter_elements, "", 11};
  table["ScatterND"] = {scatter_slices, "", 11};
  table["Expand"] = {expand, "the shape is known when the model is loaded", 8};
  table["Tile"] = {tile, "the repeats are known when the model is loaded"};
  table["Range"] = {range, "its inputs are constants", 11};
  table["EyeLike"] = {eye, "two dimensions", 9};
  table["Trilu"] = {triangle, "k is a constant", 14};
  table["Compress"] = {compress, "the condition is a constant", 9};
  table["NonZero"] = {non_zero, "its input is a constant", 9};
  table["NonMaxSuppression"] = {suppress,
                                "numbers and thresholds are constants; at run time on the host device only, as an "
                                "output, padded with rows of -1 to the most boxes there may be",
                                10};
  table["ReverseSequence"] = {reverse_sequence, "", 10};
  table["DepthToSpace"] = {depth_to_space, "four dimensions"};
  table["SpaceToDepth"] = {space_to_depth, "four dimensions"};
}

} // namespace rtexec::tasks::onnx_source
