// Tests whole graphs against the oracle. Fusion by passes, execution in place, and the placement of tensors in memory
// must not affect results.
#include "test/support/rounds.hpp"
#include "test/tasks/onnx_oracle/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rtexec::test {
namespace {

using Names = std::vector<std::string>;

std::string conv(Model& m, const std::string& x, Index filters, Index kernel = 3, Index groups = 1, bool bias = true) {
  const Index channels = m.value(x).extent(1) / groups;
  const double scale = 1.7 / std::sqrt(static_cast<double>(channels * kernel * kernel));
  Names from{x, m.constant({filters, channels, kernel, kernel}, {-scale, scale})};
  if (bias) from.push_back(m.constant({filters}, {-0.5, 0.5}));
  return m.node("Conv", from,
                {{"group", groups}, {"pads", Ints{kernel / 2, kernel / 2, (kernel - 1) / 2, (kernel - 1) / 2}}});
}

std::string normalization(Model& m, const std::string& x) {
  const Ints channels{m.value(x).extent(1)};
  return m.node("BatchNormalization", {x, m.constant(channels, {0.5, 1.5}), m.constant(channels, {-0.5, 0.5}),
                                       m.constant(channels, {-0.5, 0.5}), m.constant(channels, {0.5, 1.5})});
}

/// Grows a graph, node by node, from the existing tensors.
class Grower {
 public:
  explicit Grower(std::uint64_t seed) : random_(seed), model_(seed, 14 + static_cast<int>(seed % 10)) {}

  Model grow() {
    const Index channels = between(1, 12), height = between(4, 11), width = between(4, 11),
                batch = between(0, 4) == 0 ? 2 : 1;
    for (Index i = between(1, 3); i > 0; --i) {
      inputs_.push_back(model_.input({batch, channels, height, width}));
      maps_.push_back(inputs_.back());
    }
    const Index steps = between(2, 16);
    while (static_cast<Index>(made_.size()) < steps) step();
    if (between(0, 2) == 0) head();
    choose_outputs();
    return std::move(model_);
  }

 private:
  Index between(Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(random_); }
  bool chance(Index one_in) { return between(1, one_in) == 1; }
  const std::string& any(const Names& names) {
    return names[static_cast<std::size_t>(between(0, std::ssize(names) - 1))];
  }
  /// Returns a map, preferably a recent one, so that graphs grow deep.
  const std::string& map() { return chance(2) ? any(maps_) : maps_.back(); }
  const Array& value(const std::string& name) { return model_.value(name); }

  std::string keep(const std::string& name) {
    maps_.push_back(name);
    made_.push_back(name);
    return name;
  }

  /// Adds operations that usually follow a convolution or a sum. Each intermediate tensor may be read again later.
  std::string follow(std::string x) {
    if (chance(4)) x = keep(x);
    if (chance(3)) x = normalization(model_, x);
    if (chance(2)) x = activation(x);
    return x;
  }

  std::string activation(const std::string& x) {
    switch (between(0, 8)) {
    case 8: { // swish
      const std::string gate = model_.node("Sigmoid", {x});
      return chance(2) ? model_.node("Mul", {x, gate}) : model_.node("Mul", {gate, x});
    }
    case 0: return model_.node("LeakyRelu", {x}, {{"alpha", 0.1F}});
    case 1: return model_.node("Sigmoid", {x});
    case 2: return model_.node("HardSwish", {x});
    case 3: return model_.node("HardSigmoid", {x}, {{"alpha", 0.2F}});
    case 4: return model_.node("Tanh", {x});
    case 5: return model_.node("Clip", {x, model_.floats({}, {-0.5F}), model_.floats({}, {1.5F})});
    default: return model_.node("Relu", {x});
    }
  }

  /// Returns a map of the same shape as `x`: an existing one, or a new convolution of `x`.
  std::string partner(const std::string& x) {
    Names same;
    std::ranges::copy_if(maps_, std::back_inserter(same),
                         [&](const std::string& y) { return value(y).shape == value(x).shape; });
    return !same.empty() && chance(2) ? any(same) : conv(model_, x, value(x).extent(1), chance(2) ? 3 : 1);
  }

  void sum() {
    const std::string x = chance(2) ? conv(model_, map(), between(1, 12)) : map(), y = partner(x);
    keep(follow(chance(2) ? model_.node("Add", {x, y}) : model_.node("Add", {y, x})));
  }

