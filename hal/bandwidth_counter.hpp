// Counters of the memory traffic of cores, by the kernel's perf_event. A regulating thread sets a budget of events for
// each regulation period. When the budget is used up, the regulating thread holds the core: it keeps other work off the
// core until the next regulation period. The back ends share one interface:
//
//   core     A counter of the whole core. Its overflow wakes a thread of high FIFO priority, which holds the core by
//            spinning. The spinning stops everything of lower priority, other programs too, but no SCHED_DEADLINE
//            thread.
//   thread   A counter on each thread of this process that joined. The thread that uses up the budget stops itself, in
//            the handler of a signal from its own counter. Works under every scheduling class; stops no other program.
//   polling  As `core`, for counters that cannot signal an overflow: the regulating thread reads the counter several
//            times in a period.
//
// A counter may open successfully although its event is never counted: the counters of some events stay at 0. So
// probe_counter() runs a loop that causes a known number of events, and compares the count.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include "hal/machine_files.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::hal {

/// An event in the terms of perf_event_open(2).
struct CounterEvent {
  std::string name; // the name that find_event() was called with
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  /// The core to pass to perf_event_open(2), for an event of a PMU outside the cores, which can be counted on that core
  /// only. Absent for an event of the cores' own PMU
  std::optional<unsigned> counted_on{};
};

/// Finds an event by its name: "page-faults", "context-switches", "cpu-clock", "cycles", "instructions",
/// "cache-misses", "bus-cycles", or "r17" (a raw event of the cores' PMU). "pmu_name/0x2a4" and
/// "pmu_name/event=0x17,unit=1" name an event of a PMU in /sys/bus/event_source/devices; the second form uses the
/// fields that the PMU's driver defines. `opened_on` is the core to use if the PMU publishes no cpumask. NVIDIA's PMUs
/// publish none. Returns bad_input for an unknown name; the error lists the known names. Returns unsupported if this
/// machine has no such PMU, or the PMU's driver has no such field.
[[nodiscard]] Result<CounterEvent> find_event(std::string_view name, const Machine& machine = Machine(),
                                              std::optional<unsigned> opened_on = {});

/// Events since the counter was opened.
struct TrafficCount {
  std::uint64_t reads = 0; // reads, or all traffic if writes are not counted separately
  std::uint64_t writes = 0;
};

inline constexpr std::uint64_t no_limit = UINT64_MAX;

/// The counter of one domain: a core or a cluster. Called by the one regulating thread of the domain, which runs on a
/// core of the domain. Once the counter is open, its functions neither allocate nor take a lock of rtexec.
class BandwidthCounter {
 public:
  virtual ~BandwidthCounter() = default;

  enum class Wake {
    overflow, // the `reads` or `writes` passed to arm() were counted
    time,
    /// The counter has stopped counting: the core went offline, or the PMU was taken away. The domain is no longer
    /// regulated
    lost,
  };
  struct Waited {
    Wake wake = Wake::lost;
    TrafficCount counted{}; // events counted so far; zero if `wake` is `lost`
  };

  /// Sets the limits of wait(): `reads` and `writes` events, counted from the events that the last count() or wait()
  /// returned. Returns io_error if the counter cannot be read or set.
  [[nodiscard]] virtual Status arm(std::uint64_t reads, std::uint64_t writes) noexcept = 0;
  /// Returns the events counted so far. May be called while another thread is in wait(). The limits of the next arm()
  /// then count from this call. If the regulating thread holds the core by spinning, the count may include events of
  /// the spinning.
  [[nodiscard]] virtual Expected<TrafficCount, Errc> count() noexcept = 0;
  /// Waits until the count passes a limit set by arm(), or until `until`. Reads the counter before returning, so an
  /// overflow that the kernel did not signal is found too.
  [[nodiscard]] virtual Waited wait(Instant until) noexcept = 0;

  /// Keeps other work off the domain's cores until `over(self)` returns true or until `until`. Back ends `core` and
  /// `polling`: the calling thread spins on the core. Back end `thread`: the calling thread only waits, since the
  /// threads of the domain stop themselves.
  virtual void hold(Instant until, bool (*over)(void* self) noexcept, void* self) noexcept = 0;

