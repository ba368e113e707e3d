// One 3x3 convolution in cuDNN, with channels in planes (NCHW). cuDNN has no Winograd for interleaved channels (NHWC),
// which the engine's own networks use (tasks/engine/cuda/cudnn.hpp). Set-up only: its computation is captured into a
// graph.
#pragma once

#include <rtexec/result.hpp>
#include "hal/cuda/driver.hpp"
#include "tasks/engine/cuda/cudnn.hpp"

#include <cstddef>
#include <memory>

namespace rtexec::tasks {

class CudnnConvolution {
 public:
  /// Makes a convolution from 1x`channels`x`side`x`side` to the same shape, in `stream`, with the context current.
  /// `functions`: null for the cuDNN of this machine. Returns unsupported if there is no cuDNN.
  [[nodiscard]] static Result<std::unique_ptr<CudnnConvolution>> open(const cuda::CudnnFunctions* functions,
                                                                      int channels, int side, hal::cuda::Stream stream);
  ~CudnnConvolution();
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  /// Returns the bytes that `algorithm` (cudnnConvolutionFwdAlgo_t) needs. Returns unsupported if cuDNN cannot use it
  /// here.
  [[nodiscard]] Result<std::size_t> workspace(int algorithm) const;
  /// Computes y = conv(x, filters), with filters as [out, in, 3, 3].
  [[nodiscard]] Result<> compute(int algorithm, const std::byte* x, const std::byte* filters, std::byte* y,
                                 std::byte* workspace, std::size_t workspace_bytes) const;

 private:
  using Handle = cuda::CudnnFunctions::Handle;
  explicit CudnnConvolution(const cuda::CudnnFunctions& functions) : call_(functions) {}
  [[nodiscard]] Result<> describe(int channels, int side, hal::cuda::Stream stream);
  [[nodiscard]] Result<> checked(int status, const char* what) const;

  cuda::CudnnFunctions call_;
  Handle handle_ = nullptr, tensor_ = nullptr, filter_ = nullptr, convolution_ = nullptr; // x and y share `tensor_`
};

} // namespace rtexec::tasks
