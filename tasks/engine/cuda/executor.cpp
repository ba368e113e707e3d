#include "tasks/engine/cuda/executor.hpp"

#include "tasks/engine/cuda/kernels/simple_kernels.hpp"
#include "tasks/engine/cuda/strides.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace rtexec::tasks::cuda {
namespace {

namespace api = hal::cuda;

// The first architecture on which a kernel can start before the previous kernel has ended.
constexpr int first_to_overlap = 90;

/// Returns the element type that stage_input and stage_output kernels use for elements of `type` in the caller's
/// memory. `type` is never float64, because lower() refuses it.
Outside outside(ElementType type) {
  switch (type) {
  case ElementType::float32: return Outside::f32;
  case ElementType::float16: return Outside::f16;
  case ElementType::boolean: return Outside::booleans;
  default: return Outside::bytes;
  }
}

ConvertArguments conversion(ElementType type, std::size_t count) {
  constexpr unsigned four_signs = 0x80808080U; // sign bits of four bytes, which Storage::u8 stores inverted
  ConvertArguments arguments;
  arguments.count = static_cast<long long>(is_integer(type) ? count * size_of(type) : count);
  arguments.flip = type == ElementType::uint8 ? four_signs : 0;
  return arguments;
}

bool by_library(const ConvMethod& method) {
  return method.kind == ConvMethod::Kind::cudnn || method.kind == ConvMethod::Kind::cublas;
}

} // namespace

std::byte* Addresses::operator()(const MemoryLocation& location) const {
  switch (location.region) {
  case MemoryLocation::Region::none: return nullptr;
  // The cast is safe, because kernels never write constants.
  case MemoryLocation::Region::constant: return const_cast<std::byte*>(constants) + location.offset;
  case MemoryLocation::Region::buffer:
    if (location.buffer < elsewhere.size() && elsewhere[location.buffer])
      return elsewhere[location.buffer] + location.offset;
    return scratch + offsets[location.buffer] + location.offset;
  }
  return nullptr;
}

ConvNeeds needs_of(const ConvCall& call, const ConvMethod& method) {
  if (by_library(method)) return {method.workspace, 0};
  if (method.kind == ConvMethod::Kind::simple) return {};
  const auto launch = plan_conv(method.own, aligned_arguments(call));
  return {launch.partial * sizeof(float), launch.counters};
}

Result<std::unique_ptr<Executor>> Executor::open(hal::CudaDevice& device, Precision precision, const Options& options) {
  auto resources = Resources::of(device, options.images);
  if (!resources) return Unexpected(resources.error());
  const bool overlap =
      options.overlap_launches && device.architecture() >= first_to_overlap && device.driver().launch_with;
  return std::unique_ptr<Executor>(new Executor(std::move(*resources), device, precision, overlap, options.libraries));
}

Result<> Executor::open_cudnn() {
  if (!libraries_) return fail(Errc::unsupported, "cuDNN is not to be used");
  const auto opened = resources_->cudnn();
  if (!opened) return Unexpected(opened.error());
  cudnn_ = *opened;
  return {};
}

Result<> Executor::open_cublas() {
  if (!libraries_) return fail(Errc::unsupported, "cuBLAS is not to be used");
  const auto opened = resources_->cublas();
  if (!opened) return Unexpected(opened.error());
  cublas_ = *opened;
  return {};
}

// ---- kernels

Result<> Executor::issue(const KernelCall& call, const Addresses& addresses) {
  auto arguments = call.arguments;
  for (const auto& each : call.pointers) {
    const auto* address = addresses(each.location);
    std::memcpy(arguments.data() + each.at, &address, sizeof address);
  }
  const auto& shape = device_.architecture() < call.minimum_architecture ? call.otherwise : call.launch;
  const auto found = resources_->function(shape);
  if (!found) return Unexpected(found.error());
  return launch(*found, shape, arguments.data());
}

Result<> Executor::launch(api::Function function, const Launch& launch, void* arguments) {
  const auto& driver = device_.driver();
  std::array<api::LaunchAttribute, 3> attributes;
  unsigned count = 0;
  if (overlap_ && after_own_kernel_) {
    attributes[count].id = api::LaunchAttribute::programmatic_stream_serialization;
    attributes[count++].value.programmatic_serialization_allowed = 1;
  }
  if (launch.cluster_z > 1) {
    if (!driver.launch_with)
      return fail(
          Errc::unsupported,
          "the NVIDIA driver of " + device_.name() +
              " cannot launch clusters, which the profile chose: install one of CUDA 11.8 or later, or profile the "
              "task set again");
    attributes[count].id = api::LaunchAttribute::cluster_dimension;
    attributes[count++].value.cluster = {1, 1, launch.cluster_z};
    attributes[count].id = api::LaunchAttribute::cluster_scheduling_policy;
    attributes[count++].value.cluster_policy = api::LaunchAttribute::balance_load;
  }
  after_own_kernel_ = true;
  return resources_->put(function, launch, arguments, std::span(attributes).first(count));
}

// ---- copies and events

Result<> Executor::stage_input(std::byte* to, ElementType type, const OuterPlace& from, std::size_t count) {
  if (count == 0) return {};
  auto arguments = conversion(type, count);
  arguments.x = from.bytes;
  arguments.y = to;
  arguments.linked = from.linked;
  return issue(kernel_call<ConvertArguments>(stage_input_launch(arguments, outside(type)), arguments, {}), {});
}

