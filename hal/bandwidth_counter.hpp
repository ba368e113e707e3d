// Memory traffic of cores, counted by the kernel's perf_event, with a budget that tells when it is used up, and the
// means to let cores stand still. Sibling back ends behind one interface:
//
//   core     a counter of the whole core; a thread of high FIFO priority is woken by its overflow and holds the core by
//   spinning. It stops
//            everything that is less urgent, programs of others too, but no SCHED_DEADLINE thread.
//   thread   a counter on each thread of this process that joined; the thread that used the budget up stops itself (a
//   signal that it gets
//            from its own counter). Works under every scheduling class; stops no other program.
//   polling  as core, for counters that cannot tell of an overflow: read several times in a period.
//
// A successful open proves nothing (FACTS: events that open and count 0): probe_counter() counts a known sweep.
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

/// An event as perf_event_open(2) takes it.
struct CounterEvent {
  std::string name; // as it was asked for
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  /// Of a PMU outside of the cores: the one core on which it counts when it is opened there
  std::optional<unsigned> counted_on{};
};

/// "page-faults", "context-switches", "cpu-clock", "cycles", "instructions", "cache-misses", "bus-cycles", "r17" (raw,
/// of the cores' PMU), or "pmu_name/0x2a4" or "pmu_name/event=0x17,unit=1" (by the fields of its driver) with a PMU of
/// /sys/bus/event_source/devices. `opened_on`: the core of a PMU that publishes none (cpumask), as NVIDIA's. bad_input
/// names what there is; unsupported: no such PMU here, or its driver has no such field.
[[nodiscard]] Result<CounterEvent> find_event(std::string_view name, const Machine& machine = Machine(),
                                              std::optional<unsigned> opened_on = {});

/// Events since the counter was opened.
struct TrafficCount {
  std::uint64_t reads = 0; // or all, where writes are not counted apart
  std::uint64_t writes = 0;
};

inline constexpr std::uint64_t no_limit = UINT64_MAX;

/// The counter of one domain: a core, or a cluster. One regulating thread per domain calls it, on (one of) its cores;
/// after open nothing here allocates, or takes a lock of ours.
class BandwidthCounter {
 public:
  virtual ~BandwidthCounter() = default;

  enum class Wake {
    overflow, // `reads` or `writes` of arm() were counted
    time,
    /// It counts no more: the core went offline, or the PMU was taken away. The domain is no longer regulated
    lost,
  };
  struct Waited {
    Wake wake = Wake::lost;
    TrafficCount counted{}; // so far; nothing where it is lost
  };

  /// wait() returns at once when this many more events were counted than count() or wait() last told. Errors: io_error.
  [[nodiscard]] virtual Status arm(std::uint64_t reads, std::uint64_t writes) noexcept = 0;
  /// Also while another thread waits, whose next arm() then counts from here. While it holds the core, its spinning may
  /// be among the events.
  [[nodiscard]] virtual Expected<TrafficCount, Errc> count() noexcept = 0;
  /// Until an overflow of what arm() said, or `until`. Cross-checks by reading before it returns: so an overflow that
  /// the kernel lost is found.
  [[nodiscard]] virtual Waited wait(Instant until) noexcept = 0;

  /// Lets the domain's cores stand still until `over(self)` or `until`. `core`: a spinning call on the core's thread.
  virtual void hold(Instant until, bool (*over)(void* self) noexcept, void* self) noexcept = 0;

  /// Back end `thread`: the calling thread is counted and stopped from now on, until it leaves or ends. Others: nothing
  /// to do.
  [[nodiscard]] virtual Result<> join() { return {}; }
  virtual void leave() noexcept {}

  [[nodiscard]] virtual std::string description() const = 0;               // back end and event
  [[nodiscard]] virtual std::uint64_t lost_overflows() const noexcept = 0; // found by the cross-check
};

struct CounterSettings {
  CounterBackEnd back_end = CounterBackEnd::core; // not automatic
  CounterEvent reads;
  std::optional<CounterEvent> writes;
  unsigned core = 0;   // that counts
  unsigned polls = 16; // reads in a period, by `polling`
  Duration period{0};  // of regulation
};
/// Opens it. refused: perf_event_paranoid, no such core; unsupported: the event does not exist here. The error says
/// what to change.
[[nodiscard]] Result<std::unique_ptr<BandwidthCounter>> open_counter(const CounterSettings& settings);

/// What a probe of an event found.
struct CounterProbe {
  bool counts = false;    // in proportion to a known sweep
  bool overflows = false; // and tells when so many were counted
  double accuracy = 0;    // counted of expected, for events of which a sweep has a known number; 0: others
  std::string what;       // what was tried, and what came of it
};
/// Counts known sweeps on `core`: of all that runs there (`whole_core`), or of the sweeping thread alone. Pages touched
/// for the first time, voluntary context switches, or one word of each line of a buffer larger than the caches. Takes
/// some 10 ms. A PMU that refuses to tell of overflows counts without. Errors are those of open_counter().
[[nodiscard]] Result<CounterProbe> probe_counter(const CounterEvent& event, Bytes line, unsigned core, bool whole_core);

/// The counter of a domain, as chosen.
struct CounterChoice {
  CounterSettings settings;
  Bytes line{64};
  std::vector<unsigned> cores; // of the domain; more than one in a cluster
  std::string reason;          // of the choice: what the probes found
};
/// The most capable back end that `options` allows and a probe shows, for the event that the board, or `options.event`,
/// says for each of `cores`: one choice for each domain, in the order of their first cores. `holds`: whether threads
/// may have FIFO priority, without which no core can be held. The error says for which core nothing counts, and why.
[[nodiscard]] Result<std::vector<CounterChoice>> choose_counters(const Board& board, const BandwidthOptions& options,
                                                                 std::span<const unsigned> cores, bool holds,
                                                                 const Machine& machine = Machine());

/// On PREEMPT_RT kernels overflows are told by the threads irq_work/N at FIFO 1, behind every thread of a higher
/// priority (measured: 6 of 120 in time). While this lives, those of some cores have another priority.
class OverflowPriority {
 public:
  OverflowPriority() = default;
  OverflowPriority(OverflowPriority&&) noexcept = default;
  OverflowPriority& operator=(OverflowPriority&& other) noexcept {
    std::swap(before_, other.before_);
    return *this;
  }
  ~OverflowPriority();
  /// Where the kernel has no such threads there is nothing to do. refused: they are there, and keep their priority.
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
