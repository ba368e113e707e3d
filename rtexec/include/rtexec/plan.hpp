// The result of admission: the verdict with its numbers, and the settings of each task for which the verdict holds.
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
/// physical chunk can be mapped to it. The members are the numbers of slots for each purpose, in the order of their
/// addresses.
struct Arena {
  std::uint32_t constant = 0;
  std::uint32_t state = 0;
  std::uint32_t fixed = 0;
  std::uint32_t scratch = 0;
  /// Slots for contents that must survive between segments. Tasks of one level share the chunks of these slots; each
  /// top-class task has its own chunks (PlannedTask::device_class).
  std::uint32_t carry = 0;
  /// Slots that stay unused because each memory object has its own chunks (SwapPolicy::mo_vmm).
  std::uint32_t padding = 0;
  [[nodiscard]] std::uint32_t slots() const { return constant + state + fixed + scratch + carry + padding; }
};

/// A slot of an arena whose chunk is swapped.
struct SwapSlot {
  std::uint32_t slot = 0;
  /// True if the contents are copied out when the chunk is evicted. False for constants, because their copies in the
  /// store stay valid.
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

/// The plan for streaming a task's constants while its job executes. The task's swap slots are the slots of its
/// constants, in the order of their first use.
struct Stream {
  /// The number of frames of the ring, the physical chunks that are reused for the streamed slots. A job begins when
  /// this number of its first chunks is loaded.
  std::uint32_t ring = 0;
  /// The swap slots that each segment reads, by segment. `begin` and `end` never decrease from one segment to the next.
  /// No range is larger than the ring.
  std::vector<SlotRange> reads;
  /// The maximum length of the device part, including its waits for chunks, if only loads run concurrently. The times
  /// for dispatch and thread switches are not included.
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
  /// The file to which chunks are copied. Empty: host memory.
  std::filesystem::path store;
  /// Returns the kind of store that `store` and `policy` imply.
  [[nodiscard]] StoreKind store_kind() const {
    return !store.empty() ? StoreKind::file : policy == SwapPolicy::pageable ? StoreKind::pageable : StoreKind::pinned;
  }
};

/// A test of a plan. All tests except `theorem1` are sound: if a sound test proves a set, the set has the tested
/// property.
enum class AdmissionTest : std::uint8_t {
  theorem1, // the device alone, EDF: RT-Swap's Eq. (1) to (3) as published, an unsound baseline
  /// The device alone, EDF: for each deadline, a limit of the sum of the tasks' shares of the device (Baker's test).
  baker,
  demand, // the device alone, EDF: the demand bound test
  rta,    // the device alone, static priorities: response-time analysis
  /// The device alone, with loads concurrent with executions: uses `demand` under EDF, `rta` under static priorities.
  pipelined,
  segmented,  // like `pipelined`, for jobs in segments and tasks in preemption classes
  core,       // one core alone, as if device parts took no time
  end_to_end, // whole jobs, from release to end: this test decides the verdict
};
/// Returns the spelling of the test in tables and JSON: "theorem1", "end-to-end".
[[nodiscard]] constexpr std::string_view to_string(AdmissionTest test) noexcept {
  constexpr std::string_view names[] = {"theorem1",  "baker",     "demand", "rta",
                                        "pipelined", "segmented", "core",   "end-to-end"};
  return names[static_cast<std::size_t>(test)];
}

/// The inequality `left <= right` between two times, which a test requires.
struct TimeBound {
  Duration left{0};
  Duration right{0};
};
/// The inequality `left <= right` between two shares of the device's time, in units of 10^-9. A test requires it.
struct ShareBound {
  std::int64_t left = 0;
  std::int64_t right = 0;
};
/// A precondition of all tests that the set violates, whatever its execution times are. TestVerdict::explanation names
/// the violation and a remedy.
struct UnmetPrecondition {};

/// The outcome of one test, with its numbers for the instant or task with the smallest slack.
struct TestVerdict {
  AdmissionTest test{};
  /// The tested core; present for AdmissionTest::core.
  std::optional<unsigned> core;
  bool proved = false;
  std::variant<TimeBound, ShareBound, UnmetPrecondition> bound;
  /// The amount by which the left side of the inequality could increase before the test fails. For a ShareBound, the
  /// amount by which `blocking` could increase.
  Duration slack{0};
  /// The interval length or the deadline with the smallest slack; L in the formulas.
  Duration instant{0};
  /// The part of the inequality's left side that stands for the jobs whose deadlines lie within `instant`: their
  /// execution times, with the overheads that admission adds.
  Duration demand{0};
  /// The part of the inequality's left side that stands for work that began earlier and blocks these jobs.
  Duration blocking{0};
  std::string limiting_task;
  /// The task whose work causes the blocking. Empty: no task, or several tasks.
  std::string blocking_task;
  /// The swap volumes of the tasks (PlannedTask::swap_volume). Set only if the volumes were chosen for this test.
  std::vector<Bytes> swap_volumes;
  /// The response-time bounds of the tasks. Set only if this test computes such bounds.
  std::vector<Duration> responses;
  /// The formula in words and symbols.
  std::string inequality;
  /// The formula with its numbers.
  std::string explanation;

