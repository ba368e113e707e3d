// Lays out the device's memory for a task set: constants loaded and mapped read-only, state zeroed, and one set of scratch
// chunks that is mapped into every task's scratch range, since one job executes at a time.
#pragma once

#include "config/plan.hpp"
#include "hal/device.hpp"
#include "tasks/workload.hpp"

#include <memory>
#include <span>
#include <vector>

namespace rtexec::executive {

/// Creates the chunks, fills and maps them, and binds each workload to its addresses. Constants travel over the device's copy-in
/// engine. `workloads` is parallel to `plan.tasks`. The mappings last as long as `device`.
[[nodiscard]] Result<> place(hal::Device& device, const Plan& plan, std::span<const std::unique_ptr<tasks::Workload>> workloads);

} // namespace rtexec::executive
