// A step: one node with its kernel chosen and its geometry prepared. Addresses come with each run, so a step is
// immutable once made.
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

/// The addresses of a step's tensors. Elements are stored as stored_size() says: integers and booleans in their own
/// type, floats of every precision as float.
struct Operands {
  std::span<const void* const> inputs; // the node's inputs, then its residual where it has one
  void* to = nullptr;                  // the output; may be an input or the residual where the step works in place
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
  /// Which input, or the residual (number inputs.size()), the output may overwrite: each element is read before it is
  /// written.
  [[nodiscard]] virtual bool in_place(std::size_t input) const {
    (void)input;
    return false;
  }

  /// The layout in which run() reads the second input if that is a constant; empty: as it is. Steps that return the
  /// same text can share one packed copy of a constant.
  [[nodiscard]] virtual std::string packing() const { return {}; }
  /// The values of that constant, integers or not, in that layout.
  [[nodiscard]] virtual std::vector<float> pack(const std::vector<float>& values) const { return values; }

 protected:
  Step() = default;
};

/// Chooses the kernel of `node`. Returns null for a Reshape: nothing is to be done.
[[nodiscard]] std::unique_ptr<Step> prepare(const Graph& graph, const Node& node);
/// The elements of the constant that is the second input of `step`, in the layout of its packing().
[[nodiscard]] std::vector<float> packed_for(const Step& step, const Tensor& constant);
/// A name of a layout that depends on these numbers only.
[[nodiscard]] std::string packing_name(const char* kind, std::initializer_list<std::int64_t> numbers);

} // namespace rtexec::tasks
