// How blocks share out a depthwise convolution: the host, which launches them, and the device must agree. Plain C++17.
#pragma once

#include "tasks/dnn/cuda/kernels/arguments.hpp"

#ifdef DEVICE
#define ON_BOTH_SIDES DEVICE
#else
#define ON_BOTH_SIDES inline
#endif

namespace rtexec::tasks::cuda {

constexpr int depthwise_threads = 256;
constexpr int depthwise_most_shared = 32 << 10; // bytes of weights, as floats

/// A block's threads are lanes x pixels; each lane has `count` neighbouring channels of y.
struct DepthwiseShape {
  int count, lanes;
  int channels; // of y, of one block
  int shared;   // bytes; 0: the weights do not fit and are read where they are
};

ON_BOTH_SIDES DepthwiseShape depthwise_shape(const ConvArguments& p, int chunk) {
  DepthwiseShape shape{};
  const int all = p.groups * p.out_channels;
  shape.count = p.out_channels == 1 && all % chunk == 0 ? chunk : 1;
  shape.lanes = all / shape.count < 32 ? all / shape.count : 32;
  shape.channels = shape.lanes * shape.count;
  const long long bytes = 4LL * p.kernel_h * p.kernel_w * shape.channels;
  shape.shared = bytes <= depthwise_most_shared ? static_cast<int>(bytes) : 0;
  return shape;
}

} // namespace rtexec::tasks::cuda
