#include "config/base/text.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include "config/names.hpp"
#include "hal/machine_files.hpp"
#include "policies/scheduler/co_run.hpp"
#include "policies/memory/plan_memory.hpp"
#include "rtexec/cli/text/name_list.hpp"
#include "traces/analysis/analysis.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

namespace rtexec::command {

namespace {

std::string on_time(const TaskReport& task) {
  if (task.completed == 0 && task.missed == 0) return "-";
  return task.missed == 0 ? "kept" : std::to_string(task.missed) + " missed";
}

/// Returns a time of a task's jobs as text, or "-" if the task completed no job.
std::string response(const TaskReport& task, Duration time) {
  return task.completed == 0 && task.response.max == Duration(0) ? "-" : readable(time);
}

/// Returns a sentence on the outcome. If no job was completed, the absence of deadline misses proves nothing.
Toned outcome(const Report& report) {
  if (!report.deadlines_kept()) return {Tone::bad, "A DEADLINE WAS MISSED."};
  std::size_t tasks = 0, without = 0;
  for (const TaskReport& task : report.tasks) {
    if (task.criticality == Criticality::best_effort) continue;
    ++tasks;
    without += task.completed == 0 ? 1 : 0;
  }
  if (tasks > 0 && without == tasks) return {Tone::warning, "No real-time job was completed."};
  return {Tone::good, "Every real-time deadline was kept."};
}

/// Prints which tasks run kernels that a profile has chosen, and which run the default kernels.
void print_tuning(std::ostream& out, const Plan& plan) {
  report::NameList tuned, untuned;
  for (const PlannedTask& task : plan.tasks) (task.tuning.empty() ? untuned : tuned).add("'" + task.name + "'");
  if (!tuned.empty()) out << "Tuned by their profile: " << tuned.text() << '\n';
  if (!untuned.empty()) out << "Default kernels, not tuned (rtexec profile does that): " << untuned.text() << '\n';
}

void print_device(std::ostream& out, const DeviceReport& device) {
  out << "Device memory in use on " << device.name << ": " << readable(device.used) << " = context "
      << readable(device.context) << " + ours " << readable(device.used - std::min(device.used, device.context))
      << "; constants + state + shared scratch + buffers " << readable(device.demand)
      << "; separate allocations would have taken " << readable(device.separate) << '\n';
}

void print_swap(std::ostream& out, const Plan& plan) {
  const SwapPlan& swap = *plan.swap;
  out << "Swapped (" << spelling(swap.policy) << "): " << readable(policies::swap_volume(plan))
      << " of the tasks' memory share " << swap.frames << " chunks, by "
      << (swap.store.empty() ? "host memory" : swap.store.string()) << "; a chunk takes "
      << readable(swap.cost.in_per_chunk) << " in, " << readable(swap.cost.out_per_chunk) << " out, "
      << readable(swap.cost.drop_per_chunk) << " to drop\n";
}

void print_swap(std::ostream& out, const SwapReport& swap) {
  out << "Swapped: " << readable(swap.in) << " in, " << readable(swap.out)
      << " out; not copied out: " << readable(swap.dropped) << " constant, " << readable(swap.skipped) << " unchanged; "
      << swap.operations << " operations, by " << swap.store << '\n';
  print_fallback(out, swap);
  if (!swap.failure.empty()) out << Toned{Tone::bad, "THE STORE FAILED"} << ": " << swap.failure << '\n';
}

void print_snapshots(std::ostream& out, const FlightReport& flight) {
  for (const auto& snapshot : flight.snapshots)
    out << "Snapshot " << snapshot.folder.string() << ": " << snapshot.reason << '\n';
  if (flight.left_out > 0) out << "Snapshots not written, above the limit per run: " << flight.left_out << '\n';
}

/// Returns the domain's memory traffic per second, averaged over all its periods.
Bytes a_second(const DomainReport& domain, Duration period) {
  const double seconds =
      std::chrono::duration<double>(period).count() * static_cast<double>(domain.periods + domain.missed_periods);
  const Bytes moved = domain.line * (domain.reads + domain.writes);
  return seconds > 0 ? Bytes{static_cast<std::uint64_t>(static_cast<double>(moved.count) / seconds)} : Bytes{0};
}

void print_bandwidth(std::ostream& out, const BandwidthReport& bandwidth) {
  out << "Memory bandwidth, in periods of " << readable(bandwidth.period);
  if (bandwidth.limit) out << "; best-effort cores at most " << to_string(*bandwidth.limit) << " each";
  out << '\n';
  Table table({"cores", "budget", "moved", "a second", "periods", "missed", "held in", "held for", "overshoot p50",
               "p99", "max", "lost overflows", "late by at most", ""});
  for (const auto& domain : bandwidth.domains)
    table.add({hal::core_list(domain.cores), domain.budget ? to_string(*domain.budget) : "-",
               readable(domain.line * (domain.reads + domain.writes)), readable(a_second(domain, bandwidth.period)),
               std::to_string(domain.periods), std::to_string(domain.missed_periods),
               std::to_string(domain.throttled_periods), readable(domain.throttled),
               std::to_string(domain.overshoot.p50), std::to_string(domain.overshoot.p99),
               std::to_string(domain.overshoot.max) + " lines", std::to_string(domain.lost_overflows),
               readable(domain.late.max), domain.lost ? "NO LONGER REGULATED" : ""});
  if (!bandwidth.domains.empty()) table.print(out);
  for (const std::string& reason : bandwidth.reasons) out << "  " << reason << '\n';
}

} // namespace

std::string bar(Duration response, Duration deadline) {
  const auto cells = static_cast<std::size_t>(
      std::clamp<Duration::rep>(10 * response.count() / std::max<Duration::rep>(deadline.count(), 1), 0, 10));
  return "[" + std::string(cells, '#') + std::string(10 - cells, '.') + "]";
}

const char* part_name(Part part) { return part == Part::before ? "first" : part == Part::device ? "device" : "last"; }

Tone tone_of(std::uint64_t missed, const PartCounts& above_wcet) {
  if (missed > 0) return Tone::bad;
  return above_wcet.all() > 0 ? Tone::warning : Tone::plain;
}

/// Prints the terms whose sum bounds a reaction time.
void print_terms(std::ostream& out, const PlannedChain& chain) {
  if (chain.terms.empty()) return;
  out << "Chain " << chain.name << " (communicate = \"" << spelling(chain.communicate) << "\"): reaction "
      << (chain.reaction ? readable(*chain.reaction) : "not bounded") << " is the sum of\n";
  Table table({"task", "until released", "until output"});
  if (chain.input_delay) table.add({"(sampling)", readable(*chain.input_delay), "-"});
  for (const ChainTerm& term : chain.terms) {
    const bool first = &term == &chain.terms.front();
    table.add({term.task, readable(term.waits - (first ? chain.input_delay.value_or(Duration(0)) : Duration(0))),
               readable(term.takes)});
  }
  table.print(out);
}

void print_below(std::ostream& out, const std::vector<Reactions>& chains, std::size_t tasks, report::Room room) {
  const std::size_t lines = chains.size() + 1, above = tasks + 1;
  if (chains.empty() || room.lines < above + lines) return;
  Table table({"chain", "above", "reaction", "bound", "max/bound", "reactions"});
  for (const Reactions& chain : chains)
    table.add(
        {chain.chain, std::to_string(chain.above), readable(chain.longest), chain.bound ? readable(*chain.bound) : "-",
         chain.bound ? bar(chain.longest, *chain.bound) : "-", std::to_string(chain.count)},
        chain.above > 0 ? Tone::bad : Tone::plain);
  table.print(out, {.columns = room.columns, .lines = lines});
}

void print_links(std::ostream& out, const Plan& plan) {
  Bytes all;
  report::NameList tasks;
  for (const PlannedTask& task : plan.tasks) {
    if (task.links == Bytes{0}) continue;
    all += task.links;
    tasks.add(task.name);
  }
  if (!tasks.empty())
    out << "  Of it " << readable(all) << " for outputs that other tasks read on the device: of " << tasks.text()
        << '\n';
}

void print_pairs(std::ostream& out, const Plan& plan) {
  const std::vector<policies::TaskPair> pairs = policies::pairs(plan);
  if (pairs.empty()) return;
  out << "Pairs that execute concurrently when both wait (each is charged with the longer of its wcet and "
         "co_run_wcet):\n";
  for (const policies::TaskPair& pair : pairs) {
    const PlannedTask &executes = plan.tasks[pair.executes], &waits = plan.tasks[pair.waits];
    out << "  " << executes.name << " (" << spelling(executes.memory_policy) << ", " << readable(executes.co_run->wcet)
        << ") beside " << waits.name << " (" << spelling(waits.memory_policy) << ", " << readable(waits.co_run->wcet)
        << ", of which " << readable(*waits.co_run->idle) << " waiting for pages)\n";
  }
}

namespace {

void write_plan(std::ostream& out, const ResolvedSet& set, const Plan& plan) {
  out << "Plan (" << (plan.order == Order::edf ? "EDF" : "static priority") << " on the device)\n";
  Table table({"task", "period", "deadline", "core", "wcet cpu+device+cpu", "constant", "scratch", "state", "swapped",
               "bound"});
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const PlannedTask& planned = plan.tasks[i];
    const Task& task = set.tasks.tasks[i];
    table.add(
        {task.name, readable(task.period), readable(task.deadline),
         std::to_string(planned.core) + (planned.core_chosen ? " (chosen)" : ""),
         readable(planned.wcet.before) + " + " + readable(planned.wcet.device) + " + " + readable(planned.wcet.after),
         readable(planned.memory.constant), readable(planned.memory.scratch),
         readable(planned.memory.state + planned.memory.fixed), readable(planned.swap_volume),
         task.criticality == Criticality::best_effort ? "best effort"
         : planned.response_bound                     ? readable(*planned.response_bound)
                                                      : "none"});
  }
  table.print(out);
  out << "Device memory: " << readable(plan.demand) << " of " << readable(plan.capacity) << " in chunks of "
      << readable(plan.chunk) << " (separate allocations: " << readable(plan.separate) << ")\n";
  print_links(out, plan);
  if (plan.swap) print_swap(out, plan);
  print_pairs(out, plan);
  if (!set.board.computes_on_core()) print_tuning(out, plan);
  if (!plan.measured_on.empty())
    out << "Measured on " << plan.measured_on << " (" << set.tasks.executive.profile.string() << ")\n";
  for (const TestVerdict& test : plan.tests())
    out << "Test " << test.name() << ": " << (test.proved ? "proved" : "not proved") << "\n  " << test.inequality
        << "\n  " << test.explanation << '\n';
  for (const PlannedChain& chain : plan.chains) print_terms(out, chain);
}

/// Prints the output of `write`. Breaks lines that are wider than the terminal, between words.
void print_fitting(std::ostream& out, const auto& write) {
  std::ostringstream text;
  text.copyfmt(out);
  write(text);
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) {
    const std::string indent(std::min(line.find_first_not_of(' '), line.size()) + 2, ' ');
    for (const std::string& part : report::wrapped(line, report::room_of(out), indent, report::LongWord::whole))
      out << part << '\n';
  }
}

} // namespace

