#include "tasks/dnn/onnx/lowering.hpp"

#include "tasks/dnn/kernels/evaluate.hpp"

#include <algorithm>
#include <set>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr std::size_t max_nodes = 20'000;
// Bounds what a small hostile file can make the reader do.
constexpr std::int64_t max_folded_elements = max_elements / 4;
constexpr double max_folded_work = 1e9;

std::string describe(const Lowering& lowering, const Node& node) {
  return lowering.file + ": node " + config::quoted(node.name) + " (" + config::printable(node.type) +
         (node.outputs.empty() ? std::string() : ", writes " + config::quoted(node.outputs.front())) + "): ";
}

const OperatorTable& operators() {
  static const OperatorTable table = [] {
    OperatorTable t;
    add_math_operators(t);
    add_window_operators(t);
    add_shape_operators(t);
    return t;
  }();
  return table;
}

std::string supported_operators() {
  std::string list;
  for (const auto& [name, function] : operators()) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

/// Whether the operator's outputs are elements of its input, whatever they mean.
bool moves_elements(const std::string& type) {
  static const std::set<std::string_view> moving{"Identity",  "Dropout", "Flatten", "Reshape", "Squeeze", "Unsqueeze",
                                                 "Transpose", "Slice",   "Split",   "Gather",  "Concat"};
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

void lower_node(Lowering& lowering, const Node& node) {
  NodeContext context(lowering, node);
  const auto found = operators().find(node.type);
  if (found == operators().end())
    context.unsupported("this operator is not supported; supported: " + supported_operators());
  if (node.outputs.empty() || node.outputs.front().empty()) context.bad("it has no output");
  if (!evaluate_shape_arithmetic(context)) {
    context.require_floats();
    found->second(context);
  }
  context.require_all_attributes_read();
  context.require_all_outputs_set();
}

} // namespace

Value Lowering::value_of(const std::string& name, Constant constant) {
  if (auto* ints = std::get_if<std::vector<std::int64_t>>(&constant.values))
    return Ints{std::move(constant.shape), std::move(*ints)};
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
  const auto* id = std::get_if<TensorId>(&value(input));
  if (!id)
    unsupported("input " + config::quoted(node_.inputs[input]) +
                " must be a float tensor with elements; integers are supported in shape arithmetic only");
  return *id;
}

Meaning NodeContext::meaning(std::size_t input) const { return lowering_.meaning(tensor(input)); }

Meaning NodeContext::meaning_of(const std::vector<TensorId>& inputs) const {
  if (!moves_elements(node_.type)) return {};
  Meaning all = lowering_.meaning(inputs.front());
  for (const auto input : inputs) {
    const auto each = lowering_.meaning(input);
    if (each.type != all.type && (is_integer(each.type) || is_integer(all.type)))
      bad("its inputs are of types " + std::string(rtexec::name(all.type)) + " and " +
          std::string(rtexec::name(each.type)));
    all.fractions = all.fractions || each.fractions;
  }
  return all;
}

void NodeContext::require_floats() const {
  if (moves_elements(node_.type) || node_.type == "Cast" || node_.type == "Shape") return;
  for (const auto& input : node_.inputs) {
    const auto found = lowering_.values.find(input);
    const auto* id = found == lowering_.values.end() ? nullptr : std::get_if<TensorId>(&found->second);
    if (id && is_integer(lowering_.meaning(*id).type))
      unsupported("it would compute on " + config::quoted(input) + " of " +
                  std::string(rtexec::name(lowering_.meaning(*id).type)) +
                  ", and the engine computes in floats; put a Cast to FLOAT before it");
  }
}

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
  const auto* found = std::get_if<Ints>(&value(input));
  if (!found)
    unsupported(std::string(role) + " (" + config::quoted(node_.inputs[input]) +
                ") must be integers that are known when the model is loaded");
  return found->values;
}

void NodeContext::require_all_attributes_read() const {
  for (const auto& [name, attribute] : node_.attributes)
    if (!read_.contains(name)) unsupported("attribute " + config::quoted(name) + " is not supported");
}

void NodeContext::require_all_outputs_set() const {
  for (const auto& output : node_.outputs)
    if (!lowering_.values.contains(output) && lowering_.read.contains(output))
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
  if (lowering_.folded > max_folded_elements)
    unsupported("constants computed at load take more than " + std::to_string(max_folded_elements) +
                " elements; fold them in the model instead");
}

TensorId NodeContext::emit(Operation operation, std::vector<TensorId> inputs, Shape shape) {
  auto& graph = lowering_.graph;
  const auto output = graph.add({node_.outputs.front(), checked(std::move(shape)), {}});
  set_meaning(output, meaning_of(inputs));
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

TensorId NodeContext::emit_as(Meaning meaning, TensorId input) {
  const auto output = emit(Reshape{}, {input}, lowering_.graph.tensors[input].shape);
  set_meaning(output, meaning);
  return output;
}

void NodeContext::set_meaning(TensorId id, Meaning meaning) {
  lowering_.meanings[id] = meaning;
  lowering_.graph.tensors[id].type = meaning.type;
}

TensorId NodeContext::constant(Shape shape, std::vector<float> values) {
  return lowering_.graph.add({node_.outputs.front(), checked(std::move(shape)), std::move(values)});
}

void NodeContext::set_output(Value value, std::size_t output) {
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
  Lowering lowering{model.file, model.opset, {}, {}, {}, 0, {}};
  for (const auto& output : model.outputs) lowering.read.insert(output.name);
  for (const auto& node : model.nodes) lowering.read.insert(node.inputs.begin(), node.inputs.end());
  lowering.graph.name = std::move(model.name);
  lowering.graph.metadata = std::move(model.metadata);
  lowering.graph.notes = std::move(model.notes);
  add_initialisers(lowering, model);
  for (const auto& input : model.inputs) {
    const auto id = lowering.graph.add({input.name, input_shape(model, input, lowering.graph.notes), {}, input.type});
    lowering.meanings[id] = {input.type};
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
    const auto* id = std::get_if<TensorId>(&found->second);
    if (!id)
      throw Refusal(Errc::unsupported,
                    model.file + ": output " + config::quoted(output.name) + " is not a float tensor with elements");
    give_type(lowering, output, *id);
    lowering.graph.outputs.push_back(*id);
  }
  return std::move(lowering.graph);
}

} // namespace rtexec::tasks::onnx_source
