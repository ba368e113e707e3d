// A simulated V4L2 driver behind the table of system calls, for tests of all components. Its one camera, /dev/video7,
// delivers frames as its virtual time passes, and misbehaves on demand. Each byte of a frame is its sequence number
// (the lower eight bits), or `paint` fills the frame. Files, mappings and waiting are real. One instance at a time. Any
// thread may call it.
#pragma once

#include "hal/system.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <linux/videodev2.h>
#include <mutex>
#include <optional>
#include <poll.h>
#include <span>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace rtexec::hal::test {

class FakeCamera {
 public:
  static constexpr const char* path = "/dev/video7";
  static constexpr std::size_t buffer_space = 1 << 20;

  // properties of the camera; set before it is opened
  std::uint32_t capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
  std::vector<std::uint32_t> formats{V4L2_PIX_FMT_MJPEG, V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_RGB24};
  std::uint32_t width = 0, height = 0; // 0: as requested
  std::uint32_t stride = 0;            // 0: no gaps
  std::uint32_t image_size = 0;        // 0: stride times the number of lines
  std::uint32_t field = V4L2_FIELD_NONE;
  std::optional<std::uint32_t> answers_format{}; // regardless of the requested format
  std::uint32_t max_buffers = 32;
  bool sets_rate = true;
  v4l2_fract interval{.numerator = 1, .denominator = 30};
  std::optional<v4l2_fract> only_interval{};

  // how it makes frames; may change at any time
  std::uint32_t flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  std::function<void(v4l2_buffer&)> spoil; // called with each frame before it is ready
  std::function<void(std::span<std::byte>)> paint;
  std::atomic<bool> gone{false};

  // observed calls
  int opened = 0, streaming = 0;

  FakeCamera() : override_((install(this), table_)) {}
  ~FakeCamera() { self_ = nullptr; }
  FakeCamera(const FakeCamera&) = delete;
  FakeCamera& operator=(const FakeCamera&) = delete;

  /// Makes the next `times` calls of this request (VIDIOC_...; 0: opening) fail with `error`, or all from now on if
  /// `times` is negative.
  void fail(unsigned long request, int error, int times = 1) {
    const std::lock_guard lock(mutex_);
    failures_.push_back({request, error, times});
  }

  /// Makes frames. Those without a free buffer count in the sequence and are lost.
  void make_frames(int count) {
    const std::lock_guard lock(mutex_);
    for (; count > 0; --count) make_frame();
  }

  /// Skips `numbers` sequence numbers.
  void skip(std::uint32_t numbers) { sequence_ += numbers; }

  /// Returns the time of the next frame.
  [[nodiscard]] Instant time() const { return time_; }
  void set_time(Instant time) { time_ = time; }
  [[nodiscard]] std::size_t queued() const { return queued_.size(); } // buffers that wait for a frame

  void unplug() {
    const std::lock_guard lock(mutex_);
    gone = true;
    tell();
  }

 private:
  struct Failure {
    unsigned long request;
    int error, times;
  };

  static void install(FakeCamera* camera) {
    self_ = camera;
    table_ = linux_system();
    table_.open = [](const char* name, int open_flags) {
      if (std::string_view(name) == path) return self_->open_device();
      if (std::string_view(name).starts_with("/dev/video")) return answer(ENOENT);
      return linux_system().open(name, open_flags);
    };
    table_.device_control = [](int file, unsigned long request, void* argument) {
      const std::lock_guard lock(self_->mutex_);
      return file == self_->file_ ? self_->control(request, argument)
                                  : linux_system().device_control(file, request, argument);
    };
    table_.mmap = [](void* address, std::size_t size, int protection, int map_flags, int file, off_t offset) {
      return linux_system().mmap(address, size, protection, map_flags,
                                 file >= 0 && file == self_->file_ ? self_->memory_ : file, offset);
    };
    table_.close = [](int file) {
      if (file >= 0 && file == self_->file_) self_->close_device();
      return linux_system().close(file);
    };
    table_.ppoll = [](pollfd* files, std::size_t count, const timespec* timeout) {
      const int ready = linux_system().ppoll(files, count, timeout);
      for (std::size_t i = 0; i < count; ++i)
        if (ready > 0 && files[i].fd == self_->file_ && self_->gone) files[i].revents = POLLERR | POLLHUP;
      return ready;
    };
  }

  static int answer(int error) {
    errno = error;
    return error == 0 ? 0 : -1;
  }

  [[nodiscard]] int failure_of(unsigned long request) {
    for (Failure& each : failures_) {
      if (each.request != request || each.times == 0) continue;
      if (each.times > 0) --each.times;
      return each.error;
    }
    return 0;
  }

