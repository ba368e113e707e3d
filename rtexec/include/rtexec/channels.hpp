// Callbacks by which a program fills the inputs of a task's jobs and reads their outputs.
//
// on_input runs in the first CPU part of each job, on_output in the last one, both on the task's core, on its real-time
// threads. Their time is part of the job's execution, and of the WCETs that `rtexec profile` measures. Like those parts
// they must not allocate, take a lock, make a system call that can block, or throw (std::terminate is called). Neither
// is called concurrently with itself. The warm-up before the first release calls both once for job 0, which is not
// recorded and runs again later. In the warm-up, an error of on_input other than Errc::stale makes the start fail.
// Other sinks than on_output get no results of the warm-up.
//
// Ownership: tensors are views of the workload's staging buffers, valid for the call.
#pragma once

#include <rtexec/box.hpp>
#include <rtexec/result.hpp>
#include <rtexec/tensor.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <functional>
#include <span>

namespace rtexec {

struct InputJob {
  std::uint64_t job = 0;
  /// The nominal release.
  Instant release{};
  /// All inputs of the task. Inputs that have another source are already filled.
  std::span<const Tensor> inputs;
  /// The instant on CLOCK_MONOTONIC at which the input values were sampled by a sensor, set by the callback. Initially
  /// the oldest sampling instant of the other sources' values, or else now.
  Instant sampled{};
};

struct OutputJob {
  std::uint64_t job = 0;
  /// The nominal release of the job.
  Instant release{};
  /// The value of InputJob::sampled after on_input.
  Instant sampled{};
  std::span<const Tensor> outputs;
  /// A detector's boxes, best first; edges in pixels of its input.
  std::span<const Box> detections;
};

/// The callbacks of a task. Empty functions are not called.
struct TaskCallbacks {
  /// Fills the inputs. If it returns Errc::stale, there is no new value, and `on_stale` of the task's first input from
  /// the program decides what happens. Without such an input the job is executed. Any other error fails the job.
  std::function<Status(InputJob&)> on_input = {};
  std::function<void(const OutputJob&)> on_output = {};
};

} // namespace rtexec
