#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace rtexec::tasks::onnx_source {
namespace {

using Kind = Recurrent::Kind;

/// The properties in which LSTM, GRU and RNN differ.
struct Layer {
  Kind kind;
  std::int64_t gates;
  std::vector<std::string> activations; // default activations of one direction
};

struct Sequence {
  std::int64_t steps, batch, size;
  bool batch_first;
};

/// Creates the activations that a node names. It takes their parameters from the node's attributes, in order.
class Activations {
 public:
  explicit Activations(NodeContext& node)
      : node_(node),
        alphas_(node.attribute<std::vector<float>>("activation_alpha", {})),
        betas_(node.attribute<std::vector<float>>("activation_beta", {})) {}

  Activation next(const std::string& given) {
    using enum Activation::Kind;
    std::string name = given;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (name == "sigmoid") return {sigmoid};
    if (name == "tanh") return {tanh};
    if (name == "relu") return {relu};
    if (name == "softsign") return {softsign};
    if (name == "softplus") return {softplus};
    if (name == "leakyrelu") return {leaky_relu, alpha(0.01F)};
    if (name == "thresholdedrelu") return {thresholded_relu, alpha(1)};
    if (name == "elu") return {elu, alpha(1)};
    if (name == "affine") return with_beta(scale, 1, 0);
    if (name == "hardsigmoid") return with_beta(hard_sigmoid, 0.2F, 0.5F);
    if (name == "scaledtanh") return with_beta(scaled_tanh, 1, 1);
    node_.unsupported(
        "activation " + config::quoted(given) +
        "; supported: Affine, Elu, HardSigmoid, LeakyRelu, Relu, ScaledTanh, Sigmoid, Softplus, Softsign, "
        "Tanh, ThresholdedRelu");
  }

 private:
  float alpha(float fallback) { return alpha_ < alphas_.size() ? alphas_[alpha_++] : fallback; }
  Activation with_beta(Activation::Kind kind, float a, float b) {
    a = alpha(a);
    return {kind, a, beta_ < betas_.size() ? betas_[beta_++] : b};
  }

