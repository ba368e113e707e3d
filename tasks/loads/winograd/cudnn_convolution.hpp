// One 3x3 convolution in cuDNN, with channels in planes (NCHW). The engine's own networks use interleaved channels
// (NHWC, tasks/engine/cuda/cudnn.hpp), for which cuDNN has no Winograd algorithm. The class is used during set-up only,
// because its computation is captured into a CUDA graph.
#pragma once

#include <rtexec/result.hpp>
#include "hal/cuda/driver.hpp"
#include "tasks/engine/cuda/cudnn.hpp"

#include <cstddef>
#include <memory>

namespace rtexec::tasks {

class CudnnConvolution {
 public:
  /// Makes a convolution in `stream`. The input and the output of the convolution have the shape
  /// 1x`channels`x`side`x`side`. The device's context must be current. If `functions` is null, uses the cuDNN of this
  /// machine. Returns unsupported if there is no cuDNN.
  [[nodiscard]] static Result<std::unique_ptr<CudnnConvolution>> open(const cuda::CudnnFunctions* functions,
                                                                      int channels, int side, hal::cuda::Stream stream);
  ~CudnnConvolution();
  CudnnConvolution(const CudnnConvolution&) = delete;
  CudnnConvolution& operator=(const CudnnConvolution&) = delete;

  /// Returns the size in bytes of the workspace that `algorithm` (cudnnConvolutionFwdAlgo_t) needs. Returns unsupported
  /// if cuDNN cannot use the algorithm for this convolution.
  [[nodiscard]] Result<std::size_t> workspace(int algorithm) const;
  /// Computes y = conv(x, filters). The filters have the layout [out, in, 3, 3].
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
