// clang-format off
// The tracepoints of the provider `rtexec`, generated from the table traces/events.inc. LTTng-UST reads this file
// several times. Only emit.cpp includes this file, after the types that it uses.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER rtexec

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "traces/provider/events.h"

#if !defined(RTEXEC_TRACES_PROVIDER_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define RTEXEC_TRACES_PROVIDER_EVENTS_H

#include <lttng/tracepoint.h>

// The labels of an enumeration and their values. The number N in RTEXEC_LABELS_N must be the number of labels of the
// enumeration.
#define RTEXEC_LABEL(type, all, i) \
  lttng_ust_field_enum_value((rtexec::traces::label<type, all>(i).text.data()), \
                             rtexec::traces::number_of((rtexec::traces::label<type, all>(i).value)))
#define RTEXEC_LABELS_1(type, all) RTEXEC_LABEL(type, all, 0)
#define RTEXEC_LABELS_2(type, all) RTEXEC_LABELS_1(type, all) RTEXEC_LABEL(type, all, 1)
#define RTEXEC_LABELS_3(type, all) RTEXEC_LABELS_2(type, all) RTEXEC_LABEL(type, all, 2)
#define RTEXEC_LABELS_4(type, all) RTEXEC_LABELS_3(type, all) RTEXEC_LABEL(type, all, 3)
#define RTEXEC_LABELS_5(type, all) RTEXEC_LABELS_4(type, all) RTEXEC_LABEL(type, all, 4)
#define RTEXEC_LABELS_6(type, all) RTEXEC_LABELS_5(type, all) RTEXEC_LABEL(type, all, 5)
#define RTEXEC_LABELS_7(type, all) RTEXEC_LABELS_6(type, all) RTEXEC_LABEL(type, all, 6)
#define RTEXEC_LABELS_8(type, all) RTEXEC_LABELS_7(type, all) RTEXEC_LABEL(type, all, 7)
#define RTEXEC_LABELS_9(type, all) RTEXEC_LABELS_8(type, all) RTEXEC_LABEL(type, all, 8)
#define RTEXEC_LABELS_10(type, all) RTEXEC_LABELS_9(type, all) RTEXEC_LABEL(type, all, 9)
#define RTEXEC_LABELS_11(type, all) RTEXEC_LABELS_10(type, all) RTEXEC_LABEL(type, all, 10)
#define RTEXEC_LABELS_12(type, all) RTEXEC_LABELS_11(type, all) RTEXEC_LABEL(type, all, 11)
#define RTEXEC_ENUM(name, type, all) \
  LTTNG_UST_TRACEPOINT_ENUM(rtexec, name, \
    LTTNG_UST_TP_ENUM_VALUES(RTEXEC_LABELS_##all(rtexec::traces::field::type, all)))
RTEXEC_ENUM(order, Order, 2)
RTEXEC_ENUM(swap_policy, SwapPolicy, 8)
RTEXEC_ENUM(overrun_policy, OnOverrun, 5)
RTEXEC_ENUM(release_decision, ReleaseDecision, 5)
RTEXEC_ENUM(release_reason, ReleaseReason, 3)
RTEXEC_ENUM(communication, Communication, 2)
RTEXEC_ENUM(criticality, Criticality, 2)
RTEXEC_ENUM(memory_policy, MemoryPolicy, 5)
RTEXEC_ENUM(input, Input, 6)
RTEXEC_ENUM(action, Decided, 6)
LTTNG_UST_TRACEPOINT_ENUM(rtexec, outcome, LTTNG_UST_TP_ENUM_VALUES(
  lttng_ust_field_enum_value("ok", rtexec::traces::number_of(rtexec::Status())) RTEXEC_LABELS_12(rtexec::Errc, 12)))

// The LTTng field of a part, by the part's type.
#define RTEXEC_INTEGER(type, name, of) lttng_ust_field_integer(type, name, rtexec::traces::wire(fields->of))
#define RTEXEC_LABELLED(labels, name, of) \
  lttng_ust_field_enum(rtexec, labels, std::uint8_t, name, rtexec::traces::number_of(fields->of))
#define RTEXEC_PART_Text(name, of) lttng_ust_field_string(name, fields->of)
#define RTEXEC_PART_Flag(name, of) RTEXEC_INTEGER(std::uint8_t, name, of)
#define RTEXEC_PART_Index(name, of) RTEXEC_INTEGER(std::uint32_t, name, of)
#define RTEXEC_PART_Number(name, of) RTEXEC_INTEGER(std::uint64_t, name, of)
#define RTEXEC_PART_Bytes(name, of) RTEXEC_INTEGER(std::uint64_t, name, of)
#define RTEXEC_PART_Frequency(name, of) RTEXEC_INTEGER(std::uint64_t, name, of)
#define RTEXEC_PART_Instant(name, of) RTEXEC_INTEGER(std::int64_t, name, of)
#define RTEXEC_PART_Duration(name, of) RTEXEC_INTEGER(std::int64_t, name, of)
#define RTEXEC_PART_OptionalIndex(name, of) RTEXEC_INTEGER(std::int64_t, name, of)
#define RTEXEC_PART_OptionalDuration(name, of) RTEXEC_INTEGER(std::int64_t, name, of)
#define RTEXEC_PART_RequestDeadline(name, of) RTEXEC_INTEGER(std::int64_t, name, of)
#define RTEXEC_PART_Order(name, of) RTEXEC_LABELLED(order, name, of)
#define RTEXEC_PART_SwapPolicy(name, of) RTEXEC_LABELLED(swap_policy, name, of)
#define RTEXEC_PART_OnOverrun(name, of) RTEXEC_LABELLED(overrun_policy, name, of)
#define RTEXEC_PART_ReleaseDecision(name, of) RTEXEC_LABELLED(release_decision, name, of)
#define RTEXEC_PART_ReleaseReason(name, of) RTEXEC_LABELLED(release_reason, name, of)
#define RTEXEC_PART_Communication(name, of) RTEXEC_LABELLED(communication, name, of)
#define RTEXEC_PART_Criticality(name, of) RTEXEC_LABELLED(criticality, name, of)
#define RTEXEC_PART_MemoryPolicy(name, of) RTEXEC_LABELLED(memory_policy, name, of)
#define RTEXEC_PART_Input(name, of) RTEXEC_LABELLED(input, name, of)
#define RTEXEC_PART_Decided(name, of) RTEXEC_LABELLED(action, name, of)
#define RTEXEC_PART_Outcome(name, of) RTEXEC_LABELLED(outcome, name, of)

#define RTEXEC_PART(type, name, of) RTEXEC_PART_##type(name, of)
#define RTEXEC_FIELD(type, name) RTEXEC_PARTS_##type(RTEXEC_PART, name)
#define RTEXEC_EVENT(event_, ...) \
  LTTNG_UST_TRACEPOINT_EVENT(rtexec, event_, \
    LTTNG_UST_TP_ARGS(const rtexec::traces::event::event_*, fields), \
    LTTNG_UST_TP_FIELDS(RTEXEC_EACH(RTEXEC_FIELD, __VA_ARGS__)))
#include "traces/events.inc"

#endif

#include <lttng/tracepoint-event.h>
