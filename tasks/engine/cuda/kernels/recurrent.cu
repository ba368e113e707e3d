// Recurrent layers, with one launch for the whole sequence. Each block has the whole state in shared memory, and
// computes a share of the hidden units. Each warp computes one unit at a time, and its lanes divide the terms of the
// sums among them. The blocks of a cluster send their results to each other.
#include "tasks/engine/cuda/kernels/recurrent.cuh"

namespace rtexec::tasks::cuda {
namespace {

/// Stores `value` at the address of `to` in the shared memory of every block of the cluster. All lanes of one warp must
/// call it.
DEVICE void tell_all(float* to, float value) {
  const int lane = thread_index() % 32;
#if defined(RTEXEC_CLUSTERS)
  if (blocks_z() > 1) {
    if (lane < blocks_z()) store_to_cluster(in_block_of_cluster(shared_address(to), lane), value);
    return;
  }
#endif
  if (lane == 0) *to = value;
}

template <class Scalar> struct Sequence {
  const RecurrentArguments& p;
  int batch, first, last; // element of the batch; the units of this block are [first, last)
  float* states;          // two vectors [hidden]: the current state and the next state
  float* reset;           // gru: [hidden]
  float* own;             // for each unit of this block: cell of an lstm, or update gate of a gru

  DEVICE explicit Sequence(const RecurrentArguments& arguments) : p(arguments), batch(block_x()) {
    const int units = (p.hidden + blocks_z() - 1) / blocks_z();
    first = block_z() * units;
    last = first + units < p.hidden ? first + units : p.hidden;
    states = reinterpret_cast<float*>(dynamic_shared());
    reset = states + 2 * p.hidden;
    own = reset + (p.kind == RecurrentArguments::gru ? p.hidden : 0);
  }

  DEVICE static int lane() { return thread_index() % 32; }
  template <class F> DEVICE void each_unit(F f) const {
    for (int unit = first + thread_index() / 32; unit < last; unit += block_threads() / 32) f(unit);
  }

  /// Adds this lane's part of dot products to `sums`. sums[g] is the product of the state and row `first_gate + g` of
  /// this unit's weights.
  template <int count, int chunk>
  DEVICE void multiply_chunks(float (&sums)[count], int first_gate, int unit, const float* state) const {
    const Scalar* weights =
        static_cast<const Scalar*>(p.weights) + (static_cast<long long>(first_gate) * p.hidden + unit) * p.hidden;
    const long long gate = static_cast<long long>(p.hidden) * p.hidden;
#pragma unroll 2
    for (int k = lane() * chunk; k < p.hidden; k += 32 * chunk) {
      Elements<Scalar, chunk> w[count];
#pragma unroll
      for (int g = 0; g < count; ++g) w[g].load(weights + g * gate + k);
#pragma unroll
      for (int i = 0; i < chunk; ++i) {
        const float x = state[k + i];
#pragma unroll
        for (int g = 0; g < count; ++g) sums[g] = multiply_add(w[g].values[i], x, sums[g]);
      }
    }
  }
  template <int count> DEVICE void multiply(float (&sums)[count], int first_gate, int unit, const float* state) const {
    constexpr int chunk = chunk_elements<Scalar>;
#pragma unroll
    for (int g = 0; g < count; ++g) sums[g] = 0;
    if (p.hidden % chunk == 0 && aligned(p.weights)) multiply_chunks<count, chunk>(sums, first_gate, unit, state);
    else multiply_chunks<count, 1>(sums, first_gate, unit, state);
#pragma unroll
    for (int g = 0; g < count; ++g)
      for (int mask = 16; mask > 0; mask /= 2) sums[g] += exchange(sums[g], mask);
  }

  DEVICE float function(int which, float x) const { return activated_quickly(clipped(p, x), p.activations[which]); }
  DEVICE float given(const Scalar* gates, int gate, int unit) const {
    return to_float(gates[static_cast<long long>(gate) * p.hidden + unit]);
  }
  DEVICE float peephole(int gate, int unit) const {
    return p.peepholes ? to_float(static_cast<const Scalar*>(p.peepholes)[gate * p.hidden + unit]) : 0.0F;
  }
  DEVICE void leave(Scalar* y, float* next, int unit, float value) const {
    value = to_float(from_float<Scalar>(value)); // rounded as in y, because later layers read y
    if (lane() == 0) y[unit] = from_float<Scalar>(value);
    tell_all(next + unit, value);
  }

  DEVICE void lstm(const Scalar* gates, const float* state, float* next, Scalar* y) const {
    each_unit([&](int unit) {
      float cell = own[unit - first]; // read before lane 0 writes the next cell: multiply() synchronises the lanes
      float sums[4];                  // gates: input, output, forget, cell
      multiply(sums, 0, unit, state);
      const float in = function(0, sums[0] + given(gates, 0, unit) + peephole(0, unit) * cell);
      const float forget = function(0, sums[2] + given(gates, 2, unit) + peephole(2, unit) * cell);
      cell = cell * forget + in * function(1, sums[3] + given(gates, 3, unit));
      const float out = function(0, sums[1] + given(gates, 1, unit) + peephole(1, unit) * cell);
      if (lane() == 0) own[unit - first] = cell;
      leave(y, next, unit, out * activated_quickly(cell, p.activations[2]));
    });
    meet();
  }

  DEVICE void simple(const Scalar* gates, const float* state, float* next, Scalar* y) const {
    each_unit([&](int unit) {
      float sums[1];
      multiply(sums, 0, unit, state);
      leave(y, next, unit, function(0, sums[0] + given(gates, 0, unit)));
    });
    meet();
  }

  DEVICE void gru(const Scalar* gates, const float* state, float* next, Scalar* y) const {
    if (p.late_reset) {
      each_unit([&](int unit) {
        float sums[3]; // gates: update, reset, hidden
        multiply(sums, 0, unit, state);
        const float update = function(0, sums[0] + given(gates, 0, unit));
        const float gate = function(0, sums[1] + given(gates, 1, unit));
        const float bias = p.bias ? to_float(static_cast<const Scalar*>(p.bias)[unit]) : 0.0F;
        const float candidate = function(1, (sums[2] + bias) * gate + given(gates, 2, unit));
        leave(y, next, unit, candidate + update * (state[unit] - candidate));
      });
    } else {
      each_unit([&](int unit) {
        float sums[2];
        multiply(sums, 0, unit, state);
        if (lane() == 0) own[unit - first] = function(0, sums[0] + given(gates, 0, unit));
        tell_all(reset + unit, state[unit] * function(0, sums[1] + given(gates, 1, unit)));
      });
      meet();
      each_unit([&](int unit) {
        float sums[1];
        multiply(sums, 2, unit, reset);
        const float candidate = function(1, sums[0] + given(gates, 2, unit));
        leave(y, next, unit, candidate + own[unit - first] * (state[unit] - candidate));
      });
    }
    meet();
  }

  DEVICE void run() const {
    const int of_all = gates_of(p);
    const long long size = static_cast<long long>(p.batch) * p.hidden,
                    offset = static_cast<long long>(batch) * p.hidden;
    for (int i = thread_index(); i < p.hidden; i += block_threads())
      states[i] = to_float(static_cast<const Scalar*>(p.state)[offset + i]);
    if (p.kind == RecurrentArguments::lstm)
      for (int unit = first + thread_index(); unit < last; unit += block_threads())
        own[unit - first] = to_float(static_cast<const Scalar*>(p.cell)[offset + unit]);
    meet();
    for (int i = 0; i < p.steps; ++i) {
      const int step = step_of(p, i);
      const Scalar* gates = cuda::given<Scalar>(p, of_all, step, batch);
      Scalar* y = static_cast<Scalar*>(p.y) + step * size + offset;
      const float* state = states + i % 2 * p.hidden;
      float* next = states + (i + 1) % 2 * p.hidden;
      if (p.kind == RecurrentArguments::lstm) lstm(gates, state, next, y);
      else if (p.kind == RecurrentArguments::gru) gru(gates, state, next, y);
      else simple(gates, state, next, y);
    }
    if (p.kind == RecurrentArguments::lstm)
      for (int unit = first + thread_index(); unit < last; unit += block_threads())
        static_cast<Scalar*>(p.y)[p.steps * size + offset + unit] = from_float<Scalar>(own[unit - first]);
  }
};

template <class Scalar> DEVICE void recurrent(const RecurrentArguments& p) {
  let_next_start();
  wait_for_previous();
  Sequence<Scalar>(p).run();
}

} // namespace

KERNEL(recurrent_f, 512, RecurrentArguments) { recurrent<float>(arguments); }
KERNEL(recurrent_h, 512, RecurrentArguments) { recurrent<Half>(arguments); }

} // namespace rtexec::tasks::cuda