void print_comparison(std::ostream& out, const std::vector<TestVerdict>& tests) {
  out << "Tests of the device alone, each with its best swap volumes (the end-to-end test decides)\n";
  Table table({"test", "proved", "left", "right", "at L", "demand", "blocking", "by", "limits", "swapped"});
  const auto side = [](const TestVerdict& test, std::int64_t value) {
    return std::holds_alternative<ShareBound>(test.bound) ? config::fixed(static_cast<double>(value) * 1e-9, 4)
                                                          : readable(Duration(value));
  };
  for (const TestVerdict& test : tests) {
    Bytes swapped{0};
    for (const Bytes& volume : test.swap_volumes) swapped += volume;
    const std::string verdict = test.proved ? "yes" : "no";
    table.add({test.name(), test.sound() ? verdict : "unsound: " + verdict, side(test, test.sides().left),
               side(test, test.sides().right), readable(test.instant), readable(test.demand), readable(test.blocking),
               test.blocking_task.empty() ? "-" : test.blocking_task,
               test.limiting_task.empty() ? "-" : test.limiting_task,
               test.swap_volumes.empty() ? "-" : readable(swapped)});
  }
  table.print(out);
  if (!std::ranges::all_of(tests, &TestVerdict::sound))
    print_fitting(out, [](std::ostream& text) {
      text << "  unsound: theorem1, as published, also accepts sets that miss deadlines. It is shown for comparison "
              "only and does not affect the verdict\n";
    });
}

