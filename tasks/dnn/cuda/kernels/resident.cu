// Recurrent layers whose weights stay in registers for the whole sequence: some lanes of a warp have the rows of all
// gates of a hidden unit, each of them its share of the columns. They add up what they have by exchange, each of four
// neighbours finishes one gate, and the first one the unit: a step needs no barrier but the one at its end. Blocks of a
// cluster share the hidden units, and give one another what they computed.
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

/// scale / (1 + 2^(slope x)) + shift: a sigmoid, or a hyperbolic tangent.
struct Squash {
  float slope, scale, shift;
  DEVICE float operator()(float x) const { return multiply_add(scale, inverse(1.0F + power_of_two(slope * x)), shift); }
};
constexpr float to_base_2 = 1.44269504F;
DEVICE Squash sigmoid() { return {-to_base_2, 1.0F, 0.0F}; }
DEVICE Squash hyperbolic() { return {-2.0F * to_base_2, 2.0F, -1.0F}; }

template <class Scalar, int kind, int columns> struct Resident {
  static constexpr bool lstm = kind == RecurrentArguments::lstm, gru = kind == RecurrentArguments::gru;
  static constexpr int gates = lstm ? 4 : gru ? 3 : 1;
  static constexpr int quads = columns / 4;

  const RecurrentArguments& p;
  int unit, lane; // of this thread; the unit among all
  int gate;       // that this lane finishes; what comes after the last is none
  bool has_unit;  // else the thread only takes part in exchanges
  bool usual;     // sigmoid, tanh, tanh
  int padded;     // a state, as lanes read it
  float* states;  // two of them
  float weights[gates][columns];

  DEVICE explicit Resident(const RecurrentArguments& arguments) : p(arguments) {
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

  DEVICE int column(int j) const { return (j / 4 * p.lanes + lane) * 4 + j % 4; }
  DEVICE void load_weights() {
#pragma unroll
    for (int g = 0; g < gates; ++g)
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const bool inside = has_unit && column(j) < p.hidden;
        const long long row = static_cast<long long>(g) * p.hidden + unit;
        weights[g][j] = inside ? to_float(static_cast<const Scalar*>(p.weights)[row * p.hidden + column(j)]) : 0.0F;
      }
  }

  /// The state times the rows of all gates, of which this lane gets its own gate's.
  DEVICE float product(const float* state) const {
    float sums[4] = {};
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      if (q * p.lanes * 4 >= p.hidden) break;
      Elements<float, 4> x;
      x.load(state + (q * p.lanes + lane) * 4);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int g = 0; g < gates; ++g) {
          // One gate alone has four sums, so that each addition waits for fewer others.
          float& sum = sums[gates == 1 ? i : g];
          sum = multiply_add(weights[g][q * 4 + i], x.values[i], sum);
        }
    }
    float sum = gates == 1 ? (sums[0] + sums[1]) + (sums[2] + sums[3]) : own_gate(sums);
    for (int mask = gates == 1 ? 1 : 4; mask < p.lanes; mask *= 2) sum += exchange(sum, mask);
    return sum;
  }
  /// Of four lanes, each adds up another one of the sums.
  DEVICE float own_gate(const float (&sums)[4]) const {
    const bool odd = lane % 2 != 0, late = lane % 4 >= 2;
    const float first = (odd ? sums[1] : sums[0]) + exchange(odd ? sums[0] : sums[1], 1);
    const float second = (odd ? sums[3] : sums[2]) + exchange(odd ? sums[2] : sums[3], 1);
    return (late ? second : first) + exchange(late ? first : second, 2);
  }

  /// `which` of the layer's activations.
  DEVICE float function(int which, const Squash& squash, float x) const {
    if (usual) return squash(x);
    if (which < 2) x = clipped(p, x);
    return activated_elsewhere(x, p.activations[which].kind, p.activations[which].a, p.activations[which].b);
  }

  struct Unit {
    float state, cell;
  };
  /// What the gates say, whose values are this lane's and its neighbours'.
  DEVICE void finish_lstm(Unit& own, float sum, float input) const {
    const bool candidate = gate == 3; // input, output, forget, cell
    const float value = function(candidate ? 1 : 0, candidate ? hyperbolic() : sigmoid(), sum + input);
    const float output = exchange(value, 1), forget = exchange(value, 2), cell = exchange(value, 3);
    own.cell = multiply_add(own.cell, forget, value * cell);
    own.state = output * function(2, hyperbolic(), own.cell);
  }
  /// The reset gate is applied to the product and its bias.
  DEVICE void finish_gru(Unit& own, float sum, float input, float bias, float candidate) const {
    const float value = gate == 2 ? sum : function(0, sigmoid(), sum + input); // update, reset, hidden
    const float reset = exchange(value, 1), product = exchange(value, 2);
    const float hidden = function(1, hyperbolic(), (product + bias) * reset + candidate);
    own.state = multiply_add(value, own.state - hidden, hidden);
  }

  DEVICE void run() {
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
    const Scalar* from = given<Scalar>(p, gates, step_of(p, 0), block_x()) + unit;
    Scalar* y = static_cast<Scalar*>(p.y) + step_of(p, 0) * size + offset + unit;
    Scalar input{}, candidate{}; // what gates take from the sequence next: as stored, so that nobody waits for it yet
    const auto fetch = [&] {
      if (reads) input = from[gate * p.hidden];
      if (gru && finishes) candidate = from[2 * p.hidden];
      from += step * p.batch * wide;
    };
    fetch();
    meet();
#pragma unroll 1
    for (int i = 0; i < p.steps; ++i) {
      const float own_input = to_float(input), own_candidate = to_float(candidate);
      if (i + 1 < p.steps) fetch();
      const float sum = product(states + i % 2 * padded);
      if (lstm) finish_lstm(own, sum, own_input);
      else if (gru) finish_gru(own, sum, own_input, bias, own_candidate);
      else own.state = function(0, hyperbolic(), sum + own_input);
      const Scalar stored = from_float<Scalar>(own.state);
      own.state = to_float(stored); // as whoever reads it sees it
      if (finishes) {
        tell_all(states + (i + 1) % 2 * padded + unit, own.state);
        *y = stored;
      }
      y += step * size;
      meet();
    }
    if (lstm && finishes) static_cast<Scalar*>(p.y)[p.steps * size + offset + unit] = from_float<Scalar>(own.cell);
  }
};

template <class Scalar, int kind, int columns> DEVICE void run_resident(const RecurrentArguments& p) {
  let_next_start();
  Resident<Scalar, kind, columns> resident(p); // weights are constants
  wait_for_previous();
  resident.run();
}

} // namespace

KERNEL(resident_lstm_f, 512, RecurrentArguments) { run_resident<float, RecurrentArguments::lstm, 16>(arguments); }
KERNEL(resident_lstm_h, 512, RecurrentArguments) { run_resident<Half, RecurrentArguments::lstm, 16>(arguments); }
KERNEL(resident_gru_f, 512, RecurrentArguments) { run_resident<float, RecurrentArguments::gru, 16>(arguments); }
KERNEL(resident_gru_h, 512, RecurrentArguments) { run_resident<Half, RecurrentArguments::gru, 16>(arguments); }
KERNEL(resident_simple_f, 512, RecurrentArguments) { run_resident<float, RecurrentArguments::simple, 64>(arguments); }
KERNEL(resident_simple_h, 512, RecurrentArguments) { run_resident<Half, RecurrentArguments::simple, 64>(arguments); }

} // namespace rtexec::tasks::cuda
