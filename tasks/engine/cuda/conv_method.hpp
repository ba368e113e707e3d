// The ways to compute a convolution or matrix product, and their names in a profile: one line of text for each
// geometry, "GEOMETRY = METHOD", for example
//   conv 1x56x56x64/64 -> 56x56x64/64 kernel 3x3 stride 1x1 pad 1,1 dilation 1x1 groups 1 bias relu = own
//   conv_tf32_64x64 splits 2
// Pure: no device is needed.
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
  int algorithm = 0;         // cudnn: cudnnConvolutionFwdAlgo_t
  bool fused = false;        // cudnn: bias, residual and activation in the same call
  std::size_t workspace = 0; // cudnn, cublas: bytes
};

/// Returns the call's arguments with placeholder pointers, which have the alignment of the memory locations. They must
/// not be dereferenced.
[[nodiscard]] ConvArguments aligned_arguments(const ConvCall& call);

/// Returns a text key of everything that decides the call's speed and which methods may compute it. Calls with the same
/// key are measured once.
[[nodiscard]] std::string geometry_of(const ConvCall& call);
[[nodiscard]] std::string to_text(const ConvMethod& method);
/// Parses the text of to_text(). Returns bad_input if it names no method.
[[nodiscard]] Result<ConvMethod> parse_conv_method(std::string_view text);

/// Returns a method that works on any device, without measuring.
[[nodiscard]] ConvMethod default_conv_method(Precision precision, const ConvCall& call);
/// True if `method` can compute `call`. Checks storage and alignment for our own kernels, and shapes for matrix
/// products.
[[nodiscard]] bool computes(const ConvMethod& method, Precision precision, const ConvCall& call);

/// True if the convolution is a product of two matrices, which cuBLAS can compute.
[[nodiscard]] bool is_matrix_product(const ConvArguments& arguments);
/// True if cuDNN can compute the whole operation in one fused call. It needs a bias, and ReLU or no activation, applied
/// after the residual is added.
[[nodiscard]] bool can_fuse(const ConvCall& call);

} // namespace rtexec::tasks::cuda
