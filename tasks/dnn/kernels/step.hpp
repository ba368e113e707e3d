// A step: one node with its kernel chosen, its geometry prepared and its constants packed. Addresses come with each
// run, so a step is immutable once made.
#pragma once

#include "tasks/dnn/graph/graph.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace rtexec::tasks {

struct Operands {
  std::span<const float* const> inputs; // the node's inputs, then its residual where it has one
  float* output = nullptr;              // may be inputs[0] or the residual where the step works in place
  float* workspace = nullptr;           // Step::workspace() floats, aligned to 64 bytes, of any content
};

class Step {
 public:
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// Never allocates, locks or calls the system.
  virtual void run(const Operands& operands) const noexcept = 0;
  [[nodiscard]] virtual std::size_t workspace() const { return 0; } // in floats
  /// Which input, or the residual (number inputs.size()), the output may overwrite: each element is read before it is
  /// written.
  [[nodiscard]] virtual bool in_place(std::size_t input) const {
    (void)input;
    return false;
  }

 protected:
  Step() = default;
};

/// A step, and the constants that it wants packed in its own way.
struct PreparedStep {
  std::unique_ptr<Step> step;
  std::vector<std::vector<float>> packed; // by input; where empty, or beyond the end, the constant as it is
};

/// Chooses the kernel of `node`. The step is null for a Reshape: nothing is to be done.
[[nodiscard]] PreparedStep prepare(const Graph& graph, const Node& node);

} // namespace rtexec::tasks
