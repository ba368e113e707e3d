// Records what happens: one function per event of events.inc, the only way into LTTng, whose headers stay inside
// traces/provider/ and traces/recording/. Fields, units and the moment of each event: traces/README.md.
//
// With tracing off a call costs about 1 ns; with it on, the event is written to a ring buffer of the calling core: no
// lock, no allocation, no system call. A full buffer loses the event and counts it (recording/session.hpp reports how
// many). Any thread may call.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include "traces/events.hpp"

#include <cstdint>
#include <type_traits>

namespace rtexec::traces {

/// Sets up what LTTng keeps for the calling thread. Called by each real-time thread before its first release: otherwise
/// its first recorded event takes a lock and may allocate.
void prepare_thread() noexcept;

/// Whether a session records this process now, and whether it records layers.
[[nodiscard]] bool recording() noexcept;
[[nodiscard]] bool recording_layers() noexcept;

/// How a field is passed.
template <class Field>
using Parameter = std::conditional_t<(sizeof(Field) > 2 * sizeof(void*)), const Field&, const Field>;

// void job_start(JobId job, Instant at) noexcept; and so on: a function for each row, with its fields in their order.
#define RTEXEC_PARAMETER(type, name) Parameter<field::type> name
#define RTEXEC_EVENT(event, ...) void event(RTEXEC_LIST(RTEXEC_PARAMETER, __VA_ARGS__)) noexcept;
#include "traces/events.inc"

// Several events of the set-up at once: the plan, each of its admission tests and the segments of its tasks; a task,
// its memory, its workload and its tuning; a chain and each of its tasks, with what `planned` promises of it; where a
// run swaps, with the backing store as it describes itself.
void plan(const Plan& plan) noexcept;
void task_info(std::uint32_t task, const Task& asked, const PlannedTask& planned) noexcept;
void chain_info(std::uint32_t chain, const TaskSet& tasks, const PlannedChain& planned) noexcept;
void swap_plan(const SwapPlan& plan, const char* store) noexcept;

/// swap_in_ or swap_out_begin, and _end: of `transfer`, which is copy_in or copy_out. From the copy engine's thread.
void swap_begin(const policies::Action& transfer, Instant at) noexcept;
void swap_end(const policies::Action& transfer, Instant at, Status outcome, Bytes copied) noexcept;

} // namespace rtexec::traces
