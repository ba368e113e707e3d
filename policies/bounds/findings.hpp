// The results of the admission tests, as data: the inequality, its two sides, and the numbers behind them.
// sentences.hpp turns them into text. A finding owns the names that it contains. The *slack* of a test is the right
// side of its inequality less the left side. The *tightest* task or instant has the least slack. *Service threads* are
// the scheduler, the compute engine and the copy engines.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/bounds/end_to_end.hpp"
#include "policies/bounds/reservations.hpp"
#include "policies/scheduler/swap_rule.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rtexec::policies {

// ---- the reasons of a verdict ----

/// The set has no real-time task.
struct NoTask {};
/// No real-time task uses the device.
struct NoDevicePart {};
/// The tasks demand at least one second of work per second from the device, or from a core. So no response time exists.
struct Overload {
  std::optional<unsigned> core;
};
/// A CPU part is on the core that executes device parts.
struct OnComputeCore {
  unsigned core = 0;
};
/// The demand test of the device: the demand and the blocking at the tightest instant.
struct DemandFound {
  bool blocked_by_task = false; // true if the blocking comes from a real-time task
  bool settled = true;          // true if every instant was examined
  bool split = false;           // true if the deadlines come from the best split into stages that was found
  Nanos above = 0;              // the demand of more urgent device classes
};
/// The response time of one task's device part.
struct DeviceResponseFound {
  Nanos device = 0;     // the length of the device part
  Nanos load = 0;       // the time to load its chunks
  bool settled = true;  // true if a response time was found for this task
  bool examined = true; // true if each task has a response time or is known to be late
};
/// The response time of the CPU parts of one task, as if its device part took no time.
struct CoreResponseFound {
  Nanos parts = 0; // the length of both parts
  bool settled = true;
  bool service = false; // true if the scheduler also runs on this core
};
/// The end-to-end test: the stages (first part, device part, last part) of the task with the least slack.
struct StagesFound {
  StageBounds bounds;
  bool on_device = true; // false: the task has no device part
  bool by_split = false; // true if the stages come from a split of the deadline
};
/// The end-to-end test: no split of the deadlines was found that leaves enough time for the device part of this task.
struct NoSplit {
  StageBounds bounds;
  Nanos on_device = 0;
};
/// The reservations of a core under SCHED_DEADLINE, as the reserved time per second.
struct ReservationsFound {
  unsigned core = 0;
  Nanos tasks = 0;     // the reservations of tasks
  Nanos others = 0;    // the reservations of service threads
  bool copies = false; // true if the reservations of the copy engines are included in `others`
  /// True if the windows leave time for device parts. False: the windows are computed as if device parts took no time
  bool beside_device = false;
};
/// A CPU part needs more runtime than the longest window that the kernel accepts for a reservation.
struct PartTooLong {};
/// Release jitter, CPU parts and device part of a task together exceed its deadline.
struct DeadlineTooShort {
  Nanos parts = 0;
  Nanos device = 0;
};

// ---- costs and situations that no test covers ----

/// Chunks are verified or compared by digests, whose cost is not known.
struct DigestsUncharged {
  bool verify = false; // true: digests verify chunks; false: digests find unchanged chunks, whose copy is skipped
};
/// A release thread under SCHED_DEADLINE polls for messages. The polls use up runtime of the thread's reservation and
/// are not charged.
struct LooksUncharged {};
/// Jobs co-run under SCHED_DEADLINE. The compute engine's reservation has no room for a second job.
struct CoRunUnreserved {};
/// The compute engine runs on the core of the copy engines and is more urgent. So the copy engines starve.
struct CopyEnginesStarved {
  unsigned core = 0;
  bool computes = false; // true: the compute engine computes on this core; false: it spins
  std::string board;
};
/// The work of a service thread may exceed its reservation.
struct ServiceOverrun {
  enum class Thread : std::uint8_t { copy_in, copy_out, scheduler };
  Thread thread{};
  Nanos window = 0;
  bool copies = false; // true if the copy engine's thread copies chunks itself
};
/// The stalls of a memory bandwidth budget cannot be charged.
struct BudgetUncharged {
  enum class Why : std::uint8_t {
    feeds_device,
    stops_reservations,
    stops_threads,
    shared_counter,
    endless_overshoot,
    unknown_traffic,
    machine_stops,
  };
  Why why{};
  unsigned core = 0;
  std::string board{};
  std::string event{};       // the event that the counter counts
  bool compute_core = false; // only for feeds_device: true for the compute core, false for the service core
  /// Only for endless_overshoot: true if the event is only a substitute for a count of memory traffic
  bool stands_in = false;
};

