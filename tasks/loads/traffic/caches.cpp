#include "tasks/loads/traffic/caches.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace rtexec::tasks {
namespace {

constexpr Bytes mebi{1 << 20};
constexpr Bytes min_sweep = mebi * 16;
constexpr Bytes max_sweep = mebi * 256;
constexpr Bytes usual_sweep = mebi * 64;
constexpr unsigned max_indices = 16; // maximum number of caches of a core that are read

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return {};
  const std::string_view unit(end, text.data() + text.size());
  if (unit.empty()) return value;
  if (unit == "K") return value << 10;
  if (unit == "M") return value << 20;
  return {};
}

struct Cache {
  std::uint64_t level = 0;
  Bytes size;
  Bytes line;
};

/// Returns cache number `index` of a core. Returns nullopt if the cache does not exist or is an instruction cache.
std::optional<Cache> read_cache(const hal::Machine& machine, unsigned core, unsigned index) {
  const std::string folder =
      "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index" + std::to_string(index) + "/";
  const auto value = [&](const char* name) { return number(machine.read(folder + name).value_or("")); };
  const auto level = value("level"), size = value("size");
  if (!level || !size || machine.read(folder + "type").value_or("") == "Instruction") return {};
  return Cache{*level, {*size}, {value("coherency_line_size").value_or(0)}};
}

} // namespace

CacheFacts cache_facts(const hal::Machine& machine) {
  CacheFacts facts;
  for (const auto core : machine.online_cores()) {
    Cache last;
    for (unsigned index = 0; index < max_indices; ++index)
      if (const auto cache = read_cache(machine, core, index); cache && cache->level >= last.level) last = *cache;
    if (last.size <= facts.last_level) continue;
    facts.last_level = last.size;
    facts.line = last.line > Bytes{0} ? last.line : CacheFacts().line;
  }
  return facts;
}

Bytes sweep_size(const CacheFacts& caches) {
  if (caches.last_level == Bytes{0}) return usual_sweep;
  return std::clamp(caches.last_level * 4, min_sweep, std::max(max_sweep, caches.last_level * 2));
}

} // namespace rtexec::tasks
