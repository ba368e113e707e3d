#include "hal/machine_files.hpp"

#include "config/base/text.hpp"
#include "hal/linux/advice.hpp"
#include "hal/resources.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

Result<std::string> read_all(const FileDescriptor& file, const std::string& name) {
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = sys().read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return call_failed("reading " + name, errno);
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<unsigned> parse_core(std::string_view text) {
  if (const auto value = config::number<unsigned>(text)) return *value;
  return fail(Errc::bad_input, "\"" + std::string(text) + "\" is not a core.");
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Returns field `number` of /proc/PID/stat, counted as in proc(5). Only for fields behind the process name, which is
/// in parentheses.
std::optional<std::uint64_t> stat_field(std::string_view stat, std::size_t number) {
  const auto fields = split(stat.substr(std::min(stat.rfind(')') + 1, stat.size())), ' '); // the first is empty
  return number - 2 < fields.size() ? config::number<std::uint64_t>(fields[number - 2]) : std::nullopt;
}

/// Returns the cores of a list; empty if the text is no list.
std::vector<unsigned> cores_in(const std::string& text) {
  return parse_core_list(text).value_or(std::vector<unsigned>{});
}

std::vector<unsigned> all_cores(const Machine& machine) {
  return cores_in(machine.read("/sys/devices/system/cpu/online").value_or("0"));
}

/// Returns the isolated cores, including offline ones.
std::vector<unsigned> listed_as_isolated(const Machine& machine) {
  return cores_in(machine.read("/sys/devices/system/cpu/isolated").value_or(""));
}

/// Returns the cores that this process may use. A process starts on all cores that are not isolated, and may move to
/// isolated cores. If the affinity mask contains all cores that are not isolated, neither taskset nor a cpuset limits
/// the process. Then all online cores are returned, including isolated cores. Otherwise the cores of the mask are
/// returned.
std::vector<unsigned> allowed_cores(const Machine& machine) {
  const auto allowed =
      cores_in(field(machine.read("/proc/self/status").value_or(""), "Cpus_allowed_list:").value_or(""));
  const auto online = all_cores(machine);
  const auto isolated = listed_as_isolated(machine);
  std::vector<unsigned> others;
  std::ranges::set_difference(online, isolated, std::back_inserter(others));
  return !others.empty() && std::ranges::includes(allowed, others) ? online : allowed;
}

} // namespace

std::string machine_name() {
  utsname system{};
  if (::uname(&system) != 0) return "unknown";
  return std::string(system.machine) + ", " + std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) + " cores, Linux " +
         system.release;
}

Result<std::vector<unsigned>> parse_core_list(std::string_view text) {
  constexpr unsigned limit = 1 << 16; // bound on core numbers in a list of the kernel
  std::vector<unsigned> cores;
  for (const auto part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto first = parse_core(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_core(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= limit) {
      return fail(Errc::bad_input, "\"" + std::string(text) + "\" is not a list of cores such as 0-2,5.");
    }
    for (unsigned core = *first; core <= *last; ++core) cores.push_back(core);
  }
  return cores;
}

std::string core_list(const std::vector<unsigned>& cores) {
  std::string text;
  for (std::size_t first = 0; first < cores.size();) {
    std::size_t last = first;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cores[first]);
    if (last > first) text += '-' + std::to_string(cores[last]);
    first = last + 1;
  }
  return text;
}

std::optional<std::string> field(std::string_view text, std::string_view key) {
  for (const auto line : split(text, '\n')) {
    if (!line.starts_with(key)) continue;
    const auto value = line.find_first_not_of(" \t", key.size());
    return value == line.npos ? std::string() : std::string(line.substr(value));
  }
  return std::nullopt;
}

Machine::Machine(std::filesystem::path root) : root_(std::move(root)) {}

std::vector<unsigned> Machine::online_cores() const {
  const auto online = all_cores(*this), allowed = allowed_cores(*this);
  std::vector<unsigned> usable;
  std::ranges::set_intersection(online, allowed, std::back_inserter(usable));
  if (!usable.empty()) return usable;
  return online.empty() ? std::vector<unsigned>{0} : online;
}

