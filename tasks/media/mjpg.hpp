// A decoder of Motion JPEG (MJPG), a sequence of camera frames that are JPEGs independent of each other. It uses
// libjpeg-turbo. That library requests heap memory for each picture; the decoder supplies memory that was allocated at
// set-up.
//
// The decoder owns the memory of the decoded picture. Only one thread at a time may use it.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/media/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rtexec::tasks {

class MjpgDecoder {
 public:
  /// Makes a decoder for frames of `size`. Returns unsupported if the version of this machine's libjpeg differs from
  /// the version with which the program was built.
  [[nodiscard]] static Result<MjpgDecoder> make(Extent size);
  MjpgDecoder(MjpgDecoder&&) noexcept;
  MjpgDecoder& operator=(MjpgDecoder&&) noexcept;
  ~MjpgDecoder();

  /// Decodes a frame to RGB24. The result is valid until the next call. If the frame has no Huffman tables, uses the
  /// standard tables of ITU-T T.81, annex K, as many cameras expect. Does not allocate or lock. Returns corrupted if
  /// the frame is not a baseline JPEG of the decoder's size, is damaged, or ends before its last line. Later frames are
  /// not affected.
  [[nodiscard]] Expected<Frame, Errc> decode(std::span<const std::byte> compressed) noexcept;

 private:
  struct Library;
  MjpgDecoder(Extent size, std::unique_ptr<Library> library);

  Extent size_;
  std::vector<std::uint8_t> rgb_;
  // On the heap, because libjpeg keeps the address of this object, which therefore must not move.
  std::unique_ptr<Library> library_;
};

} // namespace rtexec::tasks
