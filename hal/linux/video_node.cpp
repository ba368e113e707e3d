#include "hal/linux/video_node.hpp"

#include "hal/linux/probe.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/videodev2.h>

namespace rtexec::hal {
namespace {

constexpr unsigned max_nodes = 64;

/// Codes of V4L2, by PixelFormat
constexpr std::array fourccs{V4L2_PIX_FMT_RGB24, V4L2_PIX_FMT_BGR24, V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_NV12,
                             V4L2_PIX_FMT_MJPEG};

std::string node_path(unsigned number) { return "/dev/video" + std::to_string(number); }

bool is_missing(int error) { return error == ENOENT || error == ENODEV || error == ENXIO; }

FileDescriptor open_file(const std::string& path) {
  return FileDescriptor(sys().open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
}

std::string cameras_here() {
  std::string found;
  for (unsigned number = 0; number < max_nodes; ++number) {
    FileDescriptor file = open_file(node_path(number));
    if (file.number() < 0) continue;
    if (const auto node = VideoNode::identify(node_path(number), std::move(file)))
      found += (found.empty() ? "" : ", ") + node->path() + " (" + node->camera() + ")";
  }
  return found;
}

Unexpected<Error> not_opened(const std::string& path, int error) {
  const std::string what = "opening the camera " + path;
  if (error == EACCES || error == EPERM)
    return call_failed(what, error, "Cameras belong to the group `video`: usermod -aG video USER, and log in again.");
  if (error == EBUSY) return call_failed(what, error, busy_advice(path));
  if (!is_missing(error)) return call_failed(what, error, "The kernel's log may say more: dmesg.");
  const std::string others = cameras_here();
  return call_failed(what, error,
                     others.empty() ? "This machine shows no camera: plug it in, load its driver, or give it to the "
                                      "container (--device " +
                                          path + ")."
                                    : "Cameras here: " + others + ".");
}

} // namespace

std::uint32_t fourcc_of(PixelFormat format) { return fourccs[static_cast<std::size_t>(format)]; }

std::string fourcc_name(std::uint32_t fourcc) {
  for (std::size_t i = 0; i < fourccs.size(); ++i)
    if (fourccs[i] == fourcc) return std::string(name(static_cast<PixelFormat>(i)));
  std::string letters;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    const char letter = static_cast<char>(fourcc >> shift & 0x7f);
    letters += letter >= ' ' && letter != 0x7f ? letter : '?';
  }
  return letters;
}

std::string names_of(const std::vector<std::uint32_t>& formats) {
  std::string names;
  for (const std::uint32_t format : formats) names += (names.empty() ? "" : ", ") + fourcc_name(format);
  return names.empty() ? "none" : names;
}

int control(int file, unsigned long request, void* argument) noexcept {
  for (;;) {
    if (sys().device_control(file, request, argument) != -1) return 0;
    if (errno != EINTR) return errno;
  }
}

std::string busy_advice(const std::string& path) {
  return "Another program uses it: end that (`fuser " + path + "` says which).";
}

Result<VideoNode> VideoNode::open(const std::string& path) {
  FileDescriptor file = open_file(path);
  if (file.number() < 0) return not_opened(path, errno);
  return identify(path, std::move(file));
}

Result<VideoNode> VideoNode::identify(const std::string& path, FileDescriptor opened) {
  VideoNode node(path, std::move(opened));
  v4l2_capability has{};
  const int error = control(node.file(), VIDIOC_QUERYCAP, &has);
  if (error == ENOTTY || error == EINVAL)
    return fail(Errc::unsupported, path + " is not a camera: it is not a Video4Linux device.");
  if (error != 0)
    return call_failed("asking the camera " + path + " what it is", error, "The kernel's log may say more: dmesg.");
  const auto* card = reinterpret_cast<const char*>(has.card);
  node.camera_.assign(card, ::strnlen(card, sizeof has.card));
  const std::uint32_t can = has.capabilities & V4L2_CAP_DEVICE_CAPS ? has.device_caps : has.capabilities;
  constexpr std::uint32_t needed = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
  if ((can & needed) == needed) return node;
  const char* but = can & V4L2_CAP_VIDEO_CAPTURE_MPLANE ? "it has a multi-planar format, which is not supported."
                    : can & V4L2_CAP_VIDEO_CAPTURE      ? "it does not support streaming into mapped memory."
                                                        : "it is not a capture device.";
  return fail(Errc::unsupported, path + " (" + node.camera_ + ") gives no pictures: " + but +
                                     "\nOnly some device files of a camera capture: `rtexec probe` lists them.");
}

std::vector<std::uint32_t> VideoNode::formats() const {
  std::vector<std::uint32_t> formats;
  for (std::uint32_t index = 0;; ++index) {
    v4l2_fmtdesc description{};
    description.index = index;
    description.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (control(file(), VIDIOC_ENUM_FMT, &description) != 0) return formats;
    formats.push_back(description.pixelformat);
  }
}

std::vector<Finding> cameras() {
  std::vector<Finding> findings;
  for (unsigned number = 0; number < max_nodes; ++number) {
    const std::string path = node_path(number);
    FileDescriptor file = open_file(path);
    if (file.number() < 0 && is_missing(errno)) continue;
    const Result<VideoNode> node =
        file.number() < 0 ? not_opened(path, errno) : VideoNode::identify(path, std::move(file));
    if (node) findings.push_back(ok("camera", path + ", " + node->camera() + ": " + names_of(node->formats())));
    if (node || node.error().code == Errc::unsupported) continue;
    findings.push_back(refused("camera", node.error()));
    findings.back().grade = Finding::Grade::note;
  }
  if (findings.empty()) findings.push_back(ok("camera", "none"));
  return findings;
}

} // namespace rtexec::hal
