// Observes the executive while it swaps. Tasks that only swap take turns; each transfer and each job's wait for its
// chunks is timed. Used for calibration and benchmarks.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rtexec::executive {

struct SwapExperiment {
  std::string board; // by name or path
  Bytes chunk;
  std::uint32_t chunks = 1;              // chunks that each job loads; as many of another task are evicted
  MemoryClass kind = MemoryClass::state; // class of the swapped memory
  unsigned jobs = 30;                    // approximate number of jobs that swap all of their chunks
  Duration turn{0};                      // from one job to the next; must be longer than a job
  SwapOptions swap;
  bool keep_awake = false;             // keeps the run's cores awake
  std::function<bool()> going_on = {}; // called now and then while it runs; false stops
};

/// Returns the length of the run, without set-up and end.
[[nodiscard]] Duration length(const SwapExperiment& experiment);

/// The times of a job that exchanged all of its chunks.
struct ObservedSwap {
  Duration in{0}; // from the beginning of its first copy in to the end of the last one
  Duration out{0};
  Duration out_busy{0}; // the time that the copy-out engine worked for it
  Duration exchange{0}; // from the beginning of its first copy, in or out, to the end of its last one in
  Duration whole{0};    // from the job's request to its execution
};

struct ObservedSwaps {
  std::string device;
  std::string store;
  std::vector<ObservedSwap> jobs; // empty if turns were too short for so busy a machine
};

/// Runs the experiment. Uses the memory of two jobs' chunks on the device, and of three in the store. Returns the
/// errors of Executive, and cancelled if `going_on` returned false.
[[nodiscard]] Result<ObservedSwaps> observe_swaps(const SwapExperiment& experiment);

} // namespace rtexec::executive
