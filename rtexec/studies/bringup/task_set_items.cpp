#include "rtexec/studies/bringup/task_set_items.hpp"

#include "config/base/must.hpp"
#include "config/profile_file.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/child.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"
#include "rtexec/runtime/measuring/profiling.hpp"
#include <rtexec/executive.hpp>

#include <algorithm>
#include <array>
#include <memory>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;

constexpr const char* on_core = "control";
constexpr std::uint64_t measured_jobs = 60; // the number of measured jobs of each task

/// The CPU work of a controller. A job multiplies a state by a matrix, which takes some microseconds.
class Control final : public Workload {
 public:
  Control() { state_.fill(1); }
  bool uses_device() const override { return false; }
  MemoryDemand memory() const override { return {}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "bringup-control"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  Status before(std::uint64_t) noexcept override {
    std::array<float, size> next{};
    for (std::size_t row = 0; row < size; ++row)
      for (std::size_t column = 0; column < size; ++column)
        next[row] += static_cast<float>((row * column) % 7) / (4 * size) * state_[column];
    state_ = next;
    return {};
  }
  Status execute() noexcept override { return {}; }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  static constexpr std::size_t size = 24;
  std::array<float, size> state_{};
};

Task task_of(const char* name, WorkloadKind workload, Duration period) {
  Task task;
  task.name = name;
  task.workload = workload;
  task.period = task.deadline = period;
  return task;
}

// ---- interpretation ----

void add(std::string& text, const std::string& more, const char* separator) {
  text += (text.empty() ? "" : separator) + more;
}

std::string counts_of(const TaskReport& task) {
  return task.name + ": " + std::to_string(task.completed) + " jobs, longest response " + readable(task.response.max) +
         " of " + readable(task.deadline);
}

bool above_bound(const TaskReport& task) { return task.bound && task.response.max > *task.bound; }

/// Returns the causes, shown by the run's report, of missed deadlines or of a response time above the bound.
std::string causes_of(const TaskReport& task) {
  std::string text;
  if (task.missed > 0)
    text = std::to_string(task.missed) + " of " + std::to_string(task.released) + " jobs of " + task.name +
           " missed their deadlines";
  if (above_bound(task))
    add(text, task.name + " took " + readable(task.response.max) + " where " + readable(*task.bound) + " were promised",
        ", ");
  if (const auto above = task.above_wcet.all(); above > 0)
    text += ", " + std::to_string(above) + " parts took longer than their WCETs";
  if (const auto stolen = task.above_wcet_stolen.all(); stolen > 0)
    text += " (" + std::to_string(stolen) + " of them when a hypervisor took time of their core)";
  if (task.failed > 0)
    text +=
        ", " + std::to_string(task.failed) + " failed" + (task.failure ? std::string(": ") + name(*task.failure) : "");
  return text + ", longest release latency " + readable(task.release_latency.max);
}

std::string list(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) add(text, line, "; ");
  return text;
}

std::string advice_for(const Report& report, const Board& board) {
  std::string advice;
  if (!report.stolen.empty())
    add(advice,
        "A hypervisor took time of the cores: pin them to physical ones, or give in platform_stall of " +
            file_of(board) + " the longest stall",
        "\n");
  const auto exceeds = [](const TaskReport& task) { return task.above_wcet.all() > 0; };
  const auto late = [&](const TaskReport& task) { return task.release_latency.max > board.release_latency; };
  if (std::ranges::any_of(report.tasks, late))
    add(advice,
        "Threads were released later than release_latency of " + file_of(board) + " allows: see latency/release", "\n");
  if (std::ranges::any_of(report.tasks, exceeds))
    add(advice,
        "Execution times vary more than a short profile shows: lock the clocks, isolate the cores, and measure "
        "for longer (`rtexec profile`)",
        "\n");
  if (std::ranges::any_of(report.tasks, above_bound))
    add(advice,
        "A promised response was exceeded: execution times need a longer measurement (`rtexec profile`), or "
        "release_latency or platform_stall of " +
            file_of(board) + " is too small (latency/release measures it)",
        "\n");
  if (!report.degraded.empty()) add(advice, "The run lacked: " + list(report.degraded), "\n");
  if (advice.empty())
    advice = "`rtexec run --trace DIR` of a task set, and `rtexec analyze DIR --causes`, show the causes";
  return advice;
}

std::vector<Figure> figures_of(const Report& report) {
  std::vector<Figure> figures;
  for (const TaskReport& task : report.tasks) {
    const auto add_time = [&](const char* what, Duration time) {
      figures.push_back(
          {std::string(what) + " of " + task.name, std::chrono::duration<double, std::milli>(time).count(), "ms"});
    };
    add_time("longest response", task.response.max);
    if (task.bound) add_time("promised response", *task.bound);
    figures.push_back({"missed deadlines of " + task.name, static_cast<double>(task.missed), ""});
  }
  return figures;
}

} // namespace

