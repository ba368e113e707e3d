// Pictures: decoded from JPEG and PNG, with all memory taken at set-up. frame.hpp puts them into a network's input.
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

/// Rows from the top, three bytes (red, green, blue) a pixel.
struct Picture {
  Extent size;
  std::vector<std::uint8_t> rgb;
};

/// The same, owned by someone else.
struct PictureView {
  Extent size;
  std::span<const std::uint8_t> rgb;
};

[[nodiscard]] constexpr Frame frame_of(const PictureView& picture) noexcept {
  return {PixelFormat::rgb24, picture.size, std::size_t{3} * static_cast<std::size_t>(picture.size.width), picture.rgb};
}

/// The memory that one decode takes: blocks are laid one after the other, and all are forgotten by reset(). They begin
/// as zeros: stb_image reads tables that a damaged file never defined, and its results must not depend on what was
/// there.
class DecodeArena {
 public:
  /// Null, and exhausted() from then on, when the memory does not suffice.
  void* allocate(std::size_t size) noexcept;
  /// A copy; the old block stays.
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

/// Decodes compressed pictures held in memory. Not shared between threads at once.
class PictureDecoder {
 public:
  /// Decodes once, and takes the memory that this picture needs, which its size limits whatever the file says. `path`
  /// names it in messages. Errors: bad_input.
  [[nodiscard]] Result<PictureView> prepare(std::span<const std::byte> compressed, const std::filesystem::path& path);

  /// Decodes a picture that was prepared; the view is valid until the next call. No allocation, no lock.
  [[nodiscard]] Expected<PictureView, Errc> decode(std::span<const std::byte> compressed) noexcept;

  /// What it has taken for the pictures that were prepared, or refused.
  [[nodiscard]] Bytes memory() const noexcept { return {arena_.capacity()}; }

 private:
  DecodeArena arena_;
};

/// For tools: reads and decodes one file.
[[nodiscard]] Result<Picture> read_picture(const std::filesystem::path& path);

/// What a compressed picture of a file may have at most.
inline constexpr std::size_t kLargestPictureFile = std::size_t{64} << 20;

} // namespace rtexec::tasks
