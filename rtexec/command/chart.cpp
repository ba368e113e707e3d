#include "rtexec/command/chart.hpp"

#include <array>
#include <iomanip>
#include <sstream>

namespace rtexec::command {
namespace {

constexpr double left = 70, top = 40, width = 640, height = 380, legend_width = 170, bottom = 60, legend_line = 22;
constexpr std::size_t most_ticks = 16;

struct Style {
  const char* colour;
  const char* dash;
};

const Style& style(std::size_t series) {
  static constexpr std::array<Style, 8> styles{{{"#4e79a7", "none"},
                                                {"#f28e2b", "7 3"},
                                                {"#59a14f", "none"},
                                                {"#e15759", "2 3"},
                                                {"#b07aa1", "none"},
                                                {"#9c755f", "7 3"},
                                                {"#2f4b7c", "none"},
                                                {"#d37295", "2 3"}}};
  return styles[series % styles.size()];
}

std::string number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// The text of the picture.
class Page {
 public:
  explicit Page(const Chart& chart) : chart_(chart) {
    out_ << std::fixed << std::setprecision(1);
    out_ << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << left + width + legend_width << R"(" height=")"
         << top + height + bottom << "\">\n"
         << "<style>text{font:13px sans-serif;fill:#222}.l{stroke:#ddd}</style>\n"
         << R"(<rect width="100%" height="100%" fill="#fff"/>)" << '\n';
    write(left, 22, chart.title);
    axes();
    for (std::size_t i = 0; i < chart.series.size(); ++i) draw(i);
    out_ << "</svg>\n";
  }
  std::string text() const { return out_.str(); }

 private:
  double x(double value) const {
    const double first = chart_.x.front(), last = chart_.x.back();
    return last > first ? left + width * (value - first) / (last - first) : left + width / 2;
  }
  static double y(double percent) { return top + height * (1 - percent / 100); }

  void write(double at_x, double at_y, const std::string& text, const char* attributes = "") {
    out_ << "<text x=\"" << at_x << "\" y=\"" << at_y << "\" " << attributes << ">" << text << "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const std::string& attributes) {
    out_ << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" " << attributes
         << "/>\n";
  }

  void axes() {
    for (int percent = 0; percent <= 100; percent += 20) {
      line(left, y(percent), left + width, y(percent), "class=\"l\"");
      write(left - 8, y(percent) + 4, number(percent), "text-anchor=\"end\"");
    }
    const std::size_t step = (chart_.x.size() + most_ticks - 1) / most_ticks;
    for (std::size_t i = 0; i < chart_.x.size(); i += step) {
      line(x(chart_.x[i]), top + height, x(chart_.x[i]), top + height + 5, "stroke=\"#222\"");
      write(x(chart_.x[i]), top + height + 20, number(chart_.x[i]), "text-anchor=\"middle\"");
    }
    line(left, top, left, top + height, "stroke=\"#222\"");
    line(left, top + height, left + width, top + height, "stroke=\"#222\"");
    write(left + width / 2, top + height + 44, chart_.x_label, "text-anchor=\"middle\"");
    write(-(top + height / 2), 22, chart_.y_label, "text-anchor=\"middle\" transform=\"rotate(-90)\"");
  }

  void draw(std::size_t index) {
    const Series& series = chart_.series[index];
    const std::string stroke = std::string("fill=\"none\" stroke-width=\"2\" stroke=\"") + style(index).colour +
                               "\" stroke-dasharray=\"" + style(index).dash + '"';
    out_ << "<polyline " << stroke << " points=\"";
    for (std::size_t i = 0; i < chart_.x.size(); ++i)
      out_ << (i == 0 ? "" : " ") << x(chart_.x[i]) << ',' << y(series.percent[i]);
    out_ << "\"/>\n";
    for (std::size_t i = 0; i < chart_.x.size(); ++i)
      out_ << "<circle cx=\"" << x(chart_.x[i]) << "\" cy=\"" << y(series.percent[i]) << "\" r=\"3\" fill=\""
           << style(index).colour << "\"><title>" << series.name << " at " << number(chart_.x[i]) << ": "
           << series.percent[i] << " %</title></circle>\n";
    const double at = top + 10 + legend_line * static_cast<double>(index);
    line(left + width + 14, at, left + width + 40, at, stroke);
    write(left + width + 46, at + 4, series.name);
  }

  const Chart& chart_;
  std::ostringstream out_;
};

} // namespace

std::string svg(const Chart& chart) { return Page(chart).text(); }

} // namespace rtexec::command
