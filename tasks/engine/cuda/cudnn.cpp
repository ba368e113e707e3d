#include "tasks/engine/cuda/cudnn.hpp"

#include "tasks/engine/cuda/shared_library.hpp"

#include <array>

namespace rtexec::tasks::cuda {
namespace {

using Status = CudnnFunctions::Status;
using Handle = CudnnFunctions::Handle;

constexpr Status success = 0;
constexpr Status not_supported_before_9 = 9; // CUDNN_STATUS_NOT_SUPPORTED up to version 8
constexpr Status not_supported = 3000;       // the same status since version 9, which adds subcodes
constexpr Status bad_parameter_before_9 = 3;
constexpr Status bad_parameter = 2000;

/// True if the status means that the algorithm does not support this convolution. This is common while the tuner tries
/// algorithms.
bool says_no(Status status, std::size_t version) {
  if (version < 90000) return status == not_supported_before_9 || status == bad_parameter_before_9;
  return status / 1000 == not_supported / 1000 || status / 1000 == bad_parameter / 1000;
}

Result<CudnnFunctions> load() {
  static constexpr std::array names{"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so.7"};
  const auto library =
      Library::open(names, "Install cuDNN 7, 8 or 9 for the GPU's driver, or profile the task set again without it.");
  if (!library) return fail(library.error().code, "cuDNN: " + library.error().what);
  CudnnFunctions f{};
  Result<> found;
  const auto find = [&](auto*& function, const char* name) {
    if (found) found = library->find(function, name);
  };
  find(f.version, "cudnnGetVersion");
  find(f.error_text, "cudnnGetErrorString");
  find(f.create, "cudnnCreate");
  find(f.destroy, "cudnnDestroy");
  find(f.set_stream, "cudnnSetStream");
  find(f.create_tensor, "cudnnCreateTensorDescriptor");
  find(f.destroy_tensor, "cudnnDestroyTensorDescriptor");
  find(f.set_tensor, "cudnnSetTensor4dDescriptorEx");
  find(f.create_filter, "cudnnCreateFilterDescriptor");
  find(f.destroy_filter, "cudnnDestroyFilterDescriptor");
  find(f.set_filter, "cudnnSetFilter4dDescriptor");
  find(f.create_convolution, "cudnnCreateConvolutionDescriptor");
  find(f.destroy_convolution, "cudnnDestroyConvolutionDescriptor");
  find(f.set_convolution, "cudnnSetConvolution2dDescriptor");
  find(f.set_groups, "cudnnSetConvolutionGroupCount");
  find(f.set_math, "cudnnSetConvolutionMathType");
  find(f.create_activation, "cudnnCreateActivationDescriptor");
  find(f.destroy_activation, "cudnnDestroyActivationDescriptor");
  find(f.set_activation, "cudnnSetActivationDescriptor");
  find(f.workspace, "cudnnGetConvolutionForwardWorkspaceSize");
  find(f.forward, "cudnnConvolutionForward");
  find(f.forward_fused, "cudnnConvolutionBiasActivationForward");
  if (!found) return Unexpected(found.error());
  return f;
}

/// A cuDNN descriptor that the destructor destroys.
class Descriptor {
 public:
  explicit Descriptor(Status (*destroy)(Handle)) : destroy_(destroy) {}
  ~Descriptor() {
    if (handle) (void)destroy_(handle);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Handle handle = nullptr;

 private:
  Status (*destroy_)(Handle);
};

} // namespace

/// The cuDNN descriptors of a convolution. `status` is the first error that occurred.
class Cudnn::Description {
 public:
  Description(const CudnnFunctions& call, const ConvArguments& conv, Precision precision)
      : x(call.destroy_tensor),
        weights(call.destroy_filter),
        convolution(call.destroy_convolution),
        y(call.destroy_tensor),
        residual(call.destroy_tensor),
        bias(call.destroy_tensor),
        activation(call.destroy_activation),
        call_(call),
        type_(precision == Precision::fp16 ? CudnnFunctions::data_half : CudnnFunctions::data_float) {
    describe(x, conv.batch, conv.channels * conv.groups, conv.height, conv.width, conv.x_stride);
    describe(y, conv.batch, conv.out_channels * conv.groups, conv.out_height, conv.out_width, conv.y_stride);
    try_to([&] { return call.create_filter(&weights.handle); });
    try_to([&] {
      return call.set_filter(weights.handle, type_, CudnnFunctions::channels_last, conv.out_channels * conv.groups,
                             conv.channels, conv.kernel_h, conv.kernel_w);
    });
    try_to([&] { return call.create_convolution(&convolution.handle); });
    try_to([&] {
      return call.set_convolution(convolution.handle, conv.pad_top, conv.pad_left, conv.stride_h, conv.stride_w,
                                  conv.dilation_h, conv.dilation_w, CudnnFunctions::cross_correlation,
                                  CudnnFunctions::data_float);
    });
    try_to([&] { return call.set_groups(convolution.handle, conv.groups); });
    try_to([&] { return call.set_math(convolution.handle, math(precision)); });
  }

