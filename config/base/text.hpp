// Makes external text safe to show in a message or to write to a file.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rtexec::config {

/// The first character of a text in UTF-8.
struct Character {
  std::optional<char32_t> code; // the code of the character; nullopt: the first byte is not UTF-8
  std::size_t bytes = 1;        // the length of the character
};
/// Returns the first character of a text that is not empty.
[[nodiscard]] Character first_character(std::string_view text);
/// Returns the longest beginning of `text` that has at most `limit` bytes and ends with a whole character.
[[nodiscard]] std::string_view beginning(std::string_view text, std::size_t limit);

/// Returns `text` in the form between the quotes of a TOML basic string. The result has no control characters.
[[nodiscard]] std::string escaped(std::string_view text);
/// Returns escaped(text) between quotes.
[[nodiscard]] std::string toml_string(std::string_view text);

/// Returns `text`, cut between characters to at most `limit` bytes. If `text` is cut, "..." follows.
[[nodiscard]] std::string shortened(std::string text, std::size_t limit = 80);

/// Returns `text` in a form that is safe for a terminal. Control characters become "\u001B", bytes that are not UTF-8
/// become "\xFF", and "..." replaces the text beyond `limit` bytes. All other text stays unchanged.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 80);
/// Returns printable() of `text` between single quotes, for an external name in a message.
[[nodiscard]] std::string quoted(std::string_view text, std::size_t limit = 80);

/// Returns `text` as one word of a shell command, between single quotes if necessary.
[[nodiscard]] std::string shell_word(std::string_view text);

/// Appends `line` to `text` as a separate line.
void add_line(std::string& text, std::string_view line);

/// Returns the words as "a, b or c".
[[nodiscard]] std::string alternatives(std::span<const std::string_view> words);

/// Returns the word of `known` with the smallest edit distance to `word`. Returns nullopt if more than a third of
/// `word` would have to change.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

/// Converts all of `text` to a number. `base` may only be passed for integers. Returns nullopt if `text` is no number.
template <class Number, class... Base> [[nodiscard]] std::optional<Number> number(std::string_view text, Base... base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Converts a hexadecimal number such as "0x2a4" or "2a4". Returns nullopt if `text` is no such number.
template <class Number> [[nodiscard]] std::optional<Number> hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return number<Number>(text, 16);
}

/// Returns the non-empty parts of `text` between separators.
[[nodiscard]] std::vector<std::string_view> parts(std::string_view text, char separator);

/// Returns `value` with `digits` digits behind the point; never "-0".
[[nodiscard]] std::string fixed(double value, int digits);
/// Returns `value` with `digits` significant digits, in exponential form if that is shorter.
[[nodiscard]] std::string significant(double value, int digits);

} // namespace rtexec::config
