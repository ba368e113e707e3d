// The arguments of kernels: one struct for each kernel, which is passed by value as its only parameter. Device code and
// host code share this file: plain C++17, no library. Addresses are device addresses; strides and offsets count
// elements.
//
// Floats are stored as float or half ("_f" or "_h" at the end of a kernel's name), and computed as float. Integers are
// stored in their own type. For kernels that only move integers, the name ends in their width ("_b", "_s" and "_w" for
// 1, 2 and 8 bytes; "_f" moves 4 bytes). A kernel that computes with integers ("_i") gets their type as an argument.
//
// Images are stored channels last: element (n, h, w, c) is at ((n * height + h) * width + w) * stride + c. This stride
// is "the stride of a pixel", which is at least the number of channels. So an image can be a slice of a concatenation.
// A View describes any other tensor.
#pragma once

namespace rtexec::tasks::cuda {

/// The storage of a tensor's elements. u8 stores the value minus 128, so that layers multiply signed bytes only. A
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

/// The quantisation of a float x to an integer: clip(round(x / scale) + zero, low, high). Ties are rounded to even.
struct Levels {
  float scale = 1, zero = 0, low = -128, high = 127;
};

/// The element type of an input or output outside of the network. Integers of every width are copied as bytes.
enum class Outside : int { f32, f16, bytes, booleans };

/// The maximum size of a grid along y and z, in blocks.
constexpr int max_blocks = 65535;

/// A kernel and its launch configuration.
struct Launch {
  const char* name = nullptr; // the text lives as long as the program
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned threads = 1;   // threads of a block, along x
  unsigned shared = 0;    // bytes of dynamic shared memory
  unsigned cluster_z = 1; // blocks of a cluster, along z; more than one needs sm_90
};

/// An activation of graph.hpp with its parameters. The values of Kind must agree with rtexec::tasks::Activation::Kind.
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

/// The shape and the strides of a tensor. Element (i0, i1, ...) is at i0 * stride[0] + i1 * stride[1] + ...; a stride
/// of 0 broadcasts. Entries beyond `rank` are unused.
struct View {
  int rank = 0;
  int shape[max_dimensions] = {};
  long long stride[max_dimensions] = {};
};

/// A convolution: y = activation(conv(x, weights) + bias + residual). If `residual_last`, y = activation(conv(x,
/// weights) + bias) + residual.
/// Weights are stored as [groups * out_channels][kernel_h][kernel_w][channels]. If a group has one channel, they are
/// stored as [kernel_h][kernel_w][groups * out_channels].
/// A matrix product is a convolution with a 1x1 kernel over `height` rows of one pixel each.
struct ConvArguments {
  const void* x = nullptr;
  const void* weights = nullptr;
  const float* bias = nullptr;    // groups * out_channels elements, or null
  const void* residual = nullptr; // shaped as y, or null
  void* y = nullptr;
  float* partial = nullptr;     // partial sums of the splits; see conv_plan.hpp
  unsigned* counters = nullptr; // one for each output tile; zero before and after
  int batch = 1, height = 1, width = 1;
  int out_height = 1, out_width = 1;
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_left = 0;
  int dilation_h = 1, dilation_w = 1;
  int groups = 1;
  int channels = 1;                                    // channels of x in one group
  int out_channels = 1;                                // channels of y in one group
  int x_stride = 1, y_stride = 1, residual_stride = 1; // strides of a pixel
  int splits = 1;                                      // parts into which the sum over kernel and channels is split
  int residual_last = 0;
  int in_cluster = 0; // the splits of a tile form a cluster; `partial` and `counters` are not used
  ActivationArguments activation;
  // If `whole`, x and weights are int8, and y = activation((sum + offsets) * factors + bias + residual). If y is of
  // type s32, y = sum + offsets modulo 2^32.
  int whole = 0;
  unsigned outside = 0; // the value of the padding around x, in each of four bytes
  /// The zero point of x if the network computes it, else null. If it is not null, it replaces `outside` and multiplies
  /// `offsets`.
  const signed char* zero = nullptr;
  const int* offsets = nullptr;   // by output channel: what x's zero point adds to the sum; or null
  const float* factors = nullptr; // by output channel, or null
  Storage y_storage = Storage::f32, residual_storage = Storage::f32;
  float residual_zero = 0, residual_scale = 1; // if the residual is int8
  Levels levels;                               // the quantisation of y if it is int8
};

/// Pooling of x to y[n, h, w, c]. Windows may reach beyond x. Elements outside of x never are the maximum. They count
/// in an average only if `count_padding` is set: as zeros, up to pad_bottom and pad_right beyond x.
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

/// The mean of each channel over all pixels, stored in y[n * y_stride + c]. If `splits` > 1, each split adds up a part
/// of the pixels in `partial`, and the last split to finish adds up all parts. simple_kernels.hpp decides the number of
/// splits and the memory that they need.
struct GlobalAverageArguments {
  const void* x = nullptr;
  void* y = nullptr;
  float* partial = nullptr;     // batch * splits * channels elements
  unsigned* counters = nullptr; // batch * (channels / 32, rounded up) words; zero before and after
  int batch = 1, pixels = 1, channels = 1;
  int x_stride = 1, y_stride = 1;
  int splits = 1;
};

/// y = activation(x * scale[c] + shift[c]), for `pixels` pixels. scale and shift may be null, which means 1 and 0. This
/// also serves for an activation alone.
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

/// y = activation(a op b). Views have the rank and shape of y, and a stride of 0 along broadcast dimensions. The kernel
/// binary_i computes integers modulo 2^n, and compares integers or floats; comparisons write booleans.
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
  Storage storage = Storage::f32; // the storage of a and b
};

