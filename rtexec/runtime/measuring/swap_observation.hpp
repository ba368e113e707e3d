// Observes the executive while it swaps. Jobs of several tasks alternate. These tasks only swap, and compute nothing.
// Each transfer is timed, and the wait of each job for its chunks is timed too. Used for calibration and benchmarks.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rtexec::executive {

struct SwapExperiment {
  std::string board; // the board's name or path
  Bytes chunk;
  /// The number of chunks that each job loads. For these chunks, equally many chunks of another task are evicted.
  std::uint32_t chunks = 1;
  MemoryClass kind = MemoryClass::state; // class of the swapped memory
  unsigned jobs = 30;                    // approximate number of jobs that swap all of their chunks
  /// The time from the beginning of one job to the beginning of the next job. It must be longer than a job.
  Duration turn{0};
  SwapOptions swap;
  bool keep_awake = false;             // keeps the run's cores awake
  std::function<bool()> going_on = {}; // called repeatedly during the run; the run ends when it returns false
};

/// Returns the duration of the experiment's run, without set-up and shutdown.
[[nodiscard]] Duration length(const SwapExperiment& experiment);

/// The times of a job that loaded all of its chunks, while all of another task's chunks were evicted.
struct ObservedSwap {
  Duration in{0}; // from the beginning of the job's first copy in to the end of its last copy in
  Duration out{0};
  Duration out_busy{0}; // the time for which the copy-out engine worked for this job
  Duration exchange{0}; // from the job's first copy, in either direction, to the end of its last copy in
  Duration whole{0};    // from the job's request to its execution
};

struct ObservedSwaps {
  std::string device;
  std::string store;
  std::vector<ObservedSwap> jobs; // empty if the machine was too busy for this `turn`
};

/// Runs the experiment. Requires room for the chunks of two jobs on the device, and for the chunks of three jobs in the
/// store. Returns the errors of Executive, and cancelled if `going_on` returned false.
[[nodiscard]] Result<ObservedSwaps> observe_swaps(const SwapExperiment& experiment);

} // namespace rtexec::executive
