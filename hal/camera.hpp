// A camera: captures pictures by Video4Linux (V4L2) in buffers that the driver fills and this process maps, so that no
// frame is copied. The camera owns its buffers. Set-up (open, start, stop) may allocate and block, and returns errors
// with a text. newest() and await() are for real-time threads: they neither allocate nor take a lock of rtexec (the
// kernel takes the device's own lock), touch only mapped memory, and return error codes.
//
// Threading: open, start, stop and the destructor must not run while another call is under way. newest() and await()
// are each called by one thread at a time, and the thread may change. Any thread may call wake() and counts().
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace rtexec::hal {

struct CameraWanted {
  unsigned width = 0, height = 0;
  /// Absent: the camera uses the first format of the enumeration PixelFormat that it supports
  std::optional<PixelFormat> format{};
  /// Absent: the camera's default rate
  std::optional<Frequency> rate{};
  /// The longest time between two calls of newest(). The camera gets enough buffers (at most max_buffers) for all
  /// frames of that time, so that newest() returns the camera's newest frame. After a longer time newest() returns the
  /// last frame for which a buffer was free
  Duration gap{0};
};

/// The settings in force, read back from the driver.
struct CameraSettings {
  std::string camera; // the name that the camera reports
  unsigned width = 0, height = 0;
  PixelFormat format = PixelFormat::rgb24;
  Bytes stride; // from one line to the next; meaningless in MJPG
  /// Time between frames; absent if the driver does not report it
  std::optional<Duration> interval{};
  unsigned buffers = 0;
};

struct CameraFrame {
  /// The bytes that the driver wrote: at least the whole picture. An incomplete MJPG picture is detected only by
  /// decoding it
  std::span<const std::byte> bytes;
  std::uint32_t sequence = 0; // the driver's frame counter; wraps around
  Instant taken{};            // never earlier than `taken` of the previous frame
  enum class Stamp {
    start_of_exposure,
    end_of_frame, // the last byte of the frame arrived
    /// The driver's time stamps are not on CLOCK_MONOTONIC, or the frame's time stamp is impossible. `taken` is then
    /// the instant at which newest() found the frame. If all buffers were full, the frame may have waited since the
    /// previous call of newest(), and `taken` is the instant of that call
    dequeued,
  } stamp = Stamp::dequeued;
};

/// Counts since start().
struct CameraCounts {
  std::uint64_t frames = 0;      // frames that newest() returned
  std::uint64_t passed_over = 0; // complete frames returned to the driver unread, because a newer frame was ready
  std::uint64_t lost = 0;        // gaps in the sequence: frames for which no buffer was free, or whose data was lost
  std::uint64_t broken = 0;      // frames that the driver marked as damaged, or that are shorter than a picture
  std::uint64_t failures = 0;    // errors of the driver, except the loss of the camera
};

class Camera {
 public:
  static constexpr unsigned min_buffers = 4;  // one for the user of the frame, and three for the driver to fill
  static constexpr unsigned max_buffers = 32; // the maximum of a driver before Linux 6.8

  /// Opens a V4L2 device ("/dev/video0", "/dev/v4l/by-id/...") and negotiates a format. The camera uses the nearest
  /// size and interval that it supports; settings() returns them. Returns refused if the device does not exist, is
  /// busy, may not be opened, or has too little memory for its buffers. Returns unsupported if the device captures no
  /// pictures or does not support `format`, or if its rate cannot be set. Each error says what to do.
  [[nodiscard]] static Result<std::unique_ptr<Camera>> open(const std::string& path, const CameraWanted& wanted);

  virtual ~Camera() = default; // calls stop()

  [[nodiscard]] virtual const CameraSettings& settings() const noexcept = 0;

  /// Starts capturing. May be called again after stop().
  [[nodiscard]] virtual Result<> start() = 0;
  /// Stops capturing and ends the validity of the current frame. Has no effect if the camera was not started.
  virtual Result<> stop() = 0;

  /// Dequeues all ready frames without waiting, keeps the newest complete frame and returns the other frames to the
  /// driver. The frame of the previous call becomes invalid. If no frame is ready, returns nullopt instead, and the
  /// frame of the previous call stays valid. Returns io_error if the driver failed; the next call may succeed. Returns
  /// device_lost if the camera is gone for good, bad_input if the camera is not started.
  [[nodiscard]] virtual Expected<std::optional<CameraFrame>, Errc> newest() noexcept = 0;

  enum class Wake { frame, woken, time };
  /// Waits until a frame is ready, wake() is called, or `until`. A ready frame stays ready until newest() is called.
  /// May return `frame` although newest() then finds no complete frame. Returns the errors of newest(), without
  /// waiting.
  [[nodiscard]] virtual Expected<Wake, Errc> await(Instant until) noexcept = 0;
  /// Ends the await() under way. If no await() is under way, ends the next await() at once.
  virtual void wake() noexcept = 0;

  [[nodiscard]] virtual CameraCounts counts() const noexcept = 0;
};

} // namespace rtexec::hal
