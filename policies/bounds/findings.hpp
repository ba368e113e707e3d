// The results of the admission tests, as data: the inequality, its sides, and the numbers behind them. sentences.hpp
// puts them into words. Pure data; owns the names that it carries.
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
/// The tasks demand at least a second of work per second, of the device or of a core. No response time exists.
struct Overload {
  std::optional<unsigned> core;
};
/// A CPU part is on the core that executes device parts.
struct OnComputeCore {
  unsigned core = 0;
};
/// The demand test of the device: demand and blocking at the tightest instant.
struct DemandFound {
  bool blocked_by_task = false; // a real-time task blocks
  bool settled = true;          // every instant was examined
  bool split = false;           // the deadlines are split into stages, by the best split that was found
  Nanos above = 0;              // the demand of more urgent classes
};
/// The response time of one task's device part.
struct DeviceResponseFound {
  Nanos device = 0;     // the device part
  Nanos load = 0;       // the load of its chunks
  bool settled = true;  // a response time was found for this task
  bool examined = true; // every task has a response time, or is known to be late
};
/// The response time of the CPU parts of one task, as if the device took no time.
struct CoreResponseFound {
  Nanos parts = 0; // the length of both parts
  bool settled = true;
  bool service = false; // the scheduler runs on this core too
};
/// The end-to-end test: the stages (first part, device part, last part) of the task with the least slack.
struct StagesFound {
  StageBounds bounds;
  bool on_device = true; // false: it has no device part
  bool by_split = false; // the stages come from a split of the deadline
};
/// The end-to-end test: no split of the deadlines that was found leaves enough time for the device part of this task.
struct NoSplit {
  StageBounds bounds;
  Nanos on_device = 0;
};
/// The reservations of a core under SCHED_DEADLINE: the time that they take of each second.
struct ReservationsFound {
  unsigned core = 0;
  Nanos tasks = 0;            // the reservations of tasks
  Nanos others = 0;           // the reservations of service threads
  bool copies = false;        // the copy engines are among the others
  bool beside_device = false; // the windows leave time for the device; false: as if the device took no time
};
/// A CPU part is longer than the longest window that the kernel accepts for a reservation.
struct PartTooLong {};
/// Release jitter, CPU parts and device part of a task together exceed its deadline.
struct DeadlineTooShort {
  Nanos parts = 0;
  Nanos device = 0;
};

// ---- costs and situations that no test covers ----

/// Chunks are checked or compared by digests, whose cost is not known.
struct DigestsUncharged {
  bool verify = false; // to verify chunks; false: to skip unchanged ones
};
/// A release thread under SCHED_DEADLINE polls for messages. The polls use up runtime of its reservation and are not
/// charged.
struct LooksUncharged {};
/// Jobs co-run under SCHED_DEADLINE. The compute engine's reservation has no room for a second one.
struct CoRunUnreserved {};
/// The compute engine runs on the core of the copy engines and is more urgent than they are, so that they starve.
struct CopyEnginesStarved {
  unsigned core = 0;
  bool computes = false; // false: it spins
  std::string board;
};
/// The work of a service thread may exceed its reservation.
struct ServiceOverrun {
  enum class Thread : std::uint8_t { copy_in, copy_out, scheduler };
  Thread thread{};
  Nanos window = 0;
  bool copies = false; // the copy engine's thread copies by itself
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
  bool compute_core = false; // for feeds_device; false: the service core
  bool stands_in = false;    // for endless_overshoot: the event does not count memory traffic
};

// ---- the device alone, without admission ----

struct NoVolumesFit {};
struct DeviceAlone {};

using Reason = std::variant<NoTask, NoDevicePart, Overload, OnComputeCore, DemandFound, DeviceResponseFound,
                            CoreResponseFound, StagesFound, NoSplit, ReservationsFound, PartTooLong, DeadlineTooShort,
                            DigestsUncharged, LooksUncharged, CoRunUnreserved, CopyEnginesStarved, ServiceOverrun,
                            BudgetUncharged, NoVolumesFit, DeviceAlone>;

/// The result of a test: `left <= right` at the tightest task or instant.
struct Finding {
  AdmissionTest test{};
  std::optional<unsigned> core{}; // for AdmissionTest::core
  bool proved = false;
  std::string limiting{}; // the task with the least slack; empty: none
  Nanos left = 0;
  Nanos right = 0;
  Reason reason{};
  std::optional<Nanos> reserve{}; // by how much longer the blocking could be; absent: right - left
  // For a test of demand, at the tightest instant:
  Nanos instant = 0;     // the length of the interval
  Nanos demand = 0;      // demand of jobs
  Nanos blocking = 0;    // blocking by work that began before these jobs
  std::string blocker{}; // the task that blocks; empty: none, or not one alone
  /// True if the sides are shares of a second.
  [[nodiscard]] bool shares() const { return test == AdmissionTest::theorem1 || test == AdmissionTest::baker; }
  [[nodiscard]] Nanos slack() const { return reserve.value_or(right - left); }
};

/// Returns a finding for a precondition of the tests that is not met.
[[nodiscard]] inline Finding unmet(Reason reason, const std::string& task = {}) {
  return {.limiting = task, .left = 1, .reason = std::move(reason)};
}

/// The reason why a chain has no bound.
struct ChainObstacle {
  enum class Why : std::uint8_t {
    no_response,   // `task` has no promised response
    sporadic,      // nothing bounds the time from one job to the next release
    slow_follower, // the gate of `task` may let fewer jobs pass than the task before it releases
    drops_jobs,    // a job is dropped if an input has nothing new, and nothing bounds how long that lasts
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

/// The longest time for which a load that is concurrent with a job of the task waits for frames.
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

/// Which jobs may be late while a promise holds. For a set that is promised as a whole, no job is late.
enum class Lateness { none, any };

/// The set as the analysis sees it, with names for reports. names[i] is the name of set.tasks[i].
struct NamedSet {
  StagedSet set;
  std::vector<std::string> names;
  Order order = Order::edf;
  std::optional<ServiceThreads> services; // present if CPU parts are under SCHED_DEADLINE
  Lateness lateness{};                    // the lateness that the charges of services assume
  /// The best-effort task with the longest device part. Empty: there is none, or `set.background` also holds other work
  std::string background;
  unsigned compute_core = 0;                 // the core that executes device parts
  bool co_runs = false;                      // two jobs may execute at once
  std::optional<SwapFacts> swap;             // absent: nothing is swapped
  LoadDelay load_delay;                      // the longest; 0: no load waits for the job that executes
  std::map<unsigned, BudgetFacts> regulated; // by core
  std::optional<Finding> obstacle;           // the reason why no test of the device covers the set
  [[nodiscard]] bool uses_device() const { return std::ranges::any_of(set.tasks, &StagedTask::uses_device); }
  [[nodiscard]] bool pipelined() const { return swap && swap->rule == SwapRule::pipelined; }
};

} // namespace rtexec::policies
