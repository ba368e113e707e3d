// Measures on a device which method computes each convolution of a program (program.hpp) fastest.
//
// Each geometry (geometry_of()) is measured once, in the tuner's own memory. The result of a candidate must agree with
// the result of the default method within a tolerance that depends on the precision. The candidate must not write
// outside of its result. Then a graph of several repetitions is timed, and the method with the smallest median time is
// chosen. If a library does not support a convolution, its methods are skipped for that convolution. If a library
// cannot be used at all, the tuner adds a note and measures the other methods.
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
  std::vector<ConvMethod> methods; // chosen method for each call of the program
  std::vector<Choice> choices;     // one for each geometry, sorted by `geometry`
  std::vector<std::string> notes;  // for each library that was not measured, one line with the reason
};

/// Measures the convolutions of `program`. `methods` has one entry for each call; the entries of other calls than
/// convolutions are returned unchanged. Returns cancelled if `progress` returns false.
[[nodiscard]] Result<TunedConvolutions> tune_convolutions(hal::CudaDevice& device, const Program& program,
                                                          std::span<const ConvMethod> methods,
                                                          const Executor::Options& options,
                                                          const TuningProgress& progress);

/// Returns the maximum difference between the results of a candidate and of the default method, as a fraction of the
/// largest result.
[[nodiscard]] double tolerance(Precision precision);

} // namespace rtexec::tasks::cuda
