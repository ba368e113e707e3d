#include "tasks/engine/cuda/kernels/simple_kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace rtexec::tasks::cuda {
namespace {

constexpr long long block = 128; // number of threads of a block in kernels that work element by element
constexpr long long warp = 32;
constexpr long long tile = 32;         // rows and columns of a tile, in transpose and in gemm.cu
constexpr long long many_blocks = 264; // two blocks for each multiprocessor of a large device

long long up(long long value, long long unit) { return (value + unit - 1) / unit; }
unsigned count(long long value) { return static_cast<unsigned>(std::max(value, 1LL)); }
const char* name(Storage storage, const char* f, const char* h) { return storage == Storage::f32 ? f : h; }
/// Returns the kernel's name for the storage: `f` for floats, `h` for halves, `i` for integers.
const char* name(Storage storage, const char* f, const char* h, const char* i) {
  return holds_integers(storage) ? i : name(storage, f, h);
}
/// Returns the name of the kernel that moves elements of this storage. The five kernels move, in this order, floats,
/// halves, and integers of 1, 2 and 8 bytes. Integers of 4 bytes are moved as floats.
const char* name(Storage storage, const char* const (&kernels)[5]) {
  if (storage == Storage::f16) return kernels[1];
  switch (size_of(storage)) {
  case 1: return kernels[2];
  case 2: return kernels[3];
  case 8: return kernels[4];
  default: return kernels[0];
  }
}
int chunk_of(Storage storage) { return 16 / static_cast<int>(size_of(storage)); }
/// Returns the name of the kernel that converts elements from storage `from` to storage `to`. The nine kernels convert
/// floats, halves or bytes to floats, halves or bytes.
const char* name(Storage from, Storage to, const char* const (&kernels)[9]) {
  const auto kind = [](Storage storage) { return std::min(static_cast<int>(storage), 2); };
  return kernels[kind(from) * 3 + kind(to)];
}

long long elements(const View& view) {
  long long product = 1;
  for (int d = 0; d < view.rank; ++d) product *= view.shape[d];
  return product;
}
int last_extent(const View& view) { return view.rank > 0 ? view.shape[view.rank - 1] : 1; }
long long last_stride(const View& view) { return view.rank > 0 ? view.stride[view.rank - 1] : 0; }

Launch blocks_for(const char* kernel, long long items) {
  return {kernel, count(up(items, block)), 1, 1, static_cast<unsigned>(block)};
}

/// Returns a launch with one thread for each chunk of the last dimension. If the size of that dimension (`fastest`) is
/// no multiple of a chunk, there is one thread for each element.
Launch chunks_for(const char* kernel, long long all, int fastest, int chunk) {
  return blocks_for(kernel, fastest % chunk == 0 ? all / chunk : all);
}

/// Returns the launch of a conversion. If `linked` is set, the number of blocks is limited, because each block reads
/// the address from host memory.
Launch conversion(const char* kernel, const ConvertArguments& p, Outside outside) {
  const bool floats = outside == Outside::f32 || outside == Outside::f16;
  Launch launch = blocks_for(kernel, up(p.count, floats ? 4 : 16));
  if (p.linked != nullptr) launch.grid_x = std::min(launch.grid_x, count(many_blocks));
  return launch;
}

bool is_transpose(const CopyArguments& p) {
  const int last = p.y_view.rank - 1;
  return last > 0 && std::abs(p.x_view.stride[last]) > 1 && std::abs(p.x_view.stride[last - 1]) == 1 &&
         p.y_view.shape[last] >= 8 && p.y_view.shape[last - 1] >= 8;
}

/// True if neighbours in memory differ in the kept index, not in the reduced index.
bool by_columns(const ReduceArguments& p) {
  return last_stride(p.kept) == 1 && last_stride(p.reduced) != 1 && last_extent(p.kept) >= 4;
}

Launch reduction(const char* rows, const char* columns, const ReduceArguments& p) {
  const auto kept = elements(p.kept), reduced = elements(p.reduced);
  if (by_columns(p)) {
    const long long warps = reduce_column_warps(count(kept), count(reduced)), of_block = std::max(warps, block / warp);
    return {columns, count(up(kept, of_block / warps * warp)), 1, 1, count(of_block * warp)};
  }
  const long long threads = reduce_row_threads(count(reduced));
  const auto of_block = threads > warp ? threads : std::min(block, up(kept * threads, warp) * warp);
  return {rows, count(up(kept, of_block / threads)), 1, 1, count(of_block)};
}

long long pixels_of(const ConvArguments& p) { return static_cast<long long>(p.batch) * p.out_height * p.out_width; }

/// A dimension of an operation, with its strides in all operands.
struct Dimension {
  int extent = 1;
  long long stride[4] = {}; // one for each operand that is read
  long long y_stride = 0;
  int x_extent = 1, before = 0; // of a padded operand: its size, and the index of its first element
  bool apart = false;           // true: the dimension must not be merged with another one
};

struct Dimensions {
  Dimension d[max_dimensions];
  int rank = 0;

