// The table of tasks while they run: redrawn in place on a terminal, repeated now and then elsewhere.
#pragma once

#include <rtexec/executive.hpp>

#include <iosfwd>

namespace rtexec::command {

class LiveTable {
 public:
  LiveTable(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}

  /// How long to wait between two shows.
  [[nodiscard]] Duration interval() const {
    return terminal_ ? std::chrono::milliseconds(500) : std::chrono::seconds(2);
  }
  void show(const Report& progress, std::optional<Duration> duration);

 private:
  std::ostream& out_;
  bool terminal_;
  std::size_t lines_ = 0; // of the last table, to be drawn over
};

} // namespace rtexec::command
