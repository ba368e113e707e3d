// A simulated libcuda.so.1 for tests: the simulated driver of test/cuda with a thread for each stream, so that work is
// asynchronous, and functions that programs need in addition to those that rtexec calls itself. A kernel is a host
// function.
#include "test/cuda/simulated_driver.hpp"
#include "test/preload/stand_in.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rtexec::hal::cuda {
namespace {

std::size_t from_environment(const char* name, std::size_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 0) : otherwise;
}

/// The device memory that each process uses, shared by all processes.
struct Shared {
  struct Taken {
    std::atomic<int> process;
    std::atomic<std::uint64_t> bytes;
  };
  std::array<Taken, 256> all;
};
bool is_alive(int process) { return process != 0 && (::kill(process, 0) == 0 || errno == EPERM); }

class StandInDriver final : public SimulatedDriver {
 public:
  StandInDriver() {
    asynchronous = true;
    memory = from_environment("STAND_IN_MEMORY", memory);
    devices = static_cast<int>(from_environment("STAND_IN_DEVICES", 1));
    version = static_cast<int>(from_environment("STAND_IN_VERSION", 13000));
    granularity = 65536;
    drops_launches = from_environment("STAND_IN_DROPS", 0) != 0;
    instantiation = std::chrono::milliseconds(from_environment("STAND_IN_INSTANTIATE_MS", 0));
    end = std::chrono::milliseconds(from_environment("STAND_IN_END_MS", 0));
    if (const char* path = std::getenv("STAND_IN_SHARED")) share(path);
  }

  [[nodiscard]] std::size_t used(int device) const override {
    if (device != 0 || shared_ == nullptr) return SimulatedDriver::used(device);
    std::size_t sum = 0;
    for (const auto& each : shared_->all) {
      if (is_alive(each.process.load())) sum += each.bytes.load();
    }
    return sum;
  }
  void has_changed() override {
    if (own_ != nullptr) own_->bytes = taken[0];
  }
  Function find_kernel(const char* name) override { return static_cast<Function>(::dlsym(RTLD_DEFAULT, name)); }
  const std::size_t* sizes_of(Function function) override {
    return reinterpret_cast<const StandInKernel*>(function)->sizes;
  }
  void run(Function function, Dimensions, Dimensions, void** arguments, Stream) override {
    reached("kernel");
    reinterpret_cast<const StandInKernel*>(function)->run(arguments);
  }
  void reached(const char* point) override {
    if (stand_in_reached != nullptr) stand_in_reached(point);
  }

 private:
  void share(const char* path) {
    const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(Shared)) != 0) std::abort();
    shared_ = static_cast<Shared*>(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    for (auto& each : shared_->all) {
      int process = each.process.load();
      if (is_alive(process) || !each.process.compare_exchange_strong(process, ::getpid())) continue;
      each.bytes = 0;
      own_ = &each;
      return;
    }
    std::abort();
  }

  Shared* shared_ = nullptr;
  Shared::Taken* own_ = nullptr;
};

StandInDriver& driver() {
  static StandInDriver* const made = [] {
    auto* const created = new StandInDriver; // its threads may outlive static objects
    ::pthread_atfork([] { driver().mutex.lock(); }, [] { driver().mutex.unlock(); }, [] { driver().mutex.unlock(); });
    return created;
  }();
  return *made;
}

} // namespace

SimulatedDriver& simulated_driver() { return driver(); }

// ---- with per-thread null streams
namespace {
Stream own(Stream stream) { return stream != nullptr ? stream : reinterpret_cast<Stream>(2); }
} // namespace
API cuMemcpyHtoDAsync_v2_ptsz(DevicePointer to, const void* from, std::size_t size, Stream stream) {
  return cuMemcpyHtoDAsync_v2(to, from, size, own(stream));
}
API cuStreamSynchronize_ptsz(Stream stream) { return cuStreamSynchronize(own(stream)); }
API cuLaunchHostFunc_ptsz(Stream stream, void (*function)(void*), void* argument) {
  return cuLaunchHostFunc(own(stream), function, argument);
}
API cuLaunchKernel_ptsz(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, Stream stream, void** arguments, void** extra) {
  return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, own(stream), arguments, extra);
}

// ---- functions by name
namespace {
/// The functions returned by name are not the exported ones, as with a real driver.
Code launch_kernel_by_name(Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared, Stream stream, void** arguments, void** extra) {
  return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
}
#if defined(__x86_64__)
constexpr const char* oldest_dlsym = "GLIBC_2.2.5";
#else
constexpr const char* oldest_dlsym = "GLIBC_2.17";
#endif
/// A future version of the function, with other arguments.
Code allocate_later(DevicePointer* pointer, std::size_t size, int, int) { return cuMemAlloc_v2(pointer, size); }

struct Named {
  const char* name;
  int since;
  bool own;
  void* function;
};
const std::vector<Named>& named() {
  const auto address = [](auto function) { return reinterpret_cast<void*>(function); };
  static const std::vector<Named> all{
      {"cuMemAlloc", 3020, false, address(&cuMemAlloc_v2)},
      {"cuMemAlloc", 14000, false, address(&allocate_later)},
      {"cuLaunchKernel", 4000, false, address(&launch_kernel_by_name)},
      {"cuLaunchKernel", 7000, true, address(&cuLaunchKernel_ptsz)},
      {"cuCtxSynchronize", 2000, false, address(&cuCtxSynchronize)},
      {"cuCtxSynchronize", 13000, false, address(&cuCtxSynchronize_v2)},
      {"cuMemcpyHtoDAsync", 3020, false, address(&cuMemcpyHtoDAsync_v2)},
      {"cuMemcpyHtoDAsync", 7000, true, address(&cuMemcpyHtoDAsync_v2_ptsz)},
      {"cuStreamSynchronize", 2000, false, address(&cuStreamSynchronize)},
      {"cuStreamSynchronize", 7000, true, address(&cuStreamSynchronize_ptsz)},
  };
  return all;
}
} // namespace

API cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* found);
API cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
API cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* found) {
  const bool own = (flags & 2) != 0;
  const std::string_view asked(name);
  *function = nullptr;
  if (asked == "cuGetProcAddress") {
    *function =
        version >= 12000 ? reinterpret_cast<void*>(&cuGetProcAddress_v2) : reinterpret_cast<void*>(&cuGetProcAddress);
  }
  bool known = *function != nullptr;
  int best = 0;
  for (const auto& each : named()) {
    if (asked != each.name) continue;
    known = true;
    if (each.since > version || (each.own && !own)) continue;
    if (each.since + (each.own ? 1 : 0) > best) {
      best = each.since + (each.own ? 1 : 0);
      *function = each.function;
    }
  }
  if (!known) {
    for (const char* suffix : {"_v2", "", "WithFlags"}) {
      if (*function == nullptr) {
        // Searches this library only, as a real driver does.
        static void* const self = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        using DlSym = void* (*)(void*, const char*);
        static const auto plain = reinterpret_cast<DlSym>(::dlvsym(RTLD_NEXT, "dlsym", oldest_dlsym));
        *function = plain(self, (std::string(name) + suffix).c_str());
      }
    }
  }
  if (found != nullptr) *found = *function != nullptr ? 0 : 1;
  return *function != nullptr ? Code::success : Code::not_found;
}

} // namespace rtexec::hal::cuda
