// A camera: pictures by Video4Linux (V4L2), in buffers that the driver fills and this process maps, so that no frame is
// copied. The camera owns its buffers. Set-up (open, start, stop) may allocate and block, and fails with a text;
// newest() and await() are for real-time threads: they neither allocate nor take a lock of ours (the kernel takes the
// device's own), touch memory that is mapped already, and answer with codes.
//
// Threading: open, start, stop and the destructor while no other call is under way; newest() and await() each by one
// thread at a time, which may differ; wake() and counts() by any.
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
  /// Absent: the first in the order of PixelFormat that the camera has
  std::optional<PixelFormat> format{};
  /// Absent: what the camera does by itself
  std::optional<Frequency> rate{};
  /// From one newest() to the next, at the longest: all frames of that time find a buffer (max_buffers at most), so
  /// that the newest is the camera's own. Beyond it newest() answers with the last that found one
  Duration gap{0};
};

/// Read back from the driver.
struct CameraSettings {
  std::string camera; // as it calls itself
  unsigned width = 0, height = 0;
  PixelFormat format = PixelFormat::rgb24;
  Bytes stride; // from one line to the next; of no meaning in MJPG
  /// Between frames; absent where the driver does not know
  std::optional<Duration> interval{};
  unsigned buffers = 0;
};

struct CameraFrame {
  /// The whole picture, at least: what the driver wrote. Whether one in MJPG is whole shows when it is decoded
  std::span<const std::byte> bytes;
  std::uint32_t sequence = 0; // counts what the camera took, wraps around
  Instant taken{};            // never earlier than that of the frame before
  enum class Stamp {
    start_of_exposure,
    end_of_frame, // its last byte arrived
    /// The driver has another clock, or none that can be true: `taken` is when newest() met it, or, where all buffers
    /// were full and it may have lain there, when newest() was called before
    dequeued,
  } stamp = Stamp::dequeued;
};

/// Since start().
struct CameraCounts {
  std::uint64_t frames = 0;      // that newest() answered with
  std::uint64_t passed_over = 0; // whole, and given back unseen because a newer one was there
  std::uint64_t lost = 0;     // gaps in the sequence: the camera took them, and no buffer was free or data went astray
  std::uint64_t broken = 0;   // that the driver marked as damaged, or that are shorter than a picture
  std::uint64_t failures = 0; // of the driver, save that the camera is gone
};

class Camera {
 public:
  static constexpr unsigned min_buffers = 4;  // one with whoever looks at it, and three to be filled
  static constexpr unsigned max_buffers = 32; // of a driver, by Linux before 6.8

  /// Opens a V4L2 device ("/dev/video0", "/dev/v4l/by-id/...") and agrees on a format. The size is the nearest that the
  /// camera has, and so is the interval: settings() says which. refused: there is no such device, it is busy, it may
  /// not be opened, it has not enough memory for its buffers; unsupported: it captures no pictures, or none in
  /// `format`, or its rate cannot be set. Each says what to do.
  [[nodiscard]] static Result<std::unique_ptr<Camera>> open(const std::string& path, const CameraWanted& wanted);

  virtual ~Camera() = default; // stops

  [[nodiscard]] virtual const CameraSettings& settings() const noexcept = 0;

  /// Frames come from now on. May be called again after stop().
  [[nodiscard]] virtual Result<> start() = 0;
  /// Ends the current frame's validity. Nothing where it was not started.
  virtual Result<> stop() = 0;

  /// Takes all frames that are ready, without waiting, keeps the newest whole one and gives the others back. Nothing
  /// where none came since the last call: that call's frame then stays valid; otherwise it ends here. io_error: the
  /// driver failed, and the next call may succeed; device_lost: the camera is gone, for good; bad_input: not started.
  [[nodiscard]] virtual Expected<std::optional<CameraFrame>, Errc> newest() noexcept = 0;

  enum class Wake { frame, woken, time };
  /// Waits until a frame is ready (it stays ready until newest()), somebody called wake(), or `until`. May say `frame`
  /// where newest() then finds none that is whole. Errors: as newest(), and at once.
  [[nodiscard]] virtual Expected<Wake, Errc> await(Instant until) noexcept = 0;
  /// Ends the await() under way, or else the next one.
  virtual void wake() noexcept = 0;

  [[nodiscard]] virtual CameraCounts counts() const noexcept = 0;
};

} // namespace rtexec::hal
