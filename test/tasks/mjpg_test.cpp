// Tests frames in MJPG: the decoder's own memory changes no bit, decoding does not allocate, and damage does no harm.
#include "tasks/media/mjpg.hpp"

#include "tasks/media/picture.hpp"
#include "test/support/made_jpeg.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/thread_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace rtexec::tasks {
namespace {

using test::JpegShape;

std::vector<std::uint8_t> noise(std::mt19937& random, const JpegShape& shape) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape.width * shape.height * (shape.grey ? 1 : 3)));
  for (auto& byte : pixels) byte = static_cast<std::uint8_t>(random());
  return pixels;
}

/// Decodes with libjpeg and heap memory.
std::vector<std::uint8_t> decoded_plainly(std::span<const std::byte> compressed) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(compressed.data()), compressed.size());
  (void)jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  (void)jpeg_start_decompress(&info);
  std::vector<std::uint8_t> rgb(std::size_t{3} * info.output_width * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = rgb.data() + std::size_t{3} * info.output_width * info.output_scanline;
    (void)jpeg_read_scanlines(&info, &row, 1);
  }
  (void)jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return rgb;
}

MjpgDecoder decoder_for(const JpegShape& shape) {
  auto decoder = MjpgDecoder::make({shape.width, shape.height});
  EXPECT_EQ(test::problem(decoder), "none");
  return std::move(*decoder);
}

/// Returns the decoded picture, or an empty list if it is corrupted.
std::vector<std::uint8_t> decoded(MjpgDecoder& decoder, std::span<const std::byte> compressed) {
  const auto frame = decoder.decode(compressed);
  if (frame) return {frame->bytes.begin(), frame->bytes.end()};
  EXPECT_EQ(frame.error(), Errc::corrupted);
  return {};
}

TEST(MjpgDecoder, IsBitExactForEverySampling) {
  std::mt19937 random(1);
  for (const auto& [across, down] : {std::pair{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}})
    for (const auto& [width, height] : {std::pair{1, 1}, {7, 5}, {64, 48}, {161, 99}, {1280, 16}, {16384, 8}})
      for (const bool grey : {false, true})
        for (const unsigned restart : {0u, 3u}) {
          const JpegShape shape{
              .width = width, .height = height, .across = across, .down = down, .grey = grey, .restart = restart};
          const auto compressed = test::jpeg(noise(random, shape), shape);
          auto decoder = decoder_for(shape);
          for (int again = 0; again < 2; ++again)
            EXPECT_TRUE(decoded(decoder, compressed) == decoded_plainly(compressed))
                << width << 'x' << height << ' ' << across << ' ' << down << ' ' << grey;
        }
}

/// Compares with another decoder, on colours that no filter changes.
TEST(MjpgDecoder, KeepsColourOfUniformPicture) {
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    const JpegShape shape{.width = 32, .height = 24, .quality = 100};
    const std::uint8_t colour[] = {static_cast<std::uint8_t>(random()), static_cast<std::uint8_t>(random()),
                                   static_cast<std::uint8_t>(random())};
    std::vector<std::uint8_t> pixels(32 * 24 * 3);
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = colour[i % 3];
    const auto compressed = test::jpeg(pixels, shape);
    auto decoder = decoder_for(shape);
    PictureDecoder other;
    const auto expected = other.prepare(compressed, "p.jpg");
    ASSERT_EQ(test::problem(expected), "none");
    const auto found = decoded(decoder, compressed);
    ASSERT_EQ(found.size(), pixels.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_NEAR(found[i], pixels[i], 3);
      ASSERT_NEAR(found[i], expected->rgb[i], 2);
    }
  }
}

/// Many cameras omit Huffman tables. Tables of another frame, even a damaged one, must not remain in effect.
TEST(MjpgDecoder, UsesStandardTablesWhenFrameHasNone) {
  std::mt19937 random(3);
  const JpegShape bare{.width = 48, .height = 32, .tables = false};
  const JpegShape whole{.width = 48, .height = 32};
  const auto pixels = noise(random, bare);
  const auto without = test::jpeg(pixels, bare), with = test::jpeg(pixels, whole);
  ASSERT_LT(without.size() + 400, with.size());
  auto decoder = decoder_for(bare);
  const auto right = decoded(decoder, with);
  EXPECT_FALSE(right.empty());
  EXPECT_EQ(decoded(decoder, without), right);
  auto spoilt = with;
  const std::byte table[] = {std::byte{0xff}, std::byte{0xc4}};
  const auto huffman = std::ranges::search(spoilt, table);
  ASSERT_FALSE(huffman.empty());
  *(huffman.begin() + 30) ^= std::byte{0xff}; // a symbol
  (void)decoder.decode(spoilt);
  EXPECT_EQ(decoded(decoder, without), right);
}

