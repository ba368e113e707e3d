// What recurrent layers have in common whose weights stay in registers: some lanes of a warp have the rows of all gates
// of a hidden unit, each of them its share of the columns. They add up what they have by exchange, each of four
// neighbours finishes one gate, and the first one the unit.
#pragma once

#include "tasks/engine/cuda/kernels/recurrent.cuh"

namespace rtexec::tasks::cuda {

/// scale / (1 + 2^(slope x)) + shift: a sigmoid, or a hyperbolic tangent, as exact as numbers near 1 are.
struct Squash {
  float slope, scale, shift;
  DEVICE float operator()(float x) const { return multiply_add(scale, inverse(1.0F + power_of_two(slope * x)), shift); }
};
DEVICE Squash sigmoid() { return {-to_base_2, 1.0F, 0.0F}; }
DEVICE Squash hyperbolic() { return {-2.0F * to_base_2, 2.0F, -1.0F}; }

/// `columns` of a lane, of each of the `gates` rows. Of one row alone there are four sums, so that each addition waits
/// for fewer others; of more, one of each, that of the last row in `last`.
template <int gates, int columns, int last = gates - 1> struct Rows {
  static constexpr int quads = columns / 4, at_once = 4;
  float weights[gates][columns];

  /// Number j of the columns of a lane.
  DEVICE static int column(int j, int lanes, int lane) { return (j / 4 * lanes + lane) * 4 + j % 4; }

  /// What a lane multiplies by quads `first` to `first + at_once` of its columns.
  struct Part {
    float quad[at_once][4];
    /// Of a vector in shared memory, from this lane's first quad on.
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

/// Of four lanes, each adds up another one of the sums.
DEVICE float own_sum(const float (&sums)[4], int lane) {
  const bool odd = lane % 2 != 0, late = lane % 4 >= 2;
  const float first = (odd ? sums[1] : sums[0]) + exchange(odd ? sums[0] : sums[1], 1);
  const float second = (odd ? sums[3] : sums[2]) + exchange(odd ? sums[2] : sums[3], 1);
  return (late ? second : first) + exchange(late ? first : second, 2);
}
/// Of all lanes of a unit: that of this lane's gate.
template <int gates> DEVICE float gate_sum(const float (&sums)[4], int lanes, int lane) {
  float sum = gates == 1 ? (sums[0] + sums[1]) + (sums[2] + sums[3]) : own_sum(sums, lane);
  for (int mask = gates == 1 ? 1 : 4; mask < lanes; mask *= 2) sum += exchange(sum, mask);
  return sum;
}

/// Where a thread reads the state, and where it writes the next one: two vectors in shared memory that change places
/// with each step.
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

/// Of a hidden unit.
struct Unit {
  float state, cell;
  /// Of gates, whose values are this lane's and its neighbours': input, output, forget, cell.
  template <class Function> DEVICE void finish_lstm(float value, Function of_cell) {
    const float output = exchange(value, 1), forget = exchange(value, 2), candidate = exchange(value, 3);
    cell = multiply_add(cell, forget, value * candidate);
    state = output * of_cell(cell);
  }
  /// Of update, reset and hidden, likewise. The reset gate is applied to the product and its bias.
  template <class Function> DEVICE void finish_gru(float value, float bias, float input, Function of_candidate) {
    const float reset = exchange(value, 1), product = exchange(value, 2);
    const float hidden = of_candidate((product + bias) * reset + input);
    state = multiply_add(value, state - hidden, hidden);
  }
};

} // namespace rtexec::tasks::cuda
