// What memory policies cost on a device: micro-benchmarks of several kinds and sizes, each under D, M and H, and the
// costs under which the model of memory policies fits best (policies/memory/memory_model.hpp).
//
// What a policy takes is the job's time on the device less that of its kernels, which is measured under D: with the
// data in place, copies before and behind it. Set-up only; one thread; the device outlives the call.
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

/// That show what a device of `kind` costs in a minute or two.
[[nodiscard]] std::span<const SizeRange> calibrated_kinds(DeviceKind kind);

struct MemoryCalibrationOptions {
  unsigned sizes = 5; // of each kind
  unsigned jobs = 9;  // of each measurement; the shortest counts, which nobody else made longer
  friend bool operator==(const MemoryCalibrationOptions&, const MemoryCalibrationOptions&) = default;
};

/// A task under a policy.
struct MeasuredTask {
  WorkloadKind kind = WorkloadKind::vector_add;
  unsigned size = 0;
  MemoryPolicy policy = MemoryPolicy::device;
  bool prefetch = true; // under M
  policies::MemoryTraffic traffic;
  Duration execution{0}; // of the kernels
  Duration job{0};       // on the device; without a prefetch also what the CPU waits for pages that return
};

/// `policies`: those of a board. A task that the device has no room for is left out. Errors: the device's and the
/// kernels'; cancelled: `going_on` returned false.
[[nodiscard]] Result<std::vector<MeasuredTask>> measure_memory(
    hal::Device& device, std::span<const SizeRange> kinds, std::span<const MemoryPolicy> policies,
    const MemoryCalibrationOptions& options, const std::function<bool(std::size_t done, std::size_t of)>& going_on);

struct MemoryCalibration {
  std::string device;
  std::vector<MeasuredTask> tasks;
  policies::MemoryFit fit; // its costs say the error that is to be expected
};
/// `before`: what is known of the device: whether it shares its memory, and costs on which no measurement depends.
[[nodiscard]] Result<MemoryCalibration> fitted(const std::string& device, const MemoryCosts& before,
                                               std::vector<MeasuredTask> tasks);
/// What the model says of a job, execution included.
[[nodiscard]] Duration estimate(const MemoryCosts& costs, const MeasuredTask& task);

} // namespace rtexec::study
