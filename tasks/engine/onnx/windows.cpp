#include "tasks/engine/onnx/windows.hpp"

#include <algorithm>
#include <string>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr std::int64_t max_extent = 1 << 15;

} // namespace

std::int64_t checked_extent(NodeContext& node, std::int64_t value, std::int64_t least, const char* what) {
  if (value < least || value > max_extent)
    node.unsupported(std::string(what) + " of " + std::to_string(value) + "; supported: " + std::to_string(least) +
                     " to " + std::to_string(max_extent));
  return value;
}

std::vector<std::int64_t> extents(NodeContext& node, const char* attribute, std::size_t count, std::int64_t fallback,
                                  const char* what) {
  auto values = node.attribute<std::vector<std::int64_t>>(attribute, std::vector<std::int64_t>(count, fallback));
  if (values.size() != count)
    node.bad(std::string(attribute) + " has " + std::to_string(values.size()) + " values, and its input takes " +
             std::to_string(count));
  for (const auto value : values) (void)checked_extent(node, value, fallback, what);
  return values;
}

void Direction::pad_same(bool upper) {
  const auto total = std::max<std::int64_t>(((size + stride - 1) / stride - 1) * stride + reach() - size, 0);
  before = upper ? total / 2 : total - total / 2;
  after = total - before;
}

std::int64_t Direction::outputs(bool ceil) const {
  const auto room = size + before + after - reach();
  if (room < 0) return 0;
  auto count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (count - 1) * stride >= size + before) --count;
  return count;
}

void require_images(const NodeContext& node, const Shape& x) {
  if (x.size() < 3 || x.size() > 2 + max_directions)
    node.unsupported("its input has " + dimensions(x) + "; supported: 3, 4 and 5 dimensions");
}

Shape windowed(NodeContext& node, std::size_t input) {
  auto x = node.shape(input);
  require_images(node, x);
  return x;
}

Directions place_window(NodeContext& node, const Shape& x, const std::vector<std::int64_t>& kernel) {
  const auto count = x.size() - 2;
  const auto strides = extents(node, "strides", count, 1, "a stride");
  // AveragePool has no dilations before opset 19.
  const auto dilations = node.type() == "AveragePool" && node.opset() < 19
                             ? std::vector<std::int64_t>(count, 1)
                             : extents(node, "dilations", count, 1, "a dilation");
  const auto pads = extents(node, "pads", 2 * count, 0, "a padding");
  const auto auto_pad = node.attribute<std::string>("auto_pad", "NOTSET");
  Directions directions;
  for (std::size_t d = 0; d < count; ++d) {
    auto& each = directions.emplace_back(Direction{checked_extent(node, kernel[d], 1, "a kernel"), strides[d],
                                                   dilations[d], pads[d], pads[d + count], x[d + 2]});
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") each.pad_same(auto_pad == "SAME_UPPER");
    else if (auto_pad == "VALID") each.before = each.after = 0;
    else if (auto_pad != "NOTSET") node.bad("auto_pad is " + config::quoted(auto_pad));
  }
  return directions;
}

Window window_of(const Direction& h, const Direction& w) {
  return {h.kernel, w.kernel, h.stride, w.stride, h.before, w.before, h.after, w.after, h.dilation, w.dilation};
}

} // namespace rtexec::tasks::onnx_source
