// The CUDA core kernels of conv_variants.inc.
#pragma once

#include "tasks/engine/cuda/kernels/conv_tile.cuh"

#define SIMT(math, storage, rows, columns, own_rows, own_columns, stages)                             \
  namespace rtexec::tasks::cuda {                                                                     \
  KERNEL(conv_##math##_##rows##x##columns, rows / own_rows * columns / own_columns, ConvArguments) {  \
    using Shape = ConvShape<storage, rows, columns, rows / own_rows * columns / own_columns, stages>; \
    conv_tile<Shape, SimtSums<Shape, own_rows, own_columns>>(arguments);                              \
  }                                                                                                   \
  }
