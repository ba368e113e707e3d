#include "config/base/text.hpp"
#include "rtexec/cli/text/chart.hpp"

#include "rtexec/cli/text/table.hpp"
#include "traces/report/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <ranges>

namespace rtexec::report {
namespace {

using traces::SvgPath;
using traces::SvgPoint;
using traces::SvgWriter;

constexpr double left = 70, top = 64, panel_width = 400, height = 320, right = 80, bottom = 76, legend = 150,
                 legend_line = 18, between_curves = 3;
constexpr double wide = 900;
/// The maximum number of columns of an envelope, and the maximum number of ticks of a panel.
constexpr std::size_t columns = 450, max_ticks = 16;
constexpr double ticks = 6;
constexpr const char* css = "text{font:12px sans-serif;fill:#222}.l{stroke:#ddd}.z{stroke:#888}.s{font-size:10px}";
constexpr const char* frame = "stroke=\"#222\"";
constexpr const char* middle = "text-anchor=\"middle\"";

struct Style {
  const char* colour;
  const char* dash;
};

const Style& style(std::size_t index) {
  static constexpr std::array<Style, 8> styles{{{"#4e79a7", "none"},
                                                {"#f28e2b", "7 3"},
                                                {"#59a14f", "none"},
                                                {"#e15759", "2 3"},
                                                {"#b07aa1", "none"},
                                                {"#9c755f", "7 3"},
                                                {"#2f4b7c", "none"},
                                                {"#d37295", "2 3"}}};
  return styles[index % styles.size()];
}

std::string stroke(std::size_t index) {
  return std::string("fill=\"none\" stroke-width=\"2\" stroke=\"") + style(index).colour + "\" stroke-dasharray=\"" +
         style(index).dash + '"';
}

std::string number(double value) { return config::significant(value == 0 ? 0 : value, 4); }

/// The range of an axis, which begins and ends at multiples of the step.
struct Axis {
  double from = 0, to = 1, step = 1;

  static Axis over(double least, double most) {
    if (!(most > least)) most = least + (least == 0 ? 1 : std::abs(least) / 10);
    const double step = traces::round_step((most - least) / ticks);
    return {std::floor(least / step + 1e-9) * step, std::ceil(most / step - 1e-9) * step, step};
  }
  double y(double value) const { return top + height * (1 - (value - from) / (to - from)); }
};

Axis axis_of(std::span<const Panel> panels, bool is_right) {
  double least = 0, most = 0;
  for (const Panel& panel : panels) {
    if (!is_right) most = std::max(most, panel.reach);
    for (const Curve& curve : panel.curves)
      for (const double value : curve.values) {
        if (curve.right != is_right) continue;
        least = std::min(least, value);
        most = std::max(most, value);
      }
  }
  return Axis::over(least, most);
}

/// Draws the labels of an axis. For the left axis also draws horizontal lines across the panel.
void draw_vertical(SvgWriter& page, const Axis& axis, double x0, double x1, bool is_left) {
  for (double value = axis.from; value < axis.to + axis.step / 2; value += axis.step) {
    const double shown = std::abs(value) < axis.step / 1000 ? 0 : value;
    if (is_left) page.line(x0, axis.y(value), x1, axis.y(value), shown == 0 ? "class=\"z\"" : "class=\"l\"");
    page.text(is_left ? x0 - 6 : x1 + 6, axis.y(value) + 4, number(shown), is_left ? "text-anchor=\"end\"" : "");
  }
}

void draw_frame(SvgWriter& page, double x0, double width) {
  page.line(x0, top, x0, top + height, frame);
  page.line(x0, top + height, x0 + width, top + height, frame);
}

/// The position of a panel on the page, and of its categories (the values on the x axis).
struct PanelArea {
  double x0, width;
  std::size_t categories;
  double x(std::size_t category) const {
    return x0 +
           width * (static_cast<double>(category) + 0.5) / static_cast<double>(std::max<std::size_t>(categories, 1));
  }
};

void draw_axes(SvgWriter& page, const Panel& panel, const PanelArea& place, const Axis& axis, const Axis& right_axis) {
  const double x0 = place.x0, width = place.width;
  page.text(x0, 24, panel.title);
  draw_vertical(page, axis, x0, x0 + width, true);
  if (!panel.right_label.empty()) draw_vertical(page, right_axis, x0, x0 + width, false);
  draw_frame(page, x0, width);
  const std::size_t step = std::max<std::size_t>(1, (panel.categories.size() + max_ticks - 1) / max_ticks);
  for (std::size_t i = 0; i < panel.categories.size(); i += step)
    page.text(place.x(i), top + height + 18, panel.categories[i], middle);
  page.text(x0 + width / 2, top + height + 42, panel.x_label, middle);
  page.turned_text(x0 - 52, top + height / 2, panel.y_label);
  if (!panel.right_label.empty()) page.turned_text(x0 + width + 66, top + height / 2, panel.right_label);
}

/// The y coordinates of the points of all curves. Coinciding curves are drawn slightly above each other.
struct Heights {
  std::vector<std::vector<double>> of_curve; // by curve and category
  bool raised = false;                       // true: some points are above the height of their value

