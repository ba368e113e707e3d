// Where a network's input comes from: a folder of JPEG/PNG pictures (sorted by name, job k uses picture k mod n), one
// picture, a NumPy .npy tensor, or seeded noise when the path is empty.
//
// All files are read and checked by a full decode at set-up. fetch() decodes the compressed picture again, letterboxes
// it (bilinear, aspect ratio kept, centred, grey bars) and normalises it to RGB planes: (value in [0, 1] - mean) /
// deviation. A tensor's values are taken as they are.
#pragma once

#include <rtexec/result.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace rtexec::tasks {

/// Per channel (red, green, blue), on values in [0, 1]; the default leaves them as they are.
struct Normalization {
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> deviation{1, 1, 1};
};

class InputSource {
 public:
  InputSource() = default;
  virtual ~InputSource() = default;
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;

  /// Fills `tensor` (the whole input, C order) for job `job`: the same job always gets the same values. One caller at a
  /// time, any thread. No allocation, no file access, no lock. Errors: bad_input when `tensor` has not the size of the
  /// shape given at set-up.
  [[nodiscard]] virtual Status fetch(std::uint64_t job, std::span<float> tensor) noexcept = 0;
};

/// `shape` is that of the network's input; pictures need [1, 3, height, width]. `normalization` applies to pictures
/// only. Errors name the file and the reason.
[[nodiscard]] Result<std::unique_ptr<InputSource>> make_input(const std::filesystem::path& input,
                                                              std::span<const std::int64_t> shape,
                                                              const Normalization& normalization = {});

} // namespace rtexec::tasks
