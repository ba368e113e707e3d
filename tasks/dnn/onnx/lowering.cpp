#include "tasks/dnn/onnx/lowering.hpp"

#include "tasks/dnn/kernels/evaluate.hpp"

#include <algorithm>
#include <set>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr std::size_t max_nodes = 20'000;
// Bounds what a small hostile file can make the reader do.
constexpr std::int64_t always_folded_elements = max_elements / 4, folded_for_each_element = 16;
constexpr double max_folded_work = 1e9;

std::string describe(const Lowering& lowering, const Node& node) {
  return lowering.file + ": node " + config::quoted(node.name) + " (" + config::printable(node.type) +
         (node.outputs.empty() ? std::string() : ", writes " + config::quoted(node.outputs.front())) + "): ";
}

const OperatorTable& operators() {
  static const OperatorTable table = [] {
    OperatorTable t;
    add_element_operators(t);
    add_product_operators(t);
    add_attention_operators(t);
    add_reduction_operators(t);
    add_window_operators(t);
    add_sampling_operators(t);
    add_shape_operators(t);
    add_index_operators(t);
    add_recurrent_operators(t);
    add_quantised_operators(t);
    return t;
  }();
  return table;
}

/// Whether the operator's outputs are elements of its input, whatever they mean.
bool moves_elements(const std::string& type) {
  static const std::set<std::string_view> moving{
      "Identity",  "Dropout",        "Flatten",  "Reshape",         "Squeeze",  "Unsqueeze",
      "Transpose", "Slice",          "Split",    "Gather",          "Concat",   "Expand",
      "Tile",      "GatherElements", "GatherND", "ScatterElements", "ScatterND"};
  return moving.contains(type);
}

/// Tells `notes` what the file leaves open.
Shape input_shape(const Model& model, const Input& input, std::vector<std::string>& notes) {
  const auto what = model.file + ": input " + config::quoted(input.name);
  Shape shape;
  std::int64_t count = 1;
  for (const auto& dimension : input.shape) {
    auto value = dimension.value;
    if (value == 0 && shape.empty()) {
      value = 1;
      notes.push_back("the batch of input " + config::quoted(input.name) + " is not fixed in the file: taken as 1");
    }
    if (value == 0)
      throw Refusal(Errc::unsupported,
                    what + ": dimension " + std::to_string(shape.size()) +
                        (dimension.symbol.empty() ? "" : " (" + config::quoted(dimension.symbol) + ")") +
                        " is not fixed; export the model with a fixed input size (only the first dimension, the batch, "
                        "may be symbolic: it is taken as 1)");
    if (value > max_elements || (count *= value) > max_elements)
      throw Refusal(Errc::unsupported, what + " has more than " + std::to_string(max_elements) + " elements");
    shape.push_back(value);
  }
  if (shape.size() > max_rank)
    throw Refusal(Errc::unsupported, what + " has more than " + std::to_string(max_rank) + " dimensions");
  return shape;
}

void add_initialisers(Lowering& lowering, Model& model) {
  for (auto& [name, constant] : model.initialisers) {
    if (constant.shape.size() > max_rank)
      throw Refusal(Errc::unsupported, model.file + ": initialiser " + config::quoted(name) + " has more than " +
                                           std::to_string(max_rank) + " dimensions");
    if (const auto* floats = std::get_if<std::vector<float>>(&constant.values))
      lowering.given += static_cast<std::int64_t>(floats->size());
    lowering.values.emplace(name, lowering.value_of(name, std::move(constant)));
  }
}

/// The type that the file says, where that differs in the precision of floats only.
void give_type(Lowering& lowering, const Output& output, TensorId id) {
  auto& type = lowering.graph.tensors[id].type;
  if (!output.type || *output.type == type) return;
  const bool taken_in = std::ranges::find(lowering.graph.inputs, id) != lowering.graph.inputs.end();
  if (taken_in || is_integer(*output.type) || is_integer(type))
    throw Refusal(Errc::bad_input, lowering.file + ": output " + config::quoted(output.name) + " is said to be of " +
                                       std::string(name(*output.type)) + ", and is of " + std::string(name(type)));
  type = *output.type;
}

