#include "tasks/engine/cuda/kernels/attention.cuh"

ATTENTIONS(half, AttentionHalf)
