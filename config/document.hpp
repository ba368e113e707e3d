// Parses a TOML text to plain values with their positions. Only document.cpp includes toml++, whose headers are slow to
// compile.
#pragma once

#include <rtexec/result.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rtexec::config {

/// A position in the text; lines and columns count from 1, columns in characters.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Value;
struct Entry;
using Array = std::vector<Value>;
/// The entries of a table, in the order of the text.
using Table = std::vector<Entry>;
/// A date or a time. No key accepts one.
struct DateOrTime {};

struct Value {
  Position at;
  std::variant<std::string, std::int64_t, double, bool, DateOrTime, Array, Table> content;
};

struct Entry {
  std::string key;
  Position at;
  Value value;
};

[[nodiscard]] const Entry* find(const Table& table, std::string_view key);

/// Returns the value in TOML syntax, shortened, for a message.
[[nodiscard]] std::string spelled(const Value& value);

/// Limits of the parsed text. They are far above any practical use. No text within these limits can overflow the
/// parser's stack.
inline constexpr std::size_t max_file_bytes = std::size_t{1} << 20;
inline constexpr std::size_t max_line_bytes = 2048;

/// Returns the root table of the text. A syntax error is reported as "FILE:LINE:COLUMN: error: ..."; `file` is used
/// only in this message.
[[nodiscard]] Result<Table> parse_document(std::string_view toml, const std::string& file);

} // namespace rtexec::config
