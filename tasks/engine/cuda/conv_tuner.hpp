// Measures on a device which method computes each convolution of a program fastest.
//
// Each geometry is measured once, in memory of the tuner's own. A candidate must first reproduce the result of the
// default method within a bound that depends on the precision, and must write nothing else. Then a graph of several
// repetitions is timed, and the fastest median wins. The tuner skips convolutions that a library does not support. If a
// library cannot be used at all, the tuner notes this and measures the rest without that library.
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
  std::vector<Choice> choices;     // one for each geometry, sorted by `geometry`
  std::vector<std::string> notes;  // which library was not measured, and why; one line each
};

/// Measures the convolutions of `program`. `methods` has one entry for each call; entries of other calls are kept.
/// Returns cancelled if `progress` returns false.
[[nodiscard]] Result<TunedConvolutions> tune_convolutions(hal::CudaDevice& device, const Program& program,
                                                          std::span<const ConvMethod> methods,
                                                          const Executor::Options& options,
                                                          const TuningProgress& progress);

/// Returns the largest difference from the default method's result that a candidate may have, as a share of the largest
/// result.
[[nodiscard]] double tolerance(Precision precision);

} // namespace rtexec::tasks::cuda