/// y = activation(alpha * a * b + c). The views are as in BinaryArguments.
struct MultiplyAddArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
  View a_view, b_view, c_view, y_view;
  float alpha = 1;
  ActivationArguments activation;
};

/// y = a ? b : c, where a holds booleans. The views are as in BinaryArguments.
struct WhereArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
  View a_view, b_view, c_view, y_view;
  int width = 4; // bytes of an element of b, c and y
};

/// y = function(x), for x and y in any storage. The function is none (conversion only), relu, absolute or sign of
/// integers, or is_nan, is_infinite, is_zero or is_not_zero, which write booleans. A float is converted to an integer
/// by truncation towards zero. A value out of range becomes the nearest integer of the type, and NaN becomes 0. An
/// integer is converted to a narrower one modulo 2^n.
struct CastArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  Storage from = Storage::f32, to = Storage::f32;
  ActivationArguments function;
};

/// y[i] = activation(x[i]) for every index of the views, which have one shape. This copies, transposes, slices and
/// concatenates tensors, and converts between float and half. The kernel's name ends in the storages of x and y
/// (copy_ff, copy_fh, ...). Copies of integers have no activation. The last dimension of y is the one with the smallest
/// stride.
struct CopyArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  ActivationArguments activation;
};

/// y = activation((a - a_zero) * a_scale + (b - b_zero) * b_scale), where b may be null. If `to_levels` is set, y is
/// then quantised by `levels`, to int8 or to integers in another storage. The kernel's name ends in the storage of a
/// and b, and in that of y.
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

/// y[..., i, ...] = x[..., indices[i], ...] along `axis`. The views have the shape of y. The stride of x along `axis`
/// is the distance from one index to the next.
struct GatherConstantArguments {
  const void* x = nullptr;
  const int* indices = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int axis = 0;
};

/// Copies x into y, with its first element at index `before`. y[i] is `value` if i - before is outside of x's shape.
struct PadArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view; // with x's shape
  View y_view; // with y's shape
  int before[max_dimensions] = {};
  float value = 0;          // for integers of 4 bytes, their bits
  long long wide_value = 0; // the value for integers of 8 bytes
};

