// The speed of reading a recording, compared with babeltrace2's own dummy sink on the same trace: events per second and
// peak memory, each in a process of its own.
//
// analyze-bench FOLDER [TRACE]: reads the trace, or one of ANALYZE_EVENTS events (20 million) that it writes to FOLDER
// unless an earlier run has done so: eight tasks that swap, driven by the device scheduler in virtual time.
#include "policies/scheduler/device_scheduler.hpp"
#include "test/support/trace_writer.hpp"
#include "traces/analysis/analyzer.hpp"
#include "traces/reading/reader.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <queue>

namespace rtexec::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using traces::Record;
using traces::RecordKind;

constexpr std::uint32_t tasks = 8, slots = 20;
constexpr unsigned streams = 2;
constexpr Bytes chunk{std::uint64_t{64} << 20};
constexpr Duration cpu_part = 100us, execution = 4ms, copy = 250us;

Plan make_plan() {
  Plan plan;
  plan.chunk = chunk;
  plan.swap.emplace();
  plan.swap->frames = 110;
  plan.swap->copy_engines = 2;
  plan.swap->cost.chunk = chunk;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    PlannedTask task;
    task.name = "task-" + std::to_string(i);
    task.period = 50ms + i * 3ms;
    task.core = task.core_rank = i;
    task.ready_by = 10ms;
    task.device_done_by = task.done_by = task.period;
    for (std::uint32_t slot = 0; slot < slots; ++slot) task.swap_slots.push_back({slot, true});
    plan.tasks.push_back(task);
  }
  return plan;
}

traces::RunSetup setup_of(const Plan& plan) {
  traces::RunSetup setup;
  setup.version = "bench";
  setup.simulated = true;
  setup.chunk = chunk;
  setup.swap = traces::SwapSetup{
      .policy = plan.swap->policy, .frames = plan.swap->frames, .copy_engines = 2, .chunk = chunk, .store = "nothing"};
  for (const PlannedTask& planned : plan.tasks) {
    traces::TaskSetup task;
    task.name = planned.name;
    task.period = task.deadline = planned.period;
    task.core = planned.core;
    task.core_rank = planned.core_rank;
    task.wcet = {.before = cpu_part, .device = execution, .after = cpu_part};
    task.ready_by = planned.ready_by;
    task.device_done_by = planned.device_done_by;
    task.swap_slots = slots;
    setup.tasks.push_back(task);
  }
  return setup;
}

/// A run of the plan in virtual time, written while it proceeds. Each task has its own core.
class Generator {
 public:
  Generator(const fs::path& folder, std::uint64_t events)
      : events_(events), writer_(folder, streams, {.packet_bytes = std::size_t{1} << 20}) {
    writer_.write(setup_of(plan_), now_);
    for (std::uint32_t i = 0; i < tasks; ++i) at(now_ + (i + 1) * 1ms, [this, i] { release({i, 0}, now_); });
  }

  void run() {
    while (written_ < events_) {
      const auto step = steps_.top();
      steps_.pop();
      now_ = step.at;
      step.run();
    }
  }

