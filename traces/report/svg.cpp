#include "traces/report/svg.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace rtexec::traces {
namespace {

std::string number(double value) {
  std::array<char, 400> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 2);
  return {text.data(), end};
}

/// Returns an XML attribute with a number: ` name="12.00"`.
std::string attribute(const char* name, double value) { return std::string(" ") + name + "=\"" + number(value) + '"'; }

/// Escapes a text for XML. Control characters, which XML cannot represent, become blanks.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') result += "&amp;";
    else if (c == '<') result += "&lt;";
    else if (c == '>') result += "&gt;";
    else if (c == '"') result += "&quot;";
    else result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result;
}

} // namespace

SvgPath& SvgPath::add(char command, SvgPoint to) {
  text_ += command + number(to.x) + ' ' + number(to.y);
  return *this;
}

SvgPath& SvgPath::horizontal(double x) {
  text_ += 'H' + number(x);
  return *this;
}

SvgPath& SvgPath::vertical(double y) {
  text_ += 'V' + number(y);
  return *this;
}

SvgPath& SvgPath::close() {
  text_ += 'Z';
  return *this;
}

SvgWriter::SvgWriter(double width, double height, std::string_view css, std::string_view definitions) {
  out_ = R"(<svg xmlns="http://www.w3.org/2000/svg")" + attribute("width", width) + attribute("height", height) +
         " viewBox=\"0 0 " + number(width) + ' ' + number(height) + "\" style=\"max-width:100%;height:auto\">\n";
  out_ += "<style>" + std::string(css) + "</style>\n";
  if (!definitions.empty()) out_ += "<defs>" + std::string(definitions) + "</defs>\n";
  out_ += R"(<rect width="100%" height="100%" fill="#fff"/>)"
          "\n";
}

void SvgWriter::text(double x, double y, std::string_view what, std::string_view attributes) {
  out_ += "<text" + attribute("x", x) + attribute("y", y) + ' ' + std::string(attributes) + '>' + escaped(what) +
          "</text>\n";
}

void SvgWriter::turned_text(double x, double y, std::string_view what) {
  out_ += R"(<text text-anchor="middle" transform="translate()" + number(x) + ',' + number(y) + ") rotate(-90)\">" +
          escaped(what) + "</text>\n";
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  out_ += "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) + attribute("y2", y2);
  end("line", attributes, {});
}

void SvgWriter::rect(double x, double y, double width, double height, std::string_view attributes,
                     std::string_view tooltip) {
  out_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) + attribute("height", height);
  end("rect", attributes, tooltip);
}

void SvgWriter::circle(double x, double y, double radius, std::string_view attributes, std::string_view tooltip) {
  out_ += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius);
  end("circle", attributes, tooltip);
}

void SvgWriter::polyline(std::span<const SvgPoint> points, std::string_view attributes) {
  out_ += "<polyline points=\"";
  for (const SvgPoint& point : points) out_ += number(point.x) + ',' + number(point.y) + ' ';
  out_ += '"';
  end("polyline", attributes, {});
}

void SvgWriter::path(const SvgPath& path, std::string_view attributes, std::string_view tooltip) {
  out_ += "<path d=\"" + path.text() + '"';
  end("path", attributes, tooltip);
}

void SvgWriter::end(const char* element, std::string_view attributes, std::string_view tooltip) {
  out_ += ' ' + std::string(attributes);
  if (tooltip.empty()) out_ += "/>\n";
  else out_ += "><title>" + escaped(tooltip) + "</title></" + element + ">\n";
}

std::string SvgWriter::finish() {
  out_ += "</svg>\n";
  return std::move(out_);
}

double round_step(double least) {
  double step = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0, 10.0})
    if (times * step >= least) return times * step;
  return 10 * step;
}

} // namespace rtexec::traces
