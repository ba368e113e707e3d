// Tests frames of every format as inputs of every type and layout, against the definition in double precision.
#include "tasks/media/frame.hpp"

#include "config/task_channels.hpp"
#include "tasks/base/half.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace rtexec::tasks {
namespace {

constexpr PixelFormat formats[] = {PixelFormat::rgb24, PixelFormat::bgr24, PixelFormat::yuyv, PixelFormat::nv12};
constexpr ElementType types[] = {ElementType::uint8, ElementType::float16, ElementType::float32};

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Return the number of used bytes in a row, and the number of rows.
std::size_t row_bytes(PixelFormat format, int width) {
  if (format == PixelFormat::yuyv) return at((width + 1) / 2 * 4);
  return format == PixelFormat::nv12 ? at((width + 1) / 2 * 2) : at(3 * width);
}
int rows(PixelFormat format, int height) { return format == PixelFormat::nv12 ? height + (height + 1) / 2 : height; }

/// A frame with its bytes, which end with the last used byte.
struct Picture {
  Picture(PixelFormat format, Extent size, std::size_t padding)
      : row(row_bytes(format, size.width)),
        bytes((row + padding) * at(rows(format, size.height) - 1) + row),
        frame{format, size, row + padding, bytes} {}

  void fill(std::mt19937& random) {
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  }
  /// Fills the padding between rows.
  void fill_padding(std::mt19937& random) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (i % frame.stride >= row) bytes[i] = static_cast<std::uint8_t>(random());
  }

  std::size_t row;
  std::vector<std::uint8_t> bytes;
  Frame frame;
};

using Colour = std::array<double, 3>;

/// BT.601, limited range.
Colour from_yuv(double y, double u, double v) {
  const double e = (y - 16) / 219, b = (u - 128) / 112 * 0.886, r = (v - 128) / 112 * 0.701; // E'B - E'Y, E'R - E'Y
  const double g = -(0.299 * r + 0.114 * b) / 0.587;
  const auto level = [](double part) { return std::clamp(255 * part, 0.0, 255.0); };
  return {level(e + r), level(e + g), level(e + b)};
}

Colour pixel(const Frame& frame, int x, int y) {
  const auto byte = [&](int row, int column) -> double { return frame.bytes[at(row) * frame.stride + at(column)]; };
  switch (frame.format) {
  case PixelFormat::rgb24: return {byte(y, 3 * x), byte(y, 3 * x + 1), byte(y, 3 * x + 2)};
  case PixelFormat::bgr24: return {byte(y, 3 * x + 2), byte(y, 3 * x + 1), byte(y, 3 * x)};
  case PixelFormat::yuyv: return from_yuv(byte(y, 2 * x), byte(y, x / 2 * 4 + 1), byte(y, x / 2 * 4 + 3));
  case PixelFormat::nv12: {
    const int chroma = frame.size.height + y / 2;
    return from_yuv(byte(y, x), byte(chroma, x / 2 * 2), byte(chroma, x / 2 * 2 + 1));
  }
  case PixelFormat::mjpg: break; // has no pixels before it is decoded
  }
  return {};
}

/// Returns channel `c` at (x, y) of the input, from 0 to 255.
double sampled(const Frame& frame, const Letterbox& box, int x, int y, std::size_t c) {
  const int column = x - box.left, row = y - box.top;
  if (column < 0 || row < 0 || column >= box.inner.width || row >= box.inner.height) return 127.5;
  const auto position = [](int i, int inner, int whole) {
    return std::clamp((i + 0.5) * whole / inner - 0.5, 0.0, whole - 1.0);
  };
  const double across = position(column, box.inner.width, frame.size.width);
  const double down = position(row, box.inner.height, frame.size.height);
  const int left = static_cast<int>(across), top = static_cast<int>(down);
  const int right = std::min(left + 1, frame.size.width - 1), bottom = std::min(top + 1, frame.size.height - 1);
  const double wx = across - left, wy = down - top;
  return (1 - wy) * ((1 - wx) * pixel(frame, left, top)[c] + wx * pixel(frame, right, top)[c]) +
         wy * ((1 - wx) * pixel(frame, left, bottom)[c] + wx * pixel(frame, right, bottom)[c]);
}

