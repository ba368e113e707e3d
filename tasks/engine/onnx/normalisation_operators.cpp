#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"
#include "tasks/engine/onnx/windows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rtexec::tasks::onnx_source {
namespace {

using Kind = Reduce::Kind;
constexpr Activation root{Activation::Kind::sqrt}, magnitude{Activation::Kind::absolute};

// ---- normalisation by statistics of each sample

/// Sets the optional outputs of LayerNormalization: the mean of each row, and the reciprocal of its standard deviation.
void tell_moments(NodeContext& node, const Shape& x, std::size_t axis, float epsilon) {
  const auto outer = product(x, 0, axis), count = product(x, axis, x.size());
  auto small = x;
  std::fill(small.begin() + static_cast<std::ptrdiff_t>(axis), small.end(), 1);
  const auto mean = node.emit(Reduce{Kind::mean, outer, count, 1}, {node.tensor(0)}, small);
  if (node.has_output(1)) node.set_output(mean, 1);
  if (!node.has_output(2)) return;
  const auto centred = node.emit(Binary{Binary::Kind::subtract}, {node.tensor(0), mean}, x);
  auto y = node.emit(Reduce{Kind::squares, outer, count, 1}, {centred}, small);
  y = node.emit(Activation{Activation::Kind::scale, 1 / static_cast<float>(count), epsilon}, {y}, small);
  y = node.emit(root, {y}, small);
  node.set_output(node.emit(Activation{Activation::Kind::reciprocal}, {y}, small), 2);
}

/// Lowers a normalisation over the dimensions from `axis` on. Scale and shift are broadcast to x.
void normalise_rows(NodeContext& node, bool centred) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", -1), x.size());
  const auto epsilon = node.attribute("epsilon", 1e-5F);
  node.ignore_attribute("stash_type"); // stash_type is the precision of mean and deviation, which is always float here
  std::vector<TensorId> inputs{node.tensor(0)};
  for (std::size_t i = 1; i < 3; ++i)
    if (node.has(i)) {
      node.require(broadcast(node, x, node.shape(i)) == x, "the shape of its scale or bias does not match its input");
      inputs.push_back(node.tensor(i));
    }
  node.set_output(
      node.emit(LayerNorm{product(x, 0, axis), product(x, axis, x.size()), centred, epsilon}, std::move(inputs), x));
  if (node.has_output(1) || node.has_output(2)) tell_moments(node, x, axis, epsilon);
}

void layer_normalisation(NodeContext& node) { normalise_rows(node, true); }
void root_mean_square_normalisation(NodeContext& node) { normalise_rows(node, false); }

/// Returns the scales or shifts of the channels, reshaped so that they broadcast to x.
TensorId for_channels(NodeContext& node, std::size_t input, const Shape& x) {
  Shape shape(x.size(), 1);
  shape[1] = x[1];
  const auto& given = node.shape(input);
  node.require(element_count(given) == x[1], "its scale and bias must have one value for each channel");
  return node.emit(Reshape{}, {node.tensor(input)}, {shape.begin() + 1, shape.end()});
}

void normalise_groups(NodeContext& node, std::int64_t groups, std::vector<TensorId> affine) {
  const auto x = node.shape(0);
  const auto epsilon = node.attribute("epsilon", 1e-5F);
  std::vector<TensorId> inputs{node.tensor(0)};
  inputs.insert(inputs.end(), affine.begin(), affine.end());
  node.set_output(
      node.emit(LayerNorm{x[0] * groups, product(x, 1, x.size()) / std::max<std::int64_t>(groups, 1), true, epsilon},
                std::move(inputs), x));
}

Shape with_channels(NodeContext& node) {
  const auto x = node.shape(0);
  if (x.size() < 3) node.unsupported("its input has " + dimensions(x) + "; supported: 3 dimensions or more");
  return x;
}

void instance_normalisation(NodeContext& node) {
  const auto x = with_channels(node);
  normalise_groups(node, x[1], {for_channels(node, 1, x), for_channels(node, 2, x)});
}

/// Lowers GroupNormalization. Before opset 21 the operator has a scale and a bias for each group, not for each channel.
void group_normalisation(NodeContext& node) {
  const auto x = with_channels(node);
  const auto groups = node.attribute<std::int64_t>("num_groups");
  node.require(groups >= 1 && x[1] % groups == 0, "its channels do not divide evenly among its groups");
  node.ignore_attribute("stash_type");
  if (node.opset() >= 21) return normalise_groups(node, groups, {for_channels(node, 1, x), for_channels(node, 2, x)});
  const auto spread = [&](std::size_t input) {
    node.require(element_count(node.shape(input)) == groups, "its scale and bias must have one value for each group");
    const auto each = node.emit(View{0, {1, 0}}, {node.tensor(input)}, {groups, x[1] / groups});
    Shape shape(x.size() - 1, 1);
    shape[0] = x[1];
    return node.emit(Reshape{}, {each}, std::move(shape));
  };
  normalise_groups(node, groups, {spread(1), spread(2)});
}

/// Lowers MeanVarianceNormalization: normalises over the axes of the node, without scale and shift.
void standardise(NodeContext& node) {
  const auto x = node.shape(0);
  std::vector<bool> axes(x.size(), false);
  for (const auto axis : node.attribute<std::vector<std::int64_t>>("axes", {0, 2, 3}))
    axes[node.axis(axis, x.size())] = true;
  auto small = x;
  for (std::size_t d = 0; d < x.size(); ++d)
    if (axes[d]) small[d] = 1;
  const auto mean = reduce(node, Kind::mean, node.tensor(0), x, axes);
  const auto centred = node.emit(Binary{Binary::Kind::subtract}, {node.tensor(0), mean}, x);
  const auto squares = node.emit(Binary{Binary::Kind::multiply}, {centred, centred}, x);
  const auto deviation = node.emit(root, {reduce(node, Kind::mean, squares, x, axes)}, small);
  const auto above_zero = node.emit(Activation{Activation::Kind::scale, 1, 1e-9F}, {deviation}, small);
  node.set_output(node.emit(Binary{Binary::Kind::divide}, {centred, above_zero}, x));
}

