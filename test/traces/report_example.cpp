#include "test/traces/report_example.hpp"

#include "traces/analysis/loading.hpp"
#include "traces/log_linear.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

namespace rtexec::traces::test {
namespace {

using policies::JobId;
using namespace std::chrono_literals;
using Bar = GanttBar::Kind;

constexpr Bytes chunk{64 << 20};
constexpr std::uint32_t frames = 8;
const Instant origin{1'000'000'000'000ns};

struct Sample {
  std::uint64_t job;
  Duration value;
  Instant at;
};

Distribution distribution_of(std::vector<Sample> samples) {
  Distribution d;
  if (samples.empty()) return d;
  d.count = samples.size();
  std::map<std::size_t, std::uint64_t> classes;
  Duration sum{0};
  for (std::uint64_t i = 0; i < samples.size(); ++i) {
    const Sample& s = samples[i];
    sum += s.value;
    ++classes[log_linear::class_of(static_cast<std::uint64_t>(s.value.count()))];
    if (i > 0 && s.value <= d.max) continue;
    d.max = s.value, d.max_job = s.job, d.max_at = s.at;
    d.high_water.push_back({i + 1, s.value});
  }
  d.mean = sum / static_cast<std::int64_t>(d.count);
  for (const auto& [index, count] : classes)
    d.classes.push_back({Duration(static_cast<std::int64_t>(log_linear::upper_edge(index))), count});
  std::ranges::sort(samples, {}, &Sample::value);
  const auto at = [&](double share) {
    return samples[std::min(samples.size() - 1, static_cast<std::size_t>(share * static_cast<double>(samples.size())))]
        .value;
  };
  d.min = samples.front().value;
  d.p50 = at(0.5), d.p90 = at(0.9), d.p99 = at(0.99), d.p999 = at(0.999), d.p9999 = at(0.9999);
  return d;
}

/// Returns a model with the quantiles that these parameters imply.
TailModel gpd(double threshold, double scale, double shape, double rate) {
  TailModel m;
  m.name = "gpd", m.location = threshold, m.scale = scale, m.shape = shape, m.rate = rate, m.used = 400;
  m.choice = "the highest threshold above which 400 samples lie";
  for (const double p : {1e-3, 1e-6, 1e-9}) {
    const double value = threshold + scale / shape * (std::pow(rate / p, shape) - 1);
    const double doubt = (value - threshold) * 0.04 * -std::log10(p);
    m.quantiles.push_back({.exceedance = p, .value = value, .confidence = {value - doubt, value + 1.6 * doubt}});
  }
  m.fit = {{"anderson-darling", "fits", 0.41, 0.63, true, "p of at least 0.05, by bootstrap"},
           {"kolmogorov-smirnov", "fits", 0.03, 0.71, true, "p of at least 0.05"}};
  return m;
}

TailModel gev(double location, double scale, double shape, double block) {
  TailModel m;
  m.name = "gev", m.location = location, m.scale = scale, m.shape = shape, m.rate = 1 / block, m.used = 80,
  m.choice = "blocks of 50";
  for (const double p : {1e-3, 1e-6, 1e-9}) {
    const double value = location + scale / shape * (std::pow(-block * std::log1p(-p), -shape) - 1);
    const double doubt = (value - location) * 0.05 * -std::log10(p);
    m.quantiles.push_back({.exceedance = p, .value = value, .confidence = {value - doubt, value + 2 * doubt}});
  }
  return m;
}

Pwcet pwcet_of(const Distribution& times) {
  Pwcet p;
  p.samples = times.count;
  if (times.count < 1000) {
    p.refused = std::to_string(times.count) + " samples: at least 1000 are needed";
    p.pot.refused = p.maxima.refused = p.refused;
    return p;
  }
  const auto u = static_cast<double>(times.p90.count());
  const double scale = static_cast<double>((times.max - times.p90).count()) / 4;
  p.tests = {{"kpss", "stationary", 0.12, 0.1, true, "p of at least 0.05"},
             {"ljung-box", "independent", 18.2, 0.57, true, "p of at least 0.05, 20 lags"},
             {"runs", "independent", -0.6, 0.52, true, "p of at least 0.05"}};
  p.pot = gpd(u, scale, -0.08, 0.1);
  p.maxima = gev(static_cast<double>(times.p99.count()), scale * 0.9, -0.05, 50);
  p.bound = DistributionFreeBound{static_cast<double>(times.max.count()),
                                  1 - std::pow(0.05, 1 / static_cast<double>(times.count))};
  return p;
}

struct TaskRun {
  std::string name;
  Duration period, offset;
  Wcet wcet; // typical
  unsigned core;
  std::vector<Sample> latency, before, device, after, response;
  std::vector<JobBreakdown> jobs;
};

class Run {
 public:
  explicit Run(std::uint64_t jobs)
      : tasks_{{"front", 100ms, 0ms, {2ms, 28ms, 1ms}, 1, {}, {}, {}, {}, {}, {}},
               {"rear", 200ms, 50ms, {3ms, 22ms, 2ms}, 2, {}, {}, {}, {}, {}, {}}} {
    Gantt& g = example_.gantt;
    g.title = "the whole run";
    g.origin = g.from = origin;
    g.to = origin + 100ms * (static_cast<std::int64_t>(jobs) + 1);
    g.tasks = {"front", "rear", "logger <b>&\"'"};
    for (std::uint32_t i = 0; i < 3; ++i) g.lanes.push_back({GanttLane::Kind::task, i, g.tasks[i]});
    g.lanes.push_back({GanttLane::Kind::core, 1, "core 1"});
    g.lanes.push_back({GanttLane::Kind::core, 2, "core 2"});
    g.lanes.push_back({GanttLane::Kind::device, 0, "device"});
    g.lanes.push_back({GanttLane::Kind::copy_in, 0, "copies in"});
    g.lanes.push_back({GanttLane::Kind::copy_out, 0, "copies out"});
    g.memory = {{origin, 4 * chunk.count}};
    g.memory_capacity = frames * chunk.count;
    for (std::uint64_t i = 0; i < jobs; ++i) {
      job(0, i);
      if (i % 2 == 0) job(1, i / 2);
    }
    analyse();
  }
  Example take() { return std::move(example_); }