/// Interpolation: y[n, h, w, c] blends the rows rows[h] and the columns columns[w] of x.
struct ResizeTap {
  int low = 0, high = 0;
  float weight = 0; // the weight of `high`; that of `low` is 1 - weight
};
struct ResizeArguments {
  const void* x = nullptr;
  void* y = nullptr;
  const ResizeTap* rows = nullptr;    // out_height elements
  const ResizeTap* columns = nullptr; // out_width elements
  int batch = 1, height = 1, width = 1, channels = 1;
  int out_height = 1, out_width = 1;
  int x_stride = 1, y_stride = 1;
};

/// Reduces x over the indices of the view `reduced`, for each index of the view `kept`. The kernels compute the
/// reduction `kind` (reduce), the softmax (softmax) or its logarithm (log_softmax). y_kept and y_reduced are the views
/// of the results; reduce uses y_kept only. kept and y_kept have one shape, and so have reduced and y_reduced.
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
  void* y = nullptr; // indices are stored as s64
  View kept, y_kept;
  View reduced, y_reduced;
  int kind = mean;
  ActivationArguments activation; // applied to the result of reduce
  int may_be_nothing = 0;         // true: the softmax of elements that are all minus infinity is zero
  Storage storage = Storage::f32; // the storage of x, and of y unless y holds indices
};

/// The maximum number of warps in a block of the reduction kernels.
constexpr unsigned reduce_most_warps = 8;
/// Returns the number of threads that share one kept index in a reduction by rows (reduce.cu). Up to 32 threads are
/// lanes of one warp; a block then computes several rows.
constexpr unsigned reduce_row_threads(unsigned reduced) {
  constexpr unsigned of_warp = 64; // elements for one warp
  if (reduced > reduce_most_warps * of_warp) return 32 * reduce_most_warps;
  if (reduced > of_warp) return (reduced + of_warp - 1) / of_warp * 32;
  unsigned threads = 1;
  while (threads < 32 && threads < reduced) threads *= 2;
  return threads;
}
/// Returns the number of warps that share kept indices in a reduction by columns (reduce.cu); it is a power of two. The
/// number is small if a warp has little to do and there is enough work for the whole device.
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

/// y[i, j] = activation(alpha * sum over k of a[i, k] * b[k, j] + beta * c[i, j] + residual[i, j]). Strides are
/// arbitrary, for products that a convolution cannot express. c and residual may be null. The product is repeated for
/// each index of the view `a_batch`; all batch views have its shape. The kernel gemm_i only computes the sums, modulo
/// 2^n.
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
  Storage from = Storage::f32; // the storage of a and b, for gemm_i
  Storage to = Storage::f32;   // the storage of y, for gemm_i
};

/// y[i, :] = softmax over j of (scale * q[i, :] . k[j, :] + mask[i, j]) times v[j, :]. It is repeated for each index of
/// the batch views, which have one shape. A softmax of scores that are all minus infinity is zero. mask may be null.
struct AttentionArguments {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* mask = nullptr;
  void* y = nullptr;
  int m = 1, n = 1, d = 1, e = 1; // numbers of queries and keys; elements of a query or key; elements of a value
  long long q_row = 1, k_row = 1, v_row = 1, mask_row = 0, y_row = 1;
  long long q_column = 1, k_column = 1, v_column = 1, mask_column = 0, y_column = 1;
  View q_batch, k_batch, v_batch, mask_batch, y_batch;
  float scale = 1;
};
/// For the Tensor Core kernels: the number of warps of a block, and the number of keys that one warp processes at once.
constexpr int attention_warps = 4;
template <class Scalar> constexpr int attention_keys = sizeof(Scalar) == 2 ? 32 : 16;
/// The maximum number of elements of a value in the kernel without Tensor Cores.
constexpr int attention_most_columns = 1024;

