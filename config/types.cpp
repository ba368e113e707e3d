#include "config/types.hpp"

#include "config/base/decimal.hpp"

namespace rtexec::config {
namespace {

constexpr std::size_t max_text_bytes = 512;
constexpr std::size_t max_identifier_bytes = 64;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string problem_of_text(const std::string& text) {
  if (text.empty()) return "an empty string";
  if (printable(text, text.size()) != text) return "control characters are not accepted";
  if (text.size() > max_text_bytes) return "longer than " + std::to_string(max_text_bytes) + " bytes";
  return {};
}

/// Reads a string with `parse`, the parser of a quantity with a unit. If the value is a number without a unit, the
/// error shows the number with `example_unit`.
template <class T>
Read<T> read_quantity(const Value& value, Result<T> (*parse)(std::string_view), const std::string& example_unit) {
  if (const auto* text = std::get_if<std::string>(&value.content)) {
    auto parsed = parse(*text);
    if (!parsed) return Unexpected(std::move(parsed.error().what));
    return *parsed;
  }
  const bool bare =
      std::holds_alternative<std::int64_t>(value.content) || std::holds_alternative<double>(value.content);
  return Unexpected((bare ? "a number without a unit: write " : "expected a string with a unit: write ") +
                    toml_string("100" + example_unit));
}

} // namespace

namespace detail {

Read<std::int64_t> read_integer(const Value& value) {
  if (const auto* n = std::get_if<std::int64_t>(&value.content)) return *n;
  return Unexpected("not an integer");
}

Read<std::string> read_string(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.content)) return *text;
  return Unexpected("not a string");
}

std::string problem_of_range(bool inside, const std::string& least, const std::string& most) {
  return inside ? "" : "out of range: at least " + least + ", at most " + most;
}

} // namespace detail

Type<bool> boolean() {
  return {.name = "true or false",
          .read = [](const Value& value) -> Read<bool> {
            if (const auto* b = std::get_if<bool>(&value.content)) return *b;
            return Unexpected("neither true nor false (without quotes)");
          },
          .write = [](const bool& b) { return std::string(b ? "true" : "false"); },
          .problem = [](const bool&) { return std::string{}; }};
}

Type<double> real(double least, double most) {
  return {.name = "number, " + decimal(least) + " to " + decimal(most),
          .read = [](const Value& value) -> Read<double> {
            if (const auto* x = std::get_if<double>(&value.content)) return *x;
            if (const auto* n = std::get_if<std::int64_t>(&value.content)) return static_cast<double>(*n);
            return Unexpected("not a number");
          },
          .write = decimal,
          .problem = [=](const double& x) { // false for NaN
            return detail::problem_of_range(least <= x && x <= most, decimal(least), decimal(most));
          }};
}

Type<std::string> text() {
  return {.name = "string", .read = detail::read_string, .write = toml_string, .problem = problem_of_text};
}

bool is_identifier(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  };
  return !name.empty() && name.size() <= max_identifier_bytes && name != "." && name != ".." &&
         std::ranges::all_of(name, fits);
}

Type<std::string> identifier() {
  return {.name = "name, 1 to 64 of A-Z a-z 0-9 _ . -",
          .read = detail::read_string,
          .write = toml_string,
          .problem = [](const std::string& name) {
            return std::string(is_identifier(name) ? "" : "not a name: use 1 to 64 of A-Z a-z 0-9 _ . -");
          }};
}

Type<std::filesystem::path> path() {
  return {.name = "path",
          .read = [](const Value& value) -> Read<std::filesystem::path> {
            const auto text = detail::read_string(value);
            if (!text) return Unexpected(text.error());
            if (text->empty()) return Unexpected("an empty path");
            return *text;
          },
          .write = [](const std::filesystem::path& path) { return toml_string(path.string()); },
          .problem =
              [](const std::filesystem::path& path) {
                return std::ranges::any_of(path.native(), is_control) ? "control characters are not accepted in a path"
                                                                      : std::string{};
              }};
}

Type<Duration> duration(Duration least, Duration most) {
  return {.name = "duration, " + to_string(least) + " to " + to_string(most),
          .unit = "ns, us, ms, s, min",
          .read = [](const Value& value) { return read_quantity(value, parse_duration, "ms"); },
          .write = [](const Duration& value) { return toml_string(to_string(value)); },
          .problem =
              [=](const Duration& value) {
                return detail::problem_of_range(least <= value && value <= most, to_string(least), to_string(most));
              }};
}

Type<Duration> period(Duration least, Duration most) {
  Type<Duration> type = duration(least, most);
  type.name = "duration or frequency, " + to_string(least) + " to " + to_string(most);
  type.unit += "; Hz, kHz, mHz";
  type.read = [](const Value& value) { return read_quantity(value, parse_period, "ms"); };
  return type;
}

Type<Bytes> bytes() {
  return {.name = "size",
          .unit = "B, kB, KiB, MB, MiB, GB, GiB, TB, TiB",
          .read = [](const Value& value) { return read_quantity(value, parse_bytes, "MiB"); },
          .write = [](const Bytes& value) { return toml_string(to_string(value)); },
          .problem = [](const Bytes&) { return std::string{}; }};
}

Type<Bandwidth> bandwidth(Bandwidth least) {
  return {.name = "bandwidth, at least " + to_string(least),
          .unit = "B/s, kB/s, MB/s, MiB/s, GB/s, GiB/s",
          .read = [](const Value& value) { return read_quantity(value, parse_bandwidth, "MB/s"); },
          .write = [](const Bandwidth& value) { return toml_string(to_string(value)); },
          .problem =
              [=](const Bandwidth& value) {
                return value < least ? "must be at least " + to_string(least) : std::string{};
              }};
}

Type<Bytes> pages() {
  Type<Bytes> type = bytes();
  type.name = "size, a multiple of " + to_string(page);
  type.problem = [](const Bytes& value) {
    return value == Bytes{0} ? "must be at least " + to_string(page) : problem_of_multiple(value, page);
  };
  return type;
}

std::string problem_of_multiple(Bytes value, Bytes unit) {
  if (value.count % unit.count == 0) return {};
  const Bytes below{value.count / unit.count * unit.count};
  std::string nearest_values;
  if (below.count > 0) nearest_values = toml_string(to_string(below));
  if (below.count <= std::numeric_limits<std::uint64_t>::max() - unit.count)
    nearest_values += (nearest_values.empty() ? "" : " or ") + toml_string(to_string(below + unit));
  return "not a multiple of " + to_string(unit) + ": write " + nearest_values;
}

} // namespace rtexec::config
