// The charts of studies: curves over the values of one quantity, and how long executions took. SVG that needs nothing
// else.
#pragma once

#include <rtexec/units.hpp>

#include <span>
#include <string>
#include <vector>

namespace rtexec::report {

struct Curve {
  std::string name;
  std::vector<double> values{}; // one for each category
  bool right = false;           // by the right axis
};

/// Panels of one picture share their axes' ranges, and the names of their curves.
struct Panel {
  std::string title, x_label, y_label{}, right_label{}; // right_label: empty where no curve is by the right axis
  std::vector<std::string> categories{};
  std::vector<Curve> curves{};
  double reach = 0; // what the left axis spans at least, from 0 on
};

/// Side by side.
[[nodiscard]] std::string svg(std::span<const Panel> panels);

struct Runs {
  std::string name;
  std::vector<Duration> lengths;
};

/// The envelope of many runs in their order: for every few of them the shortest and the longest, and a line at the
/// longest of all.
[[nodiscard]] std::string envelope_svg(const std::string& title, std::span<const Runs> runs);

} // namespace rtexec::report
