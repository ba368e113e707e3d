#include "rtexec/runtime/channels/camera_source.hpp"
#include <rtexec/task_set.hpp>

#include <cmath>
#include <utility>

namespace rtexec::channels {
namespace {

tasks::Extent size_of_frames(const hal::CameraSettings& settings) noexcept {
  return {.width = static_cast<int>(settings.width), .height = static_cast<int>(settings.height)};
}

} // namespace

Result<std::unique_ptr<Source>> CameraSource::make(const TaskInput& asked, const Tensor& tensor, Duration gap) {
  auto sampler = tasks::FrameSampler::make(tensor, asked.preprocessing);
  if (!sampler) return Unexpected(sampler.error());
  const tasks::Extent network = sampler->extent();
  const PictureSize size = asked.size.value_or(
      PictureSize{.width = static_cast<unsigned>(network.width), .height = static_cast<unsigned>(network.height)});
  hal::CameraWanted wanted{.width = size.width, .height = size.height, .format = asked.format, .rate = {}, .gap = gap};
  if (asked.interval)
    wanted.rate =
        Frequency{static_cast<std::uint64_t>(std::lround(1e9 / static_cast<double>(asked.interval->count())))};
  return std::unique_ptr<Source>(new CameraSource(asked.from, wanted, std::move(*sampler)));
}

Result<> CameraSource::open() {
  auto camera = hal::Camera::open(path_, wanted_);
  if (!camera) return Unexpected(camera.error());
  camera_ = std::move(*camera);
  if (const hal::CameraSettings& settings = camera_->settings(); settings.format == PixelFormat::mjpg) {
    auto decoder = tasks::MjpgDecoder::make(size_of_frames(settings));
    if (!decoder) return Unexpected(decoder.error());
    decoder_ = std::move(*decoder);
  }
  return camera_->start();
}

Expected<Sample, Errc> CameraSource::nothing_new() const noexcept {
  return taken_ ? Expected<Sample, Errc>(Sample{.sampled = *taken_, .fresh = false}) : Unexpected(Errc::stale);
}

Expected<tasks::Frame, Errc> CameraSource::pixels_of(const hal::CameraFrame& frame) noexcept {
  if (decoder_) return decoder_->decode(frame.bytes);
  const hal::CameraSettings& settings = camera_->settings();
  return tasks::Frame{.format = settings.format,
                      .size = size_of_frames(settings),
                      .stride = settings.stride.count,
                      .bytes = {reinterpret_cast<const std::uint8_t*>(frame.bytes.data()), frame.bytes.size()}};
}

/// Keeps the newest frame for fetch(). Ignores errors, because the next fetch() returns them.
bool CameraSource::keep_up() noexcept {
  if (const auto frame = camera_->newest(); frame && *frame) kept_ = *frame;
  return true;
}

Expected<Sample, Errc> CameraSource::fetch(std::uint64_t, Instant, const Tensor& into) noexcept {
  auto frame = camera_->newest();
  if (!frame) return Unexpected(failed(frame.error()));
  if (const auto kept = std::exchange(kept_, std::nullopt); !*frame) *frame = kept;
  if (!*frame) return nothing_new();
  const auto pixels = pixels_of(**frame);
  if (!pixels) {
    undecoded_.fetch_add(1, std::memory_order_relaxed);
    return nothing_new();
  }
  const Status sampled = sampler_.sample(*pixels, into.bytes);
  if (!sampled) return Unexpected(sampled.error());
  taken_ = (*frame)->taken;
  return Sample{.sampled = *taken_, .fresh = true};
}

/// Returns the error with which the job fails after the camera's `error`. Converts device_lost to io_error, because
/// device_lost would end the run. Jobs of other tasks must continue if a camera is lost.
Errc CameraSource::failed(Errc error) noexcept {
  if (error != Errc::device_lost) return error;
  gone_.store(true, std::memory_order_relaxed);
  return Errc::io_error;
}

Expected<bool, Errc> CameraSource::await(Instant until) noexcept {
  const auto wake = camera_->await(until);
  if (!wake) return Unexpected(failed(wake.error()));
  return *wake == hal::Camera::Wake::frame;
}

std::uint64_t CameraSource::passed_over() const noexcept {
  const hal::CameraCounts counts = camera_->counts();
  return counts.passed_over + counts.lost;
}

void CameraSource::wake() noexcept {
  if (camera_) camera_->wake();
}

/// Returns the last failure, and the number of lost frames, in words.
std::string CameraSource::failure() const {
  if (!camera_) return {};
  const hal::CameraCounts counts = camera_->counts();
  std::string text = gone_.load(std::memory_order_relaxed) ? "the camera is gone" : "";
  for (const auto& [count, what] : {std::pair(counts.lost, " frames lost"), std::pair(counts.broken, " broken"),
                                    std::pair(undecoded_.load(std::memory_order_relaxed), " not decoded"),
                                    std::pair(counts.failures, " failures of the driver")})
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + what;
  if (const hal::CameraSettings& settings = camera_->settings();
      counts.lost > 0 && settings.interval && *settings.interval * (settings.buffers - 2) < wanted_.gap)
    text += "; the driver's " + std::to_string(settings.buffers) + " buffers hold " +
            readable(*settings.interval * (settings.buffers - 2)) + " of frames, but the task may poll only every " +
            readable(wanted_.gap) + ": set a longer interval to get newer frames";
  return text;
}

} // namespace rtexec::channels
