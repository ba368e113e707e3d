#include "tasks/dnn/cuda/kernels/conv_simt.cuh"

#define SIMT_VARIANTS VARIANTS(simt_f, float)
#include "tasks/dnn/cuda/kernels/conv_variants.inc"
