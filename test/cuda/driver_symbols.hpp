// The functions of libcuda.so.1 that the simulated CUDA driver implements. A program that links the simulated driver
// calls them directly.
#pragma once

#include "hal/cuda/driver.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// FUNCTION(manner, member of the table of hal/cuda/driver.hpp, symbol): the functions that rtexec itself calls. The
/// manner says how the function answers on a broken device, or without a context.
#define RTEXEC_TABLE_FUNCTIONS(FUNCTION)                             \
  FUNCTION(harmless, init, cuInit)                                   \
  FUNCTION(harmless, driver_version, cuDriverGetVersion)             \
  FUNCTION(harmless, error_name, cuGetErrorName)                     \
  FUNCTION(harmless, error_text, cuGetErrorString)                   \
  FUNCTION(harmless, device_count, cuDeviceGetCount)                 \
  FUNCTION(harmless, device_get, cuDeviceGet)                        \
  FUNCTION(harmless, device_name, cuDeviceGetName)                   \
  FUNCTION(harmless, device_attribute, cuDeviceGetAttribute)         \
  FUNCTION(harmless, device_memory, cuDeviceTotalMem_v2)             \
  FUNCTION(harmless, context_retain, cuDevicePrimaryCtxRetain)       \
  FUNCTION(harmless, context_release, cuDevicePrimaryCtxRelease_v2)  \
  FUNCTION(harmless, context_set_current, cuCtxSetCurrent)           \
  FUNCTION(works, stream_priorities, cuCtxGetStreamPriorityRange)    \
  FUNCTION(works, memory_info, cuMemGetInfo_v2)                      \
  FUNCTION(works, allocate, cuMemAlloc_v2)                           \
  FUNCTION(gives_back, free, cuMemFree_v2)                           \
  FUNCTION(works, allocate_managed, cuMemAllocManaged)               \
  FUNCTION(works, allocate_host, cuMemHostAlloc)                     \
  FUNCTION(gives_back, free_host, cuMemFreeHost)                     \
  FUNCTION(works, host_device_pointer, cuMemHostGetDevicePointer_v2) \
  FUNCTION(works, register_host, cuMemHostRegister_v2)               \
  FUNCTION(gives_back, unregister_host, cuMemHostUnregister)         \
  FUNCTION(works, copy_async, cuMemcpyAsync)                         \
  FUNCTION(works, set_bytes_async, cuMemsetD8Async)                  \
  FUNCTION(works, prefetch_async, cuMemPrefetchAsync)                \
  FUNCTION(harmless, granularity, cuMemGetAllocationGranularity)     \
  FUNCTION(works, create, cuMemCreate)                               \
  FUNCTION(gives_back, release, cuMemRelease)                        \
  FUNCTION(works, address_reserve, cuMemAddressReserve)              \
  FUNCTION(gives_back, address_free, cuMemAddressFree)               \
  FUNCTION(works, map, cuMemMap)                                     \
  FUNCTION(gives_back, unmap, cuMemUnmap)                            \
  FUNCTION(works, set_access, cuMemSetAccess)                        \
  FUNCTION(works, stream_create, cuStreamCreateWithPriority)         \
  FUNCTION(gives_back, stream_destroy, cuStreamDestroy_v2)           \
  FUNCTION(works, stream_synchronize, cuStreamSynchronize)           \
  FUNCTION(works, stream_wait_event, cuStreamWaitEvent)              \
  FUNCTION(works, begin_capture, cuStreamBeginCapture_v2)            \
  FUNCTION(gives_back, end_capture, cuStreamEndCapture)              \
  FUNCTION(works, event_create, cuEventCreate)                       \
  FUNCTION(gives_back, event_destroy, cuEventDestroy_v2)             \
  FUNCTION(works, event_record, cuEventRecord)                       \
  FUNCTION(works, event_query, cuEventQuery)                         \
  FUNCTION(works, event_synchronize, cuEventSynchronize)             \
  FUNCTION(works, event_elapsed, cuEventElapsedTime)                 \
  FUNCTION(works, graph_instantiate, cuGraphInstantiateWithFlags)    \
  FUNCTION(works, graph_launch, cuGraphLaunch)                       \
  FUNCTION(gives_back, graph_exec_destroy, cuGraphExecDestroy)       \
  FUNCTION(gives_back, graph_destroy, cuGraphDestroy)                \
  FUNCTION(works, module_load, cuModuleLoadData)                     \
  FUNCTION(gives_back, module_unload, cuModuleUnload)                \
  FUNCTION(works, module_function, cuModuleGetFunction)              \
  FUNCTION(works, function_set_attribute, cuFuncSetAttribute)        \
  FUNCTION(works, launch, cuLaunchKernel)                            \
  FUNCTION(harmless, bus_id, cuDeviceGetPCIBusId)                    \
  FUNCTION(works, export_handle, cuMemExportToShareableHandle)       \
  FUNCTION(works, event_record_with_flags, cuEventRecordWithFlags)   \
  FUNCTION(works, graph_upload, cuGraphUpload)                       \
  FUNCTION(works, launch_with, cuLaunchKernelEx)

