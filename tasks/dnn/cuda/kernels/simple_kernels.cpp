#include "tasks/dnn/cuda/kernels/simple_kernels.hpp"

#include "tasks/dnn/cuda/kernels/depthwise.cuh"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace rtexec::tasks::cuda {
namespace {

constexpr long long block = 128; // threads of the kernels that work element by element
constexpr long long warp = 32;
constexpr long long tile = 32;         // of transpose and of the products in product.cu
constexpr long long many_blocks = 264; // two for each multiprocessor of a large device

long long up(long long value, long long unit) { return (value + unit - 1) / unit; }
unsigned count(long long value) { return static_cast<unsigned>(std::max(value, 1LL)); }
const char* name(Storage storage, const char* f, const char* h) { return storage == Storage::f32 ? f : h; }
int chunk_of(Storage storage) { return storage == Storage::f32 ? 4 : storage == Storage::f16 ? 8 : 16; }
/// One of nine kernels: from floats, halves and bytes to each of them.
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

/// One thread for each chunk of the last dimension, or for each element where it has no whole chunks.
Launch chunks_for(const char* kernel, long long all, int fastest, int chunk) {
  return blocks_for(kernel, fastest % chunk == 0 ? all / chunk : all);
}

/// Each block asks the host for a linked address, so that there are not too many.
Launch conversion(const char* kernel, const ConvertArguments& p) {
  Launch launch = blocks_for(kernel, up(p.count, 4));
  if (p.linked != nullptr) launch.grid_x = std::min(launch.grid_x, count(many_blocks));
  return launch;
}

bool is_transpose(const CopyArguments& p) {
  const int last = p.y_view.rank - 1;
  return last > 0 && std::abs(p.x_view.stride[last]) > 1 && std::abs(p.x_view.stride[last - 1]) == 1 &&
         p.y_view.shape[last] >= 8 && p.y_view.shape[last - 1] >= 8;
}

/// Neighbours in memory are kept, not reduced.
bool by_columns(const ReduceArguments& p) {
  return last_stride(p.kept) == 1 && last_stride(p.reduced) != 1 && last_extent(p.kept) >= 4;
}

Launch reduction(const char* rows, const char* columns, const ReduceArguments& p) {
  const auto kept = elements(p.kept), reduced = elements(p.reduced);
  if (by_columns(p)) return {columns, count(up(kept, warp)), 1, 1, count(warp * std::min(reduced, 8LL))};
  return {rows, count(kept), 1, 1, count(warp * std::clamp(up(reduced, 2 * warp), 1LL, 8LL))};
}

long long pixels_of(const ConvArguments& p) { return static_cast<long long>(p.batch) * p.out_height * p.out_width; }

/// One dimension as all operands see it.
struct Dimension {
  int extent = 1;
  long long stride[4] = {}; // of the operands that are read
  long long y_stride = 0;
  int x_extent = 1, before = 0; // of a padded operand
  bool apart = false;           // must stay as it is
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

/// Simplifies both views; `more` says what else there is to know of each dimension.
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
Launch take_in_launch(const ConvertArguments& p, Outside from) {
  constexpr const char* kernels[] = {"from_f32", "from_f16", "from_u8", "from_s32", "from_s64", "from_s8"};
  return conversion(kernels[static_cast<int>(from)], p);
}
Launch give_out_launch(const ConvertArguments& p, Outside to) {
  constexpr const char* kernels[] = {"to_f32", "to_f16", "to_u8", "to_s32", "to_s64", "to_s8"};
  return conversion(kernels[static_cast<int>(to)], p);
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
Launch launch_of(const SelectArguments& p, Storage storage) {
  return chunks_for(name(storage, "select_f", "select_h"), elements(p.y_view), last_extent(p.y_view),
                    chunk_of(storage));
}
Launch launch_of(const CopyArguments& p, Storage from, Storage to) {
  const auto all = elements(p.y_view);
  if (is_transpose(p)) {
    const auto down = up(p.y_view.shape[p.y_view.rank - 2], tile), across = up(last_extent(p.y_view), tile);
    const auto planes = all / p.y_view.shape[p.y_view.rank - 2] / last_extent(p.y_view);
    const auto* kernel = name(from, to,
                              {"transpose_ff", "transpose_fh", "transpose_fb", "transpose_hf", "transpose_hh",
                               "transpose_hb", "transpose_bf", "transpose_bh", "transpose_bb"});
    return {kernel, count(planes * down * across), 1, 1, 256};
  }
  const auto* kernel = name(
      from, to, {"copy_ff", "copy_fh", "copy_fb", "copy_hf", "copy_hh", "copy_hb", "copy_bf", "copy_bh", "copy_bb"});
  return chunks_for(kernel, all, last_extent(p.y_view), std::min(chunk_of(from), chunk_of(to)));
}
Launch launch_of(const RescaleArguments& p, Storage from, Storage to) {
  const auto* kernel = name(from, to,
                            {"rescale_ff", "rescale_fh", "rescale_fb", "rescale_hf", "rescale_hh", "rescale_hb",
                             "rescale_bf", "rescale_bh", "rescale_bb"});
  return chunks_for(kernel, elements(p.y_view), last_extent(p.y_view), std::min(chunk_of(from), chunk_of(to)));
}
Launch launch_of(const GatherArguments& p, Storage storage) {
  return chunks_for(name(storage, "gather_f", "gather_h"), elements(p.y_view),
                    p.axis == p.y_view.rank - 1 ? 1 : last_extent(p.y_view), chunk_of(storage));
}
Launch launch_of(const PadArguments& p, Storage storage) {
  return chunks_for(name(storage, "pad_f", "pad_h"), elements(p.y_view), last_extent(p.y_view), chunk_of(storage));
}
Launch launch_of(const ResizeArguments& p, Storage storage) {
  const auto all = static_cast<long long>(p.batch) * p.out_height * p.out_width * p.channels;
  return chunks_for(name(storage, "resize_f", "resize_h"), all, p.channels, chunk_of(storage));
}
Launch reduce_launch(const ReduceArguments& p, Storage storage) {
  if (p.kind >= ReduceArguments::first_minimum)
    return reduction(name(storage, "find_rows_f", "find_rows_h"), name(storage, "find_columns_f", "find_columns_h"), p);
  return reduction(name(storage, "reduce_rows_f", "reduce_rows_h"),
                   name(storage, "reduce_columns_f", "reduce_columns_h"), p);
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
  return {name(storage, "gemm_generic_f", "gemm_generic_h"), count(up(p.m, tile)), count(up(p.n, tile)),
          count(std::min(elements(p.a_batch), static_cast<long long>(most_blocks))), static_cast<unsigned>(block)};
}
Launch launch_of(const NormaliseArguments& p, Storage storage) {
  const auto chunks = elements(p.reduced) / chunk_of(storage);
  return {name(storage, "normalise_f", "normalise_h"), count(elements(p.kept)), 1, 1,
          count(warp * std::clamp(chunks / (2 * warp), 1LL, 8LL))};
}
Launch launch_of(const AttentionArguments& p, Storage storage) {
  return {name(storage, "attention_f", "attention_h"), count(p.m), count(elements(p.q_batch)), 1,
          static_cast<unsigned>(block)};
}
Launch launch_of(const TakeArguments& p, Storage storage) {
  return chunks_for(name(storage, "take_f", "take_h"), elements(p.y_view), last_extent(p.y_view), chunk_of(storage));
}
Launch launch_of(const PutArguments& p, Storage storage) {
  return blocks_for(name(storage, "put_f", "put_h"), elements(p.x_view));
}
Launch launch_of(const RunningSumArguments& p, Storage storage) {
  return blocks_for(name(storage, "running_sum_f", "running_sum_h"), elements(p.x_view));
}
Launch launch_of(const TopIndicesArguments& p, Storage storage) {
  if (p.count > top_most_kept && p.kept <= top_most_kept)
    return {name(storage, "top_selected_f", "top_selected_h"), 1, count(elements(p.x_view)), 1, top_most_kept};
  return {name(storage, "top_indices_f", "top_indices_h"), count(up(p.count, block)), count(elements(p.x_view)), 1,
          static_cast<unsigned>(block)};
}
Launch launch_of(const ResampleArguments& p, Storage storage) {
  return chunks_for(name(storage, "resample_f", "resample_h"), elements(p.y_view),
                    p.axis == p.y_view.rank - 1 ? 1 : last_extent(p.y_view), chunk_of(storage));
}
Launch launch_of(const GridSampleArguments& p, Storage storage) {
  const auto all = static_cast<long long>(p.batch) * p.out_height * p.out_width * p.channels;
  return chunks_for(name(storage, "grid_sample_f", "grid_sample_h"), all, p.channels, chunk_of(storage));
}
Launch launch_of(const RecurrentArguments& p, Storage storage) {
  constexpr long long most_warps = 16;
  return {name(storage, "recurrent_f", "recurrent_h"),
          count(p.batch),
          1,
          1,
          count(warp * std::clamp(static_cast<long long>(p.hidden), 1LL, most_warps)),
          count(4LL * p.hidden * static_cast<long long>(sizeof(float)))};
}
std::optional<ResidentLaunch> resident_launch(const RecurrentArguments& p, Storage storage) {
  if (p.kind == RecurrentArguments::gru && !p.late_reset) return std::nullopt;
  const long long rows_of_unit = p.kind == RecurrentArguments::lstm ? 4 : p.kind == RecurrentArguments::gru ? 3 : 1;
  const char* const kernels[] = {name(storage, "resident_f_16", "resident_h_16"),
                                 name(storage, "resident_f_32", "resident_h_32"),
                                 name(storage, "resident_f_64", "resident_h_64")};
  for (const long long blocks : {1, 2, 4, 8})
    for (const long long own : {64, 32, 16}) { // fewer threads finish a step sooner
      const long long most_threads = own == 64 ? 512 : 1024;
      const long long units = up(p.hidden, blocks);
      long long lanes = 1;
      while (lanes * own < p.hidden) lanes *= 2;
      const long long threads = up(units * rows_of_unit * lanes, warp) * warp;
      if (threads > most_threads || lanes > warp) continue;
      const auto floats = 2 * own * lanes + rows_of_unit * units;
      return ResidentLaunch{{kernels[own == 16   ? 0
                                     : own == 32 ? 1
                                                 : 2],
                             count(p.batch), 1, count(blocks), count(threads),
                             count(floats * static_cast<long long>(sizeof(float))), count(blocks)},
                            static_cast<int>(lanes)};
    }
  return std::nullopt;
}
Launch clustered(const RecurrentArguments& p, Launch launch) {
  constexpr long long least_units = 8, most_clustered = 8;
  launch.grid_z = launch.cluster_z = count(std::clamp(p.hidden / least_units, 1LL, most_clustered));
  return launch;
}

bool is_depthwise(const ConvArguments& p) { return p.channels == 1; }
Launch depthwise_launch(const ConvArguments& p, Storage storage) {
  const auto shape = depthwise_shape(p, chunk_of(storage));
  const auto slices = up(static_cast<long long>(p.groups) * p.out_channels, shape.channels);
  const auto blocks = up(pixels_of(p), depthwise_threads / shape.lanes); // of one pixel for each thread
  // Pixels for each thread, where there are many
  const auto most = std::clamp(blocks * slices / (4 * many_blocks), 1LL, 8LL);
  return {name(storage, "depthwise_f", "depthwise_h"), count(up(blocks, most)), count(slices), 1, depthwise_threads,
          static_cast<unsigned>(shape.shared)};
}
Launch conv_rows_launch(const ConvArguments& p, Storage storage) {
  const auto outputs = pixels_of(p) * p.groups * p.out_channels;
  return blocks_for(name(storage, "conv_rows_f", "conv_rows_h"), outputs * warp);
}
Launch conv_direct_launch(const ConvArguments& p, Storage storage) {
  return {name(storage, "conv_direct_f", "conv_direct_h"), count(up(pixels_of(p), tile)),
          count(up(p.out_channels, tile)), count(p.groups), static_cast<unsigned>(block)};
}
Launch launch_of(const ConvArguments& p, Storage storage) {
  if (p.whole) return blocks_for("conv_bytes", pixels_of(p) * p.groups * p.out_channels);
  constexpr long long few_pixels = 8;
  if (pixels_of(p) <= few_pixels && !is_depthwise(p)) return conv_rows_launch(p, storage);
  const auto launch = is_depthwise(p) ? depthwise_launch(p, storage) : conv_direct_launch(p, storage);
  return launch.grid_y <= most_blocks && launch.grid_z <= most_blocks ? launch : conv_rows_launch(p, storage);
}

GlobalAverageSplits split(const GlobalAverageArguments& p) {
  constexpr long long fewest_pixels = 256; // of a split
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

void simplify(SelectArguments& p) {
  const auto dimensions = simplify(p.y_view, p.condition_view, [&](Dimension& each, int d) {
    each.stride[1] = p.a_view.stride[d];
    each.stride[2] = p.b_view.stride[d];
  });
  put(p.a_view, dimensions, second_stride);
  put(p.b_view, dimensions, third_stride);
}

void simplify(CopyArguments& p) {
  auto dimensions = simplify(p.y_view, p.x_view, nothing_more);
  // x's fastest dimension comes before y's, as transpose wants it.
  auto* const begin = dimensions.d;
  auto* const last = begin + std::max(dimensions.rank - 1, 0);
  auto* const fastest =
      std::find_if(begin, last, [](const Dimension& d) { return std::abs(d.stride[0]) == 1 && d.extent >= 8; });
  if (fastest != last && std::abs(last->stride[0]) > 1) std::rotate(fastest, fastest + 1, last);
  put(p.y_view, dimensions, y_stride);
  put(p.x_view, dimensions, first_stride);
}

void simplify(GatherArguments& p) {
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

void simplify(TakeArguments& p) {
  const auto dimensions =
      simplify(p.y_view, p.x_view, [&](Dimension& each, int d) { each.stride[1] = p.indices_view.stride[d]; });
  put(p.indices_view, dimensions, second_stride);
}

void simplify(NormaliseArguments& p) {
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

void simplify(ReduceArguments& p) {
  simplify(p.kept, p.y_kept, nothing_more);
  simplify(p.reduced, p.y_reduced, nothing_more);
}

} // namespace rtexec::tasks::cuda
