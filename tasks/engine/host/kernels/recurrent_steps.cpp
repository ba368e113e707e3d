// Recurrent layers. They process a sequence step by step, and each step starts from the state of the previous step.
#include "tasks/engine/host/kernels/elementwise.hpp"
#include "tasks/engine/host/kernels/steps.hpp"
#include "tasks/engine/host/kernels/tiled_product.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

/// The product of the state and the transposed weights. The first rows of the weights may be multiplied separately from
/// the rest.
class StateProducts {
 public:
  StateProducts(std::int64_t batch, std::int64_t hidden, std::int64_t rows, std::int64_t first)
      : first_rows_(first),
        hidden_(hidden),
        first_({batch, first, hidden, false, true}),
        rest_({batch, std::max<std::int64_t>(rows - first, 1), hidden, false, true}),
        has_rest_(rows > first) {}

  [[nodiscard]] std::int64_t packed() const { return first_.packed_b() + (has_rest_ ? rest_.packed_b() : 0); }
  void pack(float* to, const float* weights) const noexcept {
    first_.pack_b(to, weights);
    if (has_rest_) rest_.pack_b(to + first_.packed_b(), weights + first_rows_ * hidden_);
  }

  [[nodiscard]] std::int64_t workspace() const { return std::max(first_.workspace(), rest_.workspace()); }
  void multiply_first(float* to, const float* state, const float* packed, float* workspace) const noexcept {
    first_.run(state, packed, to, workspace, [](auto, auto) {});
  }
  void multiply_rest(float* to, const float* state, const float* packed, float* workspace) const noexcept {
    rest_.run(state, packed + first_.packed_b(), to, workspace, [](auto, auto) {});
  }

 private:
  std::int64_t first_rows_, hidden_;
  TiledProduct first_, rest_;
  bool has_rest_;
};

class RecurrentStep final : public Step {
 public:
  RecurrentStep(const Recurrent& recurrent, const Shape& gates, const Shape& state, bool packed)
      : r_(recurrent),
        steps_(gates[0]),
        batch_(gates[1]),
        hidden_(state[1]),
        width_(gates[2]),
        packed_(packed),
        products_(batch_, hidden_, width_, resets_early() ? 2 * hidden_ : width_) {}

  std::size_t workspace() const override {
    return static_cast<std::size_t>(sums_size() + products_.workspace() + (packed_ ? 0 : products_.packed()));
  }

  std::string packing() const override {
    return packed_ ? packing_name("state", {hidden_, width_, resets_early()}) : "";
  }
  std::vector<float> pack(const std::vector<float>& weights) const override {
    std::vector<float> packed(static_cast<std::size_t>(products_.packed()));
    products_.pack(packed.data(), weights.data());
    return packed;
  }

  void run(const Operands& given) const noexcept override {
    if (packed_) return run_packed(given);
    float* const packed = given.workspace + sums_size() + products_.workspace();
    products_.pack(packed, given.input(1));
    std::array<const void*, max_inputs> inputs{};
    std::ranges::copy(given.inputs, inputs.begin());
    inputs[1] = packed;
    run_packed({std::span(inputs).first(given.inputs.size()), given.output(), given.workspace});
  }

 private:
  static constexpr std::size_t max_inputs = 6;

  void run_packed(const Operands& o) const noexcept {
    const auto size = batch_ * hidden_;
    const float* state = o.input(2);
    float* const cell = r_.kind == Recurrent::Kind::lstm ? o.output() + steps_ * size : nullptr;
    if (cell) copy(cell, o.input(3), size);
    for (std::int64_t i = 0; i < steps_; ++i) {
      const auto step = r_.reverse ? steps_ - 1 - i : i;
      const float* gates = o.input(0) + step * batch_ * width_;
      float* const y = o.output() + step * size;
      switch (r_.kind) {
      case Recurrent::Kind::lstm: lstm(o, step, gates, state, cell, y); break;
      case Recurrent::Kind::gru: gru(o, gates, state, y); break;
      case Recurrent::Kind::simple: simple(o, gates, state, y); break;
      }
      for (std::int64_t b = 0; b < batch_; ++b)
        if (is_behind(o, step, b)) copy(y + b * hidden_, state + b * hidden_, hidden_);
      state = y;
    }
  }

  [[nodiscard]] bool resets_early() const { return r_.kind == Recurrent::Kind::gru && !r_.late_reset; }
  /// Returns the number of floats that hold the gates of one step and, for a GRU, the product of state and reset gate.
  /// The number is rounded up to whole vectors.
  [[nodiscard]] std::int64_t sums_size() const { return rounded_up(batch_ * (width_ + hidden_), 16); }

  static void copy(float* y, const float* x, std::int64_t n) noexcept {
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
  }

  /// True if sequence number `b` ended before step number `step`.
  [[nodiscard]] bool is_behind(const Operands& o, std::int64_t step, std::int64_t b) const noexcept {
    return r_.lengths && static_cast<float>(step) >= o.input(o.inputs.size() - 1)[b];
  }

