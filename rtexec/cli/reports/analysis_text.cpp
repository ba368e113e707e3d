#include "config/base/text.hpp"
#include "rtexec/cli/reports/analysis_text.hpp"

#include "rtexec/cli/reports/report_text.hpp"
#include "rtexec/cli/text/name_list.hpp"
#include "traces/report/export_names.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>
#include <utility>

namespace rtexec::command {
namespace {

using traces::Analysis;
using traces::Cause;
using traces::Pwcet;
using traces::StageAnalysis;
using traces::TailModel;
using traces::TaskAnalysis;

std::string time_or_none(const std::optional<Duration>& time) { return time ? readable(*time) : "-"; }

std::string percent(double share) { return config::fixed(share * 100, 1) + " %"; }
std::string probability(double value) { return config::significant(value, 2); }
std::string nanoseconds(double value) { return readable(Duration(std::llround(value))); }

const StageAnalysis& response(const TaskAnalysis& task) { return task.stages.back(); }

std::string verdict_of_replay(const traces::ReplayAnalysis& replay) {
  if (!replay.difference.empty()) return "Replay: DIFFERS. " + replay.difference;
  if (!replay.not_replayed.empty()) return "Replay: not done: " + replay.not_replayed;
  return "Replay: " + std::to_string(replay.inputs) + " decisions with " + std::to_string(replay.actions) +
         " actions, all as recorded" + (replay.complete ? "" : ", as far as the recording goes");
}

/// Returns the known facts about the recording's origin: task set, machine and date.
std::string origin_of(const Analysis& analysis) {
  const traces::RunSetup& run = analysis.setup;
  std::string text = run.task_set.empty() ? "" : "task set " + run.task_set;
  for (const std::string& part : {analysis.host, run.simulated ? std::string() : run.machine,
                                  analysis.began ? traces::date_and_time(*analysis.began) : std::string()})
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  return text;
}

void print_head(std::ostream& out, const Analysis& analysis) {
  std::uint64_t jobs = 0;
  for (const TaskAnalysis& task : analysis.tasks) jobs += task.released;
  out << analysis.folder << ": " << readable(analysis.to - analysis.from)
      << (analysis.setup.simulated ? " of a simulated run, " : ", ") << analysis.events << " events, "
      << analysis.lost_events << " lost\n";
  if (const std::string origin = origin_of(analysis); !origin.empty()) out << "Of: " << origin << '\n';
  for (const std::string& note : analysis.notes) out << "Note: " << note << '\n';
  if (!analysis.ended) out << "Note: the end of the run is not in the recording\n";
  for (const TaskAnalysis& task : analysis.tasks)
    if (!task.invalid.empty()) out << "INVALID: figures of task '" << task.setup.name << "': " << task.invalid << '\n';
  for (const traces::ChainAnalysis& chain : analysis.chains)
    if (!chain.invalid.empty())
      out << "INVALID: figures of chain '" << chain.setup.name << "': " << chain.invalid << '\n';
  for (const std::string& line : analysis.setup.degraded) out << "Degraded: " << line << '\n';
  for (const traces::ClockAnalysis& clock : analysis.clocks)
    print_clock(out, {.of = clock.of, .lowest = clock.lowest, .highest = clock.highest, .limits = clock.limits});
  std::vector<StolenReport> stolen;
  for (const auto& [core, time] : analysis.stolen) stolen.push_back({.core = core, .time = time});
  print_stolen(out, stolen);
  out << "Deadlines: " << analysis.misses << " of " << jobs << " jobs missed their deadline\n";
  if (jobs == 0) out << "Promises: no job was observed\n";
  else if (!analysis.setup.proved) out << "Promises: none, since the plan was not proved\n";
  else if (analysis.breaches.empty()) out << "Promises: all observed values are within them\n";
  for (const traces::Breach& breach : analysis.breaches) out << "BREACH: " << breach.text << '\n';
  if (std::ranges::any_of(analysis.breaches,
                          [](const traces::Breach& each) { return each.stage != "response" && each.chain.empty(); }))
    out << "  Valid WCETs need more jobs or a larger margin: rtexec profile SET.toml --add --minutes 10, or --margin "
           "1.5; or add those seen here: --to-toml PROFILE.toml --add\n";
  out << verdict_of_replay(analysis.replay) << '\n';
}

void print_responses(std::ostream& out, const Analysis& analysis) {
  out << "\nResponse times\n";
  Table table({"task", "core", "jobs", "missed", "skipped", "min", "mean", "p50", "p99", "p99.9", "max", "in job",
               "bound", "jitter", "core use", "device use"});
  for (const TaskAnalysis& task : analysis.tasks) {
    const auto& times = response(task).times;
    table.add({task.setup.name, std::to_string(task.setup.core), std::to_string(task.released),
               std::to_string(task.missed), std::to_string(task.skipped), readable(times.min), readable(times.mean),
               readable(times.p50), readable(times.p99), readable(times.p999), readable(times.max),
               std::to_string(times.max_job), time_or_none(task.setup.response_bound), readable(task.release_jitter),
               percent(task.utilisation_core), percent(task.utilisation_device)});
  }
  table.print(out);
}

void print_skips(std::ostream& out, const Analysis& analysis) {
  for (const TaskAnalysis& task : analysis.tasks) {
    if (task.skipped == 0) continue;
    std::string reasons;
    for (const auto& [count, why] :
         {std::pair(task.skipped_by.overrun, "the previous job was unfinished"),
          std::pair(task.skipped_by.wcet_exceeded, "a part of the previous job exceeded its WCET"),
          std::pair(task.skipped_by.stale, "an input had no new data")})
      if (count > 0) reasons += (reasons.empty() ? "" : ", ") + std::to_string(count) + " because " + why;
    out << "  skipped releases of " << task.setup.name << ": " << reasons << '\n';
  }
}

void print_stages(std::ostream& out, const Analysis& analysis) {
  out << "\nExecution times (CPU parts: CPU time)\n";
  Table table({"task", "part", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max", "in job", "WCET"}, {0, 1});
  for (const TaskAnalysis& task : analysis.tasks)
    for (const StageAnalysis& stage : task.stages) {
      if (&stage == &response(task) || (stage.times.max == Duration(0) && stage.configured == Duration(0))) continue;
      const auto& times = stage.times;
      table.add({task.setup.name, stage.name, readable(times.min), readable(times.mean), readable(times.p50),
                 readable(times.p99), readable(times.p999), readable(times.p9999), readable(times.max),
                 std::to_string(times.max_job), time_or_none(stage.configured)});
    }
  table.print(out);
}

void print_breakdown(std::ostream& out, const Analysis& analysis) {
  std::vector<std::size_t> shown; // causes with a share in the response time of at least one task
  for (std::size_t cause = 0; cause < traces::causes; ++cause)
    if (std::ranges::any_of(analysis.tasks,
                            [cause](const TaskAnalysis& task) { return task.breakdown[cause].total > Duration(0); }))
      shown.push_back(cause);
  if (shown.empty()) return;
  out << "\nWhere the response time goes (mean / longest of a job)\n";
  std::vector<std::string> header{"task"};
  for (const std::size_t cause : shown) header.emplace_back(traces::name(static_cast<Cause>(cause)));
  Table table(header);
  for (const TaskAnalysis& task : analysis.tasks) {
    std::vector<std::string> row{task.setup.name};
    for (const std::size_t cause : shown)
      row.push_back(readable(task.breakdown[cause].mean) + " / " + readable(task.breakdown[cause].max));
    table.add(row);
  }
  table.print(out);
}

/// Prints the times of segments, for tasks whose device part has several segments.
void print_segments(std::ostream& out, const Analysis& analysis) {
  const auto divided = [](const TaskAnalysis& task) { return task.setup.segments > 1; };
  if (std::ranges::none_of(analysis.tasks, divided)) return;
  out << "\nSegments on the device\n";
  Table table({"task", "segments", "preemptions", "longest segment", "planned"});
  for (const TaskAnalysis& task : analysis.tasks)
    if (divided(task))
      table.add({task.setup.name, std::to_string(task.setup.segments), std::to_string(task.preemptions),
                 readable(task.longest_segment), time_or_none(task.setup.longest_segment)});
  table.print(out);
}

std::string first_contents(const traces::ContentsAnalysis& contents) {
  const std::string made = "first contents of " + std::to_string(contents.buffers) +
                           (contents.buffers == 1 ? " buffer, " : " buffers, ") + readable(contents.size) + ", in " +
                           readable(contents.took);
  if (contents.tiles == 0) return made + ", by the host";
  return made + ": " + std::to_string(contents.tiles) + " tiles on the device, prefetched for " +
         readable(contents.prefetched) + ", made for " + readable(contents.made) + ", both at once for " +
         readable(contents.overlapped);
}

void print_loading(std::ostream& out, const Analysis& analysis) {
  bool titled = false;
  for (const TaskAnalysis& task : analysis.tasks) {
    if (!task.setup.loaded && task.contents.buffers == 0) continue;
    if (!std::exchange(titled, true)) out << "\nLoading, before the first release\n";
    out << "  " << task.setup.name;
    if (task.setup.loaded) out << " in " << readable(task.setup.loaded->end - task.setup.loaded->begin);
    if (task.contents.buffers > 0) out << "; " << first_contents(task.contents);
    out << '\n';
  }
}

void print_inputs(std::ostream& out, const Analysis& analysis) {
  Table table({"task", "jobs that read", "nothing new", "failed", "age: min", "mean", "p99", "max", "in job",
               "to release: min", "p50", "max", "jitter", "results dropped"});
  std::size_t rows = 0;
  for (const TaskAnalysis& task : analysis.tasks) {
    if (!task.inputs && task.dropped_results == 0) continue;
    const traces::InputAnalysis inputs = task.inputs.value_or(traces::InputAnalysis{});
    const auto delay = [&](Duration time) { return inputs.delay.count > 0 ? readable(time) : "-"; };
    table.add({task.setup.name, std::to_string(inputs.jobs), std::to_string(inputs.stale),
               std::to_string(inputs.failed), readable(inputs.age.min), readable(inputs.age.mean),
               readable(inputs.age.p99), readable(inputs.age.max), std::to_string(inputs.age.max_job),
               delay(inputs.delay.min), delay(inputs.delay.p50), delay(inputs.delay.max),
               delay(inputs.delay.max - inputs.delay.min), std::to_string(task.dropped_results)});
    ++rows;
  }
  if (rows == 0) return;
  out << "\nInputs (age: since the oldest was sampled, when it was read; to release: from then to the job's release)\n";
  table.print(out);
}

void print_way(std::ostream& out, const Analysis& analysis, const traces::ChainAnalysis& chain) {
  Table table({"", "waits", "planned", "takes", "planned", "to its begin", "core", "device", "waiting", "held"});
  for (std::size_t place = 0; place < chain.worst->steps.size(); ++place) {
    const traces::ChainStep& step = chain.worst->steps[place];
    const traces::ChainSetup::Member& promised = chain.setup.places[place];
    table.add({traces::task_name(analysis, step.job.task) + ", job " + std::to_string(step.job.number),
               readable(step.until_release()), time_or_none(promised.waits),
               readable(step.until_read() + step.output - step.read), time_or_none(promised.takes),
               readable(step.until_read()), readable(step.on_core()), readable(step.on_device()),
               readable(step.waited()), readable(step.held())});
  }
  table.print(out);
}

/// Prints the share of each task of a chain in the chain's reaction time.
void print_division(std::ostream& out, const Analysis& analysis, const traces::ChainAnalysis& chain) {
  if (chain.all.reactions == 0) return;
  out << "Where reactions of " << chain.setup.name << " went, in the mean of " << chain.all.reactions
      << " and of the longest " << chain.longest.reactions << '\n';
  Table table({"", "waits", "", "takes", "", "longest: waits", "", "takes", ""});
  const auto share = [](Duration part, const traces::ChainDivision& of) {
    const Duration whole = std::max(of.whole(), Duration(1));
    return percent(static_cast<double>(part.count()) / static_cast<double>(whole.count()));
  };
  for (std::size_t place = 0; place < chain.all.parts.size(); ++place) {
    std::vector<std::string> row{traces::task_name(analysis, chain.setup.places[place].task)};
    for (const traces::ChainDivision* of : {&chain.all, &chain.longest})
      for (const Duration part : {of->parts[place].waits, of->parts[place].takes}) {
        row.push_back(readable(part));
        row.push_back(share(part, *of));
      }
    table.add(row);
  }
  table.print(out);
  if (!chain.advice.empty()) out << "Data waited most: " << chain.advice << '\n';
}

void print_chains(std::ostream& out, const Analysis& analysis) {
  if (analysis.chains.empty()) return;
  out << "\nChains\n";
  Table table({"chain", "", "count", "min", "mean", "p99", "max", "in job", "bound", "above", "limit"}, {0, 1});
  for (const traces::ChainAnalysis& chain : analysis.chains)
    for (const auto& [what, measure] : {std::pair("reaction", &chain.reaction), std::pair("data age", &chain.age),
                                        std::pair("reduced age", &chain.reduced_age)}) {
      const auto& times = measure->times;
      table.add({chain.setup.name, what, std::to_string(times.count), readable(times.min), readable(times.mean),
                 readable(times.p99), readable(times.max), std::to_string(times.max_job), time_or_none(measure->bound),
                 std::to_string(measure->above), time_or_none(measure->limit)});
    }
  table.print(out);
  for (const traces::ChainAnalysis& chain : analysis.chains) {
    if (!chain.worst) continue;
    out << "Longest reaction of " << chain.setup.name << ", to an event at "
        << readable(chain.worst->event - analysis.from) << ": " << chain.worst->blame << '\n';
    print_way(out, analysis, chain);
    print_division(out, analysis, chain);
  }
}

void print_resources(std::ostream& out, const Analysis& analysis) {
  out << "\nResources\n";
  Table table({"", "parts", "busy", "use", "longest", "throttled"});
  for (const traces::ResourceAnalysis& each : analysis.resources)
    if (each.busy + each.throttled > Duration(0))
      table.add({each.name, std::to_string(each.parts), readable(each.busy), percent(each.utilisation),
                 readable(each.longest), readable(each.throttled)});
  table.print(out);
  if (!analysis.swap) return;
  const auto& swap = *analysis.swap;
  out << "  swapped: " << swap.in << " chunks in (" << readable(swap.in_bytes) << "), " << swap.out << " out ("
      << readable(swap.out_bytes) << "), " << swap.dropped << " unmapped only, " << swap.failed
      << " failed; longest in " << readable(swap.in_times.max) << ", out " << readable(swap.out_times.max) << '\n';
}

void print_misses(std::ostream& out, const Analysis& analysis, std::size_t most) {
  if (analysis.misses == 0) return;
  out << "\nMisses\n";
  for (std::size_t i = 0; i < std::min(most, analysis.missed_jobs.size()); ++i)
    out << "  " << analysis.missed_jobs[i].blame << '\n';
  if (analysis.misses > most) out << "  and " << analysis.misses - most << " more (--misses, --json, --html)\n";
}

std::string quantile_of(const TailModel& model, std::size_t index) {
  if (!model.refused.empty() || index >= model.quantiles.size()) return "-";
  const auto& quantile = model.quantiles[index];
  return nanoseconds(quantile.value) + " [" + nanoseconds(quantile.confidence.low) + ", " +
         nanoseconds(quantile.confidence.high) + "]";
}

std::string why_refused(const Pwcet& pwcet) {
  if (!pwcet.refused.empty()) return pwcet.refused;
  return pwcet.pot.refused == pwcet.maxima.refused
             ? pwcet.pot.refused
             : "peaks: " + pwcet.pot.refused + "; maxima: " + pwcet.maxima.refused;
}

void print_tails(std::ostream& out, const Analysis& analysis) {
  std::map<std::string, report::NameList> refused; // for each reason, the parts without an estimate
  Table table({"task", "part", "samples", "longest", "exceeded with at most", "probability", "peaks over threshold",
               "block maxima"},
              {0, 1});
  std::size_t rows = 0;
  for (const TaskAnalysis& task : analysis.tasks)
    for (const StageAnalysis& stage : task.stages) {
      const Pwcet& pwcet = stage.pwcet;
      if (stage.times.max == Duration(0)) continue;
      if (!estimated(pwcet)) {
        refused[why_refused(pwcet)].add(task.setup.name + " " + stage.name);
        continue;
      }
      const auto& quantiles = pwcet.pot.refused.empty() ? pwcet.pot.quantiles : pwcet.maxima.quantiles;
      for (std::size_t i = 0; i < quantiles.size(); ++i, ++rows)
        table.add({task.setup.name, stage.name, std::to_string(pwcet.samples), readable(stage.times.max),
                   pwcet.bound ? probability(pwcet.bound->exceedance) : "-", probability(quantiles[i].exceedance),
                   quantile_of(pwcet.pot, i), quantile_of(pwcet.maxima, i)});
    }
  out << "\nBeyond the observed values: the time that a job exceeds with a probability [95 % confidence]\n";
  if (rows > 0) table.print(out);
  for (const auto& [why, parts] : refused) out << "  No estimate of " << parts.text() << ":\n    " << why << '\n';
}

void print_tests(std::ostream& out, const std::vector<traces::ApplicabilityTest>& tests) {
  if (tests.empty()) return;
  Table table({"test", "of", "statistic", "p", "", "rule"}, {0, 1, 4, 5});
  for (const auto& test : tests)
    table.add({test.name, test.property, probability(test.statistic), probability(test.p_value),
               test.holds ? "holds" : "FAILS", test.rule});
  table.print(out);
}

void print_model(std::ostream& out, const char* title, const TailModel& model) {
  out << title << ": ";
  if (!model.refused.empty()) {
    out << "no estimate: " << model.refused << '\n';
    return print_tests(out, model.fit);
  }
  out << model.choice << "; scale " << probability(model.scale) << ", shape " << probability(model.shape) << " ["
      << probability(model.shape_confidence.low) << ", " << probability(model.shape_confidence.high) << "]\n";
  print_tests(out, model.fit);
  for (std::size_t i = 0; i < model.quantiles.size(); ++i)
    out << "  exceeded with probability " << probability(model.quantiles[i].exceedance) << ": " << quantile_of(model, i)
        << '\n';
}

} // namespace

void print_analysis(std::ostream& out, const Analysis& analysis, std::size_t max_misses) {
  print_head(out, analysis);
  if (analysis.tasks.empty()) return;
  print_responses(out, analysis);
  print_skips(out, analysis);
  print_stages(out, analysis);
  print_segments(out, analysis);
  print_breakdown(out, analysis);
  print_loading(out, analysis);
  print_inputs(out, analysis);
  print_chains(out, analysis);
  print_resources(out, analysis);
  print_misses(out, analysis, max_misses);
  print_tails(out, analysis);
}

bool estimated(const Pwcet& pwcet) {
  return pwcet.refused.empty() && (pwcet.pot.refused.empty() || pwcet.maxima.refused.empty());
}

void print_pwcet(std::ostream& out, const Pwcet& pwcet) {
  out << pwcet.samples << " samples\n";
  if (!pwcet.refused.empty()) out << "No estimate: " << pwcet.refused << '\n';
  print_tests(out, pwcet.tests);
  if (pwcet.refused.empty()) {
    print_model(out, "Peaks over threshold", pwcet.pot);
    print_model(out, "Block maxima", pwcet.maxima);
  }
  if (pwcet.bound)
    out << "Without a model: with 95 % confidence, " << nanoseconds(pwcet.bound->value)
        << " is exceeded with a probability of at most " << probability(pwcet.bound->exceedance) << '\n';
}

} // namespace rtexec::command
