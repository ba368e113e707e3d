// What the kernels are given: one struct for each, passed by value as the kernel's only parameter. Shared between
// device code and host code: plain C++17, no library. Addresses are device addresses; strides and offsets count
// elements.
//
// Floats are stored as float or half ("_f" and "_h" at the end of a kernel's name), and computed as float. Integers are
// stored in their own type. A kernel that only moves them is chosen by their width ("_b", "_s" and "_w": 1, 2 and 8
// bytes; "_f" moves 4 bytes). A kernel that computes them ("_i") gets the type as an argument. Images lie channels
// last: element (n, h, w, c) of a tensor is at ((n * height + h) * width + w) * stride + c, where stride, "of a pixel",
// is at least the number of channels; so a tensor can be a slice of a concatenation. Other tensors are described by a
// View.
#pragma once

namespace rtexec::tasks::cuda {

/// How a tensor's elements are stored. u8 holds the value less 128, so that layers multiply signed bytes only. A
/// boolean is a byte of 0 or 1.
enum class Storage : int { f32, f16, s8, u8, boolean, s16, u16, s32, u32, s64, u64 };

[[nodiscard]] constexpr bool holds_integers(Storage storage) { return storage > Storage::f16; }
[[nodiscard]] constexpr bool is_signed(Storage storage) {
  return storage == Storage::s8 || storage == Storage::s16 || storage == Storage::s32 || storage == Storage::s64;
}
[[nodiscard]] constexpr decltype(sizeof 0) size_of(Storage storage) {
  switch (storage) {
  case Storage::s8:
  case Storage::u8:
  case Storage::boolean: return 1;
  case Storage::f16:
  case Storage::s16:
  case Storage::u16: return 2;
  case Storage::s64:
  case Storage::u64: return 8;
  default: return 4;
  }
}

/// What x becomes as a whole number: clip(round(x / scale) + zero, low, high), rounded to even.
struct Levels {
  float scale = 1, zero = 0, low = -128, high = 127;
};

/// How an input or output is converted. Integers of every width are copied as bytes.
enum class Outside : int { f32, f16, bytes, booleans };

/// Of a grid, along y and z.
constexpr int max_blocks = 65535;

/// A kernel, and how many threads it is launched with.
struct Launch {
  const char* name = nullptr; // lives as long as the program
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned threads = 1;   // of a block, in x
  unsigned shared = 0;    // bytes of dynamic shared memory
  unsigned cluster_z = 1; // blocks of a cluster, along z; more than one from sm_90 on
};

/// The activations of graph.hpp, with its parameters; values must agree with rtexec::tasks::Activation::Kind.
struct ActivationArguments {
  enum Kind : int {
    none,
    relu,
    leaky_relu,
    sigmoid,
    hard_sigmoid,
    hard_swish,
    clip,
    exp,
    tanh,
    sqrt,
    swish,
    scale,
    elu,
    selu,
    softplus,
    softsign,
    mish,
    gelu,
    gelu_tanh,
    erf,
    thresholded_relu,
    shrink,
    absolute,
    logarithm,
    reciprocal,
    sign,
    floor,
    ceil,
    round,
    truncate,
    sine,
    cosine,
    tangent,
    arc_sine,
    arc_cosine,
    arc_tangent,
    sinh,
    cosh,
    arc_sinh,
    arc_cosh,
    arc_tanh,
    is_nan,
    is_infinite,
    is_zero,
    is_not_zero,
    scaled_tanh,
    logit,
  };
  int kind = none;
  float a = 0, b = 0;
};

constexpr int max_dimensions = 8;

/// Element (i0, i1, ...) is at i0 * stride[0] + i1 * stride[1] + ...; a stride of 0 broadcasts. Dimensions beyond rank
/// are unused.
struct View {
  int rank = 0;
  int shape[max_dimensions] = {};
  long long stride[max_dimensions] = {};
};

/// y = activation(conv(x, weights) + bias + residual), or where `residual_last` activation(conv(x, weights) + bias) +
/// residual. Weights [groups * out_channels][kernel_h][kernel_w][channels],
/// or where a group has one channel [kernel_h][kernel_w][groups * out_channels].
/// A matrix product is a convolution with a 1x1 kernel over `height` rows of one pixel each.
struct ConvArguments {
  const void* x = nullptr;
  const void* weights = nullptr;
  const float* bias = nullptr;    // groups * out_channels, or null
  const void* residual = nullptr; // shaped as y, or null
  void* y = nullptr;
  float* partial = nullptr;     // of split sums; see conv_plan.hpp
  unsigned* counters = nullptr; // one for each output tile; zero before and after
  int batch = 1, height = 1, width = 1;
  int out_height = 1, out_width = 1;
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_left = 0;
  int dilation_h = 1, dilation_w = 1;
  int groups = 1;
  int channels = 1;                                    // of x, in one group
  int out_channels = 1;                                // of y, in one group
  int x_stride = 1, y_stride = 1, residual_stride = 1; // of a pixel
  int splits = 1;                                      // of the sum over kernel and channels
  int residual_last = 0;
  int in_cluster = 0; // the blocks of a tile's splits are one cluster; `partial` and `counters` are not used
  ActivationArguments activation;
  // If `whole`, x and weights are bytes: y = activation((sum + offsets) * factors + bias + residual). If y is of s32,
  // it is sum + offsets modulo 2^32.
  int whole = 0;
  unsigned outside = 0; // four bytes of what stands outside of x
  /// x's zero point, or null if it is a constant. It replaces `outside`, and `offsets` are multiplied by it.
  const signed char* zero = nullptr;
  const int* offsets = nullptr;   // of each output channel: what x's zero point adds, or null
  const float* factors = nullptr; // likewise
  Storage y_storage = Storage::f32, residual_storage = Storage::f32;
  float residual_zero = 0, residual_scale = 1; // of bytes
  Levels levels;                               // of y, where that is of bytes
};

/// y[n, h, w, c] = pooled x. Windows may reach beyond x; what lies outside is never the maximum, and counts in an
/// average only if count_padding (then it counts as zero, up to pad_bottom and pad_right beyond x).
struct PoolArguments {
  const void* x = nullptr;
  void* y = nullptr;
  int batch = 1, height = 1, width = 1, channels = 1;
  int out_height = 1, out_width = 1;
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int dilation_h = 1, dilation_w = 1;
  int x_stride = 1, y_stride = 1;
  int average = 0;
  int count_padding = 0;
};

/// Mean of each channel over all pixels: y[n * y_stride + c]. With splits, each sums a part of the pixels, and the last
/// one to finish adds up what all left in `partial`; how many splits are worth it, and what they need:
/// simple_kernels.hpp.
struct GlobalAverageArguments {
  const void* x = nullptr;
  void* y = nullptr;
  float* partial = nullptr;     // batch * splits * channels
  unsigned* counters = nullptr; // batch * (channels / 32, rounded up); zero before and after
  int batch = 1, pixels = 1, channels = 1;
  int x_stride = 1, y_stride = 1;
  int splits = 1;
};

/// y = activation(x * scale[c] + shift[c]) over `pixels` pixels; scale and shift may be null (1 and 0). Also a plain
/// activation.
struct ScaleShiftArguments {
  const void* x = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  void* y = nullptr;
  long long pixels = 1;
  int channels = 1;
  int x_stride = 1, y_stride = 1;
  ActivationArguments activation;
};

/// y = activation(a op b); views have y's rank and shape (a stride of 0 where an operand is broadcast). binary_i
/// computes integers modulo 2^n, and compares integers or floats: a comparison writes booleans.
struct BinaryArguments {
  enum Kind : int {
    add,
    subtract,
    multiply,
    divide,
    divide_whole,
    minimum,
    maximum,
    power,
    modulo,
    remainder,
    slope,
    equal,
    not_equal,
    less,
    less_or_equal,
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right
  };
  const void* a = nullptr;
  const void* b = nullptr;
  void* y = nullptr;
  View a_view, b_view, y_view;
  int kind = add;
  ActivationArguments activation;
  Storage storage = Storage::f32; // of a and b
};

/// y = activation(alpha a b + c); views likewise.
struct MultiplyAddArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
  View a_view, b_view, c_view, y_view;
  float alpha = 1;
  ActivationArguments activation;
};

