// Tests cuDNN and cuBLAS. Our declarations are compared with NVIDIA's headers at compile time, if those are installed.
// Functions that record calls take the place of the libraries.
#include "tasks/engine/cuda/cublas.hpp"
#include "tasks/engine/cuda/cudnn.hpp"
#include "tasks/engine/cuda/shared_library.hpp"
#include "test/support/expected_result.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#if __has_include(<cudnn.h>) && __has_include(<cuda_runtime_api.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>
#define HAVE_CUDNN 1
#endif
#if __has_include(<cublas_v2.h>) && __has_include(<cuda_runtime_api.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <cublas_v2.h>
#pragma GCC diagnostic pop
#define HAVE_CUBLAS 1
#endif

namespace rtexec::tasks::cuda {
namespace {

/// True if both are passed in the same way: both pointers, or both numbers of one size and kind.
template <class Ours, class Theirs>
constexpr bool same_argument = sizeof(Ours) == sizeof(Theirs) &&
                               std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>&& std::is_floating_point_v<Ours> ==
                                   std::is_floating_point_v<Theirs>;
template <class Ours, class Theirs> constexpr bool same_function = false;
template <class Our, class... Ours, class Their, class... Theirs>
requires(sizeof...(Ours) == sizeof...(Theirs)) constexpr bool same_function<Our (*)(Ours...), Their (*)(Theirs...)> =
    same_argument<Our, Their> && (same_argument<Ours, Theirs> && ...);
static_assert(!same_function<int (*)(int), int (*)(float)> && !same_function<int (*)(int), int (*)(int, int)> &&
              !same_function<int (*)(int*), int (*)(int)>);

#ifdef HAVE_CUDNN
#define SAME(member, function) static_assert(same_function<decltype(CudnnFunctions::member), decltype(&function)>)
SAME(version, cudnnGetVersion);
SAME(error_text, cudnnGetErrorString);
SAME(create, cudnnCreate);
SAME(destroy, cudnnDestroy);
SAME(set_stream, cudnnSetStream);
SAME(create_tensor, cudnnCreateTensorDescriptor);
SAME(destroy_tensor, cudnnDestroyTensorDescriptor);
SAME(set_tensor, cudnnSetTensor4dDescriptorEx);
SAME(create_filter, cudnnCreateFilterDescriptor);
SAME(destroy_filter, cudnnDestroyFilterDescriptor);
SAME(set_filter, cudnnSetFilter4dDescriptor);
SAME(create_convolution, cudnnCreateConvolutionDescriptor);
SAME(destroy_convolution, cudnnDestroyConvolutionDescriptor);
SAME(set_convolution, cudnnSetConvolution2dDescriptor);
SAME(set_groups, cudnnSetConvolutionGroupCount);
SAME(set_math, cudnnSetConvolutionMathType);
SAME(create_activation, cudnnCreateActivationDescriptor);
SAME(destroy_activation, cudnnDestroyActivationDescriptor);
SAME(set_activation, cudnnSetActivationDescriptor);
SAME(workspace, cudnnGetConvolutionForwardWorkspaceSize);
SAME(forward, cudnnConvolutionForward);
SAME(forward_fused, cudnnConvolutionBiasActivationForward);
#undef SAME
static_assert(CudnnFunctions::data_float == CUDNN_DATA_FLOAT && CudnnFunctions::data_half == CUDNN_DATA_HALF);
static_assert(CudnnFunctions::channels_last == CUDNN_TENSOR_NHWC &&
              CudnnFunctions::cross_correlation == CUDNN_CROSS_CORRELATION);
static_assert(CudnnFunctions::default_math == CUDNN_DEFAULT_MATH &&
              CudnnFunctions::tensor_math == CUDNN_TENSOR_OP_MATH && CudnnFunctions::multiply_add == CUDNN_FMA_MATH);
static_assert(CudnnFunctions::relu == CUDNN_ACTIVATION_RELU && CudnnFunctions::identity == CUDNN_ACTIVATION_IDENTITY);
static_assert(CudnnFunctions::algorithms == CUDNN_CONVOLUTION_FWD_ALGO_COUNT &&
              CudnnFunctions::implicit_precomputed_gemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
#pragma GCC diagnostic pop
#endif

#ifdef HAVE_CUBLAS
#define SAME(member, function) \
  static_assert(same_function<decltype(CublasFunctions::member), std::add_pointer_t<decltype(function)>>)
SAME(create, cublasCreate_v2);
SAME(destroy, cublasDestroy_v2);
SAME(version, cublasGetVersion_v2);
SAME(set_stream, cublasSetStream_v2);
SAME(set_workspace, cublasSetWorkspace_v2);
SAME(set_math, cublasSetMathMode);
#undef SAME
/// cublasGemmEx is overloaded in C++. This is the overload that C has.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                  const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                                  cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
static_assert(same_function<decltype(CublasFunctions::multiply), decltype(static_cast<GemmEx>(cublasGemmEx))>);
static_assert(CublasFunctions::plain == CUBLAS_OP_N && CublasFunctions::transposed == CUBLAS_OP_T);
static_assert(CublasFunctions::data_float == CUDA_R_32F && CublasFunctions::data_half == CUDA_R_16F);
static_assert(CublasFunctions::default_math == CUBLAS_DEFAULT_MATH &&
              CublasFunctions::tensor_math == CUBLAS_TENSOR_OP_MATH);
static_assert(CublasFunctions::compute_float == CUBLAS_COMPUTE_32F &&
              CublasFunctions::compute_pedantic == CUBLAS_COMPUTE_32F_PEDANTIC &&
              CublasFunctions::compute_tf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(CublasFunctions::default_algorithm == CUBLAS_GEMM_DEFAULT);
#endif

// ---- libraries

TEST(CudaLibrary, OpensFirstAvailableLibrary) {
  constexpr std::array names{"libnone-of-ours.so.1", "libm.so.6"};
  const auto library = Library::open(names, "");
  ASSERT_TRUE(library) << test::problem(library);
  EXPECT_EQ(library->name(), "libm.so.6");
  double (*square_root)(double) = nullptr;
  ASSERT_TRUE(library->find(square_root, "sqrt"));
  EXPECT_EQ(square_root(4.0), 2.0);
  EXPECT_TRUE(test::fails(library->find(square_root, "no_such_function"), Errc::unsupported,
                          "libm.so.6 has no function no_such_function"));
}

TEST(CudaLibrary, NamesMissingLibrariesAndGivesAdvice) {
  constexpr std::array names{"libnone-of-ours.so.2", "libnone-of-ours.so.1"};
  const auto library = Library::open(names, "Install it.");
  EXPECT_TRUE(test::fails(library, Errc::unsupported, "libnone-of-ours.so.2, libnone-of-ours.so.1"));
  EXPECT_TRUE(test::fails(library, Errc::unsupported, "Install it."));
}

// ---- calls of cuDNN

struct Asked {
  std::size_t version = 91900;
  int objects = 0, failing = 0, status = 0, calls = 0; // the call numbered `failing` returns `status`
  std::vector<std::array<int, 9>> tensors;
  std::array<int, 6> filter{};
  std::array<int, 8> convolution{};
  int groups = 0, math = -1, activation = -1;
  const void* residual = nullptr;
  float residual_factor = -1;
};
Asked asked;

int answer() { return ++asked.calls == asked.failing ? asked.status : 0; }
int make(void** handle) {
  const int status = answer();
  if (status != 0) return status;
  ++asked.objects;
  *handle = &asked;
  return 0;
}
int destroy(void*) { return --asked.objects, 0; }

CudnnFunctions noting_cudnn() {
  CudnnFunctions f{};
  f.version = [] { return asked.version; };
  f.error_text = [](int) { return "SOME_STATUS"; };
  f.create = f.create_tensor = f.create_filter = f.create_convolution = f.create_activation = make;
  f.destroy = f.destroy_tensor = f.destroy_filter = f.destroy_convolution = f.destroy_activation = destroy;
  f.set_stream = [](void*, hal::cuda::Stream) { return answer(); };
  f.set_tensor = [](void*, int type, int n, int c, int h, int w, int sn, int sc, int sh, int sw) {
    return asked.tensors.push_back({type, n, c, h, w, sn, sc, sh, sw}), answer();
  };
  f.set_filter = [](void*, int type, int format, int k, int c, int h, int w) {
    return asked.filter = {type, format, k, c, h, w}, answer();
  };
  f.set_convolution = [](void*, int ph, int pw, int sh, int sw, int dh, int dw, int mode, int type) {
    return asked.convolution = {ph, pw, sh, sw, dh, dw, mode, type}, answer();
  };
  f.set_groups = [](void*, int groups) { return asked.groups = groups, answer(); };
  f.set_math = [](void*, int math) { return asked.math = math, answer(); };
  f.set_activation = [](void*, int mode, int, double) { return asked.activation = mode, answer(); };
  f.workspace = [](void*, void*, void*, void*, void*, int algorithm, std::size_t* bytes) {
    return *bytes = 100U * static_cast<unsigned>(algorithm), answer();
  };
  f.forward = [](void*, const void*, void*, const void*, void*, const void*, void*, int, void*, std::size_t,
                 const void*, void*, void*) { return answer(); };
  f.forward_fused = [](void*, const void*, void*, const void*, void*, const void*, void*, int, void*, std::size_t,
                       const void* factor, void*, const void* residual, void*, const void*, void*, void*, void*) {
    asked.residual = residual;
    asked.residual_factor = *static_cast<const float*>(factor);
    return answer();
  };
  return f;
}

class CudaCudnn : public testing::Test {
 protected:
  void SetUp() override { asked = {}; }
  void TearDown() override { EXPECT_EQ(asked.objects, 0) << "all that was made is given back"; }

  static ConvArguments grouped() {
    ConvArguments conv;
    conv.batch = 2;
    conv.height = 5;
    conv.width = 7;
    conv.channels = 4;
    conv.groups = 3;
    conv.x_stride = 16;
    conv.out_channels = 8;
    conv.out_height = 3;
    conv.out_width = 4;
    conv.y_stride = 32;
    conv.kernel_h = conv.kernel_w = 3;
    conv.stride_h = conv.stride_w = 2;
    conv.pad_top = conv.pad_left = 1;
    return conv;
  }
};

TEST_F(CudaCudnn, DescribesSlicesByTheirPixelStride) {
  const auto cudnn = Cudnn::open(noting_cudnn(), nullptr);
  ASSERT_TRUE(cudnn) << test::problem(cudnn);
  EXPECT_EQ((*cudnn)->version(), "9.19.0");
  const auto bytes = (*cudnn)->workspace(grouped(), Precision::fp16, 6);
  ASSERT_TRUE(bytes) << test::problem(bytes);
  EXPECT_EQ(*bytes, 600U);
  ASSERT_EQ(asked.tensors.size(), 2U);
  EXPECT_EQ(asked.tensors[0], (std::array{2, 2, 12, 5, 7, 5 * 7 * 16, 1, 7 * 16, 16}));
  EXPECT_EQ(asked.tensors[1], (std::array{2, 2, 24, 3, 4, 3 * 4 * 32, 1, 4 * 32, 32}));
  EXPECT_EQ(asked.filter, (std::array{2, 1, 24, 4, 3, 3}));
  EXPECT_EQ(asked.convolution, (std::array{1, 1, 2, 2, 1, 1, 1, 0}));
  EXPECT_EQ(asked.groups, 3);
}

TEST_F(CudaCudnn, ChoosesMathTypeByPrecisionAndVersion) {
  const auto math = [](Precision precision, std::size_t version) {
    asked.version = version;
    const auto cudnn = Cudnn::open(noting_cudnn(), nullptr);
    EXPECT_TRUE((*cudnn)->convolve(grouped(), precision, 1, {}));
    return asked.math;
  };
  EXPECT_EQ(math(Precision::fp32, 91900), CudnnFunctions::multiply_add) << "else it would round to tf32";
  EXPECT_EQ(math(Precision::fp32, 7605), CudnnFunctions::default_math) << "version 7 knows no other for floats";
  EXPECT_EQ(math(Precision::tf32, 8906), CudnnFunctions::default_math);
  EXPECT_EQ(math(Precision::fp16, 8906), CudnnFunctions::tensor_math);
}

TEST_F(CudaCudnn, FusesReluAndResidual) {
  const auto cudnn = Cudnn::open(noting_cudnn(), nullptr);
  auto conv = grouped();
  float y = 0, residual = 0;
  conv.y = &y;
  ASSERT_TRUE((*cudnn)->convolve_fused(conv, Precision::fp32, 1, {}, &y));
  EXPECT_EQ(asked.activation, CudnnFunctions::identity);
  EXPECT_EQ(asked.residual_factor, 0.0F);
  EXPECT_EQ(asked.residual, &y) << "it wants an address all the same";
  conv.activation.kind = ActivationArguments::relu;
  conv.residual = &residual;
  conv.residual_stride = 64;
  asked.tensors.clear();
  ASSERT_TRUE((*cudnn)->convolve_fused(conv, Precision::fp32, 1, {}, &y));
  EXPECT_EQ(asked.activation, CudnnFunctions::relu);
  EXPECT_EQ(asked.residual_factor, 1.0F);
  EXPECT_EQ(asked.residual, &residual);
  EXPECT_EQ(asked.tensors.back()[8], 64);
}

TEST_F(CudaCudnn, ReportsEachFailingCallWithoutLeaks) {
  int failures = 0;
  for (int nth = 1; nth < 40; ++nth) {
    asked = {};
    asked.failing = nth;
    asked.status = 4000; // CUDNN_STATUS_INTERNAL_ERROR
    {
      const auto cudnn = Cudnn::open(noting_cudnn(), nullptr);
      const auto done = cudnn ? (*cudnn)->convolve_fused(grouped(), Precision::fp32, 1, {}, nullptr)
                              : Result<>(Unexpected(cudnn.error()));
      if (asked.calls < nth) break; // no more calls
      EXPECT_TRUE(test::fails(done, Errc::device_fault, "SOME_STATUS (4000)")) << "call " << nth;
      ++failures;
    }
    EXPECT_EQ(asked.objects, 0) << "call " << nth;
  }
  EXPECT_GT(failures, 15);
}

TEST_F(CudaCudnn, MapsLibraryStatusToUnsupportedOrDeviceFault) {
  for (const auto& [version, status, code] : {std::tuple<std::size_t, int, Errc>{91900, 3000, Errc::unsupported},
                                              {91900, 3011, Errc::unsupported},
                                              {91900, 5000, Errc::device_fault},
                                              {8906, 9, Errc::unsupported},
                                              {8906, 8, Errc::device_fault},
                                              {7605, 3, Errc::unsupported}}) {
    asked = {};
    asked.version = version;
    const auto cudnn = Cudnn::open(noting_cudnn(), nullptr);
    asked.failing = asked.calls + 1;
    asked.status = status;
    EXPECT_TRUE(test::fails((*cudnn)->convolve(grouped(), Precision::fp32, 1, {}), code, "cuDNN"))
        << version << " " << status;
  }
}

// ---- calls of cuBLAS

struct MatMul {
  int version = 130000, math = -1;
  std::array<int, 5> shape{};
  std::array<int, 3> leading{};
  int type = -1, compute = -1, failing_status = 0;
  std::size_t workspace = 0;
};
MatMul product;

CublasFunctions noting_cublas() {
  CublasFunctions f{};
  f.create = [](void** handle) { return *handle = &product, 0; };
  f.destroy = [](void*) { return 0; };
  f.version = [](void*, int* version) { return *version = product.version, 0; };
  f.set_stream = [](void*, hal::cuda::Stream) { return 0; };
  f.set_workspace = [](void*, void*, std::size_t bytes) { return product.workspace = bytes, 0; };
  f.set_math = [](void*, int math) { return product.math = math, 0; };
  f.multiply = [](void*, int ta, int tb, int m, int n, int k, const void*, const void*, int type, int lda, const void*,
                  int, int ldb, const void*, void*, int, int ldc, int compute, int) {
    product.shape = {ta, tb, m, n, k};
    product.leading = {lda, ldb, ldc};
    product.type = type;
    product.compute = compute;
    return product.failing_status;
  };
  return f;
}

TEST(CudaCublas, MultipliesPixelsByWeights) {
  product = {};
  const auto cublas = Cublas::open(noting_cublas(), nullptr);
  ASSERT_TRUE(cublas) << test::problem(cublas);
  ConvArguments conv;
  conv.batch = 2;
  conv.out_height = conv.height = 3;
  conv.out_width = conv.width = 5;
  conv.channels = 16;
  conv.x_stride = 24;
  conv.out_channels = 40;
  conv.y_stride = 48;
  ASSERT_TRUE((*cublas)->multiply(conv, Precision::fp32, nullptr, 4096));
  EXPECT_EQ(product.shape, (std::array{1, 0, 40, 30, 16}));
  EXPECT_EQ(product.leading, (std::array{16, 24, 48}));
  EXPECT_EQ(product.workspace, 4096U);
  EXPECT_EQ(product.compute, CublasFunctions::compute_pedantic) << "else it would round to tf32";
  ASSERT_TRUE((*cublas)->multiply(conv, Precision::tf32, nullptr, 0));
  EXPECT_EQ(product.compute, CublasFunctions::compute_tf32);
  ASSERT_TRUE((*cublas)->multiply(conv, Precision::fp16, nullptr, 0));
  EXPECT_EQ(product.compute, CublasFunctions::compute_float);
  EXPECT_EQ(product.type, CublasFunctions::data_half);
  product.failing_status = 13; // CUBLAS_STATUS_EXECUTION_FAILED
  EXPECT_TRUE(test::fails((*cublas)->multiply(conv, Precision::fp32, nullptr, 0), Errc::device_fault, "status 13"));
}

TEST(CudaCublas, UsesDataTypeAsComputeTypeInVersion10) {
  product = {};
  product.version = 10202;
  auto functions = noting_cublas();
  functions.set_workspace = nullptr;
  const auto cublas = Cublas::open(functions, nullptr);
  ASSERT_TRUE((*cublas)->multiply({}, Precision::fp16, nullptr, 0));
  EXPECT_EQ(product.compute, CublasFunctions::data_float);
  EXPECT_EQ(product.math, CublasFunctions::tensor_math);
}

} // namespace
} // namespace rtexec::tasks::cuda
