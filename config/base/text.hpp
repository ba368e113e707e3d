// Text of others, made fit to be shown in a message or written to a file.
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

/// What a text in UTF-8 begins with.
struct Character {
  std::optional<char32_t> code; // none: that byte is no UTF-8
  std::size_t bytes = 1;
};
/// Of a text that is not empty.
[[nodiscard]] Character first_character(std::string_view text);
/// At most `limit` bytes of `text`, and no half character at their end.
[[nodiscard]] std::string_view beginning(std::string_view text, std::size_t limit);

/// `text` as it stands between the quotes of a TOML basic string: no control character survives.
[[nodiscard]] std::string escaped(std::string_view text);
/// The same with the quotes.
[[nodiscard]] std::string toml_string(std::string_view text);

/// `text`, cut to at most `limit` bytes between characters and then marked with "...".
[[nodiscard]] std::string shortened(std::string text, std::size_t limit = 80);

/// `text` as it may go to a terminal: control characters as "\u001B", what is no UTF-8 as "\xFF", and "..." for what
/// does not fit in `limit` bytes. All other text stays as it is.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 80);
/// The same between single quotes: a name that others gave, in a message.
[[nodiscard]] std::string quoted(std::string_view text, std::size_t limit = 80);

/// As a word of a command line that a shell reads: between single quotes where it needs them.
[[nodiscard]] std::string shell_word(std::string_view text);

/// Appends `line` on a line of its own.
void add_line(std::string& text, std::string_view line);

/// "a, b or c".
[[nodiscard]] std::string alternatives(std::span<const std::string_view> words);

/// The nearest of `known` by edit distance; none where more than a third of `word` would have to change.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

/// All of `text` as a number, in `base` where one is given (of whole numbers only).
template <class Number, class... Base> [[nodiscard]] std::optional<Number> number(std::string_view text, Base... base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// "0x2a4" or "2a4".
template <class Number> [[nodiscard]] std::optional<Number> hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return number<Number>(text, 16);
}

/// The parts of `text` between separators, without those that are empty.
[[nodiscard]] std::vector<std::string_view> parts(std::string_view text, char separator);

/// With so many digits behind the point; never "-0".
[[nodiscard]] std::string fixed(double value, int digits);
/// With so many significant digits, or a power of ten where that is shorter.
[[nodiscard]] std::string significant(double value, int digits);

} // namespace rtexec::config
