#include "tasks/base/half.hpp"
#include "tasks/media/input.hpp"
#include "tasks/media/letterbox.hpp"
#include "tasks/media/picture.hpp"
#include "tasks/media/draw.hpp"
#include "test/support/thread_counts.hpp"
#include "test/support/test_files.hpp"
#include "test/support/made_jpeg.hpp"
#include "test/tasks/npy_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

namespace rtexec::tasks {
namespace {

namespace fs = std::filesystem;
using test::read_text;
using test::write_text;
using Rgb = std::array<std::uint8_t, 3>;

template <class Colour> Picture paint(Extent size, Colour&& colour) {
  Picture picture{size, {}};
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const Rgb rgb = colour(x, y);
      picture.rgb.insert(picture.rgb.end(), rgb.begin(), rgb.end());
    }
  return picture;
}

Picture solid(Extent size, Rgb rgb) {
  return paint(size, [&](int, int) { return rgb; });
}

void write_jpeg(const Picture& picture, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  const auto write = [](void* to, void* data, int size) {
    static_cast<std::ofstream*>(to)->write(static_cast<const char*>(data), size);
  };
  ASSERT_TRUE(stbi_write_jpg_to_func(write, &file, picture.size.width, picture.size.height, 3, picture.rgb.data(), 95));
}

std::string big_endian(std::size_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}

/// Returns a chunk of a PNG file. Its checksum is computed bit by bit.
std::string chunk(const std::string& type, const std::string& data) {
  std::uint32_t rest = ~0u;
  for (const char byte : type + data) {
    rest ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) rest = rest & 1 ? rest >> 1 ^ 0xedb88320u : rest >> 1;
  }
  return big_endian(data.size()) + type + data + big_endian(~rest);
}

struct PngKind {
  char depth = 8, colours = 2, interlaced = 0;
};

std::string header(std::size_t width, std::size_t height, PngKind kind = {}) {
  const std::string rest{kind.depth, kind.colours, 0, 0, kind.interlaced};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", big_endian(width) + big_endian(height) + rest);
}

std::string compress(std::string data) {
  int length = 0;
  auto* const bytes = reinterpret_cast<unsigned char*>(data.data());
  unsigned char* const compressed = stbi_zlib_compress(bytes, static_cast<int>(data.size()), &length, 5);
  const std::string result(reinterpret_cast<char*>(compressed), static_cast<std::size_t>(length));
  std::free(compressed);
  return result;
}

std::span<const std::byte> bytes_of(const std::string& file) { return std::as_bytes(std::span(file)); }

class Inputs : public testing::Test {
 protected:
  using Shape = std::vector<std::int64_t>;

  static rtexec::Tensor like(const Shape& shape, ElementType type = ElementType::float32) {
    return {.name = "x", .type = type, .shape = shape, .bytes = {}};
  }

  /// Returns `count` elements of T.
  template <class T = float>
  std::vector<T> fetch(InputSource& source, std::uint64_t job, std::size_t count,
                       ElementType type = ElementType::float32) {
    std::vector<T> elements(count);
    std::memset(elements.data(), 0xa5, count * sizeof(T));
    auto tensor = like({}, type);
    tensor.bytes = std::as_writable_bytes(std::span(elements));
    EXPECT_TRUE(source.fetch(job, tensor));
    return elements;
  }

  std::unique_ptr<InputSource> make(const fs::path& path, const rtexec::Tensor& tensor) {
    auto source = make_input(path, tensor);
    EXPECT_TRUE(source) << source.error().what;
    return source ? std::move(*source) : nullptr;
  }
  std::unique_ptr<InputSource> make(const fs::path& path, const Shape& shape) { return make(path, like(shape)); }

  std::string error(const fs::path& path, const Shape& shape = {1, 3, 8, 8}) { return error(path, like(shape)); }
  std::string error(const fs::path& path, const rtexec::Tensor& tensor) {
    const auto source = make_input(path, tensor);
    if (source) return "was accepted";
    EXPECT_EQ(source.error().code, Errc::bad_input);
    EXPECT_TRUE(source.error().what.starts_with(path.string())) << source.error().what;
    return source.error().what;
  }

  test::ScratchFolder folder_;
};