Result<> Executor::stage_output(const OuterPlace& to, ElementType type, const std::byte* from, std::size_t count) {
  if (count == 0) return {};
  auto arguments = conversion(type, count);
  arguments.x = from;
  arguments.y = to.bytes;
  arguments.linked = to.linked;
  return issue(kernel_call<ConvertArguments>(stage_output_launch(arguments, outside(type)), arguments, {}), {});
}

Result<> Executor::record(api::Event event) {
  after_own_kernel_ = false;
  const auto& driver = device_.driver();
  if (!driver.event_record_with_flags)
    return fail(Errc::unsupported,
                "the NVIDIA driver of " + device_.name() +
                    " cannot record events inside of a graph: install one of CUDA 11.1 or later, or trace no layers");
  return device_.checked(
      driver.event_record_with_flags(event, device_.stream(hal::EngineKind::compute), api::event_record_external),
      "recording a layer's event");
}

// ---- convolutions

Result<> Executor::issue(const ConvCall& call, const ConvMethod& method, const MemoryLocation& workspace,
                         const MemoryLocation& counters, const Addresses& addresses) {
  auto arguments = call.arguments;
  if (method.kind == ConvMethod::Kind::own) {
    arguments.splits = method.own.splits;
    arguments.in_cluster = method.own.in_cluster;
  }
  if (by_library(method)) {
    arguments.x = addresses(call.x);
    arguments.weights = addresses(call.weights);
    arguments.bias = reinterpret_cast<const float*>(addresses(call.bias));
    arguments.residual = addresses(call.residual);
    arguments.y = addresses(call.y);
    return convolve_by_library(call, arguments, method, addresses(workspace), addresses);
  }
  Launch launch;
  if (method.kind == ConvMethod::Kind::own) {
    if (auto able = device_computes(method.own); !able) return able;
    launch = plan_conv(method.own, aligned_arguments(call)).kernel;
  } else {
    launch = launch_of(aligned_arguments(call), precision_ == Precision::fp16 ? Storage::f16 : Storage::f32);
  }
  using A = ConvArguments;
  const bool split = arguments.splits > 1 && !arguments.in_cluster;
  return issue(kernel_call<A>(launch, arguments,
                              {{&A::x, call.x},
                               {&A::weights, call.weights},
                               {&A::bias, call.bias},
                               {&A::residual, call.residual},
                               {&A::y, call.y},
                               {&A::offsets, call.offsets},
                               {&A::factors, call.factors},
                               {&A::zero, call.zero},
                               {&A::partial, split ? workspace : MemoryLocation{}},
                               {&A::counters, split ? counters : MemoryLocation{}}}),
               addresses);
}

/// Returns unsupported if the device cannot execute the chosen kernel. On such a device, the kernel would have no
/// effect or give a wrong result.
Result<> Executor::device_computes(const ConvChoice& choice) const {
  const int needed = choice.in_cluster ? std::max(choice.variant->minimum_architecture, cluster_architecture)
                                       : choice.variant->minimum_architecture;
  if (device_.architecture() >= needed) return {};
  return fail(Errc::unsupported, "'" + to_string(choice) + "', which the profile chose, needs a GPU of sm_" +
                                     std::to_string(needed) + " or later, and " + device_.name() + " is of sm_" +
                                     std::to_string(device_.architecture()) +
                                     ": profile the task set again on this machine");
}

Result<> Executor::convolve_by_library(const ConvCall& call, const ConvArguments& arguments, const ConvMethod& method,
                                       std::byte* workspace, const Addresses& addresses) {
  after_own_kernel_ = false;
  if (method.kind == ConvMethod::Kind::cudnn && method.fused)
    return cudnn_->convolve_fused(arguments, precision_, method.algorithm, {workspace, method.workspace},
                                  addresses(precision_ == Precision::fp16 ? call.half_bias : call.bias));
  const auto done = method.kind == ConvMethod::Kind::cudnn
                        ? cudnn_->convolve(arguments, precision_, method.algorithm, {workspace, method.workspace})
                        : cublas_->multiply(arguments, precision_, workspace, method.workspace);
  return done ? finish_sums(call, addresses) : done;
}

/// Completes the result of a library call that computed only the sums: adds bias and residual, and applies the
/// activation.
Result<> Executor::finish_sums(const ConvCall& call, const Addresses& addresses) {
  const auto& a = call.arguments;
  const auto storage = precision_ == Precision::fp16 ? Storage::f16 : Storage::f32;
  const bool add = call.residual.known();
  const auto pixels = static_cast<long long>(a.batch) * a.out_height * a.out_width;
  const int channels = a.out_channels * a.groups;
  const bool activate_first = !add || a.residual_last != 0;
  if (call.bias.known() || (activate_first && a.activation.kind != ActivationArguments::none)) {
    ScaleShiftArguments s;
    s.pixels = pixels;
    s.channels = channels;
    s.x_stride = s.y_stride = a.y_stride;
    if (activate_first) s.activation = a.activation;
    using S = ScaleShiftArguments;
    if (auto done =
            issue(kernel_call<S>(launch_of(s, storage), s, {{&S::x, call.y}, {&S::shift, call.bias}, {&S::y, call.y}}),
                  addresses);
        !done)
      return done;
  }
  if (!add) return {};
  const auto view = [&](int stride) { return kernel_view({pixels, channels}, {stride, 1}); };
  BinaryArguments b;
  b.a_view = b.y_view = view(a.y_stride);
  b.b_view = view(a.residual_stride);
  if (!activate_first) b.activation = a.activation;
  simplify(b);
  using B = BinaryArguments;
  return issue(kernel_call<B>(launch_of(b, storage), b, {{&B::a, call.y}, {&B::b, call.residual}, {&B::y, call.y}}),
               addresses);
}

} // namespace rtexec::tasks::cuda
