// The engine's representation of a network: tensors with static shapes and element types in NCHW layout, and a small
// set of operations. Integers of every width and booleans are computed in their own type, modulo 2^n for n bits. Floats
// are computed in the network's precision. onnx_reader.hpp reads a graph from ONNX, passes.hpp simplifies it, and
// network.hpp executes it. A graph is a plain value: it can be compared, and it owns its constants.
#pragma once

#include <rtexec/tensor.hpp>
#include "tasks/base/shape.hpp"
#include "tasks/engine/graph/integers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rtexec::tasks {

/// Shapes and constants that the user supplies because the model file does not specify them. Both maps are keyed by the
/// name of the input.
struct GivenInputs {
  std::map<std::string, Shape> shapes; // all dimensions of each input with a dimension whose size the file lacks
  /// Every element, or a single value for all elements; the input becomes a constant.
  std::map<std::string, std::vector<double>> constants;
};

using TensorId = std::uint32_t; // index in Graph::tensors

/// The source of a dequantized constant: 8-bit integers, and the scales by which they are multiplied.
struct QuantizedConstant {
  std::vector<std::int8_t> values; // in the element order of the constant
  std::vector<float> scales;       // a single scale for all elements, or a scale for each index along `axis`
  std::size_t axis = 0;
  bool operator==(const QuantizedConstant&) const = default;
};

/// True for the integer types and for booleans, which are stored as bytes of 0 and 1.
[[nodiscard]] constexpr bool is_integer(ElementType type) noexcept {
  return type != ElementType::float32 && type != ElementType::float16 && type != ElementType::float64;
}
/// Returns the bytes that one element takes in the host engine's memory. Floats of every precision are stored as
/// float32.
[[nodiscard]] constexpr std::size_t stored_size(ElementType type) noexcept {
  return is_integer(type) ? size_of(type) : sizeof(float);
}

struct Tensor {
  std::string name;
  Shape shape;
  std::vector<float> values; // a float constant's elements in row-major order; empty if the tensor is computed
  ElementType type = ElementType::float32;
  Integers integers = {};                                  // the elements of an integer or boolean constant, of `type`
  std::shared_ptr<const QuantizedConstant> quantized = {}; // set if `values` are dequantized 8-bit integers

  [[nodiscard]] bool constant() const { return !values.empty() || !integers.empty(); }
  bool operator==(const Tensor&) const = default;
};

/// y = f(x), element by element. True is 1, false is 0.
struct Activation {
  enum class Kind {
    none,
    relu,
    leaky_relu,       // a: slope for x < 0
    sigmoid,          //
    hard_sigmoid,     // a x + b, clamped to [0, 1]
    hard_swish,       //
    clip,             // x clamped to [a, b]
    exp,              //
    tanh,             //
    sqrt,             //
    swish,            // x * sigmoid(x)
    scale,            // a x + b
    elu,              // x < 0: a (e^x - 1); else x
    selu,             // b times elu
    softplus,         //
    softsign,         //
    mish,             //
    gelu,             // x Phi(x)
    gelu_tanh,        // x Phi(x), approximated by tanh
    erf,              //
    thresholded_relu, // x if x > a, else 0
    shrink,           // x moved towards zero by b if |x| > a, else 0
    absolute,         //
    logarithm,        //
    reciprocal,       //
    sign,             //
    floor,            //
    ceil,             //
    round,            // to the nearest integer, ties to even
    truncate,         //
    sine,             //
    cosine,           //
    tangent,          //
    arc_sine,         //
    arc_cosine,       //
    arc_tangent,      //
    sinh,             //
    cosh,             //
    arc_sinh,         //
    arc_cosh,         //
    arc_tanh,         //
    is_nan,           //
    is_infinite,      // a: true if minus infinity counts, b: true if plus infinity counts
    is_zero,          //
    is_not_zero,
    scaled_tanh, // a tanh(b x)
    logit,       // log(x / (1 - x)) for x clamped to [0, 1]; x and 1 - x are at least a
  };
  Kind kind = Kind::none;
  float a = 0;
  float b = 0;
  bool operator==(const Activation&) const = default;
};

/// True if the function commonly follows a layer. The layer's kernel can apply such a function to its results.
[[nodiscard]] constexpr bool is_common(Activation::Kind kind) {
  using enum Activation::Kind;
  return kind <= selu || kind == mish || kind == gelu || kind == gelu_tanh;
}

