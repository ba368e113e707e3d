#include "hal/kernel.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <sstream>
#include <zlib.h>

namespace rtexec::hal {
namespace {

constexpr std::size_t max_config_bytes = std::size_t{4} << 20;

/// Unpacks gzip text. Returns an empty text if `packed` is not gzip, or if its text exceeds the size limit of a
/// configuration.
std::string unpacked(std::string_view packed) {
  constexpr int gzip_window = 16 + MAX_WBITS;
  z_stream stream{};
  if (::inflateInit2(&stream, gzip_window) != Z_OK) return {};
  std::string input(packed), text;
  // Machine::read() removes a final newline, which may be part of the data. A superfluous byte at the end does no harm
  input += '\n';
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  int state = Z_OK;
  while (state == Z_OK && text.size() < max_config_bytes) {
    std::array<Bytef, 1 << 14> piece;
    stream.next_out = piece.data();
    stream.avail_out = piece.size();
    state = ::inflate(&stream, Z_NO_FLUSH);
    text.append(piece.begin(), piece.end() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  return state == Z_STREAM_END ? text : std::string();
}

std::string version_of(const Machine& machine) { return machine.read("/proc/version").value_or(""); }

bool has_part(std::string_view text, std::string_view part, char separator) {
  const auto parts = config::parts(text, separator);
  return std::ranges::find(parts, part) != parts.end();
}

Preemption built_in(const KernelConfig& config) {
  constexpr std::pair<const char*, const char*> models[] = {
      {"PREEMPT_RT", "PREEMPT_RT"}, {"PREEMPT_RT_FULL", "PREEMPT_RT"},  {"PREEMPT", "full"},
      {"PREEMPT_LAZY", "lazy"},     {"PREEMPT_VOLUNTARY", "voluntary"}, {"PREEMPT_NONE", "none"}};
  for (const auto& [option, model] : models)
    if (config.has(option)) return {.model = model, .told = std::string("CONFIG_") + option};
  return {};
}

} // namespace

std::string in_force(const std::string& text) {
  const auto open = text.find_first_of("(["), close = text.find_first_of(")]");
  return open == text.npos || close == text.npos || close < open ? text : text.substr(open + 1, close - open - 1);
}

Result<KernelConfig> KernelConfig::of(const Machine& machine) {
  if (const auto packed = machine.read("/proc/config.gz"))
    if (std::string text = unpacked(*packed); !text.empty()) return KernelConfig(std::move(text));
  auto text = machine.read("/boot/config-" + machine.read("/proc/sys/kernel/osrelease").value_or(""));
  if (!text) return Unexpected(text.error());
  return KernelConfig(std::move(*text));
}

bool KernelConfig::has(std::string_view name) const {
  return has_part(text_, "CONFIG_" + std::string(name) + "=y", '\n');
}

Preemption preemption_of(const Machine& machine) {
  if (machine.read("/sys/kernel/realtime").value_or("0") == "1")
    return {.model = "PREEMPT_RT", .told = "/sys/kernel/realtime"};
  const std::string version = version_of(machine);
  if (version.contains("PREEMPT_RT") || version.contains("PREEMPT RT"))
    return {.model = "PREEMPT_RT", .told = "/proc/version"};
  if (const auto model = machine.read("/sys/kernel/debug/sched/preempt"))
    return {.model = in_force(*model), .told = "/sys/kernel/debug/sched/preempt"};
  if (version.contains("PREEMPT_DYNAMIC"))
    if (const auto model = boot_value(boot_words(machine), "preempt"))
      return {.model = *model, .told = "/proc/cmdline"};
  if (const auto config = KernelConfig::of(machine))
    if (Preemption found = built_in(*config); !found.model.empty()) return found;
  if (has_part(version, "PREEMPT", ' ')) return {.model = "full", .told = "/proc/version"};
  return {};
}

bool has_fair_server(const Machine& machine) {
  int major = 0, minor = 0;
  char dot = 0;
  std::istringstream(machine.read("/proc/sys/kernel/osrelease").value_or("")) >> major >> dot >> minor;
  return major > 6 || (major == 6 && minor >= 12);
}

std::vector<std::string> boot_words(const Machine& machine) {
  std::vector<std::string> words;
  const std::string line = machine.read("/proc/cmdline").value_or("");
  for (const auto word : config::parts(line, ' ')) words.emplace_back(word);
  return words;
}

std::optional<std::string> boot_value(const std::vector<std::string>& words, std::string_view name) {
  const std::string begin = std::string(name) + "=";
  for (const std::string& word : std::views::reverse(words))
    if (word.starts_with(begin)) return word.substr(begin.size());
  return std::nullopt;
}

} // namespace rtexec::hal
