// Copies nodes under names of their own: a graph inside a node that is computed several times, or a function's body
// that replaces a call.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace rtexec::tasks::onnx_source {

using Names = std::unordered_map<std::string, std::string>; // the new name of each tensor

class Renaming {
 public:
  /// `names`: tensors that have a new name already. `suffix`: of the new names of all others.
  Renaming(Names names, std::string suffix) : names_(std::move(names)), suffix_(std::move(suffix)) {}

  /// Renames what `nodes` write, with the tensors of graphs inside them.
  void own_outputs(const std::vector<Node>& nodes);
  /// The same with all that a graph defines but its inputs.
  void own(const Subgraph& graph);
  void own(const std::string& name) { names_.emplace(name, name + suffix_); }

  [[nodiscard]] std::string renamed(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> renamed(std::vector<std::string> names) const;
  [[nodiscard]] std::vector<Node> copied(std::vector<Node> nodes) const;

 private:
  [[nodiscard]] Subgraph copied(const Subgraph& graph) const;

  Names names_;
  std::string suffix_;
};

} // namespace rtexec::tasks::onnx_source
