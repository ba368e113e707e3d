#include "tasks/engine/cuda/gpu_lowering.hpp"

#include "tasks/engine/cuda/lowerings.hpp"
#include "tasks/engine/graph/uses.hpp"
#include "tasks/engine/host/kernels/evaluate.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace rtexec::tasks::cuda {
namespace {

// ---- unsupported types and operations

void require_type(const Tensor& port) {
  if (port.type == ElementType::float64)
    throw Unsupported{"input or output '" + port.name + "' is of " + std::string(name(port.type)) +
                      ", which is not supported on a GPU; cast it in the model"};
}

/// Throws Unsupported if only the host device supports this form of the node's operation.
void require_on_gpu(const LoweringContext& context, const Node& node) {
  const auto* recurrent = std::get_if<Recurrent>(&node.operation);
  if (recurrent && recurrent->lengths)
    throw Unsupported{"node '" + node.name + "': sequences of different lengths are not supported on a GPU"};
  if (std::holds_alternative<GridSample>(node.operation) && context.shape(node.output).size() != 4)
    throw Unsupported{"node '" + node.name + "': sampling of volumes is not supported on a GPU"};
}

[[noreturn]] void refuse(const Node& node, const std::string& what) {
  throw Unsupported{"node '" + node.name + "': " + what +
                    " is not supported on a GPU; end the network before it, or run it on the host device"};
}

[[noreturn]] void lower(LoweringContext&, const Node& node, const RoiAlign&) { refuse(node, "RoiAlign"); }

[[noreturn]] void lower(LoweringContext&, const Node& node, const NonMaxSuppression&) {
  refuse(node, "NonMaxSuppression");
}

// ---- inputs and outputs

void stage_input_image(LoweringContext& context, TensorId id, const PlacedTensor& staged) {
  auto value = context.tensors.allocate(staged.shape, context.aligned_pixels(staged.shape), context.storage());
  const auto pixel = round_up(staged.shape[1], context.tensors.unit());
  value.zero_channels = pixel;
  ImageInArguments in;
  in.batch = narrow(staged.shape[0]);
  in.channels = narrow(staged.shape[1]);
  in.height = narrow(staged.shape[2]);
  in.width = narrow(staged.shape[3]);
  in.y_stride = narrow(pixel);
  context.emit<ImageInArguments>(in, {{&ImageInArguments::x, staged.location}, {&ImageInArguments::y, value.location}});
  context.tensors.set(id, std::move(value));
}

/// True if only Quantise nodes read the input. Such an input must be stored as float: in half precision, many of its
/// values would round to other integers.
bool is_quantised(const Graph& graph, TensorId input) {
  const auto quantises = [](const Node& node) { return std::holds_alternative<Quantise>(node.operation); };
  const auto is_read_by = [&](const Node& node) { return reads(node, input); };
  const auto agrees = [&](const Node& node) { return !is_read_by(node) || quantises(node); };
  return std::ranges::any_of(graph.nodes, is_read_by) && std::ranges::all_of(graph.nodes, agrees) &&
         std::ranges::count(graph.outputs, input) == 0;
}

/// Returns the transfer of an input or output that has no elements. No call reads or writes its memory.
Transfer nothing(LoweringContext& context, const Tensor& tensor) {
  return {tensor.name, tensor.type, tensor.shape, context.tensors.allocate({}, {}, Storage::f32).location};
}

/// Returns the storage of an input's or output's elements in scratch.
Storage staged_in(const LoweringContext& context, TensorId id) {
  return is_integer(context.graph.tensors[id].type) ? context.tensors.storage_of(id) : Storage::f32;
}

void stage_input(LoweringContext& context, TensorId id) {
  const auto& tensor = context.graph.tensors[id];
  if (element_count(tensor.shape) == 0) return context.program.inputs.push_back(nothing(context, tensor));
  const auto staged = context.tensors.allocate(tensor.shape, dense_strides(tensor.shape), staged_in(context, id));
  context.program.inputs.push_back({tensor.name, tensor.type, tensor.shape, staged.location});
  const auto storage = is_quantised(context.graph, id) ? Storage::f32 : context.tensors.storage_of(id);
  if (tensor.shape.size() == 4 && storage == context.storage()) {
    stage_input_image(context, id, staged);
  } else if (storage == staged.storage) {
    context.tensors.set(id, staged);
    context.tensors.keep(id);
  } else {
    auto value = context.tensors.allocate(tensor.shape, context.tensors.natural(id), context.storage());
    context.copy(staged, value);
    context.tensors.set(id, value);
  }
}

void stage_output(LoweringContext& context, TensorId id) {
  const auto& tensor = context.graph.tensors[id];
  if (element_count(tensor.shape) == 0) return context.program.outputs.push_back(nothing(context, tensor));
  auto value = context.tensors.value(id);
  const auto storage = staged_in(context, id);
  if (value.storage != storage || !lies_dense(value)) {
    const auto staged = context.tensors.allocate(tensor.shape, dense_strides(tensor.shape), storage);
    context.copy(value, staged);
    value = staged;
  }
  context.program.outputs.push_back({tensor.name, tensor.type, tensor.shape, value.location});
}

Program lowered(LoweringContext& context) {
  const auto& graph = context.graph;
  context.program.buffers.push_back(0); // buffer 0 contains the counters
  for (const auto& ports : {graph.inputs, graph.outputs})
    for (const auto port : ports) require_type(graph.tensors[port]);
  for (const auto input : graph.inputs) stage_input(context, input);
  for (std::size_t number = 0; number < graph.nodes.size(); ++number) {
    const auto& node = context.enter(number);
    context.program.flops += product_flops(graph, node);
    require_on_gpu(context, node);
    if (lower_int8(context, node, number) || lower_fused_rnn(context, number)) continue;
    std::visit([&](const auto& operation) { lower(context, node, operation); }, node.operation);
  }
  context.leave();
  for (const auto output : graph.outputs) stage_output(context, output);
  return std::move(context.program);
}

} // namespace

Result<Program> lower(const Graph& graph, Precision precision) {
  try {
    LoweringContext context(graph, precision);
    return lowered(context);
  } catch (const Unsupported& unsupported) { return fail(Errc::unsupported, unsupported.what); }
}

} // namespace rtexec::tasks::cuda
