// What a program gives to the jobs of a task, and what it takes from them.
//
// on_input runs in the first CPU part of each job, on_output in the last one, both on the task's core, on its real-time
// threads: what they take is part of the job's execution, and of the WCETs that `rtexec profile` measures. Like those
// parts they must not allocate, take a lock, make a system call that can block, or throw (std::terminate is called).
// Neither is called twice at once. In the warm-up before the first release both are called once for job 0, which is
// then not recorded and runs again; on_input's error counts there only if it is not Errc::stale. Other sinks than
// on_output get nothing of that job.
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
  /// All inputs of the task; those that have another source are filled already.
  std::span<const Tensor> inputs;
  /// When what is put in was so, on CLOCK_MONOTONIC: the instant at which a sensor looked. As it is given, the instant
  /// at which the oldest of the other sources' values was so, or else now.
  Instant sampled{};
};

struct OutputJob {
  std::uint64_t job = 0;
  /// The nominal release.
  Instant release{};
  /// As InputJob::sampled was left.
  Instant sampled{};
  std::span<const Tensor> outputs;
  /// Of a detector, best first; edges in pixels of its input.
  std::span<const Box> detections;
};

/// Empty functions are not called.
struct TaskCallbacks {
  /// Errc::stale: nothing is there that is new, and `on_stale` of the task's first input of the program answers (where
  /// there is none, the job is executed all the same). Another error fails the job.
  std::function<Status(InputJob&)> on_input = {};
  std::function<void(const OutputJob&)> on_output = {};
};

} // namespace rtexec
