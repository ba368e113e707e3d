// The result of admission: the verdict with its numbers, and for each task the settings under which it holds.
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
  /// Live contents between segments. Tasks of one level share these chunks.
  std::uint32_t carry = 0;
  /// Slots that are wasted because objects have chunks of their own (mo-vmm).
  std::uint32_t padding = 0;
  [[nodiscard]] std::uint32_t slots() const { return constant + state + fixed + scratch + carry + padding; }
};

/// A slot of an arena whose chunk is swapped.
struct SwapSlot {
  std::uint32_t slot = 0;
  /// True if the slot is copied out when its chunk is evicted. Slots of constants are not: their copies in the store
  /// stay valid.
  bool copied_out = true;
  friend bool operator==(const SwapSlot&, const SwapSlot&) = default;
};

/// A range of consecutive swap slots of a task.
struct SlotRange {
  std::uint32_t begin = 0;
  /// One past the last.
  std::uint32_t end = 0;
  [[nodiscard]] std::uint32_t size() const { return end - begin; }
  friend bool operator==(const SlotRange&, const SlotRange&) = default;
};

/// The plan for streaming a task's constants while its job executes. The constants are its swap slots, in the order of
/// their first use.
struct Stream {
  /// The number of frames of the ring. A job begins with that many chunks.
  std::uint32_t ring = 0;
  /// The slots that each segment reads, by segment. Neither end ever decreases, and no range is larger than the ring.
  std::vector<SlotRange> reads;
  /// The longest device part, including waits for chunks, if only loads run concurrently; without charges.
  Duration execution{0};
  friend bool operator==(const Stream&, const Stream&) = default;
};

/// The settings of swapping, in a plan whose tasks do not all fit.
struct SwapPlan {
  SwapPolicy policy = SwapPolicy::pipelined;
  /// The number of physical chunks that the swap slots of all tasks share.
  std::uint32_t frames = 0;
  unsigned copy_engines = 1;
  SwapCost cost;
  /// The file that chunks are copied to. Empty: host memory.
  std::filesystem::path store;
  /// Returns the kind of store that `store` and `policy` imply.
  [[nodiscard]] StoreKind store_kind() const {
    return !store.empty() ? StoreKind::file : policy == SwapPolicy::pageable ? StoreKind::pageable : StoreKind::pinned;
  }
};

/// A test of a plan. All but `theorem1` are sound: if one proves a set, the set satisfies the property that it tests.
enum class AdmissionTest : std::uint8_t {
  theorem1,   // the device alone, EDF: RT-Swap's Eq. (1) to (3) as published, an unsound baseline
  baker,      // the device alone, EDF: a sum of shares for each deadline
  demand,     // the device alone, EDF: demand bound
  rta,        // the device alone, static priority: response times
  pipelined,  // the device alone, loads concurrent with executions: demand bound or response times
  segmented,  // the same, for jobs in segments and tasks in classes
  core,       // one core, as if the device took no time
  end_to_end, // whole jobs, from release to end: the test that decides
};
/// Returns the spelling in tables and JSON: "theorem1", "end-to-end".
[[nodiscard]] constexpr std::string_view to_string(AdmissionTest test) noexcept {
  constexpr std::string_view names[] = {"theorem1",  "baker",     "demand", "rta",
                                        "pipelined", "segmented", "core",   "end-to-end"};
  return names[static_cast<std::size_t>(test)];
}

/// The inequality `left <= right` of two times, which a test requires.
struct TimeBound {
  Duration left{0};
  Duration right{0};
};
/// The same for shares of one, in 10^-9.
struct ShareBound {
  std::int64_t left = 0;
  std::int64_t right = 0;
};
/// The set violates a precondition of every test, whatever its execution times. TestVerdict::explanation gives the
/// violation and a remedy.
struct UnmetPrecondition {};

/// The outcome of one test, at the instant or task where it is tightest.
struct TestVerdict {
  AdmissionTest test{};
  /// The core that AdmissionTest::core tests.
  std::optional<unsigned> core;
  bool proved = false;
  std::variant<TimeBound, ShareBound, UnmetPrecondition> bound;
  /// The amount by which the left side may grow; for a bound of shares, the amount by which the blocking may grow.
  Duration slack{0};
  /// L: the interval, or the deadline, at which the test is tightest.
  Duration instant{0};
  /// The part of the left side that jobs demand at that instant.
  Duration demand{0};
  /// The part of the left side that is due to earlier work, which blocks these jobs.
  Duration blocking{0};
  std::string limiting_task;
  /// The task that blocks. Empty: no task, or more than one.
  std::string blocking_task;
  /// The swap volumes of the tasks, if they were chosen for this test alone.
  std::vector<Bytes> swap_volumes;
  /// The response-time bounds of the tasks, if this test alone gives any.
  std::vector<Duration> responses;
  /// The formula in words and symbols.
  std::string inequality;
  /// The formula with its numbers.
  std::string explanation;

