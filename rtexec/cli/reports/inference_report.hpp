// Reports the outputs and the execution times of a network. Prints them as text, and writes them as JSON, tensors and a
// picture.
#pragma once

#include "rtexec/studies/single/inference.hpp"

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace rtexec::study {

/// Prints the boxes or classes that the network recognised. If the meaning of the outputs is unknown, prints the
/// range and the first values of each output.
void print(std::ostream& out, const Workload& workload);
/// Prints execution times. `times` must be in ascending order.
void print(std::ostream& out, const std::vector<Duration>& times);
[[nodiscard]] nlohmann::json to_json(const Inference& inference, const std::vector<Duration>& times);
/// Writes each output to NAME.npy in `folder`, and prints the names of the files to `out`.
[[nodiscard]] Result<> write_outputs(const Workload& workload, const std::filesystem::path& folder, std::ostream& out);
/// Writes the picture of the first input, with the recognised boxes and classes drawn into it.
[[nodiscard]] Result<> write_picture(const Inference& inference, const std::filesystem::path& output);

} // namespace rtexec::study
