// Steps over sequences: one after the other, each from the state that the one before left.
#include "tasks/dnn/kernels/elementwise.hpp"
#include "tasks/dnn/kernels/gemm.hpp"
#include "tasks/dnn/kernels/steps.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::tasks::kernels {
namespace {

class RecurrentStep final : public Step {
 public:
  RecurrentStep(const Recurrent& recurrent, const Shape& gates, const Shape& state)
      : r_(recurrent), steps_(gates[0]), batch_(gates[1]), hidden_(state[1]), width_(gates[2]) {}

  /// The gates of one step, and of a GRU its state times its reset gate.
  std::size_t workspace() const override { return static_cast<std::size_t>(batch_ * (width_ + hidden_)); }

  void run(const Operands& o) const noexcept override {
    const auto size = batch_ * hidden_;
    const float* state = o.inputs[2];
    float* const cell = r_.kind == Recurrent::Kind::lstm ? o.output + steps_ * size : nullptr;
    if (cell) copy(cell, o.inputs[3], size);
    for (std::int64_t i = 0; i < steps_; ++i) {
      const auto step = r_.reverse ? steps_ - 1 - i : i;
      const float* gates = o.inputs[0] + step * batch_ * width_;
      float* const y = o.output + step * size;
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

 private:
  static void copy(float* y, const float* x, std::int64_t n) noexcept {
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(float));
  }

  /// The end of a sequence.
  [[nodiscard]] bool is_behind(const Operands& o, std::int64_t step, std::int64_t b) const noexcept {
    return r_.lengths && static_cast<float>(step) >= o.inputs.back()[b];
  }

  [[nodiscard]] std::size_t h() const { return static_cast<std::size_t>(hidden_); }

  void activated(std::size_t which, float* x) const noexcept {
    if (r_.clip) activate({Activation::Kind::clip, -*r_.clip, *r_.clip}, x, x, h());
    activate(r_.activations[which], x, x, h());
  }

  /// to [batch, rows] = state times the transpose of `rows` of the weights.
  void multiply_state(float* to, const float* state, const float* weights, std::int64_t rows,
                      std::int64_t leading) const noexcept {
    multiply(batch_, rows, hidden_, 1, {state, hidden_, false}, {weights, hidden_, true}, to, leading);
  }

  void add(float* y, const float* x, std::int64_t n) const noexcept {
    combine(Binary::Kind::add, y, y, 1, x, 1, static_cast<std::size_t>(n));
  }

  void simple(const Operands& o, const float* gates, const float* state, float* y) const noexcept {
    multiply_state(o.workspace, state, o.inputs[1], hidden_, hidden_);
    add(o.workspace, gates, batch_ * hidden_);
    for (std::int64_t b = 0; b < batch_; ++b) activated(0, o.workspace + b * hidden_);
    copy(y, o.workspace, batch_ * hidden_);
  }

  void lstm(const Operands& o, std::int64_t step, const float* gates, const float* state, float* cells,
            float* y) const noexcept {
    multiply_state(o.workspace, state, o.inputs[1], width_, width_);
    add(o.workspace, gates, batch_ * width_);
    const float* const peepholes = r_.peepholes ? o.inputs[4] : nullptr;
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

  /// gate += weights times cell; `room` takes the product.
  void peep(float* gate, const float* weights, const float* cell, float* room) const noexcept {
    combine(Binary::Kind::multiply, room, weights, 1, cell, 1, h());
    add(gate, room, hidden_);
  }

  void times(float* y, const float* x) const noexcept { combine(Binary::Kind::multiply, y, y, 1, x, 1, h()); }

  void gru(const Operands& o, const float* gates, const float* state, float* y) const noexcept {
    float *const sums = o.workspace, *const reset_state = o.workspace + batch_ * width_;
    multiply_state(sums, state, o.inputs[1], r_.late_reset ? width_ : 2 * hidden_, width_);
    for (std::int64_t b = 0; b < batch_; ++b) {
      float *update = sums + b * width_, *reset = update + hidden_;
      add(update, gates + b * width_, 2 * hidden_);
      activated(0, update);
      activated(0, reset);
      if (!r_.late_reset)
        combine(Binary::Kind::multiply, reset_state + b * hidden_, state + b * hidden_, 1, reset, 1, h());
    }
    if (!r_.late_reset)
      multiply_state(sums + 2 * hidden_, reset_state, o.inputs[1] + 2 * hidden_ * hidden_, hidden_, width_);
    for (std::int64_t b = 0; b < batch_; ++b) {
      float *update = sums + b * width_, *reset = update + hidden_, *candidate = reset + hidden_;
      if (r_.late_reset) {
        add(candidate, o.inputs[3], hidden_);
        times(candidate, reset);
      }
      add(candidate, gates + b * width_ + 2 * hidden_, hidden_);
      activated(1, candidate);
      // candidate + update (state - candidate)
      float* const next = reset;
      combine(Binary::Kind::subtract, next, state + b * hidden_, 1, candidate, 1, h());
      times(next, update);
      add(next, candidate, hidden_);
      copy(y + b * hidden_, next, hidden_);
    }
  }

  Recurrent r_;
  std::int64_t steps_, batch_, hidden_, width_;
};

} // namespace

StepPointer make_step(const Graph& graph, const Node& node, const Recurrent& recurrent) {
  const auto shape = [&](std::size_t input) -> const Shape& { return graph.tensors[node.inputs[input]].shape; };
  return std::make_unique<RecurrentStep>(recurrent, shape(0), shape(2));
}

} // namespace rtexec::tasks::kernels
