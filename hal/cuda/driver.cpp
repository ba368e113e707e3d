#include "hal/cuda/driver.hpp"

#include <atomic>
#include <dlfcn.h>

namespace rtexec::hal::cuda {
namespace {

template <class Function> bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

// ---- free memory before a context exists ----

/// The functions of NVML that this file uses. Types are those of nvml.h.
struct Management {
  struct Memory {
    unsigned long long total, free, used;
  };
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device)(const char* bus, void** handle) = nullptr;
  int (*memory)(void* handle, Memory* memory) = nullptr;
  Code (*bus_id)(char* text, int size, Ordinal device) = nullptr; // a function of the driver
};
Management management;

bool load_management(void* driver) {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && find(library, "nvmlInit_v2", management.init) &&
         find(library, "nvmlShutdown", management.shutdown) &&
         find(library, "nvmlDeviceGetHandleByPciBusId_v2", management.device) &&
         find(library, "nvmlDeviceGetMemoryInfo", management.memory) &&
         find(driver, "cuDeviceGetPCIBusId", management.bus_id);
}

Code free_by_management(std::size_t* bytes, Ordinal ordinal) {
  char bus[32] = {};
  if (const Code code = management.bus_id(bus, sizeof bus, ordinal); code != Code::success) return code;
  if (management.init() != 0) return Code::not_supported;
  void* device = nullptr;
  Management::Memory memory{};
  const bool known = management.device(bus, &device) == 0 && management.memory(device, &memory) == 0;
  (void)management.shutdown();
  if (!known) return Code::not_supported;
  *bytes = static_cast<std::size_t>(memory.free);
  return Code::success;
}

// ---- drivers before 11.4 ----

Code (*instantiate_with_log)(GraphExec*, GraphHandle, void** node, char* log, std::size_t size) = nullptr;

Code instantiate_without_flags(GraphExec* executable, GraphHandle graph, unsigned long long) {
  return instantiate_with_log(executable, graph, nullptr, nullptr, 0);
}

bool find_instantiate(void* library, Driver& driver) {
  if (find(library, "cuGraphInstantiateWithFlags", driver.graph_instantiate)) return true;
  driver.graph_instantiate = instantiate_without_flags;
  return find(library, "cuGraphInstantiate_v2", instantiate_with_log) ||
         find(library, "cuGraphInstantiate", instantiate_with_log);
}

// ---- the table ----

/// Fills `driver`. Returns the name of the first missing function, or null. The names are the symbols in the library,
/// to which cuda.h of CUDA 10.2 to 13 maps the documented names.
const char* fill(void* library, Driver& driver) {
#define NEED(member, symbol) \
  if (!find(library, symbol, driver.member)) return symbol
  NEED(init, "cuInit");
  NEED(driver_version, "cuDriverGetVersion");
  NEED(error_name, "cuGetErrorName");
  NEED(error_text, "cuGetErrorString");
  NEED(device_count, "cuDeviceGetCount");
  NEED(device_get, "cuDeviceGet");
  NEED(device_name, "cuDeviceGetName");
  NEED(device_attribute, "cuDeviceGetAttribute");
  NEED(device_memory, "cuDeviceTotalMem_v2");
  NEED(context_retain, "cuDevicePrimaryCtxRetain");
  if (!find(library, "cuDevicePrimaryCtxRelease_v2", driver.context_release))
    NEED(context_release, "cuDevicePrimaryCtxRelease");
  NEED(context_set_current, "cuCtxSetCurrent");
  NEED(stream_priorities, "cuCtxGetStreamPriorityRange");
  NEED(memory_info, "cuMemGetInfo_v2");
  NEED(allocate, "cuMemAlloc_v2");
  NEED(free, "cuMemFree_v2");
  NEED(allocate_managed, "cuMemAllocManaged");
  NEED(allocate_host, "cuMemHostAlloc");
  NEED(free_host, "cuMemFreeHost");
  NEED(host_device_pointer, "cuMemHostGetDevicePointer_v2");
  NEED(register_host, "cuMemHostRegister_v2");
  NEED(unregister_host, "cuMemHostUnregister");
  NEED(copy_async, "cuMemcpyAsync");
  NEED(set_bytes_async, "cuMemsetD8Async");
  NEED(prefetch_async, "cuMemPrefetchAsync");
  NEED(granularity, "cuMemGetAllocationGranularity");
  NEED(create, "cuMemCreate");
  NEED(release, "cuMemRelease");
  NEED(address_reserve, "cuMemAddressReserve");
  NEED(address_free, "cuMemAddressFree");
  NEED(map, "cuMemMap");
  NEED(unmap, "cuMemUnmap");
  NEED(set_access, "cuMemSetAccess");
  NEED(stream_create, "cuStreamCreateWithPriority");
  NEED(stream_destroy, "cuStreamDestroy_v2");
  NEED(stream_synchronize, "cuStreamSynchronize");
  NEED(stream_wait_event, "cuStreamWaitEvent");
  NEED(begin_capture, "cuStreamBeginCapture_v2");
  NEED(end_capture, "cuStreamEndCapture");
  NEED(event_create, "cuEventCreate");
  NEED(event_destroy, "cuEventDestroy_v2");
  NEED(event_record, "cuEventRecord");
  NEED(event_query, "cuEventQuery");
  NEED(event_synchronize, "cuEventSynchronize");
  NEED(event_elapsed, "cuEventElapsedTime");
  NEED(graph_launch, "cuGraphLaunch");
  NEED(graph_exec_destroy, "cuGraphExecDestroy");
  NEED(graph_destroy, "cuGraphDestroy");
  NEED(module_load, "cuModuleLoadData");
  NEED(module_unload, "cuModuleUnload");
  NEED(module_function, "cuModuleGetFunction");
  NEED(function_set_attribute, "cuFuncSetAttribute");
  NEED(launch, "cuLaunchKernel");
#undef NEED
  if (!find_instantiate(library, driver)) return "cuGraphInstantiate";
  (void)find(library, "cuEventRecordWithFlags", driver.event_record_with_flags);
  (void)find(library, "cuMemExportToShareableHandle", driver.export_handle);
  (void)find(library, "cuGraphUpload", driver.graph_upload);
  (void)find(library, "cuDeviceGetPCIBusId", driver.bus_id);
  (void)find(library, "cuLaunchKernelEx", driver.launch_with);
  if (load_management(library)) driver.free_without_context = free_by_management;
  return nullptr;
}

std::atomic<const Driver*> replaced{nullptr};

} // namespace

