#include "tasks/engine/cuda/kernels/conv_matrix.cuh"

#define MATRIX_VARIANTS VARIANTS(tf32, float, Tf32Product)
#include "tasks/engine/cuda/kernels/conv_variants.inc"
