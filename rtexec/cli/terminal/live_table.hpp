// The table of tasks during a run. On a terminal it is redrawn in place, elsewhere it is printed at intervals.
#pragma once

#include <rtexec/executive.hpp>
#include "rtexec/cli/text/columns.hpp"

#include <cstddef>
#include <iosfwd>
#include <optional>

namespace rtexec::command {

class LiveTable {
 public:
  explicit LiveTable(std::ostream& out);
  /// Ends the table. Later output begins on a new line.
  ~LiveTable();
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  /// Returns the time that should pass between two calls of show().
  [[nodiscard]] Duration interval() const {
    return terminal_ ? std::chrono::milliseconds(500) : std::chrono::seconds(2);
  }
  void show(const Report& progress, std::optional<Duration> duration);
  /// Erases the table, so that later output takes its place. The next show() draws the table below that output.
  void make_room();

 private:
  std::ostream& out_;
  std::optional<report::Room> terminal_; // size of the terminal at the last table; nullopt: no terminal
  std::size_t lines_ = 0;                // number of lines of the last table; each fits the terminal's width
};

} // namespace rtexec::command
