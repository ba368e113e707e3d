// A V4L2 device that captures pictures. Opens the device and queries its properties.
#pragma once

#include <rtexec/result.hpp>
#include "hal/camera.hpp"
#include "hal/resources.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::hal {

/// Calls ioctl(2), and repeats the call after an interruption by a signal. Returns 0 or the errno.
[[nodiscard]] int control(int file, unsigned long request, void* argument) noexcept;

[[nodiscard]] std::uint32_t fourcc_of(PixelFormat format);
/// Returns the usual name of a format ("RGB24"), or its four letters ("H264").
[[nodiscard]] std::string fourcc_name(std::uint32_t fourcc);

class VideoNode {
 public:
  /// Opens a device. Returns the errors of Camera::open() that concern the device itself.
  [[nodiscard]] static Result<VideoNode> open(const std::string& path);
  /// Identifies the device `opened`, whose path is `path`. Returns the errors of open().
  [[nodiscard]] static Result<VideoNode> identify(const std::string& path, FileDescriptor opened);

  [[nodiscard]] int file() const { return file_.number(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& camera() const { return camera_; }
  /// Returns the formats in the driver's order.
  [[nodiscard]] std::vector<std::uint32_t> formats() const;

 private:
  VideoNode(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_, camera_;
  FileDescriptor file_;
};

[[nodiscard]] std::string busy_advice(const std::string& path);

/// Returns the names of the formats, separated by commas: "RGB24, H264". Returns "none" if there is no format.
[[nodiscard]] std::string names_of(const std::vector<std::uint32_t>& formats);

} // namespace rtexec::hal
