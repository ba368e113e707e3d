// The arguments of kernels: one struct for each kernel, which is passed by value as its only parameter. Device code and
// host code share this file: plain C++17, no library. Addresses are device addresses; strides and offsets count
// elements.
//
// Floats are stored as float or half (kernels whose names end in "_f" or "_h"), and computed as float. Integers are
// stored in their own type. The names of kernels that only move integers end in the integers' width ("_b", "_s" and
// "_w" for 1, 2 and 8 bytes; "_f" moves 4 bytes). A kernel that computes with integers ("_i") has their type as an
// argument.
//
// Images are stored channels last: element (n, h, w, c) is at ((n * height + h) * width + w) * stride + c. Here
// `stride` is "the stride of a pixel", which is at least the number of channels. So an image can be a slice of a
// concatenation. A View describes any other tensor.
#pragma once

namespace rtexec::tasks::cuda {

/// The storage of a tensor's elements. u8 stores the value minus 128, so that int8 layers multiply signed bytes only. A
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

/// The element type of an input or output in the caller's memory. `bytes` means integers of any width, which are copied
/// as bytes.
enum class Outside : int { f32, f16, bytes, booleans };

/// The maximum size of a grid along y and z, in blocks.
constexpr int max_blocks = 65535;

/// A kernel and its launch configuration.
struct Launch {
  const char* name = nullptr; // a static string
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned threads = 1;   // number of threads of a block, along x
  unsigned shared = 0;    // bytes of dynamic shared memory
  unsigned cluster_z = 1; // number of blocks of a cluster, along z; more than one needs sm_90
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

/// The shape and the strides of a tensor. Element (i0, i1, ...) is at i0 * stride[0] + i1 * stride[1] + ... . A
/// dimension with stride 0 is broadcast. Entries from `rank` on are unused.
struct View {
  int rank = 0;
  int shape[max_dimensions] = {};
  long long stride[max_dimensions] = {};
};

/// A convolution: y = activation(conv(x, weights) + bias + residual). If `residual_last` is set, y = activation(conv(x,
/// weights) + bias) + residual.
/// Weights are stored as [groups * out_channels][kernel_h][kernel_w][channels]. If every group has one channel of x,
/// weights are stored as [kernel_h][kernel_w][groups * out_channels].
/// A matrix product is a convolution with a 1x1 kernel. Its rows are `height` image rows of one pixel each.
struct ConvArguments {
  const void* x = nullptr;
  const void* weights = nullptr;
  const float* bias = nullptr;    // groups * out_channels elements, or null
  const void* residual = nullptr; // null, or elements in the shape of y
  void* y = nullptr;
  float* partial = nullptr;     // partial sums of the splits; see conv_plan.hpp
  unsigned* counters = nullptr; // one for each output tile; must be zero before, and is zero after
  int batch = 1, height = 1, width = 1;
  int out_height = 1, out_width = 1;
  int kernel_h = 1, kernel_w = 1;
  int stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_left = 0;
  int dilation_h = 1, dilation_w = 1;
  int groups = 1;
  int channels = 1;                                    // channels of x in one group
  int out_channels = 1;                                // channels of y in one group
  int x_stride = 1, y_stride = 1, residual_stride = 1; // elements from one pixel to the next
  int splits = 1; // number of parts into which the sum over kernel and channels is split
  int residual_last = 0;
  int in_cluster = 0; // true: the splits of a tile form a cluster; `partial` and `counters` are not used
  ActivationArguments activation;
  // If `is_int8` is set, x and weights are int8, and y = activation((sum + offsets) * factors + bias + residual). Here
  // `sum` is the integer result of conv(x, weights). If y is of type s32, y = sum + offsets modulo 2^32.
  int is_int8 = 0;
  unsigned outside = 0; // value of the padding around x, repeated in each of four bytes
  /// The address of x's zero point if the network computes it, otherwise null. If not null, the zero point is used
  /// instead of `outside`, and `offsets` are multiplied by it.
  const signed char* zero = nullptr;
  const int* offsets = nullptr;   // for each output channel, what x's zero point adds to the sum; or null
  const float* factors = nullptr; // for each output channel, or null
  Storage y_storage = Storage::f32, residual_storage = Storage::f32;
  float residual_zero = 0, residual_scale = 1; // dequantisation of the residual if it is int8
  Levels levels;                               // quantisation of y if it is int8
};

/// Pooling of x to y[n, h, w, c]. Windows may extend beyond x. A maximum ignores elements outside of x. An average
/// ignores them unless `count_padding` is set. It then counts them as zeros, but at most `pad_bottom` rows and
/// `pad_right` columns after the end of x.
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

/// The mean of each channel over all pixels. The mean of image n and channel c is stored in y[n * y_stride + c]. If
/// `splits` > 1, the pixels are divided among `splits` blocks, which store their sums in `partial`. The last block to
/// finish adds up these sums. split() (simple_kernels.hpp) returns the number of splits and the size of the memory that
/// they need.
struct GlobalAverageArguments {
  const void* x = nullptr;
  void* y = nullptr;
  float* partial = nullptr;     // batch * splits * channels elements
  unsigned* counters = nullptr; // batch * (channels / 32, rounded up) words; must be zero before, and are zero after
  int batch = 1, pixels = 1, channels = 1;
  int x_stride = 1, y_stride = 1;
  int splits = 1;
};

/// y = activation(x * scale[c] + shift[c]), for `pixels` pixels. A null `scale` means 1, and a null `shift` means 0. If
/// both are null, only the activation is computed.
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

/// y = activation(a op b). All views have the rank and shape of y, and a stride of 0 along broadcast dimensions. The
/// kernel binary_i computes integers modulo 2^n, with n the number of bits of the type. It also compares integers or
/// floats; comparisons write booleans.
struct BinaryArguments {
  enum Kind : int {
    add,
    subtract,
    multiply,
    divide,
    divide_integers,
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
  Storage storage = Storage::f32; // storage of a and b
};

/// y = activation(alpha * a * b + c). All views have the rank and shape of y, and a stride of 0 along broadcast
/// dimensions.
struct MultiplyAddArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
  View a_view, b_view, c_view, y_view;
  float alpha = 1;
  ActivationArguments activation;
};

/// y = a ? b : c. a holds booleans. All views have the rank and shape of y, and a stride of 0 along broadcast
/// dimensions.
struct WhereArguments {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
  View a_view, b_view, c_view, y_view;
  int width = 4; // size of an element of b, c and y, in bytes
};

/// y = function(x), for x and y in any storage. If the function is none, only converts. For integers, the function can
/// be relu, absolute or sign. is_nan, is_infinite, is_zero and is_not_zero write booleans. A float is converted to an
/// integer by truncation towards zero. If the value is out of range, the result is the nearest integer of the type; NaN
/// becomes 0. An integer is converted to a narrower type modulo 2^n, with n the number of bits of that type.
struct CastArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  Storage from = Storage::f32, to = Storage::f32;
  ActivationArguments function;
};

/// y[i] = activation(x[i]) for every index i of the views, which have the same shape. This copies, transposes, slices
/// and concatenates tensors, and converts between float and half. The kernel's name ends in the storages of x and y
/// (copy_ff, copy_fh, ...). Copies of integers have no activation. The last dimension must be the dimension in which y
/// has its smallest stride.
struct CopyArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  ActivationArguments activation;
};