  NodeContext& node_;
  std::vector<float> alphas_, betas_;
  std::size_t alpha_ = 0, beta_ = 0;
};

/// Returns a part of a tensor x [directions, ...]: direction number `direction`, without dimension 0. The part has
/// `count` entries of the next dimension, beginning with entry `first`.
TensorId part(NodeContext& node, TensorId x, const Shape& shape, std::int64_t direction, std::int64_t first,
              std::int64_t count) {
  const auto strides = dense_strides(shape);
  Shape to(shape.begin() + 1, shape.end());
  to[0] = count;
  View view{direction * strides[0] + first * strides[1], {strides.begin() + 1, strides.end()}};
  return node.emit(std::move(view), {x}, std::move(to));
}

/// The weights of all gates. The weights of the input have the shape [directions, gates * hidden, size], and the
/// weights of the state have the shape [directions, gates * hidden, hidden].
struct Weights {
  TensorId input, state;
};
Weights given_weights(NodeContext& node) {
  static_cast<void>(node.shape_of_rank(2, 3));
  return {node.tensor(1), node.tensor(2)};
}

/// Returns dequantized and transposed weights. The node's input has the shape [directions, columns, gates * hidden] and
/// 8-bit elements. There is a scale and a zero point for each direction, or for each row of the result.
TensorId real_weights(NodeContext& node, std::size_t input, std::size_t scale) {
  auto shape = node.shape_of_rank(input, 3);
  const auto spread = [&](std::size_t of) {
    auto line = node.shape(of);
    node.require(line == Shape{shape[0]} || line == Shape{shape[0], shape[2]},
                 "the shape of its scale or zero point does not match its weights");
    line.insert(line.begin() + 1, 1);
    if (line.size() < 3) line.push_back(1);
    return node.emit(Reshape{}, {node.cast(node.tensor(of), ElementType::float32)}, std::move(line));
  };
  auto real = node.cast(node.tensor(input), ElementType::float32);
  if (node.has(scale + 1)) real = node.emit(Binary{Binary::Kind::subtract}, {real, spread(scale + 1)}, shape);
  real = node.emit(Binary{Binary::Kind::multiply}, {real, spread(scale)}, shape);
  const auto strides = dense_strides(shape);
  std::swap(shape[1], shape[2]);
  return node.emit(View{0, {strides[0], strides[2], strides[1]}}, {real}, std::move(shape));
}

class Builder {
 public:
  Builder(NodeContext& node, Layer layer, const Weights& weights)
      : node_(node), layer_(std::move(layer)), weights_(weights), activations_(node) {
    const auto x = node.shape_of_rank(0, 3);
    if (node.is_empty(0)) node.unsupported("its sequence has no elements; leave the node out of the model");
    const bool batch_first = node.opset() >= 14 && node.attribute<std::int64_t>("layout", 0) != 0;
    sequence_ = {x[batch_first ? 1 : 0], x[batch_first ? 0 : 1], x[2], batch_first};
    const auto way = node.attribute<std::string>("direction", "forward");
    if (way != "forward" && way != "reverse" && way != "bidirectional") node.bad("direction is " + config::quoted(way));
    both_ = way == "bidirectional";
    reverse_ = way == "reverse";
    hidden_ = node.shape_of(weights.state)[2];
    node.require(node.attribute<std::int64_t>("hidden_size", hidden_) == hidden_,
                 "hidden_size contradicts its weights");
    require_shape(1, weights_.input, {directions(), layer_.gates * hidden_, sequence_.size});
    require_shape(2, weights_.state, {directions(), layer_.gates * hidden_, hidden_});
    if (node.has(3)) require_shape(3, {directions(), 2 * layer_.gates * hidden_});
    names_ = node.attribute<std::vector<std::string>>("activations", {});
    const auto wanted = layer_.activations.size() * static_cast<std::size_t>(directions());
    if (!names_.empty() && names_.size() != wanted)
      node.bad("attribute 'activations' has " + std::to_string(names_.size()) + " names, and it needs " +
               std::to_string(wanted) + ": " + std::to_string(layer_.activations.size()) + " for each direction");
    coupled_ = layer_.kind == Kind::lstm && node.attribute<std::int64_t>("input_forget", 0) != 0;
    for (std::size_t i = 0; coupled_ && i < names_.size(); i += layer_.activations.size())
      if (names_[i] != "Sigmoid")
        node.unsupported("input_forget with " + config::quoted(names_[i]) + "; supported: with Sigmoid");
    if (node.has(4)) lengths_ = lengths();
    if (node.has_attribute("clip")) clip_ = node.attribute<float>("clip");
    late_reset_ = layer_.kind == Kind::gru && node.attribute<std::int64_t>("linear_before_reset", 0) != 0;
  }

  void build() {
    auto x = node_.tensor(0);
    if (sequence_.batch_first)
      x = node_.emit(View{0, {sequence_.size, sequence_.steps * sequence_.size, 1}}, {x},
                     {sequence_.steps, sequence_.batch, sequence_.size});
    const Shape rows{sequence_.steps * sequence_.batch, sequence_.size};
    x = node_.emit(Reshape{}, {x}, rows);
    std::vector<TensorId> states, last_states, last_cells;
    for (std::int64_t d = 0; d < directions(); ++d) {
      const bool reverse = reverse_ || d == 1;
      const auto y = direction(x, d, reverse);
      states.push_back(inside(slice(y, 0, sequence_.steps, {sequence_.steps, 1, sequence_.batch, hidden_})));
      last_states.push_back(slice(y, reverse ? 0 : sequence_.steps - 1, 1, {1, sequence_.batch, hidden_}));
      if (layer_.kind == Kind::lstm) last_cells.push_back(slice(y, sequence_.steps, 1, {1, sequence_.batch, hidden_}));
    }
    set(0, states, 1, {sequence_.steps, directions(), sequence_.batch, hidden_});
    set(1, last_states, 0, {directions(), sequence_.batch, hidden_});
    if (layer_.kind == Kind::lstm) set(2, last_cells, 0, {directions(), sequence_.batch, hidden_});
  }

 private:
  [[nodiscard]] std::int64_t directions() const { return both_ ? 2 : 1; }

  void require_shape(std::size_t input, const Shape& shape) { require_shape(input, node_.tensor(input), shape); }
  void require_shape(std::size_t input, TensorId tensor, const Shape& shape) {
    if (node_.shape_of(tensor) != shape)
      node_.bad("input " + node_.name_of(input) + " has the shape " + to_string(node_.shape_of(tensor)) +
                ", but should have " + to_string(shape));
  }

