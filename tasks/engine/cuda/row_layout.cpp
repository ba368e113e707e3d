#include "tasks/engine/cuda/row_layout.hpp"

#include <algorithm>

namespace rtexec::tasks::cuda {
namespace {

class Layouts {
 public:
  explicit Layouts(const Graph& graph) : graph_(graph), rows_(graph.tensors.size(), false) {
    for (TensorId id = 0; id < graph.tensors.size(); ++id) rows_[id] = shape(id).size() != 4;
    for (const auto& node : graph.nodes)
      if (shape(node.output).size() == 4)
        rows_[node.output] =
            std::visit([&](const auto& operation) { return is_rows(node, operation); }, node.operation);
  }
  [[nodiscard]] std::vector<bool> result() && { return std::move(rows_); }

 private:
  [[nodiscard]] const Shape& shape(TensorId id) const { return graph_.tensors[id].shape; }

  bool is_rows(const Node&, const Gemm&) const { return true; }
  bool is_rows(const Node&, const Attention&) const { return true; }
  bool is_rows(const Node&, const MatMul&) const { return true; }
  bool is_rows(const Node&, const IntegerMatMul&) const { return true; }
  bool is_rows(const Node&, const Conv&) const { return false; }
  bool is_rows(const Node&, const IntegerConv&) const { return false; }
  bool is_rows(const Node&, const Pool&) const { return false; }
  bool is_rows(const Node&, const Resize&) const { return false; }
  bool is_rows(const Node&, const GridSample&) const { return false; }
  bool is_rows(const Node&, const Lrn&) const { return false; }
  bool is_rows(const Node&, const ScaleShift&) const { return false; }
  bool is_rows(const Node& node, const LayerNorm& normalise) const {
    return normalise.count == shape(node.output).back() || follows(node);
  }
  bool is_rows(const Node& node, const Reshape&) const { return rows_[node.inputs[0]]; }

  /// Returns true if neighbours in x's memory become neighbours in the last dimension of the view. Returns false if
  /// they become neighbours in the channels. Otherwise returns the layout of x.
  bool is_rows(const Node& node, const View& view) const {
    const auto from = dense_strides(shape(node.inputs[0]));
    const auto neighbours = from.empty() ? 1 : from[rows_[node.inputs[0]] ? from.size() - 1 : 1];
    return view.strides[3] == neighbours || (view.strides[1] != neighbours && rows_[node.inputs[0]]);
  }
  template <class Operation> bool is_rows(const Node& node, const Operation&) const { return follows(node); }

  /// Returns the layout of the first operand that is not constant and has the output's shape. If there is no such
  /// operand, returns true if any non-constant four-dimensional operand is row-major.
  bool follows(const Node& node) const {
    for (const auto input : node.inputs)
      if (!graph_.tensors[input].constant() && shape(input) == shape(node.output)) return rows_[input];
    return std::ranges::any_of(node.inputs, [&](TensorId input) {
      return !graph_.tensors[input].constant() && shape(input).size() == 4 && rows_[input];
    });
  }

  const Graph& graph_;
  std::vector<bool> rows_;
};

} // namespace

std::vector<bool> row_layout(const Graph& graph) { return Layouts(graph).result(); }

} // namespace rtexec::tasks::cuda
