// File names made from names that come from outside, such as those of a network's outputs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rtexec::config {

/// The longest file name made here. It leaves room for a number before and an extension behind it, within the 255 bytes
/// of Linux file systems.
inline constexpr std::size_t max_file_name_bytes = 200;

/// Returns one name for each of `names`, all different. Control characters and '/' become '_', and names of more than
/// max_file_name_bytes are cut. A name that another one has already taken gets a number ("a_b", "a_b_2").
[[nodiscard]] std::vector<std::string> file_names(std::span<const std::string> names);

} // namespace rtexec::config
