// ONNX Runtime as a back end of rtexec, on one thread of the host, as a third party with both headers would write it.
// Each network has a session, which owns its memory; we own the buffers of inputs and outputs.
#include "test/backends/onnxruntime_c.h"

#include <rtexec/backend.h>

#include <cstddef>
#include <cstdio>
#include <malloc.h>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const OrtApi& ort = *OrtGetApiBase()->GetApi(13);

void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string what = ort.GetErrorMessage(status);
  ort.ReleaseStatus(status);
  throw std::runtime_error(what);
}

/// Releases objects that the library made.
template <auto release> struct Release {
  template <class T> void operator()(T* object) const { (ort.*release)(object); }
};
using Session = std::unique_ptr<OrtSession, Release<&OrtApi::ReleaseSession>>;
using Options = std::unique_ptr<OrtSessionOptions, Release<&OrtApi::ReleaseSessionOptions>>;
using Memory = std::unique_ptr<OrtMemoryInfo, Release<&OrtApi::ReleaseMemoryInfo>>;
using Value = std::unique_ptr<OrtValue, Release<&OrtApi::ReleaseValue>>;
using Info = std::unique_ptr<OrtTensorTypeAndShapeInfo, Release<&OrtApi::ReleaseTensorTypeAndShapeInfo>>;
using TypeInfo = std::unique_ptr<OrtTypeInfo, Release<&OrtApi::ReleaseTypeInfo>>;

/// Returns the object that `make` stores through its last argument.
template <class Owner, class Make, class... Arguments> Owner made(Make make, Arguments... arguments) {
  typename Owner::pointer object = nullptr;
  check(make(arguments..., &object));
  return Owner(object);
}

