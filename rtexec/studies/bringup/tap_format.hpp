// TAP version 13 (testanything.org), flat, so that what reads the kernel's dialect reads it too. No text of an item can
// be taken for something else: control characters are escaped, and so is '#'.
#pragma once

#include "rtexec/studies/bringup/bringup_report.hpp"

#include <cstddef>
#include <ostream>
#include <string_view>

namespace rtexec::bringup {

class TapWriter {
 public:
  /// Writes version and plan; every line is flushed. `out` outlives it.
  TapWriter(std::ostream& out, std::size_t items);

  /// "ok 3 - NAME: STATE", and of an item that failed or has figures a YAML block.
  void result(const Entry& entry);
  /// "# TEXT"
  void diagnostic(std::string_view text);
  void bail_out(std::string_view why);

 private:
  std::ostream& out_;
  std::size_t results_ = 0;
};

} // namespace rtexec::bringup
