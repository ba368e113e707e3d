// CUDA's functions as the test programs call them, which are linked with the stand-in driver, and what they do where
// one fails.
#pragma once

#include "hal/cuda/driver.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace rtexec::hal::cuda {

extern "C" {
Code cuInit(unsigned);
Code cuDevicePrimaryCtxRetain(Context*, Ordinal);
Code cuCtxCreate_v2(Context*, unsigned, Ordinal);
Code cuCtxSetCurrent(Context);
Code cuCtxSynchronize();
Code cuMemAlloc_v2(DevicePointer*, std::size_t);
Code cuMemFree_v2(DevicePointer);
Code cuMemAllocAsync(DevicePointer*, std::size_t, Stream);
Code cuMemFreeAsync(DevicePointer, Stream);
Code cuMemGetInfo_v2(std::size_t*, std::size_t*);
Code cuMemAddressReserve(DevicePointer*, std::size_t, std::size_t, DevicePointer, unsigned long long);
Code cuMemAddressFree(DevicePointer, std::size_t);
Code cuMemCreate(AllocationHandle*, std::size_t, const AllocationProperties*, unsigned long long);
Code cuMemRelease(AllocationHandle);
Code cuMemMap(DevicePointer, std::size_t, std::size_t, AllocationHandle, unsigned long long);
Code cuMemUnmap(DevicePointer, std::size_t);
Code cuMemSetAccess(DevicePointer, std::size_t, const AccessDescriptor*, std::size_t);
Code cuStreamCreate(Stream*, unsigned);
Code cuStreamSynchronize(Stream);
Code cuCtxDestroy_v2(Context);
Code cuDevicePrimaryCtxReset_v2(Ordinal);
Code cuIpcGetMemHandle(void*, DevicePointer);
Code cuMemAllocManaged(DevicePointer*, std::size_t, unsigned);
Code cuMemAllocPitch_v2(DevicePointer*, std::size_t*, std::size_t, std::size_t, unsigned);
Code cuMemGetAddressRange_v2(DevicePointer*, std::size_t*, DevicePointer);
Code cuPointerGetAttribute(void*, int, DevicePointer);
Code cuPointerGetAttributes(unsigned, int*, void**, DevicePointer);
Code cuStreamDestroy_v2(Stream);
Code cuStreamBeginCapture_v2(Stream, int);
Code cuStreamEndCapture(Stream, GraphHandle*);
Code cuStreamIsCapturing(Stream, int*);
Code cuThreadExchangeStreamCaptureMode(int*);
Code cuGraphInstantiateWithFlags(GraphExec*, GraphHandle, unsigned long long);
Code cuGraphCreate(GraphHandle*, unsigned);
Code cuGraphUpload(GraphExec, Stream);
Code cuGraphLaunch(GraphExec, Stream);
Code cuGraphExecDestroy(GraphExec);
Code cuGraphDestroy(GraphHandle);
Code cuMemcpyDtoH_v2(void*, DevicePointer, std::size_t);
Code cuStreamWaitEvent(Stream, Event, unsigned);
Code cuEventCreate(Event*, unsigned);
Code cuEventRecord(Event, Stream);
Code cuEventDestroy_v2(Event);
Code cuEventQuery(Event);
Code cuEventSynchronize(Event);
Code cuLaunchHostFunc(Stream, void (*)(void*), void*);
Code cuLaunchHostFunc_ptsz(Stream, void (*)(void*), void*);
Code cuLaunchKernel_ptsz(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                         void**);
Code cuLaunchKernel(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                    void**);
Code cuMemcpyHtoD_v2(DevicePointer, const void*, std::size_t);
Code cuMemsetD8Async(DevicePointer, unsigned char, std::size_t, Stream);
Code cuStreamWaitValue32_v2(Stream, DevicePointer, std::uint32_t, unsigned);
Code cuMemcpyAsync(DevicePointer, DevicePointer, std::size_t, Stream);
Code cuMemcpyDtoDAsync_v2(DevicePointer, DevicePointer, std::size_t, Stream);
}

} // namespace rtexec::hal::cuda

namespace rtexec::test {

[[noreturn]] inline void fail(const std::string& what) {
  std::printf("failed: %s\n", what.c_str());
  std::exit(1);
}
inline void check(hal::cuda::Code code, const char* what) {
  if (code != hal::cuda::Code::success) fail(std::string(what) + ": " + std::to_string(static_cast<int>(code)));
}

} // namespace rtexec::test
