// The time of a device part whose data are all in the device's own memory, so that it never waits for data. Under
// managed (M) or mapped host memory (H) the part takes longer than this time. The difference is the time for which the
// part waits for pages, or for accesses to memory outside of the device.
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

/// Executes one job of a workload that is bound to `device` under memory policy D (device memory), and stores its
/// execution time in `took`. Uses the same clock as the executive. For a micro-benchmark, executes the copies first,
/// and measures only the kernels. Called between before() and after(), on a compute engine's thread.
[[nodiscard]] Status execute_resident(Workload& workload, hal::Device& device, Duration& took) noexcept;

/// Runs several jobs of the task at `index`, with noise as inputs. Uses memory policy D (device memory), whichever
/// policy the task has. Returns the longest execution time. Opens a device for these jobs, and closes it before
/// returning. `setup` provides device, workloads and tunings. Set-up only. Returns nullopt if the device has no room
/// for the task's memory. Throws Failed for other errors.
[[nodiscard]] std::optional<Duration> longest_resident(const TaskSet& tasks, std::size_t index, Setup setup);

} // namespace rtexec::executive
