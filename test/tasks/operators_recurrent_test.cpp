// Tests recurrent layers against the oracle.
#include "test/tasks/onnx_oracle/cases.hpp"

#include <cmath>

namespace rtexec::test {
namespace {

struct Layer {
  std::string type;
  Index gates = 1, activations = 1;
  Strings functions; // two sets different from the default, for two directions
};
const std::vector<Layer> layers{{"RNN", 1, 1, {"Relu", "Sigmoid"}},
                                {"GRU", 3, 2, {"Sigmoid", "Softsign", "HardSigmoid", "Tanh"}},
                                {"LSTM", 4, 3, {"HardSigmoid", "Tanh", "Softsign", "Sigmoid", "Softsign", "Tanh"}}};

struct Size {
  Index steps = 5, batch = 2, input = 3, hidden = 4;

  [[nodiscard]] std::string text() const { return to_text({steps, batch, input, hidden}); }
};
const std::vector<Size> sizes{{}, {1, 1, 1, 1}, {3, 1, 33, 31}, {11, 3, 8, 16}, {2, 5, 1, 7}};

/// The optional inputs of a layer.
struct Given {
  std::string direction = "forward";
  bool bias = true, states = false, peepholes = false, batch_first = false;
  std::string lengths = {}; // "", "full", "some" or "run_time"