  void add(const Dimension& dimension) {
    if (dimension.extent != 1 || dimension.x_extent != 1 || dimension.before != 0 || dimension.apart)
      d[rank++] = dimension;
  }
  void fastest_last() {
    std::stable_sort(d, d + rank, [](const Dimension& a, const Dimension& b) {
      return std::abs(a.y_stride) > std::abs(b.y_stride);
    });
  }
  void merge() {
    int kept = 0;
    for (int i = 1; i < rank; ++i) {
      if (follows(d[kept], d[i])) d[kept] = merged(d[kept], d[i]);
      else d[++kept] = d[i];
    }
    rank = std::min(rank, kept + 1);
  }

 private:
  static bool follows(const Dimension& outer, const Dimension& inner) {
    const bool whole = inner.x_extent == inner.extent && inner.before == 0 && !inner.apart && !outer.apart;
    return whole && outer.y_stride == inner.y_stride * inner.extent &&
           outer.stride[0] == inner.stride[0] * inner.extent && outer.stride[1] == inner.stride[1] * inner.extent &&
           outer.stride[2] == inner.stride[2] * inner.extent && outer.stride[3] == inner.stride[3] * inner.extent;
  }
  static Dimension merged(const Dimension& outer, Dimension inner) {
    inner.before = outer.before * inner.extent;
    inner.x_extent = outer.x_extent * inner.extent;
    inner.extent *= outer.extent;
    return inner;
  }
};

Dimension dimension(const View& y, int d) {
  Dimension result;
  result.extent = result.x_extent = y.shape[d];
  result.y_stride = y.stride[d];
  return result;
}

void put(View& view, const Dimensions& from, long long (*stride)(const Dimension&)) {
  view = {};
  view.rank = from.rank;
  for (int d = 0; d < from.rank; ++d) {
    view.shape[d] = from.d[d].extent;
    view.stride[d] = stride(from.d[d]);
  }
}
long long y_stride(const Dimension& d) { return d.y_stride; }
long long first_stride(const Dimension& d) { return d.stride[0]; }
long long second_stride(const Dimension& d) { return d.stride[1]; }
long long third_stride(const Dimension& d) { return d.stride[2]; }
long long fourth_stride(const Dimension& d) { return d.stride[3]; }

/// Simplifies both views together. more(dimension, d) must set the other properties of `dimension`, which is dimension
/// d of the views.
template <class More> Dimensions simplify(View& y, View& x, const More& more) {
  Dimensions dimensions;
  for (int d = 0; d < y.rank; ++d) {
    auto each = dimension(y, d);
    each.stride[0] = x.stride[d];
    more(each, d);
    dimensions.add(each);
  }
  dimensions.fastest_last();
  dimensions.merge();
  put(y, dimensions, y_stride);
  put(x, dimensions, first_stride);
  return dimensions;
}
int apart_in(const Dimensions& dimensions) {
  const auto* const end = dimensions.d + dimensions.rank;
  return static_cast<int>(std::find_if(dimensions.d, end, [](const Dimension& d) { return d.apart; }) - dimensions.d);
}

constexpr auto nothing_more = [](Dimension&, int) {};

} // namespace

