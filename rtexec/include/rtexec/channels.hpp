// Callbacks by which a program fills the inputs of a task's jobs and reads their outputs.
//
// on_input runs in the first CPU part of each job, on_output in the last CPU part. Both run on the task's core, on the
// task's real-time threads. Their time is part of the job's execution, and of the WCETs that `rtexec profile` measures.
// Callbacks must not allocate, take a lock, make a system call that can block, or throw (std::terminate is called). No
// callback is called concurrently with itself.
// The warm-up before the first release calls both callbacks once for job 0. The warm-up job is not recorded, and job 0
// runs again later. If on_input returns an error other than Errc::stale in the warm-up, the start fails. Results of the
// warm-up go only to on_output, not to other sinks.
//
// Ownership: tensors are views of the workload's staging buffers, valid during the call.
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
  /// The nominal release of the job.
  Instant release{};
  /// All inputs of the task. Inputs that have a source other than this callback are already filled.
  std::span<const Tensor> inputs;
  /// The instant on CLOCK_MONOTONIC at which a sensor sampled the input values. Set by the callback. The initial value
  /// is the oldest sampling instant of the other sources' values, or the present instant if there is none.
  Instant sampled{};
};

struct OutputJob {
  std::uint64_t job = 0;
  /// The nominal release of the job.
  Instant release{};
  /// The value of InputJob::sampled after on_input.
  Instant sampled{};
  std::span<const Tensor> outputs;
  /// The boxes of a detector, best box first. Edges are in pixels of the detector's input.
  std::span<const Box> detections;
};

/// The callbacks of a task. A callback that is empty is not called.
struct TaskCallbacks {
  /// Fills the inputs. Errc::stale means that there is no new value; `on_stale` of the task's first input from the
  /// program then decides what happens. If the task has no such input, the job is executed. Any other error fails the
  /// job.
  std::function<Status(InputJob&)> on_input = {};
  std::function<void(const OutputJob&)> on_output = {};
};

} // namespace rtexec