/// An input with its bytes.
struct Input {
  Input(ElementType type, bool planar, Extent network)
      : extent(network),
        is_planar(planar),
        bytes(3 * at(network.width) * at(network.height) * size_of(type), std::byte{0xa5}),
        tensor{.name = "x", .type = type, .shape = {}, .bytes = bytes} {
    if (planar) tensor.shape = {1, 3, network.height, network.width};
    else tensor.shape = {1, network.height, network.width, 3};
  }

  [[nodiscard]] double get(int x, int y, std::size_t c) const {
    const std::size_t pixel = at(y) * at(extent.width) + at(x);
    const std::size_t i = is_planar ? c * at(extent.width) * at(extent.height) + pixel : 3 * pixel + c;
    switch (tensor.type) {
    case ElementType::uint8: return tensor.as<const std::uint8_t>()[i];
    case ElementType::float16: return from_half(tensor.as<const Float16>()[i].bits);
    default: return tensor.as<const float>()[i];
    }
  }

  Extent extent;
  bool is_planar;
  std::vector<std::byte> bytes;
  rtexec::Tensor tensor;
};

FrameSampler sampler_for(const Input& input, const Preprocessing& preprocessing = {}) {
  auto sampler = FrameSampler::make(input.tensor, preprocessing);
  EXPECT_EQ(test::problem(sampler), "none");
  return std::move(*sampler);
}

void expect_defined(const Frame& frame, const Input& input) {
  const Letterbox box = Letterbox::fit(frame.size, input.extent);
  const auto& tensor = input.tensor;
  for (int y = 0; y < input.extent.height; ++y)
    for (int x = 0; x < input.extent.width; ++x)
      for (std::size_t c = 0; c < 3; ++c) {
        const double byte = sampled(frame, box, x, y, c);
        if (tensor.type == ElementType::uint8) {
          ASSERT_NEAR(input.get(x, y, c), byte, 0.501) << x << ' ' << y << ' ' << c;
          continue;
        }
        const double right =
            (byte / 255 - static_cast<double>(tensor.mean[c])) / static_cast<double>(tensor.deviation[c]);
        const double share = tensor.type == ElementType::float16 ? 1e-3 : 1e-4;
        ASSERT_NEAR(input.get(x, y, c), right, share * std::max(1.0, std::abs(right))) << x << ' ' << y << ' ' << c;
      }
}

TEST(FrameSampler, MatchesReferenceInEveryFormatTypeAndLayout) {
  std::mt19937 random(1);
  const auto side = [&] { return static_cast<int>(random() % 24) + 1; };
  for (int round = 0; round < 40 && !testing::Test::HasFailure(); ++round)
    for (const auto format : formats)
      for (const auto type : types)
        for (const bool planar : {true, false}) {
          Picture picture(format, {side(), side()}, random() % 3 * 5);
          picture.fill(random);
          Input input(type, planar, {side() + 3, side() + 3}); // no other dimension of 3
          if (type != ElementType::uint8) {
            input.tensor.mean = {0.5f, 0.25f, 0};
            input.tensor.deviation = {0.5f, 2, 0.25f};
          }
          ASSERT_TRUE(sampler_for(input).sample(picture.frame, input.bytes));
          SCOPED_TRACE("format " + std::to_string(static_cast<int>(format)) + ", " + std::string(name(type)));
          expect_defined(picture.frame, input);
        }
}

