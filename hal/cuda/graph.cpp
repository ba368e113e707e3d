#include "hal/cuda/cuda_device.hpp"

namespace rtexec::hal {

using cuda::Code;

// ---- modules ----

CudaModule& CudaModule::operator=(CudaModule&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(handle_, other.handle_);
  std::swap(name_, other.name_);
  return *this;
}

CudaModule::~CudaModule() {
  if (handle_ != nullptr) (void)driver_->module_unload(handle_);
}

Result<cuda::Function> CudaModule::function(const char* name) const {
  if (handle_ == nullptr) return fail(Errc::bad_input, std::string("Kernel ") + name + " was asked of no module.");
  cuda::Function function = nullptr;
  const Code code = driver_->module_function(&function, handle_, name);
  if (code == Code::success) return function;
  return fail(code == Code::not_found ? Errc::unsupported : Errc::device_fault,
              std::string("finding kernel ") + name + " in " + name_ + " failed: " + describe(*driver_, code) + ".");
}

Result<CudaModule> CudaDevice::load(const void* image, const std::string& name) {
  if (auto entered = enter(); !entered) return Unexpected(entered.error());
  cuda::ModuleHandle handle = nullptr;
  const std::string what = "loading the kernels of " + name + " for sm_" + std::to_string(architecture_);
  if (auto loaded = checked(driver_->module_load(&handle, image), what); !loaded) return Unexpected(loaded.error());
  return CudaModule(*driver_, handle, name);
}

// ---- graphs ----

CudaGraph& CudaGraph::operator=(CudaGraph&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(executable_, other.executable_);
  return *this;
}

CudaGraph::~CudaGraph() {
  if (executable_ != nullptr) (void)driver_->graph_exec_destroy(executable_);
}

Result<> CudaDevice::begin_capture() {
  if (auto entered = enter(); !entered) return entered;
  return checked(driver_->begin_capture(stream(EngineKind::compute), cuda::capture_thread_local),
                 "beginning to capture a graph");
}

Result<CudaGraph> CudaDevice::end_capture(Result<> outcome) {
  cuda::GraphHandle graph = nullptr;
  const Code code = driver_->end_capture(stream(EngineKind::compute), &graph);
  if (outcome) outcome = checked(code, "capturing a graph");
  Result<CudaGraph> captured = outcome ? instantiate(graph) : Unexpected(outcome.error());
  if (graph != nullptr) (void)check(driver_->graph_destroy(graph));
  return captured;
}

Result<CudaGraph> CudaDevice::instantiate(cuda::GraphHandle graph) {
  cuda::GraphExec executable = nullptr;
  if (auto made = checked(driver_->graph_instantiate(&executable, graph, 0), "readying a graph"); !made)
    return Unexpected(made.error());
  CudaGraph owned(*driver_, executable);
  if (driver_->graph_upload == nullptr) return owned;
  const cuda::Stream stream = lanes_.back().stream;
  if (auto sent = checked(driver_->graph_upload(executable, stream), "uploading a graph"); !sent)
    return Unexpected(sent.error());
  if (auto there = checked(driver_->stream_synchronize(stream), "uploading a graph"); !there)
    return Unexpected(there.error());
  return owned;
}

Status CudaDevice::launch(const CudaGraph& graph) noexcept {
  if (auto possible = ready(); !possible) return possible;
  if (graph.handle() == nullptr) return Unexpected(Errc::bad_input);
  return check(driver_->graph_launch(graph.handle(), stream(EngineKind::compute)));
}

Status CudaDevice::run(const CudaGraph& graph) noexcept {
  if (auto begun = launch(graph); !begun) return begun;
  return finish(lane(EngineKind::compute));
}

} // namespace rtexec::hal
