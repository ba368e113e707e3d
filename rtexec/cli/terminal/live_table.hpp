// The table of tasks while they run: redrawn in place on a terminal, repeated now and then elsewhere.
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
  /// What is written next begins on a line of its own.
  ~LiveTable();
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  /// How long to wait between two shows.
  [[nodiscard]] Duration interval() const {
    return terminal_ ? std::chrono::milliseconds(500) : std::chrono::seconds(2);
  }
  void show(const Report& progress, std::optional<Duration> duration);
  /// What is written next stands where the table stood, which is drawn again below it.
  void make_room();

 private:
  std::ostream& out_;
  std::optional<report::Room> terminal_; // as large as it was for the last table
  std::size_t lines_ = 0;                // of the last table, none of them wider than the terminal
};

} // namespace rtexec::command