/// Single precision, in the order of the formula: the same in every run and in every layout.
TEST(FrameSampler, RgbFramesGiveBitExactFloats) {
  std::mt19937 random(2);
  const auto side = [&] { return static_cast<int>(random() % 60) + 1; };
  for (int round = 0; round < 50; ++round) {
    Picture picture(PixelFormat::rgb24, {side(), side()}, 0);
    picture.fill(random);
    Input input(ElementType::float32, true, {side(), side()});
    input.tensor.mean = {0.485f, 0.456f, 0.406f};
    input.tensor.deviation = {0.229f, 0.224f, 0.225f};
    ASSERT_TRUE(sampler_for(input).sample(picture.frame, input.bytes));
    const Letterbox box = Letterbox::fit(picture.frame.size, input.extent);
    const auto tap = [](int position, int inner, int whole) {
      const float ratio = static_cast<float>(whole) / static_cast<float>(inner);
      return std::clamp((static_cast<float>(position) + 0.5f) * ratio - 0.5f, 0.0f, static_cast<float>(whole - 1));
    };
    for (int y = 0; y < box.inner.height; ++y)
      for (int x = 0; x < box.inner.width; ++x)
        for (std::size_t c = 0; c < 3; ++c) {
          const float across = tap(x, box.inner.width, picture.frame.size.width);
          const float down = tap(y, box.inner.height, picture.frame.size.height);
          const int left = static_cast<int>(across), top = static_cast<int>(down);
          const auto blended = [&](int row) {
            const auto value = [&](int column) {
              return static_cast<float>(pixel(picture.frame, std::min(column, picture.frame.size.width - 1),
                                              std::min(row, picture.frame.size.height - 1))[c]);
            };
            return value(left) + (value(left + 1) - value(left)) * (across - static_cast<float>(left));
          };
          const float above = blended(top), below = blended(top + 1);
          const float byte = above + (below - above) * (down - static_cast<float>(top));
          const float scale = 1 / (255 * input.tensor.deviation[c]);
          const float offset = -input.tensor.mean[c] / input.tensor.deviation[c];
          ASSERT_EQ(
              input.tensor.as<const float>()[(c * at(input.extent.height) + at(y + box.top)) * at(input.extent.width) +
                                             at(x + box.left)],
              byte * scale + offset);
        }
  }
}

TEST(FrameSampler, UniformColourAgreesInAllFormats) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const auto between = [&](unsigned least, unsigned most) {
      return static_cast<double>(least + random() % (most - least + 1));
    };
    const double y = between(16, 235), u = between(100, 156), v = between(100, 156);
    const Colour colour = from_yuv(y, u, v);
    std::vector<std::vector<double>> seen;
    for (const auto format : formats) {
      Picture picture(format, {9, 7}, 3);
      for (int row = 0; row < rows(format, 7); ++row)
        for (std::size_t i = 0; i < picture.row; ++i) {
          const bool chroma = row >= 7;
          const double value = format == PixelFormat::rgb24   ? colour[i % 3]
                               : format == PixelFormat::bgr24 ? colour[2 - i % 3]
                               : format == PixelFormat::nv12  ? (!chroma ? y
                                                                 : i % 2 ? v
                                                                         : u)
                               : i % 2 == 0                   ? y
                               : i % 4 == 1                   ? u
                                                              : v;
          picture.bytes[at(row) * picture.frame.stride + i] = static_cast<std::uint8_t>(std::lround(value));
        }
      Input input(ElementType::float32, true, {12, 12});
      ASSERT_TRUE(sampler_for(input).sample(picture.frame, input.bytes));
      seen.push_back({});
      for (int row = 0; row < 12; ++row)
        for (int column = 0; column < 12; ++column)
          for (std::size_t c = 0; c < 3; ++c) seen.back().push_back(input.get(column, row, c));
    }
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_EQ(seen[2], seen[3]);
    for (std::size_t i = 0; i < seen[0].size(); ++i) ASSERT_NEAR(seen[0][i], seen[2][i], 0.51 / 255); // rounded bytes
  }
}

// ---- preprocessing

std::string text_of(const Frame& frame, const Input& input, const Preprocessing& preprocessing) {
  return std::to_string(frame.size.width) + "x" + std::to_string(frame.size.height) + " in format " +
         std::string(name(frame.format)) + " to " + std::string(name(input.tensor.type)) + "\n" +
         config::text_of(preprocessing);
}

/// Returns one number, or one for each channel.
std::vector<double> numbers(std::mt19937& random, double least, double most) {
  std::uniform_real_distribution<double> any(least, most);
  std::vector<double> values(random() % 2 == 0 ? 1 : 3);
  for (double& value : values) value = any(random);
  return values;
}

