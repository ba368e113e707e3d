#include "tasks/media/picture.hpp"

#include "tasks/media/compressed_picture.hpp"
#include "tasks/media/jpeg.hpp"
#include "tasks/media/png.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

namespace {

/// The arena of the decoding on this thread. stb_image's allocation functions have no context argument, so they find
/// the arena through this variable. The variable has a fixed place in the thread's local storage (initial-exec), so
/// that its first access does not allocate.
__attribute__((tls_model("initial-exec"))) thread_local rtexec::tasks::DecodeArena* decode_arena = nullptr;

} // namespace

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MALLOC(size) decode_arena->allocate(size)
#define STBI_REALLOC_SIZED(block, old_size, new_size) decode_arena->resize(block, old_size, new_size)
#define STBI_FREE(block) static_cast<void>(block)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast" // for casts of stb_image on the results of the macros above
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace rtexec::tasks {
namespace {

constexpr std::size_t kAlignment = alignof(std::max_align_t);
constexpr std::size_t kFirstArena = std::size_t{1} << 20;
constexpr std::size_t kLargestArena = std::size_t{2} << 30;
constexpr int kLargestSide = 16384;
constexpr std::int64_t kMostPixels = std::int64_t{64} << 20;

constexpr std::size_t aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

const stbi_uc* begin(std::span<const std::byte> compressed) {
  return reinterpret_cast<const stbi_uc*>(compressed.data());
}
int length(std::span<const std::byte> compressed) { return static_cast<int>(compressed.size()); }

Expected<Extent, std::string_view> inspect(std::span<const std::byte> compressed) {
  if (is_jpeg(compressed)) return inspect_jpeg(compressed);
  if (is_png(compressed)) return inspect_png(compressed);
  return Unexpected("is not a JPEG or PNG picture");
}

/// Returns the maximum memory that stb_image needs for a picture of `size`. Only a damaged or malicious file requests
/// more. The worst case per pixel is an interlaced PNG of 16 bits and four channels. The terms of kBytesPerPixel are,
/// in order: the data before and after their block grows once (two terms), the pixels of each pass, all pixels, the
/// pixels without transparency, and the pixels in 8 bits. A JPEG pads its sides to at most 32 pixels.
std::size_t max_memory(Extent size, std::size_t compressed) {
  constexpr std::size_t kBytesPerPixel = 8 + 16 + 8 + 8 + 6 + 3, kPadding = 32;
  // All blocks of a buffer that doubles until it holds the file, in bytes per byte of the file.
  constexpr std::size_t kGrowth = 4;
  const auto padded = [](int side) { return (static_cast<std::size_t>(side) + kPadding - 1) / kPadding * kPadding; };
  return std::min(kFirstArena + kGrowth * compressed + kBytesPerPixel * padded(size.width) * padded(size.height),
                  kLargestArena);
}

} // namespace

void* DecodeArena::allocate(std::size_t size) noexcept {
  if (size > memory_.size() - used_ || aligned(size) > memory_.size() - used_) {
    exhausted_ = true;
    return nullptr;
  }
  void* const block = memory_.data() + used_;
  used_ += aligned(size);
  return std::memset(block, 0, size);
}

void* DecodeArena::resize(void* block, std::size_t old_size, std::size_t new_size) noexcept {
  void* const moved = allocate(new_size);
  if (moved && block) std::memcpy(moved, block, std::min(old_size, new_size));
  return moved;
}

Expected<PictureView, Errc> PictureDecoder::decode(std::span<const std::byte> compressed) noexcept {
  arena_.reset();
  decode_arena = &arena_;
  constexpr int kChannels = 3;
  Extent size;
  int channels_in_file = 0;
  const stbi_uc* const rgb = stbi_load_from_memory(begin(compressed), length(compressed), &size.width, &size.height,
                                                   &channels_in_file, kChannels);
  decode_arena = nullptr;
  if (!rgb) return Unexpected(arena_.exhausted() ? Errc::out_of_memory : Errc::bad_input);
  return PictureView{size,
                     {rgb, static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) * kChannels}};
}

Result<PictureView> PictureDecoder::prepare(std::span<const std::byte> compressed, const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& why) { return fail(Errc::bad_input, path.string() + ": " + why); };
  assert(compressed.size() <= kLargestPictureFile);
  const auto size = inspect(compressed);
  if (!size) return refuse(std::string(size.error()));
  const std::string pixels = std::to_string(size->width) + "x" + std::to_string(size->height) + " pixels";
  if (std::max(size->width, size->height) > kLargestSide || std::int64_t{size->width} * size->height > kMostPixels)
    return refuse("has " + pixels + "; at most " + std::to_string(kMostPixels) + " are accepted, and " +
                  std::to_string(kLargestSide) + " on a side");
  const std::size_t most = max_memory(*size, compressed.size());
  if (arena_.capacity() == 0) arena_.reserve(kFirstArena);
  for (;;) {
    const auto view = decode(compressed);
    if (view) return *view;
    if (view.error() != Errc::out_of_memory) return refuse("cannot be decoded: " + std::string(stbi_failure_reason()));
    if (arena_.capacity() >= most) return refuse("contains more data than a picture of " + pixels + " has");
    arena_.reserve(std::min(arena_.capacity() * 2, most));
  }
}

Result<Picture> read_picture(const std::filesystem::path& path) {
  const auto compressed = read_compressed(path);
  if (!compressed) return Unexpected(compressed.error());
  PictureDecoder decoder;
  const auto view = decoder.prepare(std::as_bytes(std::span(*compressed)), path);
  if (!view) return Unexpected(view.error());
  return Picture{view->size, {view->rgb.begin(), view->rgb.end()}};
}

} // namespace rtexec::tasks
