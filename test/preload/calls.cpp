// A program that finds CUDA's functions in the way named by its first argument and prints the results of its work. With
// a second argument it prints the library that contains each function found:
//
//   linked     it is linked with the driver (built with LINKED)
//   runtime    through the runtime, which it opens
//   default    by dlsym(RTLD_DEFAULT), with the driver in the global scope
//   handle     by dlsym of the driver's handle, opened late and locally
//   library    by dlsym of the runtime's handle, whose dependencies do not include the driver: by its entry points
//   address    by the first version of the driver's cuGetProcAddress
//   address2   by cuGetProcAddress_v2
//   entry      by the runtime's cudaGetDriverEntryPoint
//   version    by the runtime's cudaGetDriverEntryPointByVersion
//   cost       linked: instead of working, measures a short call, in nanoseconds
//   launches   linked: measures a launch, one after the other
//   own        by cuGetProcAddress_v2, with per-thread null streams
#include "test/preload/driver_functions.hpp"
#include "test/preload/stand_in.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <vector>

using namespace rtexec::hal::cuda;
using rtexec::test::check;
using rtexec::test::fail;

namespace {

void scale(void** arguments) {
  auto* values = *static_cast<float**>(arguments[0]);
  const auto count = *static_cast<std::uint32_t*>(arguments[1]);
  const auto factor = *static_cast<float*>(arguments[2]);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = values[i] * factor + static_cast<float>(i);
}

using Find = void* (*)(const char* asked, const char* symbol);
bool tells = false;

void* found(const char* asked, void* function) {
  if (function == nullptr) fail(std::string("no ") + asked);
  if (tells) {
    Dl_info info{};
    ::dladdr(function, &info);
    const std::string_view path(info.dli_fname != nullptr ? info.dli_fname : "?");
    std::printf("%s in %s\n", asked, std::string(path.substr(path.rfind('/') + 1)).c_str());
  }
  return function;
}

} // namespace

extern "C" [[gnu::visibility("default")]] const StandInKernel scale_kernel = {
    scale, {sizeof(float*), sizeof(std::uint32_t), sizeof(float)}};

namespace {

/// The functions that the work needs, however they are found.
struct Api {
  decltype(Driver::init) init;
  decltype(Driver::context_retain) retain;
  decltype(Driver::context_set_current) set_current;
  decltype(Driver::allocate) allocate;
  decltype(Driver::free) free;
  Code (*copy_in)(DevicePointer, const void*, std::size_t);
  Code (*copy_out)(void*, DevicePointer, std::size_t, Stream);
  decltype(Driver::module_load) load;
  decltype(Driver::module_function) function;
  decltype(Driver::launch) launch;
  decltype(Driver::stream_synchronize) synchronize_stream;
  Code (*synchronize)();
};

template <class Pointer> void take(Pointer& out, Find find, const char* asked, const char* symbol) {
  out = reinterpret_cast<Pointer>(found(asked, find(asked, symbol)));
}
Api by(Find find) {
  Api api{};
  take(api.init, find, "cuInit", "cuInit");
  take(api.retain, find, "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain");
  take(api.set_current, find, "cuCtxSetCurrent", "cuCtxSetCurrent");
  take(api.allocate, find, "cuMemAlloc", "cuMemAlloc_v2");
  take(api.free, find, "cuMemFree", "cuMemFree_v2");
  take(api.copy_in, find, "cuMemcpyHtoD", "cuMemcpyHtoD_v2");
  take(api.copy_out, find, "cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2");
  take(api.load, find, "cuModuleLoadData", "cuModuleLoadData");
  take(api.function, find, "cuModuleGetFunction", "cuModuleGetFunction");
  take(api.launch, find, "cuLaunchKernel", "cuLaunchKernel");
  take(api.synchronize_stream, find, "cuStreamSynchronize", "cuStreamSynchronize");
  take(api.synchronize, find, "cuCtxSynchronize", "cuCtxSynchronize");
  return api;
}

std::uint64_t digest(const std::vector<float>& values) {
  std::uint64_t sum = 1469598103934665603U;
  for (const float value : values) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    sum = (sum ^ bits) * 1099511628211U;
  }
  return sum;
}

