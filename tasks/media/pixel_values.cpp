#include "tasks/media/pixel_values.hpp"

#include <vector>

namespace rtexec::tasks {
namespace {

/// Returns the value for a channel. `values` has a single number for all channels, or a number for each channel.
/// Returns `fallback` if `values` is empty.
double of_channel(const std::vector<double>& values, std::size_t channel, double fallback) {
  return values.empty() ? fallback : values[values.size() == 1 ? 0 : channel];
}

} // namespace

bool holds_pixels(ElementType type) {
  return type == ElementType::uint8 || type == ElementType::float16 || type == ElementType::float32;
}

bool normalises(const Preprocessing& preprocessing) {
  return !preprocessing.mean.empty() || !preprocessing.deviation.empty() || !preprocessing.scale.empty();
}

PixelValues pixel_values(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, std::size_t channel) {
  const std::size_t colour = preprocessing.channels == ChannelOrder::bgr ? 2 - channel : channel;
  if (tensor.type == ElementType::uint8) return {.colour = colour, .scale = 1, .offset = 0};
  const bool own = normalises(preprocessing);
  const double given = of_channel(preprocessing.deviation, channel, 1);
  const float mean = own ? static_cast<float>(of_channel(preprocessing.mean, channel, 0)) : tensor.mean[colour];
  const float deviation = own ? static_cast<float>(given) : tensor.deviation[colour];
  const float scale = preprocessing.scale.empty()
                          ? 1 / (255 * deviation)
                          : static_cast<float>(of_channel(preprocessing.scale, channel, 1) / given);
  return {.colour = colour, .scale = scale, .offset = -mean / deviation};
}

} // namespace rtexec::tasks
