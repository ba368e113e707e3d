#include "tasks/dnn/kernels/step.hpp"

#include "tasks/dnn/kernels/conv.hpp"
#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/steps.hpp"

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

} // namespace kernels

namespace {

/// A sum behind a layer and its activation.
class SumBehind : public Step {
 public:
  SumBehind(std::unique_ptr<Step> layer, std::size_t count) : layer_(std::move(layer)), count_(count) {}
  void run(const Operands& o) const noexcept override {
    layer_->run({o.inputs.first(o.inputs.size() - 1), o.output, o.workspace});
    kernels::combine(Binary::Kind::add, o.output, o.output, 1, o.inputs.back(), 1, count_);
  }
  [[nodiscard]] std::size_t workspace() const override { return layer_->workspace(); }

 private:
  std::unique_ptr<Step> layer_;
  std::size_t count_;
};

PreparedStep sum_behind(const Graph& graph, Node node) {
  node.residual.reset();
  node.residual_last = false;
  auto layer = prepare(graph, node);
  const auto count = static_cast<std::size_t>(element_count(graph.tensors[node.output].shape));
  return {std::make_unique<SumBehind>(std::move(layer.step), count), std::move(layer.packed)};
}

} // namespace

PreparedStep prepare(const Graph& graph, const Node& node) {
  if (node.residual_last) return sum_behind(graph, node);
  return std::visit(
      [&](const auto& operation) -> PreparedStep {
        using Kind = std::decay_t<decltype(operation)>;
        if constexpr (std::is_same_v<Kind, Reshape>) {
          return {};
        } else if constexpr (std::is_same_v<Kind, Conv>) {
          const auto geometry = kernels::conv_geometry(graph, node);
          const auto& weights = graph.tensors[node.inputs[1]].values;
          if (kernels::winograd_applies(geometry)) return kernels::prepare_winograd_conv(geometry, weights);
          if (kernels::lanes_apply(geometry)) return kernels::prepare_lanes_conv(geometry, weights);
          if (kernels::direct_applies(geometry)) return kernels::prepare_direct_conv(geometry);
          return kernels::prepare_gemm_conv(geometry, weights);
        } else if constexpr (std::is_same_v<Kind, Gemm> || std::is_same_v<Kind, Product> ||
                             std::is_same_v<Kind, Recurrent>) {
          return kernels::prepare_step(graph, node, operation);
        } else {
          return {kernels::make_step(graph, node, operation), {}};
        }
      },
      node.operation);
}

} // namespace rtexec::tasks