Result<Driver> load_driver(const char* library) {
  void* opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* why = ::dlerror();
    return fail(Errc::unsupported, std::string("There is no NVIDIA driver on this machine: ") +
                                       (why == nullptr ? library : why) +
                                       ".\nInstall the driver of the GPU, or run on a board whose device is \"host\".");
  }
  Driver driver{};
  if (const char* missing = fill(opened, driver); missing != nullptr) {
    return fail(Errc::refused, std::string(library) + " has no function " + missing +
                                   ": the NVIDIA driver is older than CUDA 10.2.\nInstall a newer driver.");
  }
  return driver;
}

Result<const Driver*> open_driver() {
  if (const Driver* replacement = replaced.load(std::memory_order_acquire); replacement != nullptr) return replacement;
  static const Result<Driver> real = load_driver("libcuda.so.1");
  if (!real) return Unexpected(real.error());
  return &*real;
}

DriverOverride::DriverOverride(const Driver& replacement) noexcept : previous_(replaced.exchange(&replacement)) {}
DriverOverride::~DriverOverride() { replaced.store(previous_); }

// True for errors after which, according to cuda.h, the process or the context cannot be used any more. `unknown` is an
// internal error of the driver; later results of the driver cannot be trusted.
bool is_sticky(Code code) noexcept {
  switch (code) {
  case Code::ecc_uncorrectable:
  case Code::contained:
  case Code::illegal_address:
  case Code::launch_timeout:
  case Code::context_destroyed:
  case Code::assert_failed:
  case Code::hardware_stack_error:
  case Code::illegal_instruction:
  case Code::misaligned_address:
  case Code::invalid_address_space:
  case Code::invalid_pc:
  case Code::launch_failed:
  case Code::tensor_memory_leak:
  case Code::mps_client_terminated:
  case Code::unknown: return true;
  default: return false;
  }
}

std::string describe(const Driver& driver, Code code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.error_name(code, &name) != Code::success || name == nullptr)
    return "CUDA error " + std::to_string(static_cast<int>(code));
  if (driver.error_text(code, &text) != Code::success || text == nullptr) return name;
  return std::string(name) + " (" + text + ")";
}

} // namespace rtexec::hal::cuda
