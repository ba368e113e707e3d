#include "test/tasks/onnx_oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>

namespace rtexec::test {
namespace {

using Vector = std::vector<double>;
using Activation = std::function<double(double)>;

/// Returns activation `name` with its alpha and beta. Their defaults are those of the operator of that name.
Activation activation(const std::string& name, std::optional<double> a, std::optional<double> b) {
  const auto alpha = [&](double otherwise) { return a.value_or(otherwise); };
  const auto beta = [&](double otherwise) { return b.value_or(otherwise); };
  if (name == "Relu") return [](double x) { return std::max(0.0, x); };
  if (name == "Tanh") return [](double x) { return std::tanh(x); };
  if (name == "Sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (name == "Softsign") return [](double x) { return x / (1 + std::abs(x)); };
  if (name == "Softplus") return [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  if (name == "Affine") return [m = alpha(1), c = beta(0)](double x) { return m * x + c; };
  if (name == "LeakyRelu") return [m = alpha(0.01F)](double x) { return x >= 0 ? x : m * x; };
  if (name == "ThresholdedRelu") return [m = alpha(1)](double x) { return x >= m ? x : 0; };
  if (name == "ScaledTanh") return [m = alpha(1), c = beta(1)](double x) { return m * std::tanh(c * x); };
  if (name == "HardSigmoid")
    return [m = alpha(0.2F), c = beta(0.5F)](double x) { return std::clamp(m * x + c, 0.0, 1.0); };
  if (name == "Elu") return [m = alpha(1)](double x) { return x >= 0 ? x : m * std::expm1(x); };
  throw std::invalid_argument("an activation " + name);
}

bool takes_alpha(const std::string& name) {
  return name == "Affine" || name == "LeakyRelu" || name == "ThresholdedRelu" || name == "ScaledTanh" ||
         name == "HardSigmoid" || name == "Elu";
}
bool takes_beta(const std::string& name) { return name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid"; }

/// Returns all activations in the order of directions. Each activation that needs an alpha or a beta consumes one.
std::vector<Activation> activations(const Operator& n, const Strings& defaults, std::size_t directions) {
  Strings names = n.get("activations", Strings{});
  while (names.size() < defaults.size() * directions) names.push_back(defaults[names.size() % defaults.size()]);
  const Floats alphas = n.get("activation_alpha", Floats{}), betas = n.get("activation_beta", Floats{});
  std::size_t alpha = 0, beta = 0;
  std::vector<Activation> all;
  for (const std::string& name : names) {
    std::optional<double> a, b;
    if (takes_alpha(name) && alpha < alphas.size()) a = alphas[alpha++];
    if (takes_beta(name) && beta < betas.size()) b = betas[beta++];
    all.push_back(activation(name, a, b));
  }
  return all;
}

/// The inputs and sizes of one direction of a layer.
struct Layer {
  const Operator& n;
  Index direction = 0, hidden = 0, gates = 0;
  std::vector<Activation> functions;

  /// Returns the input's contribution to gate `gate`: X * W^T + Wb.
  [[nodiscard]] Vector of_input(Index gate, const Vector& x) const { return times(n.in(1), gate, x); }
  /// Returns H * R^T.
  [[nodiscard]] Vector of_state(Index gate, const Vector& h) const { return times(n.in(2), gate, h); }
  /// Returns bias `i` of 2 * gates: those of W, then those of R.
  [[nodiscard]] double bias(Index i, Index unit) const {
    return n.has(3) ? n.in(3)[(direction * 2 * gates + i) * hidden + unit] : 0;
  }
  [[nodiscard]] double peephole(Index i, Index unit) const {
    return n.has(7) ? n.in(7)[(direction * 3 + i) * hidden + unit] : 0;
  }
  [[nodiscard]] double apply(std::size_t function, double x) const {
    const double most = n.get("clip", std::numeric_limits<float>::infinity());
    return functions[function](std::clamp(x, -most, most));
  }

 private:
  [[nodiscard]] Vector times(const Array& w, Index gate, const Vector& x) const {
    const Index width = w.extent(2), first = (direction * gates + gate) * hidden;
    Vector y(static_cast<std::size_t>(hidden));
    for (Index unit = 0; unit < hidden; ++unit)
      for (Index i = 0; i < width; ++i)
        y[static_cast<std::size_t>(unit)] += w[(first + unit) * width + i] * x[static_cast<std::size_t>(i)];
    return y;
  }
};

struct State {
  Vector h, c;
};
using Step = State (*)(const Layer&, const Vector& x, const State&);

/// Calls f(unit, its position in a vector) for every unit.
template <class F> Vector for_units(const Layer& layer, F&& f) {
  Vector all;
  for (Index unit = 0; unit < layer.hidden; ++unit) all.push_back(f(unit, static_cast<std::size_t>(unit)));
  return all;
}

/// Returns the sum for gate `gate`, without peepholes.
Vector gate_input(const Layer& layer, Index gate, const Vector& x, const Vector& h) {
  const Vector from_x = layer.of_input(gate, x), from_h = layer.of_state(gate, h);
  return for_units(layer, [&](Index unit, std::size_t u) {
    return from_x[u] + from_h[u] + layer.bias(gate, unit) + layer.bias(layer.gates + gate, unit);
  });
}

State rnn_step(const Layer& layer, const Vector& x, const State& before) {
  const Vector sum = gate_input(layer, 0, x, before.h);
  return {for_units(layer, [&](Index, std::size_t u) { return layer.apply(0, sum[u]); }), {}};
}

State gru_step(const Layer& layer, const Vector& x, const State& before) {
  const Vector z_sum = gate_input(layer, 0, x, before.h), r_sum = gate_input(layer, 1, x, before.h);
  const Vector r = for_units(layer, [&](Index, std::size_t u) { return layer.apply(0, r_sum[u]); });
  const bool linear_first = layer.n.get<Index>("linear_before_reset", 0) != 0;
  Vector reset = before.h;
  if (!linear_first)
    for (std::size_t u = 0; u < reset.size(); ++u) reset[u] *= r[u];
  const Vector from_x = layer.of_input(2, x), from_h = layer.of_state(2, reset);
  return {for_units(layer,
                    [&](Index unit, std::size_t u) {
                      const double inner = from_h[u] + layer.bias(5, unit);
                      const double sum = from_x[u] + layer.bias(2, unit) + (linear_first ? r[u] * inner : inner);
                      const double z = layer.apply(0, z_sum[u]);
                      return (1 - z) * layer.apply(1, sum) + z * before.h[u];
                    }),
          {}};
}

State lstm_step(const Layer& layer, const Vector& x, const State& before) {
  enum Gate : Index { in, out, forget, cell };
  enum Peephole : Index { of_in, of_out, of_forget };
  std::vector<Vector> sums;
  for (const Index gate : {in, out, forget, cell}) sums.push_back(gate_input(layer, gate, x, before.h));
  const bool coupled = layer.n.get<Index>("input_forget", 0) != 0;
  State after;
  after.c = for_units(layer, [&](Index unit, std::size_t u) {
    const double i = layer.apply(0, sums[in][u] + layer.peephole(of_in, unit) * before.c[u]);
    const double f = layer.apply(0, sums[forget][u] + layer.peephole(of_forget, unit) * before.c[u]);
    return (coupled ? 1 - i : f) * before.c[u] + i * layer.apply(1, sums[cell][u]);
  });
  after.h = for_units(layer, [&](Index unit, std::size_t u) {
    return layer.apply(0, sums[out][u] + layer.peephole(of_out, unit) * after.c[u]) * layer.apply(2, after.c[u]);
  });
  return after;
}

/// Exchanges batch and time if `layout` has the batch first.
Array swapped(const Array& x, const Ints& order) {
  Ints shape;
  for (const Index axis : order) shape.push_back(x.extent(axis));
  return pick(x, shape, [&](const Ints& at) {
    Ints from(at.size());
    for (std::size_t d = 0; d < at.size(); ++d) from[static_cast<std::size_t>(order[d])] = at[d];
    return from;
  });
}

Vector row_of(const Array& x, Index row) {
  const Index width = x.shape.back();
  return {x.values.begin() + row * width, x.values.begin() + (row + 1) * width};
}
void put_row(Array& x, Index row, const Vector& values) {
  std::ranges::copy(values, x.values.begin() + row * x.shape.back());
}

/// Inputs: x, w, r, biases, lengths of sequences, initial h, initial c, peepholes. Outputs: y, last h, last c.
std::vector<Array> recur(const Operator& n, Index gates, const Strings& defaults, Step step) {
  const bool batch_first = n.get<Index>("layout", 0) != 0;
  const auto direction = n.get<std::string>("direction", "forward");
  const auto in_time = [&](std::size_t i) { return batch_first ? swapped(n.in(i), {1, 0, 2}) : n.in(i); };
  const Array x = in_time(0);
  const Index steps = x.extent(0), batch = x.extent(1), directions = n.in(1).extent(0), hidden = n.in(2).extent(2);
  Array y({steps, directions, batch, hidden}), last_h({directions, batch, hidden}), last_c = last_h;
  if (n.has(5)) last_h = in_time(5);
  if (n.has(6)) last_c = in_time(6);
  const std::vector<Activation> all = activations(n, defaults, static_cast<std::size_t>(directions));
  const auto count = static_cast<std::ptrdiff_t>(defaults.size());
  for (Index d = 0; d < directions; ++d) {
    const Layer layer{n, d, hidden, gates, {all.begin() + d * count, all.begin() + (d + 1) * count}};
    const bool reverse = direction == "reverse" || d == 1;
    for (Index b = 0; b < batch; ++b) {
      const Index length = n.has(4) ? integers(n.in(4))[static_cast<std::size_t>(b)] : steps;
      State state{row_of(last_h, d * batch + b), row_of(last_c, d * batch + b)};
      for (Index i = 0; i < length; ++i) {
        const Index t = reverse ? length - 1 - i : i;
        state = step(layer, row_of(x, t * batch + b), state);
        put_row(y, (t * directions + d) * batch + b, state.h);
      }
      put_row(last_h, d * batch + b, state.h);
      put_row(last_c, d * batch + b, state.c);
    }
  }
  if (!batch_first) return {y, last_h, last_c};
  return {swapped(y, {2, 0, 1, 3}), swapped(last_h, {1, 0, 2}), swapped(last_c, {1, 0, 2})};
}

std::vector<Array> rnn(const Operator& n) { return recur(n, 1, {"Tanh"}, rnn_step); }
std::vector<Array> gru(const Operator& n) { return recur(n, 3, {"Sigmoid", "Tanh"}, gru_step); }
std::vector<Array> lstm(const Operator& n) { return recur(n, 4, {"Sigmoid", "Tanh", "Tanh"}, lstm_step); }

/// Dequantizes 8-bit weights [directions, columns, rows] to [directions, rows, columns].
Array real_weights(const Operator& n, std::size_t weights, std::size_t scales) {
  const Array &w = n.in(weights), &scale = n.in(scales), &zero = n.in(scales + 1);
  Array real({w.extent(0), w.extent(2), w.extent(1)});
  Index at = 0;
  for (Index d = 0; d < real.extent(0); ++d)
    for (Index row = 0; row < real.extent(1); ++row)
      for (Index column = 0; column < real.extent(2); ++column) {
        const Index of_row = scale.shape.size() == 1 ? d : d * real.extent(1) + row;
        real[at++] = (w[(d * real.extent(2) + column) * real.extent(1) + row] - zero[of_row]) * scale[of_row];
      }
  return real;
}
/// Follows onnxruntime's documentation, but without quantizing the input and the state.
std::vector<Array> quantised_lstm(const Operator& n) {
  const Array of_input = real_weights(n, 1, 8), of_state = real_weights(n, 2, 10);
  Operator real = n;
  real.inputs.resize(8);
  real.inputs[1] = &of_input;
  real.inputs[2] = &of_state;
  return lstm(real);
}

} // namespace

Functions recurrent_operators() {
  return {{"RNN", rnn}, {"GRU", gru}, {"LSTM", lstm}, {"com.microsoft.DynamicQuantizeLSTM", quantised_lstm}};
}

} // namespace rtexec::test
