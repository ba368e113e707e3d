// How long a device part takes that waits for nothing: what it reads and writes is in the device's own memory. What
// the same part takes longer under M or H it waited, for pages or for accesses that leave the device.
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

/// Of a workload under D that is bound to `device`, between before() and after(): its part by the clock of the
/// executive, and of a micro-benchmark its kernels alone, behind their copies. On a compute engine's thread.
[[nodiscard]] Status execute_resident(Workload& workload, hal::Device& device, Duration& took) noexcept;

/// The longest of some jobs of the task at `index`, with noise as its inputs, whatever policy it asks for: on a device
/// that is opened for it and ended before this returns, by what `setup` says of that, of workloads and of tunings.
/// Set-up only. Absent: the device has no room for its memory. Other errors are thrown, as by measured_run().
[[nodiscard]] std::optional<Duration> longest_resident(const TaskSet& tasks, std::size_t index, Setup setup);

} // namespace rtexec::executive
