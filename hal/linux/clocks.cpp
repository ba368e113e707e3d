#include "hal/clocks.hpp"

#include "hal/system.hpp"

#include <charconv>
#include <fcntl.h>
#include <string>

namespace rtexec::hal {

CoreClock::CoreClock(unsigned core, const std::filesystem::path& root) : core_(core) {
  const auto file = root / ("sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_cur_freq");
  file_ = FileDescriptor(sys().open(file.c_str(), O_RDONLY | O_CLOEXEC));
}

std::optional<Frequency> CoreClock::read() const noexcept {
  char text[32];
  const ssize_t size = file_.number() < 0 ? -1 : sys().pread(file_.number(), text, sizeof text, 0);
  std::uint64_t kilohertz = 0;
  if (size <= 0 || std::from_chars(text, text + size, kilohertz).ec != std::errc() || kilohertz == 0)
    return std::nullopt; // the file of an offline core reads "<unknown>"
  return Frequency{kilohertz * 1000};
}

} // namespace rtexec::hal
