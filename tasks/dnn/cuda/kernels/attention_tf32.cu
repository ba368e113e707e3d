#include "tasks/dnn/cuda/kernels/attention.cuh"

ATTENTIONS(tf32, AttentionTf32)