constexpr std::uint32_t count = 100'000;

std::vector<float> input() {
  std::vector<float> values(count);
  for (std::uint32_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 977) / 7;
  return values;
}

void work(const Api& api) {
  Context context = nullptr;
  ModuleHandle module = nullptr;
  Function kernel = nullptr;
  check(api.init(0), "init");
  check(api.retain(&context, 0), "retain");
  check(api.set_current(context), "set current");
  check(api.load(&module, "image"), "load");
  check(api.function(&kernel, module, "scale_kernel"), "function");
  auto values = input();
  const std::size_t size = values.size() * sizeof(float);
  for (int round = 0; round < 3; ++round) {
    DevicePointer pointer = 0;
    check(api.allocate(&pointer, size), "allocate");
    check(api.copy_in(pointer, values.data(), size), "copy in");
    float factor = 0.5F;
    std::uint32_t number = count;
    for (int i = 0; i < 5; ++i) {
      void* arguments[] = {&pointer, &number, &factor};
      check(api.launch(kernel, count / 256 + 1, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr), "launch");
    }
    check(api.copy_out(values.data(), pointer, size, nullptr), "copy out");
    check(api.synchronize_stream(nullptr), "synchronize stream");
    check(api.synchronize(), "synchronize");
    check(api.free(pointer), "free");
  }
  std::printf("digest %016llx\n", static_cast<unsigned long long>(digest(values)));
}

