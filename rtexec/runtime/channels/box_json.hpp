// Converts a box to the JSON of results and reports.
#pragma once

#include <rtexec/box.hpp>

#include <nlohmann/json.hpp>

namespace rtexec::channels {

[[nodiscard]] inline nlohmann::json box_json(const Box& box) {
  return {{"left", box.left},     {"top", box.top},     {"right", box.right},
          {"bottom", box.bottom}, {"score", box.score}, {"class", box.label}};
}

} // namespace rtexec::channels
