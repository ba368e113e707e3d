// Writes SVG pictures, element by element, for the Gantt chart and the charts of the commands. A picture is one
// self-contained file.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rtexec::traces {

struct SvgPoint {
  double x = 0, y = 0;
};

/// The commands of an SVG path, with absolute coordinates.
class SvgPath {
 public:
  SvgPath& move(double x, double y) { return add('M', {x, y}); }
  SvgPath& line(double x, double y) { return add('L', {x, y}); }
  SvgPath& horizontal(double x);
  SvgPath& vertical(double y);
  SvgPath& close();
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  SvgPath& add(char command, SvgPoint to);

  std::string text_;
};

/// Writes one picture. Coordinates have two decimals. Texts and tooltips may contain any characters. `attributes` are
/// written unchanged: `class="l" stroke="#999"`. An empty tooltip is omitted.
class SvgWriter {
 public:
  /// Begins a white page. A viewer scales the page down if its window is smaller. `css` defines the classes.
  /// `definitions` are the contents of the <defs> element.
  SvgWriter(double width, double height, std::string_view css, std::string_view definitions = {});

  void text(double x, double y, std::string_view what, std::string_view attributes = {});
  /// Writes a text that is centred on the point (x, y) and reads from bottom to top.
  void turned_text(double x, double y, std::string_view what);
  void line(double x1, double y1, double x2, double y2, std::string_view attributes);
  void rect(double x, double y, double width, double height, std::string_view attributes,
            std::string_view tooltip = {});
  void circle(double x, double y, double radius, std::string_view attributes, std::string_view tooltip = {});
  void polyline(std::span<const SvgPoint> points, std::string_view attributes);
  void path(const SvgPath& path, std::string_view attributes, std::string_view tooltip = {});

  /// Returns the picture. Must be called only once.
  [[nodiscard]] std::string finish();

 private:
  void end(const char* element, std::string_view attributes, std::string_view tooltip);

  std::string out_;
};

/// Returns the distance between an axis's ticks: the smallest number of the form 1, 2 or 5 times a power of ten that is
/// at least `least` (above 0).
[[nodiscard]] double round_step(double least);

} // namespace rtexec::traces
