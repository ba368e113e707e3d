// Sources for an input of a workload: a folder of JPEG/PNG pictures (sorted by name, job k uses picture k mod n), one
// picture, or a NumPy .npy tensor. If the path is empty, the source is seeded noise. The code that runs the workload
// owns the source.
//
// Set-up reads all files and checks them by a full decode. fetch() decodes the compressed picture again, and converts
// it as frame.hpp describes. Values of a tensor file are converted to the input's type: to floats always, to integers
// only from integers that fit.
//
// Noise is uniform. Floats are from 0 to 1. Integers that index a tensor cover all its indices, and other 8-bit
// integers all values. Booleans and other longer integers are 0 or 1, the values of masks.
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

  /// Fills `tensor` for job `job`; the same job always gets the same values. One caller at a time, any thread. No
  /// allocation, no file access, no lock. Returns bad_input if the size of `tensor` differs from that at set-up.
  [[nodiscard]] virtual Status fetch(std::uint64_t job, const rtexec::Tensor& tensor) noexcept = 0;
};

/// True if `input` names pictures: it is neither empty (noise) nor a .npy tensor.
[[nodiscard]] bool are_pictures(const std::filesystem::path& input);

/// Makes a source for inputs with the shape and type of `tensor`, whose bytes are not read. Pictures need an input as
/// in FrameSampler::make(), which also converts them; `preprocessing` concerns pictures only. `range` limits noise; a
/// tensor file with values outside of it is bad_input. Errors name the file and the reason.
[[nodiscard]] Result<std::unique_ptr<InputSource>> make_input(const std::filesystem::path& input,
                                                              const rtexec::Tensor& tensor,
                                                              const Preprocessing& preprocessing = {},
                                                              const std::optional<InputRange>& range = {});

/// Extends the fingerprint `workload` by the names and sizes of the files of `input`, on which the cost of decoding
/// depends.
[[nodiscard]] std::string fingerprint_with_files(const std::string& workload, const std::filesystem::path& input);

} // namespace rtexec::tasks
