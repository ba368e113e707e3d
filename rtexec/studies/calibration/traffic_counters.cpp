#include "rtexec/studies/calibration/traffic_counters.hpp"

#include "config/counter_events.hpp"

#include <algorithm>

namespace rtexec::study {
namespace {

constexpr std::string_view page_faults = "page-faults", generic = "cache-misses";

/// Returns the events to try, in the order of the trials. `event` is the user's choice (BandwidthOptions) and may be
/// empty. An empty name in the result stands for the board's event.
std::vector<std::string> candidates(const Board& board, const std::string& event, std::span<const unsigned> cores) {
  if (!event.empty()) return {event};
  const auto is_generic = [&](unsigned core) { return counter_of(core, board, "").event == generic; };
  if (std::ranges::all_of(cores, is_generic)) return {""};
  return {"", std::string(generic)};
}

std::string names_of(std::span<const hal::CounterChoice> choices) {
  std::vector<std::string> names;
  for (const hal::CounterChoice& each : choices)
    if (std::ranges::find(names, each.settings.reads.name) == names.end()) names.push_back(each.settings.reads.name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
  return text;
}

} // namespace

Result<TrafficCounters> find_counters(const Board& board, const std::string& event, std::span<const unsigned> cores,
                                      const regulation::RegulatedMachine& machine) {
  if (event == "context-switches")
    return fail(Errc::bad_input,
                "event \"context-switches\": a traffic generator causes none; use page-faults as a substitute");
  std::string tried;
  for (const std::string& name : candidates(board, event, cores)) {
    BandwidthOptions options;
    options.event = name;
    auto choices = machine.choose(board, options, cores, machine.holds);
    if (!choices && choices.error().code == Errc::bad_input) return Unexpected(choices.error());
    if (!choices) {
      tried += "\n  " + choices.error().what.substr(0, choices.error().what.find('\n'));
      continue;
    }
    TrafficCounters found;
    found.event = names_of(*choices);
    found.stand_in = std::ranges::any_of(*choices, [](const hal::CounterChoice& each) {
      return config::meaning_of(each.settings.reads.name) != config::EventMeaning::traffic;
    });
    const bool pages = std::ranges::all_of(
        *choices, [](const hal::CounterChoice& each) { return each.settings.reads.name == page_faults; });
    found.corunners = pages ? CorunnerKind::pages : CorunnerKind::lines;
    found.choices = std::move(*choices);
    return found;
  }
  return fail(Errc::refused, "no event counts the memory traffic of this machine's cores; tried:" + tried);
}

CounterTrial try_counter(const CounterFacts& facts, const std::string& event, unsigned core) {
  const auto first_line = [](const Error& error) { return error.what.substr(0, error.what.find('\n')); };
  CounterTrial trial{.core = core, .event = event, .what = {}};
  const auto found = hal::find_event(event, hal::Machine(), facts.opened_on);
  if (!found) return trial.what = found.error().what, trial;
  auto probed = hal::probe_counter(*found, facts.line, core, true);
  if (!probed) probed = hal::probe_counter(*found, facts.line, core, false);
  if (!probed) {
    trial.refused = probed.error().code == Errc::refused;
    return trial.what = first_line(probed.error()), trial;
  }
  trial.counts = probed->counts;
  trial.overflows = probed->counts && probed->overflows;
  return trial.what = probed->what, trial;
}

} // namespace rtexec::study
