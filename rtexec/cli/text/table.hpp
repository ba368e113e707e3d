// Tables as text for people.
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

/// A table with a header line; columns are as wide as their widest cell, those of `texts` are left-aligned.
class Table {
  static constexpr std::string_view margin = "  ";

 public:
  explicit Table(std::vector<std::string> header, std::vector<std::size_t> texts = {0}) : texts_(std::move(texts)) {
    add(std::move(header), Tone::head);
  }
  void add(std::vector<std::string> row, Tone tone = Tone::plain) { rows_.push_back({std::move(row), tone}); }
  /// Prints the whole table. Columns that do not fit a line of the stream follow below the others. There the text
  /// columns at the left, which name the rows, are repeated. A table whose last column is text is not divided.
  void print(std::ostream& out, std::string_view indent = margin) const;
  /// Prints as much as fits. Columns are printed from the left; the first one is cut before others are left out. Rows
  /// are printed from the top, bad ones first, and then the number of rows left out.
  void print(std::ostream& out, Room room) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    Tone tone;
  };
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] bool is_text(std::size_t column) const;
  /// Returns groups of columns, in the order in which they are printed.
  [[nodiscard]] std::vector<std::vector<std::size_t>> blocks(std::span<const std::size_t> widths,
                                                             std::size_t room) const;
  [[nodiscard]] Table fitted(Room room) const;
  void cut_rows(std::size_t lines);

  std::vector<std::size_t> texts_;
  std::vector<Row> rows_;    // the header first
  std::size_t left_out_ = 0; // rows
};

} // namespace rtexec::report
