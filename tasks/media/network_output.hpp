// The decoding of a network's outputs: boxes of a detector, or the most probable classes of a classifier.
//
// The metadata_props (key-value pairs) of an ONNX file describe its outputs with the following keys. Without them,
// outputs are not decoded.
//   rtexec.task     "detect" (YOLOv3 heads [1, anchors * (5 + classes), height, width]) or "classify" (logits)
//   rtexec.anchors  detect: the anchors of each output, in order, in input pixels: "81,82 135,169 344,319; 10,14 23,27
//                   37,58"
//   rtexec.mean     per-channel mean for normalising pictures, "0.485,0.456,0.406"; default 0
//   rtexec.std      per-channel standard deviation for normalising pictures, written as rtexec.mean; default 1
#pragma once

#include <rtexec/box.hpp>
#include <rtexec/result.hpp>
#include <rtexec/tensor.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks {

/// The metadata_props of an ONNX file.
using Metadata = std::map<std::string, std::string>;

class OutputDecoder {
 public:
  OutputDecoder() = default;
  virtual ~OutputDecoder() = default;
  OutputDecoder(const OutputDecoder&) = delete;
  OutputDecoder& operator=(const OutputDecoder&) = delete;

  /// Decodes `outputs`. They must be the outputs of the network for which the decoder was made, after the network was
  /// bound. Does not allocate or lock; the time is bounded.
  virtual void decode(std::span<const rtexec::Tensor> outputs) noexcept = 0;

  /// True if the decoder makes boxes, false if it makes classes.
  [[nodiscard]] virtual bool detects() const noexcept { return false; }
  /// Return the results of the last decode(), best first. The results are valid until the next decode(). The decoder of
  /// a detector returns no classes, and the decoder of a classifier returns no boxes.
  [[nodiscard]] virtual std::span<const Box> boxes() const noexcept { return {}; }
  [[nodiscard]] virtual std::span<const RankedClass> classes() const noexcept { return {}; }
};

/// Makes the decoder that the metadata name. Returns null if the metadata name no task. Returns bad_input if a value
/// does not fit the network's inputs and outputs; the message names the key, the value and the reason.
[[nodiscard]] Result<std::unique_ptr<OutputDecoder>> make_decoder(const Metadata& metadata,
                                                                  std::span<const rtexec::Tensor> inputs,
                                                                  std::span<const rtexec::Tensor> outputs);

/// The normalisation of pictures: mean and standard deviation of each channel, defined as in rtexec::Tensor.
struct Normalization {
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> deviation{1, 1, 1};
};
/// Returns the normalisation that a network's metadata define.
[[nodiscard]] Result<Normalization> normalization_of(const Metadata& metadata);
/// Returns `inputs` with their normalisation set to `normalization`.
[[nodiscard]] std::vector<rtexec::Tensor> normalised(std::span<const rtexec::Tensor> inputs,
                                                     const Normalization& normalization);

} // namespace rtexec::tasks