// ---- the device alone, without admission ----

struct NoVolumesFit {};
struct DeviceAlone {};

using Reason = std::variant<NoTask, NoDevicePart, Overload, OnComputeCore, DemandFound, DeviceResponseFound,
                            CoreResponseFound, StagesFound, NoSplit, ReservationsFound, PartTooLong, DeadlineTooShort,
                            DigestsUncharged, LooksUncharged, CoRunUnreserved, CopyEnginesStarved, ServiceOverrun,
                            BudgetUncharged, NoVolumesFit, DeviceAlone>;

/// The result of a test: the sides of `left <= right` at the tightest task or instant.
struct Finding {
  AdmissionTest test{};
  std::optional<unsigned> core{}; // for AdmissionTest::core
  bool proved = false;
  std::string limiting{}; // the name of the task with the least slack; empty if there is no such task
  Nanos left = 0;
  Nanos right = 0;
  Reason reason{};
  /// The longest additional blocking that the test would allow; absent: the slack is right - left
  std::optional<Nanos> reserve{};
  // For a test of demand, at the tightest instant:
  Nanos instant = 0;     // the length of the examined interval
  Nanos demand = 0;      // the demand of jobs in the interval
  Nanos blocking = 0;    // the blocking by work that began before the interval
  std::string blocker{}; // the name of the task that blocks; empty: none, or no single task
  /// True if `left` and `right` are shares of one second.
  [[nodiscard]] bool shares() const { return test == AdmissionTest::theorem1 || test == AdmissionTest::baker; }
  [[nodiscard]] Nanos slack() const { return reserve.value_or(right - left); }
};

/// Returns a finding for a precondition of the tests that is not met.
[[nodiscard]] inline Finding unmet(Reason reason, const std::string& task = {}) {
  return {.limiting = task, .left = 1, .reason = std::move(reason)};
}

/// The reason why a chain has no bound on its times.
struct ChainObstacle {
  enum class Why : std::uint8_t {
    no_response, // `task` has no promised response
    sporadic,    // the time from one job to the next release has no bound
    /// The gate (SporadicGate, which delays releases) of `task` may let fewer jobs pass than the previous task releases
    slow_follower,
    drops_jobs, // jobs without new input are dropped, and the time until there is new input has no bound
  };
  Why why{};
  std::string task;
  Trigger trigger{};
};

// ---- the set ----

/// The numbers that describe how a plan swaps.
struct SwapFacts {
  SwapRule rule{};
  std::size_t chunks = 0;
  Bytes chunk{0};
  std::size_t tasks = 0;
  std::uint32_t frames = 0;
  Nanos in = 0; // time to copy one chunk in
  Nanos out = 0;
};

/// The longest time for which a load waits for frames (physical chunks) while a job of `task` executes concurrently.
struct LoadDelay {
  Nanos time = 0;
  std::string task{};
};

/// A core with a memory bandwidth budget, whose stalls are charged.
struct BudgetFacts {
  Bandwidth budget{};
  Duration period{0};
  Bytes line{0};
  RegulatedCore charge;
};

/// An assumption about late jobs, on which the charges of service threads with reservations depend. `none`: every job
/// keeps its deadline, so the work of these threads is bounded, and the charges are smaller than under `any`. A promise
/// under `none` holds only if the whole set is proved. `any`: any job may be late. Under `any`, admission with static
/// priorities can still promise single tasks.
enum class Lateness { none, any };

/// The set as the analysis sees it, with names for reports, the most urgent task first. names[i] is the name of
/// set.tasks[i].
struct NamedSet {
  StagedSet set;
  std::vector<std::string> names;
  Order order = Order::edf;
  std::optional<ServiceThreads> services; // present if CPU parts are under SCHED_DEADLINE
  Lateness lateness{};                    // the assumption about late jobs on which the charges rest
  /// The name of the best-effort task with the longest device part. Empty: there is none, or `set.background` includes
  /// other work
  std::string background;
  unsigned compute_core = 0;                 // the core that executes device parts
  bool co_runs = false;                      // two jobs may execute at once
  std::optional<SwapFacts> swap;             // absent: nothing is swapped
  LoadDelay load_delay;                      // the longest delay; 0: no load waits for an executing job
  std::map<unsigned, BudgetFacts> regulated; // by core
  std::optional<Finding> obstacle;           // the reason why no test of the device covers the set
  [[nodiscard]] bool uses_device() const { return std::ranges::any_of(set.tasks, &StagedTask::uses_device); }
  [[nodiscard]] bool pipelined() const { return swap && swap->rule == SwapRule::pipelined; }
};

} // namespace rtexec::policies
