// What the tests of admission found, as data: which inequality, its sides, and the numbers behind them. sentences.hpp
// makes words of it. Pure data; owns the names that it carries.
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

// ---- why a verdict is what it is ----

struct NoTask {};
/// Nor one that uses the device.
struct NoDevicePart {};
/// The tasks ask for a second or more in each second of the device, or of the core: no response time exists.
struct Overload {
  std::optional<unsigned> core;
};
/// A CPU part on the core that executes device parts.
struct OnComputeCore {
  unsigned core = 0;
};
/// Of a demand bound, at its tightest instant.
struct DemandFound {
  bool blocked_by_task = false; // a real-time one
  bool settled = true;          // every instant was examined
  bool split = false;           // of the best split of the deadlines that was found
  Nanos above = 0;              // of more urgent classes
};
/// Of a device part.
struct DeviceResponseFound {
  Nanos device = 0;
  Nanos load = 0;
  bool settled = true;  // of the task that is told of,
  bool examined = true; // and of all, or they are late
};
/// Of the CPU parts of one task, if the device takes no time.
struct CoreResponseFound {
  Nanos parts = 0;
  bool settled = true;
  bool service = false; // the scheduler runs on this core too
};
/// End to end: the stages of the limiting task.
struct StagesFound {
  StageBounds bounds;
  bool on_device = true; // otherwise it has no part there
  bool by_split = false;
};
/// End to end: no split leaves the device its part.
struct NoSplit {
  StageBounds bounds;
  Nanos on_device = 0;
};
/// Reservations of a core: what its tasks and what others take of each second.
struct ReservationsFound {
  unsigned core = 0;
  Nanos tasks = 0;
  Nanos others = 0;
  bool copies = false;        // the others are the copy engines too
  bool beside_device = false; // otherwise as if the device took no time
};
struct PartTooLong {};
/// Release, CPU parts and device part of a task exceed its deadline.
struct DeadlineTooShort {
  Nanos parts = 0;
  Nanos device = 0;
};

// ---- why no test covers a set ----

struct DigestsUncharged {
  bool verify = false; // otherwise skip_unchanged
};
/// A release thread under SCHED_DEADLINE that looks for messages.
struct LooksUncharged {};
/// Jobs that execute beside each other, under SCHED_DEADLINE.
struct CoRunUnreserved {};
/// The compute engine runs on the core of the copy engines, and is more urgent.
struct CopyEnginesStarved {
  unsigned core = 0;
  bool computes = false; // otherwise it spins
  std::string board;
};
/// The reservation of a service thread can be used up.
struct ServiceOverrun {
  enum class Thread : std::uint8_t { copy_in, copy_out, scheduler };
  Thread thread{};
  Nanos window = 0;
  bool copies = false; // the copy engine's thread copies by itself
};
/// A memory bandwidth budget whose stalls are not charged.
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
  std::string event{};
  bool compute_core = false; // feeds_device: otherwise the service core
  bool stands_in = false;    // endless_overshoot: the event says nothing of memory
};

// ---- the device alone, beside admission ----

struct NoVolumesFit {};
struct DeviceAlone {};

using Reason = std::variant<NoTask, NoDevicePart, Overload, OnComputeCore, DemandFound, DeviceResponseFound,
                            CoreResponseFound, StagesFound, NoSplit, ReservationsFound, PartTooLong, DeadlineTooShort,
                            DigestsUncharged, LooksUncharged, CoRunUnreserved, CopyEnginesStarved, ServiceOverrun,
                            BudgetUncharged, NoVolumesFit, DeviceAlone>;

/// `left <= right`, at the task or instant that is tightest.
struct Finding {
  AdmissionTest test{};
  std::optional<unsigned> core{}; // of AdmissionTest::core
  bool proved = false;
  std::string limiting{}; // task
  Nanos left = 0;
  Nanos right = 0;
  Reason reason{};
  std::optional<Nanos> reserve{}; // how much longer the blocking could be; absent: right - left
  // Where it is tightest:
  Nanos instant = 0;
  Nanos demand = 0;      // of jobs,
  Nanos blocking = 0;    // and of what began before them
  std::string blocker{}; // task; empty: none, or not one alone
  /// Whether the sides are shares of a second.
  [[nodiscard]] bool shares() const { return test == AdmissionTest::theorem1 || test == AdmissionTest::baker; }
  [[nodiscard]] Nanos slack() const { return reserve.value_or(right - left); }
};

/// Of what tests presuppose.
[[nodiscard]] inline Finding unmet(Reason reason, const std::string& task = {}) {
  return {.limiting = task, .left = 1, .reason = std::move(reason)};
}

/// Why a chain lacks a bound.
struct ChainObstacle {
  enum class Why : std::uint8_t {
    no_response,   // of `task` no response is promised
    sporadic,      // nothing says how long after one job the next one is released
    slow_follower, // its gate lets fewer jobs pass than the task before may have
    drops_jobs,    // those for which an input has nothing new, and nothing says how long that lasts
  };
  Why why{};
  std::string task;
  Trigger trigger{};
};

// ---- the set ----

/// What swapping is made of.
struct SwapFacts {
  SwapRule rule{};
  std::size_t chunks = 0;
  Bytes chunk{0};
  std::size_t tasks = 0;
  std::uint32_t frames = 0;
  Nanos in = 0; // of one chunk
  Nanos out = 0;
};

/// Of loads beside a task's jobs, for their frames.
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

/// Which jobs may be late while a promise holds: of a set that is promised as a whole, none.
enum class Lateness { none, any };

/// The set as the analysis sees it, with names for people. Parallel: names[i] is set.tasks[i].
struct NamedSet {
  StagedSet set;
  std::vector<std::string> names;
  Order order = Order::edf;
  std::optional<ServiceThreads> services; // where CPU parts are under SCHED_DEADLINE,
  Lateness lateness{};                    // and what they are charged for
  /// The best-effort task with the longest device part; empty: none, or it is not that alone
  std::string background;
  unsigned compute_core = 0;                 // that executes device parts
  bool co_runs = false;                      // two at once
  std::optional<SwapFacts> swap;             // absent: nothing is swapped
  LoadDelay load_delay;                      // the longest; 0: no load waits for a job beside it
  std::map<unsigned, BudgetFacts> regulated; // by core
  std::optional<Finding> obstacle;           // why no test of the device covers it
  [[nodiscard]] bool uses_device() const { return std::ranges::any_of(set.tasks, &StagedTask::uses_device); }
  [[nodiscard]] bool pipelined() const { return swap && swap->rule == SwapRule::pipelined; }
};

} // namespace rtexec::policies
