// The events of events.inc: one struct in namespace event for each row, and the types of the fields. Each field is
// recorded as one or more parts; the type of each part is a type of the recording format.
#pragma once

#include "config/names.hpp"
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"
#include "policies/scheduler/release_grid.hpp"

#include <cstdint>
#include <optional>

namespace rtexec {

template <>
inline constexpr auto spellings_of<policies::Event::Kind> =
    std::to_array<Spelling<policies::Event::Kind>>({{"job-requested", policies::Event::Kind::job_requested},
                                                    {"job-withdrawn", policies::Event::Kind::job_withdrawn},
                                                    {"segment-done", policies::Event::Kind::segment_done},
                                                    {"execution-done", policies::Event::Kind::execution_done},
                                                    {"copied-in", policies::Event::Kind::copied_in},
                                                    {"copied-out", policies::Event::Kind::copied_out}});

template <>
inline constexpr auto spellings_of<policies::Action::Kind> =
    std::to_array<Spelling<policies::Action::Kind>>({{"start-execution", policies::Action::Kind::start_execution},
                                                     {"copy-in", policies::Action::Kind::copy_in},
                                                     {"copy-out", policies::Action::Kind::copy_out},
                                                     {"refuse", policies::Action::Kind::refuse},
                                                     {"drop", policies::Action::Kind::drop},
                                                     {"fail", policies::Action::Kind::fail}});

template <>
inline constexpr auto spellings_of<policies::ReleaseDecision::Kind> =
    std::to_array<Spelling<policies::ReleaseDecision::Kind>>({{"start", policies::ReleaseDecision::Kind::start},
                                                              {"skip", policies::ReleaseDecision::Kind::skip},
                                                              {"wait", policies::ReleaseDecision::Kind::wait},
                                                              {"abort-and-wait",
                                                               policies::ReleaseDecision::Kind::abort_and_wait},
                                                              {"stop", policies::ReleaseDecision::Kind::stop}});

template <>
inline constexpr auto spellings_of<policies::ReleaseReason> =
    std::to_array<Spelling<policies::ReleaseReason>>({{"overrun", policies::ReleaseReason::overrun},
                                                      {"wcet-exceeded", policies::ReleaseReason::wcet_exceeded},
                                                      {"stale", policies::ReleaseReason::stale}});

} // namespace rtexec

namespace rtexec::traces::field {

using Text = const char*; // valid during the call; never null
using Flag = bool;
using Index = std::uint32_t;
using Number = std::uint64_t;
using Bytes = rtexec::Bytes;
using Frequency = rtexec::Frequency;
using Instant = rtexec::Instant; // on CLOCK_MONOTONIC, or the simulator's clock
using Duration = rtexec::Duration;
using OptionalIndex = std::optional<std::uint32_t>;
using OptionalDuration = std::optional<rtexec::Duration>;
using Outcome = Status;
using Order = rtexec::Order;
using Communication = rtexec::Communication;
using Criticality = rtexec::Criticality;
using MemoryPolicy = rtexec::MemoryPolicy;
using SwapPolicy = rtexec::SwapPolicy;
using OnOverrun = rtexec::OnOverrun;
using ReleaseDecision = policies::ReleaseDecision::Kind;
using ReleaseReason = policies::ReleaseReason;
using Input = policies::Event::Kind;
using Decided = policies::Action::Kind;
using JobId = policies::JobId;
using CauseJob = policies::JobId; // the job that a transfer is for
using Transfer = policies::Transfer;
using SchedulerEvent = policies::Event;
using SchedulerAction = policies::Action;
using RequestDeadline = policies::Event; // the deadline of a request; ignored for other events

} // namespace rtexec::traces::field

// RTEXEC_PARTS_type(PART, value) expands to PART(type, name, expression) for each part of a field.
#define RTEXEC_PARTS_Text(PART, of) PART(Text, of, of)
#define RTEXEC_PARTS_Flag(PART, of) PART(Flag, of, of)
#define RTEXEC_PARTS_Index(PART, of) PART(Index, of, of)
#define RTEXEC_PARTS_Number(PART, of) PART(Number, of, of)
#define RTEXEC_PARTS_Bytes(PART, of) PART(Bytes, of, of)
#define RTEXEC_PARTS_Frequency(PART, of) PART(Frequency, of, of)
#define RTEXEC_PARTS_Instant(PART, of) PART(Instant, of, of)
#define RTEXEC_PARTS_Duration(PART, of) PART(Duration, of, of)
#define RTEXEC_PARTS_OptionalIndex(PART, of) PART(OptionalIndex, of, of)
#define RTEXEC_PARTS_OptionalDuration(PART, of) PART(OptionalDuration, of, of)
#define RTEXEC_PARTS_Outcome(PART, of) PART(Outcome, of, of)
#define RTEXEC_PARTS_Order(PART, of) PART(Order, of, of)
#define RTEXEC_PARTS_Communication(PART, of) PART(Communication, of, of)
#define RTEXEC_PARTS_Criticality(PART, of) PART(Criticality, of, of)
#define RTEXEC_PARTS_MemoryPolicy(PART, of) PART(MemoryPolicy, of, of)
#define RTEXEC_PARTS_SwapPolicy(PART, of) PART(SwapPolicy, of, of)
#define RTEXEC_PARTS_OnOverrun(PART, of) PART(OnOverrun, of, of)
#define RTEXEC_PARTS_ReleaseDecision(PART, of) PART(ReleaseDecision, of, of)
#define RTEXEC_PARTS_ReleaseReason(PART, of) PART(ReleaseReason, of, of)
#define RTEXEC_PARTS_JobId(PART, of) PART(Index, task, of.task) PART(Number, job, of.number)
#define RTEXEC_PARTS_CauseJob(PART, of) PART(Index, cause_task, of.task) PART(Number, cause_job, of.number)
#define RTEXEC_PARTS_Transfer(PART, of) \
  PART(Index, task, of.task) PART(Index, slot, of.slot) PART(Index, frame, of.frame)
