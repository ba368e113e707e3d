// Tests our declarations of the driver's ABI against NVIDIA's at compile time, if a CUDA toolkit is installed.
#if __has_include(<cuda.h>)

#include "hal/cuda/driver.hpp"
#include "test/hal/same_function.hpp"

#include <cstddef>
#include <cuda.h>

namespace rtexec::hal::cuda {
namespace {

using test::same_function;

static_assert(sizeof(Code) == sizeof(CUresult));
static_assert(!same_function<Code (*)(int), CUresult (*)(int, int)> &&
              !same_function<Code (*)(int), CUresult (*)(int*)> &&
              !same_function<Code (*)(int*), CUresult (*)(long*)> &&
              !same_function<Code (*)(float), CUresult (*)(int)>);

#define SAME(member, function) static_assert(same_function<decltype(Driver::member), decltype(&function)>)
SAME(init, cuInit);
SAME(driver_version, cuDriverGetVersion);
SAME(error_name, cuGetErrorName);
SAME(error_text, cuGetErrorString);
SAME(device_count, cuDeviceGetCount);
SAME(device_get, cuDeviceGet);
SAME(device_name, cuDeviceGetName);
SAME(device_attribute, cuDeviceGetAttribute);
SAME(device_memory, cuDeviceTotalMem);
SAME(context_retain, cuDevicePrimaryCtxRetain);
SAME(context_release, cuDevicePrimaryCtxRelease);
SAME(context_set_current, cuCtxSetCurrent);
SAME(stream_priorities, cuCtxGetStreamPriorityRange);
SAME(memory_info, cuMemGetInfo);
SAME(allocate, cuMemAlloc);
SAME(free, cuMemFree);
SAME(allocate_managed, cuMemAllocManaged);
SAME(allocate_host, cuMemHostAlloc);
SAME(free_host, cuMemFreeHost);
SAME(host_device_pointer, cuMemHostGetDevicePointer);
SAME(register_host, cuMemHostRegister);
SAME(unregister_host, cuMemHostUnregister);
SAME(copy_async, cuMemcpyAsync);
SAME(set_bytes_async, cuMemsetD8Async);
SAME(granularity, cuMemGetAllocationGranularity);
SAME(create, cuMemCreate);
SAME(export_handle, cuMemExportToShareableHandle);
SAME(release, cuMemRelease);
SAME(address_reserve, cuMemAddressReserve);
SAME(address_free, cuMemAddressFree);
SAME(map, cuMemMap);
SAME(unmap, cuMemUnmap);
SAME(set_access, cuMemSetAccess);
SAME(stream_create, cuStreamCreateWithPriority);
SAME(stream_destroy, cuStreamDestroy);
SAME(stream_synchronize, cuStreamSynchronize);
SAME(stream_wait_event, cuStreamWaitEvent);
SAME(begin_capture, cuStreamBeginCapture);
SAME(end_capture, cuStreamEndCapture);
SAME(event_create, cuEventCreate);
SAME(event_destroy, cuEventDestroy);
SAME(event_record, cuEventRecord);
SAME(event_query, cuEventQuery);
SAME(event_synchronize, cuEventSynchronize);
SAME(event_elapsed, cuEventElapsedTime);
SAME(graph_launch, cuGraphLaunch);
SAME(graph_exec_destroy, cuGraphExecDestroy);
SAME(graph_destroy, cuGraphDestroy);
SAME(module_load, cuModuleLoadData);
SAME(module_unload, cuModuleUnload);
SAME(module_function, cuModuleGetFunction);
SAME(function_set_attribute, cuFuncSetAttribute);
SAME(launch, cuLaunchKernel);
#if CUDA_VERSION >= 11010
SAME(event_record_with_flags, cuEventRecordWithFlags);
SAME(graph_upload, cuGraphUpload);
static_assert(event_record_external == CU_EVENT_RECORD_EXTERNAL);
#endif
#if CUDA_VERSION < 13000
SAME(prefetch_async, cuMemPrefetchAsync); // newer versions use this name for another function
#endif
#if CUDA_VERSION >= 12000
SAME(graph_instantiate, cuGraphInstantiate);
#endif

template <class Ours, class Theirs> constexpr bool is(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

static_assert(is(Code::success, CUDA_SUCCESS) && is(Code::invalid_value, CUDA_ERROR_INVALID_VALUE));
static_assert(is(Code::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY) &&
              is(Code::not_initialized, CUDA_ERROR_NOT_INITIALIZED));
static_assert(is(Code::no_device, CUDA_ERROR_NO_DEVICE) && is(Code::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
static_assert(is(Code::invalid_context, CUDA_ERROR_INVALID_CONTEXT) &&
              is(Code::invalid_handle, CUDA_ERROR_INVALID_HANDLE));
static_assert(is(Code::ecc_uncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE) &&
              is(Code::context_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED));
static_assert(is(Code::not_found, CUDA_ERROR_NOT_FOUND) && is(Code::not_ready, CUDA_ERROR_NOT_READY));
static_assert(is(Code::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS) &&
              is(Code::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT));
static_assert(is(Code::assert_failed, CUDA_ERROR_ASSERT) &&
              is(Code::hardware_stack_error, CUDA_ERROR_HARDWARE_STACK_ERROR));
static_assert(is(Code::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION) &&
              is(Code::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS));
static_assert(is(Code::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE) &&
              is(Code::invalid_pc, CUDA_ERROR_INVALID_PC));
static_assert(is(Code::launch_failed, CUDA_ERROR_LAUNCH_FAILED) && is(Code::not_permitted, CUDA_ERROR_NOT_PERMITTED));
static_assert(is(Code::not_supported, CUDA_ERROR_NOT_SUPPORTED) && is(Code::unknown, CUDA_ERROR_UNKNOWN));
static_assert(is(Code::capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
#if CUDA_VERSION >= 13000
static_assert(is(Code::stub_library, CUDA_ERROR_STUB_LIBRARY) &&
              is(Code::unsupported_ptx, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
static_assert(is(Code::contained, CUDA_ERROR_CONTAINED) && is(Code::tensor_memory_leak, CUDA_ERROR_TENSOR_MEMORY_LEAK));
static_assert(is(Code::mps_client_terminated, CUDA_ERROR_MPS_CLIENT_TERMINATED));
#endif

static_assert(is(Attribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(is(Attribute::integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED));
static_assert(is(Attribute::copy_engines, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT));
static_assert(is(Attribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(is(Attribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(is(Attribute::concurrent_managed_access, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS));
static_assert(is(cpu, CU_DEVICE_CPU));

static_assert(sizeof(Location) == sizeof(CUmemLocation) && is(Location{}.type, CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(offsetof(Location, id) == offsetof(CUmemLocation, id));
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp) &&
              is(AllocationProperties{}.type, CU_MEM_ALLOCATION_TYPE_PINNED));
static_assert(offsetof(AllocationProperties, requested_handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, win32_metadata) == offsetof(CUmemAllocationProp, win32HandleMetaData));
static_assert(offsetof(AllocationProperties, flags) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(AccessDescriptor) == sizeof(CUmemAccessDesc) &&
              offsetof(AccessDescriptor, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(is(AccessFlags::none, CU_MEM_ACCESS_FLAGS_PROT_NONE) &&
              is(AccessFlags::read, CU_MEM_ACCESS_FLAGS_PROT_READ));
static_assert(is(AccessFlags::read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
static_assert(sizeof(AllocationHandle) == sizeof(CUmemGenericAllocationHandle) &&
              sizeof(DevicePointer) == sizeof(CUdeviceptr));

#if CUDA_VERSION >= 11080
SAME(launch_with, cuLaunchKernelEx);
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(LaunchAttribute::cluster_dimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(LaunchAttribute::cluster_scheduling_policy == CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE &&
              LaunchAttribute::balance_load == CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
static_assert(event_record_external == CU_EVENT_RECORD_EXTERNAL);
static_assert(LaunchAttribute::programmatic_stream_serialization ==
              CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(LaunchConfig, grid_x) == offsetof(CUlaunchConfig, gridDimX) &&
              offsetof(LaunchConfig, block_x) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
              offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
#endif

static_assert(event_default == CU_EVENT_DEFAULT && event_blocking_sync == CU_EVENT_BLOCKING_SYNC &&
              event_disable_timing == CU_EVENT_DISABLE_TIMING);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING &&
              is(capture_thread_local, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(host_alloc_portable_and_mapped == (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
static_assert(host_register_portable == CU_MEMHOSTREGISTER_PORTABLE);
static_assert(managed_attach_global == CU_MEM_ATTACH_GLOBAL && schedule_blocking_sync == CU_CTX_SCHED_BLOCKING_SYNC);
static_assert(is(function_max_dynamic_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(CU_MEM_ALLOC_GRANULARITY_MINIMUM == 0);

} // namespace
} // namespace rtexec::hal::cuda

#endif
