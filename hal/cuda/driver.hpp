// The CUDA driver API as one table of functions, opened at run time (libcuda.so.1). So one program runs with and
// without a GPU, and a test can make each call fail. Types and constants follow the driver's ABI, which is stable since
// CUDA 10.2. If a CUDA toolkit is installed, a test compares them with cuda.h.
//
// All calls of the driver in rtexec go through this table. Functions return the driver's codes; CudaDevice::check()
// converts them to a Status.
#pragma once

#include <rtexec/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rtexec::hal::cuda {

using DevicePointer = std::uint64_t;
using Ordinal = int;
struct ContextRecord;
struct ModuleRecord;
struct FunctionRecord;
struct StreamRecord;
struct EventRecord;
struct GraphRecord;
struct GraphExecRecord;
using Context = ContextRecord*;
using ModuleHandle = ModuleRecord*;
using Function = FunctionRecord*;
using Stream = StreamRecord*;
using Event = EventRecord*;
using GraphHandle = GraphRecord*;
using GraphExec = GraphExecRecord*;
using AllocationHandle = std::uint64_t;

/// CUresult. Only the values that this code distinguishes have names.
enum class Code : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  stub_library = 34,
  no_device = 100,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  ecc_uncorrectable = 214,
  unsupported_ptx = 222,
  contained = 226,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_timeout = 702,
  context_destroyed = 709,
  assert_failed = 710,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  tensor_memory_leak = 721,
  not_permitted = 800,
  not_supported = 801,
  mps_client_terminated = 810,
  capture_unsupported = 900,
  unknown = 999,
};

/// CUdevice_attribute.
enum class Attribute : int {
  multiprocessors = 16,
  integrated = 18,
  copy_engines = 40,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  /// Host and device can access managed memory concurrently: accesses fault, and pages can be prefetched
  concurrent_managed_access = 89,
};

/// CUmemLocation.
struct Location {
  int type = 1; // CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
};