/// y = activation((a - a_zero) * a_scale + (b - b_zero) * b_scale). If b is null, its term is omitted. If `to_levels`
/// is set, the result is then quantised by `levels` to integers in the storage of y, for example int8. The kernel's
/// name ends in the storage of a and b, and in the storage of y.
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

/// y[..., i, ...] = x[..., indices[i], ...]; i is the index in dimension `axis`. The views have the shape of y. Along
/// `axis`, the stride of x_view is the distance from one index of x to the next.
struct GatherConstantArguments {
  const void* x = nullptr;
  const int* indices = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int axis = 0;
};

/// Copies x into y; the first element of x goes to index `before`. y[i] is `value` if i - before is outside of x's
/// shape.
struct PadArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view; // has the shape of x
  View y_view; // has the shape of y
  int before[max_dimensions] = {};
  float value = 0;          // for integers of 4 bytes, a float with their bits
  long long wide_value = 0; // value for integers of 8 bytes
};

/// One row or column of an interpolation: the value is (1 - weight) * x[low] + weight * x[high].
struct ResizeTap {
  int low = 0, high = 0;
  float weight = 0;
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

/// Reduces x over the indices of the view `reduced`, for each index of the view `kept`. The kernel reduce computes the
/// reduction `kind`; the kernels softmax and log_softmax compute the softmax and its logarithm. The results have the
/// views y_kept and y_reduced; reduce uses y_kept only. kept and y_kept must have the same shape, and reduced and
/// y_reduced too.
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
  void* y = nullptr; // results that are indices are stored as s64
  View kept, y_kept;
  View reduced, y_reduced;
  int kind = mean;
  ActivationArguments activation; // reduce only: applied to the result
  int may_be_nothing = 0;         // true: if all elements are minus infinity, their softmax is zero
  Storage storage = Storage::f32; // storage of x, and of y unless y holds indices
};

