#include "tasks/media/network_output.hpp"

#include "config/base/text.hpp"
#include "tasks/base/shape.hpp"
#include "tasks/media/detector.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rtexec::tasks {
namespace {

constexpr std::string_view kTask = "rtexec.task", kAnchors = "rtexec.anchors", kMean = "rtexec.mean",
                           kDeviation = "rtexec.std";

/// A decoder that returns the most probable classes. It reads the network's first output as logits.
class Classifier final : public OutputDecoder {
 public:
  explicit Classifier(std::size_t classes) : count_(std::min(classes, ranked_.size())) {}

  void decode(std::span<const rtexec::Tensor> outputs) noexcept override {
    const auto logits = outputs.front().as<const float>();
    std::ranges::fill(ranked_, RankedClass{0, -INFINITY});
    for (std::size_t i = 0; i < logits.size(); ++i) insert({static_cast<std::uint32_t>(i), logits[i]});
    const float largest = ranked_.front().score;
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit - largest));
    for (auto& ranked : ranked_)
      ranked.score = static_cast<float>(std::exp(static_cast<double>(ranked.score - largest)) / sum);
  }

  [[nodiscard]] std::span<const RankedClass> classes() const noexcept override {
    return std::span(ranked_).first(count_);
  }

 private:
  void insert(RankedClass candidate) noexcept {
    for (auto& ranked : ranked_)
      if (candidate.score > ranked.score) std::swap(candidate, ranked);
  }

  std::array<RankedClass, 5> ranked_{};
  std::size_t count_;
};

std::optional<std::string_view> find(const Metadata& metadata, std::string_view key) {
  const auto entry = metadata.find(std::string(key));
  if (entry == metadata.end()) return {};
  return entry->second;
}

Unexpected<Error> refuse(std::string_view key, std::string_view value, const std::string& why) {
  return fail(Errc::bad_input, "metadata " + std::string(key) + " = \"" + config::printable(value) + "\": " + why);
}

/// Parses a text of `count` finite numbers separated by commas, and returns the numbers. Returns nullopt for any other
/// text.
std::optional<std::vector<float>> numbers(std::string_view text, std::size_t count) {
  std::vector<float> values;
  for (const auto part : config::parts(text, ',')) {
    const auto value = config::number<float>(part);
    if (!value || !std::isfinite(*value)) return {};
    values.push_back(*value);
  }
  if (values.size() != count) return {};
  return values;
}

Result<std::vector<Anchor>> read_anchors(std::string_view text, std::string_view whole) {
  std::vector<Anchor> anchors;
  for (const auto part : config::parts(text, ' ')) {
    const auto size = numbers(part, 2);
    if (!size || !((*size)[0] > 0 && (*size)[1] > 0))
      return refuse(kAnchors, whole, "\"" + config::printable(part) + "\" is not WIDTH,HEIGHT in pixels");
    anchors.push_back({(*size)[0], (*size)[1]});
  }
  if (anchors.empty()) return refuse(kAnchors, whole, "an output has no anchor");
  return anchors;
}

Result<std::unique_ptr<OutputDecoder>> make_detector(const Metadata& metadata, std::span<const rtexec::Tensor> inputs,
                                                     std::span<const rtexec::Tensor> outputs) {
  const std::string_view text = find(metadata, kAnchors).value_or("");
  if (inputs.size() != 1) return refuse(kTask, "detect", "needs one input, not " + std::to_string(inputs.size()));
  const Shape& input = inputs.front().shape;
  if (input.size() != 4) return refuse(kTask, "detect", "needs an input of four dimensions, not " + to_string(input));
  const auto parts = config::parts(text, ';');
  if (parts.size() != outputs.size())
    return refuse(
        kAnchors, text,
        "has anchors for " + std::to_string(parts.size()) + " of the " + std::to_string(outputs.size()) + " outputs");
  std::vector<DetectorHead> heads;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto anchors = read_anchors(parts[i], text);
    if (!anchors) return Unexpected(anchors.error());
    const Shape& shape = outputs[i].shape;
    const auto count = static_cast<std::int64_t>(anchors->size());
    if (shape.size() != 4 || shape[0] != 1 || shape[1] % count != 0 || shape[1] / count < 6)
      return refuse(kAnchors, text,
                    "output " + std::to_string(i) + " of shape " + to_string(shape) +
                        " must have anchors * (5 + classes) channels");
    heads.push_back({std::move(*anchors), static_cast<std::size_t>(shape[1] / count - 5),
                     static_cast<std::size_t>(shape[2]), static_cast<std::size_t>(shape[3])});
  }
  const bool interleaved = input[1] != 3 && input[3] == 3; // [1, height, width, 3]
  return std::make_unique<Detector>(std::move(heads), static_cast<std::size_t>(input[interleaved ? 2 : 3]),
                                    static_cast<std::size_t>(input[interleaved ? 1 : 2]));
}

} // namespace

Result<std::unique_ptr<OutputDecoder>> make_decoder(const Metadata& metadata, std::span<const rtexec::Tensor> inputs,
                                                    std::span<const rtexec::Tensor> outputs) {
  const auto task = find(metadata, kTask);
  if (!task) return nullptr;
  for (const auto& output : outputs)
    if (output.type != ElementType::float32)
      return refuse(
          kTask, *task,
          "needs outputs of float32, and " + config::quoted(output.name) + " is of " + std::string(name(output.type)));
  if (*task == "detect") return make_detector(metadata, inputs, outputs);
  if (*task != "classify") return refuse(kTask, *task, "must be \"detect\" or \"classify\"");
  if (outputs.size() != 1) return refuse(kTask, *task, "needs one output, not " + std::to_string(outputs.size()));
  return std::make_unique<Classifier>(static_cast<std::size_t>(element_count(outputs.front().shape)));
}

Result<Normalization> normalization_of(const Metadata& metadata) {
  Normalization normalization;
  const auto read = [&](std::string_view key, std::array<float, 3>& values) -> Result<> {
    const auto text = find(metadata, key);
    if (!text) return {};
    const auto read_values = numbers(*text, values.size());
    if (!read_values) return refuse(key, *text, "must be three numbers, \"RED,GREEN,BLUE\"");
    std::ranges::copy(*read_values, values.begin());
    return {};
  };
  if (auto mean = read(kMean, normalization.mean); !mean) return Unexpected(mean.error());
  if (auto deviation = read(kDeviation, normalization.deviation); !deviation) return Unexpected(deviation.error());
  for (const float deviation : normalization.deviation)
    if (!(deviation > 0)) return refuse(kDeviation, *find(metadata, kDeviation), "must be above zero");
  return normalization;
}

std::vector<rtexec::Tensor> normalised(std::span<const rtexec::Tensor> inputs, const Normalization& normalization) {
  std::vector<rtexec::Tensor> tensors(inputs.begin(), inputs.end());
  for (auto& tensor : tensors) tensor.mean = normalization.mean, tensor.deviation = normalization.deviation;
  return tensors;
}

} // namespace rtexec::tasks
