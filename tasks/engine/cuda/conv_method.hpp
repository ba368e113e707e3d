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
    own,    // those of conv_plan.hpp
    cudnn,
    cublas,
  };
  Kind kind = Kind::simple;
  ConvChoice own;
  int algorithm = 0;         // cudnn: cudnnConvolutionFwdAlgo_t
  bool fused = false;        // cudnn: bias, residual and activation in the same call
  std::size_t workspace = 0; // cudnn, cublas: bytes
};

/// The call's arguments with pointers that have the alignment of its places.
[[nodiscard]] ConvArguments aligned_arguments(const ConvCall& call);

/// What decides how fast a call is, and which methods may compute it, so that calls with one geometry are measured
/// once.
[[nodiscard]] std::string geometry_of(const ConvCall& call);
[[nodiscard]] std::string to_text(const ConvMethod& method);
/// bad_input.
[[nodiscard]] Result<ConvMethod> parse_conv_method(std::string_view text);

/// Without measuring, on any device.
[[nodiscard]] ConvMethod default_conv_method(Precision precision, const ConvCall& call);
/// Whether `method` may compute `call`: storage and alignment of own kernels, shapes of matrix products.
[[nodiscard]] bool computes(const ConvMethod& method, Precision precision, const ConvCall& call);

/// A product of two matrices: what cuBLAS computes.
[[nodiscard]] bool is_matrix_product(const ConvArguments& arguments);
/// What cuDNN adds to a convolution in the same call: nothing but ReLU or nothing at all after the sum, and a bias.
[[nodiscard]] bool can_fuse(const ConvCall& call);

} // namespace rtexec::tasks::cuda
