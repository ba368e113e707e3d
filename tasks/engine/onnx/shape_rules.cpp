#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace rtexec::tasks::onnx_source {
namespace {

/// Returns the elements of a dimension of `size` that a Slice with this start, end and step selects.
Cut cut_of(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  // Counts a negative value from the end, and clamps the result to [-1, size].
  const auto from_end = [size](std::int64_t v) { return v < 0 ? std::max(v, -size - 1) + size : std::min(v, size); };
  Cut cut{from_end(start), std::clamp(step, -size - 1, size + 1), 0};
  if (cut.step > 0) {
    cut.start = std::max<std::int64_t>(cut.start, 0);
    const auto stop = std::max<std::int64_t>(from_end(end), 0);
    cut.count = stop > cut.start ? (stop - cut.start + cut.step - 1) / cut.step : 0;
  } else {
    cut.start = std::min(cut.start, size - 1);
    const auto stop = from_end(end);
    cut.count = cut.start > stop ? (cut.start - stop - cut.step - 1) / -cut.step : 0;
  }
  return cut;
}

} // namespace

std::int64_t product(const Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t count = 1;
  for (std::size_t d = first; d < last; ++d) count *= shape[d];
  return count;
}

Shape broadcast(NodeContext& node, const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto dimension = [&](const Shape& s) { return d < s.size() ? s[s.size() - 1 - d] : 1; };
    const auto m = dimension(a), n = dimension(b);
    if (m != n && m != 1 && n != 1)
      node.bad("its inputs have the shapes " + to_string(a) + " and " + to_string(b) +
               ", which cannot be broadcast together");
    shape[shape.size() - 1 - d] = m == 1 ? n : m;
  }
  return shape;
}

std::vector<std::int64_t> axes_of(NodeContext& node) {
  if (node.opset() >= 13 && node.has(1)) return node.ints(1, "the axes");
  return node.attribute<std::vector<std::int64_t>>("axes", {});
}

std::vector<std::size_t> named_axes(NodeContext& node, std::size_t rank, const std::vector<std::int64_t>* given) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (!given) return axes;
  axes.clear();
  for (const auto value : *given) {
    const auto axis = node.axis(value, rank);
    node.require(std::ranges::find(axes, axis) == axes.end(), "it names an axis twice");
    axes.push_back(axis);
  }
  return axes;
}

Shape requested_shape(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& request) {
  const bool zero_copies = node.attribute<std::int64_t>("allowzero", 0) == 0;
  Shape shape;
  std::int64_t known = 1;
  std::size_t free = request.size();
  if (request.size() > max_rank)
    node.unsupported("its output has more than " + std::to_string(max_rank) + " dimensions; merge some of them");
  for (std::size_t d = 0; d < request.size(); ++d) {
    auto dimension = request[d];
    if (dimension == 0 && zero_copies) {
      node.require(d < x.size(), "it copies a dimension that its input does not have");
      dimension = x[d];
    }
    if (dimension == -1) {
      node.require(free == request.size(), "more than one dimension of its shape is -1");
      free = d;
      dimension = 1;
    }
    const auto extent = std::max<std::int64_t>(dimension, 1);
    if (dimension < 0 || extent > max_elements || known > max_elements / extent)
      node.bad("its shape has a dimension of " + std::to_string(request[d]) + ", or is too large");
    known *= extent;
    shape.push_back(dimension);
  }
  const auto count = element_count(x);
  if (free < request.size() && element_count(shape) != 0 && count % known == 0) shape[free] = count / known;
  if (element_count(shape) != count)
    node.bad("an input of " + to_string(x) + " cannot take the shape " + to_string(shape));
  return shape;
}

Shape squeezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes) {
  std::vector<bool> gone(x.size(), false);
  if (axes.empty())
    for (std::size_t d = 0; d < x.size(); ++d) gone[d] = x[d] == 1;
  for (const auto axis : axes) gone[node.axis(axis, x.size())] = true;
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (!gone[d]) shape.push_back(x[d]);
    else if (x[d] != 1)
      node.bad("it removes dimension " + std::to_string(d) + " of " + to_string(x) + ", which is not 1");
  }
  return shape;
}