Launch launch_of(const ImageInArguments& p, Storage storage) {
  return blocks_for(name(storage, "image_in_f", "image_in_h"), static_cast<long long>(p.batch) * p.height * p.width);
}
Launch launch_of(const ClearArguments& p) { return blocks_for("clear", p.count); }
Launch stage_input_launch(const ConvertArguments& p, Outside from) {
  constexpr const char* kernels[] = {"from_f32", "from_f16", "from_bytes", "from_booleans"};
  return conversion(kernels[static_cast<int>(from)], p, from);
}
Launch stage_output_launch(const ConvertArguments& p, Outside to) {
  constexpr const char* kernels[] = {"to_f32", "to_f16", "to_bytes", "to_bytes"};
  return conversion(kernels[static_cast<int>(to)], p, to);
}
Launch launch_of(const PoolArguments& p, Storage storage) {
  const auto all = static_cast<long long>(p.batch) * p.out_height * p.out_width * p.channels;
  return chunks_for(name(storage, "pool_f", "pool_h"), all, p.channels, chunk_of(storage));
}
Launch launch_of(const GlobalAverageArguments& p, Storage storage) {
  const auto warps = std::clamp(up(up(p.pixels, p.splits), 8), 1LL, 16LL);
  return {name(storage, "global_average_f", "global_average_h"), count(up(p.channels, warp)), count(p.splits),
          count(p.batch), count(warp * warps)};
}
Launch launch_of(const ScaleShiftArguments& p, Storage storage) {
  return chunks_for(name(storage, "scale_shift_f", "scale_shift_h"), p.pixels * p.channels, p.channels,
                    chunk_of(storage));
}
Launch launch_of(const BinaryArguments& p, Storage storage) {
  return chunks_for(name(storage, "binary_f", "binary_h"), elements(p.y_view), last_extent(p.y_view),
                    chunk_of(storage));
}
Launch typed_launch(const BinaryArguments& p) { return blocks_for("binary_i", elements(p.y_view)); }
Launch launch_of(const MultiplyAddArguments& p, Storage storage) {
  return chunks_for(name(storage, "multiply_add_f", "multiply_add_h"), elements(p.y_view), last_extent(p.y_view),
                    chunk_of(storage));
}
Launch launch_of(const WhereArguments& p) { return blocks_for("select_elements", elements(p.y_view)); }
Launch launch_of(const CastArguments& p) { return blocks_for("cast_elements", elements(p.y_view)); }
Launch launch_of(const CopyArguments& p, Storage from, Storage to) {
  const auto all = elements(p.y_view);
  const bool floats = !holds_integers(from);
  if (is_transpose(p) && (floats || size_of(from) == 1 || size_of(from) == 4)) {
    const auto down = up(p.y_view.shape[p.y_view.rank - 2], tile), across = up(last_extent(p.y_view), tile);
    const auto planes = all / p.y_view.shape[p.y_view.rank - 2] / last_extent(p.y_view);
    const auto* kernel =
        floats ? name(from, name(to, "transpose_ff", "transpose_fh"), name(to, "transpose_hf", "transpose_hh"))
        : size_of(from) == 1 ? "transpose_bb"
                             : "transpose_ff";
    return {kernel, count(planes * down * across), 1, 1, 256};
  }
  const auto* kernel = floats ? name(from, name(to, "copy_ff", "copy_fh"), name(to, "copy_hf", "copy_hh"))
                              : name(from, {"copy_ff", "copy_hh", "copy_bb", "copy_ss", "copy_ww"});
  return chunks_for(kernel, all, last_extent(p.y_view), std::min(chunk_of(from), chunk_of(to)));
}
Launch launch_of(const RescaleArguments& p, Storage from, Storage to) {
  const auto* kernel = name(from, to,
                            {"rescale_ff", "rescale_fh", "rescale_fb", "rescale_hf", "rescale_hh", "rescale_hb",
                             "rescale_bf", "rescale_bh", "rescale_bb"});
  return chunks_for(kernel, elements(p.y_view), last_extent(p.y_view), std::min(chunk_of(from), chunk_of(to)));
}
Launch launch_of(const GatherConstantArguments& p, Storage storage) {
  return chunks_for(name(storage, {"gather_f", "gather_h", "gather_b", "gather_s", "gather_w"}), elements(p.y_view),
                    p.axis == p.y_view.rank - 1 ? 1 : last_extent(p.y_view), chunk_of(storage));
}
Launch launch_of(const PadArguments& p, Storage storage) {
  return chunks_for(name(storage, {"pad_f", "pad_h", "pad_b", "pad_s", "pad_w"}), elements(p.y_view),
                    last_extent(p.y_view), chunk_of(storage));
}
Launch launch_of(const ResizeArguments& p, Storage storage) {
  const auto all = static_cast<long long>(p.batch) * p.out_height * p.out_width * p.channels;
  return chunks_for(name(storage, "resize_f", "resize_h"), all, p.channels, chunk_of(storage));
}
Launch reduce_launch(const ReduceArguments& p, Storage storage) {
  if (p.kind >= ReduceArguments::first_minimum)
    return reduction(name(storage, "find_rows_f", "find_rows_h", "find_rows_i"),
                     name(storage, "find_columns_f", "find_columns_h", "find_columns_i"), p);
  return reduction(name(storage, "reduce_rows_f", "reduce_rows_h", "reduce_rows_i"),
                   name(storage, "reduce_columns_f", "reduce_columns_h", "reduce_columns_i"), p);
}
Launch softmax_launch(const ReduceArguments& p, Storage storage) {
  return reduction(name(storage, "softmax_rows_f", "softmax_rows_h"),
                   name(storage, "softmax_columns_f", "softmax_columns_h"), p);
}
Launch log_softmax_launch(const ReduceArguments& p, Storage storage) {
  return reduction(name(storage, "log_softmax_rows_f", "log_softmax_rows_h"),
                   name(storage, "log_softmax_columns_f", "log_softmax_columns_h"), p);
}
Launch launch_of(const LrnArguments& p, Storage storage) {
  return blocks_for(name(storage, "lrn_f", "lrn_h"), p.pixels * p.channels);
}
Launch launch_of(const GemmArguments& p, Storage storage) {
  if (holds_integers(storage)) return blocks_for("gemm_i", elements(p.y_batch) * p.m * p.n);
  return {name(storage, "gemm_generic_f", "gemm_generic_h"), count(up(p.m, tile)), count(up(p.n, tile)),
          count(std::min(elements(p.a_batch), static_cast<long long>(max_blocks))), static_cast<unsigned>(block)};
}
Launch launch_of(const LayerNormArguments& p, Storage storage) {
  const auto chunks = elements(p.reduced) / chunk_of(storage);
  return {name(storage, "normalise_f", "normalise_h"), count(elements(p.kept)), 1, 1,
          count(warp * std::clamp(chunks / (2 * warp), 1LL, 8LL))};
}
std::optional<LayerNormRowsArguments> whole_rows(const LayerNormArguments& p, Storage storage) {
  const int chunk = chunk_of(storage), chunks = last_extent(p.reduced) / chunk;
  constexpr int lanes = 32, few_chunks = normalise_chunks / 2; // preferred maximum number of chunks of a lane
  const auto row = [&](const View& kept, const View& reduced) {
    return kept.rank <= 1 && reduced.rank == 1 && last_stride(reduced) == 1 && last_stride(kept) % chunk == 0;
  };
  const auto same_row = [&](const View& kept, const View& reduced) {
    return row(kept, reduced) && last_stride(kept) == 0;
  };
  if (!row(p.kept, p.reduced) || !row(p.y_kept, p.y_reduced) || !row(p.residual_kept, p.residual_reduced) ||
      !same_row(p.scale_kept, p.scale_reduced) || !same_row(p.shift_kept, p.shift_reduced) ||
      last_extent(p.reduced) % chunk != 0 || chunks > lanes * normalise_chunks)
    return std::nullopt;
  LayerNormRowsArguments rows;
  rows.rows = last_extent(p.kept);
  rows.chunks = chunks;
  while (1 << rows.lane_bits < lanes && chunks > few_chunks << rows.lane_bits) ++rows.lane_bits;
  rows.x_stride = last_stride(p.kept);
  rows.residual_stride = last_stride(p.residual_kept);
  rows.y_stride = last_stride(p.y_kept);
  rows.epsilon = p.epsilon;
  rows.centred = p.centred;
  rows.activation = p.activation;
  return rows;
}
Launch launch_of(const LayerNormRowsArguments& p, Storage storage) {
  const auto threads = static_cast<long long>(p.rows) << p.lane_bits;
  // If there are few rows, blocks are smaller, so that the rows are spread over more multiprocessors.
  const auto of_block = threads >= many_blocks * block ? block : 2 * warp;
  return {name(storage, "normalise_rows_f", "normalise_rows_h"), count(up(threads, of_block)), 1, 1, count(of_block)};
}
Launch launch_of(const AttentionArguments& p, Storage storage) {
  return {name(storage, "attention_f", "attention_h"), count(p.m), count(elements(p.q_batch)), 1,
          static_cast<unsigned>(block)};
}
Launch launch_of(const GatherArguments& p, Storage storage) {
  return chunks_for(name(storage, {"take_f", "take_h", "take_b", "take_s", "take_w"}), elements(p.y_view),
                    last_extent(p.y_view), chunk_of(storage));
}
Launch launch_of(const ScatterArguments& p, Storage storage) {
  return blocks_for(name(storage, "put_f", "put_h", "put_i"), elements(p.x_view));
}
Launch launch_of(const CumSumArguments& p, Storage storage) {
  return blocks_for(name(storage, "running_sum_f", "running_sum_h", "running_sum_i"), elements(p.x_view));
}
Launch launch_of(const TopKArguments& p, Storage storage) {
  const bool fits = size_of(storage) <= 4; // the sort key of an element has at most 32 bits
  if (fits && p.count > top_most_kept && p.kept <= top_most_kept)
    return {name(storage, "top_selected_f", "top_selected_h", "top_selected_i"), 1, count(elements(p.x_view)), 1,
            top_most_kept};
  return {name(storage, "top_indices_f", "top_indices_h", "top_indices_i"), count(up(p.count, block)),
          count(elements(p.x_view)), 1, static_cast<unsigned>(block)};
}
Launch launch_of(const ResampleArguments& p, Storage storage) {
  return chunks_for(name(storage, "resample_f", "resample_h"), elements(p.y_view),
                    p.axis == p.y_view.rank - 1 ? 1 : last_extent(p.y_view), chunk_of(storage));
}
Launch launch_of(const GridSampleArguments& p, Storage storage) {
  return chunks_for(name(storage, "grid_sample_f", "grid_sample_h"), elements(p.y_view), last_extent(p.y_view),
                    chunk_of(storage));
}
Launch launch_of(const DeformableArguments& p, Storage storage) {
  return chunks_for(name(storage, "deformable_f", "deformable_h"),
                    static_cast<long long>(p.batch) * p.queries * p.channels * sampling_lanes, p.channels,
                    chunk_of(storage));
}
Launch launch_of(const RecurrentArguments& p, Storage storage) {
  constexpr long long max_warps = 16;
  return {name(storage, "recurrent_f", "recurrent_h"),
          count(p.batch),
          1,
          1,
          count(warp * std::clamp(static_cast<long long>(p.hidden), 1LL, max_warps)),
          count(4LL * p.hidden * static_cast<long long>(sizeof(float)))};
}
std::optional<int> lanes_of_stack(int max_inputs, int max_hidden) {
  constexpr int max_threads = 256, fewest_lanes = 4;
  int lanes = fewest_lanes;
  while (lanes * StackArguments::columns < std::max(max_inputs, max_hidden)) lanes *= 2;
  if (lanes > warp || max_hidden * lanes > max_threads) return std::nullopt;
  return lanes;
}
Launch stack_launch(StackArguments& p, int kind, Storage storage) {
  // The number of floats in 48 KiB of shared memory, the size that every device has.
  constexpr int floats = (48 << 10) / static_cast<int>(sizeof(float));
  const auto* kernel = kind == RecurrentArguments::lstm  ? name(storage, "fused_lstm_f", "fused_lstm_h")
                       : kind == RecurrentArguments::gru ? name(storage, "fused_gru_f", "fused_gru_h")
                                                         : name(storage, "fused_simple_f", "fused_simple_h");
  const int padded = StackArguments::columns * p.lanes;
  p.at_once = std::min(p.steps, floats / padded - 2);
  const auto threads = up(1LL * *std::max_element(p.hidden, p.hidden + p.layers) * p.lanes, warp) * warp;
  const auto shared = (2LL + p.at_once) * padded * static_cast<long long>(sizeof(float));
  return {kernel, count(p.batch), 1, count(p.layers), count(threads), count(shared), count(p.layers)};
}
std::optional<PersistentLaunch> persistent_launch(const RecurrentArguments& p, Storage storage) {
  const bool lstm = p.kind == RecurrentArguments::lstm, gru = p.kind == RecurrentArguments::gru;
  if (gru && !p.late_reset) return std::nullopt;
  const auto* kernel = lstm  ? name(storage, "persistent_lstm_f", "persistent_lstm_h")
                       : gru ? name(storage, "persistent_gru_f", "persistent_gru_h")
                             : name(storage, "persistent_simple_f", "persistent_simple_h");
  const long long columns = lstm || gru ? 16 : 64; // number of columns of the weights on each lane
  constexpr long long max_threads = 512, fewest_lanes = 4;
  long long lanes = fewest_lanes;
  while (lanes * columns < p.hidden) lanes *= 2;
  for (const long long blocks : {1, 2, 4, 8}) {
    const auto threads = up(up(p.hidden, blocks) * lanes, warp) * warp;
    if (threads > max_threads || lanes > warp) continue;
    const auto states = 2 * columns * lanes * static_cast<long long>(sizeof(float));
    return PersistentLaunch{{kernel, count(p.batch), 1, count(blocks), count(threads), count(states), count(blocks)},
                            static_cast<int>(lanes)};
  }
  return std::nullopt;
}
Launch clustered(const RecurrentArguments& p, Launch launch) {
  constexpr long long min_units = 8, max_clustered = 8;
  launch.grid_z = launch.cluster_z = count(std::clamp(p.hidden / min_units, 1LL, max_clustered));
  return launch;
}

