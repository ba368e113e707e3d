// Text as a terminal shows it: counted in columns, of which a character of UTF-8 takes none, one or two.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::report {

/// What there is of a terminal, or of a page without an end.
struct Room {
  std::size_t columns = std::numeric_limits<std::size_t>::max();
  std::size_t lines = std::numeric_limits<std::size_t>::max();
  bool operator==(const Room&) const = default;
};

/// How many columns lines of this stream have room for, from now on, by one thread at a time. Without it: any number.
void limit_columns(std::ostream& out, std::size_t columns);
[[nodiscard]] std::size_t room_of(std::ostream& out);

/// Of one line. Bytes that are no UTF-8 take a column each.
[[nodiscard]] std::size_t columns(std::string_view text);

/// At most so many columns; "..." at the end where some was left out and there is room for it.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

enum class LongWord { cut, whole };

/// The words on lines of at most so many columns, those after the first indented.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::string_view indent = "",
                                               LongWord longer = LongWord::cut);

} // namespace rtexec::report
