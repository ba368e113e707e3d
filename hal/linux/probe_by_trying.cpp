#include "hal/idle_states.hpp"
#include "hal/linux/advice.hpp"
#include "hal/linux/probe.hpp"
#include "hal/resources.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

Finding fifo() {
  ThreadSettings settings;
  settings.name = "probe";
  settings.fifo_priority = 99;
  const auto thread = Thread::start(settings, [] {});
  return thread ? ok("SCHED_FIFO", "allowed, to priority 99") : refused("SCHED_FIFO", thread.error());
}

Finding deadline() {
  using namespace std::chrono_literals;
  ThreadSettings settings;
  settings.name = "probe";
  settings.reservation = Reservation{100us, 100ms, 100ms};
  const auto thread = Thread::start(settings, [] {});
  return thread ? ok("SCHED_DEADLINE", "allowed") : refused("SCHED_DEADLINE", thread.error());
}

bool can_lock_a_page() {
  const auto page = Mapping::anonymous(page_size(), PROT_READ | PROT_WRITE, 0, "the probe of locked memory");
  return page && sys().mlock(page->base(), page->size().count) == 0; // unlocked by unmapping
}

struct Counted {
  int error = 0;
  std::uint64_t count = 0;
};

/// Counts one event of this thread over a loop of at least a million instructions.
Counted count_event(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const FileDescriptor counter(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (counter.number() < 0) return {errno, 0};
  volatile std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 1'000'000; ++i) sum = sum + i;
  Counted counted;
  if (::read(counter.number(), &counted.count, sizeof counted.count) != sizeof counted.count) counted.error = errno;
  return counted;
}

std::string perf_advice(int error) {
  if (error == ENOENT || error == EOPNOTSUPP)
    return "The core has no hardware counter (a virtual machine without a PMU?), so its memory traffic cannot be "
           "counted. Budgets of memory bandwidth need an event that counts on this machine ([bandwidth] event), such "
           "as page-faults, a substitute for tests.";
  return counter_advice(1);
}

Finding hardware_counters() {
  const char* subject = "hardware counters";
  const Counted instructions = count_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
  if (instructions.error != 0)
    return note(subject, "cannot be opened: " + errno_text(instructions.error), perf_advice(instructions.error));
  const std::string state =
      std::to_string(instructions.count) + " instructions counted over a loop of at least 1000000";
  if (instructions.count >= 1'000'000) return ok(subject, state);
  return note(subject, state + ": they open, but do not count",
              "Another user may hold the PMU (the NMI watchdog: kernel.nmi_watchdog=0), or an emulator has none.");
}

Finding software_counters() {
  const Counted clock = count_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  if (clock.error != 0)
    return note("software counters", "cannot be opened: " + errno_text(clock.error), perf_advice(clock.error));
  if (clock.count == 0)
    return note("software counters", "open, but do not count", "Run without the sandbox that emulates them.");
  return ok("software counters", "open and count");
}

Finding idle_states() {
  const char* subject = "idle states";
  const auto held = ShallowIdle::hold();
  if (held) return ok(subject, "deep ones can be disabled");
  return held.error().code == Errc::unsupported ? ok(subject, held.error().what) : refused(subject, held.error());
}

Finding io_uring() {
  io_uring_params parameters{};
  const FileDescriptor ring(static_cast<int>(::syscall(SYS_io_uring_setup, 1, &parameters)));
  if (ring.number() >= 0) return ok("io_uring", "a ring opens");
  return note("io_uring", errno_text(errno),
              "Needs Linux 5.1, kernel.io_uring_disabled=0, and a container profile that allows it; files are read and "
              "written plainly otherwise.");
}

Finding timer_resolution() {
  timespec resolution{};
  if (::clock_getres(CLOCK_MONOTONIC, &resolution) != 0)
    return note("timer resolution", errno_text(errno), "CLOCK_MONOTONIC must be there.");
  const Duration step(resolution.tv_sec * 1'000'000'000 + resolution.tv_nsec);
  if (step <= std::chrono::microseconds(1)) return ok("timer resolution", to_string(step));
  return missing("timer resolution", to_string(step),
                 "Build the kernel with CONFIG_HIGH_RES_TIMERS, and boot without highres=off.");
}

bool in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

Finding lttng() {
  for (const char* program : {"lttng", "lttng-sessiond", "babeltrace2"}) {
    if (!in_path(program))
      return note("LTTng", std::string(program) + " is not in PATH",
                  "apt-get install lttng-tools babeltrace2, to record and read traces.");
  }
  return ok("LTTng", "lttng, lttng-sessiond and babeltrace2 are in PATH");
}

} // namespace

Finding memory_lock() {
  rlimit limit{};
  const bool unlimited = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
  if (!can_lock_a_page()) return missing("memory lock", "locking a page is refused", memory_lock_advice());
  if (has_capability(CAP_IPC_LOCK)) return ok("memory lock", "allowed without limit (CAP_IPC_LOCK)");
  if (unlimited) return ok("memory lock", "allowed without limit (RLIMIT_MEMLOCK)");
  return missing("memory lock", "limited to " + readable(Bytes{limit.rlim_cur}), memory_lock_advice());
}

std::vector<Finding> findings_by_trying() {
  std::vector<Finding> findings{fifo(),
                                deadline(),
                                memory_lock(),
                                idle_states(),
                                timer_resolution(),
                                hardware_counters(),
                                software_counters(),
                                io_uring(),
                                lttng()};
  for (Finding& finding : cameras()) findings.push_back(std::move(finding));
  return findings;
}

} // namespace rtexec::hal
