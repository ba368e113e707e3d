#include "tasks/engine/onnx/model_functions.hpp"

#include "config/base/text.hpp"
#include "tasks/engine/onnx/control_flow.hpp"
#include "tasks/engine/onnx/renaming.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rtexec::tasks::onnx_source {
namespace {

using Graph = std::shared_ptr<const Subgraph>;
using Attributes = std::map<std::string, Attribute>;

constexpr std::size_t max_depth = 64; // maximum depth of nested calls

class Inlining {
 public:
  Inlining(const std::string& file, const LocalFunctions& functions) : file_(file), functions_(functions) {}

  std::vector<Node> expanded(std::vector<Node> nodes) {
    std::vector<Node> result;
    for (auto& node : nodes) {
      if (++nodes_ > max_nodes)
        throw Refusal(Errc::unsupported, file_ + ": with its functions inlined it has more than " +
                                             std::to_string(max_nodes) +
                                             " nodes; export a smaller network, or several");
      for (auto& [name, attribute] : node.attributes)
        if (const auto* within = std::get_if<Graph>(&attribute)) attribute = expanded(**within);
      if (const auto found = functions_.find(node.type); found != functions_.end()) {
        auto body = called(node, found->second);
        std::ranges::move(body, std::back_inserter(result));
      } else {
        result.push_back(std::move(node));
      }
    }
    return result;
  }

 private:
  Graph expanded(Subgraph graph) {
    graph.nodes = expanded(std::move(graph.nodes));
    return std::make_shared<const Subgraph>(std::move(graph));
  }

  std::vector<Node> called(const Node& call, const LocalFunction& function) {
    require_fit(call, function);
    active_.push_back(&function);
    auto body = expanded(body_of(call, function));
    active_.pop_back();
    return body;
  }

  void require_fit(const Node& call, const LocalFunction& function) const {
    const auto bad = [&](const std::string& why) {
      throw Refusal(Errc::bad_input, file_ + ": node " + config::quoted(call.name) + " calls function " +
                                         config::quoted(call.type) + ", " + why);
    };
    if (std::ranges::find(active_, &function) != active_.end())
      bad("which calls itself; export the model without recursion");
    if (active_.size() >= max_depth)
      bad("in more than " + std::to_string(max_depth) + " calls inside of each other; inline some of them");
    if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size())
      bad("with more inputs or outputs than it has: " + std::to_string(function.inputs.size()) + " and " +
          std::to_string(function.outputs.size()));
    for (const auto& [name, value] : call.attributes)
      if (std::ranges::find(function.attributes, name) == function.attributes.end() &&
          !function.defaults.contains(name))
        bad("with the attribute " + config::quoted(name) + ", which it does not have");
    if (function.opset != 0 && (function.opset < oldest_opset || function.opset > newest_opset))
      throw Refusal(Errc::unsupported, file_ + ": function " + config::quoted(call.type) + " is of opset " +
                                           std::to_string(function.opset) + "; export or convert it to an opset from " +
                                           std::to_string(oldest_opset) + " to " + std::to_string(newest_opset));
  }

  std::vector<Node> body_of(const Node& call, const LocalFunction& function) {
    Names names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      names.emplace(function.inputs[i], i < call.inputs.size() ? call.inputs[i] : "");
    std::vector<Node> handed_on; // nodes that copy function inputs which the function also returns as outputs
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
      if (const auto& name = call.outputs[i]; !name.empty() && !names.emplace(function.outputs[i], name).second)
        handed_on.push_back({name, "Identity", {names.at(function.outputs[i])}, {name}, {}});
    Renaming renaming(std::move(names), " @f" + std::to_string(++calls_));
    renaming.own_outputs(function.nodes);
    // A function can read only its own inputs. Other names that its body reads must not refer to tensors of the caller.
    each_node(function.nodes, [&](const Node& node) {
      for (const auto& input : node.inputs) renaming.own(input);
    });
    auto body = renaming.copied(function.nodes);
    auto attributes = call.attributes;
    attributes.insert(function.defaults.begin(), function.defaults.end());
    bind(body, attributes, call.name + "/", function.opset);
    std::ranges::move(handed_on, std::back_inserter(body));
    return body;
  }

  /// Replaces each reference to an attribute in a function's body by the attribute's value in the call. Removes each
  /// attribute whose reference has no value.
  static void bind(std::vector<Node>& nodes, const Attributes& values, const std::string& prefix, std::int64_t opset) {
    for (auto& node : nodes) {
      node.name.insert(0, prefix);
      node.opset = opset;
      Attributes bound;
      for (auto& [name, attribute] : node.attributes) {
        if (const auto* reference = std::get_if<Reference>(&attribute)) {
          if (const auto value = values.find(reference->name); value != values.end())
            bound.emplace(name, value->second);
        } else if (const auto* within = std::get_if<Graph>(&attribute)) {
          Subgraph graph = **within;
          bind(graph.nodes, values, prefix, opset);
          bound.emplace(name, std::make_shared<const Subgraph>(std::move(graph)));
        } else {
          bound.emplace(name, std::move(attribute));
        }
      }
      node.attributes = std::move(bound);
    }
  }

  const std::string& file_;
  const LocalFunctions& functions_;
  std::vector<const LocalFunction*> active_;
  std::size_t nodes_ = 0, calls_ = 0;
};

} // namespace

void inline_functions(Model& model) {
  if (model.functions.empty()) return;
  model.nodes = Inlining(model.file, model.functions).expanded(std::move(model.nodes));
}

} // namespace rtexec::tasks::onnx_source