  [[nodiscard]] Index directions() const { return direction == "bidirectional" ? 2 : 1; }
  [[nodiscard]] std::string text() const {
    return direction + (bias ? "" : "_no_bias") + (states ? "_states" : "") + (peepholes ? "_peepholes" : "") +
           (batch_first ? "_batch_first" : "") + (lengths.empty() ? "" : "_" + lengths + "_lengths");
  }
};

std::string lengths(Model& m, const Given& given, const Size& size) {
  if (given.lengths.empty()) return "";
  Ints all;
  for (Index b = 0; b < size.batch; ++b)
    all.push_back(given.lengths == "full" ? size.steps : 1 + (b * 2 + 1) % size.steps);
  const Array array = integers_of({size.batch}, all, Kind::int32);
  return given.lengths == "run_time" ? m.input(array) : m.constant(array);
}

/// Adds a layer with one input, and returns all its outputs.
Names recur(Model& m, const Layer& layer, const Size& size, const Given& given, Attributes attributes = {}) {
  const Index directions = given.directions();
  const double scale = 1 / std::sqrt(static_cast<double>(size.hidden));
  const Range weights{-scale, scale};
  const auto in_order = [&](Index first) {
    return given.batch_first ? Ints{size.batch, first, 0} : Ints{first, size.batch, 0};
  };
  Ints x = in_order(size.steps), state = in_order(directions);
  x.back() = size.input;
  state.back() = size.hidden;
  Names from{m.input(x), m.constant({directions, layer.gates * size.hidden, size.input}, weights),
             m.constant({directions, layer.gates * size.hidden, size.hidden}, weights)};
  from.push_back(given.bias ? m.constant({directions, 2 * layer.gates * size.hidden}, {-0.5, 0.5}) : "");
  from.push_back(lengths(m, given, size));
  from.push_back(given.states ? m.input(state) : "");
  const bool cell = layer.type == "LSTM";
  if (cell) from.push_back(given.states ? m.input(state) : "");
  if (cell && given.peepholes) from.push_back(m.constant({directions, 3 * size.hidden}));
  while (from.back().empty()) from.pop_back();
  attributes["hidden_size"] = size.hidden;
  if (given.direction != "forward") attributes["direction"] = given.direction;
  if (given.batch_first) attributes["layout"] = Index{1};
  return m.nodes(layer.type, from, cell ? 3 : 2, attributes);
}

Case layer_case(const std::string& name, int opset, const Layer& layer, const Size& size, const Given& given,
                const Attributes& attributes = {}) {
  // A state is as exact as numbers near 1. The state of a single unit may be near zero.
  const double tolerance = size.hidden == 1 ? 10 * one_operator : one_operator;
  return make_case(
      layer.type + "_" + size.text() + "_" + given.text() + name, opset,
      [=](Model& m) { return recur(m, layer, size, given, attributes); }, tolerance);
}

Cases layer_cases() {
  Cases cases;
  for (const Layer& layer : layers)
    for (const std::string direction : {"forward", "reverse", "bidirectional"})
      for (const Size& size : sizes)
        for (const bool bias : {false, true})
          for (const bool states : {false, true})
            for (const int opset : {11, 14, 22})
              cases.push_back(layer_case("", opset, layer, size, {direction, bias, states}));
  return cases;
}

Cases attribute_cases() {
  Cases cases;
  for (const Layer& layer : layers)
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      const Given given{direction, true, true};
      const auto count = static_cast<std::size_t>(layer.activations * given.directions());
      const Strings functions(layer.functions.begin(), layer.functions.begin() + static_cast<std::ptrdiff_t>(count));
      cases.push_back(layer_case("_functions", 14, layer, {}, given, {{"activations", functions}}));
      // In two steps from zero no LSTM cell reaches 1. Implementations differ on clipping the cell.
      for (const float clip : layer.type == "LSTM" ? Floats{1} : Floats{0.1F, 0.5F})
        cases.push_back(layer_case("_clip" + std::to_string(std::lround(clip * 10)), 14, layer, {2, 2, 3, 4},
                                   {direction, true}, {{"clip", clip}}));
      for (const bool states : {false, true}) // layouts exist from opset 14 on
        cases.push_back(layer_case("", 14, layer, {}, {direction, true, states, false, true}));
      for (const std::string some : {"full", "some", "run_time"})
        for (const bool states : {false, true})
          cases.push_back(layer_case("", 14, layer, {7, 3, 4, 5}, {direction, true, states, false, false, some}));
    }
  const Layer &rnn = layers[0], &gru = layers[1], &lstm = layers[2];
  for (const std::string direction : {"forward", "reverse", "bidirectional"})
    for (const Size& size : sizes)
      for (const bool bias : {false, true}) {
        const Given given{direction, bias, true};
        cases.push_back(layer_case("_linear_first", 14, gru, size, given, {{"linear_before_reset", Index{1}}}));
        cases.push_back(layer_case("", 14, lstm, size, {direction, bias, true, true}));
      }
  // The weights fill a part or all of the registers of a cluster, or exceed them.
  for (const Index hidden : {50, 100, 250, 270}) {
    const Size size{3, 2, 5, hidden};
    cases.push_back(layer_case("", 14, rnn, size, {"forward", true, true}));
    cases.push_back(layer_case("", 14, lstm, size, {"reverse", true, true}));
    cases.push_back(
        layer_case("_linear_first", 14, gru, size, {"forward", true, true}, {{"linear_before_reset", Index{1}}}));
  }
  cases.push_back(layer_case("_coupled", 14, lstm, {}, {"forward", true, true}, {{"input_forget", Index{1}}}));
  const auto with_numbers = [](const Strings& functions, const Floats& alpha, const Floats& beta) {
    Attributes attributes{{"activations", functions}};
    if (!alpha.empty()) attributes["activation_alpha"] = alpha;
    if (!beta.empty()) attributes["activation_beta"] = beta;
    return attributes;
  };
  for (const std::string function : {"Elu", "LeakyRelu", "ThresholdedRelu"})
    cases.push_back(layer_case("_" + function, 14, rnn, {}, {}, with_numbers({function}, {0.4F}, {})));
  for (const std::string function : {"Affine", "ScaledTanh", "HardSigmoid"})
    cases.push_back(layer_case("_" + function, 14, rnn, {}, {}, with_numbers({function}, {0.4F}, {0.7F})));
  for (const std::string function : {"Softplus", "Softsign", "Relu", "Sigmoid", "Tanh"})
    cases.push_back(layer_case("_" + function, 14, rnn, {}, {}, with_numbers({function}, {}, {})));
  return cases;
}

/// Returns layers with 8-bit weights.
Cases quantised_cases() {
  Cases cases;
  for (const Kind kind : {Kind::int8, Kind::uint8})
    for (const std::string direction : {"forward", "reverse", "bidirectional"})
      for (const bool by_row : {false, true})
        cases.push_back(
            make_case(std::string("DynamicQuantizeLSTM_") + (kind == Kind::int8 ? "int8_" : "uint8_") + direction +
                          (by_row ? "_rows" : ""),
                      14, [=](Model& m) {
                        const Size size{5, 2, 6, 7};
                        const Index directions = direction == "bidirectional" ? 2 : 1, rows = 4 * size.hidden;
                        const double middle = kind == Kind::uint8 ? 128 : 0;
                        const auto weights = [&](Index columns) {
                          return m.integer_constant({directions, columns, rows}, {middle - 127, middle + 127}, kind);
                        };
                        const Ints of_rows = by_row ? Ints{directions, rows} : Ints{directions};
                        Names from{m.input({size.steps, size.batch, size.input}),
                                   weights(size.input),
                                   weights(size.hidden),
                                   m.constant({directions, 2 * rows}, {-0.5, 0.5}),
                                   "",
                                   m.input({directions, size.batch, size.hidden}),
                                   m.input({directions, size.batch, size.hidden}),
                                   ""};
                        for (int i = 0; i < 2; ++i) {
                          from.push_back(m.constant(of_rows, {0.002, 0.004}));
                          from.push_back(m.integer_constant(of_rows, {middle - 9, middle + 9}, kind));
                        }
                        return m.nodes("com.microsoft.DynamicQuantizeLSTM", from, 3,
                                       {{"hidden_size", size.hidden}, {"direction", direction}});
                      }));
  return cases;
}

/// Layers with these numbers of hidden units, each of which reads the states of the previous one. The other members say
/// which outputs are used.
struct Stack {
  Index steps = 6, batch = 1, input = 5;
  Ints hidden = {48, 48};
  std::string direction = "forward";
  bool states = false;    // the initial states are inputs of the network
  bool all_given = false; // true: all outputs of all layers; false: those of the last layer

