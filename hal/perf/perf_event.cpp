#include "hal/perf/perf_event.hpp"

#include "hal/linux/advice.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

constexpr std::uint64_t never = std::uint64_t{1} << 60; // a sampling period that no run reaches

perf_event_attr attributes_of(const CounterEvent& event, bool tells, bool trap) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.exclude_hv = 1;
  if (!tells) return attributes;
  attributes.sample_period = never;
  attributes.wakeup_events = 1;
  attributes.sigtrap = trap;
  attributes.remove_on_exec = trap;
  return attributes;
}

Unexpected<Error> refusal(const CounterEvent& event, std::optional<unsigned> core, int error) {
  const std::string what = "counting " + event.name + (core ? " on core " + std::to_string(*core) : " of a thread");
  switch (error) {
  case EACCES:
  case EPERM: return call_failed(what, error, counter_advice(core ? 0 : 2));
  case ENOENT:
  case EOPNOTSUPP:
  case ENXIO:
    return call_failed(what, error, "This machine has no such event; `rtexec probe` shows which it has.",
                       Errc::unsupported);
  case ENODEV:
    return call_failed(what, error,
                       core ? "The core is offline, or its cluster sleeps: bring it online, or leave it out." : "",
                       Errc::unsupported);
  case EBUSY:
    return call_failed(what, error, "Another program holds the counter (the NMI watchdog: kernel.nmi_watchdog=0).");
  default: return call_failed(what, error, "", error == EINVAL ? Errc::unsupported : Errc::refused);
  }
}

/// Opens the event. If the kernel refuses, opens the event without counting kernel code, which needs fewer privileges.
FileDescriptor open_file(perf_event_attr attributes, std::optional<unsigned> core) {
  const auto attempt = [&] {
    return FileDescriptor(
        sys().perf_event_open(&attributes, core ? -1 : 0, core ? static_cast<int>(*core) : -1, PERF_FLAG_FD_CLOEXEC));
  };
  FileDescriptor opened = attempt();
  if (opened.number() >= 0 || (errno != EACCES && errno != EPERM)) return opened;
  attributes.exclude_kernel = 1;
  return attempt();
}

/// Moves the calling thread to `core` for the lifetime of this object, if the thread may run there. Some PMUs' drivers
/// (Denver's) open an event for a core only if the calling thread runs on that core.
class Visit {
 public:
  explicit Visit(std::optional<unsigned> core) noexcept {
    if (!core || sys().sched_getaffinity(0, sizeof home_, &home_) != 0) return;
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(*core, &there);
    away_ = sys().sched_setaffinity(0, sizeof there, &there) == 0;
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    if (away_) static_cast<void>(sys().sched_setaffinity(0, sizeof home_, &home_)); // the previous affinity
  }

 private:
  cpu_set_t home_;
  bool away_ = false;
};

} // namespace

int PerfEvent::old_signal() noexcept { return SIGRTMIN + 5; }

Result<PerfEvent> PerfEvent::open(const CounterEvent& event, std::optional<unsigned> core, Tells tells) {
  PerfEvent opened;
  if (core && event.counted_on) core = event.counted_on;
  const Visit visit(core ? event.counted_on : std::nullopt);
  const bool trap = tells == Tells::signal;
  opened.file_ = open_file(attributes_of(event, tells != Tells::nothing, trap), core);
  const bool old_kernel = trap && opened.file() < 0 && (errno == EINVAL || errno == E2BIG);
  if (old_kernel) opened.file_ = open_file(attributes_of(event, true, false), core);
  if (opened.file() < 0) return refusal(event, core, errno);
  if (old_kernel && sys().signal_owner(opened.file(), old_signal(), ::gettid()) != 0)
    return call_failed("asking for a signal of " + event.name, errno);
  if (tells != Tells::poll) return opened;
  auto ring = Mapping::of_file(opened.file(), page_size() + page_size(), PROT_READ | PROT_WRITE, MAP_SHARED,
                               "the notices of a counter");
  if (!ring) return Unexpected(ring.error());
  opened.ring_ = std::move(*ring);
  // Reads and writes the ring once here. Most kernels map the pages of the ring only at the first access, which must
  // not happen on a real-time thread
  opened.clear();
  return opened;
}

Expected<std::uint64_t, Errc> PerfEvent::count() const noexcept {
  std::uint64_t value = 0;
  for (;;) {
    const ssize_t got = sys().read(file(), &value, sizeof value);
    if (got == sizeof value) return value;
    if (got < 0 && errno == EINTR) continue;
    return Unexpected(Errc::io_error);
  }
}

Status PerfEvent::arm(std::uint64_t events) const noexcept {
  const std::uint64_t period = std::clamp<std::uint64_t>(events, 1, never);
  // If the period of a software event is set while the event is enabled, the event overflows at its next occurrence. So
  // the event is disabled first, and then counts the whole period
  const bool done = sys().perf_event_control(file(), PERF_EVENT_IOC_DISABLE, nullptr) == 0 &&
                    sys().perf_event_control(file(), PERF_EVENT_IOC_PERIOD, &period) == 0 &&
                    sys().perf_event_control(file(), PERF_EVENT_IOC_ENABLE, nullptr) == 0;
  return done ? Status() : Unexpected(Errc::io_error);
}

void PerfEvent::clear() const noexcept {
  if (ring_.base() == nullptr) return;
  auto& head = *reinterpret_cast<perf_event_mmap_page*>(ring_.base());
  __atomic_store_n(&head.data_tail, __atomic_load_n(&head.data_head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

} // namespace rtexec::hal
