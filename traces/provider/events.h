// clang-format off
// The tracepoints of the provider `rtexec`, in the form that LTTng-UST reads several times over. Included by emit.cpp
// alone, which includes the types used here first. Meaning of the events and fields: traces/README.md.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER rtexec

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "traces/provider/events.h"

#if !defined(RTEXEC_TRACES_PROVIDER_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define RTEXEC_TRACES_PROVIDER_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_ENUM(rtexec, order, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("edf", static_cast<int>(rtexec::Order::edf))
  lttng_ust_field_enum_value("static-priority", static_cast<int>(rtexec::Order::static_priority))))

LTTNG_UST_TRACEPOINT_ENUM(rtexec, outcome, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("ok", rtexec::traces::outcome_ok)
  lttng_ust_field_enum_value("bad-input", rtexec::traces::outcome_of(rtexec::Errc::bad_input))
  lttng_ust_field_enum_value("not-proved", rtexec::traces::outcome_of(rtexec::Errc::not_proved))
  lttng_ust_field_enum_value("missed", rtexec::traces::outcome_of(rtexec::Errc::missed))
  lttng_ust_field_enum_value("refused", rtexec::traces::outcome_of(rtexec::Errc::refused))
  lttng_ust_field_enum_value("out-of-memory", rtexec::traces::outcome_of(rtexec::Errc::out_of_memory))
  lttng_ust_field_enum_value("unsupported", rtexec::traces::outcome_of(rtexec::Errc::unsupported))
  lttng_ust_field_enum_value("device-fault", rtexec::traces::outcome_of(rtexec::Errc::device_fault))
  lttng_ust_field_enum_value("device-lost", rtexec::traces::outcome_of(rtexec::Errc::device_lost))
  lttng_ust_field_enum_value("cancelled", rtexec::traces::outcome_of(rtexec::Errc::cancelled))
  lttng_ust_field_enum_value("io-error", rtexec::traces::outcome_of(rtexec::Errc::io_error))
  lttng_ust_field_enum_value("corrupted", rtexec::traces::outcome_of(rtexec::Errc::corrupted))))

LTTNG_UST_TRACEPOINT_ENUM(rtexec, swap_policy, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("pipelined", static_cast<int>(rtexec::SwapPolicy::pipelined))
  lttng_ust_field_enum_value("serial", static_cast<int>(rtexec::SwapPolicy::serial))
  lttng_ust_field_enum_value("rt-swap", static_cast<int>(rtexec::SwapPolicy::rt_swap))
  lttng_ust_field_enum_value("mo-vmm", static_cast<int>(rtexec::SwapPolicy::mo_vmm))
  lttng_ust_field_enum_value("min", static_cast<int>(rtexec::SwapPolicy::min))
  lttng_ust_field_enum_value("pageable", static_cast<int>(rtexec::SwapPolicy::pageable))
  lttng_ust_field_enum_value("lru", static_cast<int>(rtexec::SwapPolicy::lru))
  lttng_ust_field_enum_value("none", static_cast<int>(rtexec::SwapPolicy::none))))

LTTNG_UST_TRACEPOINT_ENUM(rtexec, overrun_policy, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("skip", static_cast<int>(rtexec::OnOverrun::skip))
  lttng_ust_field_enum_value("catch-up", static_cast<int>(rtexec::OnOverrun::catch_up))
  lttng_ust_field_enum_value("re-phase", static_cast<int>(rtexec::OnOverrun::re_phase))
  lttng_ust_field_enum_value("abort-job", static_cast<int>(rtexec::OnOverrun::abort_job))
  lttng_ust_field_enum_value("stop", static_cast<int>(rtexec::OnOverrun::stop))))

LTTNG_UST_TRACEPOINT_ENUM(rtexec, release_decision, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("start", static_cast<int>(rtexec::policies::ReleaseDecision::Kind::start))
  lttng_ust_field_enum_value("skip", static_cast<int>(rtexec::policies::ReleaseDecision::Kind::skip))
  lttng_ust_field_enum_value("wait", static_cast<int>(rtexec::policies::ReleaseDecision::Kind::wait))
  lttng_ust_field_enum_value("abort-and-wait",
      static_cast<int>(rtexec::policies::ReleaseDecision::Kind::abort_and_wait))
  lttng_ust_field_enum_value("stop", static_cast<int>(rtexec::policies::ReleaseDecision::Kind::stop))))

