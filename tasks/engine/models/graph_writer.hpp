// Writes an ONNX graph (opset 14, batch 1, NCHW) layer by layer, with pseudo-random weights from a seed.
//
// Weights are uniform with He's variance (He et al.: Delving Deep into Rectifiers, 2015). Statistics of batch
// normalisations are near zero mean and unit variance. Therefore activations neither vanish nor explode, however deep
// the network is. All values come from exact arithmetic only, so that the same calls give the same bytes on every
// machine.
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

/// The output of a layer: the name of a tensor [1, channels, height, width]. If height and width are 0, the tensor has
/// the shape [1, channels].
struct Value {
  std::string name;
  int channels = 0;
  int height = 0;
  int width = 0;
};

/// The parameters of a convolution. With padding, each side is padded by half the kernel, so that stride 1 keeps height
/// and width. Without padding height and width shrink by kernel - 1.
struct ConvShape {
  int channels = 0; // output channels
  int kernel = 1;
  int stride = 1;
  int groups = 1;
  float gain = 1; // factor on the weights
  float bias = 0; // biases are pseudo-random in [-bias, bias); 0: no biases
  bool padded = true;
};

struct PoolShape {
  int kernel = 2;
  int stride = 2;
  int pad_before = 0;
  int pad_after = 0;
  bool ceil = false; // true: a last window that extends beyond the border produces an output, too
};

class GraphWriter {
 public:
  GraphWriter(std::string_view name, std::uint64_t seed);
  GraphWriter(const GraphWriter&) = delete;
  GraphWriter& operator=(const GraphWriter&) = delete;
  ~GraphWriter();

  /// Adds an input. The first input is named "input"; the inputs after it are named "input_1", "input_2" and so on.
  Value input(int channels, int size);

  /// Adds a convolution. `bias` must have a value for each output channel, or be empty.
  Value conv(const Value& x, const ConvShape& shape, std::span<const float> bias = {});
  /// Adds a batch normalisation. `gain` multiplies the standard deviation of the output.
  Value batch_norm(const Value& x, float gain = 1);
  Value relu(const Value& x);
  /// Adds a leaky ReLU with slope 0.1 for x < 0, as in darknet.
  Value leaky_relu(const Value& x);
  Value sigmoid(const Value& x);
  /// Adds x / 6 + 1/2, clamped to [0, 1], as in torchvision.
  Value hard_sigmoid(const Value& x);
  /// Adds the product of x and its hard sigmoid.
  Value hard_swish(const Value& x);
  /// Adds a local response normalisation over five channels, with the default constants of Caffe and ONNX.
  Value lrn(const Value& x);
  Value max_pool(const Value& x, const PoolShape& shape);
  Value average_pool(const Value& x, const PoolShape& shape);
  Value global_average_pool(const Value& x);
  Value add(const Value& a, const Value& b);
  /// Adds an element-wise product. `factors` must have the shape of x, or [1, channels, 1, 1].
  Value multiply(const Value& x, const Value& factors);
  /// Appends channels of zeros to x, until it has `channels` channels.
  Value pad_channels(const Value& x, int channels);
  Value concat(std::span<const Value> values);
  /// Doubles height and width by repeating each element.
  Value upsample(const Value& x);
  /// Halves height and width and multiplies the number of channels by four, in the order of darknet's layer [reorg].
  /// That layer treats the memory of x as [channels / 4, 2 height, 2 width] and gathers each square of 2x2 elements
  /// (darknet's function reorg_cpu with forward = 0).
  Value reorg(const Value& x);
  /// Reshapes x to [1, channels * height * width].
  Value flatten(const Value& x);
  /// Adds a fully connected layer on the flattened x.
  Value linear(const Value& x, int channels);

  void output(const Value& x);
  void metadata(std::string_view key, std::string_view value);

  [[nodiscard]] const onnx::ModelProto& model() const { return *model_; }
  /// Writes the file atomically: the file appears complete or not at all. If the file cannot be written, returns
  /// refused with the file and the reason.
  [[nodiscard]] Result<> save(const std::filesystem::path& path) const;

 private:
  onnx::NodeProto& node(std::string_view type, std::string_view stem, std::span<const std::string> inputs);
  /// Adds a constant and returns its values for the caller to fill.
  std::span<float> constant(const std::string& name, std::span<const std::int64_t> shape);
  void integers(const std::string& name, std::initializer_list<std::int64_t> values);
  Value reshape(const std::string& x, std::initializer_list<std::int64_t> shape, const Value& out);
  void uniform(const std::string& name, std::span<const std::int64_t> shape, double deviation);
  /// Adds a constant with the values (middle + spread * r) * factor. r is random and uniform in [-1, 1). If `spread` is
  /// a power of two, the product spread * r has no rounding error.
  void around(const std::string& name, std::int64_t count, float middle, float spread, float factor = 1);
  /// Adds a layer of operator `type` that has no attributes and keeps the shape.
  Value elementwise(std::string_view type, std::string_view stem, const Value& x);
  Value pool(std::string_view type, std::string_view stem, const Value& x, const PoolShape& shape);
  void declare(bool as_input, const std::string& name, std::span<const std::int64_t> shape);

  std::unique_ptr<onnx::ModelProto> model_;
  Random random_;
};

} // namespace rtexec::tasks
