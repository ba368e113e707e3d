// Charts of studies: curves over the values of one quantity, and lengths of executions. Each is an SVG file without
// references to other files.
#pragma once

#include <rtexec/units.hpp>

#include <span>
#include <string>
#include <vector>

namespace rtexec::report {

struct Curve {
  std::string name;
  std::vector<double> values{}; // one for each category
  bool right = false;           // true: uses the right axis
};

/// One panel of a picture. All panels have the same ranges of axes, and share the names of their curves.
struct Panel {
  std::string title, x_label, y_label{}, right_label{}; // right_label: empty if no curve uses the right axis
  std::vector<std::string> categories{};
  std::vector<Curve> curves{};
  double reach = 0; // minimum range of the left axis, from 0 on
};

/// Draws the panels side by side.
[[nodiscard]] std::string svg(std::span<const Panel> panels);

struct Runs {
  std::string name;
  std::vector<Duration> lengths;
};

/// Draws the envelope of many runs in their order: for each group of successive ones a bar from the shortest to the
/// longest, and a line at the longest of all.
[[nodiscard]] std::string envelope_svg(const std::string& title, std::span<const Runs> runs);

} // namespace rtexec::report