TaskSet short_task_set(const Subject& subject) {
  TaskSet set;
  set.board = subject.board.name;
  set.executive.duration = std::max<Duration>(subject.length, 1s);
  set.executive.allow_degraded = true; // the run then reports missing rights
  const Bytes enough{32 * subject.board.chunk.count};
  set.device.capacity = subject.board.capacity == Bytes{0} ? enough : std::min(enough, subject.board.capacity);
  Task control = task_of(on_core, WorkloadKind::custom, 10ms);
  Task adding = task_of("add", WorkloadKind::vector_add, 20ms);
  adding.size = 4096;
  Task multiplying = task_of("multiply", WorkloadKind::matrix_multiply, 50ms);
  multiplying.size = 48;
  set.tasks = {std::move(control), std::move(adding), std::move(multiplying)};
  return set;
}

executive::Setup setup_for(const Subject& subject) {
  executive::Setup setup;
  setup.board = subject.board;
  setup.workloads.emplace(on_core, std::make_unique<Control>());
  return setup;
}

void lengthen_periods(TaskSet& set) {
  constexpr Duration::rep share = 8; // the share of its period that a job takes is at most 1/8
  Duration::rep longer = 1;
  for (const Task& task : set.tasks)
    longer = std::max(longer, share * (task.wcet->before + task.wcet->device + task.wcet->after) / task.period + 1);
  for (Task& task : set.tasks) task.deadline = task.period *= longer;
}

Result<ShortRun> run_short_set(const Subject& subject) {
  return caught([&] {
    TaskSet set = short_task_set(subject);
    const auto going_on = [&](std::uint64_t, std::uint64_t) { return subject.going_on(); };
    const Profile profile = must(executive::measure(set, {.jobs = measured_jobs, .time = {}, .before = {}},
                                                    {.tuning = {}, .measuring = going_on, .measuring_for = {}},
                                                    [&] { return Result<executive::Setup>(setup_for(subject)); }));
    for (std::size_t i = 0; i < set.tasks.size(); ++i) fill(set.tasks[i], profile.entries[i]);
    if (subject.emulated) lengthen_periods(set);
    executive::Setup setup = setup_for(subject);
    setup.status_folder = subject.folder;
    setup.tunings.emplace();
    for (const ProfileEntry& entry : profile.entries) (*setup.tunings)[entry.task] = entry.tuning;
    Executive executive = must(executive::create(std::move(set), std::move(setup)));
    ShortRun run{.plan = executive.plan(), .report = {}};
    if (!run.plan.proved) return run;
    must(executive.start());
    while (!executive.wait(100ms))
      if (!subject.going_on()) executive.request_stop();
    run.report = executive.stop();
    return run;
  });
}

Answer judge(const ShortRun& run, const Subject& subject) {
  const TestVerdict& verdict = run.plan.end_to_end;
  if (!run.plan.proved)
    return unless_emulated(
        subject,
        failed("a short task set is not proved with the execution times of a short profile: " + verdict.explanation,
               "This machine is too slow for it, or release_latency, dispatch, context_switch and platform_stall in " +
                   file_of(subject.board) + " are larger than necessary: latency/release measures the first"));
  const Report& report = run.report;
  std::string jobs, causes;
  for (const TaskReport& task : report.tasks) add(jobs, counts_of(task), "; ");
  for (const TaskReport& task : report.tasks)
    if (task.missed > 0 || above_bound(task)) add(causes, causes_of(task), "; ");
  for (const StolenReport& each : report.stolen)
    add(causes, "a hypervisor took " + readable(each.time) + " of core " + std::to_string(each.core), "; ");
  if (report.device_fault)
    add(causes, "the device was lost in a job of " + report.device_fault->task + ": " + report.device_fault->what,
        "; ");
  std::string state =
      "proved with the execution times of a short profile, and run for " + readable(report.elapsed) + ": " + jobs;
  if (!causes.empty()) state += "; " + causes;
  if (!report.degraded.empty()) state += "; degraded: " + list(report.degraded);
  if (report.deadlines_kept() && report.bounds_kept() && report.degraded.empty() && !report.device_fault)
    return unless_emulated(subject,
                           passed(state + "; every deadline and every promised response was kept", figures_of(report)));
  return unless_emulated(subject, failed(std::move(state), advice_for(report, subject.board), figures_of(report)));
}

Answer task_set(const Subject& subject) {
  const auto ask = [&] {
    const auto run = run_short_set(subject);
    if (run) return judge(*run, subject);
    if (run.error().code == Errc::cancelled) return skipped("cancelled");
    if (subject.emulated && subject.board.has_driver())
      return skipped("an emulator has no GPU: " + first_line(run.error()));
    return unless_emulated(subject, failed(run.error(), "`rtexec probe` shows what this machine lacks"));
  };
  const Duration timeout = 60s + 5 * subject.length;
  const ChildEnd end = ask_in_child(ask, timeout, subject.going_on);
  if (end.answer) return *end.answer;
  return failed(end.hung ? "the run did not end within " + to_string(timeout) : "the run's process ended early",
                "The device's driver may hang under this kernel: see device/rules, and `dmesg`");
}

} // namespace rtexec::bringup
