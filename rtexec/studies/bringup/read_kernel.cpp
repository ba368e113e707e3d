#include "config/base/text.hpp"
#include "hal/board/board_findings.hpp"
#include "hal/kernel.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/read.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <sys/prctl.h>
#include <time.h>

namespace rtexec::bringup {

namespace {

std::string release(const Subject& subject) {
  return "Linux " + subject.machine.read("/proc/sys/kernel/osrelease").value_or("of an unknown release");
}

/// Returns the list of cores in a value such as "managed_irq,domain,1-5", that is, the text after the flags.
std::string_view without_flags(std::string_view value) {
  const auto first = value.find_first_of("0123456789");
  const bool begins = first == 0 || (first != value.npos && value[first - 1] == ',');
  return begins ? value.substr(first) : std::string_view{};
}

/// True if one of the consoles in `words` is on the device of `word`. The device is the text before the first comma.
bool has_console(const std::vector<std::string>& words, std::string_view word) {
  const auto device = [](std::string_view text) { return text.substr(0, text.find(',')); };
  return std::ranges::any_of(words, [&](const std::string& each) { return device(each) == device(word); });
}

/// True if the kernel was booted with `word`, or with an equivalent word. If an option occurs several times, its last
/// value counts.
bool booted_with(const std::vector<std::string>& words, const std::string& word) {
  const auto equals = word.find('=');
  if (equals == word.npos) return std::ranges::find(words, word) != words.end();
  if (word.starts_with("console=")) return has_console(words, word);
  const std::string value = word.substr(equals + 1);
  const auto booted = hal::boot_value(words, word.substr(0, equals));
  if (!booted || *booted == value) return booted.has_value();
  const auto wanted = hal::parse_core_list(value), found = hal::parse_core_list(without_flags(*booted));
  return wanted && found && *wanted == *found;
}

std::vector<unsigned> cores_in(const Subject& subject, const char* file) {
  return hal::parse_core_list(subject.machine.read(file).value_or("")).value_or(std::vector<unsigned>{});
}

std::vector<unsigned> lacking(const std::vector<unsigned>& wanted, const std::vector<unsigned>& there) {
  std::vector<unsigned> cores;
  std::ranges::set_difference(wanted, there, std::back_inserter(cores));
  return cores;
}

std::string listed(const std::vector<unsigned>& cores) { return cores.empty() ? "none" : hal::core_list(cores); }

/// True if the timers of at least one core have only tick resolution. Returns nullopt if the kernel does not show the
/// resolution.
std::optional<bool> ticking(const Subject& subject) {
  const auto list = subject.machine.read("/proc/timer_list");
  if (!list) return std::nullopt;
  std::optional<bool> found;
  for (const auto line : config::parts(*list, '\n'))
    if (line.contains(".hres_active")) found = found.value_or(false) || line.ends_with(" 0");
  return found;
}

constexpr Duration shortest_sleep = std::chrono::microseconds(50);

/// Sets this thread's timer slack to 1 ns while the object lives. With the default slack, the kernel may delay a
/// wake-up by 50 us to wake several threads at once.
class NoSlack {
 public:
  NoSlack() : before_(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) { ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }
  ~NoSlack() { ::prctl(PR_SET_TIMERSLACK, before_, 0, 0, 0); }
  NoSlack(const NoSlack&) = delete;
  NoSlack& operator=(const NoSlack&) = delete;

 private:
  int before_;
};

/// Returns the shortest time by which one of several short sleeps exceeded its requested length.
Duration min_oversleep() {
  const NoSlack no_slack;
  constexpr int sleeps = 40;
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return Duration(time.tv_sec * 1'000'000'000 + time.tv_nsec);
  };
  Duration least = Duration::max();
  for (int i = 0; i < sleeps; ++i) {
    const Duration before = now();
    const timespec length{.tv_sec = 0, .tv_nsec = shortest_sleep.count()};
    if (::clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr) == 0)
      least = std::min(least, now() - before - shortest_sleep);
  }
  return least;
}

} // namespace

