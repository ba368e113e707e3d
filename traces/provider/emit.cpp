// The only translation unit with the probes of the LTTng provider `rtexec`. It implements the functions of emit.hpp,
// which hide LTTng's macros.
#include "traces/emit.hpp"

#include <algorithm>
#include <cstddef>

// wire() and number_of() return the value that a tracepoint writes for a part of an event's field. A field has one or
// more parts (traces/events.hpp); each part is one LTTng field.
namespace rtexec::traces {
namespace {

template <class Part> constexpr Part wire(Part integer) { return integer; }
constexpr std::uint64_t wire(Bytes bytes) { return bytes.count; }
constexpr std::uint64_t wire(Frequency clock) { return clock.hertz; }
constexpr std::int64_t wire(Duration length) { return length.count(); }
constexpr std::int64_t wire(Instant instant) { return instant.time_since_epoch().count(); }
constexpr std::int64_t wire(std::optional<std::uint32_t> count) { return count ? std::int64_t{*count} : -1; }
constexpr std::int64_t wire(std::optional<Duration> length) { return length ? length->count() : -1; }
constexpr std::int64_t wire(const policies::Event& request) {
  return request.kind == policies::Event::Kind::job_requested ? wire(request.deadline) : 0;
}

constexpr std::uint8_t number_of(Errc error) { return static_cast<std::uint8_t>(static_cast<int>(error) + 1); }
constexpr std::uint8_t number_of(Status outcome) { return outcome ? std::uint8_t{0} : number_of(outcome.error()); }
template <class Enum> constexpr std::uint8_t number_of(Enum value) { return static_cast<std::uint8_t>(value); }

std::optional<Duration> longest_segment(const PlannedTask& task) {
  const auto longest = std::ranges::max_element(task.segment_wcets);
  return longest == task.segment_wcets.end() ? std::nullopt : std::optional(*longest);
}

template <class Enum, std::size_t all> constexpr const Spelling<Enum>& label(std::size_t index) {
  static_assert(spellings_of<Enum>.size() == all, "provider/events.h lists another number of labels");
  return spellings_of<Enum>[index];
}

} // namespace
} // namespace rtexec::traces

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "traces/provider/events.h"

#include <lttng/ust-thread.h>

namespace rtexec::traces {

void prepare_thread() noexcept { lttng_ust_init_thread(); }

bool recording() noexcept { return lttng_ust_tracepoint_enabled(rtexec, job_release); }
bool recording_layers() noexcept { return lttng_ust_tracepoint_enabled(rtexec, layer_begin); }

#define RTEXEC_ARGUMENT(type, name) name
#define RTEXEC_EVENT(event_, ...)                                          \
  void event_(RTEXEC_LIST(RTEXEC_PARAMETER, __VA_ARGS__)) noexcept {       \
    if (!lttng_ust_tracepoint_enabled(rtexec, event_)) return;             \
    const event::event_ fields{RTEXEC_LIST(RTEXEC_ARGUMENT, __VA_ARGS__)}; \
    lttng_ust_do_tracepoint(rtexec, event_, &fields);                      \
  }
#include "traces/events.inc"

void plan(const Plan& made) noexcept {
  const std::vector<TestVerdict> tests = made.tests();
  const TestVerdict& tightest = *std::ranges::min_element(tests, {}, &TestVerdict::slack);
  plan(made.proved, made.order, static_cast<std::uint32_t>(made.tasks.size()), made.demand, made.capacity, made.chunk,
       tightest.name().c_str(), tightest.limiting_task.c_str(), tightest.slack);
  for (const TestVerdict& test : tests)
    admission_test(test.name().c_str(), test.proved, !test.sound(), Duration(test.sides().left),
                   Duration(test.sides().right), test.slack, test.limiting_task.c_str());
  for (std::uint32_t task = 0; task < made.tasks.size(); ++task) {
    const PlannedTask& planned = made.tasks[task];
    if (planned.device_class != 1 || planned.segments > 1)
      task_segments(task, planned.device_class, planned.segments, made.launch_ahead, longest_segment(planned));
    if (!planned.stream) continue;
    for (const SlotRange& read : planned.stream->reads) task_stream(task, planned.stream->ring, read.begin, read.end);
  }
}

void task_info(std::uint32_t task, const Task& asked, const PlannedTask& planned) noexcept {
  task_info(task, asked.name.c_str(), planned.promised, asked.period, asked.deadline, asked.offset, planned.core,
            planned.core_rank, planned.device_rank, planned.wcet.before, planned.wcet.device, planned.wcet.after,
            planned.ready_by, planned.device_done_by, planned.response_bound, asked.criticality,
            static_cast<std::uint32_t>(planned.swap_slots.size()), planned.resident_slots);
  const auto& memory = planned.memory;
  task_memory(task, planned.memory_policy, memory.constant, memory.scratch, memory.state, memory.fixed,
              planned.swap_volume);
  if (planned.co_run) task_co_run(task, planned.co_run->wcet, planned.co_run->idle);
  task_workload(task, planned.workload.c_str());
  for (const std::string& line : planned.tuning) task_tuning(task, line.c_str());
}

void chain_info(std::uint32_t chain, const TaskSet& tasks, const PlannedChain& planned) noexcept {
  const Chain& asked = tasks.chains[chain];
  const auto task_of = [&](const std::string& name) { return std::ranges::find(tasks.tasks, name, &Task::name); };
  chain_info(chain, asked.name.c_str(), asked.communicate, task_of(asked.tasks.front())->trigger != Trigger::timer,
             planned.kept, planned.reaction, planned.age, planned.reduced_age, asked.max_reaction, asked.max_age,
             planned.input_delay.has_value());
  for (std::size_t place = 0; place < asked.tasks.size(); ++place) {
    const bool bounded = planned.reaction && place < planned.terms.size();
    chain_task(chain, static_cast<std::uint32_t>(task_of(asked.tasks[place]) - tasks.tasks.begin()),
               bounded ? std::optional(planned.terms[place].waits) : std::nullopt,
               bounded ? std::optional(planned.terms[place].takes) : std::nullopt);
  }
}

void swap_plan(const SwapPlan& plan, const char* store) noexcept {
  swap_plan(plan.policy, plan.frames, plan.copy_engines, plan.cost.chunk, store);
}

void swap_begin(const policies::Action& action, Instant at) noexcept {
  const bool in = action.kind == policies::Action::Kind::copy_in;
  (in ? swap_in_begin : swap_out_begin)(action.transfer, action.job, at);
}

void swap_end(const policies::Action& action, Instant at, Status outcome, Bytes copied) noexcept {
  const bool in = action.kind == policies::Action::Kind::copy_in;
  (in ? swap_in_end : swap_out_end)(action.transfer, action.job, at, outcome, copied);
}

} // namespace rtexec::traces
