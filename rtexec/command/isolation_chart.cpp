#include "rtexec/command/isolation_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace rtexec::command {
namespace {

constexpr double left = 70, top = 56, width = 400, height = 320, right = 80, bottom = 60, legend = 110,
                 legend_line = 20;
constexpr double wide = 900;
constexpr std::size_t columns = 450; // of an envelope
constexpr double ticks = 6;

const char* colour(std::size_t index) {
  static constexpr std::array<const char*, 6> colours{"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#9c755f"};
  return colours[index % colours.size()];
}

std::string number(double value) {
  std::ostringstream out;
  out << std::setprecision(4) << (value == 0 ? 0 : value);
  return out.str();
}

/// What an axis spans: whole steps of 1, 2 or 5 times a power of ten.
struct Axis {
  double from = 0, to = 1, step = 1;

  static Axis over(double least, double most) {
    if (!(most > least)) most = least + (least == 0 ? 1 : std::abs(least) / 10);
    const double rough = (most - least) / ticks, ten = std::pow(10, std::floor(std::log10(rough)));
    const double step = ten * (rough <= ten ? 1 : rough <= 2 * ten ? 2 : rough <= 5 * ten ? 5 : 10);
    return {std::floor(least / step + 1e-9) * step, std::ceil(most / step - 1e-9) * step, step};
  }
  double y(double value) const { return top + height * (1 - (value - from) / (to - from)); }
};

class Page {
 public:
  Page(double page_width, double page_height) {
    out_ << std::fixed << std::setprecision(1) << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << page_width
         << R"(" height=")" << page_height << "\">\n"
         << "<style>text{font:12px sans-serif;fill:#222}.l{stroke:#ddd}.z{stroke:#888}</style>\n"
         << R"(<rect width="100%" height="100%" fill="#fff"/>)" << '\n';
  }
  std::string finish() {
    out_ << "</svg>\n";
    return out_.str();
  }
  std::ostringstream& out() { return out_; }

  void text(double x, double y, const std::string& what, const std::string& attributes = "") {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" " << attributes << ">" << what << "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const std::string& attributes) {
    out_ << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" " << attributes
         << "/>\n";
  }
  void turned(double x, double y, const std::string& what) {
    out_ << "<text text-anchor=\"middle\" transform=\"translate(" << x << ',' << y << ") rotate(-90)\">" << what
         << "</text>\n";
  }

  /// With lines across where it is the left one.
  void vertical(const Axis& axis, double x0, double x1, bool is_left) {
    for (double value = axis.from; value < axis.to + axis.step / 2; value += axis.step) {
      const double shown = std::abs(value) < axis.step / 1000 ? 0 : value;
      if (is_left) line(x0, axis.y(value), x1, axis.y(value), shown == 0 ? "class=\"z\"" : "class=\"l\"");
      text(is_left ? x0 - 6 : x1 + 6, axis.y(value) + 4, number(shown), is_left ? "text-anchor=\"end\"" : "");
    }
  }

