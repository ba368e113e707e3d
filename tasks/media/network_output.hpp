// What a network's outputs mean, and their decoding: boxes of a detector, most probable classes of a classifier.
//
// An ONNX file says what it is in its metadata_props; files without these keys have their outputs kept as they are.
//   rtexec.task     "detect" (YOLOv3 heads [1, anchors * (5 + classes), height, width]) or "classify" (logits)
//   rtexec.anchors  detect: per output, in order, its anchors in input pixels: "81,82 135,169 344,319; 10,14 23,27
//   37,58" rtexec.mean     per-channel normalisation of pictures, "0.485,0.456,0.406"; 0 where absent rtexec.std
//   likewise; 1 where absent
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

  /// `outputs` are those of the network given at set-up, once it is bound. No allocation, no lock; bounded time.
  virtual void decode(std::span<const rtexec::Tensor> outputs) noexcept = 0;

  /// Whether it makes boxes.
  [[nodiscard]] virtual bool detects() const noexcept { return false; }
  /// Results of the last decode(), best first; valid until the next one. Empty where the network is of another kind.
  [[nodiscard]] virtual std::span<const Box> boxes() const noexcept { return {}; }
  [[nodiscard]] virtual std::span<const RankedClass> classes() const noexcept { return {}; }
};

/// Null where the metadata name no task. Errors (bad_input) name the key, its value and what does not fit the network's
/// inputs and outputs.
[[nodiscard]] Result<std::unique_ptr<OutputDecoder>> make_decoder(const Metadata& metadata,
                                                                  std::span<const rtexec::Tensor> inputs,
                                                                  std::span<const rtexec::Tensor> outputs);

/// How pictures are normalised, as in rtexec::Tensor.
struct Normalization {
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> deviation{1, 1, 1};
};
/// That of this network.
[[nodiscard]] Result<Normalization> normalization_of(const Metadata& metadata);
/// `inputs`, to be normalised that way.
[[nodiscard]] std::vector<rtexec::Tensor> normalised(std::span<const rtexec::Tensor> inputs,
                                                     const Normalization& normalization);

} // namespace rtexec::tasks
