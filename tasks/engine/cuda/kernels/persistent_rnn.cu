// Persistent RNNs: recurrent layers whose weights stay in registers for the whole sequence. The only barrier of a step
// is at its end. The blocks of a cluster divide the hidden units among them, and send their results to each other.
#include "tasks/engine/cuda/kernels/persistent_rnn.cuh"

namespace rtexec::tasks::cuda {
namespace {

DEVICE void tell_all(SharedAddress to, float value) {
#if defined(RTEXEC_CLUSTERS)
  if (blocks_z() > 1) {
    for (int block = 0; block < blocks_z(); ++block) store_to_cluster(in_block_of_cluster(to, block), value);
    return;
  }
#endif
  store_shared(to, value);
}

template <class Scalar, int kind, int columns> struct PersistentRnn {
  static constexpr bool lstm = kind == RecurrentArguments::lstm, gru = kind == RecurrentArguments::gru;
  static constexpr int gates = lstm ? 4 : gru ? 3 : 1;
  using Weights = Rows<gates, columns>;

  const RecurrentArguments& p;
  int unit, lane; // unit and lane of this thread; `unit` counts over all blocks
  int gate;       // gate that this lane finishes; no gate if the number is `gates` or more
  bool has_unit;  // false: the thread only takes part in exchanges
  bool usual;     // true: the activations are sigmoid, tanh, tanh
  int padded;     // number of elements of a state, padded to the columns of all lanes
  float* states;  // two state vectors
  Weights rows;

  DEVICE explicit PersistentRnn(const RecurrentArguments& arguments) : p(arguments) {
    const int units = (p.hidden + blocks_z() - 1) / blocks_z(), own = thread_index() / p.lanes;
    lane = thread_index() % p.lanes;
    gate = lane % 4;
    unit = block_z() * units + own;
    has_unit = own < units && unit < p.hidden;
    padded = columns * p.lanes;
    states = reinterpret_cast<float*>(dynamic_shared());
    const auto is = [&](int which, int function) { return p.activations[which].kind == function; };
    usual = !p.clips && (kind == RecurrentArguments::simple || is(0, ActivationArguments::sigmoid)) &&
            is(kind == RecurrentArguments::simple ? 0 : 1, ActivationArguments::tanh) &&
            (!lstm || is(2, ActivationArguments::tanh));
    load_weights();
  }

  DEVICE void load_weights() {
#pragma unroll
    for (int g = 0; g < gates; ++g)
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const int column = Weights::column(j, p.lanes, lane);
        const bool inside = has_unit && column < p.hidden;
        const long long row = static_cast<long long>(g) * p.hidden + unit;
        rows.weights[g][j] = inside ? to_float(static_cast<const Scalar*>(p.weights)[row * p.hidden + column]) : 0.0F;
      }
  }

  /// Multiplies the state by the weight rows of all gates. Returns the sum of this lane's gate.
  DEVICE float product(SharedAddress state) const {
    float sums[4] = {};
#pragma unroll
    for (int first = 0; first < Weights::quads; first += Weights::at_once) {
      if (first > 0 && first * p.lanes * 4 >= p.hidden) break;
      typename Weights::Part x;
      x.load(state, first, p.lanes);
      rows.add(sums, x, first);
    }
    return gate_sum<gates>(sums, p.lanes, lane);
  }

  /// Returns the result of activation number `which` of the layer for x. If the activations are the usual ones, that is
  /// squash(x).
  template <bool usual> DEVICE float function(int which, const Squash& squash, float x) const {
    if (usual) return squash(x);
    if (which < 2) x = clipped(p, x);
    return activated_elsewhere(x, p.activations[which].kind, p.activations[which].a, p.activations[which].b);
  }
  template <bool usual> DEVICE void finish(Unit& own, float sum, float input, float bias, float candidate) const {
    if (lstm) {
      const bool of_cell = gate == 3;
      const float value = function<usual>(of_cell ? 1 : 0, of_cell ? hyperbolic() : sigmoid(), sum + input);
      own.finish_lstm(value, [&](float x) { return function<usual>(2, hyperbolic(), x); });
    } else if (gru) {
      const float value = gate == 2 ? sum : function<usual>(0, sigmoid(), sum + input);
      own.finish_gru(value, bias, candidate, [&](float x) { return function<usual>(1, hyperbolic(), x); });
    } else {
      own.state = function<usual>(0, hyperbolic(), sum + input);
    }
  }