bool is_depthwise(const ConvArguments& p) { return p.channels == 1; }
/// Returns a launch in which each thread computes several neighbouring pixels of a row. If that leaves too few threads,
/// each thread computes one pixel.
Launch depthwise_launch(const ConvArguments& p, Storage storage) {
  constexpr long long strip = 4, enough = 16 << 10;
  const bool pairs = p.out_channels == 1 && p.groups % 2 == 0;
  const auto items = [&](long long of) {
    return static_cast<long long>(p.batch) * p.out_height * up(p.out_width, of) * p.groups * p.out_channels /
           (pairs ? 2 : 1);
  };
  const bool shares = p.stride_w == 1 && p.dilation_w == 1 && p.out_width >= strip &&
                      (p.kernel_w == 3 || p.kernel_w == 5 || p.kernel_w == 7);
  if (shares && items(strip) >= enough)
    return blocks_for(name(storage, "depthwise_strips_f", "depthwise_strips_h"), items(strip));
  return blocks_for(name(storage, "depthwise_f", "depthwise_h"), items(1));
}
Launch conv_rows_launch(const ConvArguments& p, Storage storage) {
  const auto outputs = pixels_of(p) * p.groups * p.out_channels;
  return blocks_for(name(storage, "conv_rows_f", "conv_rows_h"), outputs * warp);
}
Launch conv_direct_launch(const ConvArguments& p, Storage storage) {
  return {name(storage, "conv_direct_f", "conv_direct_h"), count(up(pixels_of(p), tile)),
          count(up(p.out_channels, tile)), count(p.groups), static_cast<unsigned>(block)};
}
Launch integer_conv_launch(const ConvArguments& p) {
  return blocks_for("conv_i", pixels_of(p) * p.groups * p.out_channels);
}
Launch launch_of(const ConvArguments& p, Storage storage) {
  if (p.is_int8) return blocks_for("conv_bytes", pixels_of(p) * p.groups * p.out_channels);
  constexpr long long few_pixels = 8;
  if (is_depthwise(p)) return depthwise_launch(p, storage);
  if (pixels_of(p) <= few_pixels) return conv_rows_launch(p, storage);
  const auto launch = conv_direct_launch(p, storage);
  return launch.grid_y <= max_blocks && launch.grid_z <= max_blocks ? launch : conv_rows_launch(p, storage);
}

