#include "tasks/engine/cuda/kernels/conv_simt.cuh"

#define SIMT_VARIANTS VARIANTS(simt_h, Half)
#include "tasks/engine/cuda/kernels/conv_variants.inc"
