// A clock or a sensor that is read again and again, by a thread without real-time priority.
#pragma once

#include "hal/board/board_files.hpp"
#include "hal/resources.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rtexec::hal {

class Gauge {
 public:
  /// Of one file: of a product only its first factor would be read. `machine` gives the root.
  Gauge(const BoardFile& file, const Machine& machine);
  /// None where it cannot be read now. Allocates nothing.
  [[nodiscard]] std::optional<std::int64_t> read() const noexcept;

 private:
  FileDescriptor file_;
  std::int64_t factor_;
};

} // namespace rtexec::hal