/// CUmemAllocationProp.
struct AllocationProperties {
  int type = 1; // CU_MEM_ALLOCATION_TYPE_PINNED
  int requested_handle_types = 0;
  Location location;
  void* win32_metadata = nullptr;
  struct {
    unsigned char compression = 0;
    unsigned char gpu_direct_rdma_capable = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};
static_assert(sizeof(AllocationProperties) == 32);

/// CUmemAccess_flags.
enum class AccessFlags : int { none = 0, read = 1, read_write = 3 };

/// CUmemAccessDesc.
struct AccessDescriptor {
  Location location;
  AccessFlags flags = AccessFlags::none;
};
static_assert(sizeof(AccessDescriptor) == 12);

/// CUlaunchAttribute.
struct LaunchAttribute {
  static constexpr int cluster_dimension = 4;
  static constexpr int cluster_scheduling_policy = 5;
  static constexpr int balance_load = 2; // policy that spreads blocks over all multiprocessors
  static constexpr int programmatic_stream_serialization = 6;
  int id = 0;
  char pad[4] = {};
  union {
    char pad[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int cluster_policy;
    int programmatic_serialization_allowed;
  } value = {};
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};
static_assert(sizeof(LaunchConfig) == 56);

inline constexpr unsigned event_default = 0;
inline constexpr unsigned event_blocking_sync = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned event_record_external = 1;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned host_alloc_portable_and_mapped = 1 | 2;
inline constexpr unsigned host_register_portable = 1;
inline constexpr unsigned managed_attach_global = 1;
inline constexpr Ordinal cpu = -1;               // the prefetch target "host" of managed memory
inline constexpr int file_descriptor_handle = 1; // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int capture_thread_local = 1;
inline constexpr int function_max_dynamic_shared = 8; // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr unsigned schedule_blocking_sync = 4;

/// Functions marked "newer" are null if the driver is older than the version that introduced them. Functions marked
/// "optional" are null if a separate library is missing.
struct Driver {
  Code (*init)(unsigned flags);
  Code (*driver_version)(int* version);
  Code (*error_name)(Code code, const char** name);
  Code (*error_text)(Code code, const char** text);
  // devices and contexts
  Code (*device_count)(int* count);
  Code (*device_get)(Ordinal* device, int number);
  Code (*device_name)(char* name, int size, Ordinal device);
  Code (*device_attribute)(int* value, Attribute attribute, Ordinal device);
  Code (*device_memory)(std::size_t* bytes, Ordinal device);
  /// Optional: the free memory that NVML reports. memory_info needs a context, which itself takes memory
  Code (*free_without_context)(std::size_t* bytes, Ordinal device);
  Code (*bus_id)(char* text, int size, Ordinal device); // optional
  /// The primary context, which cuDNN and cuBLAS use as well
  Code (*context_retain)(Context* context, Ordinal device);
  Code (*context_release)(Ordinal device);
  Code (*context_set_current)(Context context);
  Code (*stream_priorities)(int* least, int* greatest);
  // memory
  Code (*memory_info)(std::size_t* free, std::size_t* total);
  Code (*allocate)(DevicePointer* pointer, std::size_t size);
  Code (*free)(DevicePointer pointer);
  Code (*allocate_managed)(DevicePointer* pointer, std::size_t size, unsigned flags);
  Code (*allocate_host)(void** pointer, std::size_t size, unsigned flags);
  Code (*free_host)(void* pointer);
  Code (*host_device_pointer)(DevicePointer* pointer, void* host, unsigned flags);
  Code (*register_host)(void* pointer, std::size_t size, unsigned flags); // page-locks existing memory
  Code (*unregister_host)(void* pointer);
  /// Copies between any two addresses, also host addresses
  Code (*copy_async)(DevicePointer to, DevicePointer from, std::size_t size, Stream stream);
  Code (*set_bytes_async)(DevicePointer to, unsigned char value, std::size_t count, Stream stream);
  /// The version of this function since CUDA 8, which every later driver has, too. Its calls cannot be captured in a
  /// graph
  Code (*prefetch_async)(DevicePointer managed, std::size_t size, Ordinal to, Stream stream);
  // virtual memory management (CUDA 10.2)
  Code (*granularity)(std::size_t* bytes, const AllocationProperties* properties, int option);
  Code (*create)(AllocationHandle* handle, std::size_t size, const AllocationProperties* properties,
                 unsigned long long flags);
  Code (*release)(AllocationHandle handle);
  /// Newer, and not supported by every board. For `file_descriptor_handle`, `handle` points to an int
  Code (*export_handle)(void* handle, AllocationHandle chunk, int type, unsigned long long flags);
  Code (*address_reserve)(DevicePointer* pointer, std::size_t size, std::size_t alignment, DevicePointer wanted,
                          unsigned long long flags);
  Code (*address_free)(DevicePointer pointer, std::size_t size);
  Code (*map)(DevicePointer pointer, std::size_t size, std::size_t offset, AllocationHandle handle,
              unsigned long long flags);
  Code (*unmap)(DevicePointer pointer, std::size_t size);
  Code (*set_access)(DevicePointer pointer, std::size_t size, const AccessDescriptor* descriptors, std::size_t count);
  // streams, events, graphs
  Code (*stream_create)(Stream* stream, unsigned flags, int priority);
  Code (*stream_destroy)(Stream stream);
  Code (*stream_synchronize)(Stream stream);
  Code (*stream_wait_event)(Stream stream, Event event, unsigned flags);
  Code (*begin_capture)(Stream stream, int mode);
  Code (*end_capture)(Stream stream, GraphHandle* graph);
  Code (*event_create)(Event* event, unsigned flags);
  Code (*event_destroy)(Event event);
  Code (*event_record)(Event event, Stream stream);
  Code (*event_record_with_flags)(Event event, Stream stream, unsigned flags); // newer: since CUDA 11.1
  Code (*event_query)(Event event);
  Code (*event_synchronize)(Event event);
  Code (*event_elapsed)(float* milliseconds, Event begin, Event end);
  /// The parameter `flags` exists since 11.4
  Code (*graph_instantiate)(GraphExec* executable, GraphHandle graph, unsigned long long flags);
  Code (*graph_upload)(GraphExec executable, Stream stream); // newer: since CUDA 11.1
  Code (*graph_launch)(GraphExec executable, Stream stream);
  Code (*graph_exec_destroy)(GraphExec executable);
  Code (*graph_destroy)(GraphHandle graph);
  // kernels
  Code (*module_load)(ModuleHandle* module, const void* image);
  Code (*module_unload)(ModuleHandle module);
  Code (*module_function)(Function* function, ModuleHandle module, const char* name);
  Code (*function_set_attribute)(Function function, int attribute, int value);
  Code (*launch)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                 unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** arguments,
                 void** extra);
  /// Newer: since CUDA 11.8
  Code (*launch_with)(const LaunchConfig* config, Function function, void** arguments, void** extra);
};

/// Returns the driver of this machine, opened on first use and never closed. Returns unsupported if no driver is
/// installed (the error names the missing file), and refused if the driver is too old. Any thread.
[[nodiscard]] Result<const Driver*> open_driver();
/// Loads the functions of a driver from the file `library` and never closes the file. open_driver() loads libcuda.so.1.
[[nodiscard]] Result<Driver> load_driver(const char* library);

/// Replaces the driver for the whole process while this object lives. For tests.
class DriverOverride {
 public:
  explicit DriverOverride(const Driver& replacement) noexcept;
  ~DriverOverride();
  DriverOverride(const DriverOverride&) = delete;
  DriverOverride& operator=(const DriverOverride&) = delete;

 private:
  const Driver* previous_;
};

/// True if the error makes the context unusable. Only a new process can then use the device again.
[[nodiscard]] bool is_sticky(Code code) noexcept;
/// Returns the error's name and description: "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
[[nodiscard]] std::string describe(const Driver& driver, Code code);

} // namespace rtexec::hal::cuda