 private:
  Duration noisy(Duration typical) {
    return typical + Duration(static_cast<std::int64_t>(static_cast<double>(typical.count()) * 0.02 *
                                                        std::exponential_distribution(1.0)(random_)));
  }
  void bar(Bar kind, std::uint32_t lane, JobId id, Instant begin, Duration length, std::uint32_t owner) {
    example_.gantt.bars.push_back({kind, lane, id, owner, begin, begin + length});
  }

  void job(std::uint32_t task, std::uint64_t number) {
    TaskRun& t = tasks_[task];
    const JobId id{task, number};
    const Instant nominal = origin + t.offset + t.period * static_cast<std::int64_t>(number);
    JobBreakdown b;
    b.job = id, b.nominal = nominal, b.deadline = t.period;
    const auto spend = [&](Cause cause, Duration time) { b.by_cause[static_cast<std::size_t>(cause)] += time; };
    Instant now = nominal;
    const Duration latency = noisy(60us);
    spend(Cause::release_latency, latency);
    now += latency;
    const Duration before = noisy(t.wcet.before);
    bar(Bar::before, 3 + task, id, now, before, task);
    spend(Cause::execution, before);
    now += before;
    if (number % 7 == 3 && task == 0) {
      bar(Bar::throttled, 3, id, now, 700us, task);
      spend(Cause::throttled, 700us);
      now += 700us;
    }
    const Duration queue = std::max(device_free_ - now, 0ns);
    spend(Cause::queueing, queue);
    now += queue;
    swap(task, id, now, number % 40 == 39 && task == 0 ? 70ms : 5ms, spend);
    const Duration device = noisy(t.wcet.device);
    bar(Bar::device, 5, id, now, device, task);
    spend(Cause::execution, device);
    device_free_ = now += device;
    const Duration after = noisy(t.wcet.after);
    bar(Bar::after, 3 + task, id, now, after, task);
    spend(Cause::execution, after);
    now += after;
    spend(Cause::overhead, 40us);
    now += 40us;
    b.response = now - nominal;
    bar(Bar::response, task, id, nominal, b.response, task);
    example_.gantt.marks.push_back({GanttMark::Kind::release, id, nominal});
    example_.gantt.marks.push_back({GanttMark::Kind::deadline, id, nominal + b.deadline});
    t.latency.push_back({number, latency, nominal + latency});
    t.before.push_back({number, before, nominal + latency + before});
    t.device.push_back({number, device, device_free_});
    t.after.push_back({number, after, now});
    t.response.push_back({number, b.response, now});
    if (b.response > b.deadline) miss(b, now);
    t.jobs.push_back(b);
    example_.jobs.push_back(b);
  }

  template <class Spend> void swap(std::uint32_t task, JobId id, Instant& now, Duration in, const Spend& spend) {
    Gantt& g = example_.gantt;
    bar(Bar::swap_out, 7, id, now, 3ms, 1 - task);
    spend(Cause::swap_out, 3ms);
    now += 3ms;
    g.memory.push_back({now, 3 * chunk.count});
    bar(Bar::swap_in, 6, id, now, in, task);
    g.memory.push_back({now, (4 + id.number % 5) * chunk.count});
    spend(Cause::swap_in, in);
    now += in;
  }