/// Lowers LpNormalization, which divides x by its 1-norm or 2-norm.
void unit_length(NodeContext& node) {
  const auto x = node.shape(0);
  const auto axis = node.axis(node.attribute<std::int64_t>("axis", -1), x.size());
  const auto p = node.attribute<std::int64_t>("p", 2);
  if (p != 1 && p != 2) node.unsupported("p is " + std::to_string(p) + "; supported: 1 and 2");
  std::vector<bool> axes(x.size(), false);
  axes[axis] = true;
  auto small = x;
  small[axis] = 1;
  TensorId length;
  if (p == 1) length = reduce(node, Kind::sum, node.emit(magnitude, {node.tensor(0)}, x), x, axes);
  else length = node.emit(root, {reduce(node, Kind::squares, node.tensor(0), x, axes)}, small);
  /// The smallest divisor, so that rows of zeros remain zeros.
  const auto least = node.constant({}, {std::numeric_limits<float>::min()});
  const auto above_zero = node.emit(Binary{Binary::Kind::maximum}, {length, least}, small);
  node.set_output(node.emit(Binary{Binary::Kind::divide}, {node.tensor(0), above_zero}, x));
}

// ---- normalisation by statistics of the batch, or of neighbouring channels

/// Lowers a BatchNormalization in training mode, which uses the statistics of the batch. Exporters use it to express
/// weight standardisation.
void normalise_by_batch(NodeContext& node) {
  const auto x = node.shape(0);
  const auto rest = product(x, 2, x.size());
  const auto turned = [&](TensorId from, std::int64_t a, std::int64_t b) {
    return node.emit(View{0, {rest, a * rest, 1}}, {from}, {a, b, rest});
  };
  const auto channels = turned(node.emit(Reshape{}, {node.tensor(0)}, {x[0], x[1], rest}), x[1], x[0]);
  const auto affine = [&](std::size_t input) { return node.emit(Reshape{}, {node.tensor(input)}, {x[1], 1, 1}); };
  const auto y = node.emit(LayerNorm{x[1], x[0] * rest, true, node.attribute("epsilon", 1e-5F)},
                           {channels, affine(1), affine(2)}, {x[1], x[0], rest});
  node.set_output(node.emit(Reshape{}, {turned(y, x[0], x[1])}, x));
}

void batch_normalization(NodeContext& node) {
  const auto& x = node.shape(0);
  if (x.size() < 2) node.unsupported("its input has " + dimensions(x) + "; supported: 2 dimensions or more");
  node.ignore_attribute("momentum");
  if (node.opset() < 9 && node.attribute<std::int64_t>("spatial", 1) == 0)
    node.unsupported("spatial is 0; supported: one mean and variance for each channel");
  if (node.attribute<std::int64_t>("training_mode", 0) != 0) {
    for (std::size_t i = 1; i < node.outputs(); ++i)
      if (node.is_read(i))
        node.unsupported("training_mode is 1, and what it learns (output " + std::to_string(i) +
                         ") is read; export the model for inference (in PyTorch after model.eval())");
    return normalise_by_batch(node);
  }
  const auto epsilon = static_cast<double>(node.attribute("epsilon", 1e-5F));
  const auto& gamma = node.floats(1, "the scale");
  const auto& beta = node.floats(2, "the bias");
  const auto& mean = node.floats(3, "the mean");
  const auto& variance = node.floats(4, "the variance");
  const auto channels = static_cast<std::size_t>(x[1]);
  for (const auto* values : {&gamma, &beta, &mean, &variance})
    node.require(values->size() == channels, "its constants must have one value for each channel");
  std::vector<float> scale(channels), shift(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto factor = static_cast<double>(gamma[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(static_cast<double>(beta[c]) - static_cast<double>(mean[c]) * factor);
  }
  const auto shape = x;
  const auto scale_id = node.constant({shape[1]}, std::move(scale));
  const auto shift_id = node.constant({shape[1]}, std::move(shift));
  node.set_output(node.emit(ScaleShift{}, {node.tensor(0), scale_id, shift_id}, shape));
}

void lrn(NodeContext& node) {
  const auto& x = node.shape(0);
  if (x.size() < 2) node.unsupported("its input has " + dimensions(x) + "; supported: 2 dimensions or more");
  Lrn lrn;
  lrn.size = checked_extent(node, node.attribute<std::int64_t>("size"), 1, "a size");
  lrn.alpha = node.attribute("alpha", 1e-4F);
  lrn.beta = node.attribute("beta", 0.75F);
  lrn.bias = node.attribute("bias", 1.0F);
  node.set_output(node.emit(lrn, {node.tensor(0)}, x));
}

} // namespace

void add_normalisation_operators(OperatorTable& table) {
  table["MeanVarianceNormalization"] = {standardise, "", 9};
  table["LayerNormalization"] = {layer_normalisation, "", 17};
  table["RMSNormalization"] = {root_mean_square_normalisation, "", 23};
  table["InstanceNormalization"] = {instance_normalisation, "three dimensions or more"};
  table["GroupNormalization"] = {group_normalisation, "three dimensions or more", 18};
  table["LpNormalization"] = {unit_length, "p is 1 or 2"};
  table["BatchNormalization"] = {batch_normalization, "scale, bias, mean and variance are constants, and no outputs"};
  table["LRN"] = {lrn};
}

} // namespace rtexec::tasks::onnx_source