/// The maximum number of warps in a block of the reduction kernels.
constexpr unsigned reduce_most_warps = 8;
/// Returns the number of threads that together reduce the `reduced` elements of one kept index, in a reduction by rows
/// (reduce.cu). If the result is at most 32, these threads are lanes of one warp, and a block computes several rows.
constexpr unsigned reduce_row_threads(unsigned reduced) {
  constexpr unsigned of_warp = 64; // number of elements for each warp
  if (reduced > reduce_most_warps * of_warp) return 32 * reduce_most_warps;
  if (reduced > of_warp) return (reduced + of_warp - 1) / of_warp * 32;
  unsigned threads = 1;
  while (threads < 32 && threads < reduced) threads *= 2;
  return threads;
}
/// Returns the number of warps that divide the reduced indices among them, in a reduction by columns (reduce.cu). It is
/// a power of two. `kept` and `reduced` are the numbers of indices. The result is small if each warp has little to do
/// and there is enough work for the whole device.
constexpr unsigned reduce_column_warps(unsigned kept, unsigned reduced) {
  constexpr unsigned little = 16, many = 1U << 16U;
  unsigned warps = 1;
  while (warps < reduce_most_warps && 2 * warps <= reduced && (reduced > little * warps || kept < many / warps))
    warps *= 2;
  return warps;
}

/// Local response normalisation: y = x / (bias + alpha / size * s)^beta. Here s is the sum of the squares of up to
/// `size` neighbouring channels of the pixel.
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
/// each index of the view `a_batch`; all batch views have the same shape. The kernel gemm_i computes only the sums of
/// products, modulo 2^n, with n the number of bits of y's type.
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
  Storage from = Storage::f32; // gemm_i only: storage of a and b
  Storage to = Storage::f32;   // gemm_i only: storage of y
};

/// Attention: y[i, :] = sum over j of w[i, j] * v[j, :]. The weights w[i, :] are the softmax over j of scale * q[i, :]
/// . k[j, :] + mask[i, j]. This is repeated for each index of the batch views, which have the same shape. If all scores
/// of a row are minus infinity, its weights are zero. mask may be null.
struct AttentionArguments {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* mask = nullptr;
  void* y = nullptr;
  int m = 1, n = 1, d = 1, e = 1; // numbers of queries and keys; lengths of a query or key, and of a value
  long long q_row = 1, k_row = 1, v_row = 1, mask_row = 0, y_row = 1;
  long long q_column = 1, k_column = 1, v_column = 1, mask_column = 0, y_column = 1;
  View q_batch, k_batch, v_batch, mask_batch, y_batch;
  float scale = 1;
};
/// For the Tensor Core kernels: the number of warps of a block, and the number of keys that one warp processes at once.
constexpr int attention_warps = 4;
template <class Scalar> constexpr int attention_keys = sizeof(Scalar) == 2 ? 32 : 16;
/// The maximum length of a value (`e`) in the kernel without Tensor Cores.
constexpr int attention_most_columns = 1024;

/// Layer normalisation: y = activation((x - mean) / deviation * scale + shift + residual). The mean and the standard
/// deviation are computed over the indices of the view `reduced`, for each index of the view `kept`. If `centred` is
/// not set, computes RMS normalisation: y = activation(x / rms * scale + shift + residual). Here rms is the root of the
/// mean of the squares of x. `epsilon` is added before a root is taken. scale, shift and residual may be null. All
/// `kept` views must have the same shape, and all `reduced` views too.
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