  Heights(const Panel& panel, const Axis& axis, const Axis& right_axis) {
    for (const Curve& curve : panel.curves)
      std::ranges::transform(curve.values, std::back_inserter(of_curve.emplace_back()),
                             [&](double value) { return (curve.right ? right_axis : axis).y(value); });
    for (std::size_t category = 0; category < panel.categories.size(); ++category) separate(category);
  }

 private:
  void separate(std::size_t category) {
    std::vector<double*> points;
    for (auto& curve : of_curve)
      if (category < curve.size()) points.push_back(&curve[category]);
    std::ranges::stable_sort(points, [](const double* a, const double* b) { return *a > *b; });
    for (std::size_t i = 1; i < points.size(); ++i) {
      const double highest = *points[i - 1] - between_curves;
      if (*points[i] <= highest) continue;
      *points[i] = highest;
      raised = true;
    }
  }
};

void draw_curve(SvgWriter& page, const Panel& panel, const PanelArea& place, const Heights& heights,
                std::size_t index) {
  const Curve& curve = panel.curves[index];
  std::vector<SvgPoint> points;
  for (std::size_t i = 0; i < curve.values.size(); ++i) points.push_back({place.x(i), heights.of_curve[index][i]});
  page.polyline(points, stroke(index));
  for (std::size_t i = 0; i < points.size(); ++i)
    page.circle(points[i].x, points[i].y, 2.5, std::string("fill=\"") + style(index).colour + '"',
                curve.name + ", " + panel.categories[i] + ": " + number(curve.values[i]));
}

void draw_curves(SvgWriter& page, const Panel& panel, const PanelArea& place, const Heights& heights) {
  for (std::size_t index = 0; index < panel.curves.size(); ++index) draw_curve(page, panel, place, heights, index);
  if (heights.raised)
    page.text(place.x0, top + height + 62, "Curves that coincide are drawn side by side; points mark the exact values.",
              "class=\"s\"");
}

void draw_name(SvgWriter& page, const Panel& panel, std::size_t index, double x, double y) {
  page.line(x, y, x + 24, y, stroke(index));
  page.text(x + 30, y + 4, panel.curves[index].name);
}

void draw_legend(SvgWriter& page, const Panel& panel, double x) {
  for (std::size_t index = 0; index < panel.curves.size(); ++index)
    draw_name(page, panel, index, x, top + 10 + legend_line * static_cast<double>(index));
}

/// Draws the name of each curve near the curve's end, without overlaps, and a line from the end to the name.
void draw_names_at_ends(SvgWriter& page, const Panel& panel, const PanelArea& place, const Heights& heights, double x) {
  struct Name {
    std::size_t curve;
    double end, y;
  };
  std::vector<Name> names;
  for (std::size_t i = 0; i < panel.curves.size(); ++i)
    if (!heights.of_curve[i].empty()) names.push_back({i, heights.of_curve[i].back(), heights.of_curve[i].back()});
  std::ranges::stable_sort(names, {}, &Name::end);
  double free = top; // upper limit for the next name
  for (Name& name : names) free = (name.y = std::max(name.y, free)) + legend_line;
  free = top + height; // lower limit for the next name
  for (Name& name : names | std::views::reverse) free = (name.y = std::min(name.y, free)) - legend_line;
  for (const Name& name : names) {
    page.line(place.x(place.categories - 1) + 6, name.end, x - 4, name.y,
              std::string("stroke-width=\"0.7\" stroke=\"") + style(name.curve).colour + '"');
    draw_name(page, panel, name.curve, x, name.y);
  }
}

double microseconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-3; }

/// The extent of all runs: the shortest and the longest execution, and the largest number of executions.
struct Extent {
  double least = HUGE_VAL, most = 0;
  std::size_t count = 1;

