// Measures the costs of memory policies on a device. Micro-benchmarks of several kinds and sizes run under D, M and H.
// The result are the costs that fit the model of memory policies best (policies/memory/memory_model.hpp).
//
// The cost of a policy is the job's time on the device minus that of its kernels. The kernels' time is measured under
// D, with the data in place and copies before and after. Set-up only; one thread; the device must outlive the call.
#pragma once

#include <rtexec/board.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "hal/device_interface.hpp"
#include "policies/memory/memory_model.hpp"
#include "rtexec/studies/calibration/size_range.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace rtexec::study {

/// Returns kinds that show the costs of a device of `kind` in a minute or two.
[[nodiscard]] std::span<const SizeRange> calibrated_kinds(DeviceKind kind);

struct MemoryCalibrationOptions {
  unsigned sizes = 5; // number of sizes of each kind
  unsigned jobs = 9;  // jobs per measurement; the shortest counts, since others did not delay it
  friend bool operator==(const MemoryCalibrationOptions&, const MemoryCalibrationOptions&) = default;
};

/// A task under a policy.
struct MeasuredTask {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned size = 0;
  MemoryPolicy policy = MemoryPolicy::device;
  bool prefetch = true; // used under M
  policies::MemoryTraffic traffic;
  Duration execution{0}; // time of the kernels
  Duration job{0};       // time on the device; without prefetch also the CPU's wait for pages that return
};

/// Measures the tasks. `policies` are those of a board. A task for which the device has no room is left out. Returns
/// errors of the device and the kernels, or cancelled if `going_on` returned false.
[[nodiscard]] Result<std::vector<MeasuredTask>> measure_memory(
    hal::Device& device, std::span<const SizeRange> kinds, std::span<const MemoryPolicy> policies,
    const MemoryCalibrationOptions& options, const std::function<bool(std::size_t done, std::size_t of)>& going_on);

struct MemoryCalibration {
  std::string device;
  std::vector<MeasuredTask> tasks;
  policies::MemoryFit fit; // its costs include the expected error
};
/// Fits the costs. `before` is what is known of the device: whether it shares its memory, and costs on which no
/// measurement depends.
[[nodiscard]] Result<MemoryCalibration> fitted(const std::string& device, const MemoryCosts& before,
                                               std::vector<MeasuredTask> tasks);
/// Returns the model's estimate of a job, execution included.
[[nodiscard]] Duration estimate(const MemoryCosts& costs, const MeasuredTask& task);

} // namespace rtexec::study
