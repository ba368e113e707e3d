#include "tasks/engine/cuda/kernels/conv_simt.cuh"

#define SIMT_VARIANTS VARIANTS(simt_f, float)
#include "tasks/engine/cuda/kernels/conv_variants.inc"
