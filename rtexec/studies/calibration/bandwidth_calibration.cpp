#include "rtexec/studies/calibration/bandwidth_calibration.hpp"

#include "config/base/must.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/calibration/rest.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rtexec::study {
namespace {

constexpr std::uint64_t megabyte = 1'000'000;

Bandwidth whole_megabytes(Bandwidth value) { return {value.bytes_per_second / megabyte * megabyte}; }

Bandwidth rate(double bytes, Duration time) {
  return {static_cast<std::uint64_t>(bytes / std::chrono::duration<double>(time).count())};
}

void check(const std::function<bool()>& going_on) {
  if (!going_on()) give_up(Errc::cancelled, "the calibration was cancelled");
}

constexpr unsigned attempts = 3; // the maximum number of attempts to measure a core while it has no other work

Bandwidth sum_of(std::span<const Bandwidth> values) {
  Bandwidth sum;
  for (const Bandwidth each : values) sum.bytes_per_second += each.bytes_per_second;
  return sum;
}

bool moves(Bandwidth reported) { return whole_megabytes(reported) > Bandwidth{}; }

class Calibrator {
 public:
  explicit Calibrator(const CalibratedCores& machine) : machine_(machine) {}

  CoreTraffic alone(unsigned core) {
    for (unsigned i = 0; i < attempts; ++i)
      if (const CoreTraffic traffic = measure_alone(core); moves(traffic.reported)) return traffic;
    give_up_idle(core);
  }

  Bandwidth together(std::size_t count) {
    unsigned idle = 0;
    for (unsigned i = 0; i < attempts; ++i) {
      const std::vector<Bandwidth> each = measure_together(count);
      const auto at = std::ranges::find_if_not(each, moves);
      if (at == each.end()) return sum_of(each);
      idle = machine_.cores[static_cast<std::size_t>(at - each.begin())];
    }
    give_up_idle(idle);
  }

 private:
  CoreTraffic measure_alone(unsigned core) const {
    const auto counter = must(open(core));
    const auto generator = must(machine_.corun(core, hooks_of(counter.get())));
    rest(machine_.settling);
    const Instant begin = machine_.now();
    const Bytes moved_before = generator->moved();
    const auto counted_before = count(counter.get());
    rest(machine_.length);
    const Bytes moved = generator->moved() - moved_before;
    const auto counted = count(counter.get());
    const Duration time = machine_.now() - begin;
    if (!counted_before || !counted)
      give_up(Errc::io_error, "core " + std::to_string(core) + ": its counter cannot be read");
    CoreTraffic traffic{.core = core, .reported = rate(static_cast<double>(moved.count), time), .counted = {}};
    if (counter == nullptr) return traffic;
    const std::uint64_t lines = *counted - *counted_before;
    traffic.counted = {
        .lines = lines,
        .bandwidth = rate(static_cast<double>(lines) * static_cast<double>(counter_of(core)->line.count), time)};
    return traffic;
  }

  /// Runs generators (threads that only move memory) on the first `count` cores at once. Returns the bandwidth of
  /// each core.
  std::vector<Bandwidth> measure_together(std::size_t count) const {
    std::vector<std::unique_ptr<Corunner>> generators;
    for (const unsigned core : std::span(machine_.cores).first(count)) {
      check(machine_.going_on);
      generators.push_back(must(machine_.corun(core, {})));
    }
    rest(machine_.settling);
    const Instant begin = machine_.now();
    std::vector<Bytes> before;
    for (const auto& each : generators) before.push_back(each->moved());
    rest(machine_.length);
    std::vector<Bytes> moved;
    for (std::size_t i = 0; i < count; ++i) moved.push_back(generators[i]->moved() - before[i]);
    const Duration time = machine_.now() - begin;
    std::vector<Bandwidth> reported;
    for (const Bytes each : moved) reported.push_back(rate(static_cast<double>(each.count), time));
    return reported;
  }

  void rest(Duration length) const {
    check([&] { return rest_while(machine_.going_on, machine_.rest, length); });
  }

  [[noreturn]] void give_up_idle(unsigned core) const {
    give_up(Errc::refused, "core " + std::to_string(core) + ": a traffic generator moved less than 1MB/s in " +
                               to_string(machine_.length) + ", " + std::to_string(attempts) +
                               " times: other programs keep this core busy. End them, leave the core out "
                               "(taskset), or measure for longer (--seconds)");
  }

  const hal::CounterChoice* counter_of(unsigned core) const {
    const auto counts = [&](const hal::CounterChoice& each) {
      return std::ranges::find(each.cores, core) != each.cores.end();
    };
    const auto found = std::ranges::find_if(machine_.counters, counts);
    return found == machine_.counters.end() ? nullptr : &*found;
  }

