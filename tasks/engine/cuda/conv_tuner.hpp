// Measures on a device which way to compute each convolution of a program is fastest.
//
// Each geometry is measured once, over memory of its own. A candidate must first give what the default method gives,
// within a bound of the precision, and write nothing else; then a graph of several repetitions is timed, and the
// fastest median wins. What a library does not do is passed over; one that cannot be used at all is noted, and the rest
// is measured without it.
#pragma once

#include <rtexec/result.hpp>
#include "hal/cuda/cuda_device.hpp"
#include "tasks/engine/cuda/conv_method.hpp"
#include "tasks/engine/cuda/executor.hpp"
#include "tasks/engine/cuda/program.hpp"
#include <rtexec/workload.hpp>

#include <span>
#include <string>
#include <vector>

namespace rtexec::tasks::cuda {

struct TunedConvolutions {
  struct Choice {
    std::string geometry;
    ConvMethod method;
  };
  std::vector<ConvMethod> methods; // by call of the program
  std::vector<Choice> choices;     // one for each geometry, in the order of the program
  std::vector<std::string> notes;  // which library was not measured, and why; one line each
};

/// `methods`: by call; those of calls that are no convolutions stay. cancelled: `progress` said so.
[[nodiscard]] Result<TunedConvolutions> tune_convolutions(hal::CudaDevice& device, const Program& program,
                                                          std::span<const ConvMethod> methods,
                                                          const Executor::Options& options,
                                                          const TuningProgress& progress);

/// Largest difference from the default method's result that a candidate may have, as a share of the largest result.
[[nodiscard]] double tolerance(Precision precision);

} // namespace rtexec::tasks::cuda
