// CPU parts under SCHED_DEADLINE. A reservation gives a thread a runtime in each of its windows (the period of
// SCHED_DEADLINE). Each CPU part of each task gets its own reservation. The kernel's earliest-deadline-first scheduling
// on the core then ends each part within the window of its reservation. A *charged* time includes the overheads that
// the analysis adds. Formulas, proof and assumptions about the kernel: proofs/sched-deadline.md.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/bounds/end_to_end.hpp"

#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// The time per second of a core that can be reserved. By default the kernel allows 950 ms to SCHED_DEADLINE, of which
/// its fair server takes 50 ms.
inline constexpr Nanos reservable = 900'000'000;
/// The kernel's default limits on periods (sched_deadline_period_min_us and _max_us).
inline constexpr Nanos shortest_window = 100'000;
inline constexpr Nanos longest_window = 4'194'304'000;
/// Runtime that is reserved in addition to the charged WCET of a part: for a spurious wake-up, bookkeeping, and the
/// kernel's rounding.
inline constexpr Nanos spare_runtime = 50'000;
/// The longest tick of the kernel: CONFIG_HZ must be 250 or more. At a tick the kernel notices that a budget is used
/// up.
inline constexpr Nanos longest_tick = 4'000'000;

/// The reservation with the largest share of a core that a thread can have. The window of this reservation is short, so
/// that each pause is short, too.
inline constexpr CpuReservation slices{.runtime = Duration(9'000'000), .window = Duration(10'000'000)};
/// Returns a reservation with the share of `slices` and a window that is long enough for all `arrivals`. A thread with
/// the work `arrivals` never uses up this reservation, and so never pauses. Returns nullopt if no window is long
/// enough.
[[nodiscard]] std::optional<CpuReservation> never_used_up(std::span<const Load> arrivals);

/// Returns the time that `part` takes under the reservation `slices`, including pauses. Consider the parts that the
/// compute engine executes in any window. Together they take at most the sum of their with_pauses(), plus one
/// `longest_pause`.
[[nodiscard]] Nanos with_pauses(Nanos part);
inline constexpr Nanos longest_pause = 1'000'000 + longest_tick + (longest_tick + 8) / 9;

/// The reservation of a copy engine's thread. The budget of this reservation is large enough for bursts of copies, and
/// so is never used up (proofs/swapping.md).
inline constexpr CpuReservation copy_reservation{.runtime = Duration(15'000'000), .window = Duration(50'000'000)};

/// Returns the CPU time of a service thread for one event.
[[nodiscard]] inline Duration event_cost(Duration context_switch) {
  return std::chrono::microseconds(5) + 2 * context_switch;
}

/// Bounds on the number of chunks that move in a window.
struct Traffic {
  Nanos quickest = 1;      // the least time to copy one chunk in
  std::uint32_t burst = 0; // the maximum number by which chunks copied out exceed chunks copied in
  [[nodiscard]] Wide in(Nanos window) const { return Wide{window} / quickest + 2; }
  [[nodiscard]] Wide out(Nanos window) const { return in(window) + burst; }
};

/// Returns the reservation of the scheduler thread. Within its window, the thread handles every event of `tasks` tasks
/// and the end of every transfer. The window is at least `platform_stall`, the longest stop of the machine (by firmware
/// or a hypervisor). If no reservation suffices, the window is the larger of `longest_service` and `platform_stall`.
[[nodiscard]] CpuReservation scheduler_reservation(std::size_t tasks, Duration context_switch,
                                                   const std::optional<Traffic>& traffic = {},
                                                   Duration platform_stall = Duration(0));
inline constexpr Nanos longest_service = 50'000'000;

/// The reservations of the service threads (scheduler, compute engine, copy engines), and the cost of waiting for them.
struct ServiceThreads {
  ServiceReservations reserved;
  unsigned core = 0; // the core of the scheduler and the copy engines
  /// The time for which each device part waits for the scheduler; 0: nothing delays the scheduler, as under SCHED_FIFO
  Nanos decision = 0;
  bool pauses = false; // true if the compute engine may use up its reservation; it then pauses
  /// Returns the time per second that is reserved on core `on_core` for the scheduler and the copy engines.
  [[nodiscard]] Nanos share_on(unsigned on_core) const;
};

/// The windows of the reservations of one task's CPU parts. A part that keeps its WCET ends at most its window after it
/// becomes ready. After a stop of the machine it may end later, by at most StagedTask::backlog. If no other thread has
/// a reservation on the core, the part ends sooner.
struct CpuWindows {
  Nanos before = 0;
  Nanos after = 0;
};

[[nodiscard]] inline Nanos runtime_of(Nanos part) { return part + spare_runtime; }

/// Returns the time per second of a core that is reserved for tasks, without the reservations of service threads.
[[nodiscard]] Nanos reserved_share(const StagedSet& set, std::span<const CpuWindows> windows, unsigned core);

/// Splits `room[i]`, the time that task i has for both of its windows, into two windows. Returns for each task the
/// windows whose reservations take the smallest share of its core.
[[nodiscard]] std::vector<CpuWindows> split_windows(const StagedSet& set, std::span<const Nanos> room);

/// Returns for each task the part of its deadline that remains after release jitter and device part, but at least the
/// time that both CPU parts need.
[[nodiscard]] std::vector<Nanos> room_beside_device(const StagedSet& set);

template <class Bounds> struct Reserved {
  std::vector<CpuWindows> windows; // by task
  /// True if the reservations fit on every core, and the windows fit into every deadline. If false, `bounds` must not
  /// be relied on
  bool fits = false;
  Bounds bounds;
};

/// Searches for windows of reservations with which the cores and an EDF device keep every deadline. If the reservations
/// do not fit on a core, returns windows that are too long for the deadlines, but whose reservations the kernel
/// accepts, if there are such windows. A run that is forced (--force) can start with these windows.
[[nodiscard]] Reserved<EdfBounds> reserved_edf_bounds(const StagedSet& set, const ServiceThreads& services,
                                                      Effort effort = Effort::full);
/// Searches for windows of reservations with which the cores and a static-priority device keep every deadline. The
/// bounds stop after the first task that exceeds its deadline. If the reservations do not fit on a core, returns
/// windows that are too long for the deadlines, but whose reservations the kernel accepts, if there are such windows. A
/// run that is forced (--force) can start with these windows.
[[nodiscard]] Reserved<std::vector<StageBounds>> reserved_static_priority_bounds(const StagedSet& set,
                                                                                 const ServiceThreads& services,
                                                                                 Effort effort = Effort::full);

} // namespace rtexec::policies
