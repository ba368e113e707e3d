#include "rtexec/command/gantt.hpp"

#include "config/names.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <set>
#include <sstream>
#include <utility>

namespace rtexec::command {
namespace {

using policies::Action;
using policies::JobId;
using simulator::Step;
using simulator::Stretch;

constexpr double left = 130, right = 20, top = 34, chart = 1250;
constexpr double task_lane = 26, resource_lane = 24, gap = 6, axis = 26, legend_line = 20;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
  return result;
}

/// Neighbours are told apart; after twenty they come again.
const char* colour(std::uint32_t task) {
  static constexpr std::array colours{"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#edc948", "#76b7b2", "#9c755f", "#ff9da7", "#2f4b7c", "#8cd17d",
                                      "#d37295", "#86bcb6", "#b6992d", "#79706e", "#a0cbe8", "#d4a6c8", "#499894", "#ffbe7d", "#665191", "#bab0ac"};
  return colours[task % colours.size()];
}

/// 1, 2 or 5 times a power of ten: six to twelve in the whole.
Duration tick_of(Duration whole) {
  Duration tick{1};
  for (int i = 0; tick * 12 < whole; ++i) tick = i % 3 == 1 ? tick / 2 * 5 : tick * 2;
  return tick;
}

Duration since_start(Instant at) { return at - Instant{}; }

} // namespace

Gantt::Gantt(const TaskSet& tasks, const Plan& plan, Instant from, Instant to)
    : tasks_(tasks), plan_(plan), from_(from), to_(to), jobs_(tasks.tasks.size()) {
  std::set<unsigned> cores;
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i)
    if (plan.tasks[i].wcet.before + plan.tasks[i].wcet.after > Duration(0)) cores.insert(plan.tasks[i].core);
  cores_.assign(cores.begin(), cores.end());
  device_ = tasks.tasks.size() + cores_.size();
}

// ---- what is seen -----------------------------------------------------------------------------------------------------

std::size_t Gantt::lane_of_core(unsigned core) const {
  return tasks_.tasks.size() + static_cast<std::size_t>(std::ranges::find(cores_, core) - cores_.begin());
}

/// What does not fit any more ends the picture.
bool Gantt::room() { return bars_.size() + marks_.size() < most_marks; }

void Gantt::mark(Mark::Kind kind, JobId job, Instant at) {
  if (at < from_ || at > to_) return;
  if (room()) marks_.push_back({kind, job, at});
  else to_ = std::min(to_, at);
}

void Gantt::add(std::size_t lane, JobId job, Instant begin, Instant end, std::uint32_t owner) {
  if (end <= from_ || begin >= to_) return;
  if (room()) bars_.push_back({lane, job, begin, end, owner});
  else to_ = std::min(to_, begin);
}

void Gantt::see(const Stretch& stretch) { add(lane_of_core(stretch.core), stretch.job, stretch.begin, stretch.end, stretch.job.task); }

void Gantt::see(const Step& step) {
  const std::uint32_t task = step.job.task;
  switch (step.kind) {
    case Step::Kind::release:
      jobs_[task] = Open{.job = step.job, .since = step.nominal, .owner = task};
      mark(Mark::Kind::release, step.job, step.nominal);
      return mark(Mark::Kind::deadline, step.job, step.nominal + tasks_.tasks[task].deadline);
    case Step::Kind::skip: return mark(Mark::Kind::dropped, step.job, step.nominal);
    case Step::Kind::execution_start: execution_ = Open{.job = step.job, .since = step.now, .owner = task}; return;
    case Step::Kind::execution_end:
      add(device_, step.job, execution_->since, step.now, task);
      return execution_.reset();
    case Step::Kind::transfer_begin:
      copies_[step.action.kind == Action::Kind::copy_in] = Open{.job = step.job, .since = step.now, .owner = step.action.transfer.task};
      return;
    case Step::Kind::transfer_end: {
      auto& copy = copies_[step.action.kind == Action::Kind::copy_in];
      add(lane_of(step.action.kind), step.job, copy->since, step.now, copy->owner);
      return copy.reset();
    }
    case Step::Kind::completion:
    case Step::Kind::abort:
    case Step::Kind::fail: return end_job(step);
    case Step::Kind::request:
    case Step::Kind::stop: return;
  }
}

