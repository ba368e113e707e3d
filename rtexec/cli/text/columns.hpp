// Text on a terminal, measured in columns: a character of UTF-8 takes none, one or two.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::report {

/// The size of a terminal, or of a page without limits.
struct Room {
  std::size_t columns = std::numeric_limits<std::size_t>::max();
  std::size_t lines = std::numeric_limits<std::size_t>::max();
  bool operator==(const Room&) const = default;
};

/// Sets the number of columns for lines of this stream, unlimited by default. One thread at a time.
void limit_columns(std::ostream& out, std::size_t columns);
[[nodiscard]] std::size_t room_of(std::ostream& out);

/// Returns the width of one line. Each byte that is not UTF-8 takes a column.
[[nodiscard]] std::size_t columns(std::string_view text);

/// Returns at most so many columns of the text. It ends with "..." if a part was left out and there is room for it.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

enum class LongWord { cut, whole };

/// Breaks the text into lines of at most so many columns, between words. All lines but the first are indented.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::string_view indent = "",
                                               LongWord longer = LongWord::cut);

} // namespace rtexec::report
