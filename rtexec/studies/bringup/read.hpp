// The items that are read: from files under the machine's root, and a few by asking the kernel of the machine that
// runs.
#pragma once

#include "rtexec/studies/bringup/item.hpp"

namespace rtexec::bringup {

/// Which board it is, as its device tree says.
[[nodiscard]] Answer board_identity(const Subject& subject);
/// Its cores: all there, and of the kinds that its file names.
[[nodiscard]] Answer core_kinds(const Subject& subject);

[[nodiscard]] Answer preemption(const Subject& subject);
/// What the board's file asks of it.
[[nodiscard]] Answer command_line(const Subject& subject);
/// Cores that the kernel isolates, against those of the board's file.
[[nodiscard]] Answer isolation(const Subject& subject);
[[nodiscard]] Answer timers(const Subject& subject);

/// SCHED_FIFO and locked memory, tried.
[[nodiscard]] Answer real_time_rights(const Subject& subject);
/// RT_GROUP_SCHED, and the share of this process's group.
[[nodiscard]] Answer real_time_group(const Subject& subject);
[[nodiscard]] Answer throttling(const Subject& subject);
[[nodiscard]] Answer fair_server(const Subject& subject);

[[nodiscard]] Answer locked_clocks(const Subject& subject);
[[nodiscard]] Answer thermal_headroom(const Subject& subject);
/// The same, beside what a GPU tells.
[[nodiscard]] Answer judge_clocks(const Subject& subject, const hal::GpuState& gpu);
[[nodiscard]] Answer judge_heat(const Subject& subject, const hal::GpuState& gpu);
[[nodiscard]] Answer power_supply(const Subject& subject);

} // namespace rtexec::bringup