  /// Returns the name: "demand", "core 3", "end-to-end".
  [[nodiscard]] std::string name() const {
    return std::string(to_string(test)) + (core ? " " + std::to_string(*core) : "");
  }
  [[nodiscard]] bool sound() const noexcept { return test != AdmissionTest::theorem1; }
  /// Returns both sides as traces record them: nanoseconds, 10^-9 of one, or 1 <= 0 for an unmet precondition.
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

/// The reservations of the threads that serve every task.
struct ServiceReservations {
  /// The reservation of the scheduler thread.
  CpuReservation scheduler;
  /// The reservation of the compute engine's thread.
  CpuReservation compute;
  /// The reservation of each of the two copy engines. Absent: nothing is swapped, and the copy engines are idle after
  /// the start.
  std::optional<CpuReservation> copy;
  friend bool operator==(const ServiceReservations&, const ServiceReservations&) = default;
};

/// The execution times of a task whose jobs may co-run with those of another task.
struct CoRun {
  /// The longest device part while co-running.
  Duration wcet{0};
  /// The part of it in which the job only waits for pages. Absent: the task's jobs are under D, and execute while
  /// others wait.
  std::optional<Duration> idle;
  friend bool operator==(const CoRun&, const CoRun&) = default;
};

struct PlannedTask {
  std::string name;
  /// True if this is a real-time task whose bound is within its deadline.
  bool promised = false;
  /// The execution times that the plan rests on.
  Wcet wcet;
  /// The fingerprint of the workload that was measured, or that will run.
  std::string workload;
  /// The tuning that the profile stores. Empty: the workload's defaults.
  std::vector<std::string> tuning;
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// Absent: the task's jobs never co-run.
  std::optional<CoRun> co_run;
  /// The reason for this memory policy, in words. Empty: the task leaves no choice.
  std::string memory_policy_reason;
  MemoryDemand memory;
  /// The part of the fixed memory that holds outputs on their way to other tasks on the device.
  Bytes links{0};
  Duration period{0};
  Arena arena;
  /// True if the arena maps the last chunks of the shared scratch, and not the first ones. Jobs that co-run share no
  /// scratch chunk.
  bool scratch_at_end = false;
  /// The slots that are swapped, in this order. Empty: the task is always resident.
  std::vector<SwapSlot> swap_slots;
  /// The size of the swap slots with which a job begins.
  Bytes swap_volume{0};
  /// Absent: a job begins once all of its swap slots hold their chunks, which stay until it has ended.
  std::optional<Stream> stream;
  /// Returns the number of the arena's slots that have no chunk at any time.
  [[nodiscard]] std::uint32_t streamed_away() const { return stream ? arena.constant - stream->ring : 0; }
  /// Returns the number of swap-slot chunks that must be on the device before a job begins.
  [[nodiscard]] std::uint32_t begins_with() const {
    return stream ? stream->ring : static_cast<std::uint32_t>(swap_slots.size());
  }
  /// The number of swap slots that hold their chunks at the start. Absent: as many as the frames allow, assigned to
  /// tasks in turn.
  std::optional<std::uint32_t> resident_slots;
  /// The core that runs the CPU parts.
  unsigned core = 0;
  /// True if the plan chose that core, and not the task set.
  bool core_chosen = false;
  /// The rank of the CPU parts. 0 is the most urgent of all tasks.
  unsigned core_rank = 0;
  /// The rank of the device part. A lower rank goes first, then an earlier deadline. Under EDF real-time tasks have 0,
  /// best-effort tasks 1.
  unsigned device_rank = 0;
  /// The preemption class of the device part. 0: an express task, which swaps nothing, and whose jobs go next at every
  /// end of a segment. 1, 2, ...: levels. A job of a smaller level preempts jobs of larger ones between their segments.
  std::uint32_t device_class = 1;
  /// The number of segments of the device part. A segment is not preempted.
  std::uint32_t segments = 1;
  /// If there are several segments: the layers after which they end, except for the last segment.
  std::vector<std::uint32_t> cuts;
  /// If there are several segments: the execution times that the plan rests on. Their sum is that of the device part or
  /// more.
  std::vector<Duration> segment_wcets;
  /// The stage deadline of the first CPU part, counted from the nominal release.
  Duration ready_by{0};
  /// The stage deadline of the device part, counted from the nominal release.
  Duration device_done_by{0};
  /// The deadline of the job, counted from the nominal release.
  Duration done_by{0};
  /// The promised upper bound of the response time. Absent: none is promised.
  std::optional<Duration> response_bound;
  /// The reservation of the first CPU part of a real-time task, if SCHED_DEADLINE is planned for.
  std::optional<CpuReservation> before_reservation;
  /// The reservation of the last CPU part of such a task.
  std::optional<CpuReservation> after_reservation;
};

/// A task's term in the sum that bounds the reaction time of a chain.
struct ChainTerm {
  std::string task;
  /// The time until a job is released that has the data: after the event, or after the previous task's output. For the
  /// first task it includes its input delay.
  Duration waits{0};
  /// The time from that release to the output, or until no job of the next task begins without this output.
  Duration takes{0};
};

/// The promises for a chain: its reaction time and data age (policies/chains/chain_bounds.hpp).
struct PlannedChain {
  std::string name;
  Communication communicate{};
  /// The first task's Task::input_delay: reactions and ages count from the sampling of its inputs. Absent: they count
  /// from its release, or from the instant at which it reads.
  std::optional<Duration> input_delay;
  /// The longest reaction time. Absent: none is promised.
  std::optional<Duration> reaction;
  /// The greatest age of the last task's output while it is in use. Absent: none is promised.
  std::optional<Duration> age;
  /// The greatest age of an output when it appears. Absent: none is promised.
  std::optional<Duration> reduced_age;
  /// The sum of the input delay and all periods and response bounds (Davare et al., DAC 2007), which also bounds a
  /// chain of timer-released tasks. Absent: a task has no response bound.
  std::optional<Duration> davare;
  std::optional<Duration> max_reaction;
  std::optional<Duration> max_age;
  /// True if the bounds are within their limits.
  bool kept = false;
  /// The terms of the bounds, by task.
  std::vector<ChainTerm> terms;
  /// The exceeded limit, or the reason for a missing bound, in words. Empty: neither.
  std::string finding;
};

struct Plan {
  bool proved = false;
  Order order = Order::edf;
  /// The test of the device alone: demand, rta, pipelined or segmented.
  TestVerdict device_test;
  /// The test of each core that has real-time tasks, by number.
  std::vector<TestVerdict> core_tests;
  /// The test of all deadlines, which implies the others. It decides `proved`, together with the limits of chains.
  TestVerdict end_to_end;
  /// The tasks, in the order of the task set.
  std::vector<PlannedTask> tasks;
  /// The chains, in the order of the task set.
  std::vector<PlannedChain> chains;
  /// The reservations of the service threads, if SCHED_DEADLINE is planned for.
  std::optional<ServiceReservations> services;
  /// True if the scratch of all tasks maps the same chunks. False if memory classes are not distinguished.
  bool shared_scratch = true;
  /// The number of these shared chunks.
  std::uint32_t scratch_chunks = 0;
  /// The number of segments of the executing job that are submitted ahead while one executes.
  std::uint32_t launch_ahead = 0;
  /// The settings of swapping. Absent: everything fits.
  std::optional<SwapPlan> swap;
  /// The device memory that the tasks need: whole chunks, plus `outside`. The excess over the capacity is swapped.
  Bytes demand{0};
  /// The part of the demand that lies in no chunk: buffers of workloads. Host buffers are included if the device has no
  /// memory of its own.
  Bytes outside{0};
  /// Page-locked host memory that workloads allocate.
  Bytes host{0};
  /// The memory that separate allocations would use.
  Bytes separate{0};
  Bytes capacity{0};
  Bytes chunk{0};
  /// Device and machine of the profile that provided execution times or tuning. Empty: no profile was used.
  std::string measured_on;

  /// True if two jobs may execute at once.
  [[nodiscard]] bool co_runs() const {
    return std::ranges::any_of(tasks, [](const PlannedTask& task) { return task.co_run.has_value(); });
  }
  /// True if jobs are preempted on the device.
  [[nodiscard]] bool preempts() const {
    return std::ranges::any_of(tasks,
                               [](const PlannedTask& task) { return task.segments > 1 || task.device_class != 1; });
  }
  /// Returns all tests: the device's, the cores', end-to-end. The copy outlives the plan.
  [[nodiscard]] std::vector<TestVerdict> tests() const {
    std::vector<TestVerdict> all{device_test};
    all.insert(all.end(), core_tests.begin(), core_tests.end());
    all.push_back(end_to_end);
    return all;
  }
};

} // namespace rtexec
