// A clock or a sensor that a thread without real-time priority reads repeatedly.
#pragma once

#include "hal/board/board_files.hpp"
#include "hal/resources.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace rtexec::hal {

class Gauge {
 public:
  /// Opens `file` under the root of `machine`. Must not be used for a value that is the product of two files: only the
  /// first file would be read.
  Gauge(const BoardFile& file, const Machine& machine);
  /// Returns the value, or nullopt if it cannot be read now. Allocates nothing.
  [[nodiscard]] std::optional<std::int64_t> read() const noexcept;

 private:
  FileDescriptor file_;
  std::int64_t factor_;
};

} // namespace rtexec::hal
