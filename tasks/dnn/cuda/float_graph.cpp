#include "tasks/dnn/cuda/float_graph.hpp"

#include "tasks/dnn/cuda/lowering_context.hpp"
#include "tasks/dnn/graph/passes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace rtexec::tasks::cuda {
namespace {

using Kind = Activation::Kind;

/// The smallest value of a type of integers that is not the widest, and the number of its values.
struct Values {
  float least, count;
};

std::optional<Values> values_of(ElementType type) {
  switch (type) {
  case ElementType::uint8: return Values{0, 0x1p8F};
  case ElementType::int8: return Values{-0x1p7F, 0x1p8F};
  case ElementType::uint16: return Values{0, 0x1p16F};
  case ElementType::int16: return Values{-0x1p15F, 0x1p16F};
  case ElementType::uint32: return Values{0, 0x1p32F};
  case ElementType::uint64: return Values{0, 0x1p64F};
  default: return {};
  }
}

class FloatGraph {
 public:
  explicit FloatGraph(Graph graph) : graph_(std::move(graph)) {}

  Graph build() {
    for (auto& tensor : graph_.tensors) convert_constant(tensor);
    for (auto& node : std::exchange(graph_.nodes, {})) convert(std::move(node));
    remove_unused(graph_);
    return std::move(graph_);
  }

 private:
  void convert_constant(Tensor& tensor) {
    if (tensor.integers.empty()) return;
    for (const auto value : tensor.integers) {
      const auto rounded = static_cast<float>(value);
      if (std::abs(rounded) >= 0x1p62F || static_cast<std::int64_t>(rounded) != value)
        throw Unsupported{"constant '" + tensor.name + "' holds " + std::to_string(value) +
                          ", which is not supported on a GPU, where integers are floats; run the network on the host "
                          "device"};
      tensor.values.push_back(rounded);
    }
    const auto is_byte = [](std::int64_t value) { return value >= -128 && value <= 127; };
    if (tensor.type == ElementType::int16 && std::ranges::all_of(tensor.integers, is_byte))
      tensor.whole =
          std::make_shared<WholeNumbers>(WholeNumbers{{tensor.integers.begin(), tensor.integers.end()}, {1.0F}, 0});
    tensor.integers.clear();
  }

  void convert(Node node) {
    if (std::holds_alternative<Cast>(node.operation)) return cast(node);
    if (const auto* conv = std::get_if<IntegerConv>(&node.operation)) node.operation = Conv(conv->conv);
    if (std::holds_alternative<IntegerMatMul>(node.operation)) node.operation = product(node);
    if (auto* pad = std::get_if<Pad>(&node.operation); pad != nullptr && is_integer(type(node.output)))
      pad->value = static_cast<float>(pad->integer);
    const auto* binary = std::get_if<Binary>(&node.operation);
    if (binary != nullptr && binary->kind > Binary::Kind::less_or_equal)
      throw Unsupported{"node '" + node.name +
                        "': operations on bits are not supported on a GPU; run the network on "
                        "the host device"};
    if (binary != nullptr && binary->kind == Binary::Kind::subtract) centre(node);
    graph_.nodes.push_back(std::move(node));
  }

  [[nodiscard]] Operation product(const Node& node) const {
    if (graph_.tensors[node.inputs[1]].shape.size() == 2) return Gemm{};
    return Product{};
  }

  /// Bytes less their zero point, which a layer may read as bytes (whole_plan.hpp).
  void centre(Node& node) const {
    const auto bytes = widened_.find(node.inputs[0]);
    const auto& zero = graph_.tensors[node.inputs[1]].values;
    if (bytes == widened_.end() || zero.size() != 1) return;
    node.operation = Dequantise{1, zero.front()};
    node.inputs = {bytes->second};
  }

  void cast(const Node& node) {
    const auto from = type(node.inputs[0]), to = type(node.output);
    auto x = node.inputs[0];
    const auto values = values_of(to);
    if (to == ElementType::int16 && is_integer(from) && size_of(from) == 1) {
      widened_[node.output] = x;
      return write(node, Dequantise{1, 0}, {x});
    }
    if (to == ElementType::boolean) return write(node, Activation{Kind::is_not_zero}, {x});
    if (is_integer(to) && !is_integer(from)) { // what does not fit becomes the nearest that does
      if (values) x = add(node, Activation{Kind::clip, values->least, values->least + values->count - 1}, {x});
      return write(node, Activation{Kind::truncate}, {x});
    }
    if (from == ElementType::boolean || !values) return write(node, Reshape{}, {x});
    const auto moved = add(node, Activation{Kind::scale, 1, -values->least}, {x});
    const auto count = graph_.add({node.name, {}, {values->count}});
    const auto rest = add(node, Binary{Binary::Kind::modulo}, {moved, count});
    write(node, Activation{Kind::scale, 1, values->least}, {rest});
  }

  [[nodiscard]] ElementType type(TensorId id) const { return graph_.tensors[id].type; }
  /// An intermediate result of the shape and type of what `node` writes.
  TensorId add(const Node& node, Operation operation, std::vector<TensorId> inputs) {
    const auto& output = graph_.tensors[node.output];
    const auto id = graph_.add({output.name, output.shape, {}, output.type});
    graph_.nodes.push_back({node.name, std::move(operation), std::move(inputs), id, {}, {}});
    return id;
  }
  void write(const Node& node, Operation operation, std::vector<TensorId> inputs) {
    graph_.nodes.push_back({node.name, std::move(operation), std::move(inputs), node.output, {}, {}});
  }

  Graph graph_;
  std::map<TensorId, TensorId> widened_; // bytes, by what they are as int16
};

} // namespace

bool has_integers(const Graph& graph) {
  return std::ranges::any_of(graph.tensors, [](const Tensor& tensor) { return is_integer(tensor.type); });
}

Graph as_floats(Graph graph) { return FloatGraph(std::move(graph)).build(); }

} // namespace rtexec::tasks::cuda
