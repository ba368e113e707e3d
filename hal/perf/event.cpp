// Names of events, and what they are to perf_event_open(2).
#include "config/text.hpp"
#include "hal/bandwidth_counter.hpp"
#include "hal/resources.hpp"

#include <array>
#include <linux/perf_event.h>

namespace rtexec::hal {
namespace {

struct Generic {
  std::string_view name;
  std::uint32_t type;
  std::uint64_t config;
};

constexpr std::array generic{Generic{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
                             Generic{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
                             Generic{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
                             Generic{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                             Generic{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
                             Generic{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
                             Generic{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES}};

Unexpected<Error> unknown(std::string_view name) {
  std::string known;
  for (const Generic& each : generic) known += std::string(each.name) + ", ";
  return fail(Errc::bad_input, "event \"" + std::string(name) + "\" is not known: use " + known +
                                   "r17 (raw and hexadecimal, of the cores' PMU), or pmu_name/0x2a4 with a PMU of "
                                   "/sys/bus/event_source/devices");
}

Result<CounterEvent> of_pmu(std::string_view name, const Machine& machine) {
  const auto slash = name.find('/');
  std::string_view digits = name.substr(slash + 1);
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  const auto value = config::number<std::uint64_t>(digits, 16);
  if (!value) return unknown(name);
  const std::string pmu(name.substr(0, slash));
  const auto type = machine.read("/sys/bus/event_source/devices/" + pmu + "/type");
  const auto type_number = type ? config::number<std::uint32_t>(*type) : std::nullopt;
  if (!type_number)
    return fail(Errc::unsupported, "event \"" + std::string(name) + "\": this machine has no PMU \"" + pmu +
                                       "\"; `ls /sys/bus/event_source/devices` shows those that it has");
  const auto mask = machine.read("/sys/bus/event_source/devices/" + pmu + "/cpumask");
  const auto cores = mask ? parse_core_list(*mask) : Result<std::vector<unsigned>>();
  const bool outside = mask && cores && !cores->empty();
  return CounterEvent{.name = std::string(name),
                      .type = *type_number,
                      .config = *value,
                      .counted_on = outside ? std::optional(cores->front()) : std::nullopt};
}

} // namespace

Result<CounterEvent> find_event(std::string_view name, const Machine& machine) {
  for (const Generic& each : generic)
    if (each.name == name) return CounterEvent{.name = std::string(name), .type = each.type, .config = each.config};
  if (name.contains('/')) return of_pmu(name, machine);
  if (const auto raw = name.starts_with('r') ? config::number<std::uint64_t>(name.substr(1), 16) : std::nullopt)
    return CounterEvent{.name = std::string(name), .type = PERF_TYPE_RAW, .config = *raw};
  return unknown(name);
}

} // namespace rtexec::hal