  /// Returns the sequence lengths, or nullopt if all sequences are as long as the number of steps.
  std::optional<TensorId> lengths() {
    require_shape(4, {sequence_.batch});
    if (node_.is_known(4)) {
      const auto known = node_.ints(4, "the lengths");
      if (std::ranges::all_of(known, [&](auto n) { return n == sequence_.steps; })) return {};
      node_.require(std::ranges::all_of(known, [&](auto n) { return n >= 0 && n <= sequence_.steps; }),
                    "a sequence is longer than its input");
    }
    return node_.cast(node_.tensor(4), ElementType::float32);
  }

  /// Returns `states`, set to zero in the steps after the end of each sequence.
  TensorId inside(TensorId states) {
    if (!lengths_) return states;
    const auto numbers = node_.filled({sequence_.steps, 1, 1, 1}, [](std::int64_t i) { return static_cast<float>(i); });
    const auto ends = node_.emit(Reshape{}, {*lengths_}, {sequence_.batch, 1});
    const auto before = node_.emit(Binary{Binary::Kind::less}, {numbers, ends},
                                   {sequence_.steps, 1, sequence_.batch, 1}, ElementType::boolean);
    return node_.emit(Where{}, {before, states, node_.constant({}, {0})}, node_.shape_of(states), ElementType::float32);
  }

  /// Returns `rows` (weights, biases or peepholes) for an LSTM with coupled gates (input_forget). The forget gate of
  /// such an LSTM is 1 minus the input gate: a sigmoid of the negated rows of the input gate.
  TensorId coupled(TensorId rows) {
    if (!coupled_) return rows;
    const auto shape = node_.shape_of(rows);
    const auto block = [&](std::int64_t first, std::int64_t count) {
      auto part = shape;
      part[0] = count * hidden_;
      return node_.emit(View{first * hidden_ * product(shape, 1, shape.size()), dense_strides(shape)}, {rows},
                        std::move(part));
    };
    auto half = shape;
    half[0] = hidden_;
    const auto forget = node_.emit(Activation{Activation::Kind::scale, -1, 0}, {block(0, 1)}, std::move(half));
    std::vector<TensorId> blocks{block(0, 2), forget};
    if (shape[0] > 3 * hidden_) blocks.push_back(block(3, 1));
    return node_.emit(Concat{0}, std::move(blocks), shape);
  }

  TensorId direction(TensorId x, std::int64_t d, bool reverse) {
    const auto width = layer_.gates * hidden_;
    const Shape weights{directions(), width, sequence_.size}, recurrence{directions(), width, hidden_};
    std::vector<TensorId> product{x, coupled(part(node_, weights_.input, weights, d, 0, width))};
    std::optional<TensorId> late_bias;
    if (node_.has(3)) {
      const auto bias = coupled(biases(d));
      product.push_back(bias);
      if (late_reset_) late_bias = bias_part(d, width + 2 * hidden_, hidden_);
    }
    const auto flat =
        node_.emit(Gemm{false, true, 1, 1}, std::move(product), {sequence_.steps * sequence_.batch, width});
    const auto gates = node_.emit(Reshape{}, {flat}, {sequence_.steps, sequence_.batch, width});
    Recurrent recurrent{layer_.kind, reverse, late_reset_, false, lengths_.has_value(), clip_, {}};
    for (std::size_t i = 0; i < layer_.activations.size(); ++i) {
      const auto at = static_cast<std::size_t>(d) * layer_.activations.size() + i;
      recurrent.activations[i] = activations_.next(at < names_.size() ? names_[at] : layer_.activations[i]);
    }
    std::vector<TensorId> inputs{gates, coupled(part(node_, weights_.state, recurrence, d, 0, width)), first(5, d)};
    auto steps = sequence_.steps;
    if (layer_.kind == Kind::lstm) {
      inputs.push_back(first(6, d));
      ++steps;
      if (node_.has(7)) {
        recurrent.peepholes = true;
        require_shape(7, {directions(), 3 * hidden_});
        inputs.push_back(coupled(part(node_, node_.tensor(7), {directions(), 3 * hidden_}, d, 0, 3 * hidden_)));
      }
    }
    if (late_reset_) inputs.push_back(late_bias ? *late_bias : zeros({hidden_}));
    if (lengths_) inputs.push_back(*lengths_);
    return node_.emit(std::move(recurrent), std::move(inputs), {steps, sequence_.batch, hidden_});
  }

