// The engine's picture of a network: static shapes, typed tensors, NCHW, few operations. Integers of every width and
// booleans are computed in their own type, modulo 2^n; floats in the network's precision.
// Read from ONNX by onnx_reader.hpp, simplified by passes.hpp, executed by network.hpp. Plain values that can
// be compared; owns its constants.
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

/// What a model's file leaves to its user, by the names of inputs.
struct GivenInputs {
  std::map<std::string, Shape> shapes;                  // all dimensions, where the file leaves some of them open
  std::map<std::string, std::vector<double>> constants; // of all elements, or one for all: no inputs any more
};

using TensorId = std::uint32_t; // index in Graph::tensors

/// What a constant was before it was dequantised: integers of eight bits, and the scale that each was multiplied by.
struct QuantizedConstant {
  std::vector<std::int8_t> values; // in the order of the constant's
  std::vector<float> scales;       // one of all, or one for each index of `axis`
  std::size_t axis = 0;
  bool operator==(const QuantizedConstant&) const = default;
};

/// True for the integer types and for booleans, which are stored as bytes of 0 and 1.
[[nodiscard]] constexpr bool is_integer(ElementType type) noexcept {
  return type != ElementType::float32 && type != ElementType::float16 && type != ElementType::float64;
}
/// The bytes of one element in the host engine's memory: floats of every precision are stored as float32.
[[nodiscard]] constexpr std::size_t stored_size(ElementType type) noexcept {
  return is_integer(type) ? size_of(type) : sizeof(float);
}

struct Tensor {
  std::string name;
  Shape shape;
  std::vector<float> values; // of a constant of floats, in row-major order; empty for what is computed
  ElementType type = ElementType::float32;
  Integers integers = {};                                  // of a constant of integers or booleans, of `type`
  std::shared_ptr<const QuantizedConstant> quantized = {}; // where `values` are known to come from such

  [[nodiscard]] bool constant() const { return !values.empty() || !integers.empty(); }
  bool operator==(const Tensor&) const = default;
};

/// y = f(x), element by element. Truth is 1 and 0.
struct Activation {
  enum class Kind {
    none,
    relu,
    leaky_relu,       // a: slope below zero
    sigmoid,          //
    hard_sigmoid,     // a x + b, between 0 and 1
    hard_swish,       //
    clip,             // between a and b
    exp,              //
    tanh,             //
    sqrt,             //
    swish,            // x * sigmoid(x)
    scale,            // a x + b
    elu,              // below zero a (e^x - 1)
    selu,             // b times elu
    softplus,         //
    softsign,         //
    mish,             //
    gelu,             // x Phi(x)
    gelu_tanh,        // the same, approximated by tanh
    erf,              //
    thresholded_relu, // x where above a
    shrink,           // towards zero by b, where further from it than a
    absolute,         //
    logarithm,        //
    reciprocal,       //
    sign,             //
    floor,            //
    ceil,             //
    round,            // to even
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
    is_infinite,      // a: where below zero, b: where above
    is_zero,          //
    is_not_zero,
    scaled_tanh, // a tanh(b x)
    logit,       // log(x / (1 - x)) for x between 0 and 1, neither of the two below a
  };
  Kind kind = Kind::none;
  float a = 0;
  float b = 0;
  bool operator==(const Activation&) const = default;
};

/// What follows layers in networks: kernels of layers have these in them.
[[nodiscard]] constexpr bool is_common(Activation::Kind kind) {
  using enum Activation::Kind;
  return kind <= selu || kind == mish || kind == gelu || kind == gelu_tanh;
}

/// A window that moves over height and width.
struct Window {
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  bool operator==(const Window&) const = default;
};

/// y = clip(round(x / scale) + zero, low, high), rounded to even.
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

/// Inputs x [n,c,h,w], weights [m, c/groups, kh, kw], and a bias [m] where there is one.
struct Conv {
  Window window;
  std::int64_t groups = 1;
  bool operator==(const Conv&) const = default;
};

/// alpha * op(a) * op(b) + beta * c. Inputs a, b, and c [m,n], [1,n], [n], [m,1] or scalar where there is one. Where a
/// is no transpose it may have more than two dimensions: all but the last are its rows.
struct Gemm {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  float beta = 1;
  bool operator==(const Gemm&) const = default;
};

/// x [n,c,h,w]. The output shape decides how many windows there are (ceil_mode); what lies outside x is never the
/// maximum.
struct Pool {
  enum class Kind { max, average };
  Kind kind = Kind::max;
  Window window;
  bool count_padding = false; // average: padding counts as zeros
  bool operator==(const Pool&) const = default;
};