  void miss(JobBreakdown& b, Instant now) {
    b.outcome = JobOutcome::late;
    b.shares = {{Cause::swap_in, Share::Where::swap_in, b.job, 70ms, 6600us},
                {Cause::swap_out, Share::Where::swap_out, JobId{1, b.job.number / 2}, 3ms, 3ms}};
    b.blame = "job " + std::to_string(b.job.number) + " of front: late by " + readable(b.response - b.deadline) +
              "; 70.0 ms in its own swap-in (usually 6.60 ms)";
    example_.gantt.marks.push_back({GanttMark::Kind::miss, b.job, now});
    ++example_.analysis.misses;
    if (example_.analysis.missed_jobs.size() < Analysis::max_misses) example_.analysis.missed_jobs.push_back(b);
  }

  static FactorAnalysis example_factor() {
    const auto group = [](const char* name, std::uint64_t count, Duration time) {
      return FactorGroup{name, count, 0, time, time, time, time};
    };
    return {Factor::pause, 1.25, {group("32.0 ms to 64.0 ms", 80, 24ms), group("64.0 ms to 128 ms", 40, 30ms)}};
  }

  static ChainAnalysis example_chain() {
    const auto job = [](std::uint32_t task, std::uint64_t number, Duration there, Duration nominal, Duration output) {
      const Instant read = origin + nominal + 60us;
      return ChainStep{
          .job = {task, number},
          .there = origin + there,
          .nominal = origin + nominal,
          .read = read,
          .ended = origin + output,
          .output = origin + output,
          .delays = {{Cause::release_latency, Share::Where::core, {}, 60us, {}, {}}},
          .shares = {{Cause::execution, Share::Where::core, {}, 3ms, {}, {}},
                     {Cause::queueing, Share::Where::execution, JobId{1 - task, 1}, 9ms, {}, {}},
                     {Cause::execution, Share::Where::execution, {}, origin + output - read - 12ms, {}, {}}}};
    };
    ChainAnalysis chain;
    chain.setup.name = "steer & <b>brake";
    chain.setup.kept = true;
    chain.setup.reaction = chain.setup.age = 310ms, chain.setup.max_reaction = 500ms;
    chain.setup.places = {{0, 100ms, 95ms}, {1, 20ms, 95ms}};
    for (auto* measure : {&chain.reaction, &chain.age, &chain.reduced_age}) {
      measure->times = distribution_of({{3, 210ms, origin + 350ms}, {4, 300ms, origin + 550ms}});
      measure->bound = 310ms;
    }
    chain.reaction.limit = 500ms;
    chain.worst = ChainPath{.event = origin,
                            .reaction = 300ms,
                            .steps = {job(0, 1, 0ms, 100ms, 140ms), job(1, 1, 140ms, 250ms, 300ms)},
                            .blame = "110 ms of 300 ms until job 1 of rear was released"};
    return chain;
  }

  TaskAnalysis analyse(const TaskRun& run) {
    TaskAnalysis t;
    TaskSetup& s = t.setup;
    s.name = run.name, s.promised = true, s.period = s.deadline = run.period, s.offset = run.offset, s.core = run.core;
    s.wcet = {3ms, 34ms, 2ms}, s.response_bound = 95ms;
    t.released = t.completed = run.jobs.size();
    t.missed = static_cast<std::uint64_t>(std::ranges::count(run.jobs, JobOutcome::late, &JobBreakdown::outcome));
    t.release_latency = distribution_of(run.latency);
    t.release_jitter = t.release_latency.max - t.release_latency.min;
    const auto stage = [&](const char* name, const std::vector<Sample>& samples, Duration configured) {
      const Distribution times = distribution_of(samples);
      t.stages.push_back({.name = name,
                          .times = times,
                          .configured = configured,
                          .pwcet = pwcet_of(times),

                          .factors = {}});
    };
    stage("before", run.before, t.setup.wcet.before);
    stage("device", run.device, t.setup.wcet.device);
    t.stages.back().factors = {example_factor()};
    stage("after", run.after, t.setup.wcet.after);
    stage("response", run.response, *t.setup.response_bound);
    for (std::size_t i = 0; i < causes; ++i) {
      CauseAnalysis c{.cause = static_cast<Cause>(i)};
      for (const JobBreakdown& job : run.jobs) c.total += job.by_cause[i], c.max = std::max(c.max, job.by_cause[i]);
      if (!run.jobs.empty()) c.mean = c.total / static_cast<std::int64_t>(run.jobs.size());
      t.breakdown.push_back(c);
    }
    t.utilisation_core = 0.031, t.utilisation_device = 0.29;
    if (!run.jobs.empty()) t.worst = *std::ranges::max_element(run.jobs, {}, &JobBreakdown::response);
    return t;
  }

