// Lowers Fourier transforms of known length to products with a constant matrix of sines and cosines.
#include "tasks/engine/onnx/operators.hpp"
#include "tasks/engine/onnx/shape_rules.hpp"

#include <cmath>
#include <numbers>

namespace rtexec::tasks::onnx_source {
namespace {

constexpr std::int64_t max_terms = std::int64_t{1} << 24; // elements of the matrix

struct Transform {
  std::int64_t samples = 0, parts = 1; // samples: number of samples of a signal; parts: 1 for real, 2 for complex
  std::int64_t length = 0;             // signals are cut or zero-padded to this length
  bool inverse = false, one_sided = false;

  [[nodiscard]] std::int64_t bins() const { return one_sided ? length / 2 + 1 : length; }
};

/// Returns the transform as a constant matrix of shape [samples, parts, bins, 2].
TensorId matrix_of(NodeContext& node, const Transform& transform) {
  const auto [samples, parts, length, inverse, one_sided] = transform;
  const auto bins = transform.bins();
  if (length > max_terms || samples > max_terms / (2 * parts * bins))
    node.unsupported("it transforms " + std::to_string(samples) + " samples to " + std::to_string(bins) +
                     " frequencies, and more than " + std::to_string(max_terms / 2) +
                     " of both are not supported; transform shorter frames");
  (void)node.reserve({samples, parts, bins, 2});
  const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(length);
  const double scale = inverse ? 1 / static_cast<double>(length) : 1;
  std::vector<float> values;
  for (std::int64_t t = 0; t < samples; ++t)
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t bin = 0; bin < bins; ++bin) {
        const double angle = turn * static_cast<double>(t * bin % length), size = t < length ? scale : 0;
        const double real = size * std::cos(angle), imaginary = size * std::sin(angle);
        values.push_back(static_cast<float>(part == 0 ? real : -imaginary));
        values.push_back(static_cast<float>(part == 0 ? imaginary : real));
      }
  return node.constant({samples, parts, bins, 2}, std::move(values));
}

/// Transforms signals, which are the rows of a matrix [count, samples * parts]. Returns a matrix [count, bins * 2].
TensorId transformed(NodeContext& node, TensorId rows, std::int64_t count, TensorId matrix,
                     const Transform& transform) {
  const auto terms = transform.samples * transform.parts, results = transform.bins() * 2;
  matrix = node.emit(Reshape{}, {matrix}, {terms, results});
  return node.emit(Gemm{}, {rows, matrix}, {count, results});
}

void require_one_side(NodeContext& node, const Transform& transform) {
  if (!transform.one_sided) return;
  if (transform.inverse) node.unsupported("onesided is set for an inverse transform, which needs all frequencies");
  node.require(transform.parts == 1, "onesided is set, and its input is complex");
}

void fourier_transform(NodeContext& node) {
  const auto x = node.shape(0);
  if (node.is_empty(0)) node.unsupported("its input has no elements; leave the node out of the model");
  node.require(x.size() >= 2 && x.back() <= 2, "its input has no last dimension of 1 or 2");
  const bool by_attribute = node.opset() < 20;
  const auto given = by_attribute  ? node.attribute<std::int64_t>("axis", 1)
                     : node.has(2) ? node.integer(2, "the axis")
                                   : -2;
  const auto axis = node.axis(given, x.size());
  node.require(axis + 1 < x.size(), "its axis is that of real and imaginary parts");
  Transform transform{x[axis], x.back(), x[axis]};
  if (node.has(1)) transform.length = node.integer(1, "the length");
  node.require(transform.length >= 1, "its length is below 1");
  transform.inverse = node.attribute<std::int64_t>("inverse", 0) != 0;
  transform.one_sided = node.attribute<std::int64_t>("onesided", 0) != 0;
  require_one_side(node, transform);
  const auto outer = product(x, 0, axis), inner = product(x, axis + 1, x.size() - 1);
  const auto samples = transform.samples, parts = transform.parts, bins = transform.bins();
  const auto matrix = matrix_of(node, transform);
  const auto rows = node.emit(View{0, {samples * inner * parts, parts, inner * parts, 1}}, {node.tensor(0)},
                              {outer, inner, samples, parts});
  const auto flat = node.emit(Reshape{}, {rows}, {outer * inner, samples * parts});
  const auto y = transformed(node, flat, outer * inner, matrix, transform);
  const auto back = node.emit(View{0, {inner * bins * 2, 2, bins * 2, 1}}, {y}, {outer, bins, inner, 2});
  auto shape = x;
  shape[axis] = bins;
  shape.back() = 2;
  node.set_output(node.emit(Reshape{}, {back}, std::move(shape)));
}

/// Lowers STFT, which multiplies each frame of a signal by a window and transforms the product.
void short_time_transform(NodeContext& node) {
  const auto x = node.shape(0);
  node.require(x.size() == 2 || (x.size() == 3 && x[2] <= 2), "its signal is not [batch, length, 1 or 2]");
  if (node.is_empty(0)) node.unsupported("its signal has no elements; leave the node out of the model");
  const auto step = node.integer(1, "the step");
  const auto length = node.has(3)   ? node.integer(3, "the length of a frame")
                      : node.has(2) ? element_count(node.shape(2))
                                    : 0;
  node.require(step >= 1 && step <= max_elements && length >= 1 && length <= x[1],
               "its frames do not match its signal");
  Transform transform{length, x.size() == 3 ? x[2] : 1, length};
  transform.one_sided = node.attribute<std::int64_t>("onesided", 1) != 0;
  require_one_side(node, transform);
  auto matrix = matrix_of(node, transform);
  const auto parts = transform.parts, bins = transform.bins();
  if (node.has(2)) {
    node.require(node.shape(2) == Shape{length}, "its window must be as long as a frame");
    const auto window = node.emit(Reshape{}, {node.tensor(2)}, {length, 1, 1, 1});
    matrix = node.emit(Binary{Binary::Kind::multiply}, {matrix, window}, {length, parts, bins, 2});
  }
  const auto frames = (x[1] - length) / step + 1;
  const auto rows =
      node.emit(View{0, {x[1] * parts, step * parts, 1}}, {node.tensor(0)}, {x[0], frames, length * parts});
  const auto flat = node.emit(Reshape{}, {rows}, {x[0] * frames, length * parts});
  const auto y = transformed(node, flat, x[0] * frames, matrix, transform);
  node.set_output(node.emit(Reshape{}, {y}, {x[0], frames, bins, 2}));
}

} // namespace

void add_spectral_operators(OperatorTable& table) {
  table["DFT"] = {fourier_transform, "length and axis are known when the model is loaded; not onesided and inverse",
                  17};
  table["STFT"] = {short_time_transform, "step and length are known when the model is loaded", 17};
}

} // namespace rtexec::tasks::onnx_source