Answer preemption(const Subject& subject) {
  const hal::Preemption found = hal::preemption_of(subject.machine);
  const std::string kernel = release(subject);
  if (found.model == "PREEMPT_RT") return passed(found.model + ", " + kernel);
  if (found.model == "full" || found.model == "lazy")
    return passed(found.model + " preemption, and no PREEMPT_RT: the release latency decides; " + kernel);
  if (found.model.empty())
    return skipped(kernel + " shows no preemption model: mount -t debugfs none /sys/kernel/debug");
  return failed(
      "preemption is \"" + found.model + "\" (" + found.told + "): a system call delays real-time threads; " + kernel,
      "A PREEMPT_RT kernel bounds latencies (Debian: linux-image-rt-amd64 or -arm64).\n"
      "With CONFIG_PREEMPT_DYNAMIC: boot with preempt=full. Otherwise build the kernel with CONFIG_PREEMPT.");
}

Answer command_line(const Subject& subject) {
  const std::string line = hal::kernel_command_line(subject.board);
  if (line.empty())
    return skipped("the file of board '" + subject.board.name + "' has no requirement on the kernel's command line");
  const auto booted = hal::boot_words(subject.machine);
  if (booted.empty()) return skipped("/proc/cmdline cannot be read");
  std::string missing;
  for (const auto part : config::parts(line, ' '))
    if (const std::string word(part); !booted_with(booted, word)) missing += (missing.empty() ? "" : " ") + word;
  if (missing.empty()) return passed("has all options that the board's file requires: " + line);
  return failed(
      "lacks " + missing,
      "Boot with " + missing +
          "\nOn L4T: after APPEND in /boot/extlinux/extlinux.conf. The whole line: rtexec config --command-line " +
          subject.board.name);
}

Answer isolation(const Subject& subject) {
  const auto isolated = cores_in(subject, "/sys/devices/system/cpu/isolated");
  const auto tickless = cores_in(subject, "/sys/devices/system/cpu/nohz_full");
  const std::string state = "isolated: " + listed(isolated) + "; tickless: " + listed(tickless);
  const auto& wanted = subject.board.boot.isolated_cores;
  if (wanted.empty() && isolated.empty())
    return skipped("the file of board '" + subject.board.name + "' requires no isolated cores (" + state +
                   "): the release latency decides");
  const auto busy = lacking(wanted, isolated), ticks = lacking(wanted, tickless);
  if (busy.empty() && ticks.empty()) return passed(state);
  Board isolating = subject.board;
  isolating.boot.command_line.clear();
  std::string advice = "Boot with " + hal::kernel_command_line(isolating);
  const auto config = hal::KernelConfig::of(subject.machine);
  if (!ticks.empty() && config && !config->has("NO_HZ_FULL"))
    advice += "\nnohz_full needs a kernel with CONFIG_NO_HZ_FULL, which this kernel lacks.";
  return failed(state + "; the board's file requires " + listed(wanted), advice);
}

Answer timers(const Subject& subject) {
  const char* advice = "Build the kernel with CONFIG_HIGH_RES_TIMERS, and boot without highres=off.";
  const auto by_tick = ticking(subject);
  if (by_tick && *by_tick)
    return failed("timers of some cores have only the resolution of ticks (/proc/timer_list)", advice);
  timespec resolution{};
  ::clock_getres(CLOCK_MONOTONIC, &resolution);
  const Duration step(resolution.tv_sec * 1'000'000'000 + resolution.tv_nsec);
  const std::string state = "steps of " + readable(step);
  if (step > std::chrono::microseconds(1)) return failed(state, advice);
  if (subject.emulated) return by_tick ? passed(state + ", high resolution on each core") : skipped_in_emulator();
  const Duration late = min_oversleep();
  std::vector<Figure> figures{
      {.name = "least oversleep", .value = std::chrono::duration<double, std::micro>(late).count(), .unit = "us"}};
  const std::string slept =
      state + "; sleeps of " + readable(shortest_sleep) + " are " + readable(late) + " too long at least";
  constexpr Duration half_a_tick = std::chrono::microseconds(500); // half a tick at 1 kHz
  if (late >= half_a_tick) return failed(slept, advice, std::move(figures));
  return passed(slept, std::move(figures));
}

} // namespace rtexec::bringup
