// File names made of names that others gave, as those of a network's outputs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rtexec::config {

/// With room for a number before and an extension behind, within the 255 bytes of Linux file systems.
inline constexpr std::size_t max_file_name_bytes = 200;

/// One name for each of `names`, all different: control characters and '/' become '_', names of more than
/// max_file_name_bytes are cut, and a name that another one has already taken gets a number ("a_b", "a_b_2").
[[nodiscard]] std::vector<std::string> file_names(std::span<const std::string> names);

} // namespace rtexec::config