/// A sliding window over height and width.
struct Window {
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  bool operator==(const Window&) const = default;
};

/// y = clip(round(x / scale) + zero, low, high). Ties are rounded to even.
struct Quantise {
  float scale = 1, zero = 0;
  float low = 0, high = 255;
  bool operator==(const Quantise&) const = default;
};

/// y = (x - zero) * scale
struct Dequantise {
  float scale = 1, zero = 0;
  bool operator==(const Dequantise&) const = default;
};

/// A convolution (ONNX Conv). Inputs: x [n,c,h,w], weights [m, c/groups, kh, kw], and optionally a bias [m].
struct Conv {
  Window window;
  std::int64_t groups = 1;
  bool operator==(const Conv&) const = default;
};

/// alpha * op(a) * op(b) + beta * c (ONNX Gemm). Inputs: a, b, and optionally c of shape [m,n], [1,n], [n], [m,1] or a
/// scalar. Without `transpose_a`, a may have more than two dimensions: all dimensions but the last then count as rows.
struct Gemm {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  float beta = 1;
  bool operator==(const Gemm&) const = default;
};

/// Max or average pooling of x [n,c,h,w]. The number of windows follows from the output shape, so that ONNX's ceil_mode
/// needs no field. Padding is never the maximum.
struct Pool {
  enum class Kind { max, average };
  Kind kind = Kind::max;
  Window window;
  bool count_padding = false; // average: padding counts as elements of value zero
  bool operator==(const Pool&) const = default;
};

/// Matrix product (ONNX MatMul) alpha * op(a) * op(b) of a [..., m, k] and b [..., k, n]. Leading dimensions are
/// broadcast as in NumPy. Either operand may be stored with its last two dimensions transposed.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  bool operator==(const MatMul&) const = default;
};

/// softmax(scale * q k^T + mask) v, with q [..., m, d], k [..., n, d] and v [..., n, e]. The leading dimensions of all
/// three are equal. The optional mask is broadcast to [..., m, n]. The complete score matrix is never in memory.
struct Attention {
  float scale = 1;
  bool may_be_nothing = false; // see Softmax::may_be_nothing
  bool operator==(const Attention&) const = default;
};

/// An operation on two inputs of one type, which are broadcast as in NumPy. Comparisons produce booleans.
struct Binary {
  enum class Kind {
    add,
    subtract,
    multiply,
    divide,
    divide_integers, // integer division, rounded towards zero
    minimum,
    maximum,
    power,
    modulo,    // with the sign of the divisor
    remainder, // with the sign of the dividend
    slope,     // ONNX PRelu: a if a >= 0, else a * b
    equal,
    not_equal,
    less,
    less_or_equal,
    bit_and, // this kind and all kinds below: only for integers
    bit_or,
    bit_xor,
    shift_left,
    shift_right,
  };
  Kind kind = Kind::add;
  bool operator==(const Binary&) const = default;
};

/// True if the result is a boolean.
[[nodiscard]] constexpr bool is_comparison(Binary::Kind kind) {
  return kind >= Binary::Kind::equal && kind <= Binary::Kind::less_or_equal;
}

/// Conversion to the output's type. Floats are truncated towards zero and saturate at the integer type's range; NaN
/// becomes 0. Integers are narrowed modulo 2^n. A boolean is true if the value is not zero.
struct Cast {
  bool operator==(const Cast&) const = default;
};

/// Integer matrix product of a [..., m, k] and b [..., k, n], modulo 2^n. Leading dimensions are broadcast as in NumPy.
/// int16 operands hold bytes minus their zero points (-255 to 255), and their product is int32. Operands of every other
/// type have a product of the operands' type.
struct IntegerMatMul {
  bool operator==(const IntegerMatMul&) const = default;
};

/// A convolution (see Conv) without bias. Its operands are int16 (see IntegerMatMul), and its result is int32, modulo
/// 2^32.
struct IntegerConv {
  Conv conv;
  bool operator==(const IntegerConv&) const = default;
};

/// ONNX Where. Selects the second input where the first input, a boolean, is true, and the third input elsewhere. All
/// three inputs are broadcast as in NumPy.
struct Where {
  bool operator==(const Where&) const = default;
};

/// alpha * a * b + c, with inputs a, b and c broadcast as in NumPy. Only passes.hpp creates it.
struct MultiplyAdd {
  float alpha = 1;
  bool operator==(const MultiplyAdd&) const = default;
};

