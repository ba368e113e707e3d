#include "tasks/loads/winograd/cudnn_winograd.hpp"

#include <utility>

namespace rtexec::tasks {
namespace {

constexpr Bytes alignment{256};

} // namespace

CudnnWinograd::CudnnWinograd(const Graph& graph, double flops, const Method& method, const Options& options)
    : GpuNetwork(options.policy),
      filters_(graph.tensors[graph.nodes.front().inputs[1]].values),
      flops_(flops),
      method_(method),
      options_(options),
      layer_(graph.nodes.front().name) {
  const auto port = [&](TensorId id) {
    return Port{.name = graph.tensors[id].name, .shape = graph.tensors[id].shape, .bytes = {}};
  };
  inputs_ = {port(graph.inputs.front())};
  outputs_ = {port(graph.outputs.front())};
  segment_ends_ = {1};
}

/// Unbinds first, so that the graph is destroyed before the convolution that the graph uses.
CudnnWinograd::~CudnnWinograd() { unbind(); }

Bytes CudnnWinograd::picture() const {
  return {static_cast<std::uint64_t>(element_count(inputs_[0].shape)) * sizeof(float)};
}

Bytes CudnnWinograd::scratch() const { return round_up(picture(), alignment) * 2 + Bytes{method_.workspace}; }

std::vector<MemoryObject> CudnnWinograd::objects() const {
  const Bytes second = round_up(picture(), alignment);
  std::vector<MemoryObject> objects{{MemoryClass::constant, {}, {image().size()}},
                                    {MemoryClass::scratch, {}, picture()},
                                    {MemoryClass::scratch, second, picture()}};
  if (method_.workspace > 0) objects.push_back({MemoryClass::scratch, second * 2, {method_.workspace}});
  return objects;
}

// ---- binding

Result<> CudnnWinograd::place(Device& device, const Memory& memory) {
  unbind();
  convolution_.reset();
  const auto gpu = hal::CudaDevice::of(device, "this convolution");
  if (!gpu) return Unexpected(gpu.error());
  const auto open = [&]() -> Result<> {
    const auto opened = open_convolution();
    if (opened) return {};
    return fail(Errc::refused,
                "the profile chose cuDNN's Winograd, which this machine cannot use: " + opened.error().what);
  };
  auto bound = bind_to(**gpu, Precision::fp32, options_.launching, open, [&](std::size_t) { return issue(memory); });
  if (!bound) convolution_.reset();
  return bound;
}

Result<> CudnnWinograd::open_convolution() {
  const int channels = static_cast<int>(inputs_[0].shape[1]), side = static_cast<int>(inputs_[0].shape[2]);
  const auto stream = device_->stream(hal::EngineKind::compute);
  auto opened = CudnnConvolution::open(options_.functions, channels, side, stream);
  if (!opened) return Unexpected(opened.error());
  convolution_ = std::move(*opened);
  const auto needed = convolution_->workspace(method_.algorithm);
  if (!needed) return Unexpected(needed.error());
  if (*needed <= method_.workspace) return {};
  return fail(Errc::refused, "it needs a workspace of " + readable(Bytes{*needed}) + " here, and " +
                                 readable(Bytes{method_.workspace}) +
                                 " when it was profiled: profile the task set again");
}

Result<> CudnnWinograd::issue(const Memory& memory) {
  std::byte* const x = memory.scratch;
  std::byte* const y = x + round_up(picture(), alignment).count;
  std::byte* const workspace = method_.workspace > 0 ? y + round_up(picture(), alignment).count : nullptr;
  const auto floats = inputs_[0].as<float>().size();
  executor_->begin();
  if (auto copied = executor_->stage_input(x, ElementType::float32, {buffers_[0].device}, floats); !copied)
    return copied;
  if (auto recorded = record(0, 0); !recorded) return recorded;
  if (auto computed = convolution_->compute(method_.algorithm, x, memory.constant, y, workspace, method_.workspace);
      !computed)
    return computed;
  executor_->begin(); // the next kernel must not overlap the kernel of cuDNN
  if (auto recorded = record(0, 1); !recorded) return recorded;
  if (auto copied = executor_->stage_output({buffers_[1].device}, ElementType::float32, y, floats); !copied)
    return copied;
  return record_end(0);
}

} // namespace rtexec::tasks