  void product() {
    const std::string x = map(), y = partner(x);
    keep(model_.node("Mul", {x, model_.node("Sigmoid", {y})}));
  }

  /// Adds squeeze and excitation: one gate per channel.
  void gate() {
    const std::string x = map(), mean = model_.node("GlobalAveragePool", {x});
    const std::string squeezed = model_.node("Relu", {conv(model_, mean, between(1, 6), 1)});
    const std::string scale = model_.node("HardSigmoid", {conv(model_, squeezed, value(x).extent(1), 1)});
    keep(chance(2) ? model_.node("Mul", {x, scale}) : model_.node("Mul", {scale, x}));
  }

  void with_constant() {
    const std::string x = chance(2) ? conv(model_, map(), between(1, 12)) : map();
    const Index channels = value(x).extent(1), height = value(x).extent(2), width = value(x).extent(3);
    const Ints shapes[] = {{channels, 1, 1}, {1, channels, 1, 1},      {}, {1}, {width},
                           {height, 1},      {channels, height, width}};
    const std::string constant = model_.constant(shapes[between(0, 6)], {0.5, 1.5});
    const char* types[] = {"Add", "Sub", "Mul", "Div"};
    const Index type = between(0, 3);
    keep(follow(type < 3 && chance(3) ? model_.node(types[type], {constant, x})
                                      : model_.node(types[type], {x, constant})));
  }

  void concat() {
    const std::string x = map();
    Names parts;
    std::ranges::copy_if(maps_, std::back_inserter(parts), [&](const std::string& y) {
      const Ints &a = value(x).shape, &b = value(y).shape;
      return a[0] == b[0] && a[2] == b[2] && a[3] == b[3];
    });
    Names from{x};
    for (Index i = between(1, 3); i > 0; --i) from.push_back(any(parts));
    std::ranges::shuffle(from, random_);
    const std::string y = model_.node("Concat", from, {{"axis", Index{1}}});
    keep(value(y).extent(1) > 40 ? conv(model_, y, 8, 1) : y);
  }