void* opened(const char* library, int flags) {
  void* handle = ::dlopen(library, flags);
  if (handle == nullptr) fail(::dlerror());
  return handle;
}
void* driver() {
  static void* const handle = opened("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}
void* runtime() {
  static void* const handle = opened("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
  return handle;
}
template <class Pointer> Pointer of(void* library, const char* name) {
  return reinterpret_cast<Pointer>(found(name, ::dlsym(library, name)));
}

void* by_default(const char*, const char* symbol) {
  static void* const global = opened("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return global != nullptr ? ::dlsym(RTLD_DEFAULT, symbol) : nullptr;
}
void* by_handle(const char*, const char* symbol) { return ::dlsym(driver(), symbol); }
void* by_address(const char* asked, const char*) {
  static const auto ask = of<Code (*)(const char*, void**, int, std::uint64_t)>(driver(), "cuGetProcAddress");
  void* function = nullptr;
  return ask(asked, &function, 12000, 0) == Code::success ? function : nullptr;
}
template <std::uint64_t flags> void* by_address2(const char* asked, const char*) {
  using Ask = Code (*)(const char*, void**, int, std::uint64_t, int*);
  static const Ask ask = [] {
    // Looks up the function under its own name, as the runtime does.
    void* again = nullptr;
    check(of<Ask>(driver(), "cuGetProcAddress_v2")("cuGetProcAddress", &again, 12000, 0, nullptr), "ask");
    return reinterpret_cast<Ask>(again);
  }();
  void* function = nullptr;
  int state = -1;
  return ask(asked, &function, 12000, flags, &state) == Code::success && state == 0 ? function : nullptr;
}
void* by_entry(const char* asked, const char*) {
  using Ask = Code (*)(const char*, void**, unsigned long long, int*);
  static const auto ask = reinterpret_cast<Ask>(::dlsym(runtime(), "cudaGetDriverEntryPoint"));
  void* function = nullptr;
  int state = -1;
  if (std::string_view(asked) == "cuCtxSynchronize") return by_handle(asked, asked); // since 13.0 it has an argument
  return ask(asked, &function, 0, &state) == Code::success && state == 0 ? function : nullptr;
}
void* by_version(const char* asked, const char*) {
  using Ask = Code (*)(const char*, void**, unsigned, unsigned long long, int*);
  static const auto ask = reinterpret_cast<Ask>(::dlsym(runtime(), "cudaGetDriverEntryPointByVersion"));
  void* function = nullptr;
  int state = -1;
  return ask(asked, &function, 11040, 0, &state) == Code::success && state == 0 ? function : nullptr;
}
#ifdef LINKED
/// Prints the shortest of many times.
void cost(Code (*call)()) {
  auto shortest = std::chrono::nanoseconds::max();
  constexpr int calls = 20'000;
  for (int round = 0; round < 100; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) check(call(), "call");
    shortest = std::min<std::chrono::nanoseconds>(shortest, std::chrono::steady_clock::now() - begin);
  }
  std::printf("%.2f\n", static_cast<double>(shortest.count()) / calls);
}
Code query() { return cuStreamQuery(nullptr); }
Code launch() { return cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr); }
void begin() {
  Context context = nullptr;
  check(cuInit(0), "init");
  check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
  check(cuCtxSetCurrent(context), "set current");
}
void* by_link(const char*, const char* symbol) {
#define LINK(name) \
  if (std::string_view(symbol) == #name) return reinterpret_cast<void*>(&name);
  LINK(cuInit)
  LINK(cuDevicePrimaryCtxRetain)
  LINK(cuCtxSetCurrent)
  LINK(cuMemAlloc_v2)
  LINK(cuMemFree_v2)
  LINK(cuMemcpyHtoD_v2)
  LINK(cuMemcpyDtoHAsync_v2)
  LINK(cuModuleLoadData)
  LINK(cuModuleGetFunction)
  LINK(cuLaunchKernel)
  LINK(cuStreamSynchronize)
  LINK(cuCtxSynchronize)
#undef LINK
  return nullptr;
}
#endif

struct Dimensions {
  unsigned x, y, z;
};
void by_runtime() {
  const auto allocate = of<Code (*)(void**, std::size_t)>(runtime(), "cudaMalloc");
  const auto free = of<Code (*)(void*)>(runtime(), "cudaFree");
  const auto copy = of<Code (*)(void*, const void*, std::size_t, int)>(runtime(), "cudaMemcpy");
  using Launch = Code (*)(const void*, Dimensions, Dimensions, void**, std::size_t, Stream);
  const auto launch = of<Launch>(runtime(), "cudaLaunchKernel");
  auto values = input();
  const std::size_t size = values.size() * sizeof(float);
  for (int round = 0; round < 3; ++round) {
    void* pointer = nullptr;
    check(allocate(&pointer, size), "allocate");
    check(copy(pointer, values.data(), size, 1), "copy in");
    float factor = 0.5F;
    std::uint32_t number = count;
    for (int i = 0; i < 5; ++i) {
      void* arguments[] = {&pointer, &number, &factor};
      check(launch(&scale_kernel, {count / 256 + 1, 1, 1}, {256, 1, 1}, arguments, 0, nullptr), "launch");
    }
    check(copy(values.data(), pointer, size, 2), "copy out");
    check(free(pointer), "free");
  }
  std::printf("digest %016llx\n", static_cast<unsigned long long>(digest(values)));
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view way(argc > 1 ? argv[1] : "");
  tells = argc > 2;
  struct {
    std::string_view name;
    Find find;
  } const ways[] = {
#ifdef LINKED
      {"linked", by_link},
#endif
      {"default", by_default}, {"handle", by_handle},   {"address", by_address}, {"address2", by_address2<0>},
      {"entry", by_entry},     {"version", by_version}, {"own", by_address2<2>},
  };
#ifdef LINKED
  if (way == "cost" || way == "launches") {
    if (way == "launches") begin();
    cost(way == "launches" ? launch : query);
    return 0;
  }
#endif
  if (way == "runtime") {
    by_runtime();
    return 0;
  }
  for (const auto& each : ways) {
    if (each.name != way) continue;
    work(by(each.find));
    return 0;
  }
  fail("no such way");
}