  DEVICE void run() const {
    if (usual) run_steps<true>();
    else run_steps<false>();
  }

  template <bool usual> DEVICE void run_steps() const {
    const bool finishes = has_unit && lane == 0, reads = has_unit && lane < gates;
    const int wide = gates * p.hidden;
    const long long offset = static_cast<long long>(block_x()) * p.hidden,
                    size = static_cast<long long>(p.batch) * p.hidden;
    const auto read = [&](const void* tensor, long long at) {
      return to_float(static_cast<const Scalar*>(tensor)[at]);
    };
    for (int i = thread_index(); i < 2 * padded; i += block_threads())
      states[i] = i < p.hidden ? read(p.state, offset + i) : 0.0F;
    Unit own{finishes ? read(p.state, offset + unit) : 0.0F, lstm && finishes ? read(p.cell, offset + unit) : 0.0F};
    const float bias = finishes && p.bias ? read(p.bias, unit) : 0.0F;
    const long long step = p.reverse ? -1 : 1;
    const Scalar* from = given<Scalar>(p, gates, step_of(p, 0), block_x()) + gate * p.hidden + unit;
    const long long to_candidate = (2 - gate) * p.hidden, to_next = step * p.batch * wide;
    Scalar* y = static_cast<Scalar*>(p.y) + step_of(p, 0) * size + offset + unit;
    /// The input's part of the next step's gates, as stored: a conversion here would wait for the load.
    Scalar input{}, candidate{};
    const auto fetch = [&] {
      if (reads) input = *from;
      if (gru && finishes) candidate = from[to_candidate];
      from += to_next;
    };
    fetch();
    StatePlaces state(states, padded, unit, lane);
    meet();
#pragma unroll 1
    for (int i = 0; i < p.steps; ++i) {
      const float own_input = to_float(input), own_candidate = to_float(candidate);
      if (i + 1 < p.steps) fetch();
      const float sum = product(state.from);
      finish<usual>(own, sum, own_input, bias, own_candidate);
      const Scalar stored = from_float<Scalar>(own.state);
      own.state = to_float(stored); // rounded to the storage of y, because the next layers read the rounded value
      if (finishes) tell_all(state.to, own.state);
      state.change();
      meet();
      if (finishes) *y = stored; // after the barrier: a cluster's barrier would wait for it
      y += step * size;
    }
    if (lstm && finishes) static_cast<Scalar*>(p.y)[p.steps * size + offset + unit] = from_float<Scalar>(own.cell);
  }
};

template <class Scalar, int kind, int columns> DEVICE void run_persistent_rnn(const RecurrentArguments& p) {
  let_next_start();
  PersistentRnn<Scalar, kind, columns> persistent(p); // loads the weights before the wait, because they are constants
  wait_for_previous();
  persistent.run();
}

} // namespace

KERNEL(persistent_lstm_f, 512, RecurrentArguments) {
  run_persistent_rnn<float, RecurrentArguments::lstm, 16>(arguments);
}
KERNEL(persistent_lstm_h, 512, RecurrentArguments) {
  run_persistent_rnn<Half, RecurrentArguments::lstm, 16>(arguments);
}
KERNEL(persistent_gru_f, 512, RecurrentArguments) { run_persistent_rnn<float, RecurrentArguments::gru, 16>(arguments); }
KERNEL(persistent_gru_h, 512, RecurrentArguments) { run_persistent_rnn<Half, RecurrentArguments::gru, 16>(arguments); }
KERNEL(persistent_simple_f, 512, RecurrentArguments) {
  run_persistent_rnn<float, RecurrentArguments::simple, 64>(arguments);
}
KERNEL(persistent_simple_h, 512, RecurrentArguments) {
  run_persistent_rnn<Half, RecurrentArguments::simple, 64>(arguments);
}

} // namespace rtexec::tasks::cuda
