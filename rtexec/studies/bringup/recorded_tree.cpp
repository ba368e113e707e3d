#include "rtexec/studies/bringup/recorded_tree.hpp"

#include "config/base/files.hpp"
#include "config/base/output_path.hpp"
#include "hal/board/board_findings.hpp"
#include "hal/resources.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <system_error>

namespace rtexec::bringup {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_bytes = std::size_t{64} << 10;
constexpr std::size_t max_config_bytes = std::size_t{1} << 20;

/// Patterns of files to record in addition to the files that the board's file names. "*" stands for any text, "#" for
/// a number.
constexpr const char* patterns[] = {
    "/proc/cpuinfo",
    "/proc/cmdline",
    "/proc/version",
    "/proc/mounts",
    "/proc/swaps",
    "/proc/stat",
    "/proc/meminfo",
    "/proc/interrupts",
    "/proc/timer_list",
    "/proc/self/status",
    "/proc/self/cgroup",
    "/proc/device-tree/compatible",
    "/proc/device-tree/model",
    "/proc/driver/nvidia/version",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version",
    "/proc/sys/kernel/sched_*",
    "/proc/sys/kernel/perf_*",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/watchdog*",
    "/proc/sys/kernel/io_uring_disabled",
    "/proc/sys/vm/stat_interval",
    "/sys/kernel/debug/bpmp/debug/clk/emc/m*_rate",
    "/sys/kernel/realtime",
    "/sys/kernel/debug/sched/*",
    "/sys/kernel/debug/sched/fair_server/cpu#/*",
    "/sys/kernel/mm/transparent_hugepage/*",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/bios_version",
    "/sys/class/thermal/thermal_zone#/*",
    "/sys/class/thermal/cooling_device#/*",
    "/sys/class/hwmon/hwmon#/*",
    "/sys/class/devfreq/*/*",
    "/sys/bus/i2c/drivers/ina3221*/*/hwmon/hwmon#/*",
    "/sys/bus/i2c/drivers/ina3221*/*/iio:device#/*",
    "/sys/bus/event_source/devices/*/*",
    "/sys/bus/event_source/devices/*/events/*",
    "/sys/bus/event_source/devices/*/format/*",
    "/sys/bus/event_source/devices/*/caps/*",
    "/sys/devices/system/clocksource/clocksource0/*",
    "/sys/devices/system/cpu/*",
    "/sys/devices/system/cpu/smt/*",
    "/sys/devices/system/cpu/cpufreq/*",
    "/sys/devices/system/cpu/cpuidle/*",
    "/sys/devices/system/cpu/cpu#/*",
    "/sys/devices/system/cpu/cpu#/cpufreq/*",
    "/sys/devices/system/cpu/cpu#/cpuidle/state#/*",
    "/sys/devices/system/cpu/cpu#/cache/index#/*",
    "/sys/devices/system/cpu/cpu#/topology/*",
    "/sys/devices/system/cpu/cpu#/regs/identification/*",
    "/sys/fs/cgroup/cgroup.controllers",
    "/sys/fs/cgroup/cpuset.*",
    "/sys/fs/cgroup/*/cpuset.sched_load_balance",
    "/sys/fs/cgroup/*/cpu.rt_*",
};

bool is_config(const fs::path& file) { return file == "/proc/config.gz" || file.string().starts_with("/boot/config-"); }

void add(std::set<fs::path>& files, const std::vector<fs::path>& more) { files.insert(more.begin(), more.end()); }

std::set<fs::path> wanted_files(const Board& board, const hal::Machine& machine) {
  std::set<fs::path> files;
  for (const char* pattern : patterns) add(files, hal::files_like(pattern, machine));
  for (const ClockFacts& clock : board.clocks)
    for (const BoardPaths* paths :
         {&clock.rate, &clock.lowest, &clock.highest, &clock.set, &clock.lock, &clock.possible, &clock.cap})
      add(files, hal::files_of(*paths, machine));
  for (const SensorFacts& sensor : board.sensors)
    for (const BoardPaths* paths : {&sensor.value, &sensor.limit}) add(files, hal::files_of(*paths, machine));
  files.insert("/proc/config.gz");
  files.insert("/boot/config-" + machine.read("/proc/sys/kernel/osrelease").value_or(""));
  return files;
}

/// True if all symbolic links on the path of `file` lead to paths below one of the recorded folders.
bool stays_inside(const fs::path& file, const hal::Machine& machine) {
  std::error_code error;
  const fs::path root = fs::canonical(machine.under_root("/"), error);
  const std::string target = fs::canonical(machine.under_root(file), error).string();
  if (error) return false;
  return std::ranges::any_of(std::array{"sys/", "proc/", "boot/"},
                             [&](const char* folder) { return target.starts_with((root / folder).string()); });
}

bool is_text(std::string_view content) {
  // Texts in a device tree end with a NUL character
  return std::ranges::none_of(content, [](unsigned char c) {
    return (c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\0') || c == 0x7f;
  });
}

/// Returns the contents of `file`, or the reason why it cannot be recorded. `most` is the maximum size in bytes.
Expected<std::string, std::string> content_of(const fs::path& file, std::size_t most, const hal::Machine& machine) {
  const std::string name = machine.under_root(file).string();
  const hal::FileDescriptor opened(hal::sys().open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (opened.number() < 0) return Unexpected(hal::errno_text(errno));
  std::string content(most + 1, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = hal::sys().read(opened.number(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Unexpected(hal::errno_text(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > most) return Unexpected("more than " + readable(Bytes{most}));
  content.resize(size);
  return content;
}

/// Removes the serial number that the boot loaders of boards pass to the kernel: androidboot.serialno=...
std::string without_serial_number(std::string words) {
  const std::string_view key = "serialno=";
  for (std::size_t at = words.find(key); at != words.npos; at = words.find(key, at + key.size()))
    words.erase(at + key.size(), words.find_first_of(" \n", at) - at - key.size());
  return words;
}

bool is_regular(const fs::path& file, const hal::Machine& machine) {
  std::error_code error;
  return fs::is_regular_file(machine.under_root(file), error);
}

Expected<std::string, std::string> recordable(const fs::path& file, const hal::Machine& machine) {
  if (!stays_inside(file, machine)) return Unexpected(std::string("leads out of /sys and /proc"));
  auto content = content_of(file, is_config(file) ? max_config_bytes : max_bytes, machine);
  if (content && !is_config(file) && !is_text(*content)) return Unexpected(std::string("is no text"));
  if (content && file == "/proc/cmdline") return without_serial_number(std::move(*content));
  return content;
}

Result<> put(const fs::path& target, std::string_view content) {
  if (const auto made = config::make_output_folder(target.parent_path()); !made) return Unexpected(made.error());
  auto file = AtomicFile::create(target);
  if (!file) return Unexpected(file.error());
  if (auto written = file->write(std::as_bytes(std::span(content))); !written) return written;
  return file->replace();
}

} // namespace

Result<Recording> record(const Board& board, const hal::Machine& machine, const fs::path& folder) {
  Recording recording;
  std::string unrecorded;
  for (const fs::path& file : wanted_files(board, machine)) {
    if (!is_regular(file, machine)) continue;
    const auto content = recordable(file, machine);
    if (!content) {
      unrecorded += file.string() + ": " + content.error() + "\n";
      ++recording.unrecorded;
      continue;
    }
    if (const auto written = put(folder / file.relative_path(), *content); !written) return Unexpected(written.error());
    ++recording.recorded;
  }
  if (const auto written = put(folder / unrecorded_file, unrecorded); !written) return Unexpected(written.error());
  return recording;
}

} // namespace rtexec::bringup
