#include "tasks/engine/onnx/initialisers.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

using Graph = std::shared_ptr<const Subgraph>;

class Lifting {
 public:
  explicit Lifting(Initialisers& all) : all_(all) {}

  void lift(std::vector<Node>& nodes) {
    for (auto& node : nodes) {
      rename(node.inputs);
      for (auto& [name, attribute] : node.attributes)
        if (const auto* within = std::get_if<Graph>(&attribute)) attribute = lifted(**within);
    }
  }

 private:
  Graph lifted(Subgraph graph) {
    const auto changed = changes_.size();
    for (const auto& input : graph.inputs) change(input, input);
    for (auto& [name, initialiser] : graph.initialisers) change(name, move_out(name, std::move(initialiser)));
    for (const auto& node : graph.nodes)
      for (const auto& output : node.outputs) change(output, output);
    graph.initialisers.clear();
    lift(graph.nodes);
    rename(graph.outputs);
    undo(changed);
    return std::make_shared<const Subgraph>(std::move(graph));
  }

  template <class Initialiser> std::string move_out(const std::string& name, Initialiser initialiser) {
    auto unique = name + " #" + std::to_string(++lifted_);
    while (all_.contains(unique)) unique += '#';
    all_.emplace(unique, std::move(initialiser));
    return unique;
  }

  void rename(std::vector<std::string>& names) const {
    for (auto& name : names)
      if (const auto found = names_.find(name); found != names_.end()) name = found->second;
  }

  void change(const std::string& name, std::string to) {
    auto& current = names_.try_emplace(name, name).first->second;
    changes_.emplace_back(name, std::exchange(current, std::move(to)));
  }
  void undo(std::size_t count) {
    for (; changes_.size() > count; changes_.pop_back()) names_[changes_.back().first] = changes_.back().second;
  }

  Initialisers& all_;
  std::unordered_map<std::string, std::string> names_; // new names in the graph that is being visited
  /// Each changed name, with its previous entry in `names_`, for undo().
  std::vector<std::pair<std::string, std::string>> changes_;
  std::size_t lifted_ = 0;
};

} // namespace

void lift_initialisers(Model& model) { Lifting(model.initialisers).lift(model.nodes); }

} // namespace rtexec::tasks::onnx_source
