// Tables that are printed as text.
#pragma once

#include "rtexec/cli/text/columns.hpp"
#include "rtexec/cli/text/tone.hpp"

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::report {

/// A table with a header line. Each column is as wide as its widest cell. The columns in `texts` are left-aligned.
class Table {
  static constexpr std::string_view margin = "  ";

 public:
  explicit Table(std::vector<std::string> header, std::vector<std::size_t> texts = {0}) : texts_(std::move(texts)) {
    add(std::move(header), Tone::head);
  }
  void add(std::vector<std::string> row, Tone tone = Tone::plain) { rows_.push_back({std::move(row), tone}); }
  /// Prints the whole table. If not all columns fit into a line of the stream, prints the remaining columns below as
  /// another table. This table repeats the text columns at the left, which name the rows. A table whose last column is
  /// text is not split.
  void print(std::ostream& out, std::string_view indent = margin) const;
  /// Prints as much of the table as fits. If the table is too wide, cuts the first column, and then omits columns at
  /// the right. If the table is too high, moves bad rows to the top, omits rows at the bottom, and prints the number of
  /// omitted rows.
  void print(std::ostream& out, Room room) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Tone tone;
  };
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] bool is_text(std::size_t column) const;
  /// Returns the columns of each of the tables that print() prints one below the other.
  [[nodiscard]] std::vector<std::vector<std::size_t>> blocks(std::span<const std::size_t> widths,
                                                             std::size_t room) const;
  [[nodiscard]] Table fitted(Room room) const;
  void cut_rows(std::size_t lines);

  std::vector<std::size_t> texts_;
  std::vector<Row> rows_;    // the first row is the header
  std::size_t left_out_ = 0; // number of omitted rows
};

} // namespace rtexec::report