TEST_F(Inputs, NoiseOfIndicesCoversIndexedRange) {
  const auto shape = like({4000}, ElementType::int64);
  const auto source = make_input({}, shape, {}, InputRange{-100, 99, 0, 99}).value();
  const auto ids = fetch<std::int64_t>(*source, 3, 4000, ElementType::int64);
  EXPECT_EQ(std::ranges::min(ids), 0);
  EXPECT_EQ(std::ranges::max(ids), 99);
  EXPECT_EQ(ids, fetch<std::int64_t>(*source, 3, 4000, ElementType::int64)) << "the same job, the same noise";
  const auto bytes = make_input({}, like({4000}, ElementType::uint8), {}, InputRange{-300, 299, 0, 299}).value();
  EXPECT_EQ(std::ranges::max(fetch<std::uint8_t>(*bytes, 1, 4000, ElementType::uint8)), 255) << "as far as the type";
}

TEST_F(Inputs, NoiseOfBooleansAndMasksHoldsBothValues) {
  for (const ElementType type : {ElementType::boolean, ElementType::uint64, ElementType::int64}) {
    const std::size_t count = 800 / size_of(type);
    const auto source = make({}, like({static_cast<std::int64_t>(count)}, type));
    std::vector<std::byte> bytes(800, std::byte{0xa5});
    auto tensor = like({}, type);
    tensor.bytes = bytes;
    ASSERT_TRUE(source->fetch(1, tensor));
    const auto ones = std::ranges::count(bytes, std::byte{1}), zeros = std::ranges::count(bytes, std::byte{0});
    EXPECT_EQ(ones + zeros, 800);
    EXPECT_GT(ones, static_cast<std::ptrdiff_t>(count / 4)) << name(type);
    EXPECT_LT(ones, static_cast<std::ptrdiff_t>(count * 3 / 4)) << name(type);
  }
  const auto source = make({}, like({2000}, ElementType::int8));
  const auto values = fetch<std::int8_t>(*source, 1, 2000, ElementType::int8);
  EXPECT_LT(std::ranges::min(values), -100);
  EXPECT_GT(std::ranges::max(values), 100);
}

TEST_F(Inputs, SolidPictureFillsPlanesWithGreyLetterbox) {
  ASSERT_TRUE(write_png(solid({8, 4}, {255, 0, 51}), folder_ / "p.png"));
  const auto source = make(folder_ / "p.png", {1, 3, 16, 16});
  const auto tensor = fetch(*source, 0, 3 * 256);
  const float expected[] = {1, 0, 0.2f};
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const std::size_t row = i / 16 % 16;
    const bool inside = row >= 4 && row < 12; // twice as large, centred
    EXPECT_NEAR(tensor[i], inside ? expected[i / 256] : 0.5f, 1e-6) << i;
  }
}

TEST_F(Inputs, PicturesAreNormalised) {
  ASSERT_TRUE(write_png(solid({4, 4}, {255, 0, 51}), folder_ / "p.png"));
  auto input = like({1, 3, 4, 4});
  input.mean = {0.5f, 0.25f, 0};
  input.deviation = {0.5f, 2, 0.1f};
  const auto source = make(folder_ / "p.png", input);
  const auto tensor = fetch(*source, 0, 48);
  EXPECT_NEAR(tensor[0], 1, 1e-6);
  EXPECT_NEAR(tensor[16], -0.125, 1e-6);
  EXPECT_NEAR(tensor[32], 2, 1e-6);
}

TEST_F(Inputs, ScalingPreservesGradient) {
  const Extent size{64, 32};
  ASSERT_TRUE(write_png(paint(size,
                              [](int x, int y) {
                                return Rgb{static_cast<std::uint8_t>(4 * x), static_cast<std::uint8_t>(8 * y), 0};
                              }),
                        folder_ / "g.png"));
  for (const int network : {16, 64, 200}) {
    const auto n = static_cast<std::size_t>(network);
    const auto source = make(folder_ / "g.png", {1, 3, network, network});
    const auto tensor = fetch(*source, 0, 3 * n * n);
    const Letterbox box = Letterbox::fit(size, {network, network});
    const double ratio = 64.0 / network;
    for (int y = 0; y < box.inner.height; ++y)
      for (int x = 0; x < network; ++x) {
        const auto at = static_cast<std::size_t>(y + box.top) * n + static_cast<std::size_t>(x);
        const auto source_position = [&](int position, int limit) {
          return std::clamp((position + 0.5) * ratio - 0.5, 0.0, limit - 1.0);
        };
        ASSERT_NEAR(tensor[at], 4 * source_position(x, 64) / 255, 1e-4);
        ASSERT_NEAR(tensor[n * n + at], 8 * source_position(y, 32) / 255, 1e-4);
        ASSERT_EQ(tensor[2 * n * n + at], 0);
      }
  }
}

