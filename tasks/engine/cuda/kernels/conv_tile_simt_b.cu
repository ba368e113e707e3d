#include "tasks/engine/cuda/kernels/conv_simt.cuh"
#include "tasks/engine/cuda/kernels/conv_whole.cuh"

#define SIMT_VARIANTS VARIANTS(simt_b, Byte)
#include "tasks/engine/cuda/kernels/conv_variants.inc"
