// What a network computed and how long it took, for people, for other programs, as tensors and as a picture.
#pragma once

#include "rtexec/studies/single/inference.hpp"

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace rtexec::study {

/// The boxes or classes that it recognised, or of each output, where nothing says what it means, its range and its
/// first values.
void print(std::ostream& out, const Workload& workload);
/// `times`: ascending.
void print(std::ostream& out, const std::vector<Duration>& times);
[[nodiscard]] nlohmann::json to_json(const Inference& inference, const std::vector<Duration>& times);
/// Each output as NAME.npy in `folder`; `out` is told of each.
[[nodiscard]] Result<> write_outputs(const Workload& workload, const std::filesystem::path& folder, std::ostream& out);
/// The picture that is its first input, with the boxes and classes that it recognised.
[[nodiscard]] Result<> write_picture(const Inference& inference, const std::filesystem::path& output);

} // namespace rtexec::study