/// Compares with plain loops in double precision. The frame is as large as the input, so that no pixels are blended.
void expect_preprocessed(const Frame& frame, const Input& input, const Preprocessing& asked) {
  const auto& tensor = input.tensor;
  const bool own = !asked.mean.empty() || !asked.deviation.empty() || !asked.scale.empty();
  for (int y = 0; y < input.extent.height; ++y)
    for (int x = 0; x < input.extent.width; ++x) {
      const Colour rgb = pixel(frame, x, y);
      for (std::size_t c = 0; c < 3; ++c) {
        const std::size_t colour = asked.channels == ChannelOrder::bgr ? 2 - c : c;
        const auto one = [&](const std::vector<double>& values, double otherwise) {
          return values.empty() ? otherwise : values.size() == 1 ? values[0] : values[c];
        };
        double right = rgb[colour];
        if (tensor.type != ElementType::uint8) {
          const double mean = own ? one(asked.mean, 0) : static_cast<double>(tensor.mean[colour]);
          const double deviation = own ? one(asked.deviation, 1) : static_cast<double>(tensor.deviation[colour]);
          right = (right * one(asked.scale, 1.0 / 255) - mean) / deviation;
        }
        const double error = tensor.type == ElementType::uint8
                                 ? 0.501
                                 : std::max(1.0, std::abs(right)) * (tensor.type == ElementType::float16 ? 2e-3 : 1e-4);
        ASSERT_NEAR(input.get(x, y, c), right, error) << x << ' ' << y << ' ' << c;
      }
    }
}

TEST(Preprocessing, MatchesFormulaInEveryFormatTypeLayoutAndOrder) {
  std::mt19937 random(6);
  for (int round = 0; round < 30 && !testing::Test::HasFailure(); ++round)
    for (const auto format : formats)
      for (const auto type : types)
        for (const auto layout : {TensorLayout::nchw, TensorLayout::nhwc})
          for (const auto order : {ChannelOrder::rgb, ChannelOrder::bgr}) {
            const bool ambiguous = random() % 4 == 0; // [1, 3, n, 3]
            const auto side = [&] { return static_cast<int>(random() % 20) + 4; };
            const bool planar = layout == TensorLayout::nchw;
            const Extent size = !ambiguous ? Extent{side(), side()} : planar ? Extent{3, side()} : Extent{side(), 3};
            Input input(type, planar, size);
            Picture picture(format, size, random() % 3 * 5);
            picture.fill(random);
            Preprocessing asked{.channels = order,
                                .layout = layout,
                                .fit = random() % 2 == 0 ? PictureFit::letterbox : PictureFit::stretch};
            if (type != ElementType::uint8) {
              input.tensor.mean = {0.5f, 0.25f, 0};
              input.tensor.deviation = {0.5f, 2, 0.25f};
              const bool bytes = random() % 2 == 0;
              if (random() % 2 == 0) asked.mean = numbers(random, -1, bytes ? 255 : 1);
              if (random() % 2 == 0) asked.deviation = numbers(random, 0.5, bytes ? 100 : 2);
              if (bytes) asked.scale = numbers(random, 0.1, 1);
            }
            SCOPED_TRACE(text_of(picture.frame, input, asked));
            ASSERT_TRUE(sampler_for(input, asked).sample(picture.frame, input.bytes));
            expect_preprocessed(picture.frame, input, asked);
          }
}

/// Compares with published numbers: those of torchvision, and of Caffe.
TEST(Preprocessing, MatchesTorchvisionAndCaffe) {
  Picture picture(PixelFormat::rgb24, {2, 2}, 0);
  for (std::size_t i = 0; i < picture.bytes.size(); ++i)
    picture.bytes[i] = std::array<std::uint8_t, 3>{255, 51, 0}[i % 3];
  const auto first_pixel = [&](const Preprocessing& asked) {
    Input input(ElementType::float32, true, {2, 2});
    EXPECT_TRUE(sampler_for(input, asked).sample(picture.frame, input.bytes));
    return std::array{input.get(0, 0, 0), input.get(0, 0, 1), input.get(0, 0, 2)};
  };
  const auto near = [](const std::array<double, 3>& found, const std::array<double, 3>& right) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(found[c], right[c], 1e-4) << c;
  };
  near(first_pixel({}), {1, 0.2, 0});
  near(first_pixel({.mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}}),
       {2.248908, -1.142857, -1.804444});
  near(first_pixel({.mean = {0.5}, .deviation = {0.5}}), {1, -0.6, -1});
  near(first_pixel({.channels = ChannelOrder::bgr, .mean = {103.939, 116.779, 123.68}, .scale = {1}}),
       {-103.939, -65.779, 131.32});
  near(first_pixel({.mean = {127.5}, .deviation = {127.5}, .scale = {1}}), {1, -0.6, -1});
}

