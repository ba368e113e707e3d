// The engine's picture of a network: static shapes, float32 (but for what goes in and comes out), NCHW, few operations.
// Read from ONNX by onnx_reader.hpp, simplified by passes.hpp, executed by network.hpp. Plain values; owns its
// constants.
#pragma once

#include <rtexec/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rtexec::tasks {

using Shape = std::vector<std::int64_t>; // every dimension is at least 1; empty: a scalar

using TensorId = std::uint32_t; // index in Graph::tensors

struct Tensor {
  std::string name;
  Shape shape;
  std::vector<float> values; // of a constant, in row-major order; empty for what is computed
  /// As callers see an input or an output. Its floats are whole numbers where that is a type of integers, save those of
  /// an output, which are then rounded towards zero.
  ElementType type = ElementType::float32;

  [[nodiscard]] bool constant() const { return !values.empty(); }
};

/// y = f(x), element by element.
struct Activation {
  /// Swish: x * sigmoid(x)
  enum class Kind { none, relu, leaky_relu, sigmoid, hard_sigmoid, hard_swish, clip, exp, tanh, sqrt, swish };
  Kind kind = Kind::none;
  float a = 0; // leaky_relu: slope below zero; hard_sigmoid: alpha; clip: lower bound
  float b = 0; // hard_sigmoid: beta; clip: upper bound
  friend bool operator==(const Activation&, const Activation&) = default;
};

/// A window that moves over height and width.
struct Window {
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
};

/// Inputs x [n,c,h,w], weights [m, c/groups, kh, kw], and a bias [m] where there is one.
struct Conv {
  Window window;
  std::int64_t groups = 1;
};

/// alpha * op(a) * op(b) + beta * c. Inputs a, b, and c [m,n], [1,n], [n], [m,1] or scalar where there is one.
struct Gemm {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  float beta = 1;
};

/// x [n,c,h,w]. The output shape decides how many windows there are (ceil_mode); what lies outside x is never the
/// maximum.
struct Pool {
  enum class Kind { max, average };
  Kind kind = Kind::max;
  Window window;
  bool count_padding = false; // average: padding counts as zeros
};

/// Two inputs, broadcast as NumPy does.
struct Binary {
  enum class Kind { add, subtract, multiply, divide };
  Kind kind = Kind::add;
};

/// y = x * scale[c] + shift[c], for x [n,c,...]: a batch normalisation that could not be folded. Inputs x, scale,
/// shift.
struct ScaleShift {};

/// Softmax over the middle of x seen as [outer, count, inner].
struct Softmax {
  std::int64_t outer = 1, count = 1, inner = 1;
};

/// Mean over the middle of x seen as [outer, count, inner].
struct Mean {
  std::int64_t outer = 1, count = 1, inner = 1;
};

/// Local response normalisation across channels.
struct Lrn {
  std::int64_t size = 1;
  float alpha = 1e-4F, beta = 0.75F, bias = 1;
};

struct Concat {
  std::size_t axis = 0;
};

/// The same elements under another shape.
struct Reshape {};

/// Each output element is an input element: y[i] = x[offset + sum of i[d] * strides[d]], d over y's dimensions.
/// Transpose, slice, expand.
struct View {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

/// Output index i along `axis` takes the input's indices[i].
struct Gather {
  std::size_t axis = 0;
  std::vector<std::int64_t> indices;
};

/// x, at position `before` in an output that is `value` elsewhere.
struct Pad {
  std::vector<std::int64_t> before;
  float value = 0;
};

/// Interpolation in height and width: each output row (column) blends two input rows (columns).
struct Resize {
  struct Tap {
    std::int64_t low = 0, high = 0;
    float weight = 0; // of high; low has the rest
  };
  std::vector<Tap> rows;    // one for each output row
  std::vector<Tap> columns; // one for each output column
};

using Operation = std::variant<Activation, Conv, Gemm, Pool, Binary, ScaleShift, Softmax, Mean, Lrn, Concat, Reshape,
                               View, Gather, Pad, Resize>;

struct Node {
  std::string name; // the ONNX node's, or its first output's where it has none
  Operation operation;
  std::vector<TensorId> inputs;
  TensorId output = 0;
  // Conv, Gemm, Binary and ScaleShift only, and set by passes.hpp only: y = activation(operation(...) + residual).
  std::optional<TensorId> residual; // Conv and Gemm only; shaped as the output
  Activation activation;
};

struct Graph {
  std::string name;
  std::map<std::string, std::string> metadata; // the file's metadata_props
  std::vector<std::string> notes;              // what the file leaves open, and how it is taken
  std::vector<Tensor> tensors;
  /// Each after the nodes that it reads from; each tensor is written by at most one node
  std::vector<Node> nodes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs; // may also be inputs or constants

  TensorId add(Tensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(tensors.size() - 1);
  }
};

/// Largest number of elements that a tensor may have: 1 GiB of float32. The reader refuses what is larger.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 28;
/// Largest number of dimensions, likewise.
inline constexpr std::size_t max_rank = 8;

/// The product of the dimensions. Shapes in a Graph never exceed max_elements.
[[nodiscard]] std::int64_t element_count(const Shape& shape);
/// Of its values, as float.
[[nodiscard]] std::size_t bytes_of(const Tensor& tensor);
/// "1x3x224x224"; "scalar".
[[nodiscard]] std::string to_string(const Shape& shape);
/// The row-major strides of a dense tensor.
[[nodiscard]] std::vector<std::int64_t> dense_strides(const Shape& shape);
/// Strides of an operand of shape `from`, broadcast to `to` as NumPy does: 0 along what it repeats.
[[nodiscard]] std::vector<std::int64_t> broadcast(const Shape& from, const std::vector<std::int64_t>& strides,
                                                  const Shape& to);

} // namespace rtexec::tasks
