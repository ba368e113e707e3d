// The time of a device part that waits for nothing, because all its data are in the device's own memory. The excess of
// the same part under M or H is the time that it waits for pages, or for accesses that leave the device.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>
#include <rtexec/workload.hpp>
#include "hal/device_interface.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"

#include <cstddef>
#include <optional>

namespace rtexec::executive {

/// Executes a job of a workload under D that is bound to `device`, and measures it by the clock of the executive. For a
/// micro-benchmark only the kernels are measured, after their copies. Called between before() and after(), on a compute
/// engine's thread.
[[nodiscard]] Status execute_resident(Workload& workload, hal::Device& device, Duration& took) noexcept;

/// Returns the longest of some jobs of the task at `index`, with noise as its inputs, under D whatever its policy. They
/// run on a device that is opened for them and closed before this returns. `setup` provides device, workloads and
/// tunings. Set-up only. Returns nullopt if the device has no room for the task's memory. Throws other errors, like
/// measured_run().
[[nodiscard]] std::optional<Duration> longest_resident(const TaskSet& tasks, std::size_t index, Setup setup);

} // namespace rtexec::executive