  /// Adds the descriptors that only the fused call needs.
  void fuse(const ConvArguments& conv) {
    const bool relu = conv.activation.kind == ActivationArguments::relu;
    describe(bias, 1, conv.out_channels * conv.groups, 1, 1, conv.out_channels * conv.groups);
    describe(residual, conv.batch, conv.out_channels * conv.groups, conv.out_height, conv.out_width,
             conv.residual ? conv.residual_stride : conv.y_stride);
    try_to([&] { return call_.create_activation(&activation.handle); });
    try_to([&] {
      return call_.set_activation(activation.handle, relu ? CudnnFunctions::relu : CudnnFunctions::identity, 0, 0.0);
    });
  }

  Descriptor x, weights, convolution, y, residual, bias, activation;
  Status status = success;

 private:
  template <class F> void try_to(F step) {
    if (status == success) status = step();
  }

  void describe(Descriptor& tensor, int n, int c, int h, int w, int pixel) {
    try_to([&] { return call_.create_tensor(&tensor.handle); });
    try_to([&] { return call_.set_tensor(tensor.handle, type_, n, c, h, w, h * w * pixel, 1, w * pixel, pixel); });
  }

  /// Returns cuDNN's math type for `precision`. Before version 8, cuDNN computes floats on CUDA cores only.
  [[nodiscard]] int math(Precision precision) const {
    if (precision == Precision::fp16) return CudnnFunctions::tensor_math;
    return precision == Precision::fp32 && call_.version() >= 8000 ? CudnnFunctions::multiply_add
                                                                   : CudnnFunctions::default_math;
  }

  const CudnnFunctions& call_;
  int type_;
};

const Result<CudnnFunctions>& cudnn_functions() {
  static const Result<CudnnFunctions> functions = load();
  return functions;
}

Result<std::unique_ptr<Cudnn>> Cudnn::open(hal::cuda::Stream stream) {
  const auto& functions = cudnn_functions();
  if (!functions) return Unexpected(functions.error());
  return open(*functions, stream);
}

Result<std::unique_ptr<Cudnn>> Cudnn::open(const CudnnFunctions& functions, hal::cuda::Stream stream) {
  std::unique_ptr<Cudnn> cudnn(new Cudnn(functions));
  if (auto made = cudnn->checked(functions.create(&cudnn->handle_), "starting it"); !made)
    return Unexpected(made.error());
  if (auto set = cudnn->checked(functions.set_stream(cudnn->handle_, stream), "giving it a stream"); !set)
    return Unexpected(set.error());
  return cudnn;
}

Cudnn::~Cudnn() {
  if (handle_) (void)call_.destroy(handle_);
}

std::string Cudnn::version() const {
  const auto version = call_.version();
  const auto major = version >= 90000 ? version / 10000 : version / 1000;
  const auto minor = version >= 90000 ? version / 100 % 100 : version / 100 % 10;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

Result<> Cudnn::checked(Status status, const char* what) const {
  if (status == success) return {};
  return fail(says_no(status, call_.version()) ? Errc::unsupported : Errc::device_fault,
              "cuDNN " + version() + ": " + what + " failed: " + call_.error_text(status) + " (" +
                  std::to_string(status) + ")");
}

Result<std::size_t> Cudnn::workspace(const ConvArguments& conv, Precision precision, int algorithm) const {
  const Description d(call_, conv, precision);
  if (auto described = checked(d.status, "describing a convolution"); !described) return Unexpected(described.error());
  std::size_t bytes = 0;
  const auto asked =
      call_.workspace(handle_, d.x.handle, d.weights.handle, d.convolution.handle, d.y.handle, algorithm, &bytes);
  if (auto known = checked(asked, "asking for a workspace"); !known) return Unexpected(known.error());
  return bytes;
}

Result<> Cudnn::convolve(const ConvArguments& conv, Precision precision, int algorithm, Scratch workspace) const {
  const Description d(call_, conv, precision);
  if (auto described = checked(d.status, "describing a convolution"); !described) return described;
  constexpr float one = 1, zero = 0;
  return checked(call_.forward(handle_, &one, d.x.handle, conv.x, d.weights.handle, conv.weights, d.convolution.handle,
                               algorithm, workspace.memory, workspace.bytes, &zero, d.y.handle, conv.y),
                 "a convolution");
}

Result<> Cudnn::convolve_fused(const ConvArguments& conv, Precision precision, int algorithm, Scratch workspace,
                               const void* bias) const {
  Description d(call_, conv, precision);
  d.fuse(conv);
  if (auto described = checked(d.status, "describing a convolution"); !described) return described;
  constexpr float one = 1, zero = 0;
  return checked(
      call_.forward_fused(handle_, &one, d.x.handle, conv.x, d.weights.handle, conv.weights, d.convolution.handle,
                          algorithm, workspace.memory, workspace.bytes, conv.residual ? &one : &zero, d.residual.handle,
                          conv.residual ? conv.residual : conv.y, d.bias.handle, bias, d.activation.handle, d.y.handle,
                          conv.y),
      "a convolution with bias and activation");
}

} // namespace rtexec::tasks::cuda
