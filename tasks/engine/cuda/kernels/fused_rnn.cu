// Fused multi-layer RNNs, in which each layer reads the states of the previous layer. All weights stay in registers,
// both the weights of the state and the weights of the input. A cluster computes all layers at the same time, one layer
// in each block. In each step, a block computes its next state and sends it to the block of the next layer. Then it
// computes the part of the next step's gates that depends on the input. Without a cluster, a single block computes the
// layers one after the other.
#include "tasks/engine/cuda/kernels/persistent_rnn.cuh"

namespace rtexec::tasks::cuda {
namespace {

DEVICE int least(int a, int b) { return a < b ? a : b; }

/// The bits of an input that has not arrived. They are a NaN.
constexpr unsigned nothing_yet = 0xffffffffU;
/// Returns the value to send for `value`: another NaN if `value` has the bits of `nothing_yet`, otherwise `value`.
DEVICE float sent(float value) { return float_bits(value) == nothing_yet ? bits_float(0x7fffffffU) : value; }

template <class Scalar, int kind> struct FusedRnn {
  static constexpr bool lstm = kind == RecurrentArguments::lstm, gru = kind == RecurrentArguments::gru;
  static constexpr int gates = lstm ? 4 : gru ? 3 : 1, columns = StackArguments::columns;
  using OfState = Rows<gates, columns>;
  // A gru adds the input's part of the candidate to a sum of its own (number 3), because the reset gate does not apply
  // to that part.
  using OfInput = Rows<gates, columns, gru ? 3 : gates - 1>;
  static_assert(OfState::quads == OfState::at_once);

  const StackArguments& p;
  int layer, hidden;
  int unit, lane, gate; // unit, lane and gate of this thread
  bool finishes;
  int padded;    // number of elements of a state or input, padded to the columns of all lanes
  float* states; // two state vectors
  float* inputs; // the inputs of `at_once` steps
  OfState of_state;
  OfInput of_input;

  DEVICE FusedRnn(const StackArguments& arguments, int number)
      : p(arguments), layer(number), hidden(arguments.hidden[number]) {
    unit = thread_index() / p.lanes;
    lane = thread_index() % p.lanes;
    gate = lane % 4;
    finishes = lane == 0 && unit < hidden;
    padded = columns * p.lanes;
    states = reinterpret_cast<float*>(dynamic_shared());
    inputs = states + 2 * padded;
    load_weights();
  }

  /// Loads the weights. A thread without a unit loads the weights of the last unit, which is faster than a branch.
  DEVICE void load_weights() {
    const auto* from = static_cast<const Scalar*>(p.weights[layer]);
#pragma unroll
    for (int g = 0; g < gates; ++g)
#pragma unroll
      for (int j = 0; j < columns; j += 4) {
        const auto* row = from + (g * hidden + least(unit, hidden - 1)) * 2 * padded;
        Elements<Scalar, 4> input, state;
        input.load(row + OfInput::column(j, p.lanes, lane));
        state.load(row + padded + OfState::column(j, p.lanes, lane));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          of_input.weights[g][j + i] = input.values[i];
          of_state.weights[g][j + i] = state.values[i];
        }
      }
  }

  DEVICE int step_of(int i) const { return p.reverse ? p.steps - 1 - i : i; }
  DEVICE long long row_of(int i) const { return static_cast<long long>(step_of(i)) * p.batch + block_x(); }
  DEVICE static float read(const void* tensor, long long at) {
    return to_float(static_cast<const Scalar*>(tensor)[at]);
  }

  /// Prepares shared memory for the inputs of steps `first` to `end` - 1. If another block sends the inputs, marks them
  /// as not arrived. Otherwise loads the inputs.
  DEVICE void prepare_inputs(int first, int end) const {
    const int warps = block_threads() / 32, width = p.inputs[layer];
    const bool awaits = layer > 0 && blocks_z() > 1;
    const auto* from = static_cast<const Scalar*>(layer == 0 ? p.x : p.y[layer - 1]);
    constexpr int at_once = 8;
    for (int c = thread_index() % 32; c < padded; c += 32)
      for (int i = first + thread_index() / 32; i < end; i += at_once * warps) {
        Scalar values[at_once]{};
        if (!awaits)
#pragma unroll
          for (int k = 0; k < at_once; ++k)
            values[k] = from[row_of(least(i + k * warps, end - 1)) * width + least(c, width - 1)];
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
          const float value = awaits ? bits_float(nothing_yet) : sent(to_float(values[k]));
          if (i + k * warps < end) inputs[(i + k * warps - first) * padded + c] = c < width ? value : 0.0F;
        }
      }
  }