void print_fallback(std::ostream& out, const SwapReport& swap) {
  if (!swap.fallback.empty()) out << "The store uses a fallback: " << swap.fallback << '\n';
}

/// Prints a channel that had problems. `released` is the number of released jobs of its task. If an input moved no data
/// and its task had no job, prints that the missing input may be the reason.
void print_channel(std::ostream& out, const ChannelReport& channel, std::uint64_t released) {
  const bool silent = channel.input && channel.moved == 0 && released == 0;
  if (channel.stale + channel.dropped == 0 && channel.failure.empty() && !silent) return;
  out << Toned{channel.failure.empty() ? Tone::warning : Tone::bad, "Channel"} << ": task '" << channel.task << "', "
      << channel.name << ": " << channel.moved << " new";
  if (channel.stale > 0) out << ", no new data for " << channel.stale << (channel.stale == 1 ? " job" : " jobs");
  else if (silent) out << ", and no job was released";
  if (channel.dropped > 0)
    out << ", results of " << channel.dropped << (channel.dropped == 1 ? " job" : " jobs") << " dropped";
  out << (channel.failure.empty() ? "" : "; ") << channel.failure << '\n';
}

/// Prints parts that exceeded their WCETs, because the proved bounds assume that no part exceeds its WCET.
void print_above_wcet(std::ostream& out, const Report& report) {
  bool any = false;
  for (const TaskReport& task : report.tasks) {
    const auto print = [&](Part part, std::uint64_t count, std::uint64_t stolen, Duration longest, Duration wcet) {
      if (count == 0) return;
      any = true;
      out << Toned{Tone::warning, "Above its WCET"} << ": the " << part_name(part) << " part of '" << task.name << "', "
          << count << (count == 1 ? " time" : " times") << ": at most " << readable(longest) << ", WCET "
          << readable(wcet);
      if (stolen > 0) out << "; " << stolen << " of them while the hypervisor had taken its core";
      out << '\n';
    };
    const auto &above = task.above_wcet, &stolen = task.above_wcet_stolen;
    print(Part::before, above.before, stolen.before, task.observed.before, task.wcet.before);
    print(Part::device, above.device, stolen.device, task.observed.device, task.wcet.device);
    print(Part::after, above.after, stolen.after, task.observed.after, task.wcet.after);
  }
  if (any)
    out << "  Promises need valid WCETs: measure more (rtexec profile --add --minutes 10), or give longer WCETs.\n";
}

