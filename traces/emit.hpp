// Records what happens, one function per event of the provider `rtexec`: the only way into LTTng, whose headers stay
// inside traces/provider/ and traces/recording/. Fields, units and the moment of each event: traces/README.md.
//
// With tracing off a call costs about 1 ns; with it on, the event is written to a ring buffer of the calling core: no
// lock, no allocation, no system call. A full buffer loses the event and counts it (recording/session.hpp reports how
// many). Any thread may call.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include "policies/device_scheduler.hpp"
#include "policies/release_gate.hpp"

#include <cstdint>

namespace rtexec::traces {

/// Sets up what LTTng keeps for the calling thread. Called by each real-time thread before its first release: otherwise
/// its first recorded event takes a lock and may allocate.
void prepare_thread() noexcept;

/// Whether a session records this process now, and whether it records layers.
[[nodiscard]] bool recording() noexcept;
[[nodiscard]] bool recording_layers() noexcept;

/// `start`: of the grid of releases. Just before the first release, as soon as that is known; in a simulated run first
/// of all.
void run_begin(const char* version, const char* machine, bool simulated, Instant start) noexcept;
/// The last event of a run.
void run_end(Instant at, const char* stopped_by) noexcept;

// Set-up: once per run, after the recording has begun and before the scheduler's first input.
/// The plan, and each of its admission tests.
void plan(const Plan& plan) noexcept;
/// The task, its memory, and its workload with its tuning.
void task_info(std::uint32_t task, const Task& asked, const PlannedTask& planned) noexcept;
void layer_info(std::uint32_t task, std::uint32_t layer, const char* name) noexcept;
void degraded(const char* what) noexcept;
/// What was found of a service of the machine, and what it fell back to.
void probe(const char* service, const char* found) noexcept;
/// Of the whole device, once everything is placed on it.
void device_memory(const char* name, Bytes used, Bytes context, Bytes demand, Bytes separate) noexcept;

/// Where a run swaps: `store` as the backing store describes itself.
void swap_plan(const SwapPlan& plan, const char* store) noexcept;

/// For each core whose memory bandwidth is regulated.
void regulated_core(std::uint32_t core, Duration period) noexcept;

// The way of a job. Instants are on CLOCK_MONOTONIC; `deadline` is the absolute one of the job, or of its device part;
// `executed` is the CPU time of the part that ended.
void job_release(policies::JobId job, Instant nominal, Instant actual, Instant deadline) noexcept;
void job_start(policies::JobId job, Instant at) noexcept;
void cpu_end(policies::JobId job, Instant at, Duration executed) noexcept;
void device_request(policies::JobId job, Instant at, Instant deadline) noexcept;
void device_begin(policies::JobId job, Instant at) noexcept;
void device_end(policies::JobId job, Instant at, Status outcome) noexcept;
void after_begin(policies::JobId job, Instant at) noexcept;
void job_end(policies::JobId job, Instant nominal, Instant at, Duration executed) noexcept;

// The way of a chunk: `transfer` is copy_in or copy_out, and its job the one that it is for. From the copy engine's
// thread.
void swap_begin(const policies::Action& transfer, Instant at) noexcept;
/// `copied` of the chunk: nothing where it was only mapped or unmapped.
void swap_end(const policies::Action& transfer, Instant at, Status outcome, Bytes copied) noexcept;
/// Of the whole run, at its end: loaded, copied out, not copied out because unchanged, not copied out because constant.
void swap_totals(Bytes in, Bytes out, Bytes skipped, Bytes dropped) noexcept;

// What the scheduler core was told, and what it decided, so that a replay can decide anew: every event from its
// construction on, rehearsals included, and after each its actions in order. `sequence` counts the events from 0. From
// the thread that drives the core.
void scheduler_input(std::uint64_t sequence, const policies::Event& event) noexcept;
void scheduler_action(std::uint64_t sequence, const policies::Action& action) noexcept;

// Memory bandwidth of a core: it has used up its budget, and may go on; and the budget itself, in each period.
void throttle_begin(std::uint32_t core, Instant at) noexcept;
void throttle_end(std::uint32_t core, Instant at) noexcept;
void bandwidth_budget(std::uint32_t core, Instant at, Bytes budget, Duration period) noexcept;

// What went wrong.
void job_miss(policies::JobId job, Instant deadline, Instant at) noexcept;
void job_overrun(policies::JobId job, Instant at, OnOverrun policy, policies::ReleaseDecision::Kind decision) noexcept;
void job_skip(std::uint32_t task, Instant nominal, Instant at) noexcept;
void job_abort(policies::JobId job, Instant at) noexcept;
/// `job` met what ended the device; from no real-time thread, after the job's device_end.
void device_fault(policies::JobId job, const char* what) noexcept;

// Recorded only when the session asked for layers. On a GPU they are told after the execution, so their time is `at`.
void layer_begin(policies::JobId job, std::uint32_t layer, Instant at) noexcept;
void layer_end(policies::JobId job, std::uint32_t layer, Instant at) noexcept;

} // namespace rtexec::traces
