#include "tasks/engine/onnx/renaming.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace rtexec::tasks::onnx_source {
namespace {

using Graph = std::shared_ptr<const Subgraph>;

} // namespace

void Renaming::own_outputs(const std::vector<Node>& nodes) {
  for (const auto& node : nodes) {
    for (const auto& output : node.outputs) own(output);
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* within = std::get_if<Graph>(&attribute)) {
        for (const auto& input : (*within)->inputs) own(input);
        own(**within);
      }
  }
}

void Renaming::own(const Subgraph& graph) {
  for (const auto& [name, initialiser] : graph.initialisers) own(name);
  own_outputs(graph.nodes);
}

std::string Renaming::renamed(const std::string& name) const {
  const auto found = name.empty() ? names_.end() : names_.find(name);
  return found == names_.end() ? name : found->second;
}

std::vector<std::string> Renaming::renamed(std::vector<std::string> names) const {
  for (auto& name : names) name = renamed(name);
  return names;
}

Subgraph Renaming::copied(const Subgraph& graph) const {
  Initialisers initialisers;
  for (const auto& [name, initialiser] : graph.initialisers) initialisers.emplace(renamed(name), initialiser);
  return {renamed(graph.inputs), renamed(graph.outputs), std::move(initialisers), copied(graph.nodes)};
}

std::vector<Node> Renaming::copied(std::vector<Node> nodes) const {
  for (auto& node : nodes) {
    node.inputs = renamed(std::move(node.inputs));
    node.outputs = renamed(std::move(node.outputs));
    for (auto& [name, attribute] : node.attributes)
      if (const auto* within = std::get_if<Graph>(&attribute))
        attribute = std::make_shared<const Subgraph>(copied(**within));
  }
  return nodes;
}

} // namespace rtexec::tasks::onnx_source
