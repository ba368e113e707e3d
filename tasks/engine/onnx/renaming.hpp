// Copies nodes under new names. This is used for a contained graph that is repeated, and for the body of a function
// that replaces a call.
#pragma once

#include "tasks/engine/onnx/model_source.hpp"

#include <string>
#include <unordered_map>
#include <vector>

namespace rtexec::tasks::onnx_source {

using Names = std::unordered_map<std::string, std::string>; // old name to new name

class Renaming {
 public:
  /// `names` maps the tensors that already have a new name. A name that own() adds becomes the old name plus `suffix`.
  Renaming(Names names, std::string suffix) : names_(std::move(names)), suffix_(std::move(suffix)) {}

  /// Renames the outputs of `nodes`, and the tensors that their contained graphs define.
  void own_outputs(const std::vector<Node>& nodes);
  /// Renames all tensors that a graph defines, except its inputs.
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