  [[nodiscard]] std::size_t h() const { return static_cast<std::size_t>(hidden_); }

  void activated(std::size_t which, float* x) const noexcept {
    if (r_.clip) activate({Activation::Kind::clip, -*r_.clip, *r_.clip}, x, x, h());
    activate(r_.activations[which], x, x, h());
  }

  void multiply_state(const Operands& o, const float* state) const noexcept {
    products_.multiply_first(o.workspace, state, o.input(1), o.workspace + sums_size());
  }

  void add(float* y, const float* x, std::int64_t n) const noexcept {
    combine(Binary::Kind::add, y, y, 1, x, 1, static_cast<std::size_t>(n));
  }

  void simple(const Operands& o, const float* gates, const float* state, float* y) const noexcept {
    multiply_state(o, state);
    add(o.workspace, gates, batch_ * hidden_);
    for (std::int64_t b = 0; b < batch_; ++b) activated(0, o.workspace + b * hidden_);
    copy(y, o.workspace, batch_ * hidden_);
  }

  void lstm(const Operands& o, std::int64_t step, const float* gates, const float* state, float* cells,
            float* y) const noexcept {
    multiply_state(o, state);
    add(o.workspace, gates, batch_ * width_);
    const float* const peepholes = r_.peepholes ? o.input(4) : nullptr;
    for (std::int64_t b = 0; b < batch_; ++b) {
      if (is_behind(o, step, b)) continue;
      float *in = o.workspace + b * width_, *out = in + hidden_, *forget = out + hidden_, *candidate = forget + hidden_;
      float *cell = cells + b * hidden_, *next = y + b * hidden_;
      if (peepholes) {
        peep(in, peepholes, cell, next);
        peep(forget, peepholes + 2 * hidden_, cell, next);
      }
      activated(0, in);
      activated(0, forget);
      activated(1, candidate);
      times(cell, forget);
      times(in, candidate);
      add(cell, in, hidden_);
      if (peepholes) peep(out, peepholes + hidden_, cell, next);
      activated(0, out);
      activate(r_.activations[2], next, cell, h());
      times(next, out);
    }
  }

  /// Adds weights * cell to the gate (the peephole connection). `room` is memory for hidden_ floats, which holds the
  /// product.
  void peep(float* gate, const float* weights, const float* cell, float* room) const noexcept {
    combine(Binary::Kind::multiply, room, weights, 1, cell, 1, h());
    add(gate, room, hidden_);
  }

  void times(float* y, const float* x) const noexcept { combine(Binary::Kind::multiply, y, y, 1, x, 1, h()); }

  /// Computes one step of a GRU. With a late reset, the recurrent weights of the candidate are multiplied together with
  /// the weights of the gates. With an early reset the weights of the candidate are multiplied separately, by the state
  /// that the reset gate has scaled.
  void gru(const Operands& o, const float* gates, const float* state, float* y) const noexcept {
    const bool early = resets_early();
    const auto pitch = early ? 2 * hidden_ : width_;
    float *const sums = o.workspace, *const reset_state = sums + batch_ * width_;
    float* const candidates = sums + (early ? batch_ : 1) * 2 * hidden_;
    const auto pitch_candidates = early ? hidden_ : width_;
    multiply_state(o, state);
    for (std::int64_t b = 0; b < batch_; ++b) {
      float *update = sums + b * pitch, *reset = update + hidden_;
      add(update, gates + b * width_, 2 * hidden_);
      activated(0, update);
      activated(0, reset);
      if (early) combine(Binary::Kind::multiply, reset_state + b * hidden_, state + b * hidden_, 1, reset, 1, h());
    }
    if (early) products_.multiply_rest(candidates, reset_state, o.input(1), o.workspace + sums_size());
    for (std::int64_t b = 0; b < batch_; ++b) {
      float *update = sums + b * pitch, *reset = update + hidden_, *candidate = candidates + b * pitch_candidates;
      if (r_.late_reset) {
        add(candidate, o.input(3), hidden_);
        times(candidate, reset);
      }
      add(candidate, gates + b * width_ + 2 * hidden_, hidden_);
      activated(1, candidate);
      // Computes candidate + update * (state - candidate).
      float* const next = reset;
      combine(Binary::Kind::subtract, next, state + b * hidden_, 1, candidate, 1, h());
      times(next, update);
      add(next, candidate, hidden_);
      copy(y + b * hidden_, next, hidden_);
    }
  }

  Recurrent r_;
  std::int64_t steps_, batch_, hidden_, width_;
  bool packed_; // true: the weights are constant and packed in advance
  StateProducts products_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Recurrent& recurrent) {
  const auto shape = [&](std::size_t input) -> const Shape& { return graph.tensors[node.inputs[input]].shape; };
  return std::make_unique<RecurrentStep>(recurrent, shape(0), shape(2), graph.tensors[node.inputs[1]].constant());
}

} // namespace rtexec::tasks::kernels
