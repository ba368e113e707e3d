// Helper functions of all kernels for recurrent layers: access to the input's part of the gates, and the order of
// steps.
#pragma once

#include "tasks/engine/cuda/kernels/activation.cuh"
#include "tasks/engine/cuda/kernels/cluster.cuh"
#include "tasks/engine/cuda/kernels/half.cuh"

namespace rtexec::tasks::cuda {

DEVICE int gates_of(const RecurrentArguments& p) {
  return p.kind == RecurrentArguments::lstm ? 4 : p.kind == RecurrentArguments::gru ? 3 : 1;
}

/// Returns the step of the sequence that the kernel computes in iteration i.
DEVICE int step_of(const RecurrentArguments& p, int i) { return p.reverse ? p.steps - 1 - i : i; }

/// Returns the address of the input's part of the gates, [gates, hidden], for one step and one element of the batch.
template <class Scalar> DEVICE const Scalar* given(const RecurrentArguments& p, int gates, int step, int batch) {
  const long long width = static_cast<long long>(gates) * p.hidden;
  return static_cast<const Scalar*>(p.gates) + (static_cast<long long>(step) * p.batch + batch) * width;
}

/// Returns the argument x of an activation, clipped if the layer clips.
DEVICE float clipped(const RecurrentArguments& p, float x) {
  if (p.clips) x = at_most(at_least(x, -p.clip), p.clip);
  return x;
}

} // namespace rtexec::tasks::cuda
