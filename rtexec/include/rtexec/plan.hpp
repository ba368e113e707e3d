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

/// A task's arena: one contiguous range of device addresses, divided into slots. A slot has the size of a chunk, and a
/// physical chunk can be mapped there. The members are the numbers of slots for each purpose, in the order of the
/// arena.
struct Arena {
  std::uint32_t constant = 0;
  std::uint32_t state = 0;
  std::uint32_t fixed = 0;
  std::uint32_t scratch = 0;
  /// Slots for contents that live between segments. Tasks of one level share the chunks of these slots; top-class tasks
  /// have their own (PlannedTask::device_class).
  std::uint32_t carry = 0;
  /// Slots that stay unused because each memory object has chunks of its own (SwapPolicy::mo_vmm).
  std::uint32_t padding = 0;
  [[nodiscard]] std::uint32_t slots() const { return constant + state + fixed + scratch + carry + padding; }
};

/// A slot of an arena whose chunk is swapped.
struct SwapSlot {
  std::uint32_t slot = 0;
  /// True if the contents are copied out when the chunk is evicted. Contents of constants are not, because their copies
  /// in the store stay valid.
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

/// The plan for streaming a task's constants while its job executes. The slots of the constants are the task's swap
/// slots, in the order of their first use.
struct Stream {
  /// The number of frames of the ring: the physical chunks that are used again and again for the streamed slots. A job
  /// begins once that many of its first chunks are loaded.
  std::uint32_t ring = 0;
  /// The swap slots that each segment reads, by segment. From segment to segment neither `begin` nor `end` decreases.
  /// No range is larger than the ring.
  std::vector<SlotRange> reads;
  /// The longest device part, including its waits for chunks, if nothing but loads runs concurrently. Charges for
  /// dispatch and switches are not included.
  Duration execution{0};
  friend bool operator==(const Stream&, const Stream&) = default;
};

/// The settings of swapping, in a plan whose tasks do not all fit into device memory.
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

/// A test of a plan. All tests but `theorem1` are sound: if such a test proves a set, the set has the tested property.
enum class AdmissionTest : std::uint8_t {
  theorem1,   // the device alone, EDF: RT-Swap's Eq. (1) to (3) as published, an unsound baseline
  baker,      // the device alone, EDF: for each deadline, a limit of the sum of the tasks' shares of the device
              // (Baker's test)
  demand,     // the device alone, EDF: the demand bound test
  rta,        // the device alone, static priorities: response-time analysis
  pipelined,  // the device alone, with loads concurrent with executions: one of the previous two
  segmented,  // like `pipelined`, for jobs in segments and tasks in preemption classes
  core,       // one core, as if device parts took no time
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
/// The inequality `left <= right` of two shares of the device's time, in units of 10^-9.
struct ShareBound {
  std::int64_t left = 0;
  std::int64_t right = 0;
};
/// The set violates a precondition that every test has, whatever the execution times are. TestVerdict::explanation
/// names the violation and a remedy.
struct UnmetPrecondition {};

/// The outcome of one test, with its numbers for the instant or task at which the test is tightest.
struct TestVerdict {
  AdmissionTest test{};
  /// The tested core; present for AdmissionTest::core.
  std::optional<unsigned> core;
  bool proved = false;
  std::variant<TimeBound, ShareBound, UnmetPrecondition> bound;
  /// The amount by which the left side of the inequality may still grow. For a ShareBound, the amount by which
  /// `blocking` may still grow.
  Duration slack{0};
  /// The interval length or the deadline at which the test is tightest; L in the formulas.
  Duration instant{0};
  /// The part of the left side that jobs demand by `instant`.
  Duration demand{0};
  /// The part of the left side that comes from earlier work, which blocks these jobs.
  Duration blocking{0};
  std::string limiting_task;
  /// The task whose work causes the blocking. Empty: no task, or more than one.
  std::string blocking_task;
  /// The swap volumes of the tasks (PlannedTask::swap_volume), if they were chosen for this test alone.
  std::vector<Bytes> swap_volumes;
  /// The response-time bounds of the tasks, if this test by itself yields any.
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
  /// Returns both sides as traces record them: in nanoseconds for times, in 10^-9 for shares. An unmet precondition
  /// gives 1 and 0, which is a violated inequality.
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

/// The SCHED_DEADLINE reservations of the threads that serve every task.
struct ServiceReservations {
  /// The reservation of the scheduler thread.
  CpuReservation scheduler;
  /// The reservation of the compute engine's thread.
  CpuReservation compute;
  /// The reservation of each of the two copy engines. Absent: nothing is swapped, so that the copy engines are idle
  /// after the start.
  std::optional<CpuReservation> copy;
  friend bool operator==(const ServiceReservations&, const ServiceReservations&) = default;
};

/// The execution times of a task whose jobs may co-run: execute on the device concurrently with those of another task.
struct CoRun {
  /// The longest device part while co-running.
  Duration wcet{0};
  /// The part of `wcet` in which the job only waits for pages of memory. Absent: the task's jobs are under device
  /// memory (D), and execute while jobs of other tasks wait.
  std::optional<Duration> idle;
  friend bool operator==(const CoRun&, const CoRun&) = default;
};

struct PlannedTask {
  std::string name;
  /// True if this is a real-time task whose response-time bound is within its deadline.
  bool promised = false;
  /// The WCETs that the plan relies on.
  Wcet wcet;
  /// The fingerprint of the workload that was measured, or if none was, of the one that will run.
  std::string workload;
  /// The tuning that the profile stores. Empty: the workload's defaults.
  std::vector<std::string> tuning;
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// The times of jobs that co-run. Absent: the task's jobs never co-run.
  std::optional<CoRun> co_run;
  /// The reason why the plan chose this memory policy, in words. Empty: the task set gives the policy.
  std::string memory_policy_reason;
  MemoryDemand memory;
  /// The part of the fixed memory that holds outputs for other tasks on the device (links, <rtexec/workload.hpp>).
  Bytes links{0};
  Duration period{0};
  Arena arena;
  /// True if the arena maps the last chunks of the shared scratch, false if it maps the first ones. So jobs that co-run
  /// share no scratch chunk.
  bool scratch_at_end = false;
  /// The swap slots: the slots of the arena whose chunks are swapped, in this order. Empty: all of the task's memory is
  /// always on the device.
  std::vector<SwapSlot> swap_slots;
  /// The size of the swap slots whose chunks must be on the device before a job begins (begins_with()).
  Bytes swap_volume{0};
  /// The plan for streaming. Absent: a job begins once all of its swap slots hold their chunks, and the chunks stay
  /// until the job has ended.
  std::optional<Stream> stream;
  /// Returns the number of the arena's slots that have no physical chunk because the task is streamed: its constants
  /// share the chunks of the ring.
  [[nodiscard]] std::uint32_t streamed_away() const { return stream ? arena.constant - stream->ring : 0; }
  /// Returns the number of swap-slot chunks that must be on the device before a job begins.
  [[nodiscard]] std::uint32_t begins_with() const {
    return stream ? stream->ring : static_cast<std::uint32_t>(swap_slots.size());
  }
  /// The number of swap slots that hold their chunks at the start. Absent: min(begins_with(), the frames left). Frames
  /// (SwapPlan::frames) are first given to tasks that set this number; the others share the rest in the order of the
  /// tasks.
  std::optional<std::uint32_t> resident_slots;
  /// The core that runs the CPU parts.
  unsigned core = 0;
  /// True if the plan chose that core, false if the task set gives it.
  bool core_chosen = false;
  /// The rank of the CPU parts among all tasks. 0 is the most urgent one.
  unsigned core_rank = 0;
  /// The rank of the device part. The job of the lowest rank goes first; among equal ranks, the one with the earliest
  /// deadline. Under EDF real-time tasks have rank 0, best-effort tasks rank 1.
  unsigned device_rank = 0;
  /// The preemption class of the device part. 0: a top-class task. It swaps nothing, and its jobs go first whenever a
  /// segment of another job ends. 1, 2, ...: levels. A job of a smaller level preempts jobs of larger levels between
  /// their segments.
  std::uint32_t device_class = 1;
  /// The number of segments of the device part. A job is preempted between segments only.
  std::uint32_t segments = 1;
  /// If there are several segments: the number of the last layer of each segment, except for the last segment.
  std::vector<std::uint32_t> cuts;
  /// If there are several segments: the WCET of each. Their sum is at least the WCET of the device part.
  std::vector<Duration> segment_wcets;
  /// The deadline that the plan gives to the first CPU part, counted from the nominal release.
  Duration ready_by{0};
  /// The deadline that the plan gives to the device part, counted from the nominal release.
  Duration device_done_by{0};
  /// The deadline of the job, counted from the nominal release.
  Duration done_by{0};
  /// The promised upper bound of the response time. Absent: none is promised.
  std::optional<Duration> response_bound;
  /// The reservation of the first CPU part of a real-time task. Absent: SCHED_DEADLINE is not planned for, or the task
  /// is best-effort.
  std::optional<CpuReservation> before_reservation;
  /// The same for the last CPU part.
  std::optional<CpuReservation> after_reservation;
};

/// A task's term in the sum that bounds the reaction time of a chain.
struct ChainTerm {
  std::string task;
  /// The time until the release of a job that has the data. It counts from the previous task's output, and for the
  /// first task from the event. The first task's term includes its input delay.
  Duration waits{0};
  /// The time from that release to the job's output; or a shorter time, after which no job of the next task begins
  /// before it has this output.
  Duration takes{0};
};

/// The promises for a chain: bounds of its reaction time and data age, which policies/chains/chain_bounds.hpp defines.
struct PlannedChain {
  std::string name;
  Communication communicate{};
  /// The first task's Task::input_delay: reactions and ages count from the sampling of its inputs. Absent: they count
  /// from the first task's release, or from the instant at which its job reads.
  std::optional<Duration> input_delay;
  /// The bound of the reaction time. Absent: none is promised.
  std::optional<Duration> reaction;
  /// The bound of the data age: the greatest age of the last task's output while it is in use. Absent: none is
  /// promised.
  std::optional<Duration> age;
  /// The bound of the reduced data age: the greatest age of the last task's output when it appears. Absent: none is
  /// promised.
  std::optional<Duration> reduced_age;
  /// The sum of the input delay, all periods and all response bounds. It is another bound of the reaction time if
  /// timers release all tasks (Davare et al., DAC 2007). Absent: a task has no response bound.
  std::optional<Duration> davare;
  std::optional<Duration> max_reaction;
  std::optional<Duration> max_age;
  /// True if the bounds are within `max_reaction` and `max_age`.
  bool kept = false;
  /// The terms of the sum that bounds the reaction time, by task.
  std::vector<ChainTerm> terms;
  /// The exceeded limit, or the reason why a bound is missing, in words. Empty: no limit is exceeded, and no bound is
  /// missing.
  std::string finding;
};

struct Plan {
  bool proved = false;
  Order order = Order::edf;
  /// The test of the device alone: demand, rta, pipelined or segmented.
  TestVerdict device_test;
  /// The test of each core that has real-time tasks, ordered by the core's number.
  std::vector<TestVerdict> core_tests;
  /// The test of all deadlines. If it proves them, the other tests would, too. It decides `proved`, together with the
  /// limits of chains.
  TestVerdict end_to_end;
  /// The tasks, in the order of the task set.
  std::vector<PlannedTask> tasks;
  /// The chains, in the order of the task set.
  std::vector<PlannedChain> chains;
  /// The reservations of the service threads, if SCHED_DEADLINE is planned for.
  std::optional<ServiceReservations> services;
  /// True if the scratch of all tasks maps the same chunks. False if memory classes are not distinguished.
  bool shared_scratch = true;
  /// The number of chunks of the shared scratch.
  std::uint32_t scratch_chunks = 0;
  /// The number of segments of a job that are submitted to the device ahead, while an earlier one executes.
  std::uint32_t launch_ahead = 0;
  /// The settings of swapping. Absent: all tasks fit into device memory.
  std::optional<SwapPlan> swap;
  /// The device memory that the tasks need: their whole chunks, plus `outside`. Memory beyond the capacity is swapped.
  Bytes demand{0};
  /// The part of the demand that lies in no chunk: buffers that workloads allocate. Their host buffers are included if
  /// the device has no memory of its own.
  Bytes outside{0};
  /// Page-locked host memory that workloads allocate.
  Bytes host{0};
  /// The memory that the tasks would use if each allocated its own.
  Bytes separate{0};
  Bytes capacity{0};
  Bytes chunk{0};
  /// Device and machine of the profile that provided execution times or tuning. Empty: no profile was used.
  std::string measured_on;

  /// True if two jobs may execute on the device at once.
  [[nodiscard]] bool co_runs() const {
    return std::ranges::any_of(tasks, [](const PlannedTask& task) { return task.co_run.has_value(); });
  }
  /// True if jobs are preempted on the device.
  [[nodiscard]] bool preempts() const {
    return std::ranges::any_of(tasks,
                               [](const PlannedTask& task) { return task.segments > 1 || task.device_class != 1; });
  }
  /// Returns all tests: the device's, the cores', the end-to-end test. The copies may outlive the plan.
  [[nodiscard]] std::vector<TestVerdict> tests() const {
    std::vector<TestVerdict> all{device_test};
    all.insert(all.end(), core_tests.begin(), core_tests.end());
    all.push_back(end_to_end);
    return all;
  }
};

} // namespace rtexec
