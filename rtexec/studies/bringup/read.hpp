// The items of a bring-up that only read: files under the machine's root, and a few settings of the running kernel.
#pragma once

#include "rtexec/studies/bringup/item.hpp"

namespace rtexec::bringup {

/// Checks that the device tree names the board.
[[nodiscard]] Answer board_identity(const Subject& subject);
/// Checks that all cores are present and of the kinds that the board's file names.
[[nodiscard]] Answer core_kinds(const Subject& subject);

[[nodiscard]] Answer preemption(const Subject& subject);
/// Checks that the kernel's command line has all options that the board's file requires.
[[nodiscard]] Answer command_line(const Subject& subject);
/// Compares the cores that the kernel isolates with the isolated cores in the board's file.
[[nodiscard]] Answer isolation(const Subject& subject);
[[nodiscard]] Answer timers(const Subject& subject);

/// Checks by trial that SCHED_FIFO and locked memory are allowed.
[[nodiscard]] Answer real_time_rights(const Subject& subject);
/// Checks if the kernel groups real-time threads (RT_GROUP_SCHED), and if so, that the group of this process has a
/// share of real-time run time.
[[nodiscard]] Answer real_time_group(const Subject& subject);
[[nodiscard]] Answer throttling(const Subject& subject);
[[nodiscard]] Answer fair_server(const Subject& subject);

[[nodiscard]] Answer locked_clocks(const Subject& subject);
[[nodiscard]] Answer thermal_headroom(const Subject& subject);
/// The next two functions check clocks and temperatures. Both functions use the values in the machine's files and the
/// values that the GPU reports.
[[nodiscard]] Answer judge_clocks(const Subject& subject, const hal::GpuState& gpu);
[[nodiscard]] Answer judge_heat(const Subject& subject, const hal::GpuState& gpu);
[[nodiscard]] Answer power_supply(const Subject& subject);

} // namespace rtexec::bringup
