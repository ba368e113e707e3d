#include "tasks/engine/cuda/kernels/attention.cuh"

ATTENTIONS(tf32, AttentionTf32)
