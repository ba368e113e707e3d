// What is promised: the verdict of admission with its numbers, and for each task the settings under which it holds.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/memory.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <algorithm>
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
  /// Those of one level share it.
  std::uint32_t carry = 0;
  /// What objects in chunks of their own waste (mo-vmm).
  std::uint32_t padding = 0;
  [[nodiscard]] std::uint32_t slots() const { return constant + state + fixed + scratch + carry + padding; }
};

/// A slot of an arena whose chunk comes and goes.
struct SwapSlot {
  std::uint32_t slot = 0;
  /// Whether the slot is copied when its chunk leaves. A slot of constants is not: its copy in the store stays valid.
  bool copied_out = true;
  friend bool operator==(const SwapSlot&, const SwapSlot&) = default;
};

/// Some of a task's swap slots that follow each other.
struct SlotRange {
  std::uint32_t begin = 0;
  /// One past the last.
  std::uint32_t end = 0;
  [[nodiscard]] std::uint32_t size() const { return end - begin; }
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

/// How the constants of a task come while its job executes. They are its swap slots, in the order of their first use.
struct Stream {
  /// How many frames they go through. A job begins with so many of them.
  std::uint32_t ring = 0;
  /// By segment: what it reads. Neither end ever decreases, and no range is larger than the ring.
  std::vector<SlotRange> reads;
  /// The longest device part, waiting for chunks included, where nothing but loads is beside it; without charges.
  Duration execution{0};
  friend bool operator==(const Stream&, const Stream&) = default;
};

/// How chunks move, in a plan whose tasks do not all fit.
struct SwapPlan {
  SwapPolicy policy = SwapPolicy::pipelined;
  /// How many physical chunks the swap slots of all tasks share.
  std::uint32_t frames = 0;
  unsigned copy_engines = 1;
  SwapCost cost;
  /// The file that chunks are copied to. Empty: host memory.
  std::filesystem::path store;
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
  segmented,  // the same, of jobs in segments and tasks in classes
  core,       // one core, as if the device took no time
  end_to_end, // whole jobs: it decides
};
/// As tables and JSON spell it: "theorem1", "end-to-end".
[[nodiscard]] constexpr std::string_view to_string(AdmissionTest test) noexcept {
  constexpr std::string_view names[] = {"theorem1",  "baker",     "demand", "rta",
                                        "pipelined", "segmented", "core",   "end-to-end"};
  return names[static_cast<std::size_t>(test)];
}

/// What a test needs: `left <= right`, both being times.
struct TimeBound {
  Duration left{0};
  Duration right{0};
};
/// The same of shares of one, in 10^-9.
struct ShareBound {
  std::int64_t left = 0;
  std::int64_t right = 0;
};
/// The set lacks what every test supposes, whatever its times. TestVerdict::explanation says what, and what to do.
struct UnmetPrecondition {};

/// The outcome of one test, at the instant or task where it is tightest.
struct TestVerdict {
  AdmissionTest test{};
  /// The core that AdmissionTest::core is about.
  std::optional<unsigned> core;
  bool proved = false;
  std::variant<TimeBound, ShareBound, UnmetPrecondition> bound;
  /// By how much the left side may grow, or the blocking where the bound is of shares.
  Duration slack{0};
  /// L: the interval, or the deadline, at which the test is tightest.
  Duration instant{0};
  /// What jobs demand of the left side there.
  Duration demand{0};
  /// What began before these jobs takes of the left side.
  Duration blocking{0};
  std::string limiting_task;
  /// The task that blocks. Empty: none does, or not one alone.
  std::string blocking_task;
  /// The volumes of the tasks, where they were chosen for this test alone.
  std::vector<Bytes> swap_volumes;
  /// The bounds of the tasks, where this test alone gives any.
  std::vector<Duration> responses;
  /// The formula in words and symbols.
  std::string inequality;
  /// The formula with its numbers.
  std::string explanation;

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
  /// The reservation of the scheduler thread.
  CpuReservation scheduler;
  /// The reservation of the compute engine's thread.
  CpuReservation compute;
  /// The reservation of each of the two copy engines. Absent: nothing is swapped, and they have no work after the
  /// start.
  std::optional<CpuReservation> copy;
  friend bool operator==(const ServiceReservations&, const ServiceReservations&) = default;
};

/// Of a task whose jobs may execute beside those of another.
struct CoRun {
  /// The longest device part then.
  Duration wcet{0};
  /// How long of that it only waits for pages. Absent: its jobs are under D then, and execute while others wait.
  std::optional<Duration> idle;
  friend bool operator==(const CoRun&, const CoRun&) = default;
};

struct PlannedTask {
  std::string name;
  /// Whether this is a real-time task whose bound is within its deadline.
  bool promised = false;
  /// The execution times that the plan rests on.
  Wcet wcet;
  /// The fingerprint of what ran when these were measured, or of what will run.
  std::string workload;
  /// The ways to compute that the profile stores. Empty: the workload's default.
  std::vector<std::string> tuning;
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// Absent: its jobs execute beside no other.
  std::optional<CoRun> co_run;
  /// Why it is that one, in words. Empty: the task has no choice.
  std::string memory_policy_reason;
  MemoryDemand memory;
  /// Of its fixed memory, what holds outputs that stay on the device on their way to other tasks.
  Bytes links{0};
  Duration period{0};
  Arena arena;
  /// Whether shared scratch is the last chunks of it, and not the first ones: jobs that execute beside each other share
  /// none.
  bool scratch_at_end = false;
  /// The slots that are swapped, in this order. Empty: the task is always resident.
  std::vector<SwapSlot> swap_slots;
  /// The size of what a job begins with of these slots.
  Bytes swap_volume{0};
  /// Absent: a job begins once all of them hold their chunks, which stay until it has ended.
  std::optional<Stream> stream;
  /// So many of its arena's slots are without a chunk at any time.
  [[nodiscard]] std::uint32_t streamed_away() const { return stream ? arena.constant - stream->ring : 0; }
  /// So many chunks of its swap slots must be on the device for a job to begin.
  [[nodiscard]] std::uint32_t begins_with() const {
    return stream ? stream->ring : static_cast<std::uint32_t>(swap_slots.size());
  }
  /// How many of them hold their chunks at the start. Absent: as many as others leave frames for, tasks in turn.
  std::optional<std::uint32_t> resident_slots;
  /// The core that runs the CPU parts.
  unsigned core = 0;
  /// Whether the plan chose that core, and not the task set.
  bool core_chosen = false;
  /// The rank of the CPU parts. 0 is the most urgent of all tasks.
  unsigned core_rank = 0;
  /// The rank of the device part. A lower rank goes first, then an earlier deadline. Under EDF real-time tasks have 0,
  /// best-effort tasks 1.
  unsigned device_rank = 0;
  /// The class of the device part. 0: an express task, which swaps nothing, and whose jobs go next at every end of a
  /// segment. 1, 2, ..: levels; a job of a smaller one freezes those of the others.
  std::uint32_t device_class = 1;
  /// How many segments the device part consists of. Each is executed without an interruption.
  std::uint32_t segments = 1;
  /// Of several: the layers behind which they end, the last one aside.
  std::vector<std::uint32_t> cuts;
  /// Of several: the execution times that the plan rests on, which add up to that of the device part or more.
  std::vector<Duration> segment_wcets;
  /// The stage deadline of the first CPU part, counted from the nominal release.
  Duration ready_by{0};
  /// The stage deadline of the device part, counted likewise.
  Duration device_done_by{0};
  /// The deadline of the job, counted likewise.
  Duration done_by{0};
  /// The longest response time that is promised. Absent: none is.
  std::optional<Duration> response_bound;
  /// The reservation of the first CPU part of a real-time task, where SCHED_DEADLINE is planned for.
  std::optional<CpuReservation> before_reservation;
  /// The reservation of the last CPU part likewise.
  std::optional<CpuReservation> after_reservation;
};

/// One task of a chain, in the sum that bounds the reaction time.
struct ChainTerm {
  std::string task;
  /// Until a job is released that has the data: after the event, or after the output of the task before. Of the first
  /// task this holds its input delay.
  Duration waits{0};
  /// From that release to the output, or until no job of the next task begins without it.
  Duration takes{0};
};

/// What a chain is promised: its reaction time and data age (policies/chains/chain_bounds.hpp).
struct PlannedChain {
  std::string name;
  Communication communicate{};
  /// The first task's Task::input_delay: reactions and ages count from the sampling of its inputs. Absent: from its
  /// release, or from when it reads.
  std::optional<Duration> input_delay;
  /// The longest reaction time. Absent: none is promised.
  std::optional<Duration> reaction;
  /// The greatest age of the last task's output while it is in use. Absent: none is promised.
  std::optional<Duration> age;
  /// The greatest age of an output when it appears. Absent: none is promised.
  std::optional<Duration> reduced_age;
  /// The sum of the input delay and all periods and response bounds (Davare et al., DAC 2007), which bounds a chain of
  /// timers likewise. Absent: a task has no response bound.
  std::optional<Duration> davare;
  std::optional<Duration> max_reaction;
  std::optional<Duration> max_age;
  /// Whether the bounds are within their limits.
  bool kept = false;
  /// What the bounds are made of, by task.
  std::vector<ChainTerm> terms;
  /// What exceeds a limit, or why a bound is missing, in words. Empty: neither.
  std::string finding;
};

struct Plan {
  bool proved = false;
  Order order = Order::edf;
  /// The test of the device alone: demand, rta or pipelined.
  TestVerdict device_test;
  /// The test of each core that has real-time tasks, by number.
  std::vector<TestVerdict> core_tests;
  /// The test of all deadlines, which implies the others. It decides `proved` with the limits of chains.
  TestVerdict end_to_end;
  /// The tasks, in the order of the task set.
  std::vector<PlannedTask> tasks;
  /// The chains, in the order of the task set.
  std::vector<PlannedChain> chains;
  /// What service threads reserve, where SCHED_DEADLINE is planned for.
  std::optional<ServiceReservations> services;
  /// Whether all tasks' scratch maps the same chunks. It does not where classes are not told apart.
  bool shared_scratch = true;
  /// How many chunks that is.
  std::uint32_t scratch_chunks = 0;
  /// How many further segments of the executing job are given to the device while one executes.
  std::uint32_t launch_ahead = 0;
  /// How chunks move. Absent: everything fits.
  std::optional<SwapPlan> swap;
  /// The device memory that the tasks need: whole chunks, and `outside`. What exceeds the capacity is swapped.
  Bytes demand{0};
  /// Of the demand, what lies in no chunk: buffers of workloads, those of the host included where it has no memory of
  /// its own.
  Bytes outside{0};
  /// Page-locked memory of the host that workloads allocate.
  Bytes host{0};
  /// What separate allocations would have taken.
  Bytes separate{0};
  Bytes capacity{0};
  Bytes chunk{0};
  /// Device and machine of the profile that execution times or tuning were taken from. Empty: from none.
  std::string measured_on;

  /// Whether two jobs may execute at once.
  [[nodiscard]] bool co_runs() const {
    return std::ranges::any_of(tasks, [](const PlannedTask& task) { return task.co_run.has_value(); });
  }
  /// Whether jobs are preempted on the device.
  [[nodiscard]] bool preempts() const {
    return std::ranges::any_of(tasks,
                               [](const PlannedTask& task) { return task.segments > 1 || task.device_class != 1; });
  }
  /// All tests: the device's, the cores', end-to-end. A copy: it outlives the plan.
  [[nodiscard]] std::vector<TestVerdict> tests() const {
    std::vector<TestVerdict> all{device_test};
    all.insert(all.end(), core_tests.begin(), core_tests.end());
    all.push_back(end_to_end);
    return all;
  }
};

} // namespace rtexec
