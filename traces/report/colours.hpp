// The colours of tasks. A task has the same colour in every picture.
#pragma once

#include <array>
#include <cstdint>

namespace rtexec::traces {

/// Neighbouring colours in this list are easy to distinguish.
constexpr std::array task_colours{"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2", "#9c755f",
                                  "#ff9da7", "#2f4b7c", "#8cd17d", "#d37295", "#86bcb6", "#b6992d", "#79706e",
                                  "#a0cbe8", "#d4a6c8", "#499894", "#ffbe7d", "#665191", "#bab0ac"};

/// Returns the colour of a task. After twenty tasks the colours repeat.
constexpr const char* task_colour(std::uint32_t task) { return task_colours[task % task_colours.size()]; }

} // namespace rtexec::traces
