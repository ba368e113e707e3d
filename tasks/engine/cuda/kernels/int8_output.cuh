// Converts the integer sums of an int8 convolution to its output.
#pragma once

#include "tasks/engine/cuda/kernels/conv_tile.cuh"
#include "tasks/engine/cuda/kernels/levels.cuh"

namespace rtexec::tasks::cuda {

/// The parameters of one output channel.
struct Int8Channel {
  int offset;
  float factor, bias;

  DEVICE Int8Channel() : offset(0), factor(0), bias(0) {}
  DEVICE Int8Channel(const ConvArguments& conv, int channel)
      : offset(conv.offsets ? conv.offsets[channel] : 0),
        factor(conv.factors ? conv.factors[channel] : 0.0F),
        bias(conv.bias ? conv.bias[channel] : 0.0F) {}

  /// Returns the output for a sum. `residual` is the value as it is stored. If y is of type s32, the result has the
  /// bits of the integer sum.
  DEVICE float finished(const ConvArguments& conv, int sum, float residual) const {
    if (conv.y_storage == Storage::s32) {
      const unsigned added = static_cast<unsigned>(offset) * static_cast<unsigned>(conv.zero ? *conv.zero : 1);
      return bits_float(static_cast<unsigned>(sum) + added);
    }
    const float added = conv.residual ? (residual - conv.residual_zero) * conv.residual_scale : 0.0F;
    const float value = cuda::finished(conv, static_cast<float>(sum + offset) * factor + bias, added);
    return is_bytes(conv.y_storage) ? to_level(value, conv.levels) : value;
  }
};

/// Stores a tile of an int8 convolution, four columns of a pixel at a time.
template <class Shape> struct ConvOutput<Shape, true> {
  static_assert(Shape::threads % StagedTile<Shape>::quads_across == 0);

  const ConvArguments& conv;
  int first_pixel, pixels;
  int channel;      // first of the four channels of this thread
  int columns_left; // number of columns of the group, counted from this thread's first column
  bool at_a_time;   // true: one access stores each quad, and one access loads its residual
  Int8Channel channels[4];

  DEVICE ConvOutput(const ConvArguments& arguments, int group, int tile_pixel, int tile_column)
      : conv(arguments), first_pixel(tile_pixel), pixels(arguments.batch * arguments.out_height * arguments.out_width) {
    const int column = tile_column + thread_index() % StagedTile<Shape>::quads_across * 4;
    channel = group * conv.out_channels + column;
    columns_left = conv.out_channels - column;
    const unsigned strides =
        static_cast<unsigned>(conv.y_stride | conv.out_channels | (conv.residual ? conv.residual_stride : 0));
    at_a_time = strides % 4 == 0 && aligned(conv.y) && aligned(conv.residual);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (i < columns_left) channels[i] = Int8Channel(conv, channel + i);
  }

  /// Stores the quads (four adjacent columns of a pixel) that this thread handles. The numbers of these quads are
  /// `first` + the thread's index, and then every `stride`-th number. sum_of(sum, quad) must write the sums of a quad
  /// to `sum`: integers, stored in the bits of floats.
  template <class SumOf> DEVICE void store(int first, int stride, SumOf sum_of) const {
    if (columns_left <= 0) return;
#pragma unroll 1
    for (int quad = first + thread_index(); inside(quad); quad += stride) {
      float sum[4];
      sum_of(sum, quad);
      if (at_a_time) finish(quad, sum);
      else finish_apart(quad, sum);
    }
  }

 private:
  DEVICE int pixel_of(int quad) const { return first_pixel + quad / StagedTile<Shape>::quads_across; }
  DEVICE bool inside(int quad) const { return quad < StagedTile<Shape>::quads && pixel_of(quad) < pixels; }
  DEVICE long long offset(int quad, int stride) const {
    return static_cast<long long>(pixel_of(quad)) * stride + channel;
  }
  DEVICE float finished(int i, float sum, float residual) const {
    return channels[i].finished(conv, static_cast<int>(float_bits(sum)), residual);
  }

  DEVICE void finish(int quad, const float (&sum)[4]) const {
    float residual[4] = {}, result[4];
    if (conv.residual) load_stored(residual, conv.residual, offset(quad, conv.residual_stride), conv.residual_storage);
#pragma unroll
    for (int i = 0; i < 4; ++i) result[i] = finished(i, sum[i], residual[i]);
    store_stored(conv.y, offset(quad, conv.y_stride), conv.y_storage, result);
  }

  DEVICE void finish_apart(int quad, const float (&sum)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i >= columns_left) continue;
      const float residual =
          conv.residual ? load_stored(conv.residual, offset(quad, conv.residual_stride) + i, conv.residual_storage)
                        : 0.0F;
      store_stored(conv.y, offset(quad, conv.y_stride) + i, conv.y_storage, finished(i, sum[i], residual));
    }
  }
};

} // namespace rtexec::tasks::cuda