/// y = a ? b : c. a holds booleans. Views likewise.
struct SelectArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
  View a_view, b_view, c_view, y_view;
  int width = 4; // of an element of b, c and y, in bytes
};

/// y = function(x), for x and y of any storage. The function is none (conversion only), relu, absolute or sign of
/// integers, or is_nan, is_infinite, is_zero or is_not_zero, which write booleans. A float becomes an integer by
/// truncation towards zero; what does not fit becomes the nearest integer of the type, NaN becomes 0. An integer
/// becomes narrower modulo 2^n.
struct CastArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  Storage from = Storage::f32, to = Storage::f32;
  ActivationArguments function;
};

/// y[i] = activation(x[i]) for every index of the views, which have one shape. Copies, transposes, slices, concatenates
/// and converts between float and half: the kernel's name says the storage of both sides (copy_ff, copy_fh, ...).
/// Copies of integers have no activation. The fastest dimension of y is the last one.
struct CopyArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  ActivationArguments activation;
};

/// y = activation((a - a_zero) * a_scale + (b - b_zero) * b_scale), of which b may be null. Where y is of bytes, or of
/// whole numbers in another storage (`to_levels`), what levels make of it. The kernel's name says the storage of a and
/// b, and of y.
struct RescaleArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  void* y = nullptr;
  View a_view, b_view, y_view;
  float a_zero = 0, a_scale = 1, b_zero = 0, b_scale = 1;
  ActivationArguments activation;
  int to_levels = 0;
  Levels levels;
};

