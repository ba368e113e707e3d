// The present clocks of cores and devices. On a virtual machine no clock is known.
#pragma once

#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rtexec::hal {

/// The clock of one core, as the kernel (cpufreq) reports it.
class CoreClock {
 public:
  /// `root` is "/", or a folder with a copy of a machine's /sys and /proc.
  explicit CoreClock(unsigned core, const std::filesystem::path& root = "/");
  [[nodiscard]] unsigned core() const noexcept { return core_; }
  /// Returns the present clock, or nullopt if it is unknown. Any thread without real-time priority, because the kernel
  /// may interrupt the core to read its clock. Allocates nothing.
  [[nodiscard]] std::optional<Frequency> read() const noexcept;

 private:
  unsigned core_;
  FileDescriptor file_;
};

/// The clocks of a device, as its driver reports them.
struct DeviceClocks {
  // Bits of `limits`: reasons why the clock is below its maximum. `hardware`: the hardware slows down for power or
  // temperature
  static constexpr std::uint32_t power = 1, temperature = 2, hardware = 4;
  // Bits of `limits` for a whole board: too much current; a locked clock that changed (`moved`); a component that its
  // temperature throttles (`hot`)
  static constexpr std::uint32_t over_current = 8, moved = 16, hot = 32;
  Frequency cores, memory;
  Frequency most; // maximum of the cores' clock
  std::uint32_t limits = 0;
};

} // namespace rtexec::hal
