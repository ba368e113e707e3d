// Bare LTTng tracepoints with the same fields as events of ours, with which trace_bench.cpp compares ours.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bare

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "test/bench/bare_events.h"

#if !defined(RTEXEC_TEST_BENCH_BARE_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define RTEXEC_TEST_BENCH_BARE_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bare, job_start,
                           LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, at),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(std::uint32_t, task, task)
                                                   lttng_ust_field_integer(std::uint64_t, job, job)
                                                       lttng_ust_field_integer(std::int64_t, at, at)))

LTTNG_UST_TRACEPOINT_EVENT(bare, job_release,
                           LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint64_t, job, std::int64_t, nominal,
                                             std::int64_t, actual, std::int64_t, deadline),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(std::uint32_t, task, task)
                                                   lttng_ust_field_integer(std::uint64_t, job, job)
                                                       lttng_ust_field_integer(std::int64_t, nominal, nominal)
                                                           lttng_ust_field_integer(std::int64_t, actual, actual)
                                                               lttng_ust_field_integer(std::int64_t, deadline,
                                                                                       deadline)))

LTTNG_UST_TRACEPOINT_EVENT(bare, swap_in_begin,
                           LTTNG_UST_TP_ARGS(std::uint32_t, task, std::uint32_t, slot, std::uint32_t, frame,
                                             std::uint32_t, cause_task, std::uint64_t, cause_job, std::int64_t, at),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(std::uint32_t, task, task)
                                                   lttng_ust_field_integer(std::uint32_t, slot,
                                                                           slot) lttng_ust_field_integer(std::uint32_t,
                                                                                                         frame, frame)
                                                       lttng_ust_field_integer(std::uint32_t, cause_task, cause_task)
                                                           lttng_ust_field_integer(std::uint64_t, cause_job, cause_job)
                                                               lttng_ust_field_integer(std::int64_t, at, at)))

LTTNG_UST_TRACEPOINT_EVENT(
    bare, scheduler_input,
    LTTNG_UST_TP_ARGS(std::uint64_t, sequence, std::uint8_t, input, std::uint32_t, task, std::uint64_t, job,
                      std::int64_t, at, std::int64_t, deadline, std::uint32_t, moved_task, std::uint32_t, slot,
                      std::uint32_t, frame, std::uint8_t, failed),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(std::uint64_t, sequence, sequence) lttng_ust_field_integer(std::uint8_t, input, input)
            lttng_ust_field_integer(std::uint32_t, task, task) lttng_ust_field_integer(std::uint64_t, job, job)
                lttng_ust_field_integer(std::int64_t, at, at) lttng_ust_field_integer(std::int64_t, deadline, deadline)
                    lttng_ust_field_integer(std::uint32_t, moved_task, moved_task)
                        lttng_ust_field_integer(std::uint32_t, slot, slot)
                            lttng_ust_field_integer(std::uint32_t, frame, frame)
                                lttng_ust_field_integer(std::uint8_t, failed, failed)))

#endif

#include <lttng/tracepoint-event.h>
