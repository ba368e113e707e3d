#include "tasks/engine/cuda/kernels/conv_matrix.cuh"

#define MATRIX_VARIANTS VARIANTS(tf32x3, float, Tf32x3Product)
#include "tasks/engine/cuda/kernels/conv_variants.inc"