  [[nodiscard]] std::string text() const {
    Ints all{steps, batch, input};
    all.insert(all.end(), hidden.begin(), hidden.end());
    return to_text(all) + "_" + direction + (states ? "_states" : "") + (all_given ? "_all_given" : "");
  }
};

Names recur(Model& m, const Layer& layer, const Stack& stack) {
  std::string x = m.input({stack.steps, stack.batch, stack.input});
  Index width = stack.input;
  Names given;
  const bool cell = layer.type == "LSTM";
  for (const Index& hidden : stack.hidden) {
    const double scale = 1 / std::sqrt(static_cast<double>(hidden));
    const Range weights{-scale, scale};
    Names from{x, m.constant({1, layer.gates * hidden, width}, weights),
               m.constant({1, layer.gates * hidden, hidden}, weights),
               m.constant({1, 2 * layer.gates * hidden}, {-0.5, 0.5})};
    if (stack.states) from.insert(from.end(), {"", m.input({1, stack.batch, hidden})});
    if (stack.states && cell) from.push_back(m.input({1, stack.batch, hidden}));
    Attributes attributes{{"hidden_size", hidden}, {"direction", stack.direction}};
    if (layer.type == "GRU") attributes["linear_before_reset"] = Index{1};
    const Names outputs = m.nodes(layer.type, from, cell ? 3 : 2, attributes);
    if (stack.all_given || &hidden == &stack.hidden.back()) given.insert(given.end(), outputs.begin(), outputs.end());
    x = m.node("Squeeze", {outputs.front(), m.integers({1})});
    width = hidden;
  }
  return given;
}

Cases stack_cases() {
  const std::vector<Stack> stacks{
      {},
      {7, 2, 33, {8, 20, 12}},
      {5, 2, 32, {48, 30}, "reverse"},
      {5, 1, 7, {9, 64}, "forward", false, true},
      {3, 2, 100, {40, 40, 40}},
      {1, 1, 64, {64, 64}},
      {4, 3, 9, {13}},
      {40, 1, 9, {13}}, // too many steps for a layer alone
      {4, 2, 100, {30, 32}, "reverse", false, true},
      {4, 2, 5, {9, 7}, "forward", true, true},
      {200, 1, 3, {4, 5, 3}}, // more steps than inputs fit into shared memory
      {3, 1, 4, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
  };
  Cases cases;
  for (const Layer& layer : layers)
    for (const Stack& stack : stacks)
      cases.push_back(make_case(
          layer.type + "_stack_" + stack.text(), 14, [=](Model& m) { return recur(m, layer, stack); }, 3e-5));
  return cases;
}

/// Returns networks of recurrent layers as exporters write them.
Cases network_cases() {
  Cases cases;
  const auto sequence_last = [](Model& m, const std::string& y, Index directions, const Size& size) {
    const std::string turned = m.node("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
    return m.node("Reshape", {turned, m.integers({0, 0, directions * size.hidden})});
  };
  for (const Layer& layer : layers) {
    cases.push_back(make_case(layer.type + "_two_layers", 14, [=](Model& m) {
      const Size size{6, 1, 5, 8};
      const std::string first = m.node("Squeeze", {recur(m, layer, size, {}).front(), m.integers({1})});
      const Index width = layer.gates * size.hidden;
      return m.nodes(layer.type,
                     {first, m.constant({1, width, 8}, {-0.3, 0.3}), m.constant({1, width, 8}, {-0.3, 0.3})}, 2,
                     {{"hidden_size", size.hidden}});
    }));
    cases.push_back(make_case(layer.type + "_bidirectional_and_a_product", 14, [=](Model& m) {
      const Size size{6, 2, 5, 8};
      const Names outputs = recur(m, layer, size, {"bidirectional"});
      const std::string sequence = sequence_last(m, outputs.front(), 2, size);
      return m.node("Add", {m.node("MatMul", {sequence, m.constant({16, 3})}), m.constant({3})});
    }));
    cases.push_back(make_case(layer.type + "_last_state", 14, [=](Model& m) {
      const Names outputs = recur(m, layer, {6, 2, 5, 8}, {"forward", true, true});
      return m.node("Gemm", {m.node("Squeeze", {outputs[1], m.integers({0})}), m.constant({8, 3})});
    }));
    cases.push_back(make_case(
        layer.type + "_long", 14,
        [=](Model& m) {
          return recur(m, layer, {97, 1, 8, 24}, {});
        },
        3e-5));
    cases.push_back(make_case(layer.type + "_variable_weights", 14, [=](Model& m) {
      const Index width = layer.gates * 4;
      return m.nodes(layer.type, {m.input({3, 2, 5}), m.input({1, width, 5}), m.input({1, width, 4})}, 2,
                     {{"hidden_size", Index{4}}});
    }));
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Recurrent, OnnxOperator, testing::ValuesIn(covering(layer_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(RecurrentAttributes, OnnxOperator, testing::ValuesIn(covering(attribute_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(RecurrentQuantised, OnnxOperator, testing::ValuesIn(covering(quantised_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(RecurrentStacks, OnnxOperator, testing::ValuesIn(covering(stack_cases())), name_of);
INSTANTIATE_TEST_SUITE_P(RecurrentNetworks, OnnxOperator, testing::ValuesIn(covering(network_cases())), name_of);

} // namespace
} // namespace rtexec::test
