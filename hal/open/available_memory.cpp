#include "hal/open/available_memory.hpp"

#include "config/base/text.hpp"
#include "hal/control_groups.hpp"

#include <algorithm>
#include <string_view>

namespace rtexec::hal {
namespace {

Bytes kibibytes(std::string_view text) { // "123 kB"
  return Bytes{config::number<std::uint64_t>(text.substr(0, text.find(' '))).value_or(0) * 1024};
}

/// True if the line is the first line of a mapping in /proc/self/smaps: "7f1234000-7f1235000 rw-p ...". The other lines
/// of a mapping begin with "Key:".
bool heads_mapping(std::string_view line) {
  const std::string_view first = line.substr(0, line.find(' '));
  return first.contains('-') && !first.contains(':');
}

bool accessible(std::string_view head) {
  const std::size_t rights = head.find(' ') + 1;
  return head.substr(rights, 3) != "---";
}

/// True for the shadow memory of a sanitizer, which is mapped without reserve and excluded from core dumps. Under a
/// sanitizer, mlockall() has no effect.
bool is_shadow(std::string_view flags) { return flags.contains("nr") && flags.contains("dd"); }

} // namespace

Result<Bytes> available_memory(const Machine& machine) {
  const auto text = machine.read("/proc/meminfo");
  if (!text) return Unexpected(text.error());
  const auto found = field(*text, "MemAvailable:");
  if (!found) return fail(Errc::unsupported, "/proc/meminfo has no MemAvailable: the kernel is older than 3.14.");
  return kibibytes(*found);
}

Bytes unlocked_memory(const Machine& machine) {
  const std::string smaps = machine.read("/proc/self/smaps").value_or("");
  Bytes unlocked, size, resident;
  bool counts = false;
  for (const std::string_view line : config::parts(smaps, '\n')) {
    if (heads_mapping(line)) counts = accessible(line);
    else if (const auto whole = field(line, "Size:")) size = kibibytes(*whole);
    else if (const auto present = field(line, "Rss:")) resident = kibibytes(*present);
    else if (const auto flags = field(line, "VmFlags:"); flags && counts && !is_shadow(*flags))
      unlocked += size - std::min(size, resident);
  }
  return unlocked;
}

Result<> check_available_memory(Bytes needed, const std::string& what, const Machine& machine) {
  const auto of_machine = available_memory(machine);
  if (!of_machine) return Unexpected(of_machine.error());
  const auto limit = memory_limit(machine);
  const bool by_group = limit && limit->left < *of_machine;
  const Bytes available = by_group ? limit->left : *of_machine;
  if (needed <= available) return {};
  return fail(Errc::refused, what + ": " + readable(needed) + " are needed, " + readable(available) +
                                 " are available to this process (" +
                                 (by_group ? "the limit in " + limit->file.string() + " is " + readable(limit->limit)
                                           : "MemAvailable in /proc/meminfo") +
                                 ").\nUse fewer or smaller tasks, end other programs, or raise the limit.");
}

} // namespace rtexec::hal
