// What a network computed and how long it took, for people, for other programs, as tensors and as a picture.
#pragma once

#include "rtexec/studies/single/inference.hpp"

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace rtexec::study {

/// Boxes and classes.
void print(std::ostream& out, const tasks::OutputDecoder& decoder);
/// Of each output, where nothing says what it means: its range, and its first values.
void print_values(std::ostream& out, const Inference& inference);
/// `times`: ascending.
void print(std::ostream& out, const std::vector<Duration>& times);
/// `decoder`: null where outputs have no meaning.
[[nodiscard]] nlohmann::json to_json(const Inference& inference, const tasks::OutputDecoder* decoder,
                                     const std::vector<Duration>& times);
/// Each output as NAME.npy in `folder`; `out` is told of each.
[[nodiscard]] Result<> write_outputs(const Inference& inference, const std::filesystem::path& folder,
                                     std::ostream& out);
/// The picture `input` with the boxes and classes of `decoder`.
[[nodiscard]] Result<> write_picture(const Inference& inference, const tasks::OutputDecoder& decoder,
                                     const std::filesystem::path& input, const std::filesystem::path& output);

} // namespace rtexec::study