/// y[..., i, ...] = x[..., indices[i], ...] along `axis`; views have y's shape, x's stride along `axis` is that of one
/// index.
struct GatherArguments {
  const void* x = nullptr;
  const int* indices = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int axis = 0;
};

/// y is `value` where i - before is outside of x's shape.
struct PadArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view; // with x's shape
  View y_view; // with y's shape
  int before[max_dimensions] = {};
  float value = 0;          // For integers of 4 bytes this holds the bits.
  long long wide_value = 0; // For integers of 8 bytes this is the value.
};

/// y[n, h, w, c]: rows rows[h] and columns columns[w] of x blended.
struct ResizeTap {
  int low = 0, high = 0;
  float weight = 0; // of high; low has the rest
};
struct ResizeArguments {
  const void* x = nullptr;
  void* y = nullptr;
  const ResizeTap* rows = nullptr;    // out_height
  const ResizeTap* columns = nullptr; // out_width
  int batch = 1, height = 1, width = 1, channels = 1;
  int out_height = 1, out_width = 1;
  int x_stride = 1, y_stride = 1;
};

/// Over the indices of `reduced` for each index of `kept`: what `kind` says of them (reduce), or their softmax
/// (softmax), or its logarithm (log_softmax). y_kept and y_reduced say where results go; reduce uses y_kept only. kept
/// and y_kept have one shape, reduced and y_reduced likewise.
struct ReduceArguments {
  enum Kind : int {
    mean,
    sum,
    product,
    minimum,
    maximum,
    squares,
    first_minimum,
    last_minimum,
    first_maximum,
    last_maximum
  };
  const void* x = nullptr;
  void* y = nullptr; // Indices are s64.
  View kept, y_kept;
  View reduced, y_reduced;
  int kind = mean;
  ActivationArguments activation; // of what reduce computes
  int may_be_nothing = 0;         // softmax of what is minus infinity throughout is zero
  Storage storage = Storage::f32; // of x, and of y unless y holds indices
};

/// Warps of a block of those kernels.
constexpr unsigned reduce_most_warps = 8;
/// By rows: threads that share an index that is kept. Up to 32 they are lanes of a warp, of which a block has several
/// rows.
constexpr unsigned reduce_row_threads(unsigned reduced) {
  constexpr unsigned of_warp = 64; // elements
  if (reduced > reduce_most_warps * of_warp) return 32 * reduce_most_warps;
  if (reduced > of_warp) return (reduced + of_warp - 1) / of_warp * 32;
  unsigned threads = 1;
  while (threads < 32 && threads < reduced) threads *= 2;
  return threads;
}
/// By columns: warps that share indices that are kept. A power of two: few where a warp has little to do, and there is
/// work for the whole device.
constexpr unsigned reduce_column_warps(unsigned kept, unsigned reduced) {
  constexpr unsigned little = 16, many = 1U << 16U;
  unsigned warps = 1;
  while (warps < reduce_most_warps && 2 * warps <= reduced && (reduced > little * warps || kept < many / warps))
    warps *= 2;
  return warps;
}

/// Local response normalisation across channels: y = x / (bias + alpha / size * sum of squares)^beta.
struct LrnArguments {
  const void* x = nullptr;
  void* y = nullptr;
  long long pixels = 1;
  int channels = 1;
  int x_stride = 1, y_stride = 1;
  int size = 1;
  float alpha = 0, beta = 0, bias = 1;
};

/// y[i, j] = activation(alpha * sum over k of a[i, k] * b[k, j] + beta * c[i, j] + residual[i, j]): any strides, for
/// products that no convolution can state. c and residual may be null. The same for each index of `a_batch`, whose
/// shape all batches have. gemm_i computes the sums only, modulo 2^n.
struct GemmArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  const void* residual = nullptr;
  void* y = nullptr;
  int m = 1, n = 1, k = 1;
  long long a_row = 1, a_column = 1, b_row = 1, b_column = 1, c_row = 0, c_column = 0, residual_row = 0, y_row = 1;
  long long residual_column = 1, y_column = 1;
  View a_batch, b_batch, residual_batch, y_batch;
  float alpha = 1, beta = 1;
  ActivationArguments activation;
  Storage from = Storage::f32; // of a and b, for gemm_i
  Storage to = Storage::f32;   // of y, for gemm_i
};

