#include "tasks/dnn/cuda/kernels/attention.cuh"

ATTENTIONS(half, AttentionHalf)