  TensorId bias_part(std::int64_t d, std::int64_t first, std::int64_t count) {
    return part(node_, node_.tensor(3), {directions(), 2 * layer_.gates * hidden_}, d, first, count);
  }

  /// Returns the sum of the biases of input and state in direction `d`. With a late reset the sum excludes the state's
  /// bias of the hidden gate, because the kernel adds that bias before the reset.
  TensorId biases(std::int64_t d) {
    const auto width = layer_.gates * hidden_, early = late_reset_ ? 2 * hidden_ : width;
    auto of_state = bias_part(d, width, early);
    if (late_reset_) of_state = node_.emit(Pad{{0}, 0}, {of_state}, {width});
    return node_.emit(Binary{Binary::Kind::add}, {bias_part(d, 0, width), of_state}, {width});
  }

  TensorId zeros(Shape shape) {
    return node_.filled(std::move(shape), [](std::int64_t) { return 0.0F; });
  }

  /// Returns the initial state or the initial cell of direction `d`.
  TensorId first(std::size_t input, std::int64_t d) {
    const Shape shape{sequence_.batch, hidden_};
    if (!node_.has(input)) return zeros(shape);
    const auto strides = sequence_.batch_first ? std::vector<std::int64_t>{directions() * hidden_, 1}
                                               : std::vector<std::int64_t>{hidden_, 1};
    require_shape(input, sequence_.batch_first ? Shape{sequence_.batch, directions(), hidden_}
                                               : Shape{directions(), sequence_.batch, hidden_});
    const auto offset = d * (sequence_.batch_first ? hidden_ : sequence_.batch * hidden_);
    return node_.emit(View{offset, strides}, {node_.tensor(input)}, shape);
  }

  TensorId slice(TensorId y, std::int64_t step, std::int64_t count, Shape shape) {
    const auto size = sequence_.batch * hidden_;
    const auto part = node_.emit(View{step * size, {size, 1}}, {y}, {count, size});
    return node_.emit(Reshape{}, {part}, std::move(shape));
  }

  void set(std::size_t output, const std::vector<TensorId>& parts, std::size_t axis, Shape shape) {
    if (output >= node_.outputs()) return;
    auto y = parts.size() == 1 ? parts[0] : node_.emit(Concat{axis}, parts, shape);
    if (sequence_.batch_first) {
      // Moves the batch to the first dimension.
      const auto strides = dense_strides(shape);
      const auto batch = shape.size() - 2;
      Shape to{shape[batch]};
      View view{0, {strides[batch]}};
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (d != batch) to.push_back(shape[d]), view.strides.push_back(strides[d]);
      y = node_.emit(std::move(view), {y}, std::move(to));
    }
    node_.set_output(y, output);
  }

  NodeContext& node_;
  Layer layer_;
  Weights weights_;
  Activations activations_;
  Sequence sequence_{};
  std::int64_t hidden_ = 1;
  bool both_ = false, reverse_ = false, late_reset_ = false, coupled_ = false;
  std::vector<std::string> names_;
  std::optional<float> clip_;
  std::optional<TensorId> lengths_;
};

const Layer usual_lstm{Kind::lstm, 4, {"Sigmoid", "Tanh", "Tanh"}};
void lstm(NodeContext& node) { Builder(node, usual_lstm, given_weights(node)).build(); }
void gru(NodeContext& node) { Builder(node, {Kind::gru, 3, {"Sigmoid", "Tanh"}}, given_weights(node)).build(); }
void rnn(NodeContext& node) { Builder(node, {Kind::simple, 1, {"Tanh"}}, given_weights(node)).build(); }
/// Lowers the LSTM with 8-bit weights. Input and state remain floats: quantizing them would save nothing here.
void quantised_lstm(NodeContext& node) {
  Builder(node, usual_lstm, {real_weights(node, 1, 8), real_weights(node, 2, 10)}).build();
}

} // namespace

void add_recurrent_operators(OperatorTable& table) {
  table["LSTM"] = {lstm, "input_forget with Sigmoid only; sequences of different lengths on the host device only"};
  table["GRU"] = {gru, "sequences of different lengths on the host device only"};
  table["RNN"] = {rnn, "sequences of different lengths on the host device only"};
  table["com.microsoft.DynamicQuantizeLSTM"] = {quantised_lstm, "as LSTM; computed in floats", 10};
}

} // namespace rtexec::tasks::onnx_source
