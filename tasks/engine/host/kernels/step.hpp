// A step: one node with its kernel chosen and its geometry prepared. Each run receives the addresses, so a step is
// immutable.
#pragma once

#include "tasks/engine/graph/graph.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

/// The addresses of a step's tensors. stored_size() defines their format: integers and booleans in their own type,
/// floats of every precision as float.
struct Operands {
  std::span<const void* const> inputs; // the node's inputs, then its residual if it has one
  void* to = nullptr;                  // the output; may be an input or the residual if in_place() allows it
  float* workspace = nullptr;          // Step::workspace() floats, aligned to 64 bytes, of any content

  template <class T = float> [[nodiscard]] const T* input(std::size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  [[nodiscard]] const float* residual() const { return static_cast<const float*>(inputs.back()); }
  template <class T = float> [[nodiscard]] T* output() const { return static_cast<T*>(to); }
};

class Step {
 public:
  virtual ~Step() = default;
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  /// Never allocates, locks or calls the system.
  virtual void run(const Operands& operands) const noexcept = 0;
  [[nodiscard]] virtual std::size_t workspace() const { return 0; } // in floats
  /// True if the output may overwrite this input, or the residual (number inputs.size()). The step then reads each
  /// element before it writes it.
  [[nodiscard]] virtual bool in_place(std::size_t input) const {
    (void)input;
    return false;
  }

  /// Returns the name of the layout in which run() reads a constant second input; empty: not packed. Steps that return
  /// the same name can share one packed copy of a constant.
  [[nodiscard]] virtual std::string packing() const { return {}; }
  /// Returns the values of that constant, which may be integers, in that layout.
  [[nodiscard]] virtual std::vector<float> pack(const std::vector<float>& values) const { return values; }

 protected:
  Step() = default;
};

/// Chooses the kernel of `node`. Returns null for a Reshape, which needs no work.
[[nodiscard]] std::unique_ptr<Step> prepare(const Graph& graph, const Node& node);
/// Returns the second input of `step`, a constant, in the layout of packing().
[[nodiscard]] std::vector<float> packed_for(const Step& step, const Tensor& constant);
/// Returns the name of a layout that depends on these numbers only.
[[nodiscard]] std::string packing_name(const char* kind, std::initializer_list<std::int64_t> numbers);

} // namespace rtexec::tasks