TEST_F(Inputs, JpegIsDecoded) {
  write_jpeg(solid({33, 17}, {200, 100, 50}), folder_ / "p.jpg");
  const auto source = make(folder_ / "p.jpg", {1, 3, 17, 33});
  const auto tensor = fetch(*source, 0, 3 * 17 * 33);
  EXPECT_NEAR(tensor[0], 200 / 255.0, 0.02);
  EXPECT_NEAR(tensor[17 * 33], 100 / 255.0, 0.02);
  EXPECT_NEAR(tensor[2 * 17 * 33], 50 / 255.0, 0.02);
}

TEST_F(Inputs, FolderIsReadInOrderOfFileNames) {
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(write_png(solid({2, 2}, {static_cast<std::uint8_t>(51 * i), 0, 0}),
                          folder_ / (std::string(1, static_cast<char>('c' - i)) + ".PNG")));
  write_text(folder_ / "notes.txt", "ignored");
  const auto source = make(folder_.path(), {1, 3, 2, 2});
  for (std::uint64_t job = 0; job < 7; ++job)
    EXPECT_NEAR(fetch(*source, job, 12)[0], 0.2 * static_cast<double>(2 - job % 3), 1e-6) << job;
}

TEST_F(Inputs, NpyTensorIsUsedUnchanged) {
  const std::vector<float> values{1, -2, 300, 4};
  ASSERT_TRUE(write_floats(folder_ / "t.npy", Shape{1, 4}, values));
  EXPECT_EQ(fetch(*make(folder_ / "t.npy", {1, 4}), 5, 4), values);
  EXPECT_NE(error(folder_ / "t.npy", {4, 1}).find("has shape 1x4, but the network's input is 4x1"), std::string::npos);
}

TEST_F(Inputs, NpyTensorIsConvertedOnlyWithoutLoss) {
  const std::vector<std::int64_t> whole{0, 1, 255};
  ASSERT_TRUE(write_npy(folder_ / "i.npy", Shape{3}, ElementType::int64, std::as_bytes(std::span(whole))));
  using Bytes = std::vector<std::uint8_t>;
  const auto fetched = [&]<class T>(ElementType type, std::vector<T>) {
    return fetch<T>(*make(folder_ / "i.npy", like({3}, type)), 0, 3, type);
  };
  EXPECT_EQ(fetched(ElementType::uint8, Bytes()), (Bytes{0, 1, 255}));
  EXPECT_EQ(fetched(ElementType::int32, std::vector<std::int32_t>()), (std::vector<std::int32_t>{0, 1, 255}));
  EXPECT_EQ(fetched(ElementType::int64, std::vector<std::int64_t>()), whole);
  EXPECT_EQ(fetched(ElementType::float32, std::vector<float>()), (std::vector<float>{0, 1, 255}));
  EXPECT_EQ(fetched(ElementType::float16, std::vector<std::uint16_t>()),
            (std::vector<std::uint16_t>{0, 0x3c00, 0x5bf8}));
  const std::vector<std::int32_t> large{0, 256, -1};
  ASSERT_TRUE(write_npy(folder_ / "l.npy", Shape{3}, ElementType::int32, std::as_bytes(std::span(large))));
  EXPECT_NE(error(folder_ / "l.npy", like({3}, ElementType::uint8)).find("file holds int32, input 'x' needs uint8"),
            std::string::npos);
  const auto refused = make_input(folder_ / "l.npy", like({3}, ElementType::int32), {}, InputRange{-100, 99, 0, 99});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("but the network needs -100 to 99 in its input 'x'"), std::string::npos)
      << refused.error().what;
  EXPECT_TRUE(make_input(folder_ / "l.npy", like({3}, ElementType::int32), {}, InputRange{-1, 1 << 20, 0, 1 << 20}));
  ASSERT_TRUE(write_floats(folder_ / "f.npy", Shape{3}, {0, 1, 2}));
  EXPECT_NE(error(folder_ / "f.npy", like({3}, ElementType::int64)).find("file holds float32, input 'x' needs int64"),
            std::string::npos);
}

