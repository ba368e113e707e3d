// A source that samples the newest frame of a camera into a network's input.
#pragma once

#include <rtexec/task_set.hpp>
#include "hal/camera.hpp"
#include "rtexec/runtime/channels/source.hpp"
#include "tasks/media/frame.hpp"
#include "tasks/media/mjpg.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace rtexec::channels {

class CameraSource final : public Source {
 public:
  /// Makes a source whose open() opens the camera. `gap` is the longest time from one fetch() to the next. Returns
  /// bad_input if the tensor cannot hold pictures, or cannot hold them with this preprocessing.
  [[nodiscard]] static Result<std::unique_ptr<Source>> make(const TaskInput& asked, const Tensor& tensor, Duration gap);

  [[nodiscard]] Result<> open() override;
  [[nodiscard]] bool keep_up() noexcept override;
  [[nodiscard]] std::optional<Result<>> try_out() override { return open(); }
  [[nodiscard]] Expected<Sample, Errc> fetch(std::uint64_t job, Instant release, const Tensor& into) noexcept override;
  [[nodiscard]] bool releases() const noexcept override { return true; }
  [[nodiscard]] Expected<bool, Errc> await(Instant until) noexcept override;
  [[nodiscard]] std::uint64_t passed_over() const noexcept override;
  void wake() noexcept override;
  [[nodiscard]] std::string failure() const override;

 private:
  CameraSource(std::string path, hal::CameraWanted wanted, tasks::FrameSampler sampler)
      : path_(std::move(path)), wanted_(wanted), sampler_(std::move(sampler)) {}

  Errc failed(Errc error) noexcept;
  [[nodiscard]] Expected<Sample, Errc> nothing_new() const noexcept;
  [[nodiscard]] Expected<tasks::Frame, Errc> pixels_of(const hal::CameraFrame& frame) noexcept;

  const std::string path_;
  const hal::CameraWanted wanted_;
  tasks::FrameSampler sampler_;
  std::unique_ptr<hal::Camera> camera_;
  std::optional<tasks::MjpgDecoder> decoder_; // present if the camera sends JPEG pictures
  std::atomic<std::uint64_t> undecoded_{0};
  std::atomic<bool> gone_{false};
  std::optional<Instant> taken_; // capture instant of the last frame that fetch() sampled
  /// The frame that keep_up() kept. fetch() samples this frame unless the camera has a newer frame.
  std::optional<hal::CameraFrame> kept_;
};

} // namespace rtexec::channels
