#include "tasks/dnn/cuda/kernels/conv_matrix.cuh"

#define MATRIX_VARIANTS VARIANTS(half, Half, HalfProduct)
#include "tasks/dnn/cuda/kernels/conv_variants.inc"
