// Chooses the event and the back end that regulate each core.
#include "hal/bandwidth_counter.hpp"

#include "config/names.hpp"

#include <algorithm>

namespace rtexec::hal {
namespace {

std::string of_core(unsigned core) { return "core " + std::to_string(core) + ": "; }

std::string first_line(const Error& error) { return error.what.substr(0, error.what.find('\n')); }

class Chooser {
 public:
  Chooser(const BandwidthOptions& options, bool holds, const Machine& machine)
      : options_(options), holds_(holds), machine_(machine) {}

  Result<CounterChoice> choose(unsigned core, const CounterFacts& facts) {
    CounterChoice choice;
    auto reads = find_event(facts.event, machine_, facts.opened_on);
    if (!reads) return Unexpected(reads.error());
    choice.line = facts.line;
    choice.settings.core = core;
    choice.settings.reads = std::move(*reads);
    if (!facts.write_event.empty()) {
      auto writes = find_event(facts.write_event, machine_, facts.opened_on);
      if (!writes) return Unexpected(writes.error());
      choice.settings.writes = std::move(*writes);
    }
    choice.cores = facts.cluster && !facts.cores.empty() ? facts.cores : std::vector{core};
    return with_back_end(std::move(choice));
  }

 private:
  bool may(CounterBackEnd back_end) const {
    return options_.counter == CounterBackEnd::automatic || options_.counter == back_end;
  }

  Result<CounterChoice> with_back_end(CounterChoice choice) {
    const bool holding = may(CounterBackEnd::core) || may(CounterBackEnd::polling);
    std::string obstacles;
    if (holding && !holds_) obstacles = "SCHED_FIFO is not allowed, so no core can be stopped";
    if (holding && holds_) {
      const auto probed = probe(choice, true);
      if (!probed) obstacles = first_line(probed.error());
      else if (probed->counts && probed->overflows && may(CounterBackEnd::core))
        return chosen(choice, CounterBackEnd::core, probed->what);
      else if (probed->counts && may(CounterBackEnd::polling))
        return chosen(choice, CounterBackEnd::polling, probed->what);
      else obstacles = probed->what;
    }
    if (!may(CounterBackEnd::thread)) return refused(choice, obstacles);
    const auto probed = probe(choice, false);
    const std::string but = obstacles.empty() ? "" : obstacles + "; ";
    if (!probed) return refused(choice, but + first_line(probed.error()));
    if (!probed->counts || !probed->overflows) return refused(choice, but + probed->what);
    return chosen(choice, CounterBackEnd::thread, but + probed->what);
  }

  Result<CounterProbe> probe(const CounterChoice& choice, bool whole_core) const {
    auto reads = probe_counter(choice.settings.reads, choice.line, choice.settings.core, whole_core);
    if (!reads || !reads->counts || !choice.settings.writes) return reads;
    const auto writes = probe_counter(*choice.settings.writes, choice.line, choice.settings.core, whole_core);
    if (!writes) return writes;
    reads->counts = writes->counts;
    reads->overflows = reads->overflows && writes->overflows;
    reads->what += "; " + choice.settings.writes->name + ": " + writes->what;
    return reads;
  }

  static CounterChoice chosen(CounterChoice choice, CounterBackEnd back_end, const std::string& why) {
    choice.settings.back_end = back_end;
    choice.reason = of_core(choice.settings.core) + std::string(spelling(back_end)) + ", " +
                    choice.settings.reads.name + ": " + why;
    return choice;
  }

  Unexpected<Error> refused(const CounterChoice& choice, const std::string& why) const {
    return fail(Errc::unsupported, of_core(choice.settings.core) + "memory traffic cannot be counted by " +
                                       choice.settings.reads.name +
                                       (options_.counter == CounterBackEnd::automatic
                                            ? ""
                                            : " with counter = \"" + std::string(spelling(options_.counter)) + "\"") +
                                       ": " + why +
                                       "\n  `rtexec probe` shows what this machine counts; [bandwidth] event names "
                                       "another event, page-faults counts everywhere");
  }

  const BandwidthOptions& options_;
  bool holds_;
  const Machine& machine_;
};

} // namespace

Result<std::vector<CounterChoice>> choose_counters(const Board& board, const BandwidthOptions& options,
                                                   std::span<const unsigned> cores, bool holds,
                                                   const Machine& machine) {
  std::vector<CounterChoice> choices;
  Chooser chooser(options, holds, machine);
  for (const unsigned core : cores) {
    const auto counted = [&](const CounterChoice& choice) {
      return std::ranges::find(choice.cores, core) != choice.cores.end();
    };
    if (std::ranges::any_of(choices, counted)) continue;
    auto choice = chooser.choose(core, counter_of(core, board, options.event));
    if (!choice) return Unexpected(choice.error());
    choice->settings.period = options.period;
    choices.push_back(std::move(*choice));
  }
  return choices;
}

} // namespace rtexec::hal