std::string measured(const ChainReport::Measured& of) {
  if (of.count == 0) return "-";
  return readable(of.times.min) + " / " + readable(of.times.mean) + " / " + readable(of.times.max);
}

/// Prints the input delays: the times from the sampling of inputs to the release of the job that reads them.
void print_input_delays(std::ostream& out, const Report& report) {
  Table table({"task", "sampled before release: min", "p50", "max", "jitter", "input_delay", "jobs", "above"});
  std::size_t rows = 0;
  for (const TaskReport& task : report.tasks) {
    const MeasuredTimes& delay = task.input_delay;
    if (delay.count == 0) continue;
    table.add({task.name, readable(delay.times.min), readable(delay.times.p50), readable(delay.times.max),
               readable(delay.times.max - delay.times.min), delay.bound ? readable(*delay.bound) : "-",
               std::to_string(delay.count), std::to_string(delay.violations)},
              delay.violations > 0 ? Tone::warning : Tone::plain);
    ++rows;
  }
  if (rows > 0) table.print(out);
}

/// Prints input delays that exceeded their limits, because the bounds of chains assume these limits.
void print_above_input_delay(std::ostream& out, const Report& report) {
  for (const TaskReport& task : report.tasks)
    if (const MeasuredTimes& delay = task.input_delay; delay.violations > 0)
      out << Toned{Tone::warning, "Above its input_delay"} << ": data of jobs of '" << task.name << "' read, "
          << delay.violations << (delay.violations == 1 ? " time" : " times") << ": sampled up to "
          << readable(delay.times.max) << " before the release, input_delay " << readable(*delay.bound) << '\n';
}