/// Layer normalisation: y = activation((x - mean) / deviation * scale + shift + residual) over the indices of the view
/// `reduced`, for each index of the view `kept`. If `centred` is not set, x is divided by the root of the mean of its
/// squares instead (RMS normalisation). scale, shift and residual may be null. All `kept` views have one shape, and so
/// have all `reduced` views.
struct LayerNormArguments {
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

/// Normalisation of rows that consist of whole, aligned chunks of 16 bytes. Scale and shift are one row each. 1 <<
/// lane_bits lanes of a warp share a row, and each lane processes at most `normalise_chunks` chunks.
constexpr int normalise_chunks = 8;
struct LayerNormRowsArguments {
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;
  const void* residual = nullptr;
  void* y = nullptr;
  int rows = 1, chunks = 1; // number of rows; number of chunks in a row
  int lane_bits = 0;
  long long x_stride = 0, residual_stride = 0, y_stride = 0; // strides of a row
  float epsilon = 0;
  int centred = 1;
  ActivationArguments activation;
};

/// The places in a tensor that tuples of indices refer to. The offset of a place is the sum of index[d] * strides[d]
/// over d < depth. Index d of a tuple is stored d * stride elements after the first index of the tuple. Negative
/// indices count from the end; indices out of range are clamped to the nearest valid index.
struct IndexedPlaces {
  const long long* indices = nullptr;
  int depth = 1;
  long long stride = 0; // distance between the indices of one tuple
  int sizes[max_dimensions] = {};
  long long strides[max_dimensions] = {};
};

/// Gather: y[i] is an element of x. Its offset is that of i in x_view, plus the offset that the tuple indices[i] refers
/// to. The views have the shape of y.
struct GatherArguments {
  const void* x = nullptr;
  void* y = nullptr;
  IndexedPlaces places;
  View x_view, indices_view, y_view;
};

/// Scatter: x[i] replaces an element of y, or is combined with it by `kind`. The offset of that element is that of i in
/// y_view, plus the offset that the tuple indices[i] refers to. The indices of the views are divided among threads.
/// Each thread processes all indices of the `serial` views in order, since several of them may refer to one element.
struct ScatterArguments {
  enum Kind : int { replace, add, multiply, minimum, maximum };
  const void* x = nullptr;
  void* y = nullptr;
  IndexedPlaces places;
  View x_view, indices_view, y_view;
  View x_serial, indices_serial, y_serial;
  int kind = replace;
  Storage storage = Storage::f32;
};

/// Cumulative sums of `count` elements, for each index of the views. y[i] is the sum of the elements up to element i,
/// which itself is left out if `exclusive` is set. If `reverse` is set, the sums start at the end.
struct CumSumArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int count = 1;
  long long x_stride = 1, y_stride = 1;
  int exclusive = 0, reverse = 0;
  Storage storage = Storage::f32;
};

/// Top-k: the indices of the `kept` largest (or smallest) of `count` elements, in order, for each index of the views.
/// Among equal elements, the one with the lower index comes first. NaN counts as the largest value.
struct TopKArguments {
  const void* x = nullptr;
  long long* y = nullptr;
  View x_view, y_view;
  int count = 1, kept = 1;
  long long x_stride = 1, y_stride = 1;
  int largest = 1;
  Storage storage = Storage::f32;
};

/// The maximum number of elements that one block can sort; it then has as many threads.
constexpr int top_most_kept = 1024;

/// y[..., i, ...] is the sum over `taps` indices of weight * x[..., index, ...] along `axis`. Each i has its own
/// weights and indices. The views are as in GatherArguments.
struct ResampleArguments {
  const void* x = nullptr;
  const int* indices = nullptr;
  const float* weights = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int axis = 0, taps = 1;
};

/// The interpolation of an image between its pixels, as GridSample of graph.hpp defines it.
struct Sampling {
  enum Mode : int { linear, nearest, cubic };
  enum Padding : int { zeros, border, reflection };
  int mode = linear, padding = zeros, align_corners = 0;
};

