#include "hal/camera.hpp"

#include "hal/linux/video_node.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <linux/videodev2.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace rtexec::hal {
namespace {

constexpr std::uint32_t capture = V4L2_BUF_TYPE_VIDEO_CAPTURE;

v4l2_buffer buffer_at(std::uint32_t index) noexcept {
  v4l2_buffer buffer{};
  buffer.index = index;
  buffer.type = capture;
  buffer.memory = V4L2_MEMORY_MMAP;
  return buffer;
}

// ---- negotiation ----

Unexpected<Error> failed(const VideoNode& node, const std::string& what, int error) {
  const bool busy = error == EBUSY;
  const bool absent = error == ENOTTY;
  return call_failed(what + " of the camera " + node.path(), error, busy ? busy_advice(node.path()) : "",
                     absent ? Errc::unsupported : Errc::refused);
}

Result<PixelFormat> choose_format(const VideoNode& node, std::optional<PixelFormat> wanted) {
  const auto has = node.formats();
  for (const PixelFormat format :
       {PixelFormat::rgb24, PixelFormat::bgr24, PixelFormat::yuyv, PixelFormat::nv12, PixelFormat::mjpg})
    if (wanted.value_or(format) == format && std::ranges::find(has, fourcc_of(format)) != has.end()) return format;
  return fail(Errc::unsupported, "the camera " + node.path() + " (" + node.camera() + ") has no pictures in " +
                                     (wanted ? std::string(name(*wanted)) : "RGB24, BGR24, YUYV, NV12 or MJPG") +
                                     "; its formats: " + names_of(has) + ".");
}

/// Returns the size of one line of pixels in bytes; 0 if the format has no lines.
std::uint64_t line(const CameraSettings& settings) {
  const std::uint64_t width = settings.width;
  switch (settings.format) {
  case PixelFormat::rgb24:
  case PixelFormat::bgr24: return 3 * width;
  case PixelFormat::yuyv: return 2 * width;
  case PixelFormat::nv12: return width;
  case PixelFormat::mjpg: return 0;
  }
  return 0;
}

/// Returns the minimum size of a picture.
Bytes picture(const CameraSettings& settings) {
  if (settings.format == PixelFormat::mjpg) return Bytes{2}; // the first marker of MJPG
  const std::uint64_t rows = settings.height + (settings.format == PixelFormat::nv12 ? (settings.height + 1) / 2 : 0);
  return settings.stride * rows;
}

bool is_full_frame(std::uint32_t field) { return field == V4L2_FIELD_NONE || field == V4L2_FIELD_INTERLACED; }

Result<> agree_on_format(const VideoNode& node, const CameraWanted& wanted, CameraSettings& settings) {
  const auto chosen = choose_format(node, wanted.format);
  if (!chosen) return Unexpected(chosen.error());
  v4l2_format format{};
  format.type = capture;
  format.fmt.pix.width = wanted.width;
  format.fmt.pix.height = wanted.height;
  format.fmt.pix.pixelformat = fourcc_of(*chosen);
  format.fmt.pix.field = V4L2_FIELD_NONE;
  if (const int error = control(node.file(), VIDIOC_S_FMT, &format); error != 0)
    return failed(node, "setting the format", error);
  if (const int error = control(node.file(), VIDIOC_G_FMT, &format); error != 0)
    return failed(node, "reading back the format", error);
  const v4l2_pix_format& got = format.fmt.pix;
  if (got.pixelformat != fourcc_of(*chosen))
    return fail(Errc::unsupported, "the camera " + node.path() + " was set to give " + std::string(name(*chosen)) +
                                       ", but gives " + fourcc_name(got.pixelformat) +
                                       "; its formats: " + names_of(node.formats()) + ".");
  if (!is_full_frame(got.field))
    return fail(Errc::unsupported,
                "the camera " + node.path() + " gives interlaced pictures, which are not supported.");
  settings.width = got.width;
  settings.height = got.height;
  settings.format = *chosen;
  settings.stride = {std::max<std::uint64_t>(got.bytesperline, line(settings))};
  const bool is_picture = got.width > 0 && got.height > 0 && picture(settings).count <= got.sizeimage;
  const bool whole_stride = got.bytesperline == 0 || got.bytesperline >= line(settings);
  if (is_picture && whole_stride) return {};
  return fail(Errc::refused, "the driver of the camera " + node.path() + " is inconsistent: " +
                                 std::to_string(got.width) + " x " + std::to_string(got.height) + " pixels of " +
                                 std::string(name(*chosen)) + " in lines of " + std::to_string(got.bytesperline) +
                                 " bytes and pictures of " + std::to_string(got.sizeimage) + " bytes.");
}

Result<> agree_on_interval(const VideoNode& node, std::optional<Frequency> rate, CameraSettings& settings) {
  v4l2_streamparm parameters{};
  parameters.type = capture;
  v4l2_captureparm& capturing = parameters.parm.capture;
  const bool known = control(node.file(), VIDIOC_G_PARM, &parameters) == 0;
  if (rate) {
    if (!known || (capturing.capability & V4L2_CAP_TIMEPERFRAME) == 0)
      return fail(Errc::unsupported, "the camera " + node.path() + " (" + node.camera() +
                                         ") has a fixed rate.\nLeave the rate out, to use the camera's own.");
    capturing.timeperframe = {.numerator = 1, .denominator = static_cast<std::uint32_t>(rate->hertz)};
    if (const int error = control(node.file(), VIDIOC_S_PARM, &parameters); error != 0)
      return failed(node, "setting the rate", error);
    if (const int error = control(node.file(), VIDIOC_G_PARM, &parameters); error != 0)
      return failed(node, "reading back the rate", error);
  }
  const v4l2_fract& between = capturing.timeperframe;
  if (known && between.numerator != 0 && between.denominator != 0)
    settings.interval = Duration(std::int64_t{1'000'000'000} * between.numerator / between.denominator);
  return {};
}

Result<CameraSettings> negotiate(const VideoNode& node, const CameraWanted& wanted) {
  constexpr std::uint64_t highest_rate = 1'000'000;
  if (wanted.width == 0 || wanted.height == 0 || (wanted.rate && wanted.rate->hertz - 1 >= highest_rate))
    return fail(Errc::bad_input, "a camera's width and height must be more than 0, its rate from 1 Hz to 1 MHz.");
  CameraSettings settings;
  settings.camera = node.camera();
  if (const auto agreed = agree_on_format(node, wanted, settings); !agreed) return Unexpected(agreed.error());
  if (const auto agreed = agree_on_interval(node, wanted.rate, settings); !agreed) return Unexpected(agreed.error());
  return settings;
}

using Buffers = std::vector<Mapping>;

/// Returns the number of buffers: one for each frame that the camera takes during `gap`, one for the frame that the
/// user holds, and one for jitter of the camera. `interval`: the time between two frames, if the driver reports it.
unsigned buffers_for(Duration gap, std::optional<Duration> interval) {
  constexpr Duration usual(33'333'333); // assumed interval if the driver reports none
  const Duration between = std::max(interval.value_or(usual), Duration(1));
  const std::int64_t frames = gap / between + (gap % between != Duration(0));
  return static_cast<unsigned>(std::clamp<std::int64_t>(frames + 2, Camera::min_buffers, Camera::max_buffers));
}

/// Requests `count` buffers. If memory is short, the driver grants fewer. Returns the granted number, at most
/// max_buffers.
Result<unsigned> ask_for_buffers(const VideoNode& node, unsigned count) {
  v4l2_requestbuffers request{};
  request.count = count;
  request.type = capture;
  request.memory = V4L2_MEMORY_MMAP;
  const int error = control(node.file(), VIDIOC_REQBUFS, &request);
  if (error == ENOMEM && count > Camera::min_buffers)
    return ask_for_buffers(node, std::max(count / 2, Camera::min_buffers));
  if (error != 0) return failed(node, "asking for the buffers", error);
  if (request.count < Camera::min_buffers)
    return fail(Errc::refused, "the camera " + node.path() + " gives " + std::to_string(request.count) +
                                   " buffers, and " + std::to_string(Camera::min_buffers) +
                                   " are needed: its driver has no memory for more (ask for smaller pictures).");
  return std::min(request.count, Camera::max_buffers);
}

Result<Buffers> map_buffers(const VideoNode& node, Bytes picture, unsigned count) {
  const auto given = ask_for_buffers(node, count);
  if (!given) return Unexpected(given.error());
  Buffers buffers(*given);
  for (std::uint32_t index = 0; index < *given; ++index) {
    v4l2_buffer buffer = buffer_at(index);
    if (const int error = control(node.file(), VIDIOC_QUERYBUF, &buffer); error != 0)
      return failed(node, "asking about a buffer", error);
    if (buffer.length < picture.count)
      return fail(Errc::refused, "a buffer of the camera " + node.path() + " has " + std::to_string(buffer.length) +
                                     " bytes, and a picture " + std::to_string(picture.count) + ".");
    auto mapped = Mapping::of_file(node.file(), Bytes{buffer.length}, PROT_READ, MAP_SHARED,
                                   "a buffer of the camera " + node.path(), static_cast<off_t>(buffer.m.offset));
    if (!mapped) return Unexpected(mapped.error());
    buffers[index] = std::move(*mapped);
  }
  return buffers;
}

// ---- capture ----

void add(std::atomic<std::uint64_t>& count, std::uint64_t more = 1) noexcept {
  count.fetch_add(more, std::memory_order_relaxed);
}

bool is_gone(int error) { return error == ENODEV || error == ENXIO || error == EBADF; }

Instant stamp_of(const v4l2_buffer& buffer) noexcept {
  return Instant(std::chrono::seconds(buffer.timestamp.tv_sec) + std::chrono::microseconds(buffer.timestamp.tv_usec));
}

class Capture final : public Camera {
 public:
  Capture(VideoNode node, CameraSettings settings, Buffers mapped, FileDescriptor waker)
      : node_(std::move(node)),
        settings_(std::move(settings)),
        picture_(picture(settings_)),
        mapped_(std::move(mapped)),
        waker_(std::move(waker)) {}
  ~Capture() override { (void)stop(); }

  const CameraSettings& settings() const noexcept override { return settings_; }

  Result<> start() override {
    if (gone_) return fail(Errc::device_lost, "the camera " + node_.path() + " was removed; open it again.");
    if (const auto stopped = stop(); !stopped) return stopped;
    for (auto* count : {&frames_, &passed_over_, &lost_, &broken_, &failures_}) *count = 0;
    last_sequence_.reset();
    last_taken_ = {};
    owed_.fill(false);
    looked_ = now();
    started_ = true;
    for (std::uint32_t index = 0; index < settings_.buffers; ++index) {
      v4l2_buffer buffer = buffer_at(index);
      if (const int error = control(node_.file(), VIDIOC_QBUF, &buffer); error != 0) return not_started(error);
    }
    int type = capture;
    if (const int error = control(node_.file(), VIDIOC_STREAMON, &type); error != 0) return not_started(error);
    return {};
  }

  Result<> stop() override {
    if (!started_) return {};
    started_ = false;
    held_.reset();
    int type = capture;
    const int error = control(node_.file(), VIDIOC_STREAMOFF, &type); // returns all buffers to this process
    if (error == 0 || is_gone(error)) return {};
    return failed(node_, "stopping", error);
  }

  Expected<std::optional<CameraFrame>, Errc> newest() noexcept override {
    if (gone_.load(std::memory_order_relaxed)) return Unexpected(Errc::device_lost);
    if (!started_) return Unexpected(Errc::bad_input);
    std::optional<v4l2_buffer> found;
    const Instant before = std::exchange(looked_, now());
    int error = give_back_owed();
    unsigned taken = 0;
    // The loop dequeues at most as many buffers as the camera has. So it ends even if the camera fills buffers faster
    // than the loop dequeues them
    while (error == 0 && taken < settings_.buffers) {
      v4l2_buffer buffer = buffer_at(0);
      error = control(node_.file(), VIDIOC_DQBUF, &buffer);
      if (error != 0) break;
      ++taken;
      error = choose(buffer, found);
    }
    if (is_gone(error)) return lose();
    if (error != 0 && error != EAGAIN) add(failures_);
    const bool full = taken + (held_ ? 1 : 0) >= settings_.buffers;
    if (found) return keep(*found, full ? before : looked_);
    if (error != 0 && error != EAGAIN) return Unexpected(Errc::io_error);
    return std::optional<CameraFrame>();
  }

  Expected<Wake, Errc> await(Instant until) noexcept override {
    for (;;) {
      if (gone_.load(std::memory_order_relaxed)) return Unexpected(Errc::device_lost);
      if (!started_) return Unexpected(Errc::bad_input);
      std::array files{pollfd{.fd = node_.file(), .events = POLLIN, .revents = 0},
                       pollfd{.fd = waker_.number(), .events = POLLIN, .revents = 0}};
      const auto left = std::max<std::int64_t>((until - now()).count(), 0);
      const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
      const int ready = sys().ppoll(files.data(), files.size(), &timeout);
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return Unexpected(Errc::io_error);
      if (files[1].revents != 0) return woken();
      if ((files[0].revents & POLLHUP) != 0) return lose();
      if ((files[0].revents & POLLIN) != 0) return Wake::frame;
      if (files[0].revents != 0) return Unexpected(Errc::io_error);
      return Wake::time;
    }
  }

  void wake() noexcept override {
    const std::uint64_t one = 1;
    (void)sys().write(waker_.number(), &one, sizeof one); // fails only if the counter is full, after 2^64 wakes
  }

  CameraCounts counts() const noexcept override {
    return {.frames = frames_, .passed_over = passed_over_, .lost = lost_, .broken = broken_, .failures = failures_};
  }

 private:
  Unexpected<Error> not_started(int error) {
    (void)stop();
    if (error == ENOSPC)
      return call_failed("starting the camera " + node_.path(), error,
                         "Its bus has no bandwidth left, since other cameras use the same USB controller. Use smaller "
                         "pictures or a lower rate, or another USB port.");
    return failed(node_, "starting", error);
  }

  Unexpected<Errc> lose() noexcept {
    gone_.store(true, std::memory_order_relaxed);
    return Unexpected(Errc::device_lost);
  }

  Wake woken() noexcept {
    std::uint64_t times = 0;
    (void)sys().read(waker_.number(), &times, sizeof times); // never blocks: the file is readable or non-blocking
    return Wake::woken;
  }

  /// Returns a buffer to the driver. Returns 0, or an error that ends newest(). If the driver refuses the buffer, the
  /// next call of newest() tries again.
  int give_back(std::uint32_t index) noexcept {
    v4l2_buffer buffer = buffer_at(index);
    const int error = control(node_.file(), VIDIOC_QBUF, &buffer);
    owed_[index] = error != 0;
    return error;
  }

  int give_back_owed() noexcept {
    int outcome = 0;
    for (std::uint32_t index = 0; index < settings_.buffers; ++index)
      if (owed_[index])
        if (const int error = give_back(index); error != 0) outcome = error;
    return outcome;
  }

  /// Counts the frame `taken`. If the frame is complete, it becomes `found`, and the previous `found` is returned to
  /// the driver. Returns 0 or an error.
  int choose(const v4l2_buffer& taken, std::optional<v4l2_buffer>& found) noexcept {
    if (taken.index >= settings_.buffers) return EIO;
    count_gap(taken.sequence);
    const std::uint64_t length = mapped_[taken.index].size().count;
    const bool whole = taken.bytesused >= picture_.count && taken.bytesused <= length;
    if (!whole || (taken.flags & V4L2_BUF_FLAG_ERROR) != 0) {
      add(broken_);
      return give_back(taken.index);
    }
    const auto older = std::exchange(found, taken);
    if (!older) return 0;
    add(passed_over_);
    return give_back(older->index);
  }

  void count_gap(std::uint32_t sequence) noexcept {
    const std::uint32_t gap = last_sequence_ ? sequence - *last_sequence_ - 1 : 0;
    if (gap < UINT32_MAX / 2) add(lost_, gap); // otherwise the driver restarted the sequence, and no frame was lost
    last_sequence_ = sequence;
  }

  /// Makes the frame of `buffer` the current frame. If the driver's stamp cannot be used, `otherwise` is the time of
  /// the frame.
  CameraFrame keep(const v4l2_buffer& buffer, Instant otherwise) noexcept {
    if (held_) (void)give_back(*held_); // if the driver refuses the buffer, the next call of newest() tries again
    held_ = buffer.index;
    add(frames_);
    CameraFrame frame{.bytes = {mapped_[buffer.index].base(), buffer.bytesused}, .sequence = buffer.sequence};
    const Instant met = now();
    const Instant stamped = stamp_of(buffer);
    const bool monotonic = (buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    const bool possible = monotonic && stamped <= met && stamped >= last_taken_ && stamped > Instant{};
    const bool begin = (buffer.flags & V4L2_BUF_FLAG_TSTAMP_SRC_MASK) == V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
    frame.taken = last_taken_ = possible ? stamped : std::max(otherwise, last_taken_);
    frame.stamp = !possible ? CameraFrame::Stamp::dequeued
                  : begin   ? CameraFrame::Stamp::start_of_exposure
                            : CameraFrame::Stamp::end_of_frame;
    return frame;
  }

  const VideoNode node_;
  const CameraSettings settings_;
  const Bytes picture_;
  const Buffers mapped_;
  const FileDescriptor waker_;
  std::atomic<bool> gone_{false};
  bool started_ = false;
  std::optional<std::uint32_t> held_;    // the buffer of the frame that newest() returned
  std::array<bool, max_buffers> owed_{}; // true for a buffer that must still be returned to the driver
  Instant looked_{};                     // time of the last call of newest()
  std::optional<std::uint32_t> last_sequence_;
  Instant last_taken_{};
  std::atomic<std::uint64_t> frames_{0}, passed_over_{0}, lost_{0}, broken_{0}, failures_{0};
};

} // namespace

Result<std::unique_ptr<Camera>> Camera::open(const std::string& path, const CameraWanted& wanted) {
  auto node = VideoNode::open(path);
  if (!node) return Unexpected(node.error());
  auto settings = negotiate(*node, wanted);
  if (!settings) return Unexpected(settings.error());
  auto mapped = map_buffers(*node, picture(*settings), buffers_for(wanted.gap, settings->interval));
  if (!mapped) return Unexpected(mapped.error());
  settings->buffers = static_cast<unsigned>(mapped->size());
  FileDescriptor waker(sys().eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (waker.number() < 0) return call_failed("making an eventfd", errno);
  return std::unique_ptr<Camera>(
      std::make_unique<Capture>(std::move(*node), std::move(*settings), std::move(*mapped), std::move(waker)));
}

} // namespace rtexec::hal