 private:
  struct Step {
    Instant at;
    std::uint64_t order;
    std::function<void()> run;
    bool operator<(const Step& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  void at(Instant when, std::function<void()> run) { steps_.push({when, order_++, std::move(run)}); }

  void put(RecordKind kind, policies::JobId job, unsigned core, const std::function<void(Record&)>& more = {}) {
    Record record;
    record.kind = kind;
    record.at = now_;
    // An event is written after its cause.
    record.time = written_at_ = std::max(now_, written_at_ + 1ns);
    record.job = job;
    if (more) more(record);
    writer_.write(core % streams, record);
    ++written_;
  }

  void release(policies::JobId job, Instant nominal) {
    const PlannedTask& task = plan_.tasks[job.task];
    at(nominal + task.period, [this, job, next = nominal + task.period] { release({job.task, job.number + 1}, next); });
    if (busy_[job.task]) return put(RecordKind::job_skip, job, job.task, [&](Record& r) { r.nominal = nominal; });
    busy_[job.task] = true;
    nominal_[job.task] = nominal;
    put(RecordKind::job_release, job, job.task, [&](Record& r) {
      r.nominal = nominal;
      r.deadline = nominal + task.period;
    });
    put(RecordKind::job_start, job, job.task);
    at(now_ + cpu_part, [this, job] { request(job); });
  }

  void request(policies::JobId job) {
    const Instant deadline = nominal_[job.task] + plan_.tasks[job.task].device_done_by;
    put(RecordKind::cpu_end, job, job.task, [](Record& r) { r.executed = cpu_part; });
    put(RecordKind::device_request, job, job.task, [&](Record& r) { r.deadline = deadline; });
    decide({policies::Event::Kind::job_requested, job, now_, deadline, {}, false});
  }

  void decide(const policies::Event& event) {
    const std::uint64_t sequence = sequence_++;
    put(RecordKind::scheduler_input, {}, 0, [&](Record& r) {
      r.sequence = sequence;
      r.input = event;
    });
    for (const policies::Action& action : scheduler_.on(event)) {
      put(RecordKind::scheduler_action, {}, 0, [&](Record& r) {
        r.sequence = sequence;
        r.action = action;
      });
      if (action.kind == policies::Action::Kind::start_execution) execute(action.job);
      else transfer(action);
    }
  }

  void execute(policies::JobId job) {
    put(RecordKind::device_begin, job, 1);
    at(now_ + execution, [this, job] {
      put(RecordKind::device_end, job, 1);
      decide({policies::Event::Kind::execution_done, job, now_, {}, {}, false});
      put(RecordKind::after_begin, job, job.task);
      at(now_ + cpu_part, [this, job] { end(job); });
    });
  }

  void transfer(const policies::Action& action) {
    const bool in = action.kind == policies::Action::Kind::copy_in;
    Instant& free = free_[in ? 0 : 1];
    const Instant begin = std::max(now_, free);
    free = begin + copy;
    const auto say = [=, this](RecordKind kind, Bytes bytes) {
      put(kind, action.job, 1, [&](Record& r) {
        r.transfer = action.transfer;
        r.bytes = bytes.count;
      });
    };
    at(begin, [=] { say(in ? RecordKind::swap_in_begin : RecordKind::swap_out_begin, {}); });
    at(free, [=, this] {
      say(in ? RecordKind::swap_in_end : RecordKind::swap_out_end, chunk);
      decide({in ? policies::Event::Kind::copied_in : policies::Event::Kind::copied_out,
              {},
              now_,
              {},
              action.transfer,
              false});
    });
  }

  void end(policies::JobId job) {
    put(RecordKind::job_end, job, job.task, [&](Record& r) {
      r.executed = cpu_part;
      r.response = now_ - nominal_[job.task];
    });
    busy_[job.task] = false;
  }

  Plan plan_ = make_plan();
  policies::DeviceScheduler scheduler_{plan_};
  std::uint64_t events_, written_ = 0, order_ = 0, sequence_ = 0;
  rtexec::test::TraceWriter writer_;
  Instant now_ = Instant(1h);
  Instant written_at_{};
  std::priority_queue<Step> steps_;
  std::array<Instant, 2> free_{};
  std::array<bool, tasks> busy_{};
  std::array<Instant, tasks> nominal_{};
};

struct Measured {
  double wall = 0;
  double seconds = 0;   // CPU time, all on one core, so that other load does not count
  double mebibytes = 0; // peak
  bool ok = false;
};

/// Runs `body` in a child process.
Measured measure(const std::function<int()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024, status == 0};
}

int dummy_sink(const fs::path& trace) {
  ::execlp("babeltrace2", "babeltrace2", trace.c_str(), "-o", "dummy", static_cast<char*>(nullptr));
  return 127;
}

struct Counter final : traces::RecordHandler {
  void record(const Record& record) override { ++count[static_cast<std::size_t>(record.kind)]; }
  void loss(const traces::Loss&) override { ++losses; }
  std::array<std::uint64_t, 64> count{};
  std::uint64_t losses = 0;
};

int read_all(const fs::path& trace, const fs::path& result) {
  traces::RunSetup setup;
  Counter counter;
  const auto summary = traces::read_records(trace, setup, counter);
  if (!summary) std::fputs((summary.error().what + "\n").c_str(), stderr);
  else std::ofstream(result) << summary->events;
  return summary ? 0 : 1;
}

/// Reads as `rtexec analyze` does, without the second pass for plots.
int analyze_all(const fs::path& trace) {
  traces::RunSetup setup;
  traces::Analyzer analyzer(setup);
  const auto summary = traces::read_records(trace, setup, analyzer);
  if (!summary) return 1;
  const traces::Analysis analysis = analyzer.finish(*summary);
  const bool sound =
      analysis.replay.difference.empty() && analysis.replay.not_replayed.empty() &&
      std::ranges::all_of(analysis.tasks, [](const auto& task) { return task.invalid.empty() && task.completed > 0; });
  if (!sound)
    std::fprintf(stderr, "the analysis does not fit the recording: %s%s\n", analysis.replay.difference.c_str(),
                 analysis.replay.not_replayed.c_str());
  return sound ? 0 : 1;
}

void print(const char* what, const Measured& measured, std::uint64_t events) {
  if (!measured.ok) std::printf("%-24s failed\n", what);
  else
    std::printf("%-24s %8.2f s of processor time  %10.0f events/s  %6.1f MiB at most  (%.2f s by the clock)\n", what,
                measured.seconds, static_cast<double>(events) / measured.seconds, measured.mebibytes, measured.wall);
}

fs::path generated(const fs::path& folder) {
  const char* asked = std::getenv("ANALYZE_EVENTS");
  const std::uint64_t events = asked ? std::strtoull(asked, nullptr, 10) : 20'000'000;
  const fs::path trace = folder / ("analyze-" + std::to_string(events) + ".trace");
  if (fs::exists(trace / "whole")) return trace / "ctf";
  fs::remove_all(trace);
  Generator(trace / "ctf", events).run();
  std::ofstream(trace / "whole") << "yes";
  return trace / "ctf";
}

int run(int count, char** arguments) {
  if (count < 2) return 2;
  const fs::path trace = count > 2 ? fs::path(arguments[2]) : generated(arguments[1]);
  const fs::path result = fs::path(arguments[1]) / "analyze-bench.events";
  const Measured ours = measure([&] { return read_all(trace, result); });
  const Measured analysis = measure([&] { return analyze_all(trace); });
  const Measured dummy = measure([&] { return dummy_sink(trace); });
  std::uint64_t events = 0;
  std::ifstream(result) >> events;
  std::printf("%llu events in %s\n", static_cast<unsigned long long>(events), trace.c_str());
  print("babeltrace2, dummy sink", dummy, events);
  print("read_records()", ours, events);
  print("rtexec analyze", analysis, events);
  std::printf("beside the dummy sink: reading %.2f, analysis %.2f times as fast\n", dummy.seconds / ours.seconds,
              dummy.seconds / analysis.seconds);
  return ours.ok && analysis.ok && dummy.ok ? 0 : 1;
}

} // namespace
} // namespace rtexec::bench

int main(int count, char** arguments) { return rtexec::bench::run(count, arguments); }