TEST(Preprocessing, GivesSameBitsWhenKeysRepeatModelMetadata) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Picture picture(PixelFormat::rgb24, {static_cast<int>(random() % 40) + 1, static_cast<int>(random() % 40) + 1}, 0);
    picture.fill(random);
    Input by_model(ElementType::float32, round % 2 == 0, {17, 23});
    Input by_keys = by_model;
    by_keys.tensor.bytes = by_keys.bytes;
    Preprocessing asked{.layout = round % 2 == 0 ? TensorLayout::nchw : TensorLayout::nhwc};
    for (std::size_t c = 0; c < 3; ++c) {
      asked.mean.push_back(by_model.tensor.mean[c] = static_cast<float>(random() % 100) / 100);
      asked.deviation.push_back(by_model.tensor.deviation[c] = static_cast<float>(random() % 100 + 1) / 100);
    }
    ASSERT_TRUE(sampler_for(by_model).sample(picture.frame, by_model.bytes));
    ASSERT_TRUE(sampler_for(by_keys, asked).sample(picture.frame, by_keys.bytes));
    EXPECT_EQ(by_model.bytes, by_keys.bytes);
  }
}

TEST(Preprocessing, BgrOrderOnlySwapsChannels) {
  std::mt19937 random(8);
  for (const auto format : formats)
    for (const bool planar : {true, false}) {
      Picture picture(format, {21, 13}, 0);
      picture.fill(random);
      Input rgb(ElementType::float32, planar, {16, 12}), bgr(ElementType::float32, planar, {16, 12});
      for (Input* input : {&rgb, &bgr}) input->tensor.mean = {0.1f, 0.2f, 0.3f}, input->tensor.deviation = {1, 2, 3};
      ASSERT_TRUE(sampler_for(rgb).sample(picture.frame, rgb.bytes));
      ASSERT_TRUE(sampler_for(bgr, {.channels = ChannelOrder::bgr}).sample(picture.frame, bgr.bytes));
      for (int y = 0; y < 12; ++y)
        for (int x = 0; x < 16; ++x)
          for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(rgb.get(x, y, c), bgr.get(x, y, 2 - c));
    }
}

TEST(Preprocessing, StretchesOverTheWholeInput) {
  std::mt19937 random(9);
  for (int round = 0; round < 40; ++round) {
    const auto side = [&] { return static_cast<int>(random() % 30) + 1; };
    Picture picture(formats[round % 4], {side(), side()}, 0);
    picture.fill(random);
    Input input(ElementType::float32, true, {side(), side()});
    ASSERT_TRUE(sampler_for(input, {.fit = PictureFit::stretch}).sample(picture.frame, input.bytes));
    const Letterbox whole{picture.frame.size, input.extent, input.extent, 0, 0};
    for (int y = 0; y < input.extent.height; ++y)
      for (int x = 0; x < input.extent.width; ++x)
        for (std::size_t c = 0; c < 3; ++c)
          ASSERT_NEAR(input.get(x, y, c), sampled(picture.frame, whole, x, y, c) / 255, 1e-4);
  }
}

TEST(Preprocessing, RejectsSettingsIncompatibleWithInput) {
  const auto refuses = [](std::vector<std::int64_t> shape, ElementType type, const Preprocessing& asked,
                          std::string_view part) {
    const rtexec::Tensor tensor{.name = "x", .type = type, .shape = std::move(shape), .bytes = {}};
    return test::fails(FrameSampler::make(tensor, asked), Errc::bad_input, part);
  };
  constexpr auto floats = ElementType::float32;
  EXPECT_TRUE(refuses({1, 3, 8, 8}, floats, {.layout = TensorLayout::nhwc},
                      "layout = \"NHWC\" needs an input of shape [1, height, width, 3], but the network's is "));
  EXPECT_TRUE(refuses({1, 8, 8, 3}, floats, {.layout = TensorLayout::nchw},
                      "layout = \"NCHW\" needs an input of shape [1, 3, height, width], but the network's is "));
  EXPECT_TRUE(refuses({1, 1, 8, 8}, floats, {.mean = {1, 2, 3}}, "pictures need an input of shape [1, 3, "));
  EXPECT_TRUE(refuses({1, 3, 8, 8}, ElementType::uint8, {.scale = {1}}, "need an input of floats"));
}