/// y[i, :] = softmax over j of (scale * q[i, :] . k[j, :] + mask[i, j]) times v[j, :], for each index of the batches,
/// whose views have one shape. A softmax of nothing but minus infinity is zero. mask may be null.
struct AttentionArguments {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* mask = nullptr;
  void* y = nullptr;
  int m = 1, n = 1, d = 1, e = 1; // queries, keys, elements of both, elements of a value
  long long q_row = 1, k_row = 1, v_row = 1, mask_row = 0, y_row = 1;
  long long q_column = 1, k_column = 1, v_column = 1, mask_column = 0, y_column = 1;
  View q_batch, k_batch, v_batch, mask_batch, y_batch;
  float scale = 1;
};
/// Of the kernels on matrix units: warps of a block, and the keys that one of them takes at once.
constexpr int attention_warps = 4;
template <class Scalar> constexpr int attention_keys = sizeof(Scalar) == 2 ? 32 : 16;
/// Of a value, for the kernel that needs none.
constexpr int attention_most_columns = 1024;

/// y = activation((x - mean) / deviation * scale + shift + residual) over the indices of `reduced` for each index of
/// `kept`; not centred: x over the root of the mean of its squares. scale, shift and residual may be null. All views
/// kept have one shape, all views reduced likewise.
struct NormaliseArguments {
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;
  const void* residual = nullptr;
  void* y = nullptr;
  View kept, scale_kept, shift_kept, residual_kept, y_kept;
  View reduced, scale_reduced, shift_reduced, residual_reduced, y_reduced;
  float epsilon = 0;
  int centred = 1;
  ActivationArguments activation;
};

/// The same of rows that lie whole in aligned chunks of 16 bytes, with a scale and a shift that are one row each.
/// 1 << lane_bits lanes of a warp share a row, each of which has at most `normalise_chunks` chunks of it.
constexpr int normalise_chunks = 8;
struct NormaliseRowsArguments {
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;
  const void* residual = nullptr;
  void* y = nullptr;
  int rows = 1, chunks = 1; // chunks of a row
  int lane_bits = 0;
  long long x_stride = 0, residual_stride = 0, y_stride = 0; // of a row
  float epsilon = 0;
  int centred = 1;
  ActivationArguments activation;
};

/// Places in a tensor that indices mean: the sum over d < depth of (index d, at d * stride from the first one) times
/// strides[d]. Negative indices count from the end, those outside are taken to be the nearest inside.
struct IndexedPlaces {
  const long long* indices = nullptr;
  int depth = 1;
  long long stride = 0; // between the indices of a place
  int sizes[max_dimensions] = {};
  long long strides[max_dimensions] = {};
};

/// y[i] = x[i, and where indices[i] says]; views have y's shape.
struct TakeArguments {
  const void* x = nullptr;
  void* y = nullptr;
  IndexedPlaces places;
  View x_view, indices_view, y_view;
};

/// y[i, and where indices[i] says] becomes, or is added, multiplied ..., x[i], for every index of `view` and, one after
/// the other in each thread, of `serial`.
struct PutArguments {
  enum Kind : int { replace, add, multiply, minimum, maximum };
  const void* x = nullptr;
  void* y = nullptr;
  IndexedPlaces places;
  View x_view, indices_view, y_view;
  View x_serial, indices_serial, y_serial;
  int kind = replace;
  Storage storage = Storage::f32;
};

/// y[i]: the sum of what stands up to i in `count` elements, for each index of the views. Exclusive: before i; reverse:
/// from the end.
struct RunningSumArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int count = 1;
  long long x_stride = 1, y_stride = 1;
  int exclusive = 0, reverse = 0;
  Storage storage = Storage::f32;
};

/// The indices of the `kept` largest (smallest) of `count` elements, in order, of equal ones the first first; for each
/// index of the views. NaN is the largest value.
struct TopIndicesArguments {
  const void* x = nullptr;
  long long* y = nullptr;
  View x_view, y_view;
  int count = 1, kept = 1;
  long long x_stride = 1, y_stride = 1;
  int largest = 1;
  Storage storage = Storage::f32;
};

/// That a block can put in order; also its threads then.
constexpr int top_most_kept = 1024;

