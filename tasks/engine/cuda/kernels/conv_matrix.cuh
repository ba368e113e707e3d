// The Tensor Core kernels of conv_variants.inc. On architectures whose Tensor Cores cannot execute these kernels, this
// file is empty.
#pragma once

#include "tasks/engine/cuda/kernels/conv_tile.cuh"

#if defined(RTEXEC_MATRIX_UNITS)
#define MATRIX(math, storage, product, rows, columns, down, across, stages)                        \
  namespace rtexec::tasks::cuda {                                                                  \
  KERNEL(conv_##math##_##rows##x##columns##_##down##x##across, down* across * 32, ConvArguments) { \
    using Shape = ConvShape<storage, rows, columns, down * across * 32, stages>;                   \
    conv_tile<Shape, MatrixSums<Shape, down, across, product>>(arguments);                         \
  }                                                                                                \
  }
#else
#define MATRIX(math, storage, product, rows, columns, down, across, stages)                         \
  namespace rtexec::tasks::cuda {                                                                   \
  KERNEL(conv_##math##_##rows##x##columns##_##down##x##across, down* across * 32, ConvArguments) {} \
  }
#endif
