// Makes file names from external names, such as the names of a network's outputs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rtexec::config {

/// Maximum length of a file name in bytes. Linux file systems allow 255 bytes, so a number before the name and an
/// extension behind it still fit.
inline constexpr std::size_t max_file_name_bytes = 200;

/// Returns one name for each of `names`, all different. Control characters and '/' become '_', and names of more than
/// max_file_name_bytes are cut. A changed name that equals another result gets a number ("a_b", "a_b_2").
[[nodiscard]] std::vector<std::string> file_names(std::span<const std::string> names);

} // namespace rtexec::config