namespace rtexec::hal::cuda {

#define DECLARE(manner, member, symbol) extern "C" std::remove_pointer_t<decltype(Driver::member)> symbol;
RTEXEC_TABLE_FUNCTIONS(DECLARE)
#undef DECLARE

/// CUDA_MEMSET_NODE_PARAMS.
struct FillParameters {
  DevicePointer to;
  std::size_t pitch;
  unsigned value, element_size;
  std::size_t width, height; // in elements
};

extern "C" {
Code cuCtxCreate_v2(Context*, unsigned, Ordinal);
Code cuCtxSynchronize();
Code cuMemAllocAsync(DevicePointer*, std::size_t, Stream);
Code cuMemFreeAsync(DevicePointer, Stream);
Code cuStreamCreate(Stream*, unsigned);
Code cuCtxDestroy_v2(Context);
Code cuDevicePrimaryCtxReset_v2(Ordinal);
Code cuIpcGetMemHandle(void*, DevicePointer);
Code cuMemAllocPitch_v2(DevicePointer*, std::size_t*, std::size_t, std::size_t, unsigned);
Code cuMemGetAddressRange_v2(DevicePointer*, std::size_t*, DevicePointer);
Code cuPointerGetAttribute(void*, int, DevicePointer);
Code cuPointerGetAttributes(unsigned, int*, void**, DevicePointer);
Code cuStreamIsCapturing(Stream, int*);
Code cuThreadExchangeStreamCaptureMode(int*);
Code cuGraphCreate(GraphHandle*, unsigned);
Code cuMemcpyDtoH_v2(void*, DevicePointer, std::size_t);
Code cuLaunchHostFunc(Stream, void (*)(void*), void*);
Code cuLaunchHostFunc_ptsz(Stream, void (*)(void*), void*);
Code cuLaunchKernel_ptsz(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                         void**);
Code cuMemcpyHtoD_v2(DevicePointer, const void*, std::size_t);
Code cuStreamWaitValue32_v2(Stream, DevicePointer, std::uint32_t, unsigned);
Code cuMemcpyDtoDAsync_v2(DevicePointer, DevicePointer, std::size_t, Stream);
Code cuCtxSynchronize_v2(Context);
Code cuMemcpyDtoHAsync_v2(void*, DevicePointer, std::size_t, Stream);
Code cuStreamQuery(Stream);
Code cuMemcpyHtoDAsync_v2(DevicePointer, const void*, std::size_t, Stream);
Code cuGraphAddMemsetNode(void**, GraphHandle, void* const*, std::size_t, const FillParameters*, Context);
}

} // namespace rtexec::hal::cuda
