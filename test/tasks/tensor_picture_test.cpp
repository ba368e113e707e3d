// Tests that a picture in an input tensor is converted back to the original picture.
#include "tasks/media/tensor_picture.hpp"

#include "tasks/base/half.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace rtexec::tasks {
namespace {

using test::problem;
using testing::HasSubstr;

constexpr ElementType types[] = {ElementType::uint8, ElementType::float16, ElementType::float32};
constexpr int width = 13, height = 7;

rtexec::Tensor tensor_of(ElementType type, std::vector<std::int64_t> shape) {
  return {.name = "image", .type = type, .shape = std::move(shape), .bytes = {}};
}

std::vector<std::uint8_t> read(const rtexec::Tensor& tensor, std::span<const std::byte> bytes) {
  const auto pictures = TensorPicture::of(tensor);
  EXPECT_EQ(problem(pictures), "none");
  Picture picture;
  pictures->read(bytes, picture);
  EXPECT_EQ(picture.size.width, width);
  EXPECT_EQ(picture.size.height, height);
  return picture.rgb;
}

class TypedTensorPicture : public testing::TestWithParam<std::tuple<ElementType, bool>> {};
INSTANTIATE_TEST_SUITE_P(TensorPicture, TypedTensorPicture,
                         testing::Combine(testing::ValuesIn(types), testing::Bool()));

TEST_P(TypedTensorPicture, RestoresSampledPicture) {
  const auto [type, planar] = GetParam();
  auto tensor = tensor_of(
      type, planar ? std::vector<std::int64_t>{1, 3, height, width} : std::vector<std::int64_t>{1, height, width, 3});
  if (type != ElementType::uint8) tensor.mean = {0.485f, 0.4f, -1}, tensor.deviation = {0.229f, 2, 0.5f};
  std::vector<std::uint8_t> rgb(3 * width * height);
  std::mt19937 random(3);
  for (auto& byte : rgb) byte = static_cast<std::uint8_t>(random());
  std::vector<std::byte> bytes(rgb.size() * size_of(type));
  auto sampler = FrameSampler::make(tensor);
  ASSERT_TRUE(sampler);
  ASSERT_TRUE(sampler->sample(frame_of({{width, height}, rgb}), bytes));
  const auto back = read(tensor, bytes);
  ASSERT_EQ(back.size(), rgb.size());
  for (std::size_t i = 0; i < rgb.size(); ++i) EXPECT_NEAR(back[i], rgb[i], type == ElementType::float16 ? 1 : 0) << i;
}

TEST_P(TypedTensorPicture, RevertsPreprocessingOfInput) {
  const auto [type, planar] = GetParam();
  Preprocessing preprocessing{.channels = ChannelOrder::bgr};
  if (type != ElementType::uint8) preprocessing.mean = {104, 117, 123}, preprocessing.scale = {1};
  preprocessing.layout = planar ? TensorLayout::nchw : TensorLayout::nhwc;
  const auto tensor = tensor_of(type, {1, 3, 5, 3}); // planar or interleaved
  const Extent extent{planar ? 3 : 5, planar ? 5 : 3};
  std::vector<std::uint8_t> rgb(3 * 15);
  std::mt19937 random(4);
  for (auto& byte : rgb) byte = static_cast<std::uint8_t>(random());
  std::vector<std::byte> bytes(rgb.size() * size_of(type));
  auto sampler = FrameSampler::make(tensor, preprocessing);
  ASSERT_TRUE(sampler);
  ASSERT_TRUE(sampler->sample(frame_of({extent, rgb}), bytes));
  const auto pictures = TensorPicture::of(tensor, preprocessing);
  ASSERT_TRUE(pictures);
  Picture back;
  pictures->read(bytes, back);
  EXPECT_EQ(std::tie(back.size.width, back.size.height), std::tie(extent.width, extent.height));
  EXPECT_EQ(back.rgb, rgb);
}

TEST_P(TypedTensorPicture, ShowsOneChannelAsGrey) {
  const auto [type, planar] = GetParam();
  auto tensor = tensor_of(
      type, planar ? std::vector<std::int64_t>{1, 1, height, width} : std::vector<std::int64_t>{1, height, width, 1});
  if (type != ElementType::uint8) tensor.mean = {0.5f, 9, 9}, tensor.deviation = {0.5f, 9, 9};
  std::vector<std::byte> bytes(width * height * size_of(type));
  for (int i = 0; i < width * height; ++i) {
    const float value = (static_cast<float>(i) / 255 - 0.5f) / 0.5f;
    const std::uint16_t half = to_half(value);
    const auto byte = static_cast<std::uint8_t>(i);
    const void* const element = type == ElementType::uint8     ? static_cast<const void*>(&byte)
                                : type == ElementType::float16 ? static_cast<const void*>(&half)
                                                               : &value;
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size_of(type), element, size_of(type));
  }
  const auto rgb = read(tensor, bytes);
  ASSERT_EQ(rgb.size(), 3u * width * height);
  for (std::size_t i = 0; i < rgb.size(); ++i) EXPECT_EQ(rgb[i], i / 3) << i;
}

TEST(TensorPicture, ClipsValuesOutsideColourRange) {
  const auto tensor = tensor_of(ElementType::float32, {1, 1, height, width});
  std::vector<float> values(width * height, 0.0f);
  values[0] = -0.1f, values[1] = 1.5f, values[2] = std::nanf(""), values[3] = std::numeric_limits<float>::infinity();
  values[4] = -std::numeric_limits<float>::infinity(), values[5] = 1, values[6] = 3e38f;
  const auto rgb = read(tensor, std::as_bytes(std::span(values)));
  EXPECT_EQ(std::vector<int>(rgb.begin(), rgb.begin() + 21),
            (std::vector<int>{0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255, 255, 255, 255}));
}

TEST(TensorPicture, RejectsTensorsThatAreNoPicture) {
  const auto refused = [](ElementType type, std::vector<std::int64_t> shape) {
    return problem(TensorPicture::of(tensor_of(type, std::move(shape))));
  };
  for (const auto& shape : {std::vector<std::int64_t>{}, {8}, {1, 3, 4}, {2, 3, 4, 4}, {1, 4, 4, 4}, {1, 2, 8, 8}})
    EXPECT_THAT(refused(ElementType::float32, shape), HasSubstr("a picture must have the shape"));
  EXPECT_THAT(refused(ElementType::float32, {1, 4, 4, 2}), HasSubstr("'image' is float32 1x4x4x2"));
  using enum ElementType;
  for (const ElementType type : {int8, boolean, uint16, int16, int32, uint32, int64, uint64, float64})
    EXPECT_THAT(refused(type, {1, 3, 4, 4}), HasSubstr("uint8, float16 or float32"));
  for (const auto& shape : {std::vector<std::int64_t>{1, 3, 0, 4}, {1, 3, 4, 0}, {1, 0, 4, 3}})
    EXPECT_THAT(refused(uint8, shape), HasSubstr("a picture has pixels"));
  EXPECT_THAT(refused(ElementType::uint8, {1, 3, 4, 16385}), HasSubstr("at most 16384"));
}

} // namespace
} // namespace rtexec::tasks
