// A step: one node of a graph with its kernel chosen and its geometry prepared. A step is immutable; each run receives
// the addresses of the tensors.
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

/// The addresses of a step's tensors. Elements have the format of stored_size(): integers and booleans in their own
/// type, floats of every precision as float.
struct Operands {
  std::span<const void* const> inputs; // the node's inputs, then its residual if it has one
  void* to = nullptr;                  // the output; may be an input or the residual if Step::in_place() allows that
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

  /// Computes the output. Never allocates memory, takes a lock or makes a system call.
  virtual void run(const Operands& operands) const noexcept = 0;
  [[nodiscard]] virtual std::size_t workspace() const { return 0; } // in floats
  /// True if the output may overwrite input number `input` (the residual has number inputs.size()). A step returns true
  /// only if it reads each element of that input before it writes the element.
  [[nodiscard]] virtual bool in_place(std::size_t input) const {
    (void)input;
    return false;
  }

  /// Returns the name of the packed layout in which run() reads its second input, if that input is a constant. Returns
  /// an empty name if the constant is not packed. Steps that return the same name can share one packed copy.
  [[nodiscard]] virtual std::string packing() const { return {}; }
  /// Returns the values of the constant second input in the layout that packing() names. The values may be integers.
  [[nodiscard]] virtual std::vector<float> pack(const std::vector<float>& values) const { return values; }

 protected:
  Step() = default;
};

/// Chooses the kernel of `node` and returns its step. Returns null for a Reshape, which needs no work.
[[nodiscard]] std::unique_ptr<Step> prepare(const Graph& graph, const Node& node);
/// Returns the constant second input of `step`, packed in the layout that packing() names.
[[nodiscard]] std::vector<float> packed_for(const Step& step, const Tensor& constant);
/// Returns a name for a packed layout, formed from `kind` and `numbers`. Layouts of this kind must be equal if these
/// numbers are equal, since steps with equal names share a packed copy.
[[nodiscard]] std::string packing_name(const char* kind, std::initializer_list<std::int64_t> numbers);

} // namespace rtexec::tasks
