// The legacy convolution API of cuDNN (versions 7 to 9). The library is opened at run time. Types and values agree with
// its ABI; a test compares them with cudnn.h if that file is installed. Used during set-up only: all calls are captured
// into a CUDA graph, or run while tuning.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "hal/cuda/driver.hpp"
#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace rtexec::tasks::cuda {

struct CudnnFunctions {
  using Status = int;   // cudnnStatus_t
  using Handle = void*; // all of cuDNN's handles and descriptors
  std::size_t (*version)();
  const char* (*error_text)(Status);
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*set_stream)(Handle, hal::cuda::Stream);
  Status (*create_tensor)(Handle*);
  Status (*destroy_tensor)(Handle);
  Status (*set_tensor)(Handle, int type, int n, int c, int h, int w, int n_stride, int c_stride, int h_stride,
                       int w_stride);
  Status (*create_filter)(Handle*);
  Status (*destroy_filter)(Handle);
  Status (*set_filter)(Handle, int type, int format, int k, int c, int h, int w);
  Status (*create_convolution)(Handle*);
  Status (*destroy_convolution)(Handle);
  Status (*set_convolution)(Handle, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w,
                            int mode, int type);
  Status (*set_groups)(Handle, int groups);
  Status (*set_math)(Handle, int math);
  Status (*create_activation)(Handle*);
  Status (*destroy_activation)(Handle);
  Status (*set_activation)(Handle, int mode, int propagate_nan, double coefficient);
  Status (*workspace)(Handle, Handle x, Handle weights, Handle convolution, Handle y, int algorithm,
                      std::size_t* bytes);
  Status (*forward)(Handle, const void* alpha, Handle x_description, const void* x, Handle weights_description,
                    const void* weights, Handle convolution, int algorithm, void* workspace,
                    std::size_t workspace_bytes, const void* beta, Handle y_description, void* y);
  Status (*forward_fused)(Handle, const void* alpha, Handle x_description, const void* x, Handle weights_description,
                          const void* weights, Handle convolution, int algorithm, void* workspace,
                          std::size_t workspace_bytes, const void* alpha_residual, Handle residual_description,
                          const void* residual, Handle bias_description, const void* bias, Handle activation,
                          Handle y_description, void* y);

  // The enumeration values that this project uses.
  static constexpr int data_float = 0, data_half = 2;                       // cudnnDataType_t
  static constexpr int channels_last = 1;                                   // cudnnTensorFormat_t
  static constexpr int cross_correlation = 1;                               // cudnnConvolutionMode_t
  static constexpr int default_math = 0, tensor_math = 1, multiply_add = 3; // cudnnMathType_t
  static constexpr int relu = 1, identity = 5;                              // cudnnActivationMode_t
  static constexpr int algorithms = 8, implicit_precomputed_gemm = 1;       // cudnnConvolutionFwdAlgo_t
};

/// Returns the functions of this machine's cuDNN, which is opened at the first call. Returns unsupported if cuDNN is
/// not installed; the message names the package to install.
[[nodiscard]] const Result<CudnnFunctions>& cudnn_functions();

class Cudnn {
 public:
  /// Opens this machine's cuDNN, which will issue its work to `stream`. The device's context must be current. Returns
  /// unsupported if cuDNN is not installed; the message names the package to install.
  [[nodiscard]] static Result<std::unique_ptr<Cudnn>> open(hal::cuda::Stream stream);
  [[nodiscard]] static Result<std::unique_ptr<Cudnn>> open(const CudnnFunctions& functions, hal::cuda::Stream stream);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  [[nodiscard]] std::string version() const;

  /// Returns the size of the workspace that `algorithm` needs, in bytes. Returns unsupported if cuDNN cannot compute
  /// `conv` with that algorithm.
  [[nodiscard]] Result<std::size_t> workspace(const ConvArguments& conv, Precision precision, int algorithm) const;
  struct Scratch {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  /// Computes y = conv(x, weights). The pointers in `conv` must be set.
  [[nodiscard]] Result<> convolve(const ConvArguments& conv, Precision precision, int algorithm,
                                  Scratch workspace) const;
  /// Computes y = activation(conv(x, weights) + bias + residual). The activation is none or ReLU. `bias` has the
  /// storage of the tensors.
  [[nodiscard]] Result<> convolve_fused(const ConvArguments& conv, Precision precision, int algorithm,
                                        Scratch workspace, const void* bias) const;

 private:
  class Description;
  explicit Cudnn(const CudnnFunctions& functions) : call_(functions) {}
  [[nodiscard]] Result<> checked(CudnnFunctions::Status status, const char* what) const;

  CudnnFunctions call_;
  CudnnFunctions::Handle handle_ = nullptr;
};

} // namespace rtexec::tasks::cuda