 private:
  std::ostringstream out_;
};

Axis axis_of(std::span<const Panel> panels, bool is_right) {
  double least = 0, most = 0;
  bool any = false;
  for (const Panel& panel : panels)
    for (const Curve& curve : panel.curves)
      for (const double value : curve.values) {
        if (curve.right != is_right) continue;
        least = any ? std::min(least, value) : value;
        most = any ? std::max(most, value) : value;
        any = true;
      }
  return Axis::over(std::min(least, 0.0), std::max(most, 0.0));
}

void draw(Page& page, const Panel& panel, double x0, const Axis& axis, const Axis& right_axis) {
  const double step = width / static_cast<double>(std::max<std::size_t>(panel.categories.size(), 1));
  const auto x = [&](std::size_t i) { return x0 + step * (static_cast<double>(i) + 0.5); };
  page.text(x0, 34, panel.title);
  page.vertical(axis, x0, x0 + width, true);
  if (!panel.right_label.empty()) page.vertical(right_axis, x0, x0 + width, false);
  page.line(x0, top, x0, top + height, "stroke=\"#222\"");
  page.line(x0, top + height, x0 + width, top + height, "stroke=\"#222\"");
  for (std::size_t i = 0; i < panel.categories.size(); ++i)
    page.text(x(i), top + height + 18, panel.categories[i], "text-anchor=\"middle\"");
  page.text(x0 + width / 2, top + height + 42, panel.x_label, "text-anchor=\"middle\"");
  page.turned(x0 - 52, top + height / 2, panel.y_label);
  if (!panel.right_label.empty()) page.turned(x0 + width + 66, top + height / 2, panel.right_label);
  for (std::size_t index = 0; index < panel.curves.size(); ++index) {
    const Curve& curve = panel.curves[index];
    const Axis& own = curve.right ? right_axis : axis;
    page.out() << "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" << colour(index) << "\" stroke-dasharray=\""
               << (curve.right ? "6 3" : "none") << "\" points=\"";
    for (std::size_t i = 0; i < curve.values.size(); ++i)
      page.out() << (i == 0 ? "" : " ") << x(i) << ',' << own.y(curve.values[i]);
    page.out() << "\"/>\n";
    for (std::size_t i = 0; i < curve.values.size(); ++i)
      page.out() << "<circle cx=\"" << x(i) << "\" cy=\"" << own.y(curve.values[i]) << "\" r=\"3\" fill=\""
                 << colour(index) << "\"><title>" << curve.name << ", " << panel.categories[i] << ": "
                 << number(curve.values[i]) << "</title></circle>\n";
  }
}

void draw_legend(Page& page, const Panel& panel, double x) {
  for (std::size_t index = 0; index < panel.curves.size(); ++index) {
    const double y = top + 10 + legend_line * static_cast<double>(index);
    page.line(x, y, x + 24, y,
              std::string("stroke-width=\"2\" stroke=\"") + colour(index) + "\" stroke-dasharray=\"" +
                  (panel.curves[index].right ? "6 3" : "none") + "\"");
    page.text(x + 30, y + 4, panel.curves[index].name);
  }
}

double microseconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-3; }

} // namespace

std::string svg(std::span<const Panel> panels) {
  const Axis axis = axis_of(panels, false), right_axis = axis_of(panels, true);
  const double each = left + width + right;
  Page page(each * static_cast<double>(panels.size()) + legend, top + height + bottom);
  for (std::size_t i = 0; i < panels.size(); ++i)
    draw(page, panels[i], each * static_cast<double>(i) + left, axis, right_axis);
  if (!panels.empty()) draw_legend(page, panels.front(), each * static_cast<double>(panels.size()));
  return page.finish();
}

std::string envelope_svg(const std::string& title, std::span<const Runs> runs) {
  double least = HUGE_VAL, most = 0;
  std::size_t count = 1;
  for (const Runs& each : runs) {
    if (each.lengths.empty()) continue;
    least = std::min(least, microseconds(std::ranges::min(each.lengths)));
    most = std::max(most, microseconds(std::ranges::max(each.lengths)));
    count = std::max(count, each.lengths.size());
  }
  const Axis axis = Axis::over(std::min(least, most), most);
  Page page(left + wide + 2 * legend, top + height + bottom);
  page.text(left, 34, title);
  page.vertical(axis, left, left + wide, true);
  const std::size_t in_column = (count + columns - 1) / columns;
  for (std::size_t index = 0; index < runs.size(); ++index) {
    const auto& [name, lengths] = runs[index];
    if (lengths.empty()) continue;
    page.out() << "<path fill=\"none\" stroke=\"" << colour(index == 0 ? 3 : 0) << "\" stroke-width=\""
               << wide / columns << "\" d=\"";
    for (std::size_t first = 0; first < lengths.size(); first += in_column) {
      const auto [shortest, longest] =
          std::ranges::minmax(std::span(lengths).subspan(first, std::min(in_column, lengths.size() - first)));
      const double x = left + wide * (static_cast<double>(first) + 0.5) / static_cast<double>(count);
      page.out() << 'M' << x << ' ' << axis.y(microseconds(shortest)) << 'V' << axis.y(microseconds(longest)) - 0.5;
    }
    page.out() << "\"/>\n";
    const double y = axis.y(microseconds(std::ranges::max(lengths)));
    page.line(left, y, left + wide, y,
              std::string("stroke-dasharray=\"6 3\" stroke=\"") + colour(index == 0 ? 3 : 0) + "\"");
    page.text(left + wide + 8, y + 4,
              name + ": " + number(std::round(microseconds(std::ranges::max(lengths)))) + " us");
  }
  page.line(left, top, left, top + height, "stroke=\"#222\"");
  page.line(left, top + height, left + wide, top + height, "stroke=\"#222\"");
  page.text(left + wide / 2, top + height + 30, "execution, 1 to " + std::to_string(count), "text-anchor=\"middle\"");
  page.turned(left - 52, top + height / 2, "execution time, us");
  return page.finish();
}

} // namespace rtexec::command
