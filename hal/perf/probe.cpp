// Finds out what an event counts, by sweeps with a known number of events.
#include "hal/bandwidth_counter.hpp"
#include "hal/perf/counters.hpp"
#include "hal/perf/perf_event.hpp"
#include "hal/system.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/mman.h>

namespace rtexec::hal {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t pages = 256;
constexpr std::uint64_t switches = 32;
constexpr Bytes sweep_size{32 << 20}; // larger than the caches of an embedded board

/// A loop that causes events. run() performs `length` times the smallest sweep, and returns the expected number of
/// events.
class Sweep {
 public:
  Sweep(const CounterEvent& event, Bytes line) : kind_(kind_of(event)), line_(line) {}

  Result<> prepare() {
    auto memory =
        Mapping::anonymous(kind_ == Kind::faults ? page_size() * (pages * longest) : sweep_size, PROT_READ | PROT_WRITE,
                           kind_ == Kind::lines ? MAP_POPULATE : 0, "a sweep that events are counted over");
    if (!memory) return Unexpected(memory.error());
    memory_ = std::move(*memory);
    // Kernels without huge pages refuse this call, and need no such call
    static_cast<void>(sys().madvise(memory_.base(), memory_.size().count, MADV_NOHUGEPAGE));
    // Unlocks the pages: pages locked by mlockall cannot be returned to the kernel, so a second first touch would cause
    // no fault
    if (kind_ == Kind::faults) static_cast<void>(sys().munlock(memory_.base(), memory_.size().count));
    return {};
  }

  std::uint64_t run(unsigned length) {
    switch (kind_) {
    case Kind::faults: return touch(pages * length);
    case Kind::sleeps: return sleep(switches * length);
    case Kind::lines: break;
    }
    return write_lines(sweep_size.count / longest * length);
  }

  [[nodiscard]] bool known() const { return kind_ != Kind::lines; }
  [[nodiscard]] std::string name() const {
    return kind_ == Kind::faults ? "pages touched" : kind_ == Kind::sleeps ? "sleeps" : "lines written";
  }
  static constexpr unsigned longest = 4;

 private:
  enum class Kind { faults, sleeps, lines };
  static Kind kind_of(const CounterEvent& event) {
    if (event.type != PERF_TYPE_SOFTWARE) return Kind::lines;
    return event.config == PERF_COUNT_SW_PAGE_FAULTS        ? Kind::faults
           : event.config == PERF_COUNT_SW_CONTEXT_SWITCHES ? Kind::sleeps
                                                            : Kind::lines;
  }

  std::uint64_t touch(std::uint64_t count) {
    if (sys().madvise(memory_.base(), memory_.size().count, MADV_DONTNEED) != 0) return 0;
    for (std::uint64_t i = 0; i < count; ++i)
      const_cast<volatile std::byte&>(memory_.base()[i * page_size().count]) = std::byte{1};
    return count;
  }
  static std::uint64_t sleep(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) sleep_until(now() + 20us);
    return count;
  }
  std::uint64_t write_lines(std::uint64_t size) {
    for (std::uint64_t at = 0; at < size; at += line_.count)
      const_cast<volatile std::byte&>(memory_.base()[at]) = std::byte{1};
    return size / line_.count;
  }

  Kind kind_;
  Bytes line_;
  Mapping memory_;
};

bool told(const PerfEvent& event) {
  constexpr timespec at_most{.tv_sec = 0, .tv_nsec = 50'000'000};
  pollfd file{.fd = event.file(), .events = POLLIN, .revents = 0};
  return sys().ppoll(&file, 1, &at_most) > 0 && (file.revents & POLLIN) != 0;
}

struct Counted {
  std::uint64_t events = 0;
  std::uint64_t expected = 0;
};

/// Returns the minimum count of several attempts, because other threads may add events of their own.
Expected<Counted, Errc> count_over(const PerfEvent& event, Sweep& sweep, unsigned length) {
  Counted least{.events = UINT64_MAX, .expected = 0};
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto before = event.count();
    const std::uint64_t expected = sweep.run(length);
    const auto after = event.count();
    if (!before || !after) return Unexpected(Errc::io_error);
    if (*after - *before < least.events) least = {.events = *after - *before, .expected = expected};
  }
  return least;
}

CounterProbe judge(const PerfEvent& event, Sweep& sweep, bool tells) {
  CounterProbe probe;
  static_cast<void>(sweep.run(1)); // causes the first touches of the memory's pages
  const auto once = count_over(event, sweep, 1);
  const auto longer = count_over(event, sweep, Sweep::longest);
  if (!once || !longer) return probe.what = "cannot be read", probe;
  probe.what =
      std::to_string(longer->events) + " counted over " + std::to_string(longer->expected) + " " + sweep.name();
  probe.accuracy = static_cast<double>(longer->events) / static_cast<double>(longer->expected);
  const double growth = static_cast<double>(longer->events) / std::max(1.0, static_cast<double>(once->events));
  probe.counts = once->events > 0 && (sweep.known() ? probe.accuracy >= 1
                                                    : growth >= Sweep::longest / 2.0 && growth <= Sweep::longest * 2.0);
  if (!probe.counts)
    return probe.what += once->events == 0 ? ": it opens, but does not count" : ": not in proportion", probe;
  if (!tells) return probe.what += ", but overflow notifications are refused", probe;
  if (!event.arm(std::max<std::uint64_t>(1, longer->events / 2))) return probe;
  event.clear();
  static_cast<void>(sweep.run(Sweep::longest));
  probe.overflows = told(event);
  probe.what += probe.overflows ? ", and its overflow is reported" : ", but its overflow is not reported";
  return probe;
}

} // namespace

Result<CounterProbe> probe_counter(const CounterEvent& event, Bytes line, unsigned core, bool whole_core) {
  Result<CounterProbe> outcome;
  const auto body = [&] {
    Sweep sweep(event, line);
    const auto counted = whole_core ? std::optional(core) : std::nullopt;
    auto opened = PerfEvent::open(event, counted, PerfEvent::Tells::poll);
    const bool tells = opened || !whole_core || opened.error().code != Errc::unsupported;
    if (!tells) opened = PerfEvent::open(event, counted, PerfEvent::Tells::nothing);
    if (!opened) outcome = Unexpected(opened.error());
    else if (const auto prepared = sweep.prepare(); !prepared) outcome = Unexpected(prepared.error());
    else outcome = judge(*opened, sweep, tells);
  };
  auto thread = Thread::start({.name = "probe", .core = core, .reservation = {}}, body);
  if (!thread) return Unexpected(thread.error());
  thread->join();
  return outcome;
}

} // namespace rtexec::hal
