// What is promised: the verdict of admission with its numbers, and for each task the settings under which it holds.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/memory.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rtexec {

/// The slots of a task's arena, one contiguous range of chunks, in this order.
struct Arena {
  std::uint32_t constant = 0;
  std::uint32_t state = 0;
  std::uint32_t fixed = 0;
  std::uint32_t scratch = 0;
  std::uint32_t padding = 0; // what objects in chunks of their own waste (mo-vmm)
  [[nodiscard]] std::uint32_t slots() const { return constant + state + fixed + scratch + padding; }
};

/// A slot of an arena whose chunk comes and goes.
struct SwapSlot {
  std::uint32_t slot = 0;
  bool copied_out = true; // false: constant, its copy in the store stays valid
  friend bool operator==(const SwapSlot&, const SwapSlot&) = default;
};

/// How chunks move, in a plan whose tasks do not all fit.
struct SwapPlan {
  SwapPolicy policy = SwapPolicy::pipelined;
  std::uint32_t frames = 0; // physical chunks that the swap slots of all tasks share
  unsigned copy_engines = 1;
  SwapCost cost;
  std::filesystem::path store; // empty: host memory
  /// Of `store` and `policy`.
  [[nodiscard]] StoreKind store_kind() const {
    return !store.empty() ? StoreKind::file : policy == SwapPolicy::pageable ? StoreKind::pageable : StoreKind::pinned;
  }
};

/// A test of a plan. All but `theorem1` are sound: a set that one proves keeps what the test is about.
enum class AdmissionTest : std::uint8_t {
  theorem1,   // the device alone, EDF: RT-Swap's Eq. (1) to (3) as published, a baseline that promises nothing
  baker,      // the device alone, EDF: a sum of shares for each deadline
  demand,     // the device alone, EDF: demand bound
  rta,        // the device alone, static priority: response times
  pipelined,  // the device alone, loads beside executions: demand bound or response times
  core,       // one core, as if the device took no time
  end_to_end, // whole jobs: it decides
};
/// As tables and JSON spell it: "theorem1", "end-to-end".
[[nodiscard]] constexpr std::string_view to_string(AdmissionTest test) noexcept {
  constexpr std::string_view names[] = {"theorem1", "baker", "demand", "rta", "pipelined", "core", "end-to-end"};
  return names[static_cast<std::size_t>(test)];
}

/// A test needs `left <= right`: both are times,
struct TimeBound {
  Duration left{0};
  Duration right{0};
};
/// or shares of one, in 10^-9,
struct ShareBound {
  std::int64_t left = 0;
  std::int64_t right = 0;
};
/// or the set lacks what every test supposes, whatever its times: TestVerdict::explanation says what, and what to do.
struct UnmetPrecondition {};

/// The outcome of one test, at the instant or task where it is tightest.
struct TestVerdict {
  AdmissionTest test{};
  std::optional<unsigned> core; // that AdmissionTest::core is about
  bool proved = false;
  std::variant<TimeBound, ShareBound, UnmetPrecondition> bound;
  Duration slack{0};    // by which the left side may grow, or the blocking where the bound is of shares
  Duration instant{0};  // L: the interval, or the deadline, at which it is tightest
  Duration demand{0};   // of the left side there: of jobs,
  Duration blocking{0}; // and of what began before them
  std::string limiting_task;
  std::string blocking_task;       // empty: none, or not one alone
  std::vector<Bytes> swap_volumes; // by task, where volumes are chosen for this test alone
  std::vector<Duration> responses; // bounds by task, where this test alone gives any
  std::string inequality;          // the formula in words and symbols
  std::string explanation;         // the formula with its numbers

