#include "traces/report/gantt_svg.hpp"

#include "config/base/text.hpp"
#include "traces/report/colours.hpp"
#include "traces/report/export_names.hpp"
#include "traces/report/svg.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace rtexec::traces {
namespace {

using policies::JobId;

constexpr double min_left = 130, right = 28, top = 34, chart = 1250;
constexpr double task_lane = 26, resource_lane = 24, memory_lane = 48, gap = 6, axis = 26, legend_line = 20;
constexpr std::size_t max_legend_columns = 8, longest_name = 48;
constexpr double letter = 7.2; // maximum width of a character in a name
constexpr double swatch = 17;  // width of a colour field and the gap after it

constexpr std::string_view css = R"(text{font:12px sans-serif;fill:#222}.s{font-size:10px}
.l{stroke:#ddd}.r{stroke:#c00;fill:none;stroke-width:2})";
constexpr std::string_view stripes =
    R"svg(<pattern id="throttled" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="#fff" fill-opacity="0.5"/><rect width="3" height="6" fill="#c00"/></pattern>)svg";
constexpr const char* to_the_left = "text-anchor=\"end\"";

/// Returns the distance between ticks such that `whole` has about six to twelve ticks.
Duration tick_of(Duration whole) {
  const auto least = static_cast<double>(std::max<Duration::rep>((whole / 12).count(), 1));
  return Duration(static_cast<Duration::rep>(round_step(least)));
}

class Page {
 public:
  explicit Page(const Gantt& gantt) : gantt_(gantt), to_(std::max(gantt.to, gantt.from + Duration(1))) {
    make_room_for_names();
    place_lanes();
    const std::size_t legend_lines = gantt.tasks.size() / legend_columns_ + 2;
    const double legend_height = legend_line * static_cast<double>(legend_lines);
    svg_.emplace(left_ + chart + right, bottom_ + axis + legend_height, css, stripes);
    title();
    frame();
    for (const GanttBar& bar : gantt.bars)
      if (bar.kind != GanttBar::Kind::throttled) draw(bar);
    for (const GanttBar& bar : gantt.bars)
      if (bar.kind == GanttBar::Kind::throttled) draw(bar);
    for (const GanttMark& mark : gantt.marks) draw(mark);
    memory();
    legend();
  }
  std::string text() { return svg_->finish(); }

 private:
  struct LaneArea {
    double top = 0, height = 0;
  };

  void make_room_for_names() {
    std::size_t lanes = 0, tasks = 0;
    for (const GanttLane& lane : gantt_.lanes) lanes = std::max(lanes, shown(lane.name).size());
    for (const std::string& task : gantt_.tasks) tasks = std::max(tasks, shown(task).size());
    left_ = std::max(min_left, letter * static_cast<double>(lanes) + 12);
    const double column = letter * static_cast<double>(tasks) + 2 * swatch;
    legend_columns_ = std::clamp<std::size_t>(static_cast<std::size_t>(chart / column), 1, max_legend_columns);
  }
  static std::string shown(const std::string& name) { return config::shortened(name, longest_name); }

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
    return left_ + chart * static_cast<double>((inside - gantt_.from).count()) /
                       static_cast<double>((to_ - gantt_.from).count());
  }
  std::string told(Instant at) const { return to_string(at - gantt_.origin); }

  void title() {
    const std::string interval = readable(gantt_.from - gantt_.origin) + " to " + readable(to_ - gantt_.origin);
    svg_->text(left_, 20, gantt_.title.empty() ? interval : interval + " of " + gantt_.title);
  }

  void frame() {
    const Duration tick = tick_of(to_ - gantt_.from);
    const auto first = (gantt_.from - gantt_.origin + tick - Duration(1)) / tick, last = (to_ - gantt_.origin) / tick;
    for (auto i = first; i <= last; ++i) {
      const Instant at = gantt_.origin + i * tick;
      svg_->line(x(at), top, x(at), bottom_, "class=\"l\"");
      svg_->text(x(at), bottom_ + 14, told(at), "text-anchor=\"middle\" class=\"s\"");
    }
    for (std::size_t i = 0; i < places_.size(); ++i) name_lane(places_[i], gantt_.lanes[i].name);
  }

  void name_lane(const LaneArea& place, const std::string& name) {
    svg_->line(left_, place.top + place.height, left_ + chart, place.top + place.height, "stroke=\"#999\"");
    svg_->text(left_ - 8, place.top + place.height - 7, shown(name), to_the_left);
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
    const LaneArea& lane = places_[bar.lane];
    const double begin = x(bar.begin);
    const double inset = bar.kind == GanttBar::Kind::response    ? 9
                         : bar.kind == GanttBar::Kind::throttled ? lane.height - 7
                         : bar.kind == GanttBar::Kind::preempted ? 1
                                                                 : 3;
    const double height = bar.kind == GanttBar::Kind::preempted ? 2 : lane.height - inset;
    svg_->rect(begin, lane.top + inset, std::max(0.3, x(bar.end) - begin), height, paint(bar),
               label(gantt_.tasks, bar) + ": " + told(bar.begin) + " to " + told(bar.end));
  }

  void arrow(double at_x, double tip, double tail, const std::string& stroke, const std::string& tooltip) {
    const double back = tip + (tail - tip) * 0.3;
    SvgPath path;
    path.move(at_x, tail).vertical(tip).move(at_x - 3, back).line(at_x, tip).line(at_x + 3, back);
    svg_->path(path, "fill=\"none\" stroke=\"" + stroke + "\" stroke-width=\"1.4\"", tooltip);
  }

  void cross(double at_x, double at_y, const std::string& tooltip) {
    SvgPath path;
    path.move(at_x - 4, at_y).line(at_x + 4, at_y + 8).move(at_x + 4, at_y).line(at_x - 4, at_y + 8);
    svg_->path(path, "class=\"r\"", tooltip);
  }

  void draw(const GanttMark& mark) {
    if (mark.at < gantt_.from || mark.at > to_ || mark.job.task >= task_lanes_.size() || !task_lanes_[mark.job.task])
      return;
    const LaneArea& lane = *task_lanes_[mark.job.task];
    const double at = x(mark.at);
    const double low = lane.top + lane.height, high = lane.top + 4;
    const std::string tooltip = label(gantt_.tasks, mark) + ": " + told(mark.at);
    switch (mark.kind) {
    case GanttMark::Kind::release: return arrow(at, high, low, task_colour(mark.job.task), tooltip);
    case GanttMark::Kind::deadline: return arrow(at, low, high, "#444", tooltip);
    case GanttMark::Kind::dropped: return arrow(at, high, low, "#c00", tooltip);
    case GanttMark::Kind::miss: return cross(at, high + 6, tooltip);
    }
  }

  /// Draws the step curve of memory in use. The curve has the height of the lane if all frames are in use.
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
    std::uint64_t before = 0; // value of the last step at or before `from`
    for (const GanttStep& step : gantt_.memory)
      if (step.at <= gantt_.from) before = step.bytes;
    SvgPath curve;
    curve.move(left_, base).vertical(y(before));
    for (const GanttStep& step : gantt_.memory)
      if (step.at > gantt_.from && step.at < to_) curve.horizontal(x(step.at)).vertical(y(step.bytes));
    curve.horizontal(left_ + chart).vertical(base).close();
    svg_->path(curve, R"(fill="#4e79a7" fill-opacity="0.3" stroke="#4e79a7")", "swapped memory in use");
    if (gantt_.memory_capacity == 0) return;
    const double full = y(gantt_.memory_capacity);
    svg_->line(left_, full, left_ + chart, full, R"(stroke="#c00" stroke-dasharray="4 3")");
    svg_->text(left_ - 8, memory_.top + 12, readable(Bytes{gantt_.memory_capacity}), R"(text-anchor="end" class="s")");
  }

  void legend() {
    double y = bottom_ + axis + 12;
    const std::size_t tasks = gantt_.tasks.size();
    for (std::uint32_t task = 0; task < tasks; ++task) {
      const double at =
          left_ + chart / static_cast<double>(legend_columns_) * static_cast<double>(task % legend_columns_);
      svg_->rect(at, y - 10, 12, 12, std::string("fill=\"") + task_colour(task) + '"');
      svg_->text(at + swatch, y, shown(gantt_.tasks[task]));
      if (task % legend_columns_ == legend_columns_ - 1 || task + 1 == tasks) y += legend_line;
    }
    std::string text =
        "up: release (red: dropped); down: deadline; red cross: deadline missed; pale: response, and the part after "
        "the device; "
        "copies have the colour of whose memory moves";
    const auto shows = [&](GanttBar::Kind kind) {
      return std::ranges::find(gantt_.bars, kind, &GanttBar::kind) != gantt_.bars.end();
    };
    if (shows(GanttBar::Kind::preempted)) text += "; thin line: preempted on the device";
    if (shows(GanttBar::Kind::throttled)) text += "; red stripes: throttled";
    svg_->text(left_, y, text, "class=\"s\"");
  }

  const Gantt& gantt_;
  Instant to_;
  double left_ = 0;
  std::size_t legend_columns_ = 1;
  std::vector<LaneArea> places_;                    // by lane
  std::vector<std::optional<LaneArea>> task_lanes_; // by task
  LaneArea memory_;
  double bottom_ = 0;
  std::optional<SvgWriter> svg_;
};

} // namespace

std::string svg(const Gantt& gantt) { return Page(gantt).text(); }

} // namespace rtexec::traces
