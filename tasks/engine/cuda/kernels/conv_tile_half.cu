#include "tasks/engine/cuda/kernels/conv_matrix.cuh"

#define MATRIX_VARIANTS VARIANTS(half, Half, HalfProduct)
#include "tasks/engine/cuda/kernels/conv_variants.inc"
