#include "tasks/media/tensor_picture.hpp"

#include "tasks/base/shape.hpp"
#include "tasks/base/half.hpp"

#include <algorithm>
#include <string>

namespace rtexec::tasks {
namespace {

constexpr std::int64_t largest_side = 16384;

float value_of(std::uint8_t element) { return element; }
float value_of(Float16 element) { return from_half(element.bits); }
float value_of(float element) { return element; }

/// Returns black for a value that is not a number.
std::uint8_t pixel_of(float value) {
  return value > 0 ? static_cast<std::uint8_t>(std::min(value, 255.0f) + 0.5f) : std::uint8_t{0};
}

bool is_colour(std::int64_t channels) { return channels == 3 || channels == 1; }

} // namespace

Result<TensorPicture> TensorPicture::of(const rtexec::Tensor& tensor, const Preprocessing& preprocessing) {
  const auto& shape = tensor.shape;
  const std::string found = "'" + tensor.name + "' is " + std::string(name(tensor.type)) + " " + to_string(shape);
  const bool image = shape.size() == 4 && shape[0] == 1;
  const bool first = image && (shape[1] == 3 || (shape[1] == 1 && shape[3] != 3));
  const bool planar = first && !(preprocessing.layout == TensorLayout::nhwc && is_colour(shape[3]));
  if (!image || !(planar || is_colour(shape[3])))
    return fail(Errc::bad_input,
                "a picture must have the shape [1, channels, height, width] or [1, height, width, channels] with 3 "
                "channels or 1, but " +
                    found);
  if (std::ranges::min(shape) < 1) return fail(Errc::bad_input, "a picture has pixels, and " + found);
  if (std::ranges::max(shape) > largest_side)
    return fail(Errc::bad_input,
                "pictures have at most " + std::to_string(largest_side) + " pixels on a side, and " + found);
  if (!holds_pixels(tensor.type))
    return fail(Errc::bad_input, "pictures are of uint8, float16 or float32, and " + found);
  return TensorPicture(tensor, preprocessing, planar);
}

TensorPicture::TensorPicture(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, bool planar)
    : type_(tensor.type),
      size_{static_cast<int>(tensor.shape[planar ? 3 : 2]), static_cast<int>(tensor.shape[planar ? 2 : 1])},
      channels_(static_cast<std::size_t>(tensor.shape[planar ? 1 : 3])),
      pixel_(planar ? 1 : channels_),
      channel_(planar ? static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(size_.height) : 1) {
  for (std::size_t channel = 0; channel < values_.size(); ++channel)
    values_[channel] = pixel_values(tensor, preprocessing, channel);
}

void TensorPicture::read(std::span<const std::byte> bytes, Picture& picture) const {
  switch (type_) {
  case ElementType::uint8: return read(reinterpret_cast<const std::uint8_t*>(bytes.data()), picture);
  case ElementType::float16: return read(reinterpret_cast<const Float16*>(bytes.data()), picture);
  default: return read(reinterpret_cast<const float*>(bytes.data()), picture);
  }
}

template <class T> void TensorPicture::read(const T* elements, Picture& picture) const {
  const std::size_t pixels = static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(size_.height);
  picture.size = size_;
  picture.rgb.resize(3 * pixels);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const PixelValues& values = values_[channels_ == 1 ? 0 : i];
    const T* const from = elements + (channels_ == 1 ? 0 : i) * channel_;
    const std::size_t colour = channels_ == 1 ? i : values.colour;
    const float scale = 1 / values.scale;
    for (std::size_t pixel = 0; pixel < pixels; ++pixel)
      picture.rgb[3 * pixel + colour] = pixel_of((value_of(from[pixel * pixel_]) - values.offset) * scale);
  }
}

} // namespace rtexec::tasks
