#include "tasks/media/frame.hpp"

#include "tasks/base/shape.hpp"
#include "tasks/base/half.hpp"
#include "tasks/base/vectorised.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

namespace rtexec::tasks {
namespace {

constexpr std::int64_t kLargestSide = 16384;
constexpr std::size_t kChannels = 3;

std::size_t size(int pixels) { return static_cast<std::size_t>(pixels); }
std::size_t pairs(int pixels) { return (size(pixels) + 1) / 2; }

bool whole(const Frame& frame) noexcept {
  if (frame.size.width <= 0 || frame.size.height <= 0 || frame.format == PixelFormat::mjpg) return false;
  const bool nv12 = frame.format == PixelFormat::nv12;
  const std::size_t row = nv12                                ? 2 * pairs(frame.size.width) // bytes of a row of chroma
                          : frame.format == PixelFormat::yuyv ? 4 * pairs(frame.size.width)
                                                              : kChannels * size(frame.size.width);
  const std::size_t rows = size(frame.size.height) + (nv12 ? pairs(frame.size.height) : 0);
  std::size_t before_last = 0;
  return frame.stride >= row && !__builtin_mul_overflow(frame.stride, rows - 1, &before_last) &&
         before_last <= frame.bytes.size() && frame.bytes.size() - before_last >= row;
}

struct Rgb {
  float red, green, blue;
};

template <int red, int blue> struct Packed {
  const std::uint8_t* row;
  Rgb operator()(int x) const noexcept {
    const std::uint8_t* const pixel = row + 3 * x;
    return {static_cast<float>(pixel[red]), static_cast<float>(pixel[1]), static_cast<float>(pixel[blue])};
  }
};

RTEXEC_INLINE Rgb bt601(float y, float u, float v) noexcept {
  constexpr double luma = 255.0 / 219, chroma = 255.0 / 224;          // factors from limited range to full range
  constexpr double red = 0.299, blue = 0.114, green = 1 - red - blue; // weights of the colours in luma
  // Weights of the chroma channels u and v in the differences of red and blue to luma.
  constexpr double v_red = 2 * (1 - red) * chroma, u_blue = 2 * (1 - blue) * chroma;
  constexpr auto u_green = static_cast<float>(u_blue * blue / green), v_green = static_cast<float>(v_red * red / green);
  const auto clipped = [](float value) { return value < 0 ? 0.0f : value > 255 ? 255.0f : value; };
  const float brightness = static_cast<float>(luma) * (y - 16);
  return {clipped(brightness + static_cast<float>(v_red) * (v - 128)),
          clipped(brightness - u_green * (u - 128) - v_green * (v - 128)),
          clipped(brightness + static_cast<float>(u_blue) * (u - 128))};
}

/// Up to 64 pairs of neighbouring pixels, which one call of blend_yuv() interpolates.
struct Neighbours {
  static constexpr int most = 64;
  struct {
    float y[most], u[most], v[most];
  } first, second;
  float weight[most]; // weight of the second pixel of the pair
};

RTEXEC_VECTORISED void blend_yuv(const Neighbours& pairs, int count, float* red, float* green, float* blue) noexcept {
  RTEXEC_INDEPENDENT
  for (int i = 0; i < count; ++i) {
    const Rgb a = bt601(pairs.first.y[i], pairs.first.u[i], pairs.first.v[i]);
    const Rgb b = bt601(pairs.second.y[i], pairs.second.u[i], pairs.second.v[i]);
    red[i] = a.red + (b.red - a.red) * pairs.weight[i];
    green[i] = a.green + (b.green - a.green) * pairs.weight[i];
    blue[i] = a.blue + (b.blue - a.blue) * pairs.weight[i];
  }
}

struct Yuyv {
  const std::uint8_t* row;
  [[nodiscard]] std::uint8_t y(int x) const noexcept { return row[2 * x]; }
  [[nodiscard]] const std::uint8_t* chroma(int x) const noexcept { return row + 4 * (x / 2) + 1; }
  static constexpr int v = 2; // offset of v from u in bytes
};

struct Nv12 {
  const std::uint8_t* luma;
  const std::uint8_t* interleaved;
  [[nodiscard]] std::uint8_t y(int x) const noexcept { return luma[x]; }
  [[nodiscard]] const std::uint8_t* chroma(int x) const noexcept { return interleaved + 2 * (x / 2); }
  static constexpr int v = 1; // offset of v from u in bytes
};

template <class Row> void take(const Row& row, int x, float& y, float& u, float& v) noexcept {
  const std::uint8_t* const chroma = row.chroma(x);
  y = static_cast<float>(row.y(x));
  u = static_cast<float>(chroma[0]);
  v = static_cast<float>(chroma[Row::v]);
}

template <class T> T element_of(float value) noexcept {
  if constexpr (std::is_same_v<T, Float16>) return {to_half(value)};
  else if constexpr (std::is_same_v<T, std::uint8_t>) return static_cast<std::uint8_t>(value + 0.5f);
  else return value;
}

bool normalised(const rtexec::Tensor& tensor) {
  return tensor.mean != std::array<float, 3>{0, 0, 0} || tensor.deviation != std::array<float, 3>{1, 1, 1};
}

/// Returns true if the shape has the channels in separate planes, and false if they are interleaved.
Result<bool> is_planar(const Shape& shape, std::optional<TensorLayout> layout) {
  const std::string nchw = "[1, 3, height, width]", nhwc = "[1, height, width, 3]";
  const auto refuse = [&](const std::string& who, const std::string& shapes) {
    return fail(Errc::bad_input, who + " an input of shape " + shapes + ", but the network's is " + to_string(shape));
  };
  const bool image = shape.size() == 4 && shape[0] == 1;
  const bool planar = image && shape[1] == 3, interleaved = image && shape[3] == 3;
  if (layout == TensorLayout::nchw && !planar) return refuse("layout = \"NCHW\" needs", nchw);
  if (layout == TensorLayout::nhwc && !interleaved) return refuse("layout = \"NHWC\" needs", nhwc);
  if (!planar && !interleaved) return refuse("pictures need", nchw + " or " + nhwc);
  return layout ? *layout == TensorLayout::nchw : planar;
}

} // namespace

Result<FrameSampler> FrameSampler::make(const rtexec::Tensor& tensor, const Preprocessing& preprocessing) {
  const auto planar = is_planar(tensor.shape, preprocessing.layout);
  if (!planar) return Unexpected(planar.error());
  if (std::ranges::min(tensor.shape) < 1)
    return fail(Errc::bad_input, "pictures need an input with pixels, but the network's is " + to_string(tensor.shape));
  if (std::ranges::max(tensor.shape) > kLargestSide)
    return fail(Errc::bad_input, "pictures need an input of at most " + std::to_string(kLargestSide) +
                                     " pixels on a side, but the network's is " + to_string(tensor.shape));
  if (!holds_pixels(tensor.type))
    return fail(Errc::bad_input, "pictures need an input of uint8, float16 or float32, but the network's is of " +
                                     std::string(name(tensor.type)));
  if (tensor.type == ElementType::uint8 && normalises(preprocessing))
    return fail(Errc::bad_input,
                "mean, std and scale need an input of floats, but the network needs pictures as uint8");
  if (tensor.type == ElementType::uint8 && normalised(tensor))
    return fail(Errc::bad_input,
                "the network takes pictures as uint8, but its metadata require normalisation, which needs floats");
  return FrameSampler(tensor, preprocessing, *planar);
}

FrameSampler::FrameSampler(const rtexec::Tensor& tensor, const Preprocessing& preprocessing, bool planar)
    : type_(tensor.type),
      planar_(planar),
      fit_(preprocessing.fit),
      network_{static_cast<int>(tensor.shape[planar ? 3 : 2]), static_cast<int>(tensor.shape[planar ? 2 : 1])},
      columns_(size(network_.width)) {
  for (std::size_t channel = 0; channel < kChannels; ++channel)
    values_[channel] = pixel_values(tensor, preprocessing, channel);
  for (Line* line : {&above_, &below_}) line->rgb.resize(kChannels * size(network_.width));
}

FrameSampler::Tap FrameSampler::tap(int position, int inner_size, int frame_size) noexcept {
  const float ratio = static_cast<float>(frame_size) / static_cast<float>(inner_size);
  const float source =
      std::clamp((static_cast<float>(position) + 0.5f) * ratio - 0.5f, 0.0f, static_cast<float>(frame_size - 1));
  const int first = static_cast<int>(source);
  return {first, std::min(first + 1, frame_size - 1), source - static_cast<float>(first)};
}

Status FrameSampler::sample(const Frame& frame, std::span<std::byte> tensor) noexcept {
  const std::size_t elements = kChannels * size(network_.width) * size(network_.height);
  if (tensor.size() != elements * size_of(type_) || !whole(frame)) return Unexpected(Errc::bad_input);
  const Letterbox box = Letterbox::fit(frame.size, network_, fit_);
  for (int x = 0; x < box.inner.width; ++x) columns_[size(x)] = tap(x, box.inner.width, frame.size.width);
  switch (type_) {
  case ElementType::uint8: fill(reinterpret_cast<std::uint8_t*>(tensor.data())); break;
  case ElementType::float16: fill(reinterpret_cast<Float16*>(tensor.data())); break;
  default: fill(reinterpret_cast<float*>(tensor.data())); break;
  }
  above_.number = below_.number = -1;
  for (int y = 0; y < box.inner.height; ++y) {
    const Tap row = tap(y, box.inner.height, frame.size.height);
    fetch_lines(frame, row, box.inner.width);
    blend(tensor, box, y, row.weight);
  }
  return {};
}

void FrameSampler::fetch_lines(const Frame& frame, const Tap& tap, int width) noexcept {
  if (above_.number != tap.first && below_.number == tap.first) std::swap(above_, below_);
  fetch(frame, above_, tap.first, width);
  fetch(frame, below_, tap.second, width);
}

void FrameSampler::fetch(const Frame& frame, Line& line, int number, int width) const noexcept {
  if (line.number == number) return;
  line.number = number;
  const std::uint8_t* const row = frame.bytes.data() + size(number) * frame.stride;
  const auto chroma = [&] { return frame.bytes.data() + size(frame.size.height + number / 2) * frame.stride; };
  switch (frame.format) {
  case PixelFormat::rgb24: return across(Packed<0, 2>{row}, line.rgb.data(), width);
  case PixelFormat::bgr24: return across(Packed<2, 0>{row}, line.rgb.data(), width);
  case PixelFormat::yuyv: return across_yuv(Yuyv{row}, line.rgb.data(), width);
  case PixelFormat::nv12: return across_yuv(Nv12{row, chroma()}, line.rgb.data(), width);
  case PixelFormat::mjpg: return; // whole() has refused these frames
  }
}

template <class Pixels> void FrameSampler::across(const Pixels& pixels, float* rgb, int width) const noexcept {
  float *const red = rgb, *const green = rgb + network_.width, *const blue = green + network_.width;
  for (int x = 0; x < width; ++x) {
    const Tap& column = columns_[size(x)];
    const Rgb a = pixels(column.first), b = pixels(column.second);
    red[x] = a.red + (b.red - a.red) * column.weight;
    green[x] = a.green + (b.green - a.green) * column.weight;
    blue[x] = a.blue + (b.blue - a.blue) * column.weight;
  }
}

template <class Row> void FrameSampler::across_yuv(const Row& row, float* rgb, int width) const noexcept {
  float *const red = rgb, *const green = rgb + network_.width, *const blue = green + network_.width;
  Neighbours pairs;
  for (int begin = 0; begin < width; begin += Neighbours::most) {
    const int count = std::min(width - begin, Neighbours::most);
    for (int i = 0; i < count; ++i) {
      const Tap& column = columns_[size(begin + i)];
      take(row, column.first, pairs.first.y[i], pairs.first.u[i], pairs.first.v[i]);
      take(row, column.second, pairs.second.y[i], pairs.second.u[i], pairs.second.v[i]);
      pairs.weight[i] = column.weight;
    }
    blend_yuv(pairs, count, red + begin, green + begin, blue + begin);
  }
}

/// Fills the tensor with grey pixels.
template <class T> void FrameSampler::fill(T* tensor) const noexcept {
  constexpr float kGrey = 127.5f;
  const std::size_t plane = size(network_.width) * size(network_.height);
  std::array<T, kChannels> grey;
  for (std::size_t channel = 0; channel < kChannels; ++channel)
    grey[channel] = element_of<T>(kGrey * values_[channel].scale + values_[channel].offset);
  if (planar_)
    for (std::size_t channel = 0; channel < kChannels; ++channel)
      std::fill_n(tensor + channel * plane, plane, grey[channel]);
  else
    for (std::size_t pixel = 0; pixel < plane; ++pixel) std::ranges::copy(grey, tensor + kChannels * pixel);
}

void FrameSampler::blend(std::span<std::byte> tensor, const Letterbox& box, int row, float weight) const noexcept {
  switch (type_) {
  case ElementType::uint8: return blend(reinterpret_cast<std::uint8_t*>(tensor.data()), box, row, weight);
  case ElementType::float16: return blend(reinterpret_cast<Float16*>(tensor.data()), box, row, weight);
  default: return blend(reinterpret_cast<float*>(tensor.data()), box, row, weight);
  }
}

template <class T> void FrameSampler::blend(T* tensor, const Letterbox& box, int row, float weight) const noexcept {
  const std::size_t width = size(network_.width), plane = width * size(network_.height);
  const std::size_t first = size(box.top + row) * width + size(box.left), step = planar_ ? 1 : kChannels;
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    const std::size_t colour = values_[channel].colour * width;
    const float *const above = above_.rgb.data() + colour, *const below = below_.rgb.data() + colour;
    const float scale = values_[channel].scale, offset = values_[channel].offset;
    T* const to = tensor + (planar_ ? channel * plane + first : kChannels * first + channel);
    for (std::size_t x = 0; x < size(box.inner.width); ++x)
      to[x * step] = element_of<T>((above[x] + (below[x] - above[x]) * weight) * scale + offset);
  }
}

} // namespace rtexec::tasks
