#include "traces/report/svg.hpp"

#include "traces/report/colours.hpp"
#include "traces/report/names.hpp"

#include <algorithm>
#include <cstddef>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace rtexec::traces {
namespace {

using policies::JobId;

constexpr double left = 130, right = 20, top = 34, chart = 1250;
constexpr double task_lane = 26, resource_lane = 24, memory_lane = 48, gap = 6, axis = 26, legend_line = 20;
constexpr std::size_t legend_columns = 8;

constexpr std::string_view style =
    R"svg(<style>text{font:12px sans-serif;fill:#222}.s{font-size:10px}
.l{stroke:#ddd}.r{stroke:#c00;fill:none;stroke-width:2}</style>
<defs><pattern id="throttled" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="#fff" fill-opacity="0.5"/><rect width="3" height="6" fill="#c00"/></pattern></defs>
<rect width="100%" height="100%" fill="#fff"/>
)svg";

/// Control characters, which XML has no way to write, become blanks.
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

/// 1, 2 or 5 times a power of ten: six to twelve in the whole.
Duration tick_of(Duration whole) {
  Duration tick{1};
  for (int i = 0; tick < whole / 12; ++i) tick = i % 3 == 1 ? tick / 2 * 5 : tick * 2;
  return tick;
}

class Page {
 public:
  explicit Page(const Gantt& gantt) : gantt_(gantt), to_(std::max(gantt.to, gantt.from + Duration(1))) {
    place_lanes();
    out_ << std::fixed << std::setprecision(2);
    const auto legend_lines = static_cast<double>(gantt.tasks.size() / legend_columns + 2);
    out_ << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << left + chart + right << R"(" height=")"
         << bottom_ + axis + legend_line * legend_lines << "\">\n"
         << style;
    title();
    frame();
    for (const GanttBar& bar : gantt.bars)
      if (bar.kind != GanttBar::Kind::throttled) draw(bar);
    for (const GanttBar& bar : gantt.bars)
      if (bar.kind == GanttBar::Kind::throttled) draw(bar);
    for (const GanttMark& mark : gantt.marks) draw(mark);
    memory();
    legend();
    out_ << "</svg>\n";
  }
  std::string text() const { return out_.str(); }

 private:
  struct Place {
    double top = 0, height = 0;
  };

  void place_lanes() {
    double y = top;
    bool task_before = false;
    task_lanes_.resize(gantt_.tasks.size());
    for (const GanttLane& lane : gantt_.lanes) {
      const bool task = lane.kind == GanttLane::Kind::task;
      if (task_before && !task) y += gap;
      places_.push_back({y, task ? task_lane : resource_lane});
      if (task && lane.index < task_lanes_.size()) task_lanes_[lane.index] = places_.back();
      y += task ? task_lane : resource_lane + gap;
      task_before = task;
    }
    memory_ = {y + gap, memory_lane};
    bottom_ = gantt_.memory.empty() ? y + (task_before ? gap : 0) : memory_.top + memory_.height + gap;
  }

  double x(Instant at) const {
    const Instant inside = std::clamp(at, gantt_.from, to_);
    return left + chart * static_cast<double>((inside - gantt_.from).count()) /
                      static_cast<double>((to_ - gantt_.from).count());
  }
  std::string told(Instant at) const { return to_string(at - gantt_.origin); }

  void write(double at_x, double at_y, std::string_view text, const char* anchor = "start", const char* kind = "") {
    out_ << "<text x=\"" << at_x << "\" y=\"" << at_y << "\" text-anchor=\"" << anchor << "\"" << kind << ">"
         << escaped(text) << "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const char* attributes) {
    out_ << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" " << attributes
         << "/>\n";
  }

  void title() {
    const std::string stretch = readable(gantt_.from - gantt_.origin) + " to " + readable(to_ - gantt_.origin);
    write(left, 20, gantt_.title.empty() ? stretch : stretch + " of " + gantt_.title);
  }

  void frame() {
    const Duration tick = tick_of(to_ - gantt_.from);
    const auto first = (gantt_.from - gantt_.origin + tick - Duration(1)) / tick, last = (to_ - gantt_.origin) / tick;
    for (auto i = first; i <= last; ++i) {
      const Instant at = gantt_.origin + i * tick;
      line(x(at), top, x(at), bottom_, "class=\"l\"");
      write(x(at), bottom_ + 14, told(at), "middle", " class=\"s\"");
    }
    for (std::size_t i = 0; i < places_.size(); ++i) name_lane(places_[i], gantt_.lanes[i].name);
  }

  void name_lane(const Place& place, const std::string& name) {
    line(left, place.top + place.height, left + chart, place.top + place.height, "stroke=\"#999\"");
    write(left - 8, place.top + place.height - 7, name, "end");
  }

  static std::string paint(const GanttBar& bar) {
    using enum GanttBar::Kind;
    if (bar.kind == throttled) return "fill=\"url(#throttled)\"";
    const std::string fill = std::string("fill=\"") + task_colour(bar.owner) + "\"";
    if (bar.kind == response) return fill + " opacity=\"0.35\"";
    return fill + (bar.kind == after ? " fill-opacity=\"0.6\"" : "") + " stroke=\"#fff\" stroke-width=\"0.3\"";
  }

