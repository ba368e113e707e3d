// Writes an ONNX graph (opset 14, batch 1, NCHW) layer by layer, with seeded weights.
//
// Weights are uniform with He's variance (He et al.: Delving Deep into Rectifiers, 2015) and batch-normalisation
// statistics lie around zero mean and unit variance, so that activations neither vanish nor explode, however deep the
// network. Their values come from exact arithmetic only: the same calls give the same bytes on every machine.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/base/random.hpp"

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace onnx {
class ModelProto;
class NodeProto;
} // namespace onnx

namespace rtexec::tasks {

/// The output of a layer: the name of a tensor [1, channels, height, width], or [1, channels] if height and width are
/// 0.
struct Value {
  std::string name;
  int channels = 0;
  int height = 0;
  int width = 0;
};

/// Padding is half the kernel, so that stride 1 keeps height and width. Without padding both shrink by kernel - 1.
struct ConvShape {
  int channels = 0; // of the output
  int kernel = 1;
  int stride = 1;
  int groups = 1;
  float gain = 1; // multiplies the weights
  float bias = 0; // biases are seeded in [-bias, bias); 0: no biases
  bool padded = true;
};

struct PoolShape {
  int kernel = 2;
  int stride = 2;
  int pad_before = 0;
  int pad_after = 0;
  bool ceil = false; // true: a last window that the border cuts off counts
};

class GraphWriter {
 public:
  GraphWriter(std::string_view name, std::uint64_t seed);
  GraphWriter(const GraphWriter&) = delete;
  GraphWriter& operator=(const GraphWriter&) = delete;
  ~GraphWriter();

  /// Adds an input named "input"; further ones are "input_1" and so on.
  Value input(int channels, int size);

  /// `bias` has one value for each output channel, or is empty.
  Value conv(const Value& x, const ConvShape& shape, std::span<const float> bias = {});
  /// `gain` multiplies the standard deviation of the output.
  Value batch_norm(const Value& x, float gain = 1);
  Value relu(const Value& x);
  /// Slope 0.1 for x < 0, as in darknet.
  Value leaky_relu(const Value& x);
  Value sigmoid(const Value& x);
  /// x / 6 + 1/2, clamped to [0, 1], as in torchvision.
  Value hard_sigmoid(const Value& x);
  /// x times its hard sigmoid.
  Value hard_swish(const Value& x);
  /// Local response normalisation over five channels with the constants of Caffe's and ONNX's default.
  Value lrn(const Value& x);
  Value max_pool(const Value& x, const PoolShape& shape);
  Value average_pool(const Value& x, const PoolShape& shape);
  Value global_average_pool(const Value& x);
  Value add(const Value& a, const Value& b);
  /// `factors` have x's shape, or [1, channels, 1, 1].
  Value multiply(const Value& x, const Value& factors);
  /// Appends channels of zeros to those of x, up to `channels`.
  Value pad_channels(const Value& x, int channels);
  Value concat(std::span<const Value> values);
  /// Doubles height and width by repeating each value.
  Value upsample(const Value& x);
  /// Halves height and width and multiplies the channels by four, in the order of darknet's layer [reorg]. That layer
  /// treats the memory of x as [channels / 4, 2 height, 2 width] and gathers each 2x2 square. See its function
  /// reorg_cpu with forward = 0.
  Value reorg(const Value& x);
  /// Reshapes to [1, channels * height * width].
  Value flatten(const Value& x);
  /// A fully connected layer on a flattened value.
  Value linear(const Value& x, int channels);

  void output(const Value& x);
  void metadata(std::string_view key, std::string_view value);

  [[nodiscard]] const onnx::ModelProto& model() const { return *model_; }
  /// Writes the file atomically: it appears complete or not at all. Returns refused with the file and the reason.
  [[nodiscard]] Result<> save(const std::filesystem::path& path) const;

 private:
  onnx::NodeProto& node(std::string_view type, std::string_view stem, std::span<const std::string> inputs);
  /// Adds a constant and returns its values for the caller to fill.
  std::span<float> constant(const std::string& name, std::span<const std::int64_t> shape);
  void integers(const std::string& name, std::initializer_list<std::int64_t> values);
  Value reshape(const std::string& x, std::initializer_list<std::int64_t> shape, const Value& out);
  void uniform(const std::string& name, std::span<const std::int64_t> shape, double deviation);
  /// Adds values middle + spread * [-1, 1). A spread that is a power of two keeps them exact.
  void around(const std::string& name, std::int64_t count, float middle, float spread, float factor = 1);
  /// Adds a layer without attributes that keeps the shape.
  Value elementwise(std::string_view type, std::string_view stem, const Value& x);
  Value pool(std::string_view type, std::string_view stem, const Value& x, const PoolShape& shape);
  void declare(bool as_input, const std::string& name, std::span<const std::int64_t> shape);

  std::unique_ptr<onnx::ModelProto> model_;
  Random random_;
};

} // namespace rtexec::tasks
