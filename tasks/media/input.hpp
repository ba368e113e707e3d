// Sources of values for an input of a workload: a folder of JPEG/PNG pictures (sorted by name; job k uses picture k mod
// n), one picture, or a NumPy .npy tensor. If the path is empty, the source is seeded noise. The code that runs the
// workload owns the source.
//
// At set-up all files are read and fully decoded as a check. In each job fetch() decodes the compressed picture again,
// and converts it as frame.hpp describes. Values of a tensor file are converted to the input's type: to floats from any
// type, to integers only from integers in the range of that type.
//
// Noise is uniform. Floats are from 0 to 1. Integers that index a tensor cover all valid indices, and other 8-bit
// integers cover all values. Booleans and all other integers are 0 or 1, since they may be the values of a mask.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/tensor.hpp>
#include <rtexec/workload.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace rtexec::tasks {

class InputSource {
 public:
  InputSource() = default;
  virtual ~InputSource() = default;
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;

  /// Fills `tensor` for job number `job`. A job number always gives the same values. Any thread may call it, but only
  /// one at a time. Does not allocate, access files or lock. Returns bad_input if the size of `tensor` differs from its
  /// size at set-up.
  [[nodiscard]] virtual Status fetch(std::uint64_t job, const rtexec::Tensor& tensor) noexcept = 0;
};

/// True if `input` names pictures: it is neither empty (noise) nor a .npy tensor.
[[nodiscard]] bool are_pictures(const std::filesystem::path& input);

/// Makes a source for inputs with the shape and type of `tensor`, whose bytes are not read. If `input` names pictures,
/// `tensor` and `preprocessing` must satisfy FrameSampler::make(). `range` limits noise. Returns bad_input for a tensor
/// file with values outside `range`. Errors name the file and the reason.
[[nodiscard]] Result<std::unique_ptr<InputSource>> make_input(const std::filesystem::path& input,
                                                              const rtexec::Tensor& tensor,
                                                              const Preprocessing& preprocessing = {},
                                                              const std::optional<InputRange>& range = {});

/// Returns the fingerprint `workload`, extended by the names and sizes of the files of `input`. The time for decoding
/// depends on these files.
[[nodiscard]] std::string fingerprint_with_files(const std::string& workload, const std::filesystem::path& input);

} // namespace rtexec::tasks
