// CPU parts under SCHED_DEADLINE: a reservation for each part of each task, so that earliest-deadline-first on its core
// keeps every part within a window of its own. Formulas, proof and assumptions about the kernel:
// proofs/sched-deadline.md.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/bounds/end_to_end.hpp"

#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

/// Of each second of a core: what the kernel lets SCHED_DEADLINE have by default, 950 ms, less the 50 ms of its fair
/// server.
inline constexpr Nanos reservable = 900'000'000;
/// The kernel's default limits on periods (sched_deadline_period_min_us and _max_us).
inline constexpr Nanos shortest_window = 100'000;
inline constexpr Nanos longest_window = 4'194'304'000;
/// Beyond the charged WCET of a part: a wake-up for nothing, bookkeeping, the kernel's rounding.
inline constexpr Nanos spare_runtime = 50'000;
/// The kernel notices that a budget is used up at a tick: CONFIG_HZ of 250 or more.
inline constexpr Nanos longest_tick = 4'000'000;

/// All that a thread can get of a core, in slices that keep each pause short.
inline constexpr CpuReservation slices{.runtime = Duration(9'000'000), .window = Duration(10'000'000)};
/// The same in a window with room for all that arrives in it, so that it is never used up; absent: there is none.
[[nodiscard]] std::optional<CpuReservation> never_used_up(std::span<const Load> arrivals);

/// In slices, in any window the compute engine takes at most the sum of with_pauses() over what it executes, and
/// `longest_pause` once.
[[nodiscard]] Nanos with_pauses(Nanos part);
inline constexpr Nanos longest_pause = 1'000'000 + longest_tick + (longest_tick + 8) / 9;

/// A copy engine's: room for bursts, so that it is never used up (proofs/swapping.md).
inline constexpr CpuReservation copy_reservation{.runtime = Duration(15'000'000), .window = Duration(50'000'000)};

/// What a service thread does for one event.
[[nodiscard]] inline Duration event_cost(Duration context_switch) {
  return std::chrono::microseconds(5) + 2 * context_switch;
}

/// How many chunks can move.
struct Traffic {
  Nanos quickest = 1;      // time that one chunk takes to come in, at least
  std::uint32_t burst = 0; // chunks that may go out beyond those that come in
  [[nodiscard]] Wide in(Nanos window) const { return Wide{window} / quickest + 2; }
  [[nodiscard]] Wide out(Nanos window) const { return in(window) + burst; }
};

/// The scheduler thread's: serves every event of `tasks` tasks, and the end of every transfer, within its window, which
/// is no shorter than a stop of the machine (`hold_up`). The window is `longest_service`, or `hold_up` if that is
/// longer, where no reservation does.
[[nodiscard]] CpuReservation scheduler_reservation(std::size_t tasks, Duration context_switch,
                                                   const std::optional<Traffic>& traffic = {},
                                                   Duration hold_up = Duration(0));
inline constexpr Nanos longest_service = 50'000'000;

/// What the threads that serve every task reserve, and what waiting for them costs.
struct ServiceThreads {
  ServiceReservations reserved;
  unsigned core = 0;   // of the scheduler and the copy engines
  Nanos decision = 0;  // that a device part waits for; 0: as under FIFO, nothing keeps the scheduler waiting
  bool pauses = false; // whether the compute engine can use its reservation up
  /// Of each second of `core`, what is taken.
  [[nodiscard]] Nanos share_on(unsigned on_core) const;
};

/// One task's windows, those of the reservations of its parts: no part that keeps its WCET ends later after it became
/// ready, but for the backlog of a stop; that of a task which is alone on its core, sooner.
struct CpuWindows {
  Nanos before = 0;
  Nanos after = 0;
};

[[nodiscard]] inline Nanos runtime_of(Nanos part) { return part + spare_runtime; }

/// The time that the reservations of a core take of each second, without the service thread's.
[[nodiscard]] Nanos reserved_share(const StagedSet& set, std::span<const CpuWindows> windows, unsigned core);

/// The windows that take the least of the cores when each task has `room[i]` for both of its windows.
[[nodiscard]] std::vector<CpuWindows> split_windows(const StagedSet& set, std::span<const Nanos> room);

/// What release jitter and device leave of each deadline; at least what both parts need.
[[nodiscard]] std::vector<Nanos> room_beside_device(const StagedSet& set);

template <class Bounds> struct Reserved {
  std::vector<CpuWindows> windows; // by task
  /// Every core has room for them, and every deadline; otherwise `bounds` promise nothing
  bool fits = false;
  Bounds bounds;
};

/// Search windows under which cores and device keep every deadline. Where a core has no room, the windows are so long
/// that the kernel accepts them all the same, if it can.
[[nodiscard]] Reserved<EdfBounds> reserved_edf_bounds(const StagedSet& set, const ServiceThreads& services,
                                                      Effort effort = Effort::full);
/// Bounds stop after the first task that exceeds its deadline.
[[nodiscard]] Reserved<std::vector<StageBounds>> reserved_static_priority_bounds(const StagedSet& set,
                                                                                 const ServiceThreads& services,
                                                                                 Effort effort = Effort::full);

} // namespace rtexec::policies
