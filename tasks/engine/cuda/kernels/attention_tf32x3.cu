#include "tasks/engine/cuda/kernels/attention.cuh"

ATTENTIONS(tf32x3, AttentionTf32x3)