void Gantt::end_job(const Step& step) {
  const std::uint32_t task = step.job.task;
  if (!jobs_[task]) return;
  const bool late = step.kind != Step::Kind::completion || step.now - step.nominal > tasks_.tasks[task].deadline;
  add(task, step.job, jobs_[task]->since, step.now, task);
  if (late) mark(Mark::Kind::miss, step.job, step.now);
  jobs_[task].reset();
}

// ---- what is drawn ----------------------------------------------------------------------------------------------------

std::vector<Gantt::Lane> Gantt::lanes() const {
  std::vector<Lane> lanes;
  double y = top;
  const auto lane = [&](std::string name, double height) {
    lanes.push_back({std::move(name), y, height});
    y += height + (height == task_lane ? 0 : gap);
  };
  for (const Task& task : tasks_.tasks) lane(task.name, task_lane);
  y += gap;
  for (const unsigned core : cores_) lane("core " + std::to_string(core), resource_lane);
  lane("device", resource_lane);
  if (plan_.swap) lane("copies in", resource_lane), lane("copies out", resource_lane);
  return lanes;
}

/// The text of the picture.
class Gantt::Page {
 public:
  Page(const Gantt& gantt, Instant end) : gantt_(gantt), lanes_(gantt.lanes()), to_(std::max(std::min(gantt.to_, end), gantt.from_ + Duration(1))) {
    out_ << std::fixed << std::setprecision(2);
    bottom_ = lanes_.back().top + lanes_.back().height + gap;
    const auto tasks = gantt.tasks_.tasks.size();
    const double height = bottom_ + axis + legend_line * static_cast<double>(tasks / legend_columns + 2);
    out_ << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << left + chart + right << R"(" height=")" << height << "\">\n"
         << "<style>text{font:12px sans-serif;fill:#222}.s{font-size:10px}.l{stroke:#ddd}.r{stroke:#c00;fill:none;stroke-width:2}</style>\n"
         << R"(<rect width="100%" height="100%" fill="#fff"/>)" << '\n';
    title();
    frame();
    for (const Bar& bar : gantt.bars_) draw(bar);
    open_bars();
    for (const Mark& mark : gantt.marks_) draw(mark);
    legend();
    out_ << "</svg>\n";
  }
  std::string text() const { return out_.str(); }

 private:
  static constexpr std::size_t legend_columns = 8;

  double x(Instant at) const {
    const Instant inside = std::clamp(at, gantt_.from_, to_);
    return left + chart * static_cast<double>((inside - gantt_.from_).count()) / static_cast<double>((to_ - gantt_.from_).count());
  }

  void write(double at_x, double at_y, const std::string& text, const char* anchor = "start", const char* kind = "") {
    out_ << "<text x=\"" << at_x << "\" y=\"" << at_y << "\" text-anchor=\"" << anchor << "\"" << kind << ">" << escaped(text) << "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const char* attributes) {
    out_ << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" " << attributes << "/>\n";
  }

  std::string name(JobId job) const { return gantt_.tasks_.tasks[job.task].name + ", job " + std::to_string(job.number); }

  void title() {
    std::string text = readable(since_start(gantt_.from_)) + " to " + readable(since_start(to_)) + " of a simulated run";
    if (gantt_.plan_.swap) text += ", swap policy " + std::string(spelling(gantt_.plan_.swap->policy));
    write(left, 20, text);
  }

  void frame() {
    const Duration tick = tick_of(to_ - gantt_.from_);
    for (Instant at = Instant{} + (since_start(gantt_.from_) + tick - Duration(1)) / tick * tick; at <= to_; at += tick) {
      line(x(at), top, x(at), bottom_, "class=\"l\"");
      write(x(at), bottom_ + 14, to_string(since_start(at)), "middle", " class=\"s\"");
    }
    for (const Lane& lane : lanes_) {
      line(left, lane.top + lane.height, left + chart, lane.top + lane.height, "stroke=\"#999\"");
      write(left - 8, lane.top + lane.height - 7, lane.name, "end");
    }
  }