GlobalAverageSplits split(const GlobalAverageArguments& p) {
  constexpr long long fewest_pixels = 256; // minimum number of pixels in a split
  const auto blocks = up(p.channels, warp) * p.batch;
  const auto splits = std::clamp(std::min(many_blocks / blocks, p.pixels / fewest_pixels), 1LL, many_blocks);
  if (splits == 1) return {};
  return {static_cast<int>(splits), splits * p.batch * p.channels, blocks};
}

void simplify(BinaryArguments& p) {
  const auto dimensions =
      simplify(p.y_view, p.a_view, [&](Dimension& each, int d) { each.stride[1] = p.b_view.stride[d]; });
  put(p.b_view, dimensions, second_stride);
}

void simplify(RescaleArguments& p) {
  const auto dimensions =
      simplify(p.y_view, p.a_view, [&](Dimension& each, int d) { each.stride[1] = p.b_view.stride[d]; });
  put(p.b_view, dimensions, second_stride);
}

namespace {

template <class Arguments> void simplify_three(Arguments& p) {
  const auto dimensions = simplify(p.y_view, p.a_view, [&](Dimension& each, int d) {
    each.stride[1] = p.b_view.stride[d];
    each.stride[2] = p.c_view.stride[d];
  });
  put(p.b_view, dimensions, second_stride);
  put(p.c_view, dimensions, third_stride);
}

} // namespace

