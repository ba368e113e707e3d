// Measures the costs of memory policies on a device. Micro-benchmarks of several kinds and sizes run under the
// policies D (device memory, with copies), M (managed memory) and H (host memory). The result is the set of costs
// with which the model of memory policies fits best (policies/memory/memory_model.hpp).
//
// The cost of a policy is the job's time on the device minus the time of its kernels. The kernels' time is measured
// under policy D, with the data already on the device. Set-up only; one thread; the device must outlive the call.
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

/// Returns the micro-benchmarks and ranges of sizes with which the costs of a device of `kind` can be measured within
/// two minutes.
[[nodiscard]] std::span<const SizeRange> calibrated_kinds(DeviceKind kind);

struct MemoryCalibrationOptions {
  unsigned sizes = 5; // number of sizes of each kind
  unsigned jobs = 9;  // the number of jobs per measurement; the shortest time is used, since that job was not delayed
  friend bool operator==(const MemoryCalibrationOptions&, const MemoryCalibrationOptions&) = default;
};

/// The times of a task under one policy.
struct MeasuredTask {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned size = 0;
  MemoryPolicy policy = MemoryPolicy::device;
  bool prefetch = true; // true if a task under policy M prefetches its pages
  policies::MemoryTraffic traffic;
  Duration execution{0}; // time of the kernels
  /// The time on the device. Without prefetch, it includes the time for which the CPU waits for pages that return
  Duration job{0};
};

/// Measures the tasks. `policies`: the memory policies of the board. A task for which the device does not have enough
/// memory is left out. Returns errors of the device and the kernels, or cancelled if `going_on` returned false.
[[nodiscard]] Result<std::vector<MeasuredTask>> measure_memory(
    hal::Device& device, std::span<const SizeRange> kinds, std::span<const MemoryPolicy> policies,
    const MemoryCalibrationOptions& options, const std::function<bool(std::size_t done, std::size_t of)>& going_on);

struct MemoryCalibration {
  std::string device;
  std::vector<MeasuredTask> tasks;
  policies::MemoryFit fit; // the costs include the expected error of the model
};
/// Fits the costs to the measured tasks. `before`: the costs that no measurement can determine, and whether the device
/// shares its memory with the CPU.
[[nodiscard]] Result<MemoryCalibration> fitted(const std::string& device, const MemoryCosts& before,
                                               std::vector<MeasuredTask> tasks);
/// Returns the model's estimate of a job's time on the device, including its kernels.
[[nodiscard]] Duration estimate(const MemoryCosts& costs, const MeasuredTask& task);

} // namespace rtexec::study