/// Layer normalisation of rows that consist of whole, aligned chunks of 16 bytes. Scale and shift are one row each. A
/// row is shared by 2^lane_bits lanes of a warp, and each lane processes at most `normalise_chunks` chunks.
constexpr int normalise_chunks = 8;
struct LayerNormRowsArguments {
  const void* x = nullptr;
  const void* scale = nullptr;
  const void* shift = nullptr;
  const void* residual = nullptr;
  void* y = nullptr;
  int rows = 1, chunks = 1; // number of rows; number of chunks in a row
  int lane_bits = 0;
  long long x_stride = 0, residual_stride = 0, y_stride = 0; // elements from one row to the next
  float epsilon = 0;
  int centred = 1;
  ActivationArguments activation;
};

/// The places in a tensor that tuples of indices refer to. The offset of a place is the sum of index[d] * strides[d]
/// over d < depth. Index d of a tuple is stored d * stride elements after the first index of the tuple. It refers to a
/// dimension of size sizes[d]. Negative indices count from the end of the dimension. Indices out of range are clamped
/// to the nearest valid index.
struct IndexedPlaces {
  const long long* indices = nullptr;
  int depth = 1;
  long long stride = 0; // elements from one index of a tuple to the next
  int sizes[max_dimensions] = {};
  long long strides[max_dimensions] = {};
};

/// Gather: each element of y is copied from an element of x. For the element of y at multi-index i, the offset in x is
/// a sum of two offsets: the offset that x_view gives for i, and the offset in `places` of the tuple that indices_view
/// gives for i. All views have the shape of y.
struct GatherArguments {
  const void* x = nullptr;
  void* y = nullptr;
  IndexedPlaces places;
  View x_view, indices_view, y_view;
};

/// Scatter: each element x[i] replaces an element of y, or is combined with it as `kind` says. The offset of that
/// element is the offset of i in y_view, plus the offset of the place that the tuple indices[i] refers to. Several
/// elements of x may refer to the same element of y, so each thread processes all indices of the `serial` views in
/// order. The indices of the other views are divided among threads.
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

/// Cumulative sums of rows of `count` elements. Each element of the views begins one such row in x and in y. Element i
/// of a row in y is the sum of the elements of the row in x up to and including element i, or without element i if
/// `exclusive` is set. If `reverse` is set, the sums start at the last element.
struct CumSumArguments {
  const void* x = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int count = 1;
  long long x_stride = 1, y_stride = 1;
  int exclusive = 0, reverse = 0;
  Storage storage = Storage::f32;
};

/// Top-k: the indices of the `kept` largest of `count` elements (the smallest if `largest` is not set), in order. Each
/// element of the views begins one such row of `count` elements in x and of `kept` indices in y. Among equal elements,
/// the element with the lower index comes first. NaN counts as the largest value.
struct TopKArguments {
  const void* x = nullptr;
  long long* y = nullptr;
  View x_view, y_view;
  int count = 1, kept = 1;
  long long x_stride = 1, y_stride = 1;
  int largest = 1;
  Storage storage = Storage::f32;
};

/// The maximum number of elements that one block can sort, and the number of threads of that block.
constexpr int top_most_kept = 1024;

/// Resampling along `axis`: y[..., i, ...] is the sum over `taps` indices of weight * x[..., index, ...]. Each i has
/// its own weights and indices. The views have the shape of y.
struct ResampleArguments {
  const void* x = nullptr;
  const int* indices = nullptr;
  const float* weights = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  int axis = 0, taps = 1;
};

/// The interpolation of an image at positions between its pixels, as GridSample of graph.hpp defines it.
struct Sampling {
  enum Mode : int { linear, nearest, cubic };
  enum Padding : int { zeros, border, reflection };
  int mode = linear, padding = zeros, align_corners = 0;
};

/// Samples of an image: y[n, h, w, c] is the value of channel c of image n of x at the position grid[n, h, w]. A
/// position is stored as two coordinates: first the horizontal, then the vertical coordinate.
struct GridSampleArguments {
  const void* x = nullptr;
  const void* grid = nullptr;
  void* y = nullptr;
  View x_view, y_view;
  long long grid_strides[4] = {}; // of n, h, w, and from the horizontal to the vertical coordinate
  Sampling sampling;
};

constexpr int max_sampled_images = 8;
constexpr int sampling_lanes = 4; // number of threads that share the sampling points of a chunk of channels

