// Frames of a camera that compresses each by itself (MJPG), decoded by libjpeg-turbo. That asks the heap for memory
// with each picture: here it gets what was taken at set-up.
//
// Ownership: the decoder owns what it decodes into. Not shared between threads at once.
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
  /// For frames of this size. unsupported: the library is another one than this was built for.
  [[nodiscard]] static Result<MjpgDecoder> make(Extent size);
  MjpgDecoder(MjpgDecoder&&) noexcept;
  MjpgDecoder& operator=(MjpgDecoder&&) noexcept;
  ~MjpgDecoder();

  /// As RGB24, valid until the next call. Huffman tables that the frame lacks are those of ITU-T T.81, annex K, as many
  /// cameras mean it. No allocation, no lock. corrupted: it is no baseline JPEG of that size, is damaged, or ends
  /// before its last line; the frames after it are none the worse.
  [[nodiscard]] Expected<Frame, Errc> decode(std::span<const std::byte> compressed) noexcept;

 private:
  struct Library;
  MjpgDecoder(Extent size, std::unique_ptr<Library> library);

  Extent size_;
  std::vector<std::uint8_t> rgb_;
  std::unique_ptr<Library> library_; // stays where it is: the library has its address
};

} // namespace rtexec::tasks
