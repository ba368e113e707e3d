#include "config/base/process.hpp"

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace rtexec::config {

namespace {

std::uint64_t own_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/// Returns the start time of a process: field 22 of /proc/PID/stat, the 20th field behind the name. Returns nullopt if
/// the process has ended.
std::optional<std::uint64_t> start_of(std::uint32_t number) {
  std::ifstream file("/proc/" + std::to_string(number) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto name = text.rfind(')');
  if (name == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name + 1));
  std::string each;
  for (int field = 3; field < 22; ++field) fields >> each;
  std::uint64_t start = 0;
  return fields >> start ? std::optional(start) : std::nullopt;
}

} // namespace

Process Process::self() {
  const auto number = static_cast<std::uint32_t>(::getpid());
  return {.number = number, .start = start_of(number).value_or(0), .name_space = own_namespace()};
}

bool Process::of_this_namespace() const { return name_space == own_namespace(); }

bool Process::alive() const { return !of_this_namespace() || start_of(number) == start; }

} // namespace rtexec::config
