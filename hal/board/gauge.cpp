#include "hal/board/gauge.hpp"

#include "hal/system.hpp"

#include <charconv>
#include <fcntl.h>

namespace rtexec::hal {

Gauge::Gauge(const BoardFile& file, const Machine& machine)
    : file_(sys().open(machine.under_root(file.file).c_str(), O_RDONLY | O_CLOEXEC)), factor_(file.factor) {}

std::optional<std::int64_t> Gauge::read() const noexcept {
  char text[32];
  const ssize_t size = file_.number() < 0 ? -1 : sys().pread(file_.number(), text, sizeof text, 0);
  std::int64_t value = 0;
  if (size <= 0 || std::from_chars(text, text + size, value).ec != std::errc() ||
      __builtin_mul_overflow(value, factor_, &value))
    return std::nullopt;
  return value;
}

} // namespace rtexec::hal
