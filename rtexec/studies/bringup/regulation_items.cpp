#include "rtexec/studies/bringup/regulation_items.hpp"

#include "config/base/must.hpp"
#include "hal/core_claim.hpp"
#include "policies/bandwidth/bandwidth_budget.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/counter_items.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"
#include "rtexec/runtime/regulation/regulation.hpp"
#include "rtexec/studies/calibration/rest.hpp"
#include <rtexec/planning.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;
using regulation::RegulatedDomain;
using regulation::Regulation;

constexpr Duration period = 1ms;
constexpr double tolerance = 0.1; // the maximum excess over the budget in a whole trial, as a share of the budget

// ---- trying ----

class Trier {
 public:
  Trier(const Subject& subject, const study::TrafficCounters& counters, const regulation::RegulatedMachine& machine)
      : subject_(subject),
        machine_(machine),
        corun_(study::corunners_of_this_machine(counters.corunners, counters.line())),
        locks_(must(BandwidthLocks::open())) {}

  RegulationTrial trial(const hal::CounterChoice& choice) {
    RegulatedDomain domain{.cores = {}, .counter = choice.settings, .line = choice.line, .budget = {}, .always = true};
    std::ranges::copy_if(choice.cores, std::back_inserter(domain.cores), [&](unsigned core) {
      return std::ranges::find(machine_.online, core) != machine_.online.end();
    });
    domain.counter.core = domain.cores.front();
    domain.counter.period = period;
    const Seen freely = run(domain, subject_.length / 4);
    const double counted = static_cast<double>(freely.domain.reads) * static_cast<double>(choice.line.count);
    const auto budget = static_cast<std::uint64_t>(counted / seconds(freely.elapsed) / 2);
    domain.budget = std::max(Bandwidth{budget}, policies::bandwidth_of(1, choice.line, period));
    const Seen within = run(domain, subject_.length / 2);
    return {.cores = domain.cores,
            .freely = rate(freely),
            .within = rate(within),
            .accuracy = counted / static_cast<double>(std::max<std::uint64_t>(freely.moved.count, 1)),
            .domain = within.domain,
            .lets = choice.settings.back_end == CounterBackEnd::thread
                        ? std::vector<std::string>()
                        : regulation::unthrottled(machine_, domain.cores.front())};
  }

 private:
  struct Seen {
    Bytes moved; // the bytes that the generators moved
    Duration elapsed{0};
    DomainReport domain; // the domain's report on an interval slightly longer than `elapsed`
  };

  static double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }
  static double rate(const Seen& seen) { return static_cast<double>(seen.moved.count) / seconds(seen.elapsed); }

  Seen run(const RegulatedDomain& domain, Duration length) {
    const auto regulation = must(
        Regulation::start({&domain, 1}, {.period = period, .rules = {}, .observer = {}, .open_counter = {}}, locks_));
    std::vector<std::unique_ptr<study::Corunner>> generators;
    for (const unsigned core : domain.cores)
      generators.push_back(must(corun_(core, {.begin = [&regulation, core] { return regulation->join(core); },
                                              .end = [&regulation, core] { regulation->leave(core); }})));
    rest(50ms);
    const DomainReport before = regulation->report().front();
    const Bytes moved_before = moved_by(generators);
    const Instant begin = hal::now();
    rest(length);
    const Bytes moved = moved_by(generators) - moved_before;
    const Duration elapsed = hal::now() - begin;
    DomainReport after = regulation->report().front();
    generators.clear();
    regulation->end();
    if (after.lost) give_up(Errc::io_error, "the counter stopped during regulation: is the core offline?");
    after.reads = std::max(after.reads - before.reads, after.writes - before.writes);
    after.throttled -= before.throttled;
    after.periods -= before.periods;
    after.throttled_periods -= before.throttled_periods;
    return {.moved = moved, .elapsed = elapsed, .domain = std::move(after)};
  }

  void rest(Duration length) const {
    const auto sleep = [](Duration piece) { hal::sleep_until(hal::now() + piece); };
    if (!study::rest_while(subject_.going_on, sleep, length)) give_up(Errc::cancelled, "cancelled");
  }

  static Bytes moved_by(const std::vector<std::unique_ptr<study::Corunner>>& generators) {
    Bytes moved;
    for (const auto& each : generators) moved += each->moved();
    return moved;
  }

  const Subject& subject_;
  const regulation::RegulatedMachine& machine_;
  study::StartCorunner corun_;
  BandwidthLocks locks_;
};

/// Returns one counter for each combination of cluster and kind of counter. Chooses the counter of the last core,
/// because other programs use the first core most.
std::vector<hal::CounterChoice> one_of_each(const std::vector<hal::CounterChoice>& choices, const Board& board) {
  std::vector<hal::CounterChoice> chosen;
  std::set<std::tuple<std::string, CounterBackEnd, std::string, std::vector<unsigned>>> seen;
  for (auto choice = choices.rbegin(); choice != choices.rend(); ++choice) {
    const auto cluster = choice->cores.size() > 1 ? choice->cores : std::vector<unsigned>();
    const hal::CounterSettings& settings = choice->settings;
    if (seen.emplace(settings.reads.name, settings.back_end, cluster_of(settings.core, board), cluster).second)
      chosen.push_back(*choice);
  }
  return chosen;
}

// ---- interpretation ----

double megabytes(double bytes) { return bytes * 1e-6; }

/// Returns the bytes per second that the budget allows the generators (threads that only move memory). The budget is
/// corrected by the accuracy of the counter, measured without a budget.
double allowed_of(const RegulationTrial& trial) {
  return static_cast<double>(trial.domain.budget->bytes_per_second) / std::max(trial.accuracy, 1e-3);
}

