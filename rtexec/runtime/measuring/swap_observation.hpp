// Observes the executive while it swaps: tasks that do nothing else take turns, and each transfer and each job's wait
// for its chunks is timed. For whoever measures (calibration, benchmarks).
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
  std::uint32_t chunks = 1;              // that each job loads, in the place of as many of another task
  MemoryClass kind = MemoryClass::state; // of what is swapped
  unsigned jobs = 30;                    // that swap all of their chunks, about
  Duration turn{0};                      // from one job to the next: longer than a job takes
  SwapOptions swap;
  bool keep_awake = false;             // the run's cores
  std::function<bool()> going_on = {}; // asked now and then while it runs; false stops
};

/// How long the jobs take, without what comes before the first one and after the last.
[[nodiscard]] Duration length(const SwapExperiment& experiment);

/// Of one job that exchanged all of its chunks.
struct ObservedSwap {
  Duration in{0}; // from the beginning of its first copy in to the end of the last one
  Duration out{0};
  Duration out_busy{0}; // what the copy-out engine worked for it
  Duration exchange{0}; // from the beginning of its first copy, in or out, to the end of its last one in
  Duration whole{0};    // from its request to its execution
};

struct ObservedSwaps {
  std::string device;
  std::string store;
  std::vector<ObservedSwap> jobs; // none, where turns were too short for so busy a machine
};

/// Takes twice the chunks of a job from the device, and three times from the store. Errors: as those of Executive;
/// cancelled where it was not to go on.
[[nodiscard]] Result<ObservedSwaps> observe_swaps(const SwapExperiment& experiment);

} // namespace rtexec::executive
