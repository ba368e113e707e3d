// The items of a bring-up that are measured: each takes about Subject::length, a few of them several times that. They
// load cores, open the board's device and write into Subject::folder; all of it is given back when they return. What
// rests on an emulator's times or counts never passes.
#pragma once

#include "rtexec/studies/bringup/item.hpp"

namespace rtexec::bringup {

/// latency/release: how late threads run that a timer releases, under load, beside cyclictest where that is installed.
[[nodiscard]] Answer release_latency(const Subject& subject);
/// counter/clusters: whether each of the board's counters of memory traffic counts, on each cluster.
[[nodiscard]] Answer traffic_counters(const Subject& subject);
/// memory/bandwidth: what each core and all of them reach, against [memory] of the board's file.
[[nodiscard]] Answer memory_bandwidth(const Subject& subject);
/// memory/regulation: whether a budget of memory bandwidth is kept.
[[nodiscard]] Answer memory_regulation(const Subject& subject);
/// device/rules: whether the device keeps the rules that promises rest on.
[[nodiscard]] Answer device_rules(const Subject& subject);
/// device/vmm: what mapping chunks costs, and whether contents stay right.
[[nodiscard]] Answer device_mapping(const Subject& subject);
/// device/copies: how fast copies are each way and both at once, against the board's swap costs.
[[nodiscard]] Answer device_copies(const Subject& subject);
/// store/swap: the swap store in a file beside plain reads and writes with O_DIRECT.
[[nodiscard]] Answer swap_store(const Subject& subject);
/// trace/cost: what an event costs, with a recording and without.
[[nodiscard]] Answer trace_cost(const Subject& subject);
/// deadlines/task-set: whether a short task set that admission promises keeps its deadlines.
[[nodiscard]] Answer task_set(const Subject& subject);

} // namespace rtexec::bringup