  void draw(const GanttBar& bar) {
    if (bar.end <= gantt_.from || bar.begin >= to_ || bar.lane >= places_.size()) return;
    const Place& lane = places_[bar.lane];
    const double begin = x(bar.begin);
    const double inset = bar.kind == GanttBar::Kind::response    ? 9
                         : bar.kind == GanttBar::Kind::throttled ? lane.height - 7
                                                                 : 3;
    out_ << "<rect x=\"" << begin << "\" y=\"" << lane.top + inset << "\" width=\"" << std::max(0.3, x(bar.end) - begin)
         << "\" height=\"" << lane.height - inset << "\" " << paint(bar) << "><title>"
         << escaped(label(gantt_.tasks, bar)) << ": " << told(bar.begin) << " to " << told(bar.end)
         << "</title></rect>\n";
  }

  void arrow(double at_x, double tip, double tail, const std::string& stroke) {
    const double back = tip + (tail - tip) * 0.3;
    out_ << "<path d=\"M" << at_x << ' ' << tail << "V" << tip << "M" << at_x - 3 << ' ' << back << "L" << at_x << ' '
         << tip << "L" << at_x + 3 << ' ' << back << "\" fill=\"none\" stroke=\"" << stroke
         << "\" stroke-width=\"1.4\">";
  }

  void draw(const GanttMark& mark) {
    if (mark.at < gantt_.from || mark.at > to_ || mark.job.task >= task_lanes_.size() || !task_lanes_[mark.job.task])
      return;
    const Place& lane = *task_lanes_[mark.job.task];
    const double at = x(mark.at);
    const double low = lane.top + lane.height, high = lane.top + 4;
    switch (mark.kind) {
    case GanttMark::Kind::release: arrow(at, high, low, task_colour(mark.job.task)); break;
    case GanttMark::Kind::deadline: arrow(at, low, high, "#444"); break;
    case GanttMark::Kind::dropped: arrow(at, high, low, "#c00"); break;
    case GanttMark::Kind::miss:
      out_ << "<path class=\"r\" d=\"M" << at - 4 << ' ' << high + 6 << "l8 8m0 -8l-8 8\">";
      break;
    }
    out_ << "<title>" << escaped(label(gantt_.tasks, mark)) << ": " << told(mark.at) << "</title></path>\n";
  }

  /// A step curve, as high as the lane where all frames are in use.
  void memory() {
    if (gantt_.memory.empty()) return;
    name_lane(memory_, "swapped memory");
    std::uint64_t most = gantt_.memory_capacity;
    for (const GanttStep& step : gantt_.memory) most = std::max(most, step.bytes);
    const double base = memory_.top + memory_.height;
    const auto y = [&](std::uint64_t bytes) {
      return base -
             (memory_.height - 4) * static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(most, 1));
    };
    std::uint64_t before = 0; // the last step that is not after `from`
    for (const GanttStep& step : gantt_.memory)
      if (step.at <= gantt_.from) before = step.bytes;
    out_ << "<path d=\"M" << left << ' ' << base << "V" << y(before);
    for (const GanttStep& step : gantt_.memory)
      if (step.at > gantt_.from && step.at < to_) out_ << "H" << x(step.at) << "V" << y(step.bytes);
    out_
        << "H" << left + chart << "V" << base
        << "Z\" fill=\"#4e79a7\" fill-opacity=\"0.3\" stroke=\"#4e79a7\"><title>swapped memory in use</title></path>\n";
    if (gantt_.memory_capacity == 0) return;
    line(left, y(gantt_.memory_capacity), left + chart, y(gantt_.memory_capacity),
         "stroke=\"#c00\" stroke-dasharray=\"4 3\"");
    write(left - 8, memory_.top + 12, readable(Bytes{gantt_.memory_capacity}), "end", " class=\"s\"");
  }

  void legend() {
    double y = bottom_ + axis + 12;
    const std::size_t tasks = gantt_.tasks.size();
    for (std::uint32_t task = 0; task < tasks; ++task) {
      const double at = left + chart / legend_columns * static_cast<double>(task % legend_columns);
      out_ << "<rect x=\"" << at << "\" y=\"" << y - 10 << "\" width=\"12\" height=\"12\" fill=\"" << task_colour(task)
           << "\"/>\n";
      write(at + 17, y, gantt_.tasks[task]);
      if (task % legend_columns == legend_columns - 1 || task + 1 == tasks) y += legend_line;
    }
    std::string text =
        "up: release (red: dropped); down: deadline; red cross: deadline missed; pale: response, and the part after "
        "the device; "
        "copies have the colour of whose memory moves";
    if (std::ranges::find(gantt_.bars, GanttBar::Kind::throttled, &GanttBar::kind) != gantt_.bars.end())
      text += "; red stripes: throttled";
    write(left, y, text, "start", " class=\"s\"");
  }

  const Gantt& gantt_;
  Instant to_;
  std::vector<Place> places_;                    // of lanes
  std::vector<std::optional<Place>> task_lanes_; // by task
  Place memory_;
  double bottom_ = 0;
  std::ostringstream out_;
};

} // namespace

std::string svg(const Gantt& gantt) { return Page(gantt).text(); }

} // namespace rtexec::traces
