#include "tasks/engine/cuda/kernels/conv_matrix.cuh"
#include "tasks/engine/cuda/kernels/int8_output.cuh"

#define MATRIX_VARIANTS VARIANTS(int8, Byte, ByteProduct)
#include "tasks/engine/cuda/kernels/conv_variants.inc"
