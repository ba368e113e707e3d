// Lowers a model to its graph: inputs, then constants, then nodes in order, then outputs.
#include "tasks/engine/onnx/control_flow.hpp"
#include "tasks/engine/onnx/fixed_inputs.hpp"
#include "tasks/engine/onnx/initialisers.hpp"
#include "tasks/engine/onnx/model_functions.hpp"
#include "tasks/engine/onnx/operators.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace rtexec::tasks::onnx_source {

namespace {

/// Gives a tensor the type that the file declares for the output. The declared type may differ from the computed type
/// only in floating-point precision.
void give_type(Lowering& lowering, const Model& model, const Output& output, TensorId id) {
  auto& type = lowering.graph.tensors[id].type;
  if (!output.type || *output.type == type) return;
  const bool taken_in = std::ranges::find(lowering.graph.inputs, id) != lowering.graph.inputs.end();
  if (taken_in || is_integer(*output.type) || is_integer(type)) {
    const auto writes = [&](const Node& node) {
      return std::ranges::find(node.outputs, output.name) != node.outputs.end();
    };
    const auto writer = std::ranges::find_if(model.nodes, writes);
    const auto what = writer == model.nodes.end() ? lowering.file + ": " : lowering.describe(*writer);
    throw Refusal(Errc::bad_input, what + "output " + config::quoted(output.name) + " is declared as " +
                                       std::string(name(*output.type)) + " in the file, but is " +
                                       std::string(name(type)));
  }
  type = *output.type;
}

/// Returns the tensor of a graph output. Integers that are known at load become a constant.
TensorId output_tensor(Lowering& lowering, const std::string& name, const Value& value) {
  if (const auto* id = std::get_if<TensorId>(&value)) return *id;
  if (std::holds_alternative<Sequence>(value))
    throw Refusal(Errc::unsupported, lowering.file + ": output " + config::quoted(name) +
                                         " is a sequence of tensors; make each of them an output, or join them by "
                                         "ConcatFromSequence in the model");
  if (std::holds_alternative<Absent>(value))
    throw Refusal(Errc::unsupported, lowering.file + ": output " + config::quoted(name) +
                                         " is an optional without a value; leave it out of the model");
  const auto& ints = std::get<Ints>(value);
  return lowering.graph.add({name, ints.shape, {}, ints.type, {ints.values, ints.type}});
}

/// Returns text with the first three names and the number of all other names: "'a', 'b', 'c' and 4 more".
std::string few_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

/// Reports all unsupported nodes, grouped by operator and reason. `behind` is the number of nodes that were not checked
/// because they depend on unsupported nodes.
[[noreturn]] void refuse(const Lowering& lowering, const std::vector<UnsupportedNode>& nodes, std::size_t behind) {
  if (nodes.size() == 1) throw nodes.front();
  std::set<std::string> types;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const auto& node : nodes) {
    types.insert(node.type);
    groups[{node.type, node.why == unknown_operator ? "" : node.why}].push_back(config::quoted(node.name));
  }
  std::vector<std::string> told;
  for (const auto& [reason, names] : groups)
    told.push_back(config::printable(reason.first) + " (" + (names.size() == 1 ? "node " : "nodes ") + few_of(names) +
                   (reason.second.empty() ? "" : ": " + reason.second) + ")");
  constexpr std::size_t most = 12;
  std::string list;
  for (std::size_t i = 0; i < std::min(told.size(), most); ++i) list += (i == 0 ? "" : ", ") + told[i];
  if (told.size() > most) list += " and " + std::to_string(told.size() - most) + " more";
  throw Refusal(
      Errc::unsupported,
      lowering.file + ": " + std::to_string(types.size()) + (types.size() == 1 ? " operator" : " operators") + " of " +
          std::to_string(nodes.size()) + " nodes are not supported: " + list +
          (behind == 0 ? ""
                       : "; " + std::to_string(behind) + (behind == 1 ? " node that reads" : " nodes that read") +
                             " from them not checked") +
          "; `rtexec infer --list-operators` lists the supported ones");
}