TEST(MjpgDecoder, RejectsFramesOfOtherSizeOrCoding) {
  std::mt19937 random(4);
  const JpegShape shape{.width = 40, .height = 30};
  auto decoder = decoder_for(shape);
  for (const JpegShape& other :
       {JpegShape{.width = 40, .height = 31}, JpegShape{.width = 39, .height = 30},
        JpegShape{.width = 30, .height = 40}, JpegShape{.width = 40, .height = 30, .progressive = true}})
    EXPECT_TRUE(decoded(decoder, test::jpeg(noise(random, other), other)).empty());
  EXPECT_TRUE(decoded(decoder, {}).empty());
  EXPECT_FALSE(decoded(decoder, test::jpeg(noise(random, shape), shape)).empty());
}

/// A picture is accepted if all its lines are there. The end marker may be missing, and anything may follow.
TEST(MjpgDecoder, RejectsTruncatedFramesAtEveryLength) {
  std::mt19937 random(5);
  const JpegShape shape{.width = 24, .height = 16, .restart = 1};
  const auto compressed = test::jpeg(noise(random, shape), shape);
  auto decoder = decoder_for(shape);
  const auto right = decoded(decoder, compressed);
  for (std::size_t length = 0; length < compressed.size(); ++length) {
    const std::vector<std::byte> cut(compressed.begin(), compressed.begin() + static_cast<std::ptrdiff_t>(length));
    // a separate heap block, so that a sanitizer detects a read beyond its end
    const auto found = decoded(decoder, cut);
    if (length + 2 < compressed.size()) { EXPECT_TRUE(found.empty()) << length << " of " << compressed.size(); }
    EXPECT_TRUE(found.empty() || found == right) << length;
  }
  auto longer = compressed;
  longer.resize(compressed.size() + 1000);
  EXPECT_EQ(decoded(decoder, longer), right);
}

/// For any bytes the decoder returns, and the next frame is not affected.
TEST(MjpgDecoder, SurvivesDamagedFrames) {
  std::mt19937 random(6);
  for (const JpegShape& shape :
       {JpegShape{.width = 64, .height = 48},
        JpegShape{.width = 33, .height = 17, .across = 1, .down = 1, .restart = 2},
        JpegShape{.width = 40, .height = 40, .tables = false}, JpegShape{.width = 40, .height = 40, .grey = true}}) {
    const auto compressed = test::jpeg(noise(random, shape), shape);
    auto decoder = decoder_for(shape);
    const auto right = decoded(decoder, compressed);
    ASSERT_FALSE(right.empty());
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
      auto damaged = compressed;
      for (unsigned times = random() % 8 + 1; times > 0; --times) {
        const std::size_t at =
            random() % (round % 2 == 0 ? damaged.size() : std::min<std::size_t>(damaged.size(), 700));
        switch (random() % 3) {
        case 0: damaged[at] = static_cast<std::byte>(random()); break;
        case 1: damaged.erase(damaged.begin() + static_cast<std::ptrdiff_t>(at)); break;
        default: damaged.insert(damaged.begin() + static_cast<std::ptrdiff_t>(at), std::byte{0xff}); break;
        }
      }
      const auto found = decoded(decoder, damaged);
      refused += found.empty() ? 1 : 0;
      ASSERT_TRUE(found.empty() || found.size() == right.size());
      if (round % 50 == 0) { ASSERT_TRUE(decoded(decoder, compressed) == right); }
    }
    EXPECT_GT(refused, 1000);
    EXPECT_TRUE(decoded(decoder, compressed) == right);
  }
  auto decoder = decoder_for({.width = 16, .height = 16});
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> garbage(random() % 300);
    for (auto& byte : garbage) byte = static_cast<std::byte>(random());
    if (garbage.size() > 1 && round % 2 == 0) garbage[0] = std::byte{0xff}, garbage[1] = std::byte{0xd8};
    EXPECT_TRUE(decoded(decoder, garbage).empty());
  }
}

TEST(MjpgDecoder, DecodesWithoutAllocationsOrLocks) {
  std::mt19937 random(7);
  const JpegShape shape{.width = 640, .height = 480};
  const auto compressed = test::jpeg(noise(random, shape), shape);
  const std::span half = std::span(compressed).first(compressed.size() / 2);
  auto decoder = decoder_for(shape);
  const test::ThreadCounts before = test::counts_of(::gettid());
  const bool answers[] = {decoder.decode(compressed).has_value(), decoder.decode(half).has_value(),
                          decoder.decode({}).has_value(), decoder.decode(compressed).has_value()};
  const test::ThreadCounts after = test::counts_of(::gettid());
  EXPECT_TRUE(answers[0] && !answers[1] && !answers[2] && answers[3]);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.locks, before.locks);
}

} // namespace
} // namespace rtexec::tasks
