// The matrix product of cuBLAS (versions 10 to 13). The library is opened at run time. Types and values agree with its
// ABI; a test compares them with cublas_api.h if that file is installed. Used during set-up only: all calls are
// captured into a CUDA graph, or run while tuning.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include "hal/cuda/driver.hpp"
#include "tasks/engine/cuda/kernels/network_arguments.hpp"

#include <cstddef>
#include <memory>

namespace rtexec::tasks::cuda {

struct CublasFunctions {
  using Status = int; // cublasStatus_t
  using Handle = void*;
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*version)(Handle, int* version);
  Status (*set_stream)(Handle, hal::cuda::Stream);
  Status (*set_workspace)(Handle, void* workspace, std::size_t bytes); // null before version 11
  Status (*set_math)(Handle, int mode);
  Status (*multiply)(Handle, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha, const void* a,
                     int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
                     int ldc, int compute, int algorithm);

  // The enumeration values that this project uses.
  static constexpr int plain = 0, transposed = 1;         // cublasOperation_t
  static constexpr int data_float = 0, data_half = 2;     // cudaDataType
  static constexpr int default_math = 0, tensor_math = 1; // cublasMath_t
  /// Values of cublasComputeType_t. Before version 11, the corresponding parameter is a cudaDataType.
  static constexpr int compute_float = 68, compute_pedantic = 69, compute_tf32 = 77;
  static constexpr int default_algorithm = -1; // cublasGemmAlgo_t
};

class Cublas {
 public:
  /// The size of the workspace with which the tuner measures and executes each matrix product of cuBLAS. NVIDIA
  /// recommends a larger workspace for its largest GPUs, but the products of a single image are not faster with a
  /// larger workspace.
  static constexpr std::size_t workspace_bytes = std::size_t{8} << 20;

  /// Opens this machine's cuBLAS, which will issue its work to `stream`. The device's context must be current. Returns
  /// unsupported if cuBLAS is not installed; the message names the package to install.
  [[nodiscard]] static Result<std::unique_ptr<Cublas>> open(hal::cuda::Stream stream);
  [[nodiscard]] static Result<std::unique_ptr<Cublas>> open(const CublasFunctions& functions, hal::cuda::Stream stream);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// Computes y = x * weights for a convolution that is a matrix product (conv_method.hpp). The pointers of `product`
  /// must be set.
  [[nodiscard]] Result<> multiply(const ConvArguments& product, Precision precision, void* workspace,
                                  std::size_t bytes) const;

 private:
  explicit Cublas(const CublasFunctions& functions) : call_(functions) {}
  [[nodiscard]] Result<> checked(CublasFunctions::Status status, const char* what) const;

  CublasFunctions call_;
  CublasFunctions::Handle handle_ = nullptr;
  int version_ = 0;
};

} // namespace rtexec::tasks::cuda