  /// Waits until the whole input at address `input` has arrived. Then sets `sums` to the part of the gates that depends
  /// on the input.
  DEVICE void add_input(float (&sums)[4], SharedAddress input) const {
    for (;;) {
      typename OfInput::Part x;
      x.load(input, 0, p.lanes);
#pragma unroll
      for (float& sum : sums) sum = 0;
      of_input.add(sums, x, 0);
      // If an element of the input has not arrived, it is NaN, and so are all sums that contain it.
      const float sum = gates == 1 ? (sums[0] + sums[1]) + (sums[2] + sums[3]) : sums[0];
      if (sum == sum || has_come(x)) return;
      let_others_run();
    }
  }
  DEVICE static bool has_come(const typename OfInput::Part& x) {
    bool all = true;
#pragma unroll
    for (int q = 0; q < OfInput::at_once; ++q)
#pragma unroll
      for (int i = 0; i < 4; ++i) all = all && float_bits(x.quad[q][i]) != nothing_yet;
    return all;
  }

  DEVICE void finish(Unit& own, float sum) const {
    if (lstm) {
      own.finish_lstm((gate == 3 ? hyperbolic() : sigmoid())(sum), hyperbolic());
    } else if (gru) { // lanes: update, reset, hidden, the input's part of hidden
      own.finish_gru(gate < 2 ? sigmoid()(sum) : sum, 0, exchange(sum, 3), hyperbolic());
    } else {
      own.state = hyperbolic()(sum);
    }
  }

  DEVICE void run() const {
    const bool hands_on = finishes && layer + 1 < blocks_z();
    const SharedAddress input = shared_address(inputs + lane * 4), next = in_next_block(inputs + unit);
    StatePlaces state(states, padded, unit, lane);
    const long long size = static_cast<long long>(p.batch) * hidden, own_offset = block_x() * hidden + unit;
    const long long to_next = p.reverse ? -size : size;
    auto* y = static_cast<Scalar*>(p.y[layer]) + step_of(0) * size + own_offset;
    Unit own{finishes ? read(p.state[layer], own_offset) : 0.0F,
             lstm && finishes ? read(p.cell[layer], own_offset) : 0.0F};
    const float bias = unit < hidden && lane < 4 ? p.bias[layer][gate * hidden + unit] : 0.0F;
    for (int i = thread_index(); i < 2 * padded; i += block_threads())
      states[i] = i < hidden ? read(p.state[layer], block_x() * hidden + i) : 0.0F;
    for (int first = 0; first < p.steps; first += p.at_once) {
      const int end = least(first + p.at_once, p.steps);
      prepare_inputs(first, end);
      meet();
      float sums[4];
      add_input(sums, input);
#pragma unroll 1
      for (int i = first; i < end; ++i) {
        typename OfState::Part x;
        x.load(state.from, 0, p.lanes);
        of_state.add(sums, x, 0);
        finish(own, gate_sum<gates>(sums, p.lanes, lane) + bias);
        const Scalar stored = from_float<Scalar>(own.state);
        own.state = to_float(stored); // rounded to the storage of y, because the next layers read the rounded value
        if (finishes) {
          store_shared(state.to, own.state);
          *y = stored;
        }
        if (hands_on) tell(next + place(i - first), sent(own.state));
        y += to_next;
        state.change();
        if (i + 1 < end) add_input(sums, input + place(i + 1 - first));
        barrier();
      }
    }
    if (lstm && finishes) static_cast<Scalar*>(p.y[layer])[p.steps * size + own_offset] = from_float<Scalar>(own.cell);
  }

  DEVICE SharedAddress in_next_block(const float* here) const {
#if defined(RTEXEC_CLUSTERS)
    if (layer + 1 < blocks_z()) return in_block_of_cluster(shared_address(here), layer + 1);
#endif
    return 0;
  }
  DEVICE static void tell(SharedAddress to, float value) {
#if defined(RTEXEC_CLUSTERS)
    store_to_cluster(to, value);
#endif
  }
  /// Returns the offset of the input of step i in shared memory, in bytes. i counts from the first step that is in
  /// shared memory.
  DEVICE SharedAddress place(int i) const {
    return static_cast<SharedAddress>(i * padded * static_cast<int>(sizeof(float)));
  }
};

template <class Scalar, int kind> DEVICE void run_fused_rnn(const StackArguments& p) {
  let_next_start();
  for (int layer = block_z(); layer < p.layers; layer += blocks_z()) {
    const FusedRnn<Scalar, kind> stacked(p, layer); // loads the weights before the wait, because they are constants
    if (layer == block_z()) wait_for_previous();
    stacked.run();
  }
}

} // namespace

KERNEL(fused_lstm_f, 256, StackArguments) { run_fused_rnn<float, RecurrentArguments::lstm>(arguments); }
KERNEL(fused_lstm_h, 256, StackArguments) { run_fused_rnn<Half, RecurrentArguments::lstm>(arguments); }
KERNEL(fused_gru_f, 256, StackArguments) { run_fused_rnn<float, RecurrentArguments::gru>(arguments); }
KERNEL(fused_gru_h, 256, StackArguments) { run_fused_rnn<Half, RecurrentArguments::gru>(arguments); }
KERNEL(fused_simple_f, 256, StackArguments) { run_fused_rnn<float, RecurrentArguments::simple>(arguments); }
KERNEL(fused_simple_h, 256, StackArguments) { run_fused_rnn<Half, RecurrentArguments::simple>(arguments); }

} // namespace rtexec::tasks::cuda
