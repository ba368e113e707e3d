// The tracepoints of the provider `rtexec`, in the form that LTTng-UST reads several times over. Included by emit.cpp alone,
// which includes the types used here first. Meaning of the events and fields: traces/README.md.
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
  lttng_ust_field_enum_value("abort-and-wait", static_cast<int>(rtexec::policies::ReleaseDecision::Kind::abort_and_wait))
  lttng_ust_field_enum_value("stop", static_cast<int>(rtexec::policies::ReleaseDecision::Kind::stop))))

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
    lttng_ust_field_integer(std::int64_t, response_bound, rtexec::traces::bound_or_none(*planned))))

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
  LTTNG_UST_TP_ARGS(const char*, name, std::uint64_t, used, std::uint64_t, context, std::uint64_t, demand, std::uint64_t, separate),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_string(name, name)
    lttng_ust_field_integer(std::uint64_t, used_bytes, used)
    lttng_ust_field_integer(std::uint64_t, context_bytes, context)
    lttng_ust_field_integer(std::uint64_t, demand_bytes, demand)
    lttng_ust_field_integer(std::uint64_t, separate_bytes, separate)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, swap_plan,
  LTTNG_UST_TP_ARGS(std::uint8_t, policy, std::uint32_t, frames, std::uint32_t, copy_engines, std::uint64_t, chunk, const char*, store),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_enum(rtexec, swap_policy, std::uint8_t, policy, policy)
    lttng_ust_field_integer(std::uint32_t, frames, frames)
    lttng_ust_field_integer(std::uint32_t, copy_engines, copy_engines)
    lttng_ust_field_integer(std::uint64_t, chunk_bytes, chunk)
    lttng_ust_field_string(store, store)))

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
  LTTNG_UST_TP_ARGS(const rtexec::policies::Action*, action, std::int64_t, at, std::uint8_t, outcome, std::uint64_t, copied),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, action->transfer.task)
    lttng_ust_field_integer(std::uint32_t, slot, action->transfer.slot)
    lttng_ust_field_integer(std::uint32_t, frame, action->transfer.frame)
    lttng_ust_field_integer(std::uint32_t, cause_task, action->job.task)
    lttng_ust_field_integer(std::uint64_t, cause_job, action->job.number)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_enum(rtexec, outcome, std::uint8_t, outcome, outcome)
    lttng_ust_field_integer(std::uint64_t, copied_bytes, copied)))
#define RTEXEC_SWAP(direction)                                                                                                        \
  LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(rtexec, begin_of_swap, rtexec, swap_##direction##_begin,                                        \
    LTTNG_UST_TP_ARGS(const rtexec::policies::Action*, action, std::int64_t, at))                                                     \
  LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(rtexec, end_of_swap, rtexec, swap_##direction##_end,                                            \
    LTTNG_UST_TP_ARGS(const rtexec::policies::Action*, action, std::int64_t, at, std::uint8_t, outcome, std::uint64_t, copied))
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
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, nominal, std::int64_t, actual, std::int64_t, deadline),
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
RTEXEC_INSTANT_OF_JOB(cpu_end)
RTEXEC_INSTANT_OF_JOB(device_begin)
RTEXEC_INSTANT_OF_JOB(after_begin)
RTEXEC_INSTANT_OF_JOB(job_abort)
#undef RTEXEC_INSTANT_OF_JOB

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
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::int64_t, response),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_integer(std::int64_t, response, response)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, job_miss,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::int64_t, deadline, std::int64_t, lateness),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(std::uint32_t, task, task)
    lttng_ust_field_integer(std::uint64_t, job, job)
    lttng_ust_field_integer(std::int64_t, at, at)
    lttng_ust_field_integer(std::int64_t, deadline, deadline)
    lttng_ust_field_integer(std::int64_t, lateness, lateness)))

LTTNG_UST_TRACEPOINT_EVENT(rtexec, job_overrun,
  LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at, std::uint8_t, policy, std::uint8_t, decision),
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
