#include "rtexec/runtime/json/machine_json.hpp"

#include "config/base/files.hpp"
#include "config/base/text.hpp"
#include <rtexec/planning.hpp>

#include <algorithm>

namespace rtexec {

using nlohmann::json;

namespace {

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;
constexpr unsigned last_core = 1023; // the highest core number that a cpu_set_t can hold

std::string text_of(const json& facts, const char* key) {
  const auto found = facts.find(key);
  return found != facts.end() && found->is_string() ? config::escaped(found->get<std::string>()) : std::string();
}

bool is_core(const json& value) { return value.is_number_unsigned() && value.get<std::uint64_t>() <= last_core; }

/// Returns the list of cores at `key`. Returns an empty list if the value is not a strictly ascending list of cores.
std::vector<unsigned> cores_of(const json& facts, const char* key) {
  const auto found = facts.find(key);
  if (found == facts.end() || !found->is_array() || !std::ranges::all_of(*found, is_core)) return {};
  auto cores = found->get<std::vector<unsigned>>();
  return std::ranges::adjacent_find(cores, std::ranges::greater_equal{}) == cores.end() ? cores
                                                                                        : std::vector<unsigned>{};
}

const char* name(Condition::Standing standing) {
  switch (standing) {
  case Condition::Standing::holds: return "holds";
  case Condition::Standing::against: return "against";
  case Condition::Standing::unknown: return "unknown";
  }
  return "?";
}

/// Returns the conditions in the file, and ignores invalid elements.
std::vector<Condition> conditions_of(const json& facts) {
  std::vector<Condition> conditions;
  const auto found = facts.find("disturbances");
  if (found == facts.end() || !found->is_array()) return conditions;
  for (const json& each : *found)
    for (const auto standing : {Condition::Standing::holds, Condition::Standing::against, Condition::Standing::unknown})
      if (each.is_object() && text_of(each, "standing") == name(standing))
        conditions.push_back({text_of(each, "supposed"), standing, text_of(each, "known")});
  return conditions;
}

} // namespace

json to_json(const std::vector<Condition>& conditions) {
  json list = json::array();
  for (const Condition& each : conditions)
    list.push_back({{"supposed", each.supposed}, {"standing", name(each.standing)}, {"known", each.known}});
  return list;
}

json to_json(const MachineFacts& machine) {
  return {{"name", machine.name},
          {"cores", machine.cores},
          {"withheld_cores", machine.withheld},
          {"isolated_cores", machine.isolated},
          {"no_fifo", machine.no_fifo},
          {"no_deadline", machine.no_deadline},
          {"no_memory_lock", machine.no_memory_lock},
          {"disturbances", to_json(machine.disturbances)},
          {"device_memory_bytes", machine.device_memory.count}};
}

Result<MachineFacts> read_machine(const std::filesystem::path& file) {
  const auto text = config::read_file(file, max_file_bytes);
  if (!text) return Unexpected(text.error());
  const json probed = json::parse(*text, nullptr, false);
  if (probed.is_array())
    for (const json& finding : probed) {
      if (!finding.is_object() || !finding.contains("machine") || !finding["machine"].is_object()) continue;
      const json& facts = finding["machine"];
      MachineFacts machine{.name = text_of(facts, "name"),
                           .cores = cores_of(facts, "cores"),
                           .withheld = cores_of(facts, "withheld_cores"),
                           .isolated = cores_of(facts, "isolated_cores"),
                           .no_fifo = text_of(facts, "no_fifo"),
                           .no_deadline = text_of(facts, "no_deadline"),
                           .no_memory_lock = text_of(facts, "no_memory_lock"),
                           .disturbances = conditions_of(facts),
                           .here = false};
      if (const auto memory = facts.find("device_memory_bytes"); memory != facts.end() && memory->is_number_unsigned())
        machine.device_memory = Bytes{memory->get<std::uint64_t>()};
      if (!machine.cores.empty()) return machine;
    }
  return fail(
      Errc::bad_input,
      file.string() + ": error: it describes no machine: write it on that machine with `rtexec probe --json FILE`");
}

} // namespace rtexec
