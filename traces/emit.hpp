// Records events of a run: one function for each event of events.inc. Only these functions call LTTng's tracepoints;
// LTTng's headers are included in traces/provider/ and traces/recording/ only. Fields, units and the moment of each
// event:
// rtexec/docs/design/traces.md.
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

/// Sets up LTTng's per-thread state for the calling thread. Each real-time thread calls this before its first release:
/// otherwise its first recorded event takes a lock and may allocate.
void prepare_thread() noexcept;

/// recording() returns true if a session records this process now. recording_layers() returns true if that session also
/// records layers.
[[nodiscard]] bool recording() noexcept;
[[nodiscard]] bool recording_layers() noexcept;

/// The parameter type of a field: a reference if the field is larger than two pointers.
template <class Field>
using Parameter = std::conditional_t<(sizeof(Field) > 2 * sizeof(void*)), const Field&, const Field>;

// Declares one function for each row, with the row's fields in their order: void job_start(JobId job, Instant at)
// noexcept; and so on.
#define RTEXEC_PARAMETER(type, name) Parameter<field::type> name
#define RTEXEC_EVENT(event, ...) void event(RTEXEC_LIST(RTEXEC_PARAMETER, __VA_ARGS__)) noexcept;
#include "traces/events.inc"

// Each of these functions emits several events of the set-up. plan(): the plan, its admission tests, and the segments
// of its tasks. task_info(): a task, its memory, its workload and its tuning. chain_info(): a chain and each of its
// tasks, with the bounds that `planned` promises. swap_plan(): the swap set-up of a run; `store` is the description of
// the backing store.
void plan(const Plan& plan) noexcept;
void task_info(std::uint32_t task, const Task& asked, const PlannedTask& planned) noexcept;
void chain_info(std::uint32_t chain, const TaskSet& tasks, const PlannedChain& planned) noexcept;
void swap_plan(const SwapPlan& plan, const char* store) noexcept;

/// Emit swap_in_begin or swap_out_begin, and swap_in_end or swap_out_end. The kind of `transfer` is copy_in or
/// copy_out. The copy engine's thread calls them.
void swap_begin(const policies::Action& transfer, Instant at) noexcept;
void swap_end(const policies::Action& transfer, Instant at, Status outcome, Bytes copied) noexcept;

} // namespace rtexec::traces
