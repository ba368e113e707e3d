// Records events of a run: one function for each event of events.inc. Only these functions call LTTng's tracepoints;
// only traces/provider/ and traces/recording/ include LTTng's headers. rtexec/docs/design/traces.md describes the
// fields, the units and the moment of each event.
//
// With tracing off, a call costs about 1 ns. With tracing on, the event is written to a ring buffer of the calling
// core: no lock, no allocation, no system call. If the buffer is full, the event is lost and counted
// (recording/session.hpp reports the number). Any thread may call.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include "traces/events.hpp"

#include <cstdint>
#include <type_traits>

namespace rtexec::traces {

/// Sets up LTTng's per-thread state for the calling thread. Each real-time thread must call this before its first
/// release; otherwise its first recorded event takes a lock and may allocate.
void prepare_thread() noexcept;

/// True if a session records this process now. recording_layers(): true if that session also records layers.
[[nodiscard]] bool recording() noexcept;
[[nodiscard]] bool recording_layers() noexcept;

/// The parameter type of a field: a reference if the field is larger than two pointers.
template <class Field>
using Parameter = std::conditional_t<(sizeof(Field) > 2 * sizeof(void*)), const Field&, const Field>;

// Declares one function for each row, with the row's fields in the order of the row: void job_start(JobId job, Instant
// at) noexcept; and so on.
#define RTEXEC_PARAMETER(type, name) Parameter<field::type> name
#define RTEXEC_EVENT(event, ...) void event(RTEXEC_LIST(RTEXEC_PARAMETER, __VA_ARGS__)) noexcept;
#include "traces/events.inc"

// Each of these functions emits several set-up events. plan(): the plan, its admission tests, and the segments of its
// tasks. task_info(): a task, its memory, its workload and its tuning. chain_info(): a chain and each of its tasks,
// with the bounds that `planned` promises. swap_plan(): the swap set-up of a run; `store` is the description of the
// backing store.
void plan(const Plan& plan) noexcept;
void task_info(std::uint32_t task, const Task& asked, const PlannedTask& planned) noexcept;
void chain_info(std::uint32_t chain, const TaskSet& tasks, const PlannedChain& planned) noexcept;
void swap_plan(const SwapPlan& plan, const char* store) noexcept;

/// Emits the begin or the end of a transfer: swap_in_begin or swap_in_end for copy_in, swap_out_begin or swap_out_end
/// for copy_out. `transfer.kind` must be copy_in or copy_out. Called by the copy engine's thread.
void swap_begin(const policies::Action& transfer, Instant at) noexcept;
void swap_end(const policies::Action& transfer, Instant at, Status outcome, Bytes copied) noexcept;

} // namespace rtexec::traces
