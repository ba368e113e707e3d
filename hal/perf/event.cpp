// Names of events, and their parameters for perf_event_open(2).
#include "config/base/text.hpp"
#include "hal/bandwidth_counter.hpp"
#include "hal/resources.hpp"

#include <array>
#include <filesystem>
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
  return fail(
      Errc::bad_input,
      "event \"" + std::string(name) + "\" is not known: use " + known +
          "r17 (raw and hexadecimal, of the cores' PMU), or pmu_name/0x2a4 or pmu_name/event=0x17 with a PMU of "
          "/sys/bus/event_source/devices");
}

/// The position of a field in the configuration of a PMU's events: "config:4-15".
struct Bits {
  unsigned first = 0, last = 0;
};

std::optional<Bits> parse_bits(std::string_view text) {
  constexpr std::string_view prefix = "config:";
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  const auto dash = text.find('-');
  const auto first = config::number<unsigned>(text.substr(0, dash));
  const auto last = dash == text.npos ? first : config::number<unsigned>(text.substr(dash + 1));
  if (!first || !last || *first > *last || *last > 63) return std::nullopt;
  return Bits{.first = *first, .last = *last};
}

/// Returns the configuration for "event=0x17,unit=1", by the fields that the PMU's driver defines. A field that the
/// driver does not define must be 0.
Result<std::uint64_t> of_fields(std::string_view name, const std::filesystem::path& pmu, const Machine& machine) {
  std::uint64_t config = 0;
  for (const auto part : config::parts(name.substr(name.find('/') + 1), ',')) {
    const auto equals = part.find('=');
    const auto value = equals == part.npos ? std::nullopt : config::hexadecimal<std::uint64_t>(part.substr(equals + 1));
    if (!value) return unknown(name);
    const std::string field(part.substr(0, equals));
    const auto format = machine.read(pmu / "format" / field);
    const auto bits = format ? parse_bits(*format) : std::nullopt;
    if (!bits && *value == 0) continue;
    if (!bits || (bits->last < 63 && *value >> (bits->last - bits->first + 1) != 0))
      return fail(Errc::unsupported, "event \"" + std::string(name) + "\": the driver of this PMU " +
                                         (bits ? "has only bits " + *format + " for \"" : "has no field \"") + field +
                                         "\"");
    config |= *value << bits->first;
  }
  return config;
}

Result<std::uint64_t> config_of(std::string_view name, const std::filesystem::path& pmu, const Machine& machine) {
  if (name.contains('=')) return of_fields(name, pmu, machine);
  const auto value = config::hexadecimal<std::uint64_t>(name.substr(name.find('/') + 1));
  if (!value) return unknown(name);
  return *value;
}

Result<CounterEvent> of_pmu(std::string_view name, const Machine& machine, std::optional<unsigned> opened_on) {
  const std::string pmu(name.substr(0, name.find('/')));
  const std::filesystem::path folder = "/sys/bus/event_source/devices/" + pmu;
  const auto type = machine.read(folder / "type");
  const auto type_number = type ? config::number<std::uint32_t>(*type) : std::nullopt;
  const auto config = config_of(name, folder, machine);
  if (!config && config.error().code == Errc::bad_input) return Unexpected(config.error());
  if (!type_number)
    return fail(Errc::unsupported, "event \"" + std::string(name) + "\": this machine has no PMU \"" + pmu +
                                       "\"; `ls /sys/bus/event_source/devices` shows those that it has");
  if (!config) return Unexpected(config.error());
  const auto mask = machine.read(folder / "cpumask");
  const auto cores = mask ? parse_core_list(*mask) : Result<std::vector<unsigned>>();
  const bool outside = mask && cores && !cores->empty();
  return CounterEvent{.name = std::string(name),
                      .type = *type_number,
                      .config = *config,
                      .counted_on = outside ? std::optional(cores->front()) : opened_on};
}

} // namespace

Result<CounterEvent> find_event(std::string_view name, const Machine& machine, std::optional<unsigned> opened_on) {
  for (const Generic& each : generic)
    if (each.name == name) return CounterEvent{.name = std::string(name), .type = each.type, .config = each.config};
  if (name.contains('/')) return of_pmu(name, machine, opened_on);
  if (const auto raw = name.starts_with('r') ? config::number<std::uint64_t>(name.substr(1), 16) : std::nullopt)
    return CounterEvent{.name = std::string(name), .type = PERF_TYPE_RAW, .config = *raw};
  return unknown(name);
}

} // namespace rtexec::hal
