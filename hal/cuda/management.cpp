#include "hal/cuda/management.hpp"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>

namespace rtexec::hal::cuda {
namespace {

constexpr int cores = 1, memory = 2; // NVML_CLOCK_SM, NVML_CLOCK_MEM
// Bits of nvmlClocksEventReasons
constexpr unsigned long long power_cap = 0x4, slowdown = 0x8, software_thermal = 0x20, hardware_thermal = 0x40,
                             power_brake = 0x80;
constexpr int of_gpu = 0;                           // NVML_TEMPERATURE_GPU
constexpr int hardware_slows = 1, driver_slows = 3; // NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, _GPU_MAX

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
  if (!find(opened, "nvmlDeviceGetCurrentClocksEventReasons", library.limits)) // named so since driver 535
    (void)find(opened, "nvmlDeviceGetCurrentClocksThrottleReasons", library.limits);
  (void)find(opened, "nvmlDeviceGetTemperature", library.temperature);
  (void)find(opened, "nvmlDeviceGetTemperatureThreshold", library.threshold);
  return library;
}

std::atomic<const ManagementLibrary*> replaced = nullptr;

Frequency megahertz(unsigned count) { return {std::uint64_t{count} * 1'000'000}; }

std::uint32_t limits_of(unsigned long long reasons) {
  return (reasons & power_cap ? DeviceClocks::power : 0) |
         (reasons & (software_thermal | hardware_thermal) ? DeviceClocks::temperature : 0) |
         (reasons & (slowdown | power_brake) ? DeviceClocks::hardware : 0);
}

} // namespace

const ManagementLibrary* open_management() {
  if (const ManagementLibrary* replacement = replaced.load(std::memory_order_acquire)) return replacement;
  static const std::optional<ManagementLibrary> library = load();
  return library ? &*library : nullptr;
}

ManagementOverride::ManagementOverride(const ManagementLibrary& replacement) noexcept
    : previous_(replaced.exchange(&replacement)) {}
ManagementOverride::~ManagementOverride() { replaced.store(previous_); }

std::unique_ptr<ManagedGpu> ManagedGpu::find(const Driver& driver, Ordinal ordinal) {
  char bus[32] = {};
  if (driver.bus_id == nullptr || driver.bus_id(bus, sizeof bus, ordinal) != Code::success) return nullptr;
  const auto* library = open_management();
  return library == nullptr ? nullptr : open(*library, bus);
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
  return DeviceClocks{.cores = megahertz(now),
                      .memory = megahertz(of_memory),
                      .most = megahertz(most),
                      .limits = limits_of(reasons().value_or(0))};
}

std::optional<unsigned long long> ManagedGpu::reasons() const noexcept {
  unsigned long long reasons = 0;
  if (library_.limits == nullptr || library_.limits(device_, &reasons) != 0) return std::nullopt;
  return reasons;
}

bool ManagedGpu::computes_freely() const noexcept { return reasons() == 0; } // an idle GPU reports a reason too

std::optional<DeviceHeat> ManagedGpu::heat() const noexcept {
  DeviceHeat heat;
  if (library_.temperature == nullptr || library_.threshold == nullptr) return std::nullopt;
  if (library_.temperature(device_, of_gpu, &heat.now) != 0) return std::nullopt;
  for (const int which : {hardware_slows, driver_slows})
    if (unsigned limit = 0; library_.threshold(device_, which, &limit) == 0 && limit > 0)
      heat.limit = heat.limit == 0 ? limit : std::min(heat.limit, limit);
  return heat.limit == 0 ? std::nullopt : std::optional(heat);
}

} // namespace rtexec::hal::cuda