void simplify(MultiplyAddArguments& p) { simplify_three(p); }
void simplify(WhereArguments& p) { simplify_three(p); }
void simplify(CastArguments& p) { simplify(p.y_view, p.x_view, nothing_more); }

void simplify(CopyArguments& p) {
  auto dimensions = simplify(p.y_view, p.x_view, nothing_more);
  // Moves the dimension in which x has its smallest stride directly before the dimension in which y has its smallest
  // stride. The transpose kernels require this order.
  auto* const begin = dimensions.d;
  auto* const last = begin + std::max(dimensions.rank - 1, 0);
  auto* const fastest =
      std::find_if(begin, last, [](const Dimension& d) { return std::abs(d.stride[0]) == 1 && d.extent >= 8; });
  if (fastest != last && std::abs(last->stride[0]) > 1) std::rotate(fastest, fastest + 1, last);
  put(p.y_view, dimensions, y_stride);
  put(p.x_view, dimensions, first_stride);
}

void simplify(GatherConstantArguments& p) {
  const auto dimensions = simplify(p.y_view, p.x_view, [&](Dimension& each, int d) { each.apart = d == p.axis; });
  p.axis = apart_in(dimensions);
}

void simplify(PadArguments& p) {
  const auto dimensions = simplify(p.y_view, p.x_view, [&](Dimension& each, int d) {
    each.x_extent = p.x_view.shape[d];
    each.before = p.before[d];
  });
  for (int d = 0; d < dimensions.rank; ++d) {
    p.x_view.shape[d] = dimensions.d[d].x_extent;
    p.before[d] = dimensions.d[d].before;
  }
}

