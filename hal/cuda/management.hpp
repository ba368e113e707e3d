// What NVML (libnvidia-ml.so.1, beside the driver) tells of a GPU: its clocks. Opened at run time; types are those of
// nvml.h.
#pragma once

#include "hal/clocks.hpp"

#include <memory>
#include <optional>

namespace rtexec::hal::cuda {

/// Functions return 0, or an error.
struct ManagementLibrary {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device)(const char* bus, void** handle) = nullptr;
  int (*clock)(void* device, int which, unsigned* megahertz) = nullptr;
  int (*most)(void* device, int which, unsigned* megahertz) = nullptr;
  int (*limits)(void* device, unsigned long long* reasons) = nullptr; // may be null
};

/// That of this machine, opened on first use and never closed; null: there is none, or it lacks a function.
[[nodiscard]] const ManagementLibrary* open_management();

/// A GPU as the library sees it. Any thread without real-time priority.
class ManagedGpu {
 public:
  /// `bus` is the driver's name of its place. Null: the library does not know it. `library` outlives it.
  [[nodiscard]] static std::unique_ptr<ManagedGpu> open(const ManagementLibrary& library, const char* bus);
  ~ManagedGpu();
  ManagedGpu(const ManagedGpu&) = delete;
  ManagedGpu& operator=(const ManagedGpu&) = delete;

  /// Absent: the clock of the cores is not known. What else is not known is 0.
  [[nodiscard]] std::optional<DeviceClocks> clocks() const noexcept;

 private:
  ManagedGpu(const ManagementLibrary& library, void* device) : library_(library), device_(device) {}
  const ManagementLibrary& library_;
  void* device_;
};

} // namespace rtexec::hal::cuda