  void pool() {
    const std::string x = map();
    const Index kernel = std::min({between(2, 3), value(x).extent(2), value(x).extent(3)}),
                stride = std::min(kernel, between(1, 2));
    Attributes attributes{{"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}};
    if (stride == 1) attributes["pads"] = Ints{(kernel - 1) / 2, (kernel - 1) / 2, kernel / 2, kernel / 2};
    keep(model_.node(chance(2) ? "MaxPool" : "AveragePool", {x}, attributes));
  }

  void shuffle() {
    const std::string x = map();
    const Ints shape = value(x).shape;
    const Index groups = shape[1] % 3 == 0 ? 3 : shape[1] % 2 == 0 ? 2 : 1;
    const std::string split =
        model_.node("Reshape", {x, model_.integers({0, groups, shape[1] / groups, shape[2], shape[3]})});
    const std::string turned = model_.node("Transpose", {split}, {{"perm", Ints{0, 2, 1, 3, 4}}});
    keep(model_.node("Reshape", {turned, model_.integers({0, -1, shape[2], shape[3]})}));
  }

  void slice() {
    const std::string x = map();
    const Index channels = value(x).extent(1), cut = between(1, channels);
    const auto part = [&](Index from, Index to) {
      return model_.node("Slice", {x, model_.integers({from}), model_.integers({to}), model_.integers({1})});
    };
    keep(part(0, cut));
    if (cut < channels) keep(part(cut, channels));
  }

  void pad() { keep(model_.node("Pad", {map(), model_.integers({0, 0, between(0, 1), 1, 0, 0, between(0, 1), 0})})); }

  void upsample() {
    const std::string x = map();
    if (value(x).extent(2) * value(x).extent(3) > 200) return;
    keep(model_.node(
        "Resize", {x, "", model_.floats({4}, {1, 1, 2, 2})},
        {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}}));
  }

  /// Adds two convolutions with the same weights, in sequence or in parallel.
  void shared_weights() {
    const std::string x = map();
    const Index channels = value(x).extent(1);
    const std::string weights = model_.constant({channels, channels, 1, 1}, {-0.5, 0.5});
    const std::string first = model_.node("Conv", {x, weights});
    keep(model_.node("Relu", {first}));
    keep(normalization(model_, model_.node("Conv", {chance(2) ? x : first, weights})));
  }

  void grouped() {
    const Index groups = value(map()).extent(1);
    const auto found =
        std::ranges::find_if(maps_, [&](const std::string& y) { return value(y).extent(1) % groups == 0; });
    if (found != maps_.end())
      keep(follow(conv(model_, std::string(*found), value(*found).extent(1), chance(2) ? 3 : 5, groups)));
  }

  void step() {
    switch (between(0, 16)) {
    case 0:
    case 1:
    case 2: keep(follow(conv(model_, map(), between(1, 16), between(1, 3), 1, chance(2)))); break;
    case 3:
    case 4: sum(); break;
    case 5: product(); break;
    case 6: with_constant(); break;
    case 7: concat(); break;
    case 8: pool(); break;
    case 9: keep(activation(map())); break;
    case 10: keep(normalization(model_, map())); break;
    case 11: gate(); break;
    case 12: chance(2) ? shuffle() : slice(); break;
    case 13: chance(2) ? pad() : upsample(); break;
    case 14: keep(model_.node(chance(2) ? "Identity" : "Dropout", {map()})); break;
    case 15: shared_weights(); break;
    default: grouped(); break;
    }
  }

  /// Adds a classifier. Its output is not a map.
  void head() {
    const std::string flat = model_.node("Flatten", {model_.node("GlobalAveragePool", {map()})});
    const std::string weights = model_.constant({9, value(flat).extent(1)});
    const std::string scores = model_.node("Gemm", {flat, weights, model_.constant({9})}, {{"transB", Index{1}}});
    made_.push_back(chance(2) ? scores : model_.node("Relu", {scores}));
    if (chance(2)) made_.push_back(model_.node("Softmax", {scores}));
  }

  void choose_outputs() {
    Names outputs{made_.back()};
    for (Index i = between(0, 3); i > 0; --i) outputs.push_back(any(made_)); // these may be read by other nodes too
    if (chance(8)) outputs.push_back(any(inputs_));
    if (chance(12)) outputs.push_back(model_.constant({2, 3}));
    std::ranges::shuffle(outputs, random_);
    Names unique;
    for (const std::string& name : outputs)
      if (std::ranges::find(unique, name) == unique.end()) unique.push_back(name);
    for (const std::string& name : unique) model_.output(name);
  }

  std::mt19937_64 random_;
  Model model_;
  Names inputs_, maps_, made_;
};

class RandomGraph : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomGraph, MatchesReferenceOfItsNodes) { expect_agreement(Grower(GetParam()).grow(), many_operators); }

INSTANTIATE_TEST_SUITE_P(Seed, RandomGraph, testing::Range<std::uint64_t>(1, 1 + rounds<std::uint64_t>(500)));

template <class F> Case graph(const std::string& name, F make, Support support = Support::required) {
  return {name,
          [=] {
            Model model(67, 14);
            make(model);
            return model;
          },
          one_operator, support};
}

/// Rounds down, as exporters write it.
std::string floor_division(Model& m, const std::string& x, const std::string& by) {
  const std::string zero = m.integer(0), quotient = m.node("Div", {x, by});
  const std::string differ = m.node("Xor", {m.node("Less", {x, zero}), m.node("Less", {by, zero})});
  const std::string remains = m.node("Not", {m.node("Equal", {m.node("Mod", {x, by}), zero})});
  return m.node("Where", {m.node("And", {differ, remains}), m.node("Sub", {quotient, m.integer(1)}), quotient});
}

/// Returns cases at the limits of a graph and of each fusion.
Cases edge_cases() {
  const Ints shape{1, 8, 9, 10};
  return {
      graph("InputIsOutput", [=](Model& m) { m.output(m.input(shape)); }),
      graph("InputIsOneOfTheOutputs",
            [=](Model& m) {
              const std::string x = m.input(shape);
              m.output(m.node("Relu", {x}));
              m.output(x);
            }),
      graph("InputThroughIdentity", [=](Model& m) { m.output(m.node("Identity", {m.input(shape)})); }),
      graph("InputReshapedIsOutput", [=](Model& m) { m.output(m.node("Flatten", {m.input(shape)})); }),
      graph("InputReadByNobody",
            [=](Model& m) {
              const std::string x = m.input(shape);
              m.input({1, 5});
              m.output(m.node("Relu", {x}));
            }),
      graph("ConstantIsOutput",
            [=](Model& m) {
              m.output(m.node("Relu", {m.input(shape)}));
              m.output(m.constant({3, 4}));
            }),
      graph("ComputedConstantIsOutput",
            [=](Model& m) {
              m.output(m.node("Relu", {m.input(shape)}));
              m.output(m.node("Exp", {m.constant({3, 4})}));
            }),
      graph("TwoNamesOfOneTensor",
            [=](Model& m) {
              const std::string y = m.node("Exp", {m.input(shape)});
              m.output(m.node("Identity", {y}));
              m.output(m.node("Identity", {y}));
              m.output(y);
            }),
      graph("TwoShapesOfOneTensor",
            [=](Model& m) {
              const std::string y = m.node("Exp", {m.input(shape)});
              m.output(m.node("Flatten", {y}));
              m.output(m.node("Relu", {y}));
              m.output(m.node("Reshape", {y, m.integers({-1})}));
            }),
      graph("ReshapeThenChangedInPlace",
            [=](Model& m) { // the flattened view must keep its contents when the map changes
              const std::string y = conv(m, m.input(shape), 8), flat = m.node("Flatten", {y});
              m.output(m.node("Exp", {m.node("Relu", {y})}));
              m.output(m.node("Gemm", {flat, m.constant({4, 720}, {-0.05, 0.05})}, {{"transB", Index{1}}}));
            }),
      graph("ConvOutputReadTwice",
            [=](Model& m) { // nothing may be folded into the convolution
              const std::string y = conv(m, m.input(shape), 8);
              m.output(m.node("Relu", {y}));
              m.output(normalization(m, y));
            }),
      graph("ConvOutputIsOutput",
            [=](Model& m) {
              const std::string y = conv(m, m.input(shape), 8);
              m.output(y);
              m.output(m.node("Relu", {normalization(m, y)}));
            }),
      graph("NormalizedConvIsOutput",
            [=](Model& m) {
              const std::string y = normalization(m, conv(m, m.input(shape), 8));
              m.output(m.node("Relu", {y}));
              m.output(y);
            }),
      graph("ResidualIsOutput",
            [=](Model& m) {
              const std::string x = m.node("Relu", {m.input(shape)});
              const std::string sum = m.node("Add", {conv(m, x, 8), x});
              m.output(m.node("Relu", {sum}));
              m.output(sum);
              m.output(x);
            }),
      graph("ResidualOfTwoConvs",
            [=](Model& m) {
              const std::string x = m.input(shape);
              m.output(m.node("Relu", {m.node("Add", {conv(m, x, 8), normalization(m, conv(m, x, 8, 1))})}));
            }),
      graph("ResidualWithItself",
            [=](Model& m) {
              const std::string y = conv(m, m.input(shape), 8);
              m.output(m.node("Add", {y, y}));
            }),
      graph("ResidualMadeLater",
            [=](Model& m) { // the sum's other operand depends on the convolution
              const std::string y = conv(m, m.input(shape), 8);
              m.output(m.node("Relu", {m.node("Add", {y, m.node("Sigmoid", {y})})}));
            }),
      graph("ResidualAfterActivation",
            [=](Model& m) { // relu(conv) + x is not relu(conv + x)
              const std::string x = m.input(shape);
              m.output(m.node("Add", {m.node("Relu", {conv(m, x, 8)}), x}));
            }),
      graph("ResidualTwice",
            [=](Model& m) {
              const std::string x = m.input(shape);
              m.output(m.node("Add", {m.node("Add", {conv(m, x, 8), x}), m.input(shape)}));
            }),
      graph("ResidualThenScale",
            [=](Model& m) { // the batch normalisation applies to the sum, not to the convolution
              const std::string x = m.input(shape);
              m.output(normalization(m, m.node("Add", {conv(m, x, 8), x})));
            }),
      graph("ActivationThenScale",
            [=](Model& m) { m.output(normalization(m, m.node("Relu", {conv(m, m.input(shape), 8)}))); }),
      graph("Swish",
            [=](Model& m) {
              const std::string y = conv(m, m.input(shape), 8);
              m.output(m.node("Mul", {m.node("Sigmoid", {y}), y}));
            }),
      graph("SwishOfASum",
            [=](Model& m) {
              const std::string x = m.input(shape), y = m.node("Add", {conv(m, x, 8), x});
              m.output(m.node("Mul", {y, m.node("Sigmoid", {y})}));
            }),
      graph("SwishOfAnInput",
            [=](Model& m) {
              const std::string x = m.input(shape);
              m.output(m.node("Mul", {x, m.node("Sigmoid", {x})}));
            }),
      graph("SwishWhoseGateIsOutput",
            [=](Model& m) {
              const std::string y = conv(m, m.input(shape), 8), gate = m.node("Sigmoid", {y});
              m.output(m.node("Mul", {y, gate}));
              m.output(gate);
            }),
      graph("GateOfAnother",
            [=](Model& m) { // not x * sigmoid(x)
              const std::string x = m.input(shape);
              m.output(m.node("Mul", {conv(m, x, 8), m.node("Sigmoid", {conv(m, x, 8)})}));
            }),
      graph("SquaredSigmoid",
            [=](Model& m) {
              const std::string gate = m.node("Sigmoid", {conv(m, m.input(shape), 8)});
              m.output(m.node("Mul", {gate, gate}));
            }),
      graph("ActivationTwice",
            [=](Model& m) {
              m.output(m.node("Sigmoid", {m.node("LeakyRelu", {conv(m, m.input(shape), 8)}, {{"alpha", 0.3F}})}));
            }),
      graph("BroadcastResidual",
            [=](Model& m) { // not the shape of the output
              const std::string x = m.input(shape);
              m.output(m.node("Add", {conv(m, x, 8), m.node("GlobalAveragePool", {x})}));
            }),
      graph("ResidualWidensConv",
            [=](Model& m) { // here the convolution's output is broadcast
              m.output(m.node("Add", {conv(m, m.input({1, 8, 1, 1}), 8), m.input({1, 8, 5, 6})}));
            }),
      graph("ConstantResidual",
            [=](Model& m) {
              m.output(m.node("Add", {conv(m, m.input(shape), 8), m.constant({1, 8, 9, 10})}));
            }),
      graph("GemmResidual",
            [=](Model& m) {
              const std::string x = m.input({3, 8});
              m.output(m.node("Relu", {m.node("Add", {m.node("Gemm", {x, m.constant({8, 8}), m.constant({8})}), x})}));
            }),
      // [10] applies along the width, which is as large as the number of channels.
      graph("ConstantWiderThanChannels",
            [=](Model& m) {
              m.output(m.node("Mul", {conv(m, m.input({1, 10, 10, 10}), 10), m.constant({10})}));
            }),
      graph("ConstantMinusConv",
            [=](Model& m) {
              m.output(m.node("Sub", {m.constant({8, 1, 1}), conv(m, m.input(shape), 8)}));
            }),
      graph("ConstantOverConv",
            [=](Model& m) {
              m.output(m.node("Div", {m.constant({8, 1, 1}), m.node("Exp", {conv(m, m.input(shape), 8)})}));
            }),
      graph("ConvOverConstant",
            [=](Model& m) {
              m.output(m.node("Div", {conv(m, m.input(shape), 8), m.constant({8, 1, 1}, {0.5, 2})}));
            }),
      graph("ConvTimesScalarPlusScalar",
            [=](Model& m) {
              m.output(m.node(
                  "Add", {m.node("Mul", {conv(m, m.input(shape), 8), m.floats({}, {0.3F})}), m.floats({1}, {0.7F})}));
            }),
      graph("GroupedConvScaled",
            [=](Model& m) {
              m.output(m.node("Mul", {conv(m, m.input(shape), 16, 3, 4), m.constant({1, 16, 1, 1})}));
            }),
      graph(
          "ConvWithVariableWeights",
          [=](Model& m) {
            m.output(m.node("Conv", {m.input(shape), m.input({4, 8, 3, 3})}));
          },
          Support::optional),
      graph("ConstantListedAsInput",
            [=](Model& m) {
              const std::string w = m.listed_constant({4, 8, 3, 3}), x = m.input(shape);
              m.output(m.node("Conv", {x, w}));
            }),
      graph("SharedWeightsOneNormalized",
            [=](Model& m) { // folding must not change the weights of the other
              const std::string x = m.input(shape), w = m.constant({8, 8, 1, 1}, {-0.5, 0.5});
              m.output(normalization(m, m.node("Conv", {x, w})));
              m.output(m.node("Conv", {x, w}));
            }),
      graph("WeightsAreOutput",
            [=](Model& m) {
              const std::string w = m.constant({8, 8, 1, 1}, {-0.5, 0.5});
              m.output(normalization(m, m.node("Conv", {m.input(shape), w})));
              m.output(w);
            }),
      graph("LongChain",
            [=](Model& m) {
              std::string x = m.input(shape);
              for (int i = 0; i < 40; ++i) x = m.node(i % 2 == 0 ? "Tanh" : "LeakyRelu", {x});
              m.output(x);
            }),
      graph("DenseBlock",
            [=](Model& m) {
              std::string x = m.input(shape);
              for (int i = 0; i < 6; ++i) {
                const std::string y = conv(m, m.node("Relu", {normalization(m, x)}), 4);
                x = m.node("Concat", {x, y}, {{"axis", Index{1}}});
              }
              m.output(m.node("AveragePool", {x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}));
            }),
      graph("Inception",
            [=](Model& m) {
              const std::string x = m.input(shape);
              const std::string pooled =
                  m.node("MaxPool", {x}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
              const Names branches{
                  m.node("Relu", {conv(m, x, 4, 1)}), m.node("Relu", {conv(m, conv(m, x, 3, 1), 5, 3)}),
                  m.node("Relu", {conv(m, conv(m, x, 2, 1), 6, 5)}), m.node("Relu", {conv(m, pooled, 3, 1)})};
              m.output(m.node("Concat", branches, {{"axis", Index{1}}}));
            }),
      graph("ConcatOfConcats",
            [=](Model& m) {
              const std::string x = m.input(shape), y = m.node("Concat", {x, m.node("Exp", {x})}, {{"axis", Index{1}}});
              m.output(m.node("Concat", {y, x, m.node("Relu", {y}), y}, {{"axis", Index{1}}}));
              m.output(y);
            }),
      graph("ScalesBehindReshapes",
            [=](Model& m) {
              const std::string y = m.node("Gemm", {m.input({6, 5}), m.constant({5, 12}), m.constant({12})});
              const std::string wide = m.node("Reshape", {y, m.integers({2, 3, 4, 3})});
              const std::string turned =
                  m.node("Transpose", {m.node("Div", {wide, m.floats({1}, {4})})}, {{"perm", Ints{2, 0, 3, 1}}});
              m.output(m.node("Mul", {m.floats({}, {-1.5F}), turned}));
              const std::string flat = m.node("Flatten", {conv(m, m.input(shape), 8)});
              m.output(m.node("Relu", {m.node("Mul", {flat, m.floats({1, 1}, {0.3F})})}));
            }),
      graph("MergedAndTransposed",
            [=](Model& m) {
              const auto merge = [&](const Ints& from, const Ints& to, const Ints& order) {
                const std::string y = m.node("Reshape", {m.node("Exp", {m.input(from)}), m.integers(to)});
                m.output(m.node("Transpose", {y}, {{"perm", order}}));
              };
              merge({4, 3, 5, 1}, {1, 12, 5}, {0, 2, 1});
              merge({1, 2, 1, 3, 4, 1, 5}, {6, 1, 20}, {2, 1, 0});
              merge({2, 3, 4, 5}, {2, 3, 20}, {0, 2, 1});
              merge({2, 3, 4, 5}, {6, 4, 5}, {2, 0, 1});
              merge({2, 2, 3, 3}, {4, 9}, {1, 0});
              merge({2, 6, 5}, {4, 15}, {1, 0});
            }),
      graph("IndicesDivided",
            [=](Model& m) {
              const std::string top = m.nodes("TopK", {m.input({2, 60}), m.integers({20})}, 2)[1];
              m.output(floor_division(m, top, m.integer(7)));
              m.output(floor_division(m, top, m.integer(-7)));
              const std::string last = m.node("ArgMin", {m.input({4, 9})}, {{"select_last_index", Index{1}}});
              m.output(floor_division(m, m.node("Sub", {last, m.integer(3)}), m.integer(2)));
              m.output(
                  floor_division(m, m.node("Unsqueeze", {last, m.integers({0})}), m.integer_input({5, 1, 1}, {1, 4})));
            }),
      graph("NodesThatNobodyReads",
            [=](Model& m) {
              const std::string x = m.input(shape);
              conv(m, m.node("Exp", {x}), 3);
              m.output(m.node("Relu", {x}));
            }),
  };
}

INSTANTIATE_TEST_SUITE_P(Graph, OnnxOperator, testing::ValuesIn(covering(edge_cases())), name_of);

} // namespace
} // namespace rtexec::test
