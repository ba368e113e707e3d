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

/// Who is to live on a device: how much it needs, and the contents of its constants.
struct Tenant {
  MemoryDemand demand;
  std::span<const std::byte> constants;
};

/// Creates the chunks, fills and maps them: the addresses of each tenant. Constants travel over the device's copy-in engine. The mappings
/// last as long as `device`.
[[nodiscard]] Result<std::vector<tasks::Memory>> lay_out(hal::Device& device, std::span<const Tenant> tenants);

/// Lays out what `plan` says, and binds each workload to its addresses. `workloads` is parallel to `plan.tasks`.
[[nodiscard]] Result<> place(hal::Device& device, const Plan& plan, std::span<const std::unique_ptr<tasks::Workload>> workloads);

} // namespace rtexec::executive