  /// Opens the counter of the core's memory traffic. Returns null if the core has no counter.
  Result<std::unique_ptr<hal::BandwidthCounter>> open(unsigned core) const {
    const hal::CounterChoice* choice = counter_of(core);
    if (choice == nullptr) return nullptr;
    return machine_.open_counter(choice->settings);
  }

  static tasks::GeneratorHooks hooks_of(hal::BandwidthCounter* counter) {
    if (counter == nullptr) return {};
    return {.begin = [counter] { return counter->join(); }, .end = [counter] { counter->leave(); }};
  }

  /// Returns the number of lines that the generator's counter counted: the larger of its reads and its writes.
  static Expected<std::uint64_t, Errc> count(hal::BandwidthCounter* counter) {
    if (counter == nullptr) return 0;
    const auto counted = counter->count();
    if (!counted) return Unexpected(counted.error());
    return std::max(counted->reads, counted->writes);
  }

  const CalibratedCores& machine_;
};

} // namespace

CalibratedCores cores_of_this_machine(CorunnerKind kind, Bytes line) {
  CalibratedCores machine;
  machine.corun = corunners_of_this_machine(kind, line);
  machine.open_counter = [](const hal::CounterSettings& settings) { return hal::open_counter(settings); };
  machine.now = [] { return hal::now(); };
  machine.rest = [](Duration length) { hal::sleep_until(hal::now() + length); };
  return machine;
}

std::optional<double> CoreTraffic::accuracy() const {
  if (!counted || reported == Bandwidth{}) return std::nullopt;
  return 100 * static_cast<double>(counted->bandwidth.bytes_per_second) /
         static_cast<double>(reported.bytes_per_second);
}

MemoryFacts BandwidthCalibration::facts() const {
  MemoryFacts facts;
  for (const CoreTraffic& each : alone) facts.core_bandwidth = std::max(facts.core_bandwidth, each.reported);
  if (!together.empty()) facts.core_bandwidth = std::max(facts.core_bandwidth, together.front());
  facts.saturation = facts.core_bandwidth;
  for (const Bandwidth each : together) facts.saturation = std::max(facts.saturation, each);
  return {.core_bandwidth = whole_megabytes(facts.core_bandwidth), .saturation = whole_megabytes(facts.saturation)};
}

std::size_t count_measurements(const CalibratedCores& cores) { return 2 * cores.cores.size(); }

Result<BandwidthCalibration> calibrate_bandwidth(const CalibratedCores& cores, const std::function<bool()>& going_on) {
  return caught([&] {
    Calibrator calibrator(cores);
    BandwidthCalibration calibration;
    for (const unsigned core : cores.cores) {
      calibration.alone.push_back(calibrator.alone(core));
      check(going_on);
    }
    for (std::size_t count = 1; count <= cores.cores.size(); ++count) {
      calibration.together.push_back(calibrator.together(count));
      check(going_on);
    }
    return calibration;
  });
}

std::string in_megabytes(Bandwidth value) { return std::to_string(value.bytes_per_second / megabyte) + "MB/s"; }

BudgetProposal propose_budgets(const MemoryFacts& facts, std::size_t cores, std::optional<Bandwidth> demand) {
  constexpr Bandwidth to_begin_with{100 * megabyte};
  const std::size_t others = std::max<std::size_t>(cores, 2) - 1;
  BudgetProposal proposal;
  proposal.each = whole_megabytes({facts.saturation.bytes_per_second / std::max<std::size_t>(cores, 1)});
  if (!demand) {
    proposal.best_effort = to_begin_with;
    proposal.reason =
        "the device's need is not given (--demand): in Nigam's thesis, detectors regained most of their speed at 100 "
        "to 512 MB/s per core; `rtexec experiment isolation` measures the best limit here";
    return proposal;
  }
  const std::uint64_t left = facts.saturation.bytes_per_second - std::min(facts.saturation, *demand).bytes_per_second;
  const std::string need =
      in_megabytes(*demand) + " of the " + in_megabytes(facts.saturation) + " that all cores reach together";
  if (const Bandwidth share = whole_megabytes({left / others}); share > Bandwidth{}) {
    proposal.best_effort = share;
    const std::string who = others == 1 ? "the core that does not feed it gets"
                                        : "the " + std::to_string(others) + " cores that do not feed it share";
    proposal.reason = "the device needs " + need + ", and " + who + " the rest";
  } else {
    proposal.reason = "the device needs " + need + ": no bandwidth remains for other cores";
  }
  return proposal;
}

} // namespace rtexec::study
