#include "tasks/engine/host/kernels/evaluate.hpp"

#include "tasks/engine/host/kernels/aligned.hpp"
#include "tasks/engine/host/kernels/step.hpp"

#include <cmath>

namespace rtexec::tasks {
namespace {

double count(const Graph& graph, TensorId id) { return static_cast<double>(element_count(graph.tensors[id].shape)); }

} // namespace

double product_flops(const Graph& graph, const Node& node) {
  const double outputs = count(graph, node.output);
  if (std::holds_alternative<Conv>(node.operation) || std::holds_alternative<IntegerConv>(node.operation)) {
    const auto& weights = graph.tensors[node.inputs[1]].shape;
    return 2 * outputs * static_cast<double>(weights[1] * weights[2] * weights[3]);
  }
  if (const auto* gemm = std::get_if<Gemm>(&node.operation)) {
    const auto& a = graph.tensors[node.inputs[0]].shape;
    return 2 * outputs * static_cast<double>(gemm->transpose_a ? a.front() : a.back());
  }
  if (std::holds_alternative<IntegerMatMul>(node.operation))
    return 2 * outputs * static_cast<double>(graph.tensors[node.inputs[0]].shape.back());
  if (std::holds_alternative<Attention>(node.operation)) {
    const auto &q = graph.tensors[node.inputs[0]].shape, &v = graph.tensors[node.inputs[2]].shape;
    return 2 * outputs / static_cast<double>(v.back()) * static_cast<double>(v[v.size() - 2] * (q.back() + v.back()));
  }
  if (const auto* product = std::get_if<MatMul>(&node.operation)) {
    const auto& a = graph.tensors[node.inputs[0]].shape;
    return 2 * outputs * static_cast<double>(a[a.size() - (product->transpose_a ? 2 : 1)]);
  }
  return 0;
}

double work(const Graph& graph, const Node& node) {
  double moved = count(graph, node.output);
  for (const auto input : node.inputs) moved += count(graph, input);
  if (const auto* pool = std::get_if<Pool>(&node.operation))
    moved *= static_cast<double>(pool->window.kernel_h) * static_cast<double>(pool->window.kernel_w);
  if (const auto* top = std::get_if<TopK>(&node.operation)) moved *= 1 + std::log2(static_cast<double>(top->count));
  if (const auto* align = std::get_if<RoiAlign>(&node.operation)) {
    const auto samples = static_cast<double>(align->samples > 0 ? align->samples : RoiAlign::max_samples);
    moved *= samples * samples;
  }
  if (const auto* suppression = std::get_if<NonMaxSuppression>(&node.operation))
    moved *= static_cast<double>(suppression->most);
  if (const auto* lrn = std::get_if<Lrn>(&node.operation)) moved *= static_cast<double>(lrn->size);
  return moved + product_flops(graph, node);
}

namespace {

/// Runs the step of a node whose inputs are constants.
void run(const Graph& graph, const Node& node, const Step& step, void* output) {
  std::vector<const void*> inputs;
  for (const auto input : node.inputs) inputs.push_back(stored(graph.tensors[input]).data());
  std::vector<float> packed;
  if (!step.packing().empty()) inputs[1] = (packed = packed_for(step, graph.tensors[node.inputs[1]])).data();
  const auto workspace = allocate_aligned(step.workspace() * sizeof(float));
  step.run({inputs, output, reinterpret_cast<float*>(workspace.get())});
}

} // namespace

bool evaluate(Graph& graph, const Node& node, std::size_t max_workspace) {
  auto& output = graph.tensors[node.output];
  if (std::holds_alternative<Reshape>(node.operation)) {
    output.values = graph.tensors[node.inputs.front()].values;
    output.integers = graph.tensors[node.inputs.front()].integers;
    return true;
  }
  const auto step = prepare(graph, node);
  if (step->workspace() > max_workspace / sizeof(float)) return false;
  const auto count = static_cast<std::size_t>(element_count(output.shape));
  if (!is_integer(output.type)) {
    std::vector<float> values(count);
    run(graph, node, *step, values.data());
    output.values = std::move(values);
    return true;
  }
  Integers integers(output.type, count);
  run(graph, node, *step, integers.bytes().data());
  output.integers = std::move(integers);
  return true;
}

} // namespace rtexec::tasks