  /// "demand", "core 3", "end-to-end".
  [[nodiscard]] std::string name() const {
    return std::string(to_string(test)) + (core ? " " + std::to_string(*core) : "");
  }
  [[nodiscard]] bool sound() const noexcept { return test != AdmissionTest::theorem1; }
  /// Both sides as traces record them: nanoseconds, 10^-9 of one, or 1 <= 0 of a precondition.
  [[nodiscard]] ShareBound sides() const noexcept {
    if (const auto* time = std::get_if<TimeBound>(&bound)) return {time->left.count(), time->right.count()};
    if (const auto* share = std::get_if<ShareBound>(&bound)) return *share;
    return {1, 0};
  }
};

/// A SCHED_DEADLINE reservation with an implicit deadline: `runtime` in each `window`, which is the kernel's deadline
/// and period.
struct CpuReservation {
  Duration runtime{0};
  Duration window{0};
  friend bool operator==(const CpuReservation&, const CpuReservation&) = default;
};

/// Of the threads that serve every task.
struct ServiceReservations {
  CpuReservation scheduler;
  CpuReservation compute; // the host device's compute engine
  /// Of each of the two copy engines; absent: nothing is swapped, and they have no work after the start
  std::optional<CpuReservation> copy;
};

struct PlannedTask {
  std::string name;
  bool promised = false; // a real-time task whose bound is within its deadline
  Wcet wcet;             // that the plan rests on
  std::string workload;  // fingerprint of what ran when that was measured, or will
  /// The ways to compute that its profile stores; empty: the workload's default
  std::vector<std::string> tuning;
  MemoryPolicy memory_policy = MemoryPolicy::device;
  MemoryDemand memory;
  Duration period{0};
  Arena arena;
  /// In the order in which they are swapped; empty: the task is always resident
  std::vector<SwapSlot> swap_slots;
  Bytes swap_volume{0}; // of these slots
  /// That hold their chunks at the start; absent: as many as others leave frames for, tasks in turn
  std::optional<std::uint32_t> resident_slots;
  unsigned core = 0;        // that runs the CPU parts,
  bool core_chosen = false; // by the plan and not by the set
  unsigned core_rank = 0;   // 0 is the most urgent CPU part of all tasks
  /// Device parts of a lower rank go first, then earlier deadlines (EDF: real-time 0, best-effort 1)
  unsigned device_rank = 0;
  /// Stage deadlines, relative to the nominal release: the first CPU part is done,
  Duration ready_by{0};
  Duration device_done_by{0}; // the device part is done,
  Duration done_by{0};        // the job is done (the task's deadline)
  std::optional<Duration> response_bound;
  /// Of the CPU parts of real-time tasks, where threads = "deadline" is planned for
  std::optional<CpuReservation> before_reservation;
  std::optional<CpuReservation> after_reservation;
};

struct Plan {
  bool proved = false;
  Order order = Order::edf;
  TestVerdict device_test;                     // of the device alone: demand, rta or pipelined
  std::vector<TestVerdict> core_tests;         // of each core that has real-time tasks, by number
  TestVerdict end_to_end;                      // decides `proved`, and implies the others
  std::vector<PlannedTask> tasks;              // in the order of the task set
  std::optional<ServiceReservations> services; // where threads = "deadline" is planned for
  /// All tasks' scratch maps the same chunks; false where classes are not told apart
  bool shared_scratch = true;
  std::optional<SwapPlan> swap; // absent: everything fits
  /// Device memory that the tasks need, in whole chunks; what exceeds the capacity is swapped
  Bytes demand{0};
  Bytes separate{0}; // what separate allocations would have taken
  Bytes capacity{0};
  Bytes chunk{0};
  /// Device and machine of the profile that execution times or tuning were taken from; empty: none was
  std::string measured_on;

  /// All tests: the device's, the cores', end-to-end. A copy: it outlives the plan.
  [[nodiscard]] std::vector<TestVerdict> tests() const {
    std::vector<TestVerdict> all{device_test};
    all.insert(all.end(), core_tests.begin(), core_tests.end());
    all.push_back(end_to_end);
    return all;
  }
};

} // namespace rtexec
