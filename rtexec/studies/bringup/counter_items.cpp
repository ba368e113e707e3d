#include "rtexec/studies/bringup/counter_items.hpp"

#include "config/counter_events.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace rtexec::bringup {
namespace {

struct CounterCore {
  unsigned core = 0;
  std::string where; // for example "A57 cores, cluster 1: core 3"
  CounterFacts facts;
};

/// Returns the cores to try: the first core of each combination of cluster and counter.
std::vector<CounterCore> places_of(const Board& board, const std::vector<unsigned>& online) {
  std::vector<CounterCore> places;
  std::set<std::tuple<std::string, std::string, std::vector<unsigned>>> seen;
  for (const unsigned core : online) {
    const CounterFacts facts = counter_of(core, board, "");
    const std::string cluster = cluster_of(core, board);
    if (!seen.emplace(cluster, facts.event, facts.cores).second) continue;
    places.push_back({.core = core,
                      .where = (cluster.empty() ? "" : cluster + ": ") + "core " + std::to_string(core),
                      .facts = facts});
  }
  return places;
}

struct Proof {
  std::string where;
  study::CounterTrial trial;
};

std::vector<Proof> prove(const Board& board, const CounterMachine& machine) {
  std::vector<Proof> proofs;
  for (const CounterCore& place : places_of(board, machine.online))
    for (const std::string& event : {place.facts.event, place.facts.write_event})
      if (!event.empty())
        proofs.push_back({.where = place.where, .trial = machine.try_counter(place.facts, event, place.core)});
  return proofs;
}

std::string text_of(const std::vector<Proof>& proofs) {
  std::string text;
  for (const Proof& proof : proofs)
    text += (text.empty() ? "" : "; ") + proof.where + ", " + proof.trial.event + ": " + proof.trial.what;
  return text;
}

/// True if the machine has no PMU (performance monitoring unit). It is enough to try the first core: if that core
/// cannot count cycles, no core can.
bool has_no_pmu(const CounterMachine& machine) {
  const auto cycles =
      machine.try_counter({.event = "cycles", .write_event = {}, .cores = {}}, "cycles", machine.online.front());
  return !cycles.counts && !cycles.refused;
}

std::string advice_for(const std::vector<Proof>& proofs, bool no_pmu, const Board& board) {
  if (std::ranges::any_of(proofs, [](const Proof& each) { return each.trial.refused; }))
    return "Allow this user to count: run it as root, or sysctl kernel.perf_event_paranoid=0";
  return (no_pmu
              ? std::string("The kernel shows no PMU: it needs CONFIG_HW_PERF_EVENTS and the PMU's node in the "
                            "device tree. ")
              : "Name an event that counts memory traffic in [[counter]] of " + file_of(board) + " (`perf list`). ") +
         "Without one no budget of memory bandwidth can be promised; page-faults counts everywhere, but is not memory "
         "traffic";
}

} // namespace

std::string cluster_of(unsigned core, const Board& board) {
  const auto kind = std::ranges::find_if(
      board.core_kinds, [&](const CoreKind& each) { return std::ranges::find(each.cores, core) != each.cores.end(); });
  if (kind == board.core_kinds.end()) return {};
  return kind->name + " cores, cluster " + std::to_string(kind->cluster);
}

Answer prove_counters(const Subject& subject, const CounterMachine& machine) {
  const auto proofs = prove(subject.board, machine);
  const auto counting = std::ranges::count_if(proofs, [](const Proof& each) { return each.trial.counts; });
  std::string state = text_of(proofs);
  if (subject.emulated) return skipped("an emulator has no memory traffic to count; tried: " + state);
  const auto polled =
      std::ranges::count_if(proofs, [](const Proof& each) { return each.trial.counts && !each.trial.overflows; });
  std::vector<Figure> figures{
      {"counters proved", static_cast<double>(counting), "", true},
      {"counters that report overflows", static_cast<double>(counting - polled), "", true},
  };
  if (counting == std::ssize(proofs)) {
    if (polled > 0) state += "; counters without overflow reports are polled";
    return passed(std::move(state), std::move(figures));
  }
  const bool no_pmu = has_no_pmu(machine);
  if (no_pmu && machine.is_virtual) return skipped("no PMU in this virtual machine; tried: " + state);
  return failed(std::move(state), advice_for(proofs, no_pmu, subject.board), std::move(figures));
}

Answer traffic_counters(const Subject& subject) {
  return prove_counters(subject, {.online = hal::Machine().online_cores(),
                                  .is_virtual = is_virtual(subject.machine),
                                  .try_counter = study::try_counter});
}

} // namespace rtexec::bringup
