// The methods to compute a convolution or matrix product, and their names in a profile. A profile has one line of text
// for each geometry, "GEOMETRY = METHOD", for example
//   conv 1x56x56x64/64 -> 56x56x64/64 kernel 3x3 stride 1x1 pad 1,1 dilation 1x1 groups 1 bias relu = own
//   conv_tf32_64x64 splits 2
// Pure functions: no device is needed.
#pragma once

#include <rtexec/result.hpp>
#include "tasks/engine/cuda/conv_plan.hpp"
#include "tasks/engine/cuda/program.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace rtexec::tasks::cuda {

struct ConvMethod {
  enum class Kind {
    simple, // the kernels of simple_kernels.hpp
    own,    // the kernels of conv_plan.hpp
    cudnn,
    cublas,
  };
  Kind kind = Kind::simple;
  ConvChoice own;
  int algorithm = 0;         // for cudnn: cudnnConvolutionFwdAlgo_t
  bool fused = false;        // for cudnn: bias, residual and activation are in the same call
  std::size_t workspace = 0; // for cudnn and cublas, in bytes
};

/// Returns the arguments of `call` with placeholder pointers, which have the alignment of the call's memory locations.
/// These pointers must not be dereferenced.
[[nodiscard]] ConvArguments aligned_arguments(const ConvCall& call);

/// Returns a text that describes everything on which the call's speed and the applicable methods depend. Calls with the
/// same text share one measurement.
[[nodiscard]] std::string geometry_of(const ConvCall& call);
[[nodiscard]] std::string to_text(const ConvMethod& method);
/// Parses the result of to_text(). Returns bad_input if the text names no method.
[[nodiscard]] Result<ConvMethod> parse_conv_method(std::string_view text);

/// Returns a method for `call` that works on any device, without measuring.
[[nodiscard]] ConvMethod default_conv_method(Precision precision, const ConvCall& call);
/// True if `method` can compute `call`. For this project's own kernels, checks the storage, the precision, the
/// alignment and the number of splits. For a library, checks whether it supports the operation.
[[nodiscard]] bool computes(const ConvMethod& method, Precision precision, const ConvCall& call);

/// True if the convolution is a product of two matrices, which cuBLAS can compute.
[[nodiscard]] bool is_matrix_product(const ConvArguments& arguments);
/// True if cuDNN can compute the whole operation in one fused call. The operation must have a bias, and either ReLU or
/// no activation. It must apply the activation after it has added the residual.
[[nodiscard]] bool can_fuse(const ConvCall& call);

} // namespace rtexec::tasks::cuda