/// Returns the bytes that this process has allocated so far.
std::size_t allocated() {
  const auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

/// The supported element types, by ONNX's numbers.
struct Type {
  rtexec_element_type type;
  std::size_t size;
};
Type type_of(int onnx) {
  switch (onnx) {
  case 1: return {RTEXEC_FLOAT32, 4};
  case 2: return {RTEXEC_UINT8, 1};
  case 3: return {RTEXEC_INT8, 1};
  case 4: return {RTEXEC_UINT16, 2};
  case 5: return {RTEXEC_INT16, 2};
  case 6: return {RTEXEC_INT32, 4};
  case 7: return {RTEXEC_INT64, 8};
  case 9: return {RTEXEC_BOOLEAN, 1};
  case 10: return {RTEXEC_FLOAT16, 2};
  case 11: return {RTEXEC_FLOAT64, 8};
  case 12: return {RTEXEC_UINT32, 4};
  case 13: return {RTEXEC_UINT64, 8};
  default: throw std::runtime_error("a tensor has element type " + std::to_string(onnx) + " of ONNX");
  }
}

struct Port {
  std::string name;
  int onnx_type = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::max_align_t> data;

  std::size_t bytes() const {
    return std::accumulate(shape.begin(), shape.end(), type_of(onnx_type).size,
                           [](std::size_t a, std::int64_t b) { return a * static_cast<std::size_t>(b); });
  }
};

void read(const OrtTensorTypeAndShapeInfo* info, Port& port) {
  std::size_t rank = 0;
  check(ort.GetTensorElementType(info, &port.onnx_type));
  check(ort.GetDimensionsCount(info, &rank));
  port.shape.resize(rank);
  check(ort.GetDimensions(info, port.shape.data(), rank));
}

class Network {
 public:
  explicit Network(const rtexec_model& model) {
    const std::size_t before = allocated();
    open_session(model.file);
    add_inputs(model);
    add_outputs();
    workload_.own_device = allocated() - before; // the memory of the host device is the host's
    workload_.size = sizeof workload_;
    workload_.self = this;
    workload_.fingerprint = OrtGetApiBase()->GetVersionString();
    workload_.execute = [](void* self) { return static_cast<Network*>(self)->execute(); };
    workload_.destroy = [](void* self) { delete static_cast<Network*>(self); };
    workload_.inputs = input_tensors_.data();
    workload_.input_count = input_tensors_.size();
    workload_.outputs = output_tensors_.data();
    workload_.output_count = output_tensors_.size();
  }
  const rtexec_workload* workload() const { return &workload_; }

 private:
  void open_session(const char* file) {
    static OrtEnv* const environment = [] {
      OrtEnv* env = nullptr;
      check(ort.CreateEnv(ORT_LOGGING_LEVEL_ERROR, "rtexec", &env));
      return env;
    }();
    const auto options = made<Options>(ort.CreateSessionOptions);
    check(ort.SetIntraOpNumThreads(options.get(), 1)); // the engine's own thread computes
    check(ort.SetInterOpNumThreads(options.get(), 1));
    check(ort.SetSessionGraphOptimizationLevel(options.get(), ORT_ENABLE_ALL));
    session_ = made<Session>(ort.CreateSession, environment, file, options.get());
    memory_ = made<Memory>(ort.CreateCpuMemoryInfo, ORT_DEVICE_ALLOCATOR, ORT_MEM_TYPE_DEFAULT);
  }

  template <class Get> std::string name_of(Get get, std::size_t index) {
    OrtAllocator* allocator = nullptr;
    char* name = nullptr;
    check(ort.GetAllocatorWithDefaultOptions(&allocator));
    check(get(session_.get(), index, allocator, &name));
    std::string copy = name;
    check(ort.AllocatorFree(allocator, name));
    return copy;
  }

  void add_inputs(const rtexec_model& model) {
    std::size_t count = 0;
    check(ort.SessionGetInputCount(session_.get(), &count));
    inputs_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      inputs_[i].name = name_of(ort.SessionGetInputName, i);
      const auto type = made<TypeInfo>(ort.SessionGetInputTypeInfo, session_.get(), i);
      const OrtTensorTypeAndShapeInfo* info = nullptr;
      check(ort.CastTypeInfoToTensorInfo(type.get(), &info));
      read(info, inputs_[i]);
      for (std::size_t s = 0; s < model.shape_count; ++s)
        if (inputs_[i].name == model.shapes[s].input)
          inputs_[i].shape.assign(model.shapes[s].shape, model.shapes[s].shape + model.shapes[s].rank);
      for (const std::int64_t size : inputs_[i].shape)
        if (size < 1) throw std::runtime_error("input '" + inputs_[i].name + "' has an open dimension: give its shape");
    }
    add_ports(inputs_, input_values_, input_names_, input_tensors_);
  }

  /// A first run determines their sizes. It also allocates the memory that later runs use.
  void add_outputs() {
    std::size_t count = 0;
    check(ort.SessionGetOutputCount(session_.get(), &count));
    outputs_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      outputs_[i].name = name_of(ort.SessionGetOutputName, i);
      output_names_.push_back(outputs_[i].name.c_str());
    }
    output_values_.resize(count); // null: the library allocates them
    check(run());
    for (std::size_t i = 0; i < count; ++i) {
      const Value value(output_values_[i]);
      read(made<Info>(ort.GetTensorTypeAndShape, value.get()).get(), outputs_[i]);
    }
    output_values_.clear();
    output_names_.clear();
    add_ports(outputs_, output_values_, output_names_, output_tensors_);
    check(run());
  }

  /// Adds a buffer under its names on both sides.
  void add_ports(std::vector<Port>& ports, std::vector<OrtValue*>& values, std::vector<const char*>& names,
                 std::vector<rtexec_tensor>& tensors) {
    for (Port& port : ports) {
      port.data.resize(port.bytes() / sizeof(std::max_align_t) + 1);
      owned_.push_back(made<Value>(ort.CreateTensorWithDataAsOrtValue, memory_.get(), port.data.data(), port.bytes(),
                                   port.shape.data(), port.shape.size(), port.onnx_type));
      values.push_back(owned_.back().get());
      names.push_back(port.name.c_str());
      tensors.push_back({sizeof(rtexec_tensor), port.name.c_str(), type_of(port.onnx_type).type, port.shape.size(),
                         port.shape.data(), port.data.data(), port.bytes()});
    }
  }

  OrtStatus* run() noexcept {
    return ort.Run(session_.get(), nullptr, input_names_.data(), input_values_.data(), input_values_.size(),
                   output_names_.data(), output_values_.size(), output_values_.data());
  }
  rtexec_code execute() noexcept {
    OrtStatus* const status = run();
    if (status == nullptr) return RTEXEC_OK;
    ort.ReleaseStatus(status);
    return RTEXEC_DEVICE_FAULT;
  }

  Session session_;
  Memory memory_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Value> owned_;
  std::vector<OrtValue*> input_values_, output_values_;
  std::vector<const char*> input_names_, output_names_;
  std::vector<rtexec_tensor> input_tensors_, output_tensors_;
  rtexec_workload workload_{};
};

const rtexec_workload* open(const rtexec_model* model, rtexec_error* error) {
  try {
    return std::make_unique<Network>(*model).release()->workload();
  } catch (const std::exception& problem) {
    error->code = RTEXEC_BAD_INPUT;
    std::snprintf(error->what, sizeof error->what, "%s", problem.what());
    return nullptr;
  }
}

} // namespace

const rtexec_backend* rtexec_backend_get() {
  static const std::string name = std::string("ONNX Runtime ") + OrtGetApiBase()->GetVersionString();
  static const rtexec_backend backend{sizeof backend, RTEXEC_BACKEND_VERSION, name.c_str(), RTEXEC_DEVICE_HOST, open};
  return &backend;
}