void simplify(ResampleArguments& p) {
  const auto dimensions = simplify(p.y_view, p.x_view, [&](Dimension& each, int d) { each.apart = d == p.axis; });
  p.axis = apart_in(dimensions);
}

void simplify(GatherArguments& p) {
  const auto dimensions =
      simplify(p.y_view, p.x_view, [&](Dimension& each, int d) { each.stride[1] = p.indices_view.stride[d]; });
  put(p.indices_view, dimensions, second_stride);
}

void simplify(LayerNormArguments& p) {
  const auto all = [](View& y, View& x, View& scale, View& shift, View& residual) {
    const auto dimensions = simplify(y, x, [&](Dimension& each, int d) {
      each.stride[1] = scale.stride[d];
      each.stride[2] = shift.stride[d];
      each.stride[3] = residual.stride[d];
    });
    put(scale, dimensions, second_stride);
    put(shift, dimensions, third_stride);
    put(residual, dimensions, fourth_stride);
  };
  all(p.y_kept, p.kept, p.scale_kept, p.shift_kept, p.residual_kept);
  all(p.y_reduced, p.reduced, p.scale_reduced, p.shift_reduced, p.residual_reduced);
}

void simplify(AttentionArguments& p) {
  const auto stride = [](const View& view, int d) { return view.rank > 0 ? view.stride[d] : 0; };
  const auto dimensions = simplify(p.y_batch, p.q_batch, [&](Dimension& each, int d) {
    each.stride[1] = stride(p.k_batch, d);
    each.stride[2] = stride(p.v_batch, d);
    each.stride[3] = stride(p.mask_batch, d);
  });
  put(p.k_batch, dimensions, second_stride);
  put(p.v_batch, dimensions, third_stride);
  put(p.mask_batch, dimensions, fourth_stride);
}

void simplify(ReduceArguments& p) {
  simplify(p.kept, p.y_kept, nothing_more);
  simplify(p.reduced, p.y_reduced, nothing_more);
}

} // namespace rtexec::tasks::cuda
