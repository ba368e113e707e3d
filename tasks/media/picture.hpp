// Pictures decoded from JPEG and PNG. All memory is allocated at set-up. frame.hpp converts pictures to a network's
// input.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "tasks/media/frame.hpp"
#include "tasks/media/letterbox.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace rtexec::tasks {

/// A picture: rows from the top, three bytes (red, green, blue) for each pixel.
struct Picture {
  Extent size;
  std::vector<std::uint8_t> rgb;
};

/// A view of a picture.
struct PictureView {
  Extent size;
  std::span<const std::uint8_t> rgb;
};

[[nodiscard]] constexpr Frame frame_of(const PictureView& picture) noexcept {
  return {PixelFormat::rgb24, picture.size, std::size_t{3} * static_cast<std::size_t>(picture.size.width), picture.rgb};
}

/// The memory for one decoding. It allocates consecutive blocks, and reset() frees all of them. Blocks are zeroed,
/// because stb_image may read tables that a damaged file never defined. The results of a decoding must not depend on
/// old contents.
class DecodeArena {
 public:
  /// Allocates a block. If the memory does not suffice, returns null, and exhausted() returns true from then on.
  void* allocate(std::size_t size) noexcept;
  /// Copies a block to a new block. The old block stays allocated.
  void* resize(void* block, std::size_t old_size, std::size_t new_size) noexcept;

  void reset() noexcept { used_ = 0, exhausted_ = false; }
  [[nodiscard]] bool exhausted() const noexcept { return exhausted_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return memory_.size(); }
  void reserve(std::size_t capacity) { memory_.resize(capacity); }

 private:
  std::vector<std::byte> memory_;
  std::size_t used_ = 0;
  bool exhausted_ = false;
};

/// Decodes compressed pictures in memory. Only one thread at a time may use a decoder.
class PictureDecoder {
 public:
  /// Decodes a picture once and allocates the memory that it needs. The size of the picture bounds this memory,
  /// whatever else the file contains. `path` names the picture in messages. Returns bad_input if the picture cannot be
  /// decoded.
  [[nodiscard]] Result<PictureView> prepare(std::span<const std::byte> compressed, const std::filesystem::path& path);

  /// Decodes a picture that prepare() has accepted. The view is valid until the next call. Does not allocate or lock.
  [[nodiscard]] Expected<PictureView, Errc> decode(std::span<const std::byte> compressed) noexcept;

  /// Returns the size of the memory allocated by prepare(), including memory for refused pictures.
  [[nodiscard]] Bytes memory() const noexcept { return {arena_.capacity()}; }

 private:
  DecodeArena arena_;
};

/// Reads and decodes one file. Only for tools.
[[nodiscard]] Result<Picture> read_picture(const std::filesystem::path& path);

/// The maximum size of a compressed picture file, in bytes.
inline constexpr std::size_t kLargestPictureFile = std::size_t{64} << 20;

} // namespace rtexec::tasks
