#include "traces/report/html.hpp"

#include "traces/report/colours.hpp"
#include "traces/report/analysis_json.hpp"
#include "traces/report/export_names.hpp"
#include "traces/report/report_page.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::traces {
namespace {

using nlohmann::json;

/// Returns JSON without any `<`, so that the JSON cannot end its script element or open a comment in it.
std::string inside_script(const json& value) {
  std::string result;
  for (const char c : json_text(value))
    if (c == '<') result += "\\u003c";
    else result += c;
  return result;
}

template <class Item, class Of>
void column(std::ostream& out, const char* name, const std::vector<Item>& items, Of of) {
  out << '"' << name << "\":[";
  const char* comma = "";
  for (const Item& item : items) out << comma << of(item), comma = ",";
  out << ']';
}

/// Returns a function that turns each instant into its distance from the previous instant, and the first instant into
/// its distance from `from`. Distances need fewer digits.
auto distance_from(Instant from) {
  return [from](Instant at) mutable {
    const auto distance = (at - from).count();
    from = at;
    return distance;
  };
}

void bars(std::ostream& out, const Gantt& gantt) {
  std::vector<GanttBar> sorted = gantt.bars;
  std::ranges::stable_sort(sorted, {}, &GanttBar::begin);
  out << "\"bars\":{";
  column(out, "kind", sorted, [](const GanttBar& bar) { return static_cast<unsigned>(bar.kind); });
  column(out << ',', "lane", sorted, [](const GanttBar& bar) { return bar.lane; });
  column(out << ',', "task", sorted, [](const GanttBar& bar) { return bar.job.task; });
  column(out << ',', "job", sorted, [](const GanttBar& bar) { return bar.job.number; });
  column(out << ',', "owner", sorted, [](const GanttBar& bar) { return bar.owner; });
  column(out << ',', "begin", sorted,
         [next = distance_from(gantt.from)](const GanttBar& bar) mutable { return next(bar.begin); });
  column(out << ',', "length", sorted, [](const GanttBar& bar) { return (bar.end - bar.begin).count(); });
  out << '}';
}

void marks(std::ostream& out, const Gantt& gantt) {
  std::vector<GanttMark> sorted = gantt.marks;
  std::ranges::stable_sort(sorted, {}, &GanttMark::at);
  out << "\"marks\":{";
  column(out, "kind", sorted, [](const GanttMark& mark) { return static_cast<unsigned>(mark.kind); });
  column(out << ',', "task", sorted, [](const GanttMark& mark) { return mark.job.task; });
  column(out << ',', "job", sorted, [](const GanttMark& mark) { return mark.job.number; });
  column(out << ',', "at", sorted,
         [next = distance_from(gantt.from)](const GanttMark& mark) mutable { return next(mark.at); });
  out << '}';
}

void memory(std::ostream& out, const Gantt& gantt) {
  out << "\"memory\":{";
  column(out, "at", gantt.memory,
         [next = distance_from(gantt.from)](const GanttStep& step) mutable { return next(step.at); });
  column(out << ',', "bytes", gantt.memory, [](const GanttStep& step) { return step.bytes; });
  out << '}';
}

void window(std::ostream& out, const Gantt& gantt, const Analysis& analysis) {
  json lanes = json::array();
  for (const GanttLane& lane : gantt.lanes)
    lanes.push_back({{"kind", name(lane.kind)}, {"index", lane.index}, {"name", lane.name}});
  const json head = {{"title", gantt.title},
                     {"origin_ns", (gantt.origin - analysis.from).count()},
                     {"from_ns", (gantt.from - gantt.origin).count()},
                     {"to_ns", (gantt.to - gantt.origin).count()},
                     {"tasks", gantt.tasks},
                     {"lanes", lanes},
                     {"memory_capacity_bytes", gantt.memory_capacity}};
  out << "{\"about\":" << inside_script(head) << ',';
  bars(out, gantt);
  marks(out << ',', gantt);
  memory(out << ',', gantt);
  out << '}';
}

void data(std::ostream& out, const Analysis& analysis, std::span<const Gantt> windows) {
  out << "{\"analysis\":" << inside_script(to_json(analysis)) << ",\n\"colours\":" << json(task_colours).dump()
      << ",\n\"windows\":[";
  const char* comma = "";
  for (const Gantt& gantt : windows) {
    window(out << comma, gantt, analysis);
    comma = ",\n";
  }
  out << "]}";
}

} // namespace

void write_html(const Analysis& analysis, std::span<const Gantt> windows, std::ostream& out) {
  const PageFiles page = page_files();
  std::string_view rest = page.html;
  const auto until = [&](std::string_view mark) {
    const auto at = rest.find(mark);
    out << rest.substr(0, at);
    rest.remove_prefix(std::min(rest.size(), at + mark.size()));
  };
  until("@STYLE@");
  out << page.css;
  until("@DATA@");
  data(out, analysis, windows);
  until("@SCRIPT@");
  out << page.js << rest;
}

} // namespace rtexec::traces