/// y[n, h, w, c] is a sample of channel c of image n of x. grid[n, h, w] is its position: first the coordinate across,
/// then the one down.
struct GridSampleArguments {
  const void* x = nullptr;
  const void* grid = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  long long grid_strides[4] = {}; // of n, h, w, and from the coordinate across to the one down
  Sampling sampling;
};

constexpr int max_sampled_images = 8;
constexpr int sampling_lanes = 4; // number of threads that share the points of a chunk of channels

/// Deformable attention: y[n, query, c], as DeformableAttention of graph.hpp defines it. Each image has `points` points
/// for each query. The channels of an image are contiguous in memory.
struct DeformableArguments {
  struct Image {
    int height = 1, width = 1;
    long long strides[3] = {};      // n, h, w
    long long grid_strides[4] = {}; // n, query, point, and from the coordinate across to the one down
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

/// A recurrent layer over a sequence, as Recurrent of graph.hpp defines it. All operands are dense. Each element of the
/// batch is computed by one block, or by a cluster of blocks along z that divide the hidden units among them.
struct RecurrentArguments {
  enum Kind : int { simple, gru, lstm };
  const void* gates = nullptr;   // [steps, batch, width]
  const void* weights = nullptr; // [width, hidden]
  const void* state = nullptr;   // [batch, hidden]
  const void* cell = nullptr;    // lstm: [batch, hidden]
  const void* bias = nullptr;    // gru with late_reset: [hidden]
  const void* peepholes = nullptr;
  void* y = nullptr; // [steps, batch, hidden]; for lstm the last cell [1, batch, hidden] follows
  int steps = 1, batch = 1, hidden = 1;
  int lanes = 1; // number of lanes for a hidden unit, if weights stay in registers
  int kind = simple;
  int reverse = 0, late_reset = 0, clips = 0;
  float clip = 0;
  ActivationArguments activations[3]; // for gates, for the candidate, for the cell
};

/// A fused multi-layer RNN: layers of one kind, each of which reads the states of the layer before. Gates are sigmoids,
/// and all other activations are hyperbolic tangents. A gru has `late_reset`. Clips and peepholes are not supported.
struct StackArguments {
  static constexpr int max_layers = 8;  // one block of a cluster for each layer
  static constexpr int columns = 16;    // columns of the weights that one lane holds
  const void* x = nullptr;              // [steps, batch, inputs[0]]
  const void* weights[max_layers] = {}; // [gates * hidden, 2, lanes * columns]: for the input, for the state
  /// For each layer, the biases of the gates, [4, hidden]. The last two rows of a gru belong to the hidden gate: its
  /// product with the state, and its input.
  const float* bias[max_layers] = {};
  const void* state[max_layers] = {}; // [batch, hidden]
  const void* cell[max_layers] = {};  // lstm: [batch, hidden]
  void* y[max_layers] = {};           // as in RecurrentArguments
  int inputs[max_layers] = {}, hidden[max_layers] = {};
  int layers = 1, steps = 1, batch = 1;
  int lanes = 1;   // number of lanes for a hidden unit
  int at_once = 1; // number of steps whose inputs are in shared memory at once
  int reverse = 0;
};

/// Converts the network's input from dense floats [n, channels, h, w] to channels last. Channels from `channels` up to
/// y_stride become zero.
struct ImageInArguments {
  const float* x = nullptr;
  void* y = nullptr;
  int batch = 1, channels = 1, height = 1, width = 1;
  int y_stride = 1;
};
/// Copies an input or output to the network's memory or back, element by element. If `linked` is not null, it points to
/// the address that the input or output has when the kernel runs. That address replaces x or y.
struct ConvertArguments {
  const void* x = nullptr;
  void* y = nullptr;
  long long count = 0; // number of floats, or of bytes for integers and booleans
  unsigned flip = 0;   // mask of bits that are inverted in each four bytes
  void* const* linked = nullptr;
};
struct ClearArguments {
  unsigned* words = nullptr;
  int count = 0;
};

} // namespace rtexec::tasks::cuda