void print_chains(std::ostream& out, const Report& report) {
  if (report.chains.empty()) return;
  Table table({"chain", "", "min / mean / max", "bound", "samples", "above"}, {0, 1});
  for (const ChainReport& chain : report.chains)
    for (const auto& [what, of] : {std::pair("reaction", &chain.reaction), std::pair("data age", &chain.age),
                                   std::pair("reduced age", &chain.reduced_age)})
      table.add({chain.name, what, measured(*of), of->bound ? readable(*of->bound) : "-", std::to_string(of->count),
                 std::to_string(of->violations)},
                of->violations > 0 ? Tone::bad : Tone::plain);
  table.print(out);
}

/// Prints one count (a member of TaskReport) of each task for which the count is present. `what` is the label.
void print_counts(std::ostream& out, const char* what, const Report& report,
                  std::optional<std::uint64_t> TaskReport::*count) {
  report::NameList tasks;
  for (const TaskReport& task : report.tasks)
    if (task.*count) tasks.add(std::to_string(*(task.*count)) + " of " + task.name);
  if (!tasks.empty()) out << what << ": " << tasks.text() << '\n';
}

namespace {

void write_report(std::ostream& out, const Report& report) {
  out << "Report after " << readable(report.elapsed) << " (ended by " << to_string(report.stopped_by) << ")\n";
  Table table({"task", "released", "completed", "skipped", "response min", "mean", "p99", "max", "bound", "deadline",
               "deadlines"});
  for (const TaskReport& task : report.tasks)
    table.add({task.name, std::to_string(task.released), std::to_string(task.completed), std::to_string(task.skipped),
               response(task, task.response.min), response(task, task.response.mean), response(task, task.response.p99),
               response(task, task.response.max), task.bound ? readable(*task.bound) : "-", readable(task.deadline),
               on_time(task)},
              tone_of(task.missed, task.above_wcet));
  table.print(out);
  for (const TaskReport& task : report.tasks)
    if (task.unfinished > 0)
      out << "Unfinished at the end of the run, counted as missed only if the deadline had passed: " << task.unfinished
          << (task.unfinished == 1 ? " job" : " jobs") << " of task '" << task.name << "'\n";
  print_counts(out, "Jobs concurrent with a job of another task on the device", report, &TaskReport::paired);
  print_counts(out, "Preemptions between two segments", report, &TaskReport::preempted);
  print_input_delays(out, report);
  print_chains(out, report);
  for (const TaskReport& task : report.tasks)
    if (task.dropped_triggers > 0)
      out << "Triggers closer than a period, without a job of their own: " << task.dropped_triggers
          << (task.dropped_triggers == 1 ? " trigger" : " triggers") << " of task '" << task.name << "'\n";
  long faults = 0;
  for (const ThreadReport& thread : report.threads) faults += thread.page_faults;
  if (!report.threads.empty())
    out << "Page faults of " << report.threads.size() << " real-time threads after start: " << faults << '\n';
  if (report.device) print_device(out, *report.device);
  if (report.swap) print_swap(out, *report.swap);
  if (report.bandwidth) print_bandwidth(out, *report.bandwidth);
  for (const ChannelReport& channel : report.channels) {
    const auto task = std::ranges::find(report.tasks, channel.task, &TaskReport::name);
    print_channel(out, channel, task == report.tasks.end() ? 0 : task->released);
  }
  for (const std::string& line : report.degraded) out << Toned{Tone::warning, "Degraded"} << ": " << line << '\n';
  for (const ClockReport& clock : report.clocks) print_clock(out, clock);
  print_stolen(out, report.stolen);
  if (report.status_page && !report.status_page->failure.empty())
    out << "rtexec top cannot show this run: " << report.status_page->failure << '\n';
  if (report.flight) print_snapshots(out, *report.flight);
  if (report.trace) out << "Trace: " << report.trace->events << " events recorded, " << report.trace->lost << " lost\n";
  for (const TaskReport& task : report.tasks)
    if (task.failed > 0)
      out << Toned{Tone::bad, "JOBS FAILED"} << ": " << task.failed << " of task '" << task.name
          << "', the last one by: " << name(*task.failure) << '\n';
  print_above_wcet(out, report);
  print_above_input_delay(out, report);
  for (const TaskReport& task : report.tasks)
    if (task.bound && task.response.max > *task.bound)
      out << Toned{Tone::bad, "A BOUND WAS BROKEN"} << ": task '" << task.name << "' responded in "
          << readable(task.response.max) << ", but the promised bound is " << readable(*task.bound)
          << ". Either a part took longer than its WCET (measure again: rtexec profile), or the platform stalled for "
             "longer than platform_stall of its board (rtexec probe lists causes)\n";
  for (const ChainReport& chain : report.chains)
    if (chain.violations() > 0)
      out << Toned{Tone::bad, "A BOUND WAS BROKEN"} << ": chain '" << chain.name << "', " << chain.violations()
          << " times\n";
  if (report.device_fault)
    out << Toned{Tone::bad, "THE DEVICE WAS LOST"} << " in job " << report.device_fault->job << " of task '"
        << report.device_fault->task << "', which ended the run: " << report.device_fault->what
        << "\n  Jobs after it failed. Only a new run can use the device again.\n";
  out << outcome(report) << '\n';
}

} // namespace