  explicit Extent(std::span<const Runs> runs) {
    for (const auto& [name, lengths] : runs) {
      if (lengths.empty()) continue;
      const auto [shortest, longest] = std::ranges::minmax(lengths);
      least = std::min(least, microseconds(shortest));
      most = std::max(most, microseconds(longest));
      count = std::max(count, lengths.size());
    }
  }
};

void draw_envelope(SvgWriter& page, const Runs& runs, const Axis& axis, std::size_t count, const std::string& colour) {
  const auto& [name, lengths] = runs;
  const std::size_t in_column = (count + columns - 1) / columns;
  SvgPath path;
  for (std::size_t first = 0; first < lengths.size(); first += in_column) {
    const auto [shortest, longest] =
        std::ranges::minmax(std::span(lengths).subspan(first, std::min(in_column, lengths.size() - first)));
    path.move(left + wide * (static_cast<double>(first) + 0.5) / static_cast<double>(count),
              axis.y(microseconds(shortest)));
    path.vertical(axis.y(microseconds(longest)) - 0.5);
  }
  page.path(path, "fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" + number(wide / columns) + '"');
  const double longest = microseconds(std::ranges::max(lengths)), y = axis.y(longest);
  page.line(left, y, left + wide, y, "stroke-dasharray=\"6 3\" stroke=\"" + colour + '"');
  page.text(left + wide + 8, y + 4, name + ": " + number(std::round(longest)) + " us");
}

} // namespace

std::string svg(std::span<const Panel> panels) {
  const Axis axis = axis_of(panels, false), right_axis = axis_of(panels, true);
  const double width = panels.size() == 1 ? 1.5 * panel_width : panel_width, each = left + width + right;
  SvgWriter page(each * static_cast<double>(panels.size()) + legend, top + height + bottom, css);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const PanelArea place{each * static_cast<double>(i) + left, width, panels[i].categories.size()};
    const Heights heights(panels[i], axis, right_axis);
    draw_axes(page, panels[i], place, axis, right_axis);
    draw_curves(page, panels[i], place, heights);
    if (i + 1 < panels.size()) continue;
    const double end = each * static_cast<double>(panels.size());
    if (panels[i].right_label.empty()) draw_names_at_ends(page, panels[i], place, heights, end - 50);
    else draw_legend(page, panels[i], end);
  }
  return page.finish();
}

std::string envelope_svg(const std::string& title, std::span<const Runs> runs) {
  const Extent extent(runs);
  const Axis axis = Axis::over(std::min(extent.least, extent.most), extent.most);
  SvgWriter page(left + wide + 2 * legend, top + height + bottom, css);
  page.text(left, 24, title);
  draw_vertical(page, axis, left, left + wide, true);
  for (std::size_t index = 0; index < runs.size(); ++index)
    if (!runs[index].lengths.empty())
      draw_envelope(page, runs[index], axis, extent.count, style(index == 0 ? 3 : 0).colour);
  draw_frame(page, left, wide);
  page.text(left + wide / 2, top + height + 30, "execution, 1 to " + std::to_string(extent.count), middle);
  page.turned_text(left - 52, top + height / 2, "execution time, us");
  return page.finish();
}

} // namespace rtexec::report