/// Of integers that are known: a constant.
TensorId output_tensor(Lowering& lowering, const std::string& name, const Value& value) {
  if (const auto* id = std::get_if<TensorId>(&value)) return *id;
  const auto* ints = std::get_if<Ints>(&value);
  if (!ints || ints->values.empty())
    throw Refusal(Errc::unsupported, lowering.file + ": output " + config::quoted(name) + " has no elements");
  std::vector<float> floats;
  for (const auto each : ints->values) floats.push_back(static_cast<float>(each));
  return lowering.graph.add({name, ints->shape, std::move(floats), ints->type});
}

void lower_node(Lowering& lowering, const Node& node) {
  NodeContext context(lowering, node);
  const auto found = operators().find(node.type);
  if (found == operators().end()) context.unsupported("this operator is not supported");
  if (std::ranges::all_of(node.outputs, &std::string::empty)) context.bad("it has no output");
  if (!evaluate_shape_arithmetic(context)) found->second(context);
  context.require_all_attributes_read();
  context.require_all_outputs_set();
}

} // namespace

Value Lowering::value_of(const std::string& name, Constant constant) {
  if (auto* ints = std::get_if<std::vector<std::int64_t>>(&constant.values))
    return Ints{std::move(constant.shape), std::move(*ints), constant.type};
  auto& floats = std::get<std::vector<float>>(constant.values);
  if (floats.empty()) return Empty{};
  return graph.add({name, std::move(constant.shape), std::move(floats)});
}

void NodeContext::bad(const std::string& why) const {
  throw Refusal(Errc::bad_input, describe(lowering_, node_) + why);
}
void NodeContext::unsupported(const std::string& why) const {
  throw Refusal(Errc::unsupported, describe(lowering_, node_) + why);
}

const Value& NodeContext::value(std::size_t input) const {
  if (input >= node_.inputs.size() || node_.inputs[input].empty())
    bad("input " + std::to_string(input) + " is missing");
  const auto found = lowering_.values.find(node_.inputs[input]);
  if (found == lowering_.values.end())
    bad("it reads " + config::quoted(node_.inputs[input]) +
        ", which no input, initialiser or earlier node provides (a cycle, or nodes out of order)");
  return found->second;
}

bool NodeContext::has(std::size_t input) const {
  return input < node_.inputs.size() && !node_.inputs[input].empty() && !std::holds_alternative<Empty>(value(input));
}

bool NodeContext::is_ints(std::size_t input) const { return has(input) && std::holds_alternative<Ints>(value(input)); }

TensorId NodeContext::tensor(std::size_t input) const {
  const Value& known = value(input);
  if (const auto* id = std::get_if<TensorId>(&known)) return *id;
  const std::string& name = node_.inputs[input];
  const auto* ints = std::get_if<Ints>(&known);
  if (!ints || ints->values.empty()) unsupported("input " + config::quoted(name) + " has no elements");
  const auto [found, missing] = lowering_.as_floats.try_emplace(name);
  if (missing) found->second = lowering_.graph.add({name, ints->shape, as_floats(ints->values, name), ints->type});
  return found->second;
}

std::vector<float> NodeContext::as_floats(const std::vector<std::int64_t>& ints, const std::string& name) const {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  std::vector<float> floats;
  for (const auto value : ints) {
    floats.push_back(static_cast<float>(value));
    if (value < -most || value > most || static_cast<std::int64_t>(floats.back()) != value)
      unsupported("input " + config::quoted(name) + " holds " + std::to_string(value) +
                  ", and the engine computes in floats, which do not hold this integer");
  }
  return floats;
}

ElementType NodeContext::element_type(std::size_t input) const { return lowering_.type(tensor(input)); }