  void analyse() {
    Analysis& a = example_.analysis;
    a.folder = "build/demo.trace";
    a.host = "a-host";
    a.began = std::chrono::sys_time<Duration>(1'700'000'000s);
    a.from = origin;
    a.to = example_.gantt.to;
    a.events = 20 * example_.jobs.size();
    a.ended = true;
    RunSetup& s = a.setup;
    s.version = "0.1.0", s.machine = "x86_64, 4 cores, Linux 6.1.0", s.task_set = "config/demo-swap.toml",
    s.start = origin, s.proved = true, s.demand = chunk * 12, s.capacity = chunk * frames, s.chunk = chunk,
    s.device = "host device";
    s.swap = SwapSetup{
        .policy = SwapPolicy::pipelined, .frames = frames, .copy_engines = 2, .chunk = chunk, .store = "pinned"};
    s.tests = {
        {.name = "pipelined", .proved = true, .left = 61ms, .right = 95ms, .slack = 34ms, .limiting_task = "front"}};
    s.probes = {{"threads", "SCHED_FIFO"}, {"memory", "locked"}};
    for (const TaskRun& task : tasks_) a.tasks.push_back(analyse(task));
    TaskSetup& loaded = a.tasks[0].setup;
    loaded.loaded = TimeInterval{origin - 9ms, origin - 2ms};
    loaded.contents = {
        {.size = {3 << 20},
         .made = {origin - 8ms, origin - 3ms},
         .tiles = {
             {.size = {2 << 20}, .prefetched = {origin - 8ms, origin - 7ms}, .made = {origin - 7ms, origin - 5ms}},
             {.size = {1 << 20}, .prefetched = {origin - 7ms, origin - 6ms}, .made = {origin - 5ms, origin - 3ms}}}}};
    a.tasks[0].contents = contents_of(loaded);
    a.tasks[0].skipped_by = {.overrun = 2, .wcet_exceeded = 1};
    a.tasks[1].skipped_by = {.overrun = 1, .wcet_exceeded = 0};
    a.tasks[0].skipped = 3, a.tasks[1].skipped = 1;
    a.stolen = {{.core = 1, .time = 10ms}, {.core = 2, .time = 1240ms}};
    TaskAnalysis idle;
    idle.setup.name = example_.gantt.tasks[2], idle.setup.criticality = Criticality::best_effort,
    idle.setup.period = idle.setup.deadline = 1s;
    a.tasks.push_back(idle);
    a.chains = {example_chain()};
    a.resources = {{"core 1", 3 * a.tasks[0].completed, 800ms, 3ms, 60ms, 0.031},
                   {"device", example_.jobs.size(), 9s, 31ms, 0ns, 0.4}};
    a.swap.emplace();
    a.swap->in = a.swap->out = example_.jobs.size(),
    a.swap->in_bytes = a.swap->out_bytes = chunk * example_.jobs.size();
    if (a.misses)
      a.breaches = {{"front", "response", 95ms, a.tasks[0].stages[3].times.max, a.tasks[0].stages[3].times.max_job,
                     "front, response: " + readable(a.tasks[0].stages[3].times.max) + " in job " +
                         std::to_string(a.tasks[0].stages[3].times.max_job) + ", promised 95.0 ms",
                     ""}};
    a.replay.inputs = 4 * example_.jobs.size(), a.replay.actions = 3 * example_.jobs.size(), a.replay.complete = true;
  }

  std::vector<TaskRun> tasks_;
  Instant device_free_ = origin;
  std::mt19937_64 random_{1};
  Example example_;
};

} // namespace

Example example(std::uint64_t jobs) { return Run(jobs).take(); }

Gantt part_of(const Gantt& gantt, Instant from, Instant to) {
  Gantt part = gantt;
  part.title.clear();
  part.from = from;
  part.to = to;
  std::erase_if(part.bars, [=](const GanttBar& bar) { return bar.end <= from || bar.begin >= to; });
  std::erase_if(part.marks, [=](const GanttMark& mark) { return mark.at < from || mark.at > to; });
  std::erase_if(part.memory, [=](const GanttStep& step) { return step.at < from || step.at > to; });
  return part;
}

} // namespace rtexec::traces::test
