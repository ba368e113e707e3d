// Text on a terminal, measured in columns. A character takes zero, one or two columns.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::report {

/// The size of a terminal, or of an unlimited page.
struct Room {
  std::size_t columns = std::numeric_limits<std::size_t>::max();
  std::size_t lines = std::numeric_limits<std::size_t>::max();
  bool operator==(const Room&) const = default;
};

/// Sets the maximum number of columns for lines of this stream. By default there is no limit. One thread at a time.
void limit_columns(std::ostream& out, std::size_t columns);
[[nodiscard]] std::size_t room_of(std::ostream& out);

/// Returns the width of a line of text. Each byte that is not valid UTF-8 takes a column.
[[nodiscard]] std::size_t columns(std::string_view text);

/// Returns the text cut to at most `columns` columns. A text that was cut ends with "..." if `columns` permits.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

enum class LongWord { cut, whole };

/// Breaks the text between words into lines of at most `columns` columns. All lines except the first are indented.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::string_view indent = "",
                                               LongWord longer = LongWord::cut);

} // namespace rtexec::report
