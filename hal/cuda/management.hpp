// What NVML (libnvidia-ml.so.1, beside the driver) tells of a GPU: its clocks and its heat. Opened at run time; types
// are those of nvml.h.
#pragma once

#include "hal/clocks.hpp"
#include "hal/cuda/driver.hpp"

#include <memory>
#include <optional>

namespace rtexec::hal::cuda {

/// In degrees Celsius. It is slowed down from `limit` on.
struct DeviceHeat {
  unsigned now = 0, limit = 0;
};

/// Functions return 0, or an error.
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

/// That of this machine, opened on first use and never closed; null: there is none, or it lacks a function.
[[nodiscard]] const ManagementLibrary* open_management();

/// Puts another library in its place, for the whole process, while it lives. For tests.
class ManagementOverride {
 public:
  explicit ManagementOverride(const ManagementLibrary& replacement) noexcept;
  ~ManagementOverride();
  ManagementOverride(const ManagementOverride&) = delete;
  ManagementOverride& operator=(const ManagementOverride&) = delete;

 private:
  const ManagementLibrary* previous_;
};

/// A GPU as the library sees it. Any thread without real-time priority.
class ManagedGpu {
 public:
  /// `bus` is the driver's name of its place. Null: the library does not know it. `library` outlives it.
  [[nodiscard]] static std::unique_ptr<ManagedGpu> open(const ManagementLibrary& library, const char* bus);
  /// By its number, as `driver` counts, which was initialised; no context is made. Null: there is no library, or one of
  /// both does not know it.
  [[nodiscard]] static std::unique_ptr<ManagedGpu> find(const Driver& driver, Ordinal ordinal);
  ~ManagedGpu();
  ManagedGpu(const ManagedGpu&) = delete;
  ManagedGpu& operator=(const ManagedGpu&) = delete;

  /// Absent: the clock of the cores is not known. What else is not known is 0.
  [[nodiscard]] std::optional<DeviceClocks> clocks() const noexcept;
  /// Whether it computes, with nothing that the library knows of keeping its clock below what it could be. False where
  /// that is not known.
  [[nodiscard]] bool computes_freely() const noexcept;
  /// Absent: one of both is not known.
  [[nodiscard]] std::optional<DeviceHeat> heat() const noexcept;

 private:
  [[nodiscard]] std::optional<unsigned long long> reasons() const noexcept;
  ManagedGpu(const ManagementLibrary& library, void* device) : library_(library), device_(device) {}
  const ManagementLibrary& library_;
  void* device_;
};

} // namespace rtexec::hal::cuda