const Shape& NodeContext::shape(std::size_t input) const {
  if (const auto* ints = std::get_if<Ints>(&value(input))) return ints->shape;
  return lowering_.graph.tensors[tensor(input)].shape;
}

const Shape& NodeContext::shape_of_rank(std::size_t input, std::size_t rank) const {
  const auto& found = shape(input);
  if (found.size() != rank)
    unsupported("input " + config::quoted(node_.inputs[input]) + " is " + to_string(found) +
                "; supported: " + std::to_string(rank) + " dimensions");
  return found;
}

const std::vector<float>* NodeContext::constant_floats(std::size_t input) const {
  const auto& found = lowering_.graph.tensors[tensor(input)];
  return found.constant() ? &found.values : nullptr;
}

const std::vector<float>& NodeContext::floats(std::size_t input, const char* role) const {
  const auto* values = constant_floats(input);
  if (!values) unsupported(std::string(role) + " (" + config::quoted(node_.inputs[input]) + ") must be a constant");
  return *values;
}

const std::vector<std::int64_t>& NodeContext::ints(std::size_t input, const char* role) const {
  const Value& known = value(input);
  if (const auto* found = std::get_if<Ints>(&known)) return found->values;
  const auto* id = std::get_if<TensorId>(&known);
  const auto* constant = id ? &lowering_.graph.tensors[*id] : nullptr;
  if (!constant || !constant->constant() || !is_integer(constant->type))
    unsupported(std::string(role) + " (" + config::quoted(node_.inputs[input]) +
                ") must be integers that are known when the model is loaded");
  const auto [found, missing] = lowering_.integers.try_emplace(*id);
  if (missing)
    for (const float each : constant->values) found->second.push_back(static_cast<std::int64_t>(each));
  return found->second;
}

void NodeContext::require_all_attributes_read() const {
  for (const auto& [name, attribute] : node_.attributes)
    if (!read_.contains(name)) unsupported("attribute " + config::quoted(name) + " is not supported");
}

void NodeContext::require_all_outputs_set() const {
  for (const auto& output : node_.outputs)
    if (!output.empty() && !lowering_.values.contains(output) && lowering_.read.contains(output))
      unsupported("its output " + config::quoted(output) + " is not supported, and is read");
}

std::size_t NodeContext::axis(std::int64_t value, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (value < -signed_rank || value >= signed_rank)
    bad("axis " + std::to_string(value) + " does not exist in a tensor of " + std::to_string(rank) + " dimensions");
  return static_cast<std::size_t>(value < 0 ? value + signed_rank : value);
}

Shape NodeContext::checked(Shape shape) const {
  if (shape.size() > max_rank) unsupported("its output has more than " + std::to_string(max_rank) + " dimensions");
  std::int64_t count = 1;
  for (const auto dimension : shape) {
    if (dimension < 1)
      bad("its output would have a dimension of " + std::to_string(dimension) + "; the input is too small for it");
    if (dimension > max_elements || (count *= dimension) > max_elements)
      unsupported("its output would have more than " + std::to_string(max_elements) + " elements");
  }
  return shape;
}

void NodeContext::charge(std::int64_t elements) {
  lowering_.folded += elements;
  const auto most = std::max(always_folded_elements, folded_for_each_element * lowering_.given);
  if (lowering_.folded > most)
    unsupported("constants computed at load take more than " + std::to_string(most) +
                " elements; fold them in the model instead");
}

TensorId NodeContext::emit(Operation operation, std::vector<TensorId> inputs, Shape shape) {
  const ElementType first = lowering_.type(inputs.front());
  return emit(std::move(operation), std::move(inputs), std::move(shape),
              is_integer(first) || moves_elements(node_.type) ? first : ElementType::float32);
}