#define RTEXEC_PARTS_Moved(PART, of) \
  PART(Index, moved_task, of.task) PART(Index, slot, of.slot) PART(Index, frame, of.frame)
#define RTEXEC_PARTS_SchedulerEvent(PART, of)                                                    \
  PART(Input, input, of.kind)                                                                    \
  RTEXEC_PARTS_JobId(PART, of.job) PART(Instant, at, of.now) PART(RequestDeadline, deadline, of) \
      RTEXEC_PARTS_Moved(PART, of.transfer) PART(Flag, failed, of.failed) PART(Index, segment, of.segment)
#define RTEXEC_PARTS_SchedulerAction(PART, of)                                                             \
  PART(Decided, action, of.kind)                                                                           \
  RTEXEC_PARTS_JobId(PART, of.job) RTEXEC_PARTS_Moved(PART, of.transfer) PART(Flag, beside, of.co_running) \
      PART(MemoryPolicy, as, of.as) PART(Index, segment, of.segment) PART(Index, committed, of.committed)

// RTEXEC_EACH(MACRO, (a, b), (c, d)) expands to MACRO(a, b) MACRO(c, d), for up to 27 fields. RTEXEC_LIST puts commas
// between the expansions.
#define RTEXEC_NONE ()
#define RTEXEC_SCAN(...) RTEXEC_SCAN_9(RTEXEC_SCAN_9(RTEXEC_SCAN_9(__VA_ARGS__)))
#define RTEXEC_SCAN_9(...) RTEXEC_SCAN_3(RTEXEC_SCAN_3(RTEXEC_SCAN_3(__VA_ARGS__)))
#define RTEXEC_SCAN_3(...) RTEXEC_SCAN_1(RTEXEC_SCAN_1(RTEXEC_SCAN_1(__VA_ARGS__)))
#define RTEXEC_SCAN_1(...) __VA_ARGS__
#define RTEXEC_EACH(MACRO, ...) RTEXEC_SCAN(RTEXEC_EACH_NEXT(MACRO, __VA_ARGS__))
#define RTEXEC_EACH_NEXT(MACRO, first, ...) MACRO first __VA_OPT__(RTEXEC_EACH_AGAIN RTEXEC_NONE(MACRO, __VA_ARGS__))
#define RTEXEC_EACH_AGAIN() RTEXEC_EACH_NEXT
#define RTEXEC_LIST(MACRO, ...) RTEXEC_SCAN(RTEXEC_LIST_NEXT(MACRO, __VA_ARGS__))
#define RTEXEC_LIST_NEXT(MACRO, first, ...) MACRO first __VA_OPT__(, RTEXEC_LIST_AGAIN RTEXEC_NONE(MACRO, __VA_ARGS__))
#define RTEXEC_LIST_AGAIN() RTEXEC_LIST_NEXT

namespace rtexec::traces::event {

#define RTEXEC_MEMBER(type, name) field::type name{};
#define RTEXEC_VISIT_PART(type, name, of) visit(#name, of);
#define RTEXEC_VISIT(type, name) RTEXEC_PARTS_##type(RTEXEC_VISIT_PART, name)
#define RTEXEC_STRUCT(event, setup, ...)                                                                  \
  struct event {                                                                                          \
    static constexpr const char* event_name = #event;                                                     \
    static constexpr bool of_setup = setup;                                                               \
    RTEXEC_EACH(RTEXEC_MEMBER, __VA_ARGS__)                                                               \
    /* Calls visit(name, value) for each part. The value of a RequestDeadline is the scheduler's event */ \
    template <class Visit> void parts(Visit&& visit) { RTEXEC_EACH(RTEXEC_VISIT, __VA_ARGS__) }           \
  };
#define RTEXEC_EVENT(event, ...) RTEXEC_STRUCT(event, false, __VA_ARGS__)
#define RTEXEC_SETUP_EVENT(event, ...) RTEXEC_STRUCT(event, true, __VA_ARGS__)
#include "traces/events.inc"
#undef RTEXEC_MEMBER
#undef RTEXEC_VISIT_PART
#undef RTEXEC_VISIT
#undef RTEXEC_STRUCT

} // namespace rtexec::traces::event