/// Returns the number of bytes that a constant of the file adds to the file's memory budget. Each element counts as at
/// least a float, since quantized integers may become floats.
std::int64_t given_bytes_of(const Constant& constant) {
  const auto* integers = std::get_if<Integers>(&constant.values);
  if (!integers) return std::ssize(std::get<std::vector<float>>(constant.values)) * std::int64_t{sizeof(float)};
  return static_cast<std::int64_t>(std::max(integers->size() * sizeof(float), integers->bytes().size()));
}

void add_initialisers(Lowering& lowering, Initialisers initialisers) {
  std::map<const Constant*, Value> known;
  for (auto& [name, initialiser] : initialisers) {
    if (const auto* unreadable = std::get_if<Unreadable>(&initialiser)) {
      lowering.unreadable.emplace(name, unreadable->why);
      continue;
    }
    auto& constant = *std::get<std::shared_ptr<Constant>>(initialiser);
    if (const auto found = known.find(&constant); found != known.end()) {
      lowering.values.emplace(name, found->second);
      continue;
    }
    if (constant.shape.size() > max_rank)
      throw Refusal(Errc::unsupported, lowering.file + ": initialiser " + config::quoted(name) + " has more than " +
                                           std::to_string(max_rank) + " dimensions");
    if (constant.places) {
      const auto bytes = constant.dense_bytes();
      if (bytes > Lowering::always_made_bytes - lowering.made)
        throw Refusal(Errc::unsupported, lowering.file + ": initialiser " + config::quoted(name) +
                                             " is sparse and has " + std::to_string(element_count(constant.shape)) +
                                             " elements, too many for a sparse constant; store it dense");
      lowering.made += bytes;
    }
    lowering.given += given_bytes_of(constant);
    const auto value = lowering.value_of(name, std::move(constant));
    known.emplace(&constant, value);
    lowering.values.emplace(name, value);
  }
}

} // namespace

Graph lower(Model model) {
  inline_functions(model);
  std::size_t nodes = 0;
  each_node(model.nodes, [&](const Node&) { ++nodes; });
  if (nodes > max_nodes)
    throw Refusal(Errc::unsupported, model.file + ": more than " + std::to_string(max_nodes) + " nodes");
  lift_initialisers(model);
  Lowering lowering{.file = model.file, .opset = model.opset};
  each_node(model.nodes,
            [&](const Node& node) { lowering.read_by_nodes.insert(node.inputs.begin(), node.inputs.end()); });
  lowering.read = lowering.read_by_nodes;
  for (const auto& output : model.outputs) lowering.read.insert(output.name);
  lowering.graph.name = std::move(model.name);
  lowering.graph.metadata = std::move(model.metadata);
  lowering.graph.notes = std::move(model.notes);
  add_initialisers(lowering, std::move(model.initialisers));
  auto shapes = input_shapes(model);
  for (const auto& [name, values] : model.given.constants) static_cast<void>(named_input(model, name, "a constant"));
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const Input& input = model.inputs[i];
    if (model.given.constants.contains(input.name)) {
      lowering.values.emplace(input.name, lowering.value_of(input.name, given_constant(model, input, shapes[i])));
      continue;
    }
    const auto id = lowering.graph.add({input.name, std::move(shapes[i]), {}, input.type});
    if (input.name.empty() || !lowering.values.emplace(input.name, id).second)
      throw Refusal(Errc::bad_input,
                    model.file + ": input " + config::quoted(input.name) + " must have a name that no other one has");
    lowering.graph.inputs.push_back(id);
  }
  Refused refused;
  lower_nodes(lowering, model.nodes, refused);
  if (!refused.nodes.empty()) refuse(lowering, refused.nodes, refused.behind);
  if (model.outputs.empty()) throw Refusal(Errc::bad_input, model.file + ": the graph has no output");
  for (const auto& output : model.outputs) {
    const auto found = lowering.values.find(output.name);
    if (found == lowering.values.end())
      throw Refusal(Errc::bad_input, model.file + ": no node writes the output " + config::quoted(output.name));
    const auto id = output_tensor(lowering, output.name, found->second);
    give_type(lowering, model, output, id);
    lowering.graph.outputs.push_back(id);
  }
  return std::move(lowering.graph);
}

} // namespace rtexec::tasks::onnx_source