TensorId NodeContext::emit(Operation operation, std::vector<TensorId> inputs, Shape shape, ElementType type) {
  auto& graph = lowering_.graph;
  const auto output = graph.add({node_.outputs.front(), checked(std::move(shape)), {}, type});
  tasks::Node node{node_.name, std::move(operation), std::move(inputs), output, {}, {}};
  const auto is_constant = [&](TensorId id) { return graph.tensors[id].constant(); };
  if (std::ranges::all_of(node.inputs, is_constant) && work(graph, node) <= max_folded_work) {
    charge(element_count(graph.tensors[output].shape));
    graph.tensors[output].values = evaluate(graph, node);
  } else {
    graph.nodes.push_back(std::move(node));
  }
  return output;
}

TensorId NodeContext::constant(Shape shape, std::vector<float> values) {
  return lowering_.graph.add({node_.outputs.front(), checked(std::move(shape)), std::move(values)});
}

void require_one_type(const NodeContext& node, std::size_t first, std::size_t last) {
  const ElementType type = node.element_type(first);
  for (std::size_t i = first; i < last; ++i) {
    const ElementType other = node.element_type(i);
    const bool differ = is_integer(type) && other != type && !node.is_ints(first) && !node.is_ints(i);
    if (is_integer(type) != is_integer(other) || differ)
      node.bad("its inputs " + node.name_of(first) + " and " + node.name_of(i) + " are of types " +
               std::string(name(type)) + " and " + std::string(name(other)));
  }
}

void NodeContext::set_output(Value value, std::size_t output) {
  if (node_.outputs.at(output).empty()) return;
  if (const auto* id = std::get_if<TensorId>(&value)) lowering_.graph.tensors[*id].name = node_.outputs.at(output);
  if (!lowering_.values.emplace(node_.outputs.at(output), std::move(value)).second)
    bad("it writes " + config::quoted(node_.outputs[output]) + ", which is written already");
}

void NodeContext::set_constant(Constant value) {
  if (value.shape.size() > max_rank)
    unsupported("its output has more than " + std::to_string(max_rank) + " dimensions");
  charge(std::visit([](const auto& values) { return static_cast<std::int64_t>(values.size()); }, value.values));
  if (const auto* floats = std::get_if<std::vector<float>>(&value.values); floats && !floats->empty())
    value.shape = checked(std::move(value.shape));
  set_output(lowering_.value_of(node_.outputs.front(), std::move(value)));
}

Graph lower(Model model) {
  if (model.nodes.size() > max_nodes)
    throw Refusal(Errc::unsupported, model.file + ": more than " + std::to_string(max_nodes) + " nodes");
  Lowering lowering{.file = model.file, .opset = model.opset};
  for (const auto& node : model.nodes) lowering.read_by_nodes.insert(node.inputs.begin(), node.inputs.end());
  lowering.read = lowering.read_by_nodes;
  for (const auto& output : model.outputs) lowering.read.insert(output.name);
  lowering.graph.name = std::move(model.name);
  lowering.graph.metadata = std::move(model.metadata);
  lowering.graph.notes = std::move(model.notes);
  add_initialisers(lowering, model);
  for (const auto& input : model.inputs) {
    const auto id = lowering.graph.add({input.name, input_shape(model, input, lowering.graph.notes), {}, input.type});
    if (input.name.empty() || !lowering.values.emplace(input.name, id).second)
      throw Refusal(Errc::bad_input,
                    model.file + ": input " + config::quoted(input.name) + " has no name, or the name of another one");
    lowering.graph.inputs.push_back(id);
  }
  for (const auto& node : model.nodes) lower_node(lowering, node);
  if (model.outputs.empty()) throw Refusal(Errc::bad_input, model.file + ": the graph has no output");
  for (const auto& output : model.outputs) {
    const auto found = lowering.values.find(output.name);
    if (found == lowering.values.end())
      throw Refusal(Errc::bad_input, model.file + ": no node writes the output " + config::quoted(output.name));
    const auto id = output_tensor(lowering, output.name, found->second);
    give_type(lowering, output, id);
    lowering.graph.outputs.push_back(id);
  }
  return std::move(lowering.graph);
}

} // namespace rtexec::tasks::onnx_source