/// y[..., i, ...] = the sum over `taps` of weights * x[..., indices, ...], of which each i has its own, along `axis`;
/// views as gather has them.
struct ResampleArguments {
  const void* x = nullptr;
  const int* indices = nullptr;
  const float* weights = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int axis = 0, taps = 1;
};

/// How an image is read between its pixels, as graph.hpp's GridSample says.
struct Sampling {
  enum Mode : int { linear, nearest, cubic };
  enum Padding : int { zeros, border, reflection };
  int mode = linear, padding = zeros, align_corners = 0;
};

/// y[n, h, w, c]: x[n, h, w, c] at the position grid[n, h, w], across and then down.
struct GridSampleArguments {
  const void* x = nullptr;
  const void* grid = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  long long grid_strides[4] = {}; // n, h, w, and from across to down
  Sampling sampling;
};

constexpr int max_sampled_images = 8;
constexpr int sampling_lanes = 4; // threads that share the points of some channels

/// y[n, query, c], as graph.hpp's DeformableAttention says. Each image has `points` for each query, and channels side
/// by side.
struct DeformableArguments {
  struct Image {
    int height = 1, width = 1;
    long long strides[3] = {};      // n, h, w
    long long grid_strides[4] = {}; // n, query, point, and from across to down
  };
  const void* x[max_sampled_images] = {};
  const void* grid[max_sampled_images] = {};
  const void* scores = nullptr;
  void* y = nullptr;
  Image image[max_sampled_images];
  int images = 1, points = 1;
  int batch = 1, queries = 1, channels = 1;
  long long scores_strides[3] = {}; // n, query, point of all images
  long long y_strides[2] = {};      // n, query
  Sampling sampling;
};

/// A recurrent layer over a sequence, as graph.hpp's Recurrent says; all operands dense. A block, or a cluster of them
/// along z, for each of `batch`; blocks share the hidden units.
struct RecurrentArguments {
  enum Kind : int { simple, gru, lstm };
  const void* gates = nullptr;   // [steps, batch, width]
  const void* weights = nullptr; // [width, hidden]
  const void* state = nullptr;   // [batch, hidden]
  const void* cell = nullptr;    // lstm: [batch, hidden]
  const void* bias = nullptr;    // gru with late_reset: [hidden]
  const void* peepholes = nullptr;
  void* y = nullptr; // [steps, batch, hidden], then of lstm [1, batch, hidden]
  int steps = 1, batch = 1, hidden = 1;
  int lanes = 1; // of a hidden unit, where weights stay in registers
  int kind = simple;
  int reverse = 0, late_reset = 0, clips = 0;
  float clip = 0;
  ActivationArguments activations[3]; // of gates, of the candidate, of the cell
};

/// Recurrent layers of one kind, each of which reads the states of the one before; the gates are sigmoids, the rest
/// hyperbolic tangents, and of gru the reset gate is late. Without clips and peepholes.
struct StackArguments {
  static constexpr int max_layers = 8;  // a block for each, in a cluster
  static constexpr int columns = 16;    // of a lane
  const void* x = nullptr;              // [steps, batch, inputs[0]]
  const void* weights[max_layers] = {}; // [gates * hidden, 2, lanes * columns]: of the input, of the state
  const float* bias[max_layers] = {};   // [4, hidden]: of the gates; of gru of the hidden one's product, then its own
  const void* state[max_layers] = {};   // [batch, hidden]
  const void* cell[max_layers] = {};    // lstm: [batch, hidden]
  void* y[max_layers] = {};             // as of RecurrentArguments
  int inputs[max_layers] = {}, hidden[max_layers] = {};
  int layers = 1, steps = 1, batch = 1;
  int lanes = 1;   // of a hidden unit
  int at_once = 1; // steps whose inputs lie in shared memory
  int reverse = 0;
};

/// The network's input: dense [n, channels, h, w] floats become channels last; channels up to y_stride are zero. Clears
/// the counters of split sums as well, so that they are zero before the first convolution.
struct ImageInArguments {
  const float* x = nullptr;
  void* y = nullptr;
  int batch = 1, channels = 1, height = 1, width = 1;
  int y_stride = 1;
};
/// Copies an input or output to the network's memory or back, element by element. `linked`, unless null, points to the
/// address of the input or output when the kernel runs; it replaces x or y.
struct ConvertArguments {
  const void* x = nullptr;
  void* y = nullptr;
  long long count = 0; // of floats; of bytes for integers and booleans
  unsigned flip = 0;   // mask of bits that are inverted in each four bytes
  void* const* linked = nullptr;
};
struct ClearArguments {
  unsigned* words = nullptr;
  int count = 0;
};

} // namespace rtexec::tasks::cuda