TEST_F(Inputs, NoiseOfEveryTypeFollowsDocumentedDistribution) {
  constexpr std::size_t count = 10'000;
  const auto noise = [&]<class T>(ElementType type, std::vector<T>) {
    return fetch<T>(*make({}, like({count}, type)), 3, count, type);
  };
  std::vector<std::size_t> seen(256);
  for (const auto byte : noise(ElementType::uint8, std::vector<std::uint8_t>())) ++seen[byte];
  EXPECT_GT(*std::ranges::min_element(seen), 5u);
  const auto longs = noise(ElementType::int64, std::vector<std::int64_t>());
  EXPECT_EQ(std::ranges::count(longs, 0) + std::ranges::count(longs, 1), static_cast<std::ptrdiff_t>(count));
  EXPECT_GT(std::ranges::count(longs, 1), static_cast<std::ptrdiff_t>(count / 3));
  const auto floats = noise(ElementType::float32, std::vector<float>());
  const auto halves = noise(ElementType::float16, std::vector<std::uint16_t>());
  for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(from_half(halves[i]), floats[i], 1.0 / 2048) << i;
}

TEST_F(Inputs, PicturesFillUint8Float16AndChannelsLastInputs) {
  ASSERT_TRUE(write_png(solid({4, 4}, {255, 0, 51}), folder_ / "p.png"));
  const auto bytes =
      fetch<std::uint8_t>(*make(folder_ / "p.png", like({1, 4, 4, 3}, ElementType::uint8)), 0, 48, ElementType::uint8);
  const auto halves = fetch<std::uint16_t>(*make(folder_ / "p.png", like({1, 3, 4, 4}, ElementType::float16)), 0, 48,
                                           ElementType::float16);
  for (std::size_t i = 0; i < 48; ++i) {
    EXPECT_EQ(bytes[i], (std::array{255, 0, 51})[i % 3]) << i;
    EXPECT_NEAR(from_half(halves[i]), (std::array{1.0, 0.0, 0.2})[i / 16], 1e-3) << i;
  }
  EXPECT_NE(error(folder_ / "p.png", like({1, 3, 4, 4}, ElementType::int64)).find("is of int64"), std::string::npos);
  auto normalised = like({1, 3, 4, 4}, ElementType::uint8);
  normalised.mean = {0.5f, 0.5f, 0.5f};
  EXPECT_NE(error(folder_ / "p.png", normalised).find("require normalisation"), std::string::npos);
}

