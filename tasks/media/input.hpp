// What fills an input of a workload: a folder of JPEG/PNG pictures (sorted by name, job k uses picture k mod n), one
// picture, a NumPy .npy tensor, or seeded noise when the path is empty. Whoever runs the workload owns it.
//
// All files are read and checked by a full decode at set-up. fetch() decodes the compressed picture again, and puts it
// into the tensor as frame.hpp says. A tensor's values are taken as they are, and converted where the input is of
// another type: to floats always, to integers from integers that fit. Noise is uniform: from 0 to 1 in floats; in
// integers that index a tensor, over all of its indices; in other integers of 8 bits over all values; in booleans and
// longer integers 0 or 1, which masks hold.
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

  /// Fills `tensor` for job `job`: the same job always gets the same values. One caller at a time, any thread. No
  /// allocation, no file access, no lock. Errors: bad_input when `tensor` has not the size of the one given at set-up.
  [[nodiscard]] virtual Status fetch(std::uint64_t job, const rtexec::Tensor& tensor) noexcept = 0;
};

/// Neither noise nor a tensor, as the name says.
[[nodiscard]] bool are_pictures(const std::filesystem::path& input);

/// For an input that is like `tensor`, whose bytes are not looked at. Pictures need what FrameSampler::make() says, and
/// are put into it so; `preprocessing` is of pictures alone. `range` limits noise, and a tensor's values outside it are
/// bad_input. Errors name the file and the reason.
[[nodiscard]] Result<std::unique_ptr<InputSource>> make_input(const std::filesystem::path& input,
                                                              const rtexec::Tensor& tensor,
                                                              const Preprocessing& preprocessing = {},
                                                              const std::optional<InputRange>& range = {});

/// `workload`, and names and sizes of the files of `input`, which decide what decoding costs.
[[nodiscard]] std::string fingerprint_with_files(const std::string& workload, const std::filesystem::path& input);

} // namespace rtexec::tasks