  /// Back end `thread`: starts counting the events of the calling thread, and stops the thread whenever the budget is
  /// used up. Counting ends when the thread calls leave() or ends. Other back ends: has no effect.
  [[nodiscard]] virtual Result<> join() { return {}; }
  virtual void leave() noexcept {}

  [[nodiscard]] virtual std::string description() const = 0; // names the back end and the event
  /// Returns the number of overflows that the kernel did not signal and that wait() found by reading the counter.
  [[nodiscard]] virtual std::uint64_t lost_overflows() const noexcept = 0;
};

struct CounterSettings {
  CounterBackEnd back_end = CounterBackEnd::core; // never `automatic`
  CounterEvent reads;
  std::optional<CounterEvent> writes;
  unsigned core = 0;   // the core whose events are counted
  unsigned polls = 16; // readings of the counter in each regulation period, only for the back end `polling`
  Duration period{0};  // the regulation period
};
/// Opens a counter. Returns refused if perf_event_paranoid forbids it or the core does not exist, and unsupported if
/// this machine lacks the event. The error says what to change.
[[nodiscard]] Result<std::unique_ptr<BandwidthCounter>> open_counter(const CounterSettings& settings);

/// The result of probing an event.
struct CounterProbe {
  bool counts = false;    // the count is in proportion to the known number of events of a sweep (see probe_counter())
  bool overflows = false; // the counter also signals its overflow
  double accuracy = 0;    // counted / expected events, if the number of events of a sweep is known; otherwise 0
  std::string what;       // what was tried, and the outcome
};
/// Runs sweeps on `core`, and counts their events. A sweep is a loop that causes a known number of events: first
/// touches of pages, voluntary context switches, or a write to each cache line (of `line` bytes) of a buffer larger
/// than the caches. If `whole_core` is true, counts the events of everything that runs on the core; otherwise counts
/// only the events of the sweeping thread. Takes about 10 ms. If the PMU refuses to signal overflows, probes the event
/// without overflows. Returns the errors of open_counter().
[[nodiscard]] Result<CounterProbe> probe_counter(const CounterEvent& event, Bytes line, unsigned core, bool whole_core);

/// The counter chosen for a domain.
struct CounterChoice {
  CounterSettings settings;
  Bytes line{64};
  std::vector<unsigned> cores; // cores of the domain; more than one in a cluster
  std::string reason;          // the reason for the choice: what the probes found
};
/// Chooses a back end for each domain: the most capable back end that `options` allows and that a probe shows to work.
/// The event of each core is `options.event` or the event of the board. Returns one choice for each domain, in the
/// order of the first core of each domain. `holds`: true if threads may have FIFO priority, which holding a core
/// requires. The error names the core on which no event can be counted, and says why.
[[nodiscard]] Result<std::vector<CounterChoice>> choose_counters(const Board& board, const BandwidthOptions& options,
                                                                 std::span<const unsigned> cores, bool holds,
                                                                 const Machine& machine = Machine());

/// Raises the priority of the kernel threads irq_work/N of some cores for as long as this object lives. On PREEMPT_RT
/// kernels these threads deliver overflows. Their default priority is FIFO 1, so every FIFO thread of higher priority
/// delays them (measured: 6 of 120 overflows arrived in time).
class OverflowPriority {
 public:
  OverflowPriority() = default;
  OverflowPriority(OverflowPriority&&) noexcept = default;
  OverflowPriority& operator=(OverflowPriority&& other) noexcept {
    std::swap(before_, other.before_);
    return *this;
  }
  ~OverflowPriority();
  /// Sets the irq_work threads of `cores` to this FIFO priority. Has no effect if the kernel has no such threads.
  /// Returns refused if the threads exist and their priority cannot be changed.
  [[nodiscard]] static Result<OverflowPriority> raise(std::span<const unsigned> cores, int fifo_priority,
                                                      const Machine& machine = Machine());
  [[nodiscard]] std::size_t threads() const { return before_.size(); }

 private:
  struct Before {
    int kernel_id = 0;
    int fifo_priority = 0;
  };
  std::vector<Before> before_;
};

} // namespace rtexec::hal
