// A simulated libcudart.so for tests: a few functions of the runtime on top of the process's driver. Like NVIDIA's, it
// gets all driver functions from cuGetProcAddress. It opens the driver itself, on first use.
#include "hal/cuda/driver.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

namespace {

using namespace rtexec::hal::cuda;

constexpr int version = 13000;
using Ask = Code (*)(const char*, void**, int, std::uint64_t, int*);

Ask ask() {
  static const Ask function = [] {
    void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) std::abort();
    return reinterpret_cast<Ask>(::dlsym(driver, "cuGetProcAddress_v2"));
  }();
  return function;
}
template <class Function> Function driver(const char* name) {
  void* found = nullptr;
  if (ask()(name, &found, version, 0, nullptr) != Code::success) std::abort();
  return reinterpret_cast<Function>(found);
}
/// Makes the device's primary context current for the thread.
void enter(int device = 0) {
  thread_local int current = -1;
  if (current == device) return;
  Context context = nullptr;
  driver<Code (*)(unsigned)>("cuInit")(0);
  driver<Code (*)(Context*, Ordinal)>("cuDevicePrimaryCtxRetain")(&context, device);
  driver<Code (*)(Context)>("cuCtxSetCurrent")(context);
  current = device;
}

#define DRIVER(name, ...)                                       \
  static const auto call = driver<Code (*)(__VA_ARGS__)>(name); \
  enter()

DevicePointer address(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

} // namespace

#define API extern "C" [[gnu::visibility("default")]] Code

API cudaSetDevice(int device) {
  enter(device);
  return Code::success;
}
API cudaMalloc(void** pointer, std::size_t size) {
  DRIVER("cuMemAlloc", void**, std::size_t);
  return call(pointer, size);
}
API cudaFree(void* pointer) {
  DRIVER("cuMemFree", DevicePointer);
  return call(address(pointer));
}
API cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  DRIVER("cuMemAllocPitch", void**, std::size_t*, std::size_t, std::size_t, unsigned);
  return call(pointer, pitch, width, height, 4);
}
API cudaMallocAsync(void** pointer, std::size_t size, Stream stream) {
  DRIVER("cuMemAllocAsync", void**, std::size_t, Stream);
  return call(pointer, size, stream);
}
API cudaFreeAsync(void* pointer, Stream stream) {
  DRIVER("cuMemFreeAsync", DevicePointer, Stream);
  return call(address(pointer), stream);
}
API cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  DRIVER("cuMemGetInfo", std::size_t*, std::size_t*);
  return call(free, total);
}
API cudaMemcpyAsync(void* to, const void* from, std::size_t size, int, Stream stream) {
  DRIVER("cuMemcpyAsync", DevicePointer, DevicePointer, std::size_t, Stream);
  return call(address(to), address(from), size, stream);
}
API cudaMemcpy(void* to, const void* from, std::size_t size, int) {
  DRIVER("cuMemcpy", DevicePointer, DevicePointer, std::size_t);
  return call(address(to), address(from), size);
}
API cudaStreamCreate(Stream* stream) {
  DRIVER("cuStreamCreate", Stream*, unsigned);
  return call(stream, 0);
}
API cudaStreamDestroy(Stream stream) {
  DRIVER("cuStreamDestroy", Stream);
  return call(stream);
}
API cudaStreamSynchronize(Stream stream) {
  DRIVER("cuStreamSynchronize", Stream);
  return call(stream);
}
API cudaDeviceSynchronize() {
  static const auto call = driver<Code (*)()>("cuCtxSynchronize");
  enter();
  return call();
}
/// The dimensions of grid and block are passed as three numbers in memory.
struct Dimensions {
  unsigned x, y, z;
};
API cudaLaunchKernel(const void* kernel, Dimensions grid, Dimensions block, void** arguments, std::size_t shared,
                     Stream stream) {
  DRIVER("cuLaunchKernel", Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
         void**, void**);
  return call(reinterpret_cast<Function>(const_cast<void*>(kernel)), grid.x, grid.y, grid.z, block.x, block.y, block.z,
              static_cast<unsigned>(shared), stream, arguments, nullptr);
}
API cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned asked, unsigned long long flags,
                                     int* result) {
  enter();
  return ask()(name, function, static_cast<int>(asked), flags, result);
}
API cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* result) {
  return cudaGetDriverEntryPointByVersion(name, function, version, flags, result);
}