  /// Returns the name of the test: "demand", "core 3", "end-to-end".
  [[nodiscard]] std::string name() const {
    return std::string(to_string(test)) + (core ? " " + std::to_string(*core) : "");
  }
  [[nodiscard]] bool sound() const noexcept { return test != AdmissionTest::theorem1; }
  /// Returns both sides of the inequality as traces record them: in nanoseconds for times, in units of 10^-9 for
  /// shares. For an unmet precondition returns 1 and 0, which is a violated inequality.
  [[nodiscard]] ShareBound sides() const noexcept {
    if (const auto* time = std::get_if<TimeBound>(&bound)) return {time->left.count(), time->right.count()};
    if (const auto* share = std::get_if<ShareBound>(&bound)) return *share;
    return {1, 0};
  }
};

/// A SCHED_DEADLINE reservation with an implicit deadline: the thread may use `runtime` in each `window`. `window` is
/// both the kernel's deadline and its period.
struct CpuReservation {
  Duration runtime{0};
  Duration window{0};
  friend bool operator==(const CpuReservation&, const CpuReservation&) = default;
};

/// The SCHED_DEADLINE reservations of the service threads, which all tasks share.
struct ServiceReservations {
  /// The reservation of the scheduler thread.
  CpuReservation scheduler;
  /// The reservation of the compute engine's thread.
  CpuReservation compute;
  /// The reservation of each of the two copy engines. Absent: no memory is swapped, so the copy engines are idle after
  /// the start.
  std::optional<CpuReservation> copy;
  friend bool operator==(const ServiceReservations&, const ServiceReservations&) = default;
};

/// The execution times of a task whose jobs may co-run, which means execute on the device concurrently with a job of
/// another task.
struct CoRun {
  /// The maximum length of the device part while co-running.
  Duration wcet{0};
  /// The part of `wcet` in which the job only waits for pages of memory. Absent: the task's jobs are under device
  /// memory (D), and execute while jobs of other tasks wait for pages.
  std::optional<Duration> idle;
  friend bool operator==(const CoRun&, const CoRun&) = default;
};

struct PlannedTask {
  std::string name;
  /// True if this is a real-time task whose response-time bound is within its deadline.
  bool promised = false;
  /// The WCETs on which the plan relies.
  Wcet wcet;
  /// The fingerprint of the measured workload. If no workload was measured, the fingerprint of the workload that will
  /// run.
  std::string workload;
  /// The tuning that the profile stores. Empty: the workload's defaults.
  std::vector<std::string> tuning;
  MemoryPolicy memory_policy = MemoryPolicy::device;
  /// The execution times of co-running jobs. Absent: the task's jobs never co-run.
  std::optional<CoRun> co_run;
  /// The reason why the plan chose this memory policy, in words. Empty: the task set contains the policy.
  std::string memory_policy_reason;
  MemoryDemand memory;
  /// The size of the part of the fixed memory that holds linked outputs: outputs that other tasks read on the device
  /// (`Links` in <rtexec/workload.hpp>).
  Bytes links{0};
  Duration period{0};
  Arena arena;
  /// True if the arena maps the last chunks of the shared scratch memory, false if it maps the first chunks. So jobs
  /// that co-run share no scratch chunk.
  bool scratch_at_end = false;
  /// The swap slots: the slots of the arena whose chunks are swapped. Other members of the plan number the swap slots
  /// in the order of this list. Empty: all memory of the task is always on the device.
  std::vector<SwapSlot> swap_slots;
  /// The size of the swap slots whose chunks must be on the device before a job begins (begins_with()).
  Bytes swap_volume{0};
  /// The plan for streaming. Absent: a job begins when all of its swap slots have their chunks, and the chunks stay
  /// until the job has ended.
  std::optional<Stream> stream;
  /// Returns the number of slots of the arena that have no chunk of their own because the task is streamed: its
  /// constants share the chunks of the ring.
  [[nodiscard]] std::uint32_t streamed_away() const { return stream ? arena.constant - stream->ring : 0; }
  /// Returns the number of swap slots whose chunks must be on the device before a job begins.
  [[nodiscard]] std::uint32_t begins_with() const {
    return stream ? stream->ring : static_cast<std::uint32_t>(swap_slots.size());
  }
  /// The number of swap slots that have their chunks at the start. Absent: begins_with(), or the number of remaining
  /// frames if that is smaller. Tasks that set this number get frames (SwapPlan::frames) first. All other tasks get the
  /// remaining frames, in the order of the tasks.
  std::optional<std::uint32_t> resident_slots;
  /// The core that runs the CPU parts.
  unsigned core = 0;
  /// True if the plan chose `core`, false if the task set contains it.
  bool core_chosen = false;
  /// The rank of the CPU parts among all tasks. Rank 0 is the most urgent rank.
  unsigned core_rank = 0;
  /// The rank of the device part. The job with the lowest rank executes first; among equal ranks, the job with the
  /// earliest deadline. Under EDF real-time tasks have rank 0, best-effort tasks rank 1.
  unsigned device_rank = 0;
  /// The preemption class of the device part. 0: a top-class task. A top-class task swaps no memory, and its jobs
  /// execute first whenever a segment of another job ends. 1, 2, ...: levels. A job of a smaller level preempts jobs of
  /// larger levels between their segments.
  std::uint32_t device_class = 1;
  /// The number of segments of the device part. A job is preempted only between segments.
  std::uint32_t segments = 1;
  /// If there are several segments: the number of the last layer of each segment. The last segment is not listed.
  std::vector<std::uint32_t> cuts;
  /// If there are several segments: the WCET of each segment. Their sum is at least the WCET of the device part.
  std::vector<Duration> segment_wcets;
  /// The deadline of the first CPU part, from the nominal release. The plan chooses it.
  Duration ready_by{0};
  /// The deadline of the device part, from the nominal release. The plan chooses it.
  Duration device_done_by{0};
  /// The deadline of the job, from the nominal release.
  Duration done_by{0};
  /// The promised upper bound of the response time. Absent: there is no promise.
  std::optional<Duration> response_bound;
  /// The reservation of the first CPU part of a real-time task. Absent: the plan is not for SCHED_DEADLINE, or the task
  /// is best-effort.
  std::optional<CpuReservation> before_reservation;
  /// The reservation of the last CPU part of a real-time task. Absent: the plan is not for SCHED_DEADLINE, or the task
  /// is best-effort.
  std::optional<CpuReservation> after_reservation;
};

/// One task's term in the sum that bounds the reaction time of a chain.
struct ChainTerm {
  std::string task;
  /// The time until the release of a job that has the data. This time begins at the previous task's output, or at the
  /// event if the task is the chain's first task. The first task's term includes its input delay.
  Duration waits{0};
  /// The time from that release to the job's output. If no job of the next task can begin between an earlier instant
  /// and that output, the time ends at the earlier instant.
  Duration takes{0};
};

/// The promises for a chain: bounds of its reaction time and data age. policies/chains/chain_bounds.hpp defines both.
struct PlannedChain {
  std::string name;
  Communication communicate{};
  /// The first task's Task::input_delay: reactions and ages begin at the sampling of the first task's inputs. Absent:
  /// they begin at the first task's release, or at the instant at which its job reads.
  std::optional<Duration> input_delay;
  /// The bound of the reaction time. Absent: there is no promise.
  std::optional<Duration> reaction;
  /// The bound of the data age: the maximum age of the last task's output while the output is in use. Absent: there is
  /// no promise.
  std::optional<Duration> age;
  /// The bound of the reduced data age: the maximum age of the last task's output when the output appears. Absent:
  /// there is no promise.
  std::optional<Duration> reduced_age;
  /// The sum of the input delay, all periods and all response bounds. If timers release all tasks, this sum is another
  /// bound of the reaction time (Davare et al., DAC 2007). Absent: a task has no response bound.
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
  /// The tests of all cores with real-time tasks, in the order of the cores' numbers.
  std::vector<TestVerdict> core_tests;
  /// The test of all deadlines. If this test proves the deadlines, the other tests would prove them too. `proved`
  /// depends on this test and on the limits of chains.
  TestVerdict end_to_end;
  /// The tasks, in the order of the task set.
  std::vector<PlannedTask> tasks;
  /// The chains, in the order of the task set.
  std::vector<PlannedChain> chains;
  /// The reservations of the service threads. Absent: the plan is not for SCHED_DEADLINE.
  std::optional<ServiceReservations> services;
  /// True if the scratch memory of all tasks uses the same chunks. False if memory classes are not distinguished.
  bool shared_scratch = true;
  /// The number of chunks of the shared scratch memory.
  std::uint32_t scratch_chunks = 0;
  /// The number of segments of a job that are submitted to the device ahead, while an earlier segment executes.
  std::uint32_t launch_ahead = 0;
  /// The settings of swapping. Absent: all tasks fit into device memory.
  std::optional<SwapPlan> swap;
  /// The device memory that the tasks need: their memory in whole chunks, plus `outside`. Memory beyond the capacity is
  /// swapped.
  Bytes demand{0};
  /// The part of the demand that is in no chunk: buffers that workloads allocate. If the device has no memory of its
  /// own, the host buffers of workloads are included.
  Bytes outside{0};
  /// Page-locked host memory that workloads allocate.
  Bytes host{0};
  /// The memory that the tasks would use if each task allocated all of its memory separately.
  Bytes separate{0};
  Bytes capacity{0};
  Bytes chunk{0};
  /// Device and machine of the profile from which execution times or tuning were taken. Empty: no profile was used.
  std::string measured_on;

  /// True if two jobs may execute on the device concurrently.
  [[nodiscard]] bool co_runs() const {
    return std::ranges::any_of(tasks, [](const PlannedTask& task) { return task.co_run.has_value(); });
  }
  /// True if jobs are preempted on the device.
  [[nodiscard]] bool preempts() const {
    return std::ranges::any_of(tasks,
                               [](const PlannedTask& task) { return task.segments > 1 || task.device_class != 1; });
  }
  /// Returns all tests: the device's test, the cores' tests, the end-to-end test. The copies may outlive the plan.
  [[nodiscard]] std::vector<TestVerdict> tests() const {
    std::vector<TestVerdict> all{device_test};
    all.insert(all.end(), core_tests.begin(), core_tests.end());
    all.push_back(end_to_end);
    return all;
  }
};

} // namespace rtexec