TEST(FrameSampler, IgnoresRowPadding) {
  std::mt19937 random(4);
  for (const auto format : formats)
    for (int round = 0; round < 20; ++round) {
      Picture picture(format, {static_cast<int>(random() % 30) + 1, static_cast<int>(random() % 30) + 1}, 7);
      picture.fill(random);
      Input input(ElementType::float32, true, {16, 16});
      auto sampler = sampler_for(input);
      ASSERT_TRUE(sampler.sample(picture.frame, input.bytes));
      const auto first = input.bytes;
      picture.fill_padding(random);
      ASSERT_TRUE(sampler.sample(picture.frame, input.bytes));
      EXPECT_EQ(input.bytes, first);
    }
}

TEST(FrameSampler, TreatsAmbiguousShapeAsPlanar) {
  Picture picture(PixelFormat::rgb24, {3, 4}, 0);
  for (std::size_t i = 0; i < picture.bytes.size(); ++i) picture.bytes[i] = i % 3 == 0 ? 255 : 0;
  Input input(ElementType::uint8, true, {3, 4});
  ASSERT_TRUE(sampler_for(input).sample(picture.frame, input.bytes));
  for (std::size_t i = 0; i < 36; ++i) EXPECT_EQ(input.tensor.as<const std::uint8_t>()[i], i < 12 ? 255 : 0);
}

TEST(FrameSampler, RejectsMismatchedFramesAndInputs) {
  Input input(ElementType::float32, true, {8, 8});
  auto sampler = sampler_for(input);
  const Status bad = Unexpected(Errc::bad_input);
  for (const auto format : formats) {
    const Picture picture(format, {5, 5}, 2);
    const Frame& whole = picture.frame;
    EXPECT_TRUE(sampler.sample(whole, input.bytes));
    EXPECT_EQ(sampler.sample(whole, std::span(input.bytes).first(input.bytes.size() - 1)), bad);
    EXPECT_EQ(sampler.sample({format, {5, 5}, whole.stride, whole.bytes.first(whole.bytes.size() - 1)}, input.bytes),
              bad);
    EXPECT_EQ(sampler.sample({format, {5, 5}, picture.row - 1, whole.bytes}, input.bytes), bad);
    EXPECT_EQ(sampler.sample({format, {5, 5}, SIZE_MAX / 2, whole.bytes}, input.bytes), bad);
    EXPECT_EQ(sampler.sample({format, {0, 5}, whole.stride, whole.bytes}, input.bytes), bad);
    EXPECT_EQ(sampler.sample({format, {5, -1}, whole.stride, whole.bytes}, input.bytes), bad);
    EXPECT_EQ(sampler.sample({format, {5, 5}, 0, {}}, input.bytes), bad);
    EXPECT_EQ(sampler.sample({PixelFormat::mjpg, {5, 5}, whole.stride, whole.bytes}, input.bytes), bad);
  }
  const auto tensor = [](std::vector<std::int64_t> shape, ElementType type = ElementType::float32) {
    return rtexec::Tensor{.name = "x", .type = type, .shape = std::move(shape), .bytes = {}};
  };
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {3}, {1, 4, 8, 8}, {2, 3, 8, 8}, {3, 8, 8}})
    EXPECT_TRUE(test::fails(FrameSampler::make(tensor(shape)), Errc::bad_input, "[1, 3, height, width] or"));
  EXPECT_TRUE(test::fails(FrameSampler::make(tensor({1, 3, 8, 16385})), Errc::bad_input, "16384"));
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{1, 3, 0, 8}, {1, 3, 8, 0}, {1, 0, 8, 3}})
    EXPECT_TRUE(test::fails(FrameSampler::make(tensor(shape)), Errc::bad_input, "an input with pixels"));
  using enum ElementType;
  for (const ElementType type : {int8, boolean, uint16, int16, int32, uint32, int64, uint64, float64})
    EXPECT_TRUE(
        test::fails(FrameSampler::make(tensor({1, 3, 8, 8}, type)), Errc::bad_input, "of " + std::string(name(type))));
}

TEST(FrameSampler, SamplesWithoutAllocating) {
  std::mt19937 random(5);
  for (const auto format : formats) {
    Picture picture(format, {61, 33}, 0);
    picture.fill(random);
    Input input(ElementType::float16, false, {40, 40});
    auto sampler = sampler_for(input);
    const auto before = test::allocations();
    ASSERT_TRUE(sampler.sample(picture.frame, input.bytes));
    EXPECT_EQ(test::allocations(), before);
  }
}

} // namespace
} // namespace rtexec::tasks