  void draw(const Bar& bar) {
    if (bar.end <= gantt_.from_ || bar.begin >= to_) return;
    const Lane& lane = lanes_[bar.lane];
    const bool response = bar.lane < gantt_.tasks_.tasks.size();
    const bool copy = bar.lane > gantt_.device_;
    const double begin = x(bar.begin);
    const double inset = response ? 9 : 3;
    out_ << "<rect x=\"" << begin << "\" y=\"" << lane.top + inset << "\" width=\"" << std::max(0.3, x(bar.end) - begin) << "\" height=\""
         << lane.height - inset << "\" fill=\"" << colour(bar.owner) << "\"" << (response ? " opacity=\"0.35\"" : " stroke=\"#fff\" stroke-width=\"0.3\"")
         << "><title>" << escaped(copy ? gantt_.tasks_.tasks[bar.owner].name + "'s chunk, for " + name(bar.job) : name(bar.job)) << ": "
         << to_string(since_start(bar.begin)) << " to " << to_string(since_start(bar.end)) << "</title></rect>\n";
  }

  /// What had not ended with the run.
  void open_bars() {
    const auto open = [&](std::size_t lane, const std::optional<Open>& what) {
      if (what) draw(Bar{.lane = lane, .job = what->job, .begin = what->since, .end = to_, .owner = what->owner});
    };
    for (std::size_t task = 0; task < gantt_.jobs_.size(); ++task) {
      const auto& job = gantt_.jobs_[task];
      open(task, job);
      const Instant deadline = job ? job->since + gantt_.tasks_.tasks[task].deadline : Instant::max();
      if (deadline < to_) draw(Mark{.kind = Mark::Kind::miss, .job = job->job, .at = to_});
    }
    open(gantt_.device_, gantt_.execution_);
    if (gantt_.plan_.swap) open(gantt_.device_ + 1, gantt_.copies_[1]), open(gantt_.device_ + 2, gantt_.copies_[0]);
  }

  void arrow(double at_x, double tip, double tail, const std::string& stroke) {
    const double back = tip + (tail - tip) * 0.3;
    out_ << "<path d=\"M" << at_x << ' ' << tail << "V" << tip << "M" << at_x - 3 << ' ' << back << "L" << at_x << ' ' << tip << "L" << at_x + 3 << ' '
         << back << "\" fill=\"none\" stroke=\"" << stroke << "\" stroke-width=\"1.4\">";
  }

  void draw(const Mark& mark) {
    if (mark.at < gantt_.from_ || mark.at > to_) return;
    const Lane& lane = lanes_[mark.job.task];
    const double at = x(mark.at);
    const double low = lane.top + lane.height, high = lane.top + 4;
    std::string what;
    switch (mark.kind) {
      case Mark::Kind::release: arrow(at, high, low, colour(mark.job.task)), what = "release of "; break;
      case Mark::Kind::deadline: arrow(at, low, high, "#444"), what = "deadline of "; break;
      case Mark::Kind::dropped: arrow(at, high, low, "#c00"), what = "release dropped, instead of "; break;
      case Mark::Kind::miss:
        out_ << "<path class=\"r\" d=\"M" << at - 4 << ' ' << high + 6 << "l8 8m0 -8l-8 8\">", what = "DEADLINE MISSED: ";
        break;
    }
    out_ << "<title>" << escaped(what + name(mark.job)) << ": " << to_string(since_start(mark.at)) << "</title></path>\n";
  }

  void legend() {
    double y = bottom_ + axis + 12;
    const auto tasks = gantt_.tasks_.tasks.size();
    for (std::uint32_t task = 0; task < tasks; ++task) {
      const double at = left + chart / legend_columns * static_cast<double>(task % legend_columns);
      out_ << "<rect x=\"" << at << "\" y=\"" << y - 10 << "\" width=\"12\" height=\"12\" fill=\"" << colour(task) << "\"/>\n";
      write(at + 17, y, gantt_.tasks_.tasks[task].name);
      if (task % legend_columns == legend_columns - 1 || task + 1 == tasks) y += legend_line;
    }
    write(left, y, "up: release (red: dropped); down: deadline; red cross: deadline missed; pale: response; copies have the colour of whose memory moves", "start", " class=\"s\"");
  }

  const Gantt& gantt_;
  std::vector<Lane> lanes_;
  Instant to_;
  double bottom_ = 0;
  std::ostringstream out_;
};

std::string Gantt::svg(Instant end) const { return Page(*this, end).text(); }

} // namespace rtexec::command
