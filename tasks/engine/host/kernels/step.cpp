#include "tasks/engine/host/kernels/step.hpp"

#include "tasks/engine/host/kernels/conv.hpp"
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/steps.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace rtexec::tasks {

namespace kernels {

ConvGeometry conv_geometry(const Graph& graph, const Node& node) {
  const auto& conv = std::get<Conv>(node.operation);
  const auto& x = graph.tensors[node.inputs[0]].shape;
  const auto& y = graph.tensors[node.output].shape;
  return {conv.window,
          x[0],
          conv.groups,
          x[1],
          x[2],
          x[3],
          y[1],
          y[2],
          y[3],
          node.inputs.size() > 2,
          node.residual.has_value(),
          node.activation};
}

std::unique_ptr<Step> make_conv(const ConvGeometry& geometry, bool exact) {
  if (!exact && winograd_applies(geometry)) return make_winograd_conv(geometry);
  if (lanes_apply(geometry)) return make_lanes_conv(geometry);
  if (direct_applies(geometry)) return make_direct_conv(geometry);
  return make_gemm_conv(geometry);
}

} // namespace kernels

namespace {

/// A step that runs a layer with its activation, and then adds the residual.
class SumBehind : public Step {
 public:
  SumBehind(std::unique_ptr<Step> layer, std::size_t count) : layer_(std::move(layer)), count_(count) {}
  void run(const Operands& o) const noexcept override {
    layer_->run({o.inputs.first(o.inputs.size() - 1), o.output(), o.workspace});
    kernels::combine(Binary::Kind::add, o.output(), o.output(), 1, o.residual(), 1, count_);
  }
  [[nodiscard]] std::size_t workspace() const override { return layer_->workspace(); }
  [[nodiscard]] std::string packing() const override { return layer_->packing(); }
  [[nodiscard]] std::vector<float> pack(const std::vector<float>& values) const override {
    return layer_->pack(values);
  }

 private:
  std::unique_ptr<Step> layer_;
  std::size_t count_;
};

std::unique_ptr<Step> sum_behind(const Graph& graph, Node node) {
  node.residual.reset();
  node.residual_last = false;
  const auto count = static_cast<std::size_t>(element_count(graph.tensors[node.output].shape));
  return std::make_unique<SumBehind>(prepare(graph, node), count);
}

} // namespace

std::vector<float> packed_for(const Step& step, const Tensor& constant) {
  if (constant.integers.empty()) return step.pack(constant.values);
  std::vector<float> values(constant.integers.size());
  std::ranges::transform(constant.integers, values.begin(), [](std::int64_t x) { return static_cast<float>(x); });
  return step.pack(values);
}

std::string packing_name(const char* kind, std::initializer_list<std::int64_t> numbers) {
  std::string name = kind;
  for (const auto number : numbers) name += ' ' + std::to_string(number);
  return name;
}

std::unique_ptr<Step> prepare(const Graph& graph, const Node& node) {
  if (node.residual_last) return sum_behind(graph, node);
  return std::visit(
      [&](const auto& operation) -> std::unique_ptr<Step> {
        using Kind = std::decay_t<decltype(operation)>;
        if constexpr (std::is_same_v<Kind, Reshape>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Kind, Conv>) {
          return kernels::make_conv(kernels::conv_geometry(graph, node));
        } else {
          return kernels::make_step(graph, node, operation);
        }
      },
      node.operation);
}

} // namespace rtexec::tasks