/// y = x * scale[c] + shift[c] for x [n,c,...]: a batch normalisation that was not folded into a convolution. Inputs:
/// x, scale, shift.
struct ScaleShift {
  bool operator==(const ScaleShift&) const = default;
};

/// Softmax, or the logarithm of Softmax, over the middle dimension of x viewed as [outer, count, inner].
struct Softmax {
  std::int64_t outer = 1, count = 1, inner = 1;
  bool logarithm = false;
  bool may_be_nothing = false; // true: a row that holds only minus infinity gives zeros, not NaN
  bool operator==(const Softmax&) const = default;
};

/// A reduction over the middle dimension of x viewed as [outer, count, inner].
struct Reduce {
  enum class Kind {
    mean,
    sum,
    product,
    minimum,
    maximum,
    squares,       // sum of squares
    first_minimum, // index of the first minimum
    last_minimum,
    first_maximum,
    last_maximum,
  };
  Kind kind = Kind::mean;
  std::int64_t outer = 1, count = 1, inner = 1;
  bool operator==(const Reduce&) const = default;
};

/// Cumulative sum (ONNX CumSum) over the middle dimension of x viewed as [outer, count, inner]: y[i] = x[0] + ... +
/// x[i].
struct CumSum {
  std::int64_t outer = 1, count = 1, inner = 1;
  bool exclusive = false; // y[i] excludes x[i]
  bool reverse = false;   // sums from the end to the beginning
  bool operator==(const CumSum&) const = default;
};

/// The indices that ONNX TopK returns. They select the `kept` largest (or smallest) elements along the middle dimension
/// of x viewed as [outer, count, inner], best first. Equal elements keep their order.
struct TopK {
  std::int64_t outer = 1, count = 1, inner = 1;
  std::int64_t kept = 1;
  bool largest = true;
  bool operator==(const TopK&) const = default;
};

/// LayerNorm or RMSNorm of x viewed as [outer, count]. If centred, each row is (x - mean) / deviation; otherwise each
/// row is x / sqrt(mean of squares). An optional scale multiplies the result, then an optional shift is added. Both are
/// broadcast to x as in NumPy.
struct LayerNorm {
  std::int64_t outer = 1, count = 1;
  bool centred = true;
  float epsilon = 1e-5F;
  bool operator==(const LayerNorm&) const = default;
};

/// Local response normalisation across channels: y = x / (bias + alpha / size * sum of squares) ^ beta. The sum runs
/// over `size` neighbouring channels.
struct Lrn {
  std::int64_t size = 1;
  float alpha = 1e-4F, beta = 0.75F, bias = 1;
  bool operator==(const Lrn&) const = default;
};

struct Concat {
  std::size_t axis = 0;
  bool operator==(const Concat&) const = default;
};

/// The elements of the input in their order, in another shape.
struct Reshape {
  bool operator==(const Reshape&) const = default;
};

/// A strided view (transpose, slice, expand): y[i] = x[offset + sum of i[d] * strides[d]], with d over the dimensions
/// of y.
struct View {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
  bool operator==(const View&) const = default;
};

/// ONNX Gather with constant indices. Index i of the output along `axis` reads index indices[i] of the input.
struct GatherConstant {
  std::size_t axis = 0;
  std::vector<std::int64_t> indices;
  bool operator==(const GatherConstant&) const = default;
};

/// ONNX Gather with computed indices. Input 1 holds int64 indices along `axis` of input 0. The shape of y is the shape
/// of input 0, in which the shape of the indices replaces dimension `axis`. Negative indices count from the end.
/// Indices outside the tensor are clamped.
struct Gather {
  std::size_t axis = 0;
  bool operator==(const Gather&) const = default;
};

/// ONNX GatherElements. y has the shape of the indices. Element y[i] is read from input 0 at coordinates i, in which
/// the index at i replaces the coordinate along `axis`.
struct GatherElements {
  std::size_t axis = 0;
  bool operator==(const GatherElements&) const = default;
};

/// ONNX GatherND: the last dimension of input 1 holds indices into the dimensions of input 0 from `batch` on. Both
/// inputs share their first `batch` dimensions.
struct GatherND {
  std::size_t batch = 0;
  bool operator==(const GatherND&) const = default;
};

