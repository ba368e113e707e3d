// Recurrent layers whose weights stay in registers for the whole sequence: a row of the weights belongs to some lanes,
// each of which has a share of its columns. What gates take is summed by these lanes, and one thread for each hidden
// unit makes the next state of it. Blocks of a cluster share the hidden units, and give one another what they computed.
#include "tasks/dnn/cuda/kernels/recurrent.cuh"

namespace rtexec::tasks::cuda {
namespace {

DEVICE void tell_all(float* to, float value) {
#if defined(RTEXEC_CLUSTERS)
  if (blocks_z() > 1) {
    for (int block = 0; block < blocks_z(); ++block)
      store_to_cluster(in_block_of_cluster(shared_address(to), block), value);
    return;
  }
#endif
  *to = value;
}

template <class Scalar, int own_weights> struct Resident {
  static constexpr int quads = own_weights / 4;

  const RecurrentArguments& p;
  int gates, units, first, here; // rows of a unit; units of a block, the first one, and how many there are
  int row, lane;                 // of this thread; beyond the last row it has none
  int gate, unit;                // of the row, the unit among all
  int padded;                    // state, as lanes read it
  float *states, *sums;          // two of [padded]; [gates * units]
  float weights[own_weights];

  DEVICE explicit Resident(const RecurrentArguments& arguments) : p(arguments) {
    gates = gates_of(p);
    units = (p.hidden + blocks_z() - 1) / blocks_z();
    first = block_z() * units;
    here = p.hidden - first < units ? p.hidden - first : units;
    row = thread_index() / p.lanes;
    lane = thread_index() % p.lanes;
    gate = row / units;
    unit = first + row % units;
    padded = quads * p.lanes * 4;
    states = reinterpret_cast<float*>(dynamic_shared());
    sums = states + 2 * padded;
#pragma unroll
    for (int j = 0; j < own_weights; ++j) weights[j] = 0;
    if (!has_row()) return;
    const Scalar* from =
        static_cast<const Scalar*>(p.weights) + (static_cast<long long>(gate) * p.hidden + unit) * p.hidden;
#pragma unroll
    for (int j = 0; j < own_weights; ++j)
      if (column(j) < p.hidden) weights[j] = to_float(from[column(j)]);
  }

  DEVICE bool has_row() const { return gate < gates && unit - first < here; }
  DEVICE int column(int j) const { return (j / 4 * p.lanes + lane) * 4 + j % 4; }
  DEVICE bool leads() const { return lane == 0 && has_row(); }
  /// The candidate of a GRU waits for its reset gate.
  DEVICE bool waits() const { return p.kind == RecurrentArguments::gru && gate == 2; }

  DEVICE float function(int which, float x) const { return common(clipped(p, x), p.activations[which]); }
  /// What most layers have is not called.
  DEVICE static float common(float x, const ActivationArguments& f) {
    if (f.kind == ActivationArguments::sigmoid) return 1.0F / (1.0F + exponential(-x));
    if (f.kind == ActivationArguments::tanh) return hyperbolic_tangent(x);
    return activated_elsewhere(x, f.kind, f.a, f.b);
  }

  /// This thread's row times the state.
  DEVICE float product(const float* state) const {
    float parts[4] = {};
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      if (q * p.lanes * 4 >= p.hidden) break;
      Elements<float, 4> x;
      x.load(state + (q * p.lanes + lane) * 4);
#pragma unroll
      for (int i = 0; i < 4; ++i) parts[i] = multiply_add(weights[q * 4 + i], x.values[i], parts[i]);
    }
    float sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
    for (int mask = p.lanes / 2; mask > 0; mask /= 2) sum += exchange(sum, mask);
    return sum;
  }

  DEVICE void run() {
    const int own = thread_index(); // unit of this thread, where it has one
    const bool finishes = own < here;
    const long long size = static_cast<long long>(p.batch) * p.hidden,
                    offset = static_cast<long long>(block_x()) * p.hidden;
    for (int i = thread_index(); i < 2 * padded; i += block_threads())
      states[i] = i < p.hidden ? to_float(static_cast<const Scalar*>(p.state)[offset + i]) : 0.0F;
    float cell = 0, bias = 0;
    if (finishes && p.kind == RecurrentArguments::lstm)
      cell = to_float(static_cast<const Scalar*>(p.cell)[offset + first + own]);
    if (finishes && p.bias) bias = to_float(static_cast<const Scalar*>(p.bias)[first + own]);
    float input = 0, candidate = 0; // of the gates, for this step
    const auto fetch = [&](int i) {
      if (i >= p.steps) return;
      const Scalar* from = given<Scalar>(p, gates, step_of(p, i), block_x());
      if (leads() && !waits()) input = to_float(from[static_cast<long long>(gate) * p.hidden + unit]);
      if (finishes && p.kind == RecurrentArguments::gru) candidate = to_float(from[2LL * p.hidden + first + own]);
    };
    fetch(0);
    meet();
#pragma unroll 1
    for (int i = 0; i < p.steps; ++i) {
      const float* state = states + i % 2 * padded;
      float sum = product(state);
      if (leads()) {
        if (!waits()) sum = function(p.kind == RecurrentArguments::lstm && gate == 3 ? 1 : 0, sum + input);
        sums[row] = sum;
      }
      const float waiting = candidate;
      fetch(i + 1);
      barrier();
      if (finishes) {
        float next = sums[own];
        if (p.kind == RecurrentArguments::lstm) { // input, output, forget, cell
          cell = cell * sums[2 * units + own] + next * sums[3 * units + own];
          next = sums[units + own] * common(cell, p.activations[2]);
        } else if (p.kind == RecurrentArguments::gru) { // update, reset, hidden
          const float hidden = function(1, (sums[2 * units + own] + bias) * sums[units + own] + waiting);
          next = hidden + next * (state[first + own] - hidden);
        }
        const Scalar stored = from_float<Scalar>(next);
        static_cast<Scalar*>(p.y)[step_of(p, i) * size + offset + first + own] = stored;
        tell_all(states + (i + 1) % 2 * padded + first + own, to_float(stored)); // as whoever reads it sees it
      }
      meet();
    }
    if (finishes && p.kind == RecurrentArguments::lstm)
      static_cast<Scalar*>(p.y)[p.steps * size + offset + first + own] = from_float<Scalar>(cell);
  }
};

template <class Scalar, int own_weights> DEVICE void run_resident(const RecurrentArguments& p) {
  let_next_start();
  wait_for_previous();
  Resident<Scalar, own_weights>(p).run();
}

} // namespace

KERNEL(resident_f_16, 1024, RecurrentArguments) { run_resident<float, 16>(arguments); }
KERNEL(resident_h_16, 1024, RecurrentArguments) { run_resident<Half, 16>(arguments); }
KERNEL(resident_f_32, 1024, RecurrentArguments) { run_resident<float, 32>(arguments); }
KERNEL(resident_h_32, 1024, RecurrentArguments) { run_resident<Half, 32>(arguments); }
KERNEL(resident_f_64, 512, RecurrentArguments) { run_resident<float, 64>(arguments); }
KERNEL(resident_h_64, 512, RecurrentArguments) { run_resident<Half, 64>(arguments); }

} // namespace rtexec::tasks::cuda
