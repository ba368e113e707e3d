// At what clock cores and devices run now. On a virtual machine nothing is known.
#pragma once

#include <rtexec/units.hpp>
#include "hal/resources.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rtexec::hal {

/// The clock of one core, as the kernel tells it (cpufreq).
class CoreClock {
 public:
  /// `root` is "/" or a recorded tree.
  explicit CoreClock(unsigned core, const std::filesystem::path& root = "/");
  [[nodiscard]] unsigned core() const noexcept { return core_; }
  /// From any thread without real-time priority: the kernel may interrupt the core. Allocates nothing.
  [[nodiscard]] std::optional<Frequency> read() const noexcept;

 private:
  unsigned core_;
  FileDescriptor file_;
};

/// The clocks of a device, as its driver tells them.
struct DeviceClocks {
  // What keeps the clock below what it could be, as bits of `limits`
  static constexpr std::uint32_t power = 1, temperature = 2, hardware = 4; // hardware: its brake, for either reason
  // What a board tells of all of it: too much current, a locked clock that moved, a part that is throttled for its heat
  static constexpr std::uint32_t over_current = 8, moved = 16, hot = 32;
  Frequency cores, memory;
  Frequency most; // of the cores
  std::uint32_t limits = 0;
};

} // namespace rtexec::hal