/// Returns the time from the end of the budget until the generators stopped. `lines`: the number of lines that they
/// moved in this time.
Duration reaction_of(const RegulationTrial& trial, std::uint64_t lines) {
  const double bytes = static_cast<double>(lines * trial.domain.line.count) / std::max(trial.accuracy, 1e-3);
  return Duration(static_cast<Duration::rep>(bytes / std::max(trial.freely, 1.0) * 1e9));
}

std::string cores_text(const RegulationTrial& trial) {
  return (trial.cores.size() > 1 ? "cores " : "core ") + hal::core_list(trial.cores);
}

bool kept(const RegulationTrial& trial) { return trial.within <= allowed_of(trial) * (1 + tolerance); }
/// True if the generators used at least half of the budget. If they used less, the regulation stops them too early.
bool used(const RegulationTrial& trial) { return trial.within >= allowed_of(trial) / 2; }

std::string overshoot_text(const RegulationTrial& trial) {
  const auto& lines = trial.domain.overshoot;
  if (lines.max == 0) return "no traffic beyond the budget";
  const auto text = [&](std::uint64_t more) {
    return std::to_string(more) + " of " + to_string(trial.domain.line) + " (" + readable(reaction_of(trial, more)) +
           ")";
  };
  return "traffic beyond the budget: p99 " + text(lines.p99) + ", most " + text(lines.max);
}

std::string text_of(const RegulationTrial& trial) {
  const DomainReport& domain = trial.domain;
  return cores_text(trial) + " (" + domain.counter + "): " + rate_text(trial.freely) + " without a budget, " +
         rate_text(trial.within) + " with one of " + rate_text(allowed_of(trial)) + ", in " +
         std::to_string(domain.periods) + " periods of " + to_string(period) + ", throttled in " +
         std::to_string(domain.throttled_periods) + "; after its budget was used up " + overshoot_text(trial);
}

std::vector<Figure> figures_of(const RegulationTrials& trials) {
  std::vector<Figure> figures;
  for (const RegulationTrial& trial : trials.trials) {
    const std::string of = " of " + cores_text(trial);
    const auto bytes = [&](std::uint64_t lines) { return static_cast<double>(lines * trial.domain.line.count); };
    figures.push_back({"without a budget" + of, megabytes(trial.freely), "MB/s", true});
    figures.push_back({"traffic relative to the budget" + of, trial.within / allowed_of(trial), ""});
    figures.push_back({"beyond the budget of a period, p99" + of, bytes(trial.domain.overshoot.p99), "B"});
    figures.push_back({"beyond the budget of a period, maximum" + of, bytes(trial.domain.overshoot.max), "B"});
  }
  return figures;
}

std::string advice_for(const RegulationTrials& trials) {
  std::string advice;
  for (const RegulationTrial& trial : trials.trials) {
    if (!kept(trial))
      for (const std::string& reason : trial.lets) advice += (advice.empty() ? "" : "\n") + reason;
    if (!used(trial))
      advice += (advice.empty() ? "" : "\n") + cores_text(trial) +
                " was throttled far below its budget: the event also counts other things than traffic of these cores; "
                "name another one in [[counter]] of the board's file";
  }
  if (!advice.empty()) return advice;
  return "The counter reports too late: try [bandwidth] counter = \"polling\", a longer period, or a kernel with "
         "PREEMPT_RT";
}

} // namespace

Result<RegulationTrials> try_regulation(const Subject& subject) {
  return caught([&] {
    const auto machine = regulation::regulated(this_machine());
    const auto claim = must(hal::CoreClaim::take(machine.online));
    auto counters = study::find_counters(subject.board, "", machine.online, machine);
    RegulationTrials trials{.event = {}, .obstacle = {}, .trials = {}};
    if (!counters) {
      trials.obstacle = first_line(counters.error());
      counters = study::find_counters(subject.board, "page-faults", machine.online, machine);
    }
    const study::TrafficCounters found = must(std::move(counters));
    trials.stand_in = found.stand_in;
    trials.event = found.event;
    Trier trier(subject, found, machine);
    for (const hal::CounterChoice& choice : one_of_each(found.choices, subject.board))
      trials.trials.push_back(trier.trial(choice));
    return trials;
  });
}

Answer judge(const RegulationTrials& trials, const Subject& subject) {
  std::string state;
  for (const RegulationTrial& trial : trials.trials) state += (state.empty() ? "" : "; ") + text_of(trial);
  const bool good = std::ranges::all_of(trials.trials, [](const auto& each) { return kept(each) && used(each); });
  if (subject.emulated)
    return skipped("an emulator has no memory traffic to regulate; by " + trials.event + ": " + state);
  if (!good) return failed(std::move(state), advice_for(trials), figures_of(trials));
  if (!trials.stand_in) return passed(std::move(state), figures_of(trials));
  const std::string shown =
      "the mechanism works with the substitute event " + trials.event + ", which is not memory traffic: " + state;
  if (is_virtual(subject.machine))
    return skipped("no event counts memory traffic in this virtual machine; " + shown, figures_of(trials));
  return failed("no event counts memory traffic here; " + shown,
                "No budget of memory bandwidth can be promised until counter/clusters passes", figures_of(trials));
}

Answer memory_regulation(const Subject& subject) {
  const auto trials = try_regulation(subject);
  if (trials) return judge(*trials, subject);
  if (trials.error().code == Errc::cancelled) return skipped("cancelled");
  return failed(trials.error(), "Allow this user to count and to use real-time threads: run it as root");
}

} // namespace rtexec::bringup