std::vector<unsigned> Machine::withheld_cores() const {
  const auto online = all_cores(*this), usable = online_cores();
  std::vector<unsigned> withheld;
  std::ranges::set_difference(online, usable, std::back_inserter(withheld));
  return withheld;
}

std::vector<unsigned> Machine::isolated_cores() const {
  const auto all = listed_as_isolated(*this), usable = online_cores();
  std::vector<unsigned> isolated;
  std::ranges::set_intersection(all, usable, std::back_inserter(isolated));
  return isolated;
}

Result<std::string> Machine::read(const std::filesystem::path& path) const {
  const std::string name = under_root(path).string();
  const FileDescriptor file(sys().open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() >= 0) return read_all(file, name);
  const int error = errno;
  return call_failed("opening " + name, error,
                     error == EACCES ? "Run as root, or have the file opened to this user's group." : "",
                     error == ENOENT || error == ENOTDIR ? Errc::unsupported : Errc::refused);
}

Result<> Machine::send(const std::filesystem::path& path, std::string_view command) const {
  const std::string name = under_root(path).string();
  const std::string what = "writing \"" + std::string(command) + "\" to " + name;
  const FileDescriptor file(sys().open(name.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (file.number() < 0) {
    const int error = errno;
    return call_failed(
        what, error,
        error == EACCES || error == EROFS ? "Run as root, outside of containers that mount it read-only." : "",
        error == ENOENT || error == ENOTDIR ? Errc::unsupported : Errc::refused);
  }
  const ssize_t written = sys().write(file.number(), command.data(), command.size());
  if (written < 0) return call_failed(what, errno);
  if (static_cast<std::size_t>(written) != command.size())
    return fail(Errc::refused, what + ": only a part was taken.");
  return {};
}

long Machine::page_faults(int kernel_id) const {
  const auto stat = read("/proc/self/task/" + std::to_string(kernel_id) + "/stat");
  if (!stat) return 0;
  return static_cast<long>(stat_field(*stat, 10).value_or(0) + stat_field(*stat, 12).value_or(0));
}

Result<> Machine::write(const std::filesystem::path& path, std::string_view value) const {
  if (auto sent = send(path, value); !sent) return sent;
  const auto found = read(path);
  if (!found) return Unexpected(found.error());
  if (*found == value) return {};
  return fail(Errc::refused, "writing \"" + std::string(value) + "\" to " + under_root(path).string() +
                                 " was accepted, but it then reads \"" + *found + "\".");
}

Result<FrequencyLock> Machine::lock_frequency(std::span<const unsigned> cores) const {
  FrequencyLock lock;
  for (const unsigned core : cores) {
    const std::filesystem::path folder = "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq";
    const auto governors = read(folder / "scaling_available_governors");
    if (!governors && governors.error().code == Errc::unsupported) continue;
    if (!governors) return Unexpected(governors.error());
    if ((" " + *governors + " ").find(" performance ") == std::string::npos)
      return fail(
          Errc::refused,
          "Core " + std::to_string(core) + " has no governor \"performance\", only: " + *governors +
              "\nLoad the module cpufreq_performance, or build the kernel with CONFIG_CPU_FREQ_GOV_PERFORMANCE.");
    const auto before = read(folder / "scaling_governor");
    if (!before) return Unexpected(before.error());
    if (*before == "performance") continue;
    lock.before_.push_back({under_root(folder / "scaling_governor"), *before});
    if (const auto written = write(folder / "scaling_governor", "performance"); !written)
      return fail(written.error().code,
                  written.error().what.substr(0, written.error().what.find('\n')) + '\n' + frequency_advice());
  }
  return lock;
}

FrequencyLock::~FrequencyLock() {
  // A destructor cannot report an error; probe() shows the governors in force.
  for (const Governor& governor : before_) static_cast<void>(Machine("/").write(governor.file, governor.name));
}

} // namespace rtexec::hal