LTTNG_UST_TRACEPOINT_ENUM(rtexec, criticality, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("real-time", static_cast<int>(rtexec::Criticality::real_time))
  lttng_ust_field_enum_value("best-effort", static_cast<int>(rtexec::Criticality::best_effort))))

LTTNG_UST_TRACEPOINT_ENUM(rtexec, memory_policy, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("auto", static_cast<int>(rtexec::MemoryPolicy::automatic))
  lttng_ust_field_enum_value("D", static_cast<int>(rtexec::MemoryPolicy::device))
  lttng_ust_field_enum_value("M", static_cast<int>(rtexec::MemoryPolicy::managed))
  lttng_ust_field_enum_value("H", static_cast<int>(rtexec::MemoryPolicy::host))))

LTTNG_UST_TRACEPOINT_ENUM(rtexec, input, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("job-requested", static_cast<int>(rtexec::policies::Event::Kind::job_requested))
  lttng_ust_field_enum_value("job-withdrawn", static_cast<int>(rtexec::policies::Event::Kind::job_withdrawn))
  lttng_ust_field_enum_value("execution-done", static_cast<int>(rtexec::policies::Event::Kind::execution_done))
  lttng_ust_field_enum_value("copied-in", static_cast<int>(rtexec::policies::Event::Kind::copied_in))
  lttng_ust_field_enum_value("copied-out", static_cast<int>(rtexec::policies::Event::Kind::copied_out))))

