// What the readers of the three kinds of file share with each other, and nobody else needs.
#pragma once

#include "config/reader.hpp"

#include <span>
#include <string_view>

namespace rtexec::config {

[[nodiscard]] std::span<const KeyDoc> task_set_keys();
[[nodiscard]] std::span<const KeyDoc> board_keys();
[[nodiscard]] std::span<const KeyDoc> profile_keys();

[[nodiscard]] bool is_board_path(std::string_view name_or_path);

} // namespace rtexec::config
