// Text of others, made fit to be shown in a message or written to a file.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace rtexec::config {

/// `text` as it stands between the quotes of a TOML basic string: no control character survives.
[[nodiscard]] std::string escaped(std::string_view text);
/// The same with the quotes.
[[nodiscard]] std::string toml_string(std::string_view text);

/// `text`, cut to at most `limit` bytes (never inside a UTF-8 sequence) and then marked with "...".
[[nodiscard]] std::string shortened(std::string text, std::size_t limit = 80);

/// All of `text` as a number; none where it is not one, or does not fit.
template <class Number> [[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Appends `line` on a line of its own.
void add_line(std::string& text, std::string_view line);

/// "a, b or c".
[[nodiscard]] std::string alternatives(std::span<const std::string_view> words);

/// The nearest of `known` by edit distance; none where more than a third of `word` would have to change.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

} // namespace rtexec::config
