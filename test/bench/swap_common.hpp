// Shared parts of the sections of swap-bench: options, sizes and times.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "test/bench/statistics.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rtexec::bench {

using nlohmann::json;

inline constexpr Bytes MiB{1 << 20};
inline constexpr Bytes GiB{1 << 30};

struct Options {
  /// ONNX files: ResNet, DenseNet, ResNeXt and YOLOv3 at 416 pixels, as in the paper.
  std::vector<std::string> models;
  std::vector<std::string> only; // sections; none: all
  std::string board = "h200";
  std::uint64_t shrink = 1; // divides all sizes
  std::string json;
};

/// `before` contains the results of the earlier sections, by their name.
struct Context {
  const Options& options;
  const json& before;
  [[nodiscard]] Bytes sized(Bytes size) const { return {size.count / options.shrink}; }
};

inline double milliseconds(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }
inline double microseconds(Duration time) { return std::chrono::duration<double, std::micro>(time).count(); }
inline double mebibytes(Bytes size) { return static_cast<double>(size.count) / static_cast<double>(MiB.count); }
inline double gibibytes(Bytes size) { return static_cast<double>(size.count) / static_cast<double>(GiB.count); }
inline double gigabytes(Bytes size) { return static_cast<double>(size.count) * 1e-9; }

/// Returns "resnet152-416" for "/models/resnet152-416.onnx".
inline std::string model_name(const std::string& file) {
  const auto name = file.substr(file.rfind('/') + 1);
  return name.substr(0, name.rfind(".onnx"));
}

} // namespace rtexec::bench
