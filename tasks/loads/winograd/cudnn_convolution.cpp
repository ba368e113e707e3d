#include "tasks/loads/winograd/cudnn_convolution.hpp"

#include <string>

namespace rtexec::tasks {
namespace {

using cuda::CudnnFunctions;

constexpr int channels_first = 0; // CUDNN_TENSOR_NCHW
constexpr int side_of_filter = 3;
/// First version of cuDNN in which a caller can choose between Tensor Cores and CUDA cores (multiply-add units) for
/// floats. Earlier versions always use CUDA cores for floats.
constexpr std::size_t first_with_choice = 8000;

} // namespace

Result<std::unique_ptr<CudnnConvolution>> CudnnConvolution::open(const CudnnFunctions* functions, int channels,
                                                                 int side, hal::cuda::Stream stream) {
  if (!functions) {
    const auto& found = cuda::cudnn_functions();
    if (!found) return Unexpected(found.error());
    functions = &*found;
  }
  std::unique_ptr<CudnnConvolution> convolution(new CudnnConvolution(*functions));
  if (const auto described = convolution->describe(channels, side, stream); !described)
    return Unexpected(described.error());
  return convolution;
}

Result<> CudnnConvolution::describe(int channels, int side, hal::cuda::Stream stream) {
  const int plane = side * side,
            math = call_.version() >= first_with_choice ? CudnnFunctions::multiply_add : CudnnFunctions::default_math;
  int status = call_.create(&handle_);
  const auto then = [&](auto step) {
    if (status == 0) status = step();
  };
  then([&] { return call_.set_stream(handle_, stream); });
  then([&] { return call_.create_tensor(&tensor_); });
  then([&] {
    return call_.set_tensor(tensor_, CudnnFunctions::data_float, 1, channels, side, side, channels * plane, plane, side,
                            1);
  });
  then([&] { return call_.create_filter(&filter_); });
  then([&] {
    return call_.set_filter(filter_, CudnnFunctions::data_float, channels_first, channels, channels, side_of_filter,
                            side_of_filter);
  });
  then([&] { return call_.create_convolution(&convolution_); });
  then([&] {
    return call_.set_convolution(convolution_, 1, 1, 1, 1, 1, 1, CudnnFunctions::cross_correlation,
                                 CudnnFunctions::data_float);
  });
  then([&] { return call_.set_math(convolution_, math); });
  return checked(status, "describing a convolution");
}

CudnnConvolution::~CudnnConvolution() {
  if (convolution_) (void)call_.destroy_convolution(convolution_);
  if (filter_) (void)call_.destroy_filter(filter_);
  if (tensor_) (void)call_.destroy_tensor(tensor_);
  if (handle_) (void)call_.destroy(handle_);
}

Result<> CudnnConvolution::checked(int status, const char* what) const {
  if (status == 0) return {};
  return fail(Errc::unsupported, "cuDNN (" + std::to_string(call_.version()) + "): " + what +
                                     " failed: " + call_.error_text(status) + " (" + std::to_string(status) + ")");
}

Result<std::size_t> CudnnConvolution::workspace(int algorithm) const {
  std::size_t bytes = 0;
  if (const auto known = checked(call_.workspace(handle_, tensor_, filter_, convolution_, tensor_, algorithm, &bytes),
                                 "asking for its workspace");
      !known)
    return Unexpected(known.error());
  return bytes;
}

Result<> CudnnConvolution::compute(int algorithm, const std::byte* x, const std::byte* filters, std::byte* y,
                                   std::byte* workspace, std::size_t workspace_bytes) const {
  constexpr float one = 1, zero = 0;
  return checked(call_.forward(handle_, &one, tensor_, x, filter_, filters, convolution_, algorithm, workspace,
                               workspace_bytes, &zero, tensor_, y),
                 "a convolution");
}

} // namespace rtexec::tasks
