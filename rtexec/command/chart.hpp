// Draws percentages over a varied quantity: one line for each series. The picture is one SVG file that needs nothing
// else.
#pragma once

#include <string>
#include <vector>

namespace rtexec::command {

struct Series {
  std::string name;
  std::vector<double> percent; // one for each x
};

struct Chart {
  std::string title, x_label, y_label; // texts without characters that XML reserves
  std::vector<double> x;               // ascending
  std::vector<Series> series;
};

[[nodiscard]] std::string svg(const Chart& chart);

} // namespace rtexec::command
