// The types of keys' values. A type defines how a value is read from TOML, written, limited and documented.
#pragma once

#include "config/document.hpp"
#include "config/names.hpp"
#include "config/base/text.hpp"
#include <rtexec/units.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::config {

/// A value, or the reason why its text is wrong.
template <class T> using Read = Expected<T, std::string>;

template <class T> struct Type {
  std::string name;   // name for the documentation, with its limits
  std::string unit{}; // empty: no unit
  std::function<Read<T>(const Value&)> read;
  std::function<std::string(const T&)> write;   // returns a TOML literal
  std::function<std::string(const T&)> problem; // returns the limit that the value breaks; empty: the value is valid
};

inline constexpr Bytes page{4096};
/// With these limits on times, sums and products of times stay far below 64 bits
inline constexpr Duration longest_interval = std::chrono::hours{1};
inline constexpr Duration longest_swap_cost = std::chrono::seconds{10}; // for each chunk, or for the fixed cost
inline constexpr unsigned last_core = 1023;                             // the last core in the kernel's cpu_set_t

[[nodiscard]] Type<bool> boolean();
[[nodiscard]] Type<double> real(double least, double most);
/// Text: one line without control characters, 1 to 512 bytes.
[[nodiscard]] Type<std::string> text();
/// A name that is valid in a file name and in a trace: 1 to 64 characters A-Z a-z 0-9 _ . - but not "." or "..".
[[nodiscard]] Type<std::string> identifier();
[[nodiscard]] bool is_identifier(std::string_view name);
[[nodiscard]] Type<std::filesystem::path> path();
[[nodiscard]] Type<Duration> duration(Duration least, Duration most);
/// A duration, or a frequency, which stands for its period.
[[nodiscard]] Type<Duration> period(Duration least, Duration most);
/// Parses a period: "33ms", or a frequency such as "30Hz", "29.97 Hz", "1kHz". The period of a frequency is rounded
/// down to a whole nanosecond. So jobs may be released slightly more often, and a promise for them also holds for the
/// exact frequency.
[[nodiscard]] Result<Duration> parse_period(std::string_view text);
[[nodiscard]] Type<Bytes> bytes();
[[nodiscard]] Type<Bandwidth> bandwidth(Bandwidth least);
/// A size of at least one page, in whole pages.
[[nodiscard]] Type<Bytes> pages();

/// Returns "not a multiple of UNIT: write A or B", with the nearest multiples. Returns an empty text if `value` is a
/// multiple of `unit`.
[[nodiscard]] std::string problem_of_multiple(Bytes value, Bytes unit);

namespace detail {
[[nodiscard]] Read<std::int64_t> read_integer(const Value& value);
[[nodiscard]] Read<std::string> read_string(const Value& value);
[[nodiscard]] std::string problem_of_range(bool inside, const std::string& least, const std::string& most);
} // namespace detail

template <std::integral T> [[nodiscard]] Type<T> integer(T least, T most) {
  const std::string min_text = std::to_string(least);
  const std::string max_text = std::to_string(most);
  return {.name = "integer, " + min_text + " to " + max_text,
          .read = [=](const Value& value) -> Read<T> {
            const auto n = detail::read_integer(value);
            if (!n) return Unexpected(n.error());
            if (!std::in_range<T>(*n)) return Unexpected(detail::problem_of_range(false, min_text, max_text));
            return static_cast<T>(*n);
          },
          .write = [](const T& n) { return std::to_string(n); },
          .problem = [=](const T& n) { return detail::problem_of_range(least <= n && n <= most, min_text, max_text); }};
}

/// Returns the type of a key whose value is one of the spellings in `all`. By default, `all` contains all spellings of
/// Enum. A spelling that is not in `all` is refused.
template <class Enum> [[nodiscard]] Type<Enum> one_of(std::span<const Spelling<Enum>> all = spellings<Enum>()) {
  std::vector<std::string_view> words;
  for (const Spelling<Enum>& known : all) words.push_back(known.text);
  const std::string listed = alternatives(words);
  return {.name = "one of: " + listed,
          .read = [=](const Value& value) -> Read<Enum> {
            const auto text = detail::read_string(value);
            if (!text) return Unexpected(text.error() + ": use " + listed);
            for (const Spelling<Enum>& known : all)
              if (known.text == *text) return known.value;
            const auto near = text->size() > 1 ? nearest(*text, words) : std::nullopt;
            return Unexpected("unknown value: " + (near ? "did you mean " + toml_string(*near) + "? Use " : "use ") +
                              listed);
          },
          .write = [](const Enum& value) { return toml_string(spelling(value)); },
          .problem =
              [=](const Enum& value) {
                for (const Spelling<Enum>& known : all)
                  if (known.value == value) return std::string{};
                return "unknown value: use " + listed;
              }};
}

