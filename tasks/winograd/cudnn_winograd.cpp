#include "tasks/winograd/cudnn_winograd.hpp"

#include "hal/thread.hpp"

#include <utility>

namespace rtexec::tasks {
namespace {

constexpr Bytes alignment{256};

} // namespace

CudnnWinograd::CudnnWinograd(const Graph& graph, double flops, const Method& method, const Options& options)
    : filters_(graph.tensors[graph.nodes.front().inputs[1]].values),
      flops_(flops),
      method_(method),
      options_(options),
      layer_(graph.nodes.front().name) {
  const auto port = [&](TensorId id) { return Port{graph.tensors[id].name, graph.tensors[id].shape, {}}; };
  input_ = port(graph.inputs.front());
  output_ = port(graph.outputs.front());
}

CudnnWinograd::~CudnnWinograd() { unbind(); }

Bytes CudnnWinograd::picture() const {
  return {static_cast<std::uint64_t>(element_count(input_.shape)) * sizeof(float)};
}

Bytes CudnnWinograd::scratch() const { return round_up(picture(), alignment) * 2 + Bytes{method_.workspace}; }

std::vector<MemoryObject> CudnnWinograd::objects() const {
  const Bytes second = round_up(picture(), alignment);
  std::vector<MemoryObject> objects{{MemoryClass::constant, {}, {constants().size()}},
                                    {MemoryClass::scratch, {}, picture()},
                                    {MemoryClass::scratch, second, picture()}};
  if (method_.workspace > 0) objects.push_back({MemoryClass::scratch, second * 2, {method_.workspace}});
  return objects;
}

// ---- binding

Result<> CudnnWinograd::bind(Device& device, const Memory& memory) {
  unbind();
  const auto gpu = hal::CudaDevice::of(device, "this convolution");
  if (!gpu) return Unexpected(gpu.error());
  device_ = *gpu;
  auto bound = ready(memory);
  if (!bound) unbind();
  return bound;
}

Result<> CudnnWinograd::ready(const Memory& memory) {
  auto executor = cuda::Executor::open(*device_, Precision::fp32, options_.launching);
  if (!executor) return Unexpected(executor.error());
  executor_ = std::move(*executor);
  if (auto opened = open_convolution(); !opened)
    return fail(Errc::refused,
                "the profile chose cuDNN's Winograd, which this machine cannot use: " + opened.error().what);
  if (auto allocated = allocate_ports(); !allocated) return allocated;
  if (auto made = make_events(); !made) return made;
  auto graph = device_->capture([&] { return issue(memory); });
  if (!graph) return Unexpected(graph.error());
  graph_ = std::move(*graph);
  return {};
}

Result<> CudnnWinograd::open_convolution() {
  const int channels = static_cast<int>(input_.shape[1]), side = static_cast<int>(input_.shape[2]);
  const auto stream = device_->stream(hal::EngineKind::compute);
  auto opened = options_.functions ? CudnnConvolution::open(*options_.functions, channels, side, stream)
                                   : CudnnConvolution::open(channels, side, stream);
  if (!opened) return Unexpected(opened.error());
  convolution_ = std::move(*opened);
  const auto needed = convolution_->workspace(method_.algorithm);
  if (!needed) return Unexpected(needed.error());
  if (*needed <= method_.workspace) return {};
  return fail(Errc::refused, "it needs a workspace of " + readable(Bytes{*needed}) + " here, and " +
                                 readable(Bytes{method_.workspace}) +
                                 " when it was profiled: profile the task set again");
}

Result<> CudnnWinograd::allocate_ports() {
  for (Port* port : {&input_, &output_}) {
    auto buffer = device_->allocate(BufferKind::host, picture());
    if (!buffer) return Unexpected(buffer.error());
    buffers_.push_back(*buffer);
    port->buffer = {reinterpret_cast<float*>(buffer->host), picture().count / sizeof(float)};
  }
  return {};
}

Result<> CudnnWinograd::make_events() {
  if (!observer_.begin && !observer_.end) return {};
  for (int i = 0; i < 3; ++i) {
    hal::cuda::Event event = nullptr;
    if (auto made = device_->checked(device_->driver().event_create(&event, hal::cuda::event_default),
                                     "making a layer's event");
        !made)
      return made;
    events_.push_back(event);
  }
  return {};
}

Result<> CudnnWinograd::issue(const Memory& memory) {
  std::byte* const x = memory.scratch;
  std::byte* const y = x + round_up(picture(), alignment).count;
  std::byte* const workspace = method_.workspace > 0 ? y + round_up(picture(), alignment).count : nullptr;
  const auto floats = input_.buffer.size();
  executor_->begin();
  if (auto copied = executor_->copy(x, buffers_[0].device, floats); !copied) return copied;
  if (auto recorded = record(0); !recorded) return recorded;
  if (auto computed = convolution_->compute(method_.algorithm, x, memory.constant, y, workspace, method_.workspace);
      !computed)
    return computed;
  executor_->begin(); // a kernel of cuDNN's came last
  if (auto recorded = record(1); !recorded) return recorded;
  if (auto copied = executor_->copy(buffers_[1].device, y, floats); !copied) return copied;
  return record(2);
}

Result<> CudnnWinograd::record(std::size_t event) {
  return events_.empty() ? Result<>() : executor_->record(events_[event]);
}

void CudnnWinograd::unbind() noexcept {
  if (!device_) return;
  graph_ = {};
  convolution_.reset();
  executor_.reset();
  for (const auto event : events_) (void)device_->driver().event_destroy(event);
  for (const auto& buffer : buffers_) (void)device_->free(buffer);
  events_.clear();
  buffers_.clear();
  input_.buffer = output_.buffer = {};
  device_ = nullptr;
}

// ---- running

Status CudnnWinograd::run() noexcept {
  if (auto done = device_->run(graph_); !done) return done;
  return events_.empty() ? Status() : tell_layer(hal::now());
}

Status CudnnWinograd::tell_layer(Instant end) noexcept {
  std::array<Instant, 2> at;
  for (std::size_t i = 0; i < at.size(); ++i) {
    float milliseconds = 0;
    if (auto known = device_->check(device_->driver().event_elapsed(&milliseconds, events_[i], events_.back())); !known)
      return Unexpected(known.error());
    at[i] = end - std::chrono::duration_cast<Duration>(std::chrono::duration<float, std::milli>(milliseconds));
  }
  if (observer_.begin) observer_.begin(observer_.self, 0, at[0]);
  if (observer_.end) observer_.end(observer_.self, 0, at[1]);
  return {};
}

} // namespace rtexec::tasks