LTTNG_UST_TRACEPOINT_ENUM(rtexec, action, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("start-execution", static_cast<int>(rtexec::policies::Action::Kind::start_execution))
  lttng_ust_field_enum_value("copy-in", static_cast<int>(rtexec::policies::Action::Kind::copy_in))
  lttng_ust_field_enum_value("copy-out", static_cast<int>(rtexec::policies::Action::Kind::copy_out))
  lttng_ust_field_enum_value("refuse", static_cast<int>(rtexec::policies::Action::Kind::refuse))
  lttng_ust_field_enum_value("drop", static_cast<int>(rtexec::policies::Action::Kind::drop))
  lttng_ust_field_enum_value("fail", static_cast<int>(rtexec::policies::Action::Kind::fail))))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, run_begin,
  LTTNG_UST_TP_ARGS(const char*, version, const char*, machine, std::uint8_t, simulated, std::int64_t, start),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_string(version, version)
    lttng_ust_field_string(machine, machine)
    lttng_ust_field_integer(std::uint8_t, simulated, simulated)
    lttng_ust_field_integer(std::int64_t, start, start)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, run_end,
  LTTNG_UST_TP_ARGS(std::int64_t, at, const char*, stopped_by),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_string(stopped_by, stopped_by)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, plan,
  LTTNG_UST_TP_ARGS(const rtexec::traces::PlanRecord*, plan),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint8_t, proved, plan->proved)
    lttng_ust_field_enum(rtexec, order, std::uint8_t, order, plan->order)
    lttng_ust_field_integer(std::uint32_t, tasks, plan->tasks)
    lttng_ust_field_integer(std::uint64_t, demand_bytes, plan->demand_bytes)
    lttng_ust_field_integer(std::uint64_t, capacity_bytes, plan->capacity_bytes)
    lttng_ust_field_integer(std::uint64_t, chunk_bytes, plan->chunk_bytes)
    lttng_ust_field_string(tightest_test, plan->tightest_test)
    lttng_ust_field_string(tightest_task, plan->tightest_task)
    lttng_ust_field_integer(std::int64_t, slack, plan->slack)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, task_info,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, const rtexec::Task*, asked, const rtexec::PlannedTask*, planned),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_string(name, asked->name.c_str())
    lttng_ust_field_integer(std::uint8_t, promised, planned->promised)
    lttng_ust_field_integer(std::int64_t, period, asked->period.count())
    lttng_ust_field_integer(std::int64_t, deadline, asked->deadline.count())
    lttng_ust_field_integer(std::int64_t, offset, asked->offset.count())
    lttng_ust_field_integer(std::uint32_t, core, planned->core)
    lttng_ust_field_integer(std::uint32_t, core_rank, planned->core_rank)
    lttng_ust_field_integer(std::uint32_t, device_rank, planned->device_rank)
    lttng_ust_field_integer(std::int64_t, wcet_before, planned->wcet.before.count())
    lttng_ust_field_integer(std::int64_t, wcet_device, planned->wcet.device.count())
    lttng_ust_field_integer(std::int64_t, wcet_after, planned->wcet.after.count())
    lttng_ust_field_integer(std::int64_t, ready_by, planned->ready_by.count())
    lttng_ust_field_integer(std::int64_t, device_done_by, planned->device_done_by.count())
    lttng_ust_field_integer(std::int64_t, response_bound, rtexec::traces::bound_or_none(*planned))
    lttng_ust_field_enum(rtexec, criticality, std::uint8_t, criticality, static_cast<std::uint8_t>(asked->criticality))
    lttng_ust_field_integer(std::uint32_t, swap_slots, static_cast<std::uint32_t>(planned->swap_slots.size()))
    lttng_ust_field_integer(std::int64_t, resident_slots, rtexec::traces::resident_or_none(*planned))))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, task_memory,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, const rtexec::PlannedTask*, planned),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_enum(rtexec, memory_policy, std::uint8_t, policy, static_cast<std::uint8_t>(planned->memory_policy))
    lttng_ust_field_integer(std::uint64_t, constant_bytes, planned->memory.constant.count)
    lttng_ust_field_integer(std::uint64_t, scratch_bytes, planned->memory.scratch.count)
    lttng_ust_field_integer(std::uint64_t, state_bytes, planned->memory.state.count)
    lttng_ust_field_integer(std::uint64_t, fixed_bytes, planned->memory.fixed.count)
    lttng_ust_field_integer(std::uint64_t, swap_volume_bytes, planned->swap_volume.count)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, admission_test,
  LTTNG_UST_TP_ARGS(const rtexec::TestVerdict*, test),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_string(name, test->name.c_str())
    lttng_ust_field_integer(std::uint8_t, proved, test->proved)
    lttng_ust_field_integer(std::uint8_t, baseline, test->baseline)
    lttng_ust_field_integer(std::int64_t, left, test->left.count())
    lttng_ust_field_integer(std::int64_t, right, test->right.count())
    lttng_ust_field_integer(std::int64_t, slack, test->slack.count())
    lttng_ust_field_string(limiting_task, test->limiting_task.c_str())))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, probe,
  LTTNG_UST_TP_ARGS(const char*, service, const char*, found),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_string(service, service)
    lttng_ust_field_string(found, found)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, task_workload,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, const char*, workload),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_string(workload, workload)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, task_tuning,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, const char*, line),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_string(line, line)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, layer_info,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint32_t, layer, const char*, name),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint32_t, layer, layer)
    lttng_ust_field_string(name, name)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, degraded,
  LTTNG_UST_TP_ARGS(const char*, what),
  LTTNG_UST_TP_FIELDS(lttng_ust_field_string(what, what)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, device_memory,
  LTTNG_UST_TP_ARGS(const char*, name, std::uint64_t, used, std::uint64_t, context, std::uint64_t, demand,
      std::uint64_t, separate),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_string(name, name)
    lttng_ust_field_integer(std::uint64_t, used_bytes, used)
    lttng_ust_field_integer(std::uint64_t, context_bytes, context)
    lttng_ust_field_integer(std::uint64_t, demand_bytes, demand)
    lttng_ust_field_integer(std::uint64_t, separate_bytes, separate)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, swap_plan,
  LTTNG_UST_TP_ARGS(std::uint8_t, policy, std::uint32_t, frames, std::uint32_t, copy_engines, std::uint64_t, chunk,
      const char*, store),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_enum(rtexec, swap_policy, std::uint8_t, policy, policy)
    lttng_ust_field_integer(std::uint32_t, frames, frames)
    lttng_ust_field_integer(std::uint32_t, copy_engines, copy_engines)
    lttng_ust_field_integer(std::uint64_t, chunk_bytes, chunk)
    lttng_ust_field_string(store, store)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, regulated_core,
  LTTNG_UST_TP_ARGS(std::uint32_t, core, std::int64_t, period),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, core, core)
    lttng_ust_field_integer(std::int64_t, period, period)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(rtexec, begin_of_swap,
  LTTNG_UST_TP_ARGS(const rtexec::policies::Action*, action, std::int64_t, at),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, action->transfer.task)
    lttng_ust_field_integer(std::uint32_t, slot, action->transfer.slot)
    lttng_ust_field_integer(std::uint32_t, frame, action->transfer.frame)
    lttng_ust_field_integer(std::uint32_t, cause_task, action->job.task)
    lttng_ust_field_integer(std::uint64_t, cause_job, action->job.number)
    lttng_ust_field_integer(std::int64_t, at, at)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(rtexec, end_of_swap,
  LTTNG_UST_TP_ARGS(const rtexec::policies::Action*, action, std::int64_t, at, std::uint8_t, outcome, std::uint64_t,
      copied),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, action->transfer.task)
    lttng_ust_field_integer(std::uint32_t, slot, action->transfer.slot)
    lttng_ust_field_integer(std::uint32_t, frame, action->transfer.frame)
    lttng_ust_field_integer(std::uint32_t, cause_task, action->job.task)
    lttng_ust_field_integer(std::uint64_t, cause_job, action->job.number)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_enum(rtexec, outcome, std::uint8_t, outcome, outcome)
    lttng_ust_field_integer(std::uint64_t, copied_bytes, copied)))
