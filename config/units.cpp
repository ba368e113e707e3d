#include <rtexec/units.hpp>

#include "config/base/text.hpp"
#include "config/types.hpp"

#include <charconv>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace rtexec {
namespace {

__extension__ typedef unsigned __int128 Wide;

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

// Ascending order, so that a search from the end finds the largest unit that fits.
constexpr Unit time_units[] = {
    {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}, {"min", 60'000'000'000}};
constexpr Unit frequency_units[] = {{"nHz", 1}, {"mHz", 1'000'000}, {"Hz", 1'000'000'000}, {"kHz", 1'000'000'000'000}};
constexpr Unit byte_units[] = {{"B", 1},
                               {"kB", 1'000},
                               {"KiB", 1ULL << 10},
                               {"MB", 1'000'000},
                               {"MiB", 1ULL << 20},
                               {"GB", 1'000'000'000},
                               {"GiB", 1ULL << 30},
                               {"TB", 1'000'000'000'000},
                               {"TiB", 1ULL << 40}};
constexpr Unit binary_units[] = {
    {"B", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}, {"TiB", 1ULL << 40}};

constexpr std::size_t max_fraction_digits = 18;
constexpr std::uint64_t max_duration = std::numeric_limits<Duration::rep>::max();
constexpr std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max(); // also the limit in nanohertz

enum class Fraction { exact, rounded };

/// A kind of quantity: its units, the text that may follow a unit, the range of its values in the first unit. Also the
/// texts of messages about a value that is not in the notation of this quantity.
struct Quantity {
  std::string_view article_and_name;
  std::span<const Unit> units;
  std::string_view suffix;
  Fraction fraction;
  std::uint64_t max;
  std::string_view instead = {};
};

constexpr Quantity duration_quantity{"a duration", time_units, "", Fraction::exact, max_duration};
constexpr Quantity period_quantity{"a duration", time_units, "", Fraction::exact, max_duration, "; of a frequency, Hz"};
constexpr Quantity frequency_quantity{"a frequency", frequency_units, "", Fraction::exact, max_bytes};
constexpr Quantity bytes_quantity{"a size", byte_units, "", Fraction::rounded, max_bytes};
constexpr Quantity bandwidth_quantity{"a bandwidth", byte_units, "/s", Fraction::rounded, max_bytes};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

std::string use(const Quantity& quantity) {
  std::vector<std::string> spelled;
  for (const Unit& unit : quantity.units) spelled.push_back(std::string(unit.name) + std::string(quantity.suffix));
  const std::vector<std::string_view> names(spelled.begin(), spelled.end());
  return "(use " + config::alternatives(names) + std::string(quantity.instead) + ")";
}

const Unit* find_unit(const Quantity& quantity, std::string_view text) {
  if (!text.ends_with(quantity.suffix)) return nullptr;
  text.remove_suffix(quantity.suffix.size());
  for (const Unit& unit : quantity.units)
    if (unit.name == text) return &unit;
  return nullptr;
}

std::string unknown_unit(const Quantity& quantity, std::string_view text) {
  if (text.empty()) return "no unit " + use(quantity);
  return "unknown unit '" + config::shortened(config::escaped(text), 20) + "' " + use(quantity);
}

/// Returns the value in the first unit of the quantity, or the reason why `text` is invalid.
Expected<std::uint64_t, std::string> parse(const Quantity& quantity, std::string_view text) {
  if (text.starts_with('-')) return Unexpected("it is negative");
  const std::string_view whole_digits = take_digits(text);
  if (whole_digits.empty()) return Unexpected("no number, then a unit " + use(quantity));
  std::string_view fraction_digits;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction_digits = take_digits(text);
    if (fraction_digits.empty()) return Unexpected("no digit after the point");
    while (fraction_digits.ends_with('0')) fraction_digits.remove_suffix(1);
  }
  if (text.starts_with(' ')) text.remove_prefix(1); // readable() writes this space
  const Unit* unit = find_unit(quantity, text);
  if (unit == nullptr) return Unexpected(unknown_unit(quantity, text));
  if (fraction_digits.size() > max_fraction_digits) return Unexpected("more than 18 digits after the point");

  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  const auto [end, status] = std::from_chars(whole_digits.data(), whole_digits.data() + whole_digits.size(), whole);
  std::from_chars(fraction_digits.data(), fraction_digits.data() + fraction_digits.size(), fraction);
  Wide scale = 1;
  for (std::size_t i = 0; i < fraction_digits.size(); ++i) scale *= 10;
  const Wide parts = Wide{fraction} * unit->size;
  if (quantity.fraction == Fraction::exact && parts % scale != 0)
    return Unexpected("not a whole number of " + std::string(quantity.units.front().name));
  const Wide value = Wide{whole} * unit->size + (parts + scale / 2) / scale;
  if (status == std::errc::result_out_of_range || value > quantity.max)
    return Unexpected("larger than 64 bits hold (" + std::to_string(quantity.max) +
                      std::string(quantity.units.front().name) + std::string(quantity.suffix) + ")");
  return static_cast<std::uint64_t>(value);
}

template <class Value>
Result<Value> parse_as(const Quantity& quantity, std::string_view text, Value (*make)(std::uint64_t)) {
  const auto value = parse(quantity, text);
  if (!value) return fail(Errc::bad_input, "not " + std::string(quantity.article_and_name) + ": " + value.error());
  return make(*value);
}

/// Returns `value` in `unit` with all its decimals, or nullopt if it has more decimals than the parser accepts.
std::optional<std::string> decimal(std::uint64_t value, const Unit& unit) {
  std::string text = std::to_string(value / unit.size);
  std::uint64_t rest = value % unit.size;
  if (rest != 0) text += '.';
  for (std::size_t digits = 0; rest != 0; ++digits) {
    if (digits == max_fraction_digits) return std::nullopt;
    text += static_cast<char>('0' + rest * 10 / unit.size);
    rest = rest * 10 % unit.size;
  }
  return text + std::string(unit.name);
}

/// Returns the shortest exact text for `value`, in a unit that is not larger than `value`. If two texts are equally
/// short, uses the larger unit.
std::string shortest(std::uint64_t value, std::span<const Unit> units) {
  std::string best;
  for (const Unit& unit : units) {
    if (value < unit.size && !best.empty()) break;
    const auto text = decimal(value, unit);
    if (text && (best.empty() || text->size() <= best.size())) best = *text;
  }
  return best;
}

/// Returns the value with three significant digits, in the largest unit that is not larger than the rounded value.
std::string three_digits(std::uint64_t value, std::span<const Unit> units) {
  std::size_t chosen = 0;
  while (chosen + 1 < units.size() && value >= units[chosen + 1].size) ++chosen;
  if (chosen == 0) return std::to_string(value) + " " + std::string(units[0].name);
  const double in_unit = static_cast<double>(value) / static_cast<double>(units[chosen].size);
  const int decimals = in_unit < 9.995 ? 2 : in_unit < 99.95 ? 1 : 0;
  if (chosen + 1 < units.size()) {
    const double ratio = static_cast<double>(units[chosen + 1].size) / static_cast<double>(units[chosen].size);
    if (in_unit >= ratio - 0.5) return "1.00 " + std::string(units[chosen + 1].name);
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.*f ", decimals, in_unit);
  return text + std::string(units[chosen].name);
}

std::uint64_t magnitude(Duration value) {
  const auto count = static_cast<std::uint64_t>(value.count());
  return value.count() < 0 ? 0 - count : count;
}

Duration in_nanoseconds(std::uint64_t n) { return Duration{static_cast<Duration::rep>(n)}; }

std::string sign(Duration value) { return value.count() < 0 ? "-" : ""; }

} // namespace

Result<Duration> parse_duration(std::string_view text) {
  return parse_as<Duration>(duration_quantity, text, in_nanoseconds);
}

Result<Duration> config::parse_period(std::string_view text) {
  if (!text.ends_with("Hz")) return parse_as<Duration>(period_quantity, text, in_nanoseconds);
  constexpr std::uint64_t second = 1'000'000'000, hertz = 1'000'000'000; // in nanoseconds, in nanohertz
  const auto frequency = parse(frequency_quantity, text);
  if (!frequency) return fail(Errc::bad_input, "not a frequency: " + frequency.error());
  if (*frequency == 0) return fail(Errc::bad_input, "not a frequency: it is 0");
  return Duration(static_cast<Duration::rep>(second * hertz / *frequency));
}

Result<Bytes> parse_bytes(std::string_view text) {
  return parse_as<Bytes>(bytes_quantity, text, [](std::uint64_t n) { return Bytes{n}; });
}

Result<Bandwidth> parse_bandwidth(std::string_view text) {
  return parse_as<Bandwidth>(bandwidth_quantity, text, [](std::uint64_t n) { return Bandwidth{n}; });
}

std::string to_string(Duration value) { return sign(value) + shortest(magnitude(value), time_units); }
std::string to_string(Bytes value) { return shortest(value.count, byte_units); }
std::string to_string(Bandwidth value) { return shortest(value.bytes_per_second, byte_units) + "/s"; }

// Minutes would hide the magnitude of a deadline, so seconds are the largest unit of the readable form.
std::string readable(Duration value) {
  return sign(value) + three_digits(magnitude(value), std::span(time_units).first(4));
}
std::string readable(Bytes value) { return three_digits(value.count, binary_units); }
std::string readable(Frequency value) {
  static constexpr auto units =
      std::to_array<Unit>({{"Hz", 1}, {"kHz", 1'000}, {"MHz", 1'000'000}, {"GHz", 1'000'000'000}});
  return three_digits(value.hertz, units);
}

} // namespace rtexec
