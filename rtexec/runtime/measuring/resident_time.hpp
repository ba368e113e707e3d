// The time of a device part that waits for nothing, because all its data are in the device's own memory. Under managed
// (M) or mapped host memory (H) the same part takes longer. The difference is the time for which it waits for pages, or
// for accesses to memory outside of the device.
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

/// Executes one job of a workload under device memory (D) that is bound to `device`, and stores its execution time in
/// `took`. The clock is the one that the executive uses for jobs. For a micro-benchmark the copies come first, and only
/// the kernels are measured. Called between before() and after(), on a compute engine's thread.
[[nodiscard]] Status execute_resident(Workload& workload, hal::Device& device, Duration& took) noexcept;

/// Runs some jobs of the task at `index`, with noise as inputs and under D whatever its policy is, and returns the
/// longest execution time. Opens a device for this, and closes it before returning. `setup` provides device, workloads
/// and tunings. Set-up only. Returns nullopt if the device has no room for the task's memory. Throws Failed for other
/// errors.
[[nodiscard]] std::optional<Duration> longest_resident(const TaskSet& tasks, std::size_t index, Setup setup);

} // namespace rtexec::executive