/// ONNX ScatterElements or ScatterND: a copy of input 0. The elements of input 2 are written to the copy (or added to
/// it, and so on) at the indices of input 1.
struct Scatter {
  enum class Kind { replace, add, multiply, minimum, maximum };
  Kind kind = Kind::replace;
  std::optional<std::size_t> axis; // axis of ScatterElements; absent: ScatterND
  bool operator==(const Scatter&) const = default;
};

/// Copies x into an output, with its first element at the position `before`. All other elements of the output are
/// `value`.
struct Pad {
  std::vector<std::int64_t> before;
  float value = 0;          // padding value of floats
  std::int64_t integer = 0; // padding value of integers and booleans
  bool operator==(const Pad&) const = default;
};

/// Interpolation in height and width. Each output row (column) is a weighted mean of two input rows (columns).
struct Resize {
  struct Tap {
    std::int64_t low = 0, high = 0;
    float weight = 0; // weight of `high`; the weight of `low` is 1 - weight
    bool operator==(const Tap&) const = default;
  };
  std::vector<Tap> rows;    // a Tap for each output row
  std::vector<Tap> columns; // a Tap for each output column
  bool operator==(const Resize&) const = default;
};

/// Linear resampling along the middle dimension of x viewed as [outer, count, inner]. Output i is the weighted sum of
/// `taps` inputs: y[o, i, k] = sum over t of weight[i, t] * x[o, index[i, t], k].
struct Resample {
  std::int64_t outer = 1, count = 1, inner = 1;
  std::int64_t taps = 1;
  std::vector<std::int64_t> indices; // `taps` indices for each i
  std::vector<float> weights;        // `taps` weights for each i
  bool operator==(const Resample&) const = default;
};

/// Samples images x [n,c,h,w] at the positions in a grid [n, out_h, out_w, 2] (ONNX GridSample). A position is (x, y),
/// each coordinate from -1 to 1. For volumes a position is (x, y, z).
struct GridSample {
  enum class Mode { linear, nearest, cubic };
  enum class Padding { zeros, border, reflection };
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  /// True: -1 and 1 are the centres of the outermost pixels; false: the outer borders of these pixels.
  bool align_corners = false;
  bool operator==(const GridSample&) const = default;
};

/// Deformable attention to sampled positions of several images (Zhu et al., Deformable DETR, 2021, equation 3). Inputs:
/// scores [n,1,q,count], then for each image x [n,c,h,w] and a grid [n,q,points,2] as in GridSample. `count` is the
/// number of points of all images together. y [n,q,c] holds for each query q the sum of its samples, weighted by
/// softmax(scores).
struct DeformableAttention {
  static constexpr std::size_t max_images = 8;
  GridSample sample;
  bool operator==(const DeformableAttention&) const = default;
};

/// ONNX RoiAlign. Inputs: x [n,c,h,w]; regions [count, 4] (left, top, right, bottom); the image index of each region
/// [count]. Each element of y [count, c, out_h, out_w] is the value of one bin of a region. The bin is sampled at
/// `samples` by `samples` interpolated positions, which are reduced to this value.
struct RoiAlign {
  enum class Kind { average, maximum }; // maximum: the largest weighted pixel of all samples
  Kind kind = Kind::average;
  static constexpr std::int64_t max_samples = 4096;
  std::int64_t samples = 0; // in each direction; 0: one sample for each pixel of a bin, rounded up, at most max_samples
  float scale = 1;          // converts the coordinates of regions to pixels
  bool half_pixel = true;   // true: pixel 0 is centred on 0.5, and regions may be smaller than a pixel
  bool operator==(const RoiAlign&) const = default;
};

/// Non-maximum suppression of boxes [n, count, 4] with scores [n, classes, count]. For each image and class, keeps the
/// best boxes that do not overlap a better kept box. y [rows, 3] holds image, class and box index of each kept box;
/// unused rows at the end are -1.
struct NonMaxSuppression {
  std::int64_t most = 1;           // maximum number of boxes kept for each class of an image
  float overlap = 0;               // boxes with a higher intersection over union with a kept box are removed
  std::optional<float> score = {}; // boxes whose score is not above this value are removed
  bool centred = false;            // true: (centre x, centre y, width, height); false: two corners (y, x, y, x)
  bool operator==(const NonMaxSuppression&) const = default;
};