/// a [..., m, k] times b [..., k, n], whose leading dimensions are broadcast as NumPy does; each may be the transpose
/// of what it says, in its last two dimensions. Times alpha.
struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  float alpha = 1;
  bool operator==(const Product&) const = default;
};

/// softmax(scale * q k^T + mask) v, of q [..., m, d], k [..., n, d], v [..., n, e], and a mask broadcast to [..., m, n]
/// where there is one; their leading dimensions are equal. The scores never lie in memory all at once.
struct Attention {
  float scale = 1;
  bool may_be_nothing = false; // as of Softmax
  bool operator==(const Attention&) const = default;
};

/// Two inputs of one type, broadcast as NumPy does; comparisons write booleans.
struct Binary {
  enum class Kind {
    add,
    subtract,
    multiply,
    divide,
    divide_whole, // towards zero
    minimum,
    maximum,
    power,
    modulo,    // with the sign of the second
    remainder, // with the sign of the first
    slope,     // the first, below zero times the second
    equal,
    not_equal,
    less,
    less_or_equal,
    bit_and, // this and the following: integers only
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

/// Converts to the output's type. Floats are truncated towards zero to integers, of which they become the nearest (NaN:
/// 0); integers become narrower modulo 2^n; to a boolean: whether it is not zero.
struct Cast {
  bool operator==(const Cast&) const = default;
};

/// a [..., m, k] times b [..., k, n] of integers, modulo 2^n; leading dimensions are broadcast as NumPy does. Operands
/// of int16, which are bytes less their zero points (-255 to 255), have a product of int32, others one of their own
/// type.
struct IntegerMatMul {
  bool operator==(const IntegerMatMul&) const = default;
};

/// A convolution as Conv has it, without bias, of int16 as IntegerMatMul has it: int32, modulo 2^32.
struct IntegerConv {
  Conv conv;
  bool operator==(const IntegerConv&) const = default;
};

/// Where the first input, of booleans, is true the second, else the third: broadcast as NumPy does.
struct Select {
  bool operator==(const Select&) const = default;
};

/// alpha a b + c, for inputs a, b, c: broadcast as NumPy does. Set by passes.hpp only.
struct MultiplyAdd {
  float alpha = 1;
  bool operator==(const MultiplyAdd&) const = default;
};

/// y = x * scale[c] + shift[c], for x [n,c,...]: a batch normalisation that could not be folded. Inputs x, scale,
/// shift.
struct ScaleShift {
  bool operator==(const ScaleShift&) const = default;
};

/// Softmax over the middle of x seen as [outer, count, inner], or its logarithm.
struct Softmax {
  std::int64_t outer = 1, count = 1, inner = 1;
  bool logarithm = false;
  bool may_be_nothing = false; // of what is minus infinity throughout: zero
  bool operator==(const Softmax&) const = default;
};

/// Over the middle of x seen as [outer, count, inner].
struct Reduce {
  enum class Kind {
    mean,
    sum,
    product,
    minimum,
    maximum,
    squares,       // their sum
    first_minimum, // its index
    last_minimum,
    first_maximum,
    last_maximum,
  };
  Kind kind = Kind::mean;
  std::int64_t outer = 1, count = 1, inner = 1;
  bool operator==(const Reduce&) const = default;
};

/// Over the middle of x seen as [outer, count, inner]: y[i] is the sum of what stands up to i.
struct RunningSum {
  std::int64_t outer = 1, count = 1, inner = 1;
  bool exclusive = false; // of what stands before i
  bool reverse = false;   // from the end
  bool operator==(const RunningSum&) const = default;
};

/// Over the middle of x seen as [outer, count, inner]: the indices of the `kept` largest (smallest) ones, the largest
/// (smallest) first, of equal ones the first first.
struct TopIndices {
  std::int64_t outer = 1, count = 1, inner = 1;
  std::int64_t kept = 1;
  bool largest = true;
  bool operator==(const TopIndices&) const = default;
};

/// x seen as [outer, count], each row less its mean (if centred) and over its deviation (else over the root of the mean
/// of its squares); then times a scale plus a shift where there are such inputs, broadcast to x as NumPy does.
struct Normalise {
  std::int64_t outer = 1, count = 1;
  bool centred = true;
  float epsilon = 1e-5F;
  bool operator==(const Normalise&) const = default;
};

/// Local response normalisation across channels.
struct Lrn {
  std::int64_t size = 1;
  float alpha = 1e-4F, beta = 0.75F, bias = 1;
  bool operator==(const Lrn&) const = default;
};

struct Concat {
  std::size_t axis = 0;
  bool operator==(const Concat&) const = default;
};

/// The same elements under another shape.
struct Reshape {
  bool operator==(const Reshape&) const = default;
};

/// Each output element is an input element: y[i] = x[offset + sum of i[d] * strides[d]], d over y's dimensions.
/// Transpose, slice, expand.
struct View {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
  bool operator==(const View&) const = default;
};

/// Output index i along `axis` takes the input's indices[i].
struct Gather {
  std::size_t axis = 0;
  std::vector<std::int64_t> indices;
  bool operator==(const Gather&) const = default;
};

/// Input 1 holds int64 indices along `axis` of input 0: y = x.shape with indices.shape in place of that dimension.
/// Negative ones count from the end, those outside are taken to be the nearest inside.
struct Take {
  std::size_t axis = 0;
  bool operator==(const Take&) const = default;
};

/// The same for each element: y is shaped as the indices, and differs from where it takes from along `axis` only.
struct TakeElements {
  std::size_t axis = 0;
  bool operator==(const TakeElements&) const = default;
};

/// Input 1 holds in its last dimension indices of the dimensions of input 0 from `batch` on; the first `batch`
/// dimensions of both are the same ones.
struct TakeSlices {
  std::size_t batch = 0;
  bool operator==(const TakeSlices&) const = default;
};

/// Input 0, into which the elements of input 2 are put (added, ...) where input 1 says, as TakeElements and TakeSlices
/// read.
struct Put {
  enum class Kind { replace, add, multiply, minimum, maximum };
  Kind kind = Kind::replace;
  std::optional<std::size_t> axis; // of elements; absent: of slices
  bool operator==(const Put&) const = default;
};

/// x, at position `before` in an output that is `value` elsewhere.
struct Pad {
  std::vector<std::int64_t> before;
  float value = 0;          // of floats
  std::int64_t integer = 0; // of integers and booleans
  bool operator==(const Pad&) const = default;
};

/// Interpolation in height and width: each output row (column) blends two input rows (columns).
struct Resize {
  struct Tap {
    std::int64_t low = 0, high = 0;
    float weight = 0; // of high; low has the rest
    bool operator==(const Tap&) const = default;
  };
  std::vector<Tap> rows;    // one for each output row
  std::vector<Tap> columns; // one for each output column
  bool operator==(const Resize&) const = default;
};

/// x seen as [outer, count, inner]: y[o, i, k] is the sum over a tap's `taps` indices of their weights times x[o,
/// index, k].
struct Resample {
  std::int64_t outer = 1, count = 1, inner = 1;
  std::int64_t taps = 1;
  std::vector<std::int64_t> indices; // `taps` for each i
  std::vector<float> weights;        // likewise
  bool operator==(const Resample&) const = default;
};

/// x [n,c,h,w] at the positions of a grid [n, out_h, out_w, 2]: across, then down, from -1 to 1. Of volumes likewise:
/// across, down, then deep.
struct GridSample {
  enum class Mode { linear, nearest, cubic };
  enum class Padding { zeros, border, reflection };
  Mode mode = Mode::linear;
  Padding padding = Padding::zeros;
  bool align_corners = false; // -1 and 1 are the centres of the outermost pixels, else their outer edges
  bool operator==(const GridSample&) const = default;
};

/// Attention to some positions of several images (Zhu et al., Deformable DETR, 2021, equation 3). Scores [n,1,q,count],
/// then of each image, the first one first, x [n,c,h,w] and a grid [n,q,points,2] as GridSample has them; `count` is
/// that of all points. y [n,q,c]: what stands at q's positions, each times what softmax makes of its score.
struct DeformableAttention {
  static constexpr std::size_t max_images = 8;
  GridSample sample;
  bool operator==(const DeformableAttention&) const = default;
};

/// x [n,c,h,w], regions [count, 4] (left, top, right, bottom), and the image of each [count]: y [count, c, out_h,
/// out_w], each element of which is what a bin of the region holds at `samples` by `samples` places between pixels.
struct RegionAlign {
  enum class Kind { average, maximum }; // of the places; the largest one of the weighted pixels around them
  Kind kind = Kind::average;
  static constexpr std::int64_t max_samples = 4096;
  std::int64_t samples = 0; // in each direction; 0: one for each pixel of a bin, rounded up, at most so many
  float scale = 1;          // from regions to pixels
  bool half_pixel = true;   // pixel 0 is centred on 0.5, and regions may be smaller than a pixel
  bool operator==(const RegionAlign&) const = default;
};

/// Boxes [n, count, 4] and their scores [n, classes, count]: the best ones of each class of each image, less those that
/// overlap a better one. y [rows, 3]: image, class and box of each; where fewer than `rows` are chosen, -1 behind them.
struct NonMaxSuppression {
  std::int64_t most = 1;           // of a class
  float overlap = 0;               // intersection over union: those above it go
  std::optional<float> score = {}; // those not above it go
  bool centred = false; // boxes are centre across, centre down, width and height; else two corners, each down, across
  bool operator==(const NonMaxSuppression&) const = default;
};

/// One direction of a recurrent layer over a sequence. Inputs: what the gates take from the sequence, biases included,
/// [steps, batch, gates * hidden]; weights of the state [gates * hidden, hidden]; the first state [batch, hidden]; then
/// of lstm the first cell [batch, hidden], and where `peepholes` what gates take from the cell [3 * hidden]; of gru
/// where `late_reset` a bias [hidden]; and where `lengths` how many steps of each sequence count [batch]: in others
/// state and cell stay. Gates: of lstm input, output, forget, cell; of gru update, reset, hidden. y: the states [steps,
/// batch, hidden], and behind them, of lstm, the last cell [1, batch, hidden].
struct Recurrent {
  enum class Kind { simple, gru, lstm };
  Kind kind = Kind::simple;
  bool reverse = false;
  bool late_reset = false; // gru: the reset gate is applied to the product and its bias, not to the state before it
  bool peepholes = false;
  bool lengths = false;
  std::optional<float> clip;               // what goes into an activation is between this and its negative
  std::array<Activation, 3> activations{}; // of gates, of the candidate, of the cell
  bool operator==(const Recurrent&) const = default;
};

using Operation =
    std::variant<Activation, Cast, Quantise, Dequantise, Conv, Gemm, Product, IntegerMatMul, IntegerConv, Attention,
                 Pool, Binary, Select, MultiplyAdd, ScaleShift, Softmax, Reduce, RunningSum, TopIndices, Normalise, Lrn,
                 Concat, Reshape, View, Gather, Take, TakeElements, TakeSlices, Put, Pad, Resize, Resample, GridSample,
                 DeformableAttention, RegionAlign, NonMaxSuppression, Recurrent>;

struct Node {
  std::string name; // the ONNX node's, or its first output's where it has none
  Operation operation;
  std::vector<TensorId> inputs;
  TensorId output = 0;
  // Conv, Gemm, Product, Binary, MultiplyAdd, ScaleShift, Normalise and sums and extremes only, set by passes.hpp only:
  // y = activation(operation(...) + residual), of which the activation is a common one.
  std::optional<TensorId> residual; // Conv, Gemm, Product and Normalise only; shaped as the output
  Activation activation;
  bool residual_last = false; // Conv only: y = activation(operation(...)) + residual
  bool operator==(const Node&) const = default;
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
  bool operator==(const Graph&) const = default;
};

/// Largest number of elements that a tensor may have: 1 GiB of float32. The reader refuses what is larger.
inline constexpr std::int64_t max_elements = std::int64_t{1} << 28;
/// Largest number of dimensions, likewise.
inline constexpr std::size_t max_rank = 8;

/// Whether what a Gemm adds to its product is nothing, or constants that are the same in every row.
[[nodiscard]] bool adds_a_row(const Graph& graph, const Node& gemm);
/// In the host engine's memory.
[[nodiscard]] std::size_t bytes_of(const Tensor& tensor);
/// What of `value` a type of integers holds, modulo the number of its values.
[[nodiscard]] std::int64_t wrapped(std::int64_t value, ElementType type);
/// The elements of a constant in the host engine's memory.
[[nodiscard]] std::span<const std::byte> stored(const Tensor& constant);
/// "2 dimensions (3x5)".
[[nodiscard]] std::string dimensions(const Shape& shape);
/// The row-major strides of a dense tensor.
[[nodiscard]] std::vector<std::int64_t> dense_strides(const Shape& shape);
/// Strides of an operand of shape `from`, broadcast to `to` as NumPy does: 0 along what it repeats.
[[nodiscard]] std::vector<std::int64_t> broadcast(const Shape& from, const std::vector<std::int64_t>& strides,
                                                  const Shape& to);

} // namespace rtexec::tasks