TEST_F(Inputs, NoiseIsUniformAndReproducibleForEachJob) {
  const auto source = make({}, {1, 10'000});
  const auto first = fetch(*source, 0, 10'000);
  EXPECT_EQ(first, fetch(*source, 0, 10'000));
  EXPECT_NE(first, fetch(*source, 1, 10'000));
  double sum = 0;
  for (const float value : first) {
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += static_cast<double>(value);
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST_F(Inputs, FetchRejectsTensorOfOtherSize) {
  ASSERT_TRUE(write_png(solid({2, 2}, {}), folder_ / "p.png"));
  ASSERT_TRUE(write_floats(folder_ / "t.npy", Shape{1, 3, 2, 2}, std::vector<float>(12)));
  std::vector<float> values(11);
  auto tensor = like({11});
  tensor.bytes = std::as_writable_bytes(std::span(values));
  for (const fs::path& path : {fs::path(), folder_ / "p.png", folder_ / "t.npy"})
    EXPECT_EQ(make(path, {1, 3, 2, 2})->fetch(0, tensor), Status(Unexpected(Errc::bad_input)));
}

TEST_F(Inputs, ErrorsNameFileAndReason) {
  EXPECT_NE(error(folder_ / "none.png").find("does not exist"), std::string::npos);
  EXPECT_NE(error(folder_.path()).find("holds no .jpg, .jpeg or .png file"), std::string::npos);
  write_text(folder_ / "text.png", "no picture");
  EXPECT_NE(error(folder_ / "text.png").find("is not a JPEG or PNG picture"), std::string::npos);
  EXPECT_NE(error(folder_ / "text.png", {1, 4, 8, 8}).find("pictures need an input of shape [1, 3, height, width]"),
            std::string::npos);

  const Picture noisy = paint({64, 64}, [](int x, int y) {
    return Rgb{static_cast<std::uint8_t>(x * y), static_cast<std::uint8_t>(x * x), 7};
  });
  ASSERT_TRUE(write_png(noisy, folder_ / "whole.png"));
  const std::string png = read_text(folder_ / "whole.png");
  write_text(folder_ / "cut.png", png.substr(0, png.size() / 2));
  EXPECT_NE(error(folder_ / "cut.png").find("is a truncated PNG"), std::string::npos);
  write_jpeg(noisy, folder_ / "whole.jpg");
  const std::string jpeg = read_text(folder_ / "whole.jpg");
  write_text(folder_ / "cut.jpg", jpeg.substr(0, jpeg.size() / 2));
  EXPECT_NE(error(folder_ / "cut.jpg").find("is a truncated JPEG"), std::string::npos);

  write_text(folder_ / "huge.png", header(16383, 16383) + chunk("IEND", {}));
  EXPECT_NE(error(folder_ / "huge.png").find("has 16383x16383 pixels"), std::string::npos);
  write_text(folder_ / "long.png", header(1, 16385) + chunk("IEND", {}));
  EXPECT_NE(error(folder_ / "long.png").find("has 1x16385 pixels; at most 67108864 are accepted, and 16384 on a side"),
            std::string::npos);
  std::string wide = jpeg; // the height and width of its frame
  wide.replace(jpeg.find("\xff\xc0") + 5, 4, std::string("\x00\x08\xff\xff", 4));
  write_text(folder_ / "wide.jpg", wide);
  EXPECT_NE(error(folder_ / "wide.jpg").find("has 65535x8 pixels"), std::string::npos);
}

TEST_F(Inputs, PngChunkLongerThanFileIsRejectedBeforeAllocation) {
  const std::string file = header(8, 8) + big_endian(0x7ffffff0) + "IDAT" + std::string(16, '\0');
  PictureDecoder decoder;
  const auto prepared = decoder.prepare(bytes_of(file), "p.png");
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().what.find("a chunk of a wrong length"), std::string::npos) << prepared.error().what;
  EXPECT_EQ(decoder.memory(), Bytes{0});
}

TEST_F(Inputs, OverInflatingPngIsRejectedWithLittleMemory) {
  const std::string file =
      header(8, 8) + chunk("IDAT", compress(std::string(std::size_t{64} << 20, '\0'))) + chunk("IEND", {});
  PictureDecoder decoder;
  const auto prepared = decoder.prepare(bytes_of(file), "p.png");
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().what.find("contains more data than a picture of 8x8 pixels has"), std::string::npos)
      << prepared.error().what;
  EXPECT_LE(decoder.memory(), Bytes{4 << 20});
}

TEST_F(Inputs, PngWithLargestMemoryDemandIsDecoded) {
  for (const char interlaced : {'\0', '\1'}) {
    // filters: the filter bytes of every row of every pass
    constexpr std::size_t side = 1024, pixel = 8, filters = 2 * side;
    const std::string file = header(side, side, {.depth = 16, .colours = 6, .interlaced = interlaced}) +
                             chunk("IDAT", compress(std::string(side * side * pixel + filters, '\0'))) +
                             chunk("IEND", {});
    EXPECT_TRUE(PictureDecoder().prepare(bytes_of(file), "p.png"));
  }
}

TEST_F(Inputs, PngWithWrongChecksumOrChunkOrderIsRejected) {
  const std::string data = chunk("IDAT", compress(std::string(4, '\0'))), end = chunk("IEND", {});
  const auto refusal = [](const std::string& file) {
    const auto prepared = PictureDecoder().prepare(bytes_of(file), "p.png");
    return prepared ? "" : prepared.error().what;
  };
  const std::string whole = header(1, 1) + data + end;
  EXPECT_EQ(refusal(whole), "");
  for (std::size_t i = 8; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= 1;
    EXPECT_NE(refusal(damaged), "") << i;
  }
  EXPECT_NE(refusal(header(1, 1).substr(0, 8) + data + end).find("its header is missing"), std::string::npos);
  EXPECT_NE(refusal(header(0, 1) + data + end).find("its header has no size"), std::string::npos);
  EXPECT_NE(refusal(header(1, 1) + data).find("is a truncated PNG"), std::string::npos);
  EXPECT_NE(refusal(header(1, 1) + end).find("cannot be decoded"), std::string::npos);
}

// stb_image would write beyond its table of 256 codes.
TEST_F(Inputs, JpegWithOversizedHuffmanTableIsRejected) {
  write_jpeg(solid({8, 8}, {1, 2, 3}), folder_ / "p.jpg");
  std::string jpeg = read_text(folder_ / "p.jpg");
  const auto table = jpeg.find("\xff\xc4");
  ASSERT_NE(table, std::string::npos);
  jpeg.replace(table + 5, 16, std::string(16, '\x20'));
  write_text(folder_ / "p.jpg", jpeg);
  EXPECT_NE(error(folder_ / "p.jpg").find("a Huffman table that does not fit"), std::string::npos);
}

/// Webcams write such files.
TEST_F(Inputs, JpegWithoutHuffmanTablesUsesStandardOnes) {
  std::mt19937 random(3);
  const test::JpegShape bare{.width = 48, .height = 32, .tables = false}, whole{.width = 48, .height = 32};
  std::vector<std::uint8_t> pixels(std::size_t{3} * 48 * 32);
  for (auto& each : pixels) each = static_cast<std::uint8_t>(random());
  const auto write = [&](const char* name, const std::vector<std::byte>& file) {
    write_text(folder_ / name, {reinterpret_cast<const char*>(file.data()), file.size()});
  };
  write("bare.jpg", test::jpeg(pixels, bare));
  write("whole.jpg", test::jpeg(pixels, whole));
  const auto right = read_picture(folder_ / "whole.jpg"), decoded = read_picture(folder_ / "bare.jpg");
  ASSERT_TRUE(right && decoded) << decoded.error().what;
  EXPECT_EQ(decoded->rgb, right->rgb);
}

TEST_F(Inputs, TruncatedJpegIsRejectedAtEveryLength) {
  write_jpeg(solid({8, 8}, {1, 2, 3}), folder_ / "p.jpg");
  const std::string jpeg = read_text(folder_ / "p.jpg");
  for (std::size_t length = 0; length < jpeg.size(); ++length)
    EXPECT_FALSE(PictureDecoder().prepare(std::as_bytes(std::span(jpeg)).first(length), "p.jpg")) << length;
}

TEST_F(Inputs, DamagedPicturesCauseNoCrash) {
  const Picture picture = paint({40, 30}, [](int x, int y) {
    return Rgb{static_cast<std::uint8_t>(x * y), static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y)};
  });
  ASSERT_TRUE(write_png(picture, folder_ / "p.png"));
  write_jpeg(picture, folder_ / "p.jpg");
  std::mt19937 random(1);
  const auto mutated = [&](std::string bytes) {
    for (int k = 0; k < 4; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    return bytes;
  };
  const std::string pixels = compress(std::string(30 * (1 + 3 * 40), '\2'));
  for (const char* name : {"p.png", "p.jpg", "data.png"}) {
    for (int i = 0; i < 300; ++i) {
      // Also tries damage that a correct checksum hides.
      const std::string mutant = std::string_view(name) == "data.png"
                                     ? header(40, 30) + chunk("IDAT", mutated(pixels)) + chunk("IEND", {})
                                     : mutated(read_text(folder_ / name));
      PictureDecoder decoder;
      const auto bytes = std::as_bytes(std::span(mutant));
      const auto prepared = decoder.prepare(bytes, name);
      if (prepared) { EXPECT_TRUE(decoder.decode(bytes)); }
    }
  }
}

TEST_F(Inputs, FetchDoesNotAllocate) {
  const Picture picture = paint({300, 200}, [](int x, int y) {
    return Rgb{static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y), 9};
  });
  fs::create_directory(folder_ / "pictures");
  ASSERT_TRUE(write_png(picture, folder_ / "pictures/a.png"));
  write_jpeg(picture, folder_ / "pictures/b.jpg");
  // Larger than the first arena.
  ASSERT_TRUE(write_png(solid({900, 700}, {1, 2, 3}), folder_ / "pictures/c.png"));
  ASSERT_TRUE(write_floats(folder_ / "t.npy", Shape{1, 3, 64, 64}, std::vector<float>(3 * 64 * 64)));
  std::vector<float> values(3 * 64 * 64);
  auto tensor = like({1, 3, 64, 64});
  tensor.bytes = std::as_writable_bytes(std::span(values));
  for (const fs::path& path : {fs::path(), folder_ / "pictures", folder_ / "t.npy"}) {
    const auto source = make(path, {1, 3, 64, 64});
    const auto before = test::allocations();
    for (std::uint64_t job = 0; job < 6; ++job) ASSERT_TRUE(source->fetch(job, tensor));
    EXPECT_EQ(test::allocations(), before) << path;
  }
}

TEST(DecodeArena, ReturnsZeroedBlocksAndRejectsWhatDoesNotFit) {
  DecodeArena arena;
  EXPECT_EQ(arena.allocate(1), nullptr);
  EXPECT_TRUE(arena.exhausted());
  arena.reserve(256);
  for (int round = 0; round < 2; ++round) {
    arena.reset();
    auto* const block = static_cast<char*>(arena.allocate(10));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(block[0] + block[9], 0);
    std::memset(block, 'x', 10);
    auto* const larger = static_cast<char*>(arena.resize(block, 10, 100));
    ASSERT_NE(larger, nullptr);
    EXPECT_EQ(std::string_view(larger, 11), std::string_view("xxxxxxxxxx\0", 11));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(larger) % alignof(std::max_align_t), 0u);
    EXPECT_FALSE(arena.exhausted());
    EXPECT_EQ(arena.allocate(std::size_t(-1)), nullptr);
    EXPECT_EQ(arena.resize(larger, 100, 200), nullptr);
    EXPECT_TRUE(arena.exhausted());
  }
}

TEST(Letterbox, FitsCentresAndMapsBack) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto side = [&] { return static_cast<int>(random() % 2000) + 1; };
    const Extent picture{side(), side()}, network{side(), side()};
    const Letterbox box = Letterbox::fit(picture, network);
    EXPECT_TRUE(box.inner.width == network.width || box.inner.height == network.height);
    EXPECT_GE(box.left, 0);
    EXPECT_LE(box.left + box.inner.width, network.width);
    EXPECT_LE(box.top + box.inner.height, network.height);
    EXPECT_LE(std::abs(2 * box.left + box.inner.width - network.width), 1);

    // The picture's own corners, and a box inside it, must map back to themselves.
    const auto forth = [&](float x, float y) {
      return std::pair{
          static_cast<float>(box.left) + x * static_cast<float>(box.inner.width) / static_cast<float>(picture.width),
          static_cast<float>(box.top) + y * static_cast<float>(box.inner.height) / static_cast<float>(picture.height)};
    };
    const float right = static_cast<float>(picture.width), bottom = static_cast<float>(picture.height);
    const auto [l, t] = forth(right / 4, bottom / 3);
    const auto [r, b] = forth(right, bottom);
    const Box back = box.to_picture({l, t, r, b, 0.5f, 3});
    EXPECT_NEAR(back.left, right / 4, 2e-3 * right);
    EXPECT_NEAR(back.top, bottom / 3, 2e-3 * bottom);
    EXPECT_NEAR(back.right, right, 2e-3 * right);
    EXPECT_NEAR(back.bottom, bottom, 2e-3 * bottom);
    EXPECT_EQ(back.label, 3u);
    const Box outside = box.to_picture({-1e6f, -1e6f, 1e6f, 1e6f, 0, 0});
    EXPECT_EQ(outside.left, 0);
    EXPECT_EQ(outside.right, right);
  }
}

} // namespace
} // namespace rtexec::tasks
