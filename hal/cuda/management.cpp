#include "hal/cuda/management.hpp"

#include <dlfcn.h>

namespace rtexec::hal::cuda {
namespace {

constexpr int cores = 1, memory = 2; // NVML_CLOCK_SM, NVML_CLOCK_MEM
// Of nvmlClocksEventReasons
constexpr unsigned long long power_cap = 0x4, slowdown = 0x8, software_thermal = 0x20, hardware_thermal = 0x40,
                             power_brake = 0x80;

template <class Function> bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<ManagementLibrary> load() {
  void* opened = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  ManagementLibrary library;
  if (opened == nullptr || !find(opened, "nvmlInit_v2", library.init) ||
      !find(opened, "nvmlShutdown", library.shutdown) ||
      !find(opened, "nvmlDeviceGetHandleByPciBusId_v2", library.device) ||
      !find(opened, "nvmlDeviceGetClockInfo", library.clock) ||
      !find(opened, "nvmlDeviceGetMaxClockInfo", library.most))
    return std::nullopt;
  if (!find(opened, "nvmlDeviceGetCurrentClocksEventReasons", library.limits)) // its name since driver 535
    (void)find(opened, "nvmlDeviceGetCurrentClocksThrottleReasons", library.limits);
  return library;
}

Frequency megahertz(unsigned count) { return {std::uint64_t{count} * 1'000'000}; }

std::uint32_t limits_of(unsigned long long reasons) {
  return (reasons & power_cap ? DeviceClocks::power : 0) |
         (reasons & (software_thermal | hardware_thermal) ? DeviceClocks::temperature : 0) |
         (reasons & (slowdown | power_brake) ? DeviceClocks::hardware : 0);
}

} // namespace

const ManagementLibrary* open_management() {
  static const std::optional<ManagementLibrary> library = load();
  return library ? &*library : nullptr;
}

std::unique_ptr<ManagedGpu> ManagedGpu::open(const ManagementLibrary& library, const char* bus) {
  if (library.init() != 0) return nullptr;
  void* device = nullptr;
  if (library.device(bus, &device) == 0) return std::unique_ptr<ManagedGpu>(new ManagedGpu(library, device));
  (void)library.shutdown();
  return nullptr;
}

ManagedGpu::~ManagedGpu() { (void)library_.shutdown(); }

std::optional<DeviceClocks> ManagedGpu::clocks() const noexcept {
  unsigned now = 0, most = 0, of_memory = 0;
  if (library_.clock(device_, cores, &now) != 0) return std::nullopt;
  if (library_.most(device_, cores, &most) != 0) most = 0;
  if (library_.clock(device_, memory, &of_memory) != 0) of_memory = 0;
  unsigned long long reasons = 0;
  if (library_.limits == nullptr || library_.limits(device_, &reasons) != 0) reasons = 0;
  return DeviceClocks{
      .cores = megahertz(now), .memory = megahertz(of_memory), .most = megahertz(most), .limits = limits_of(reasons)};
}

} // namespace rtexec::hal::cuda
