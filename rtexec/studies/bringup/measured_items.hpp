// The items of a bring-up that measure. Most items take about Subject::length; a few take several times as long. The
// items load cores, open the board's device and write into Subject::folder. The items release cores, device and folder
// when they return. An item whose result depends on an emulator's times or counts never passes on an emulator.
#pragma once

#include "rtexec/studies/bringup/item.hpp"

namespace rtexec::bringup {

/// latency/release: measures under load how late a thread runs after the timer that releases it. Compares the result
/// with cyclictest if cyclictest is installed.
[[nodiscard]] Answer release_latency(const Subject& subject);
/// counter/clusters: checks that each of the board's counters of memory traffic counts, on each cluster.
[[nodiscard]] Answer traffic_counters(const Subject& subject);
/// memory/bandwidth: compares the bandwidth of each core and of all cores with [memory] of the board's file.
[[nodiscard]] Answer memory_bandwidth(const Subject& subject);
/// memory/regulation: checks that regulation enforces a budget of memory bandwidth.
[[nodiscard]] Answer memory_regulation(const Subject& subject);
/// device/rules: checks that the device keeps the rules that promises of deadlines assume: for example, each chunk
/// keeps its own contents.
[[nodiscard]] Answer device_rules(const Subject& subject);
/// device/vmm: measures the cost of mapping chunks, and checks that their contents do not change.
[[nodiscard]] Answer device_mapping(const Subject& subject);
/// device/copies: compares the speed of copies, in each direction and in both at once, with the board's swap costs.
[[nodiscard]] Answer device_copies(const Subject& subject);
/// store/swap: compares the swap store in a file with plain O_DIRECT reads and writes.
[[nodiscard]] Answer swap_store(const Subject& subject);
/// trace/cost: measures the time to emit a trace event, with and without a recording.
[[nodiscard]] Answer trace_cost(const Subject& subject);
/// deadlines/task-set: checks that a short task set that admission promises keeps its deadlines.
[[nodiscard]] Answer task_set(const Subject& subject);

} // namespace rtexec::bringup
