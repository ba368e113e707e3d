// Helpers for recurrent kernels whose weights stay in registers (persistent RNNs). Some lanes of a warp share a hidden
// unit. Each of these lanes holds some columns of the weight rows of all gates of the unit. The lanes exchange and add
// up their partial sums. Then each of four neighbouring lanes finishes one gate, and the first lane finishes the unit.
#pragma once

#include "tasks/engine/cuda/kernels/recurrent.cuh"

namespace rtexec::tasks::cuda {

/// The function scale / (1 + 2^(slope x)) + shift, which is a sigmoid or a hyperbolic tangent. Its absolute error is
/// about the precision of floats near 1.
struct Squash {
  float slope, scale, shift;
  DEVICE float operator()(float x) const { return multiply_add(scale, inverse(1.0F + power_of_two(slope * x)), shift); }
};
DEVICE Squash sigmoid() { return {-to_base_2, 1.0F, 0.0F}; }
DEVICE Squash hyperbolic() { return {-2.0F * to_base_2, 2.0F, -1.0F}; }

/// The weights of one lane: `columns` columns of each of the `gates` weight rows. add() has four sums. A single row is
/// spread over all four sums, so that an addition depends on fewer earlier additions. If there are several rows, each
/// row has one sum; the last row uses sum number `last`.
template <int gates, int columns, int last = gates - 1> struct Rows {
  static constexpr int quads = columns / 4, at_once = 4;
  float weights[gates][columns];

  /// Returns the matrix column that is column number j of lane `lane`, if `lanes` lanes share a unit.
  DEVICE static int column(int j, int lanes, int lane) { return (j / 4 * lanes + lane) * 4 + j % 4; }

  /// The elements of a vector that a lane multiplies by its quads (groups of four columns). These are the quads from
  /// number `first` to `first + at_once` - 1.
  struct Part {
    float quad[at_once][4];
    /// Loads the part from shared memory. `vector` is the address of this lane's first quad.
    DEVICE void load(SharedAddress vector, int first, int lanes) {
#pragma unroll
      for (int q = 0; q < at_once; ++q)
        load_fresh_shared4(quad[q], vector + static_cast<SharedAddress>((first + q) * lanes) * 16U);
    }
  };
  DEVICE void add(float (&sums)[4], const Part& x, int first) const {
#pragma unroll
    for (int q = 0; q < at_once; ++q)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int g = 0; g < gates; ++g) {
          float& sum = sums[gates == 1 ? i : g == gates - 1 ? last : g];
          sum = multiply_add(weights[g][(first + q) * 4 + i], x.quad[q][i], sum);
        }
  }
};

/// Adds up the four sums over four neighbouring lanes. Returns the total of a different sum on each of these lanes.
DEVICE float own_sum(const float (&sums)[4], int lane) {
  const bool odd = lane % 2 != 0, late = lane % 4 >= 2;
  const float first = (odd ? sums[1] : sums[0]) + exchange(odd ? sums[0] : sums[1], 1);
  const float second = (odd ? sums[3] : sums[2]) + exchange(odd ? sums[2] : sums[3], 1);
  return (late ? second : first) + exchange(late ? first : second, 2);
}
/// Returns the sum for this lane's gate, added up over all lanes of the unit.
template <int gates> DEVICE float gate_sum(const float (&sums)[4], int lanes, int lane) {
  float sum = gates == 1 ? (sums[0] + sums[1]) + (sums[2] + sums[3]) : own_sum(sums, lane);
  for (int mask = gates == 1 ? 1 : 4; mask < lanes; mask *= 2) sum += exchange(sum, mask);
  return sum;
}

/// The addresses from which a thread reads the state, and to which it writes the next state. Shared memory has two
/// state vectors; change() exchanges them after each step.
struct StatePlaces {
  SharedAddress from, to, distance;
  DEVICE StatePlaces(const float* states, int padded, int unit, int lane)
      : from(shared_address(states + lane * 4)),
        to(shared_address(states + padded + unit)),
        distance(shared_address(states + padded) - shared_address(states)) {}
  DEVICE void change() {
    from += distance;
    to -= distance;
    distance = 0U - distance;
  }
};

/// The state of a hidden unit; for an LSTM, also its cell.
struct Unit {
  float state, cell;
  /// Finishes a step of an LSTM. This lane and the next three lanes must hold the values of the gates input, output,
  /// forget and cell, in this order.
  template <class Function> DEVICE void finish_lstm(float value, Function of_cell) {
    const float output = exchange(value, 1), forget = exchange(value, 2), candidate = exchange(value, 3);
    cell = multiply_add(cell, forget, value * candidate);
    state = output * of_cell(cell);
  }
  /// Finishes a step of a GRU. This lane and the next two lanes must hold the values of update, reset and hidden, in
  /// this order. The reset gate multiplies the sum of hidden and `bias`.
  template <class Function> DEVICE void finish_gru(float value, float bias, float input, Function of_candidate) {
    const float reset = exchange(value, 1), product = exchange(value, 2);
    const float hidden = of_candidate((product + bias) * reset + input);
    state = multiply_add(value, state - hidden, hidden);
  }
};

} // namespace rtexec::tasks::cuda
