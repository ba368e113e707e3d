// Clocks and temperature of a GPU, as NVML (libnvidia-ml.so.1, installed with the driver) reports them. The library is
// opened at run time. Types are those of nvml.h.
#pragma once

#include "hal/clocks.hpp"
#include "hal/cuda/driver.hpp"

#include <memory>
#include <optional>

namespace rtexec::hal::cuda {

/// Temperatures in degrees Celsius. At `limit` and above the GPU is slowed down.
struct DeviceHeat {
  unsigned now = 0, limit = 0;
};

/// NVML functions. They return 0, or an error code.
struct ManagementLibrary {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device)(const char* bus, void** handle) = nullptr;
  int (*clock)(void* device, int which, unsigned* megahertz) = nullptr;
  int (*most)(void* device, int which, unsigned* megahertz) = nullptr;
  int (*limits)(void* device, unsigned long long* reasons) = nullptr;        // may be null
  int (*temperature)(void* device, int sensor, unsigned* celsius) = nullptr; // may be null
  int (*threshold)(void* device, int which, unsigned* celsius) = nullptr;    // may be null
};

/// Returns the NVML of this machine, opened on first use and never closed. Null if there is no NVML, or if it lacks a
/// required function.
[[nodiscard]] const ManagementLibrary* open_management();

/// Replaces the library for the whole process while this object lives. For tests.
class ManagementOverride {
 public:
  explicit ManagementOverride(const ManagementLibrary& replacement) noexcept;
  ~ManagementOverride();
  ManagementOverride(const ManagementOverride&) = delete;
  ManagementOverride& operator=(const ManagementOverride&) = delete;

 private:
  const ManagementLibrary* previous_;
};

/// A GPU in NVML. Any thread without real-time priority.
class ManagedGpu {
 public:
  /// Opens the GPU whose PCI bus identifier is `bus`. Null if the library does not know the GPU. `library` must outlive
  /// the result.
  [[nodiscard]] static std::unique_ptr<ManagedGpu> open(const ManagementLibrary& library, const char* bus);
  /// Opens the GPU with the driver's number `ordinal`. `driver` must be initialised; no context is made. Null if there
  /// is no library, or if the driver or the library does not know the GPU.
  [[nodiscard]] static std::unique_ptr<ManagedGpu> find(const Driver& driver, Ordinal ordinal);
  ~ManagedGpu();
  ManagedGpu(const ManagedGpu&) = delete;
  ManagedGpu& operator=(const ManagedGpu&) = delete;

  /// Returns the clocks, or nullopt if the clock of the cores is unknown. Other unknown clocks are 0.
  [[nodiscard]] std::optional<DeviceClocks> clocks() const noexcept;
  /// True if the GPU is computing and the library reports no reason for a clock below the maximum. False if unknown.
  [[nodiscard]] bool computes_freely() const noexcept;
  /// Returns the temperature and its limit, or nullopt if either value is unknown.
  [[nodiscard]] std::optional<DeviceHeat> heat() const noexcept;

 private:
  [[nodiscard]] std::optional<unsigned long long> reasons() const noexcept;
  ManagedGpu(const ManagementLibrary& library, void* device) : library_(library), device_(device) {}
  const ManagementLibrary& library_;
  void* device_;
};

} // namespace rtexec::hal::cuda