void print_plan(std::ostream& out, const ResolvedSet& set, const Plan& plan) {
  print_fitting(out, [&](std::ostream& text) { write_plan(text, set, plan); });
}

void print_report(std::ostream& out, const Report& report) {
  print_fitting(out, [&](std::ostream& text) { write_report(text, report); });
}

bool kept(const Report& report) {
  return report.deadlines_kept() && report.bounds_kept() && report.stopped_by.cause != StopCause::wcet_exceeded;
}

/// Prints that all measurements are invalid because the board limited its clocks. Prints the reasons that the board
/// reported.
void print_invalid(std::ostream& out, const std::vector<std::string>& limits) {
  out << Toned{Tone::bad, "INVALID"} << ": " << traces::no_wcets(limits) << '\n';
}

void print_clock(std::ostream& out, const ClockReport& clock) {
  if (clock.steady()) return;
  if (clock.highest == Frequency{}) return print_invalid(out, clock.limits);
  out << "Clock: " << clock.of << " ran at " << readable(clock.lowest);
  if (clock.highest > clock.lowest) out << " to " << readable(clock.highest);
  for (std::size_t i = 0; i < clock.limits.size(); ++i) out << (i == 0 ? ", limited by " : ", ") << clock.limits[i];
  out << " (rtexec probe says how to lock it)\n";
}

void print_stolen(std::ostream& out, const std::vector<StolenReport>& stolen) {
  for (std::size_t i = 0; i < stolen.size(); ++i)
    out << (i == 0 ? "Stolen: " : ", ") << readable(stolen[i].time) << " of core " << stolen[i].core;
  if (!stolen.empty()) out << " (by the hypervisor, according to the kernel)\n";
}

std::ostream& text_output(const std::string& json_file) { return json_file == "-" ? std::cerr : std::cout; }

} // namespace rtexec::command