Shape unsqueezed(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& axes) {
  const auto rank = x.size() + axes.size();
  if (axes.empty() || rank > max_rank)
    node.unsupported(axes.empty() ? "it names no axis"
                                  : "its output would have " + std::to_string(rank) + " dimensions; supported: up to " +
                                        std::to_string(max_rank));
  std::vector<bool> added(rank, false);
  for (const auto axis : axes) {
    const auto d = node.axis(axis, rank);
    node.require(!added[d], "it names an axis twice");
    added[d] = true;
  }
  Shape shape;
  for (std::size_t d = 0, from = 0; d < rank; ++d) shape.push_back(added[d] ? 1 : x[from++]);
  return shape;
}

std::vector<Cut> cuts_of(NodeContext& node, const Shape& x) {
  using List = std::vector<std::int64_t>;
  const bool by_attributes = node.opset() < 10;
  const auto starts = by_attributes ? node.attribute<List>("starts") : node.ints(1, "the starts");
  const auto ends = by_attributes ? node.attribute<List>("ends") : node.ints(2, "the ends");
  List axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (by_attributes) axes = node.attribute<List>("axes", axes);
  else if (node.has(3)) axes = node.ints(3, "the axes");
  if (!by_attributes && node.has(4)) steps = node.ints(4, "the steps");
  node.require(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size(),
               "its starts, ends, axes and steps differ in number");
  std::vector<Cut> cuts;
  for (const auto size : x) cuts.push_back({0, 1, size});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto d = node.axis(axes[i], x.size());
    node.require(steps[i] != 0, "a step is 0");
    cuts[d] = cut_of(x[d], starts[i], ends[i], steps[i]);
  }
  return cuts;
}

std::vector<std::int64_t> checked_indices(NodeContext& node, std::vector<std::int64_t> indices, std::int64_t size) {
  for (auto& index : indices) {
    if (index < -size || index >= size) node.bad("index " + std::to_string(index) + " is outside of its input");
    if (index < 0) index += size;
  }
  return indices;
}

ElementType cast_target(NodeContext& node) {
  if (node.opset() >= 19) node.ignore_attribute("saturate"); // saturate and round_mode affect 8-bit floats only
  if (node.opset() >= 24) node.ignore_attribute("round_mode");
  return data_type(node, "to");
}

std::string type_name(std::int64_t data_type) {
  constexpr std::array names{
      "UNDEFINED", "FLOAT",      "UINT8",      "INT8",         "UINT16",         "INT16",      "INT32",
      "INT64",     "STRING",     "BOOL",       "FLOAT16",      "DOUBLE",         "UINT32",     "UINT64",
      "COMPLEX64", "COMPLEX128", "BFLOAT16",   "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",     "INT4",       "FLOAT4E2M1", "FLOAT8E8M0",   "UINT2",          "INT2"};
  const bool known = data_type >= 0 && data_type < std::ssize(names);
  return known ? names[static_cast<std::size_t>(data_type)] : "unknown type " + std::to_string(data_type);
}

std::optional<ElementType> element_type(std::int64_t data_type) {
  switch (data_type) { // numbers of onnx.TensorProto.DataType
  case 1:
  case 16: return ElementType::float32;
  case 2: return ElementType::uint8;
  case 3: return ElementType::int8;
  case 4: return ElementType::uint16;
  case 5: return ElementType::int16;
  case 6: return ElementType::int32;
  case 7: return ElementType::int64;
  case 9: return ElementType::boolean;
  case 10: return ElementType::float16;
  case 11: return ElementType::float64;
  case 12: return ElementType::uint32;
  case 13: return ElementType::uint64;
  default: return {};
  }
}

ElementType data_type(NodeContext& node, const char* attribute) {
  const auto to = node.attribute<std::int64_t>(attribute);
  const auto type = element_type(to);
  if (!type) node.unsupported("it converts to " + type_name(to) + "; supported: " + supported_types);
  return *type;
}

} // namespace rtexec::tasks::onnx_source
