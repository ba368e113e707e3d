#include "tasks/engine/onnx/node_context.hpp"

#include "tasks/engine/graph/validation.hpp"
#include "tasks/engine/host/kernels/evaluate.hpp"
#include "tasks/engine/onnx/operators.hpp"

#include <algorithm>
#include <span>

namespace rtexec::tasks::onnx_source {

namespace {

// Limits on the work that a file can cause in the reader, in proportion to the size of its constants. Even for a small
// file, computed constants may use always_made_bytes of memory and their computation about a second.
constexpr std::int64_t made_for_each_byte = 4;
constexpr double max_folding = 1e9, always_folding = 1e9, folding_for_each_byte = 100;
/// A cost so low that even max_nodes nodes with it are evaluated quickly, for example shape computations.
constexpr double trivial_folding = 1e4;

/// True if the operator only moves elements of its input, whatever their type.
bool moves_elements(const std::string& type) {
  static const std::set<std::string_view> moving{
      "Identity",  "Dropout",        "Flatten",  "Reshape",         "Squeeze",  "Unsqueeze",
      "Transpose", "Slice",          "Split",    "Gather",          "Concat",   "Expand",
      "Tile",      "GatherElements", "GatherND", "ScatterElements", "ScatterND"};
  return moving.contains(type);
}

/// Replaces a sparse constant by a dense one.
void make_dense(Constant& constant) {
  const auto count = static_cast<std::size_t>(element_count(constant.shape));
  const auto spread = [&](auto& values, auto all, auto set) {
    for (std::size_t i = 0; i < values.size(); ++i)
      set(all, static_cast<std::size_t>((*constant.places)[i]), values[i]);
    values = std::move(all);
  };
  if (auto* integers = std::get_if<Integers>(&constant.values))
    spread(*integers, Integers(integers->type(), count), [](auto& all, auto at, auto value) { all.set(at, value); });
  else
    spread(std::get<std::vector<float>>(constant.values), std::vector<float>(count),
           [](auto& all, auto at, auto value) { all[at] = value; });
  constant.places.reset();
}

} // namespace

std::int64_t Constant::dense_bytes() const {
  const auto* const integers = std::get_if<Integers>(&values);
  return element_count(shape) * static_cast<std::int64_t>(integers ? stored_size(integers->type()) : sizeof(float));
}

Value Lowering::value_of(const std::string& name, Constant constant) {
  if (constant.places) make_dense(constant);
  auto* integers = std::get_if<Integers>(&constant.values);
  if (!integers)
    return graph.add({name, std::move(constant.shape), std::move(std::get<std::vector<float>>(constant.values))});
  const auto integer_type = integers->type();
  if (integers->size() <= Ints::max_count)
    return Ints{std::move(constant.shape), {integers->begin(), integers->end()}, integer_type};
  return graph.add({name, std::move(constant.shape), {}, integer_type, std::move(*integers)});
}

std::string Lowering::describe(const Node& node) const {
  return file + ": node " + config::quoted(node.name) + " (" + config::printable(node.type) +
         (node.outputs.empty() ? std::string() : ", writes " + config::quoted(node.outputs.front())) + "): ";
}

void NodeContext::bad(const std::string& why) const { throw Refusal(Errc::bad_input, lowering_.describe(node_) + why); }
void NodeContext::unsupported(const std::string& why) const {
  throw UnsupportedNode(node_, why, lowering_.describe(node_));
}

const Value& NodeContext::value(std::size_t input) const {
  if (input >= node_.inputs.size() || node_.inputs[input].empty())
    bad("input " + std::to_string(input) + " is missing");
  if (const auto unreadable = lowering_.unreadable.find(node_.inputs[input]); unreadable != lowering_.unreadable.end())
    unsupported("constant " + config::quoted(node_.inputs[input]) + unreadable->second);
  const auto found = lowering_.values.find(node_.inputs[input]);
  if (found == lowering_.values.end())
    bad("it reads " + config::quoted(node_.inputs[input]) +
        ", which no input, initialiser or earlier node provides (a cycle, or nodes out of order)");
  return found->second;
}

bool NodeContext::has(std::size_t input) const {
  if (input >= node_.inputs.size() || node_.inputs[input].empty()) return false;
  if (is_absent(input)) return false;
  const auto* id = std::get_if<TensorId>(&value(input));
  return !id || has_elements(*id);
}

const Value& NodeContext::data(std::size_t input) const {
  if (is_sequence(input))
    unsupported("input " + name_of(input) +
                " is a sequence of tensors; take one of them by SequenceAt, or join them "
                "by ConcatFromSequence, before the node");
  if (is_absent(input)) bad("input " + name_of(input) + " is an optional without a value");
  return value(input);
}

bool NodeContext::is_sequence(std::size_t input) const { return std::holds_alternative<Sequence>(value(input)); }

const Sequence& NodeContext::sequence(std::size_t input) const {
  require(is_sequence(input), "its input must be a sequence of tensors");
  return std::get<Sequence>(value(input));
}

bool NodeContext::is_ints(std::size_t input) const { return has(input) && std::holds_alternative<Ints>(value(input)); }

bool NodeContext::is_empty(std::size_t input) const { return element_count(shape(input)) == 0; }

TensorId NodeContext::tensor(std::size_t input) const {
  const Value& known = data(input);
  if (const auto* id = std::get_if<TensorId>(&known)) return *id;
  const std::string& name = node_.inputs[input];
  const auto& ints = std::get<Ints>(known);
  const auto [found, missing] = lowering_.as_tensors.try_emplace(name);
  if (missing) charge(ints.values.size(), stored_size(ints.type));
  if (missing) found->second = lowering_.graph.add({name, ints.shape, {}, ints.type, Integers(ints.values, ints.type)});
  return found->second;
}

ElementType NodeContext::element_type(std::size_t input) const {
  if (const auto* ints = std::get_if<Ints>(&data(input))) return ints->type;
  return lowering_.type(tensor(input));
}

Shape NodeContext::shape(std::size_t input) const {
  if (const auto* ints = std::get_if<Ints>(&data(input))) return ints->shape;
  return lowering_.graph.tensors[tensor(input)].shape;
}

Shape NodeContext::shape_of_rank(std::size_t input, std::size_t rank) const {
  auto found = shape(input);
  if (found.size() != rank)
    unsupported("input " + config::quoted(node_.inputs[input]) + " has " + dimensions(found) +
                "; supported: " + std::to_string(rank) + " dimensions");
  return found;
}

std::vector<float> NodeContext::floats(std::size_t input, const char* role) const {
  if (!is_known(input))
    unsupported(std::string(role) + " (" + config::quoted(node_.inputs[input]) +
                ") must be a constant; make it an initialiser when the model is exported");
  if (is_integer(element_type(input)))
    bad(std::string(role) + " (" + config::quoted(node_.inputs[input]) + ") must be floats");
  return values_of(tensor(input));
}

float NodeContext::number_of(TensorId id) const {
  const auto& constant = lowering_.graph.tensors[id];
  return is_integer(constant.type) ? static_cast<float>(constant.integers.front()) : constant.values.front();
}

std::vector<std::int64_t> NodeContext::ints(std::size_t input, const char* role) const {
  const Value& known = data(input);
  if (const auto* found = std::get_if<Ints>(&known)) return found->values;
  const auto* id = std::get_if<TensorId>(&known);
  const auto* constant = id ? &lowering_.graph.tensors[*id] : nullptr;
  const auto what = std::string(role) + " (input " + config::quoted(node_.inputs[input]) + ") must be ";
  if (!constant || (!constant->constant() && has_elements(*id)))
    unsupported(
        what +
        "known when the model is loaded, but depends on an input of the network; if that input is the same in each "
        "job, give it by constant = { NAME = [...] } in a task set, by --constant NAME=... on a command line");
  if (!is_integer(constant->type)) bad(what + "integers, but they are of " + std::string(name(constant->type)));
  charge(constant->integers.size(), sizeof(std::int64_t));
  return {constant->integers.begin(), constant->integers.end()};
}

std::int64_t NodeContext::integer(std::size_t input, const char* role) const {
  const auto values = ints(input, role);
  if (values.size() != 1) bad(std::string(role) + " must have one element, and has " + std::to_string(values.size()));
  return values.front();
}

void NodeContext::require_all_attributes_read() const {
  for (const auto& [name, attribute] : node_.attributes)
    if (!read_.contains(name))
      unsupported("attribute " + config::quoted(name) + " is not supported in opset " + std::to_string(opset()) +
                  "; export the node without it");
}

void NodeContext::require_all_outputs_set() const {
  for (const auto& output : node_.outputs)
    if (!output.empty() && !lowering_.values.contains(output) && !lowering_.unreadable.contains(output) &&
        lowering_.read.contains(output))
      unsupported("its output " + config::quoted(output) +
                  " is not supported, but is read; remove the nodes that read it");
}

std::size_t NodeContext::axis(std::int64_t value, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (value < -signed_rank || value >= signed_rank)
    bad("axis " + std::to_string(value) + " does not exist in a tensor of " + std::to_string(rank) + " dimensions");
  return static_cast<std::size_t>(value < 0 ? value + signed_rank : value);
}

Shape NodeContext::checked(Shape shape) const {
  if (shape.size() > max_rank)
    unsupported("its output has more than " + std::to_string(max_rank) + " dimensions; merge some by Reshape");
  std::int64_t count = 1;
  for (const auto dimension : shape) {
    if (dimension < 0) bad("its output would have a dimension of " + std::to_string(dimension));
    if (dimension > max_elements || (count *= std::max<std::int64_t>(dimension, 1)) > max_elements)
      unsupported("its output would have more than " + std::to_string(max_elements) + " elements; use a smaller input");
  }
  return shape;
}

std::size_t NodeContext::reserve(const Shape& shape, std::size_t element_size) const {
  const auto count = static_cast<std::size_t>(element_count(checked(shape)));
  require_budget(static_cast<std::int64_t>(count * element_size));
  return count;
}

void NodeContext::charge(std::size_t elements, std::size_t element_size) const {
  const auto bytes = static_cast<std::int64_t>(elements * element_size);
  require_budget(bytes);
  lowering_.made += bytes;
}

void NodeContext::require_budget(std::int64_t bytes) const {
  const auto most = std::max(Lowering::always_made_bytes, made_for_each_byte * lowering_.given);
  if (bytes > most - lowering_.made)
    unsupported("constants that are computed while the model is loaded need more than " + std::to_string(most >> 20) +
                " MiB; compute them when the model is exported, and store them in it");
}

/// True if a node of cost `work` must be evaluated while the model is loaded; the cost is then added to the total. The
/// network computes all other nodes at run time.
bool NodeContext::is_worth_folding(double work) {
  const double most = std::max(always_folding, folding_for_each_byte * static_cast<double>(lowering_.given));
  if (work > max_folding || (work > trivial_folding && work > most - lowering_.folding)) return false;
  lowering_.folding += work;
  return true;
}

TensorId NodeContext::emit(Operation operation, std::vector<TensorId> inputs, Shape shape) {
  const ElementType first = lowering_.type(inputs.front());
  return emit(std::move(operation), std::move(inputs), std::move(shape),
              is_integer(first) || moves_elements(node_.type) ? first : ElementType::float32);
}

TensorId NodeContext::emit(Operation operation, std::vector<TensorId> inputs, Shape shape, ElementType type) {
  auto& graph = lowering_.graph;
  shape = checked(std::move(shape));
  if (element_count(shape) == 0 || !std::ranges::all_of(inputs, [&](TensorId id) { return has_elements(id); }))
    return emit_without_elements(std::move(operation), std::move(inputs), std::move(shape), type);
  const auto output = graph.add({node_.outputs.front(), std::move(shape), {}, type});
  tasks::Node node{node_.name, std::move(operation), std::move(inputs), output, {}, {}};
  if (const auto misfit = find_misfit(graph, node))
    misfit->supported_by_onnx ? unsupported(misfit->text) : bad(misfit->text);
  const auto is_constant = [&](TensorId id) { return graph.tensors[id].constant(); };
  if (std::ranges::all_of(node.inputs, is_constant) && is_worth_folding(work(graph, node))) {
    charge(static_cast<std::size_t>(element_count(graph.tensors[output].shape)), stored_size(type));
    if (evaluate(graph, node, static_cast<std::size_t>(Lowering::always_made_bytes))) return output;
  }
  graph.nodes.push_back(std::move(node));
  return output;
}

TensorId NodeContext::constant(Shape shape, std::vector<float> values) {
  charge(values.size());
  return lowering_.graph.add({node_.outputs.front(), checked(std::move(shape)), std::move(values)});
}

TensorId NodeContext::integer_constant(Shape shape, Integers values) {
  charge(values.bytes().size(), 1);
  const auto type = values.type();
  return lowering_.graph.add({node_.outputs.front(), checked(std::move(shape)), {}, type, std::move(values)});
}

TensorId NodeContext::scalar(std::int64_t value, ElementType type) {
  if (is_integer(type)) return integer_constant({}, Integers({value}, type));
  return constant({}, {static_cast<float>(value)});
}

TensorId NodeContext::cast(TensorId x, ElementType type) {
  const auto from = type_of(x);
  if (from == type || (!is_integer(from) && !is_integer(type))) return x;
  return emit(Cast{}, {x}, shape_of(x), type);
}

void NodeContext::set_output(Value value, std::size_t output) {
  if (node_.outputs.at(output).empty()) return;
  if (const auto* id = std::get_if<TensorId>(&value)) lowering_.graph.tensors[*id].name = node_.outputs.at(output);
  if (!lowering_.values.emplace(node_.outputs.at(output), std::move(value)).second)
    bad("it writes " + config::quoted(node_.outputs[output]) + ", which is written already");
}

void NodeContext::set_unreadable(std::string why) {
  lowering_.unreadable.emplace(node_.outputs.front(), std::move(why));
}

const std::string* NodeContext::why_unreadable(const char* name) const {
  const auto found = node_.attributes.find(name);
  const auto* unreadable = found == node_.attributes.end() ? nullptr : std::get_if<Unreadable>(&found->second);
  return unreadable ? &unreadable->why : nullptr;
}

void NodeContext::set_constant(Constant value) {
  if (value.shape.size() > max_rank)
    unsupported("its output has more than " + std::to_string(max_rank) + " dimensions; merge some by Reshape");
  value.shape = checked(std::move(value.shape));
  charge(static_cast<std::size_t>(value.dense_bytes()), 1);
  set_output(lowering_.value_of(node_.outputs.front(), std::move(value)));
}

std::string NodeContext::own_name(const std::string& what) {
  return node_.name + " " + what + " @" + std::to_string(++lowering_.copies);
}

std::string NodeContext::known(Ints values) {
  auto name = own_name("known");
  lowering_.values.emplace(name, std::move(values));
  return name;
}

std::string NodeContext::made(const std::string& type, std::vector<std::string> inputs, Attributes attributes) {
  auto name = own_name(type);
  lowering_.read.insert(name);
  lower_node(lowering_, {node_.name, type, std::move(inputs), {name}, std::move(attributes), opset()});
  return name;
}

std::string NodeContext::unsqueezed(const std::string& tensor, std::int64_t axis) {
  if (opset() < 13) return made("Unsqueeze", {tensor}, {{"axes", std::vector{axis}}});
  return made("Unsqueeze", {tensor, known({{1}, {axis}})});
}

void NodeContext::become(const std::string& type, std::vector<std::string> inputs, Attributes attributes) const {
  lower_node(lowering_, {node_.name, type, std::move(inputs), node_.outputs, std::move(attributes), opset()});
}

} // namespace rtexec::tasks::onnx_source