#define RTEXEC_SWAP(direction) \
  LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(rtexec, begin_of_swap, rtexec, swap_##direction##_begin, \
    LTTNG_UST_TP_ARGS(const rtexec::policies::Action*, action, std::int64_t, at)) \
  LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(rtexec, end_of_swap, rtexec, swap_##direction##_end, \
    LTTNG_UST_TP_ARGS(const rtexec::policies::Action*, action, std::int64_t, at, std::uint8_t, outcome, \
      std::uint64_t, copied))
RTEXEC_SWAP(in)
RTEXEC_SWAP(out)
#undef RTEXEC_SWAP

LTTNG_UST_TRACEPOINT_EVENT(rtexec, swap_totals,
  LTTNG_UST_TP_ARGS(std::uint64_t, in, std::uint64_t, out, std::uint64_t, skipped, std::uint64_t, dropped),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint64_t, in_bytes, in)
    lttng_ust_field_integer(std::uint64_t, out_bytes, out)
    lttng_ust_field_integer(std::uint64_t, skipped_bytes, skipped)
    lttng_ust_field_integer(std::uint64_t, dropped_bytes, dropped)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, job_release,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, nominal, std::int64_t, actual,
      std::int64_t, deadline),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, nominal, nominal)
    lttng_ust_field_integer(std::int64_t, actual, actual)
    lttng_ust_field_integer(std::int64_t, deadline, deadline)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(rtexec, instant_of_job,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)))
#define RTEXEC_INSTANT_OF_JOB(event)                                  \
  LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(rtexec, instant_of_job, rtexec, event, \
    LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at))
RTEXEC_INSTANT_OF_JOB(job_start)
RTEXEC_INSTANT_OF_JOB(device_begin)
RTEXEC_INSTANT_OF_JOB(after_begin)
RTEXEC_INSTANT_OF_JOB(job_abort)
#undef RTEXEC_INSTANT_OF_JOB

