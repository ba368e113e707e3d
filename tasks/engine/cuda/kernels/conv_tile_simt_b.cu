#include "tasks/engine/cuda/kernels/conv_simt.cuh"
#include "tasks/engine/cuda/kernels/int8_output.cuh"

#define SIMT_VARIANTS VARIANTS(simt_b, Byte)
#include "tasks/engine/cuda/kernels/conv_variants.inc"
