// Writes TAP version 13 (testanything.org) without subtests. So programs that read the Linux kernel's dialect (KTAP)
// can read it, too. Control characters and '#' are escaped, so that no text of an item can be mistaken for TAP syntax.
#pragma once

#include "rtexec/studies/bringup/bringup_report.hpp"

#include <cstddef>
#include <ostream>
#include <string_view>

namespace rtexec::bringup {

class TapWriter {
 public:
  /// Writes the TAP version and the TAP plan (the number of items). Each line is flushed. `out` must outlive this
  /// object.
  TapWriter(std::ostream& out, std::size_t items);

  /// Writes "ok 3 - NAME: STATE", and a YAML block if the item failed or has figures.
  void result(const Entry& entry);
  /// Writes the comment line "# TEXT".
  void diagnostic(std::string_view text);
  void bail_out(std::string_view why);

 private:
  std::ostream& out_;
  std::size_t results_ = 0;
};

} // namespace rtexec::bringup