/// Either the text `word`, which means that there is no value, or a value of `type`.
template <class T> [[nodiscard]] Type<std::optional<T>> word_or(std::string word, const Type<T>& type) {
  return {.name = toml_string(word) + " or " + type.name,
          .unit = type.unit,
          .read = [=](const Value& value) -> Read<std::optional<T>> {
            const auto* text = std::get_if<std::string>(&value.content);
            if (text != nullptr && *text == word) return std::nullopt;
            const auto read = type.read(value);
            if (!read) return Unexpected(read.error() + ", or write " + toml_string(word));
            return *read;
          },
          .write = [=](const std::optional<T>& value) { return value ? type.write(*value) : toml_string(word); },
          .problem = [=](const std::optional<T>& value) { return value ? type.problem(*value) : std::string{}; }};
}

/// A list of any number of values. The list is written with one value on each line, or with eight numbers on each line,
/// so that lines stay short.
template <class T> [[nodiscard]] Type<std::vector<T>> list_of(const Type<T>& type) {
  return {.name = "list, " + type.name,
          .unit = type.unit,
          .read = [=](const Value& value) -> Read<std::vector<T>> {
            const auto* array = std::get_if<Array>(&value.content);
            if (array == nullptr) return Unexpected("not a list: write [...]");
            std::vector<T> result;
            for (const Value& element : *array) {
              const auto read = type.read(element);
              if (!read) return Unexpected(spelled(element) + ": " + read.error());
              result.push_back(*read);
            }
            return result;
          },
          .write =
              [=](const std::vector<T>& values) {
                constexpr std::size_t per_line = std::integral<T> ? 8 : 1;
                std::string list;
                for (std::size_t i = 0; i < values.size(); ++i)
                  list += (i % per_line == 0 ? "\n  " : " ") + type.write(values[i]) + ",";
                return "[" + list + "\n]";
              },
          .problem = [=](const std::vector<T>& values) -> std::string {
            for (const T& value : values)
              if (const std::string problem = type.problem(value); !problem.empty())
                return type.write(value) + ": " + problem;
            return {};
          }};
}

/// A list that is written on one line, which is required in a table within a table.
template <class T> [[nodiscard]] Type<std::vector<T>> line_of(const Type<T>& type) {
  Type<std::vector<T>> line = list_of(type);
  line.write = [=](const std::vector<T>& values) {
    std::string list;
    for (const T& value : values) list += (list.empty() ? "" : ", ") + type.write(value);
    return "[" + list + "]";
  };
  return line;
}

/// A list of one or more different values, on one line.
template <class T> [[nodiscard]] Type<std::vector<T>> set_of(const Type<T>& type) {
  Type<std::vector<T>> set = line_of(type);
  set.problem = [=, of_each = set.problem](const std::vector<T>& values) -> std::string {
    if (values.empty()) return "an empty list";
    if (std::string problem = of_each(values); !problem.empty()) return problem;
    for (auto value = values.begin(); value != values.end(); ++value)
      if (std::find(values.begin(), value, *value) != value) return type.write(*value) + " occurs twice";
    return {};
  };
  return set;
}

/// A table whose keys are names that the user chooses. Each value has the type `type`.
template <class T> [[nodiscard]] Type<std::map<std::string, T>> table_of(const Type<T>& type) {
  return {.name = "table, " + type.name + " for each",
          .unit = type.unit,
          .read = [=](const Value& value) -> Read<std::map<std::string, T>> {
            const auto* table = std::get_if<Table>(&value.content);
            if (table == nullptr) return Unexpected("must be a table: write { NAME = ... }");
            if (table->empty()) return Unexpected("it is empty: write { NAME = ... }, or leave it out");
            std::map<std::string, T> result;
            for (const Entry& entry : *table) {
              auto read = type.read(entry.value);
              if (!read) return Unexpected(toml_string(entry.key) + " = " + spelled(entry.value) + ": " + read.error());
              result.emplace(entry.key, std::move(*read));
            }
            return result;
          },
          .write =
              [=](const std::map<std::string, T>& values) {
                std::string list;
                for (const auto& [name, value] : values)
                  list += (list.empty() ? " " : ", ") + toml_string(name) + " = " + type.write(value);
                return "{" + list + " }";
              },
          .problem = [=](const std::map<std::string, T>& values) -> std::string {
            for (const auto& [name, value] : values) {
              if (const std::string problem = text().problem(name); !problem.empty())
                return toml_string(name) + ": " + problem;
              if (const std::string problem = type.problem(value); !problem.empty())
                return toml_string(name) + " = " + type.write(value) + ": " + problem;
            }
            return {};
          }};
}

} // namespace rtexec::config