LTTNG_UST_TRACEPOINT_EVENT(rtexec, cpu_end,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::int64_t, executed),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_integer(std::int64_t, executed, executed)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, device_request,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::int64_t, deadline),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_integer(std::int64_t, deadline, deadline)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, device_end,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::uint8_t, outcome),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_enum(rtexec, outcome, std::uint8_t, outcome, outcome)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, job_end,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::int64_t, response, std::int64_t,
      executed),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_integer(std::int64_t, response, response)
    lttng_ust_field_integer(std::int64_t, executed, executed)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, job_miss,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::int64_t, deadline, std::int64_t,
      lateness),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_integer(std::int64_t, deadline, deadline)
    lttng_ust_field_integer(std::int64_t, lateness, lateness)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, job_overrun,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::uint8_t, policy, std::uint8_t,
      decision),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_enum(rtexec, overrun_policy, std::uint8_t, policy, policy)
    lttng_ust_field_enum(rtexec, release_decision, std::uint8_t, decision, decision)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, job_skip,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::int64_t, nominal, std::int64_t, at),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::int64_t, nominal, nominal)
    lttng_ust_field_integer(std::int64_t, at, at)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, device_fault,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, const char*, what),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_string(what, what)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, scheduler_input,
  LTTNG_UST_TP_ARGS(std::uint64_t, sequence, const rtexec::policies::Event*, event),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint64_t, sequence, sequence)
    lttng_ust_field_enum(rtexec, input, std::uint8_t, input, static_cast<std::uint8_t>(event->kind))
    lttng_ust_field_integer(std::uint32_t, task, event->job.task)
    lttng_ust_field_integer(std::uint64_t, job, event->job.number)
    lttng_ust_field_integer(std::int64_t, at, event->now.time_since_epoch().count())
    lttng_ust_field_integer(std::int64_t, deadline, rtexec::traces::deadline_or_none(*event))
    lttng_ust_field_integer(std::uint32_t, moved_task, event->transfer.task)
    lttng_ust_field_integer(std::uint32_t, slot, event->transfer.slot)
    lttng_ust_field_integer(std::uint32_t, frame, event->transfer.frame)
    lttng_ust_field_integer(std::uint8_t, failed, event->failed)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, scheduler_action,
  LTTNG_UST_TP_ARGS(std::uint64_t, sequence, const rtexec::policies::Action*, decided),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint64_t, sequence, sequence)
    lttng_ust_field_enum(rtexec, action, std::uint8_t, action, static_cast<std::uint8_t>(decided->kind))
    lttng_ust_field_integer(std::uint32_t, task, decided->job.task)
    lttng_ust_field_integer(std::uint64_t, job, decided->job.number)
    lttng_ust_field_integer(std::uint32_t, moved_task, decided->transfer.task)
    lttng_ust_field_integer(std::uint32_t, slot, decided->transfer.slot)
    lttng_ust_field_integer(std::uint32_t, frame, decided->transfer.frame)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(rtexec, instant_of_core,
  LTTNG_UST_TP_ARGS(std::uint32_t, core, std::int64_t, at),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, core, core)
    lttng_ust_field_integer(std::int64_t, at, at)))
#define RTEXEC_INSTANT_OF_CORE(event)                                  \
  LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(rtexec, instant_of_core, rtexec, event, \
    LTTNG_UST_TP_ARGS(std::uint32_t, core, std::int64_t, at))
RTEXEC_INSTANT_OF_CORE(throttle_begin)
RTEXEC_INSTANT_OF_CORE(throttle_end)
#undef RTEXEC_INSTANT_OF_CORE

LTTNG_UST_TRACEPOINT_EVENT(rtexec, bandwidth_budget,
  LTTNG_UST_TP_ARGS(std::uint32_t, core, std::int64_t, at, std::uint64_t, bytes, std::int64_t, period),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, core, core)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_integer(std::uint64_t, bytes, bytes)
    lttng_ust_field_integer(std::int64_t, period, period)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(rtexec, layer_of_job,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::uint32_t, layer, std::int64_t, at),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::uint32_t, layer, layer)
    lttng_ust_field_integer(std::int64_t, at, at)))
#define RTEXEC_LAYER_OF_JOB(event)                                  \
  LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(rtexec, layer_of_job, rtexec, event, \
    LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::uint32_t, layer, std::int64_t, at))
RTEXEC_LAYER_OF_JOB(layer_begin)
RTEXEC_LAYER_OF_JOB(layer_end)
#undef RTEXEC_LAYER_OF_JOB

#endif

#include <lttng/tracepoint-event.h>