/// Deformable attention, as DeformableAttention of graph.hpp defines it. The result is y[n, query, c]. Each query has
/// `points` sampling points in each image. The channels of a pixel are contiguous in memory.
struct DeformableArguments {
  struct Image {
    int height = 1, width = 1;
    long long strides[3] = {};      // n, h, w
    long long grid_strides[4] = {}; // n, query, point, and from the horizontal to the vertical coordinate
  };
  const void* x[max_sampled_images] = {};
  const void* grid[max_sampled_images] = {};
  const void* scores = nullptr;
  void* y = nullptr;
  Image image[max_sampled_images];
  int images = 1, points = 1;
  int batch = 1, queries = 1, channels = 1;
  long long scores_strides[3] = {}; // n, query, and point; points are numbered through all images
  long long y_strides[2] = {};      // n, query
  Sampling sampling;
};

/// A recurrent layer over a sequence, as Recurrent of graph.hpp defines it. All operands are dense. Each element of the
/// batch is computed by one block, or by a cluster of blocks along z. The blocks of a cluster divide the hidden units
/// among them.
struct RecurrentArguments {
  enum Kind : int { simple, gru, lstm };
  const void* gates = nullptr;   // the input's part of the gates, [steps, batch, width]; width is gates * hidden
  const void* weights = nullptr; // [width, hidden]
  const void* state = nullptr;   // [batch, hidden]
  const void* cell = nullptr;    // lstm: [batch, hidden]
  const void* bias = nullptr;    // gru with late_reset: [hidden]
  const void* peepholes = nullptr;
  void* y = nullptr; // [steps, batch, hidden]; for lstm the last cell [1, batch, hidden] follows
  int steps = 1, batch = 1, hidden = 1;
  int lanes = 1; // number of lanes that share a hidden unit, if weights stay in registers
  int kind = simple;
  int reverse = 0, late_reset = 0, clips = 0;
  float clip = 0;
  ActivationArguments activations[3]; // of the gates, the candidate and the cell
};

/// A fused multi-layer RNN: layers of one kind, each of which reads the states of the previous layer. The activation of
/// gates is the sigmoid, and all other activations are the hyperbolic tangent. If the layers are of kind gru, they have
/// `late_reset`. Clips and peepholes are not supported.
struct StackArguments {
  static constexpr int max_layers = 8;  // one block of a cluster computes each layer
  static constexpr int columns = 16;    // number of columns of the weights that one lane holds
  const void* x = nullptr;              // [steps, batch, inputs[0]]
  const void* weights[max_layers] = {}; // [gates * hidden, 2, lanes * columns]; of the 2, the first is for the input
  /// For each layer, the biases of the gates, [4, hidden]. For kind gru, rows 2 and 3 both belong to the hidden gate.
  /// Row 2 is added to its product with the state, and row 3 to its product with the input.
  const float* bias[max_layers] = {};
  const void* state[max_layers] = {}; // [batch, hidden]
  const void* cell[max_layers] = {};  // lstm: [batch, hidden]
  void* y[max_layers] = {};           // layout as RecurrentArguments::y
  int inputs[max_layers] = {}, hidden[max_layers] = {};
  int layers = 1, steps = 1, batch = 1;
  int lanes = 1;   // number of lanes that share a hidden unit
  int at_once = 1; // number of steps whose inputs are in shared memory at the same time
  int reverse = 0;
};

/// Converts an input image of the network from dense floats [n, channels, h, w] to channels last. Sets the channels
/// from `channels` up to `y_stride` to zero.
struct ImageInArguments {
  const float* x = nullptr;
  void* y = nullptr;
  int batch = 1, channels = 1, height = 1, width = 1;
  int y_stride = 1;
};
/// Copies an input to the network's memory or an output from it, element by element. If `linked` is not null, it points
/// to the pointer that replaces x (of an input) or y (of an output). The kernel reads that pointer when it runs.
struct ConvertArguments {
  const void* x = nullptr;
  void* y = nullptr;
  long long count = 0; // number of floats, or of bytes for integers and booleans
  unsigned flip = 0;   // mask of the bits that are inverted in each group of four bytes
  void* const* linked = nullptr;
};
struct ClearArguments {
  unsigned* words = nullptr;
  int count = 0;
};

} // namespace rtexec::tasks::cuda
