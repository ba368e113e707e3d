#include "hal/cuda/cuda_device.hpp"

#include <algorithm>

namespace rtexec {

using hal::cuda::Code;

// ---- handles of callers ----

GpuModule& GpuModule::operator=(GpuModule&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

GpuModule::~GpuModule() {
  if (handle_ != nullptr) (void)driver_->module_unload(static_cast<hal::cuda::ModuleHandle>(handle_));
}

Result<GpuKernel> GpuModule::kernel(const char* name) const {
  if (handle_ == nullptr)
    return fail(Errc::bad_input, std::string("Kernel ") + name + " was requested from a module that is not loaded.");
  hal::cuda::Function function = nullptr;
  const Code code = driver_->module_function(&function, static_cast<hal::cuda::ModuleHandle>(handle_), name);
  if (code == Code::success) return GpuKernel{function};
  return fail(code == Code::not_found ? Errc::unsupported : Errc::device_fault,
              std::string("finding kernel ") + name + " in " + name_ + " failed: " + describe(*driver_, code) + ".");
}

GpuGraph& GpuGraph::operator=(GpuGraph&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(handle_, other.handle_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  return *this;
}

GpuGraph::~GpuGraph() {
  if (handle_ != nullptr) (void)driver_->graph_exec_destroy(static_cast<hal::cuda::GraphExec>(handle_));
  for (void* const event : {begin_, end_})
    if (event != nullptr) (void)driver_->event_destroy(static_cast<hal::cuda::Event>(event));
}

} // namespace rtexec

namespace rtexec::hal {

using cuda::Code;

// ---- set-up ----

CudaDevice* CudaDevice::find(rtexec::Device& device) { return dynamic_cast<CudaDevice*>(device.gpu()); }

Result<CudaDevice*> CudaDevice::of(rtexec::Device& device, const char* what) {
  if (auto* const found = find(device)) return found;
  return fail(Errc::unsupported,
              std::string(what) + " was made for an NVIDIA GPU, and the device is '" + device.name() + "'");
}

Result<GpuModule> CudaDevice::load(const void* image, const std::string& name) {
  if (auto entered = enter(); !entered) return Unexpected(entered.error());
  cuda::ModuleHandle handle = nullptr;
  const std::string what = "loading the kernels of " + name + " for sm_" + std::to_string(architecture_);
  if (auto loaded = checked(driver_->module_load(&handle, image), what); !loaded) return Unexpected(loaded.error());
  return GpuModule(*driver_, handle, name);
}

Result<GpuGraph> CudaDevice::capture(const std::function<Result<>()>& body) {
  if (auto entered = enter(); !entered) return Unexpected(entered.error());
  GpuGraph made(*driver_);
  if (auto there = make_events(made); !there) return Unexpected(there.error());
  const cuda::Stream stream = this->stream(EngineKind::compute);
  if (auto begun = checked(driver_->begin_capture(stream, cuda::capture_thread_local), "beginning to capture a graph");
      !begun)
    return Unexpected(begun.error());
  Result<> outcome = record_in_graph(made.begin_);
  if (outcome) outcome = body();
  if (outcome) outcome = record_in_graph(made.end_);
  cuda::GraphHandle captured = nullptr;
  const Code code = driver_->end_capture(stream, &captured);
  if (outcome) outcome = checked(code, "capturing a graph");
  if (outcome) outcome = instantiate(made, captured);
  if (captured != nullptr) (void)check(driver_->graph_destroy(captured));
  if (!outcome) return Unexpected(outcome.error());
  return made;
}

/// Makes the events of a graph. Each graph has its own pair of events, because two graphs may run concurrently.
Result<> CudaDevice::make_events(GpuGraph& graph) const {
  if (driver_->event_record_with_flags == nullptr) return {};
  for (void** const place : {&graph.begin_, &graph.end_}) {
    cuda::Event event = nullptr;
    if (auto made = checked(driver_->event_create(&event, cuda::event_default), "making an event"); !made) return made;
    *place = event;
  }
  return {};
}

Result<> CudaDevice::record_in_graph(void* event) const {
  if (event == nullptr) return {};
  return checked(driver_->event_record_with_flags(static_cast<cuda::Event>(event), stream(EngineKind::compute),
                                                  cuda::event_record_external),
                 "capturing when a graph begins and ends");
}

Result<> CudaDevice::instantiate(GpuGraph& graph, cuda::GraphHandle captured) {
  cuda::GraphExec executable = nullptr;
  if (auto made = checked(driver_->graph_instantiate(&executable, captured, 0), "readying a graph"); !made) return made;
  graph.handle_ = executable;
  if (driver_->graph_upload == nullptr) return {};
  const cuda::Stream stream = streams_.back().stream;
  if (auto sent = checked(driver_->graph_upload(executable, stream), "uploading a graph"); !sent) return sent;
  return checked(driver_->stream_synchronize(stream), "uploading a graph");
}

// ---- real-time ----

Status CudaDevice::launch(GpuKernel kernel, GpuExtent blocks, GpuExtent threads, Bytes shared,
                          void** arguments) noexcept {
  if (auto possible = ready(); !possible) return possible;
  if (kernel.function == nullptr) return Unexpected(Errc::bad_input);
  return check(driver_->launch(static_cast<cuda::Function>(kernel.function), blocks.x, blocks.y, blocks.z, threads.x,
                               threads.y, threads.z, static_cast<unsigned>(shared.count), stream(compute_engine()),
                               arguments, nullptr));
}

Status CudaDevice::run(const GpuGraph& graph) noexcept {
  const Instant begin = now();
  if (auto possible = ready(); !possible) return possible;
  if (graph.handle() == nullptr) return Unexpected(Errc::bad_input);
  EngineStream& own = compute_stream();
  if (auto begun = check(driver_->graph_launch(static_cast<cuda::GraphExec>(graph.handle()), own.stream)); !begun)
    return begun;
  if (auto ended = finish(own); !ended) return ended;
  const Duration passed = now() - begin;
  own.on_the_way += passed - graph_took(graph, passed);
  return {};
}

Status CudaDevice::begin_run(const GpuGraph& graph) noexcept {
  if (auto possible = ready(); !possible) return possible;
  if (graph.handle() == nullptr) return Unexpected(Errc::bad_input);
  EngineStream& own = compute_stream();
  if (own.begun - own.ended == copies_at_once) return Unexpected(Errc::out_of_memory);
  if (auto launched = check(driver_->graph_launch(static_cast<cuda::GraphExec>(graph.handle()), own.stream)); !launched)
    return launched;
  return begun(own);
}

Status CudaDevice::end_run(const GpuGraph& graph) noexcept {
  const Instant begin = now();
  EngineStream& own = compute_stream();
  if (auto ended = end_oldest(own); !ended) return ended;
  const Duration passed = now() - begin;
  own.on_the_way += passed - graph_took(graph, passed);
  return {};
}

/// Returns the execution time of the graph by the GPU's clock, or `passed` if the GPU's time is unknown.
Duration CudaDevice::graph_took(const GpuGraph& graph, Duration passed) const noexcept {
  float milliseconds = 0;
  if (graph.begin_ == nullptr || !check(driver_->event_elapsed(&milliseconds, static_cast<cuda::Event>(graph.begin_),
                                                               static_cast<cuda::Event>(graph.end_))))
    return passed;
  return std::clamp(std::chrono::duration_cast<Duration>(std::chrono::duration<float, std::milli>(milliseconds)),
                    Duration(0), passed);
}

} // namespace rtexec::hal