/// One direction of a recurrent layer over a sequence (ONNX RNN, GRU, LSTM). Inputs, in order:
/// - the part of the gates that the layer's input contributes, biases included: [steps, batch, gates * hidden];
/// - the recurrent weights: [gates * hidden, hidden];
/// - the initial state: [batch, hidden];
/// - for lstm: the initial cell [batch, hidden], and with `peepholes` the peephole weights [3 * hidden];
/// - for gru with `late_reset`: a bias [hidden];
/// - with `lengths`: the number of valid steps of each sequence [batch]. State and cell do not change in the steps
///   after a sequence's valid steps.
/// The order of the gates is input, output, forget, cell for lstm, and update, reset, hidden for gru. The output y
/// holds the states [steps, batch, hidden]; for lstm the last cell [1, batch, hidden] follows.
struct Recurrent {
  enum class Kind { simple, gru, lstm };
  Kind kind = Kind::simple;
  bool reverse = false;
  bool late_reset = false; // gru: the reset gate scales the product and its bias, not the previous state
  bool peepholes = false;
  bool lengths = false;
  std::optional<float> clip;               // clamps the input of each activation to [-clip, clip]
  std::array<Activation, 3> activations{}; // for gates, candidate and cell
  bool operator==(const Recurrent&) const = default;
};

using Operation =
    std::variant<Activation, Cast, Quantise, Dequantise, Conv, Gemm, MatMul, IntegerMatMul, IntegerConv, Attention,
                 Pool, Binary, Where, MultiplyAdd, ScaleShift, Softmax, Reduce, CumSum, TopK, LayerNorm, Lrn, Concat,
                 Reshape, View, GatherConstant, Gather, GatherElements, GatherND, Scatter, Pad, Resize, Resample,
                 GridSample, DeformableAttention, RoiAlign, NonMaxSuppression, Recurrent>;

struct Node {
  std::string name; // the ONNX node's name, or the name of its first output if the node has no name
  Operation operation;
  std::vector<TensorId> inputs;
  TensorId output = 0;
  // Operations that passes.hpp fuses into this node: y = activation(operation(...) + residual). The ONNX reader sets
  // none. The node must be a Conv, Gemm, MatMul, Binary, MultiplyAdd, ScaleShift, LayerNorm, or a Reduce whose result
  // is not an index. The activation must be common (is_common()).
  std::optional<TensorId> residual; // a tensor of the output's shape; only for Conv, Gemm, MatMul and LayerNorm
  Activation activation;
  bool residual_last = false; // true (only for Conv): y = activation(operation(...)) + residual
  bool operator==(const Node&) const = default;
};

struct Graph {
  std::string name;
  std::map<std::string, std::string> metadata; // the file's metadata_props
  /// A note for each property that the file does not specify, with the value that was chosen for it.
  std::vector<std::string> notes;
  std::vector<Tensor> tensors;
  /// Topologically sorted nodes. Each tensor is written by at most one node.
  std::vector<Node> nodes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs; // may also be inputs or constants

  TensorId add(Tensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(tensors.size() - 1);
  }
  bool operator==(const Graph&) const = default;
};

/// The maximum number of elements of a tensor: 1 GiB of float32. The reader refuses larger tensors.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 28;
/// The maximum number of dimensions of a tensor. The reader refuses tensors with more.
inline constexpr std::size_t max_rank = 8;

/// True if `gemm` (a Gemm node) has no operand c, or if c is a constant that is the same in every row.
[[nodiscard]] bool adds_a_row(const Graph& graph, const Node& gemm);
/// Returns the bytes of the tensor in the host engine's memory.
[[nodiscard]] std::size_t bytes_of(const Tensor& tensor);
/// Returns `value` wrapped to the range of the integer type, modulo 2^n.
[[nodiscard]] std::int64_t wrapped(std::int64_t value, ElementType type);
/// Returns the elements of a constant as the host engine stores them.
[[nodiscard]] std::span<const std::byte> stored(const Tensor& constant);
/// Returns the number of dimensions and the shape as text: "2 dimensions (3x5)".
[[nodiscard]] std::string dimensions(const Shape& shape);
/// Returns the row-major strides of a dense tensor.
[[nodiscard]] std::vector<std::int64_t> dense_strides(const Shape& shape);
/// Returns the strides of an operand of shape `from`, broadcast to `to` as in NumPy: 0 along repeated dimensions.
[[nodiscard]] std::vector<std::int64_t> broadcast(const Shape& from, const std::vector<std::int64_t>& strides,
                                                  const Shape& to);

} // namespace rtexec::tasks