  int open_device() {
    const std::lock_guard lock(mutex_);
    if (const int error = failure_of(0); error != 0) return answer(error);
    if (file_ >= 0) return answer(EBUSY);
    file_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); // readable while frames are ready
    memory_ = ::memfd_create("camera", MFD_CLOEXEC);
    ++opened;
    return file_;
  }

  void close_device() {
    file_ = -1;
    if (space_ != nullptr) ::munmap(space_, buffers_.size() * buffer_space);
    space_ = nullptr;
    ::close(memory_);
    --opened;
  }

  void tell() const {
    const std::uint64_t one = 1;
    (void)!::write(file_, &one, sizeof one);
  }
  void tell_no_more() const {
    std::uint64_t ready = 0;
    (void)!::read(file_, &ready, sizeof ready);
  }

  void make_frame() {
    const std::uint32_t number = sequence_++;
    const Instant when = time_;
    time_ += Duration(1'000'000'000ll * interval.numerator / interval.denominator);
    if (streaming == 0 || queued_.empty() || gone) return;
    v4l2_buffer buffer = buffers_[queued_.front()];
    queued_.erase(queued_.begin());
    buffer.sequence = number;
    buffer.flags = flags;
    buffer.bytesused = picture_.sizeimage;
    const auto us = when.time_since_epoch().count() / 1000;
    buffer.timestamp = {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
    std::memset(space_ + buffer.m.offset, static_cast<int>(number & 0xff), picture_.sizeimage);
    if (paint) paint(std::as_writable_bytes(std::span(space_ + buffer.m.offset, picture_.sizeimage)));
    if (spoil) spoil(buffer);
    ready_.push_back(buffer);
    tell();
  }

  int control(unsigned long request, void* argument) {
    if (const int error = failure_of(request); error != 0) return answer(error);
    if (gone) return answer(ENODEV);
    switch (request) {
    case VIDIOC_QUERYCAP: return identify(*static_cast<v4l2_capability*>(argument));
    case VIDIOC_ENUM_FMT: return describe(*static_cast<v4l2_fmtdesc*>(argument));
    case VIDIOC_S_FMT: return set_format(static_cast<v4l2_format*>(argument)->fmt.pix);
    case VIDIOC_G_FMT: static_cast<v4l2_format*>(argument)->fmt.pix = picture_; return 0;
    case VIDIOC_G_PARM: return rate(static_cast<v4l2_streamparm*>(argument)->parm.capture);
    case VIDIOC_S_PARM:
      interval = only_interval.value_or(static_cast<v4l2_streamparm*>(argument)->parm.capture.timeperframe);
      return 0;
    case VIDIOC_REQBUFS: return make_buffers(*static_cast<v4l2_requestbuffers*>(argument));
    case VIDIOC_QUERYBUF: {
      auto& buffer = *static_cast<v4l2_buffer*>(argument);
      buffer = buffers_.at(buffer.index);
      return 0;
    }
    case VIDIOC_QBUF: queued_.push_back(static_cast<v4l2_buffer*>(argument)->index); return 0;
    case VIDIOC_DQBUF: return take(*static_cast<v4l2_buffer*>(argument));
    case VIDIOC_STREAMON: streaming = 1; return 0;
    case VIDIOC_STREAMOFF: return stop();
    default: return answer(ENOTTY);
    }
  }

  int identify(v4l2_capability& has) const {
    std::memcpy(has.card, "Fake", sizeof "Fake");
    has.capabilities = capabilities | V4L2_CAP_DEVICE_CAPS | V4L2_CAP_META_CAPTURE; // of all its device files
    has.device_caps = capabilities;
    return 0;
  }

  int describe(v4l2_fmtdesc& description) const {
    if (description.index >= formats.size()) return answer(EINVAL);
    description.pixelformat = formats[description.index];
    return 0;
  }

  int set_format(const v4l2_pix_format& asked) {
    picture_ = asked;
    picture_.width = width != 0 ? width : asked.width;
    picture_.height = height != 0 ? height : asked.height;
    picture_.pixelformat = answers_format.value_or(asked.pixelformat);
    picture_.field = field;
    const bool yuyv = picture_.pixelformat == V4L2_PIX_FMT_YUYV;
    const bool nv12 = picture_.pixelformat == V4L2_PIX_FMT_NV12;
    picture_.bytesperline = stride != 0 ? stride : picture_.width * (yuyv ? 2 : nv12 ? 1 : 3);
    const std::uint32_t lines = nv12 ? picture_.height * 3 / 2 : picture_.height;
    picture_.sizeimage = image_size != 0 ? image_size : picture_.bytesperline * lines;
    return 0;
  }

  int rate(v4l2_captureparm& capture) const {
    capture.capability = sets_rate ? V4L2_CAP_TIMEPERFRAME : 0;
    capture.timeperframe = interval;
    return 0;
  }

  int make_buffers(v4l2_requestbuffers& request) {
    request.count = std::min(request.count, max_buffers);
    buffers_.assign(request.count, {});
    queued_.reserve(request.count);
    ready_.reserve(request.count);
    for (std::uint32_t i = 0; i < request.count; ++i) {
      buffers_[i].index = i;
      buffers_[i].length = picture_.sizeimage;
      buffers_[i].m.offset = static_cast<std::uint32_t>(i * buffer_space);
    }
    const std::size_t space = request.count * buffer_space;
    if (::ftruncate(memory_, static_cast<off_t>(space)) != 0) return -1;
    space_ = static_cast<char*>(::mmap(nullptr, space, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0));
    return 0;
  }

  int take(v4l2_buffer& buffer) {
    if (streaming == 0) return answer(EINVAL);
    if (ready_.empty()) return answer(EAGAIN);
    buffer = ready_.front();
    ready_.erase(ready_.begin());
    if (ready_.empty()) tell_no_more();
    return 0;
  }

  int stop() {
    streaming = 0;
    queued_.clear();
    ready_.clear();
    tell_no_more();
    return 0;
  }

  std::mutex mutex_;
  int file_ = -1, memory_ = -1;
  char* space_ = nullptr; // the buffers as the camera writes them
  v4l2_pix_format picture_{};
  std::vector<v4l2_buffer> buffers_;
  // Preallocated for all buffers, so that a real-time thread does not allocate.
  std::vector<std::uint32_t> queued_;
  std::vector<v4l2_buffer> ready_;
  std::vector<Failure> failures_;
  std::uint32_t sequence_ = 0;
  Instant time_ = now() - std::chrono::hours(1);

  static inline FakeCamera* self_ = nullptr;
  static inline System table_;
  SystemOverride override_;
};

} // namespace rtexec::hal::test
