// Charts of studies: curves over the values of one quantity, and lengths of executions. Each chart is an SVG file
// without references to other files.
#pragma once

#include <rtexec/units.hpp>

#include <span>
#include <string>
#include <vector>

namespace rtexec::report {

struct Curve {
  std::string name;
  std::vector<double> values{}; // one value for each category
  bool right = false;           // true: the curve uses the right axis
};

/// One panel of a picture. All panels have the same ranges of axes, and share the names of their curves.
struct Panel {
  std::string title, x_label, y_label{}, right_label{}; // right_label: empty if no curve uses that axis
  std::vector<std::string> categories{};
  std::vector<Curve> curves{};
  double reach = 0; // minimum upper end of the left axis, which begins at 0
};

/// Draws the panels side by side.
[[nodiscard]] std::string svg(std::span<const Panel> panels);

struct Runs {
  std::string name;
  std::vector<Duration> lengths;
};

/// Draws the lengths of many runs in their order. Each bar covers successive runs, from the shortest to the longest.
/// A line marks the longest run of all.
[[nodiscard]] std::string envelope_svg(const std::string& title, std::span<const Runs> runs);

} // namespace rtexec::report
