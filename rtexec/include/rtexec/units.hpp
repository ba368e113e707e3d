// Types for quantities with units, so that components do not exchange plain integers. Also the text forms of their
// values in TOML files.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/result.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace rtexec {

/// A duration in nanoseconds, 64-bit.
using Duration = std::chrono::nanoseconds;

/// A point on CLOCK_MONOTONIC (std::chrono::steady_clock on Linux), or on a simulator's virtual clock.
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;

struct Bytes {
  std::uint64_t count = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.count * n}; }
  constexpr Bytes& operator+=(Bytes b) {
    count += b.count;
    return *this;
  }
};

constexpr Bytes round_up(Bytes size, Bytes unit) { return {(size.count + unit.count - 1) / unit.count * unit.count}; }

struct Bandwidth {
  std::uint64_t bytes_per_second = 0;
  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;
};

/// A clock frequency.
struct Frequency {
  std::uint64_t hertz = 0;
  friend constexpr auto operator<=>(Frequency, Frequency) = default;
};

/// Parses "100ms", "1.5s", "250us", "40ns" or "2min". The value must not be negative, and must be a whole number of
/// nanoseconds.
[[nodiscard]] RTEXEC_API Result<Duration> parse_duration(std::string_view text);
/// Parses "64MiB", "3.8GiB", "500MB" or "4096B", with binary and decimal prefixes. Rounds to a whole byte.
[[nodiscard]] RTEXEC_API Result<Bytes> parse_bytes(std::string_view text);
/// Parses "100MB/s" or "1GiB/s".
[[nodiscard]] RTEXEC_API Result<Bandwidth> parse_bandwidth(std::string_view text);

/// Returns the shortest text that the corresponding parser converts to exactly this value.
[[nodiscard]] RTEXEC_API std::string to_string(Duration value);
[[nodiscard]] RTEXEC_API std::string to_string(Bytes value);
[[nodiscard]] RTEXEC_API std::string to_string(Bandwidth value);

/// Returns a text for people: three significant digits in a fitting unit ("12.3 ms", "1.46 GiB", "2.40 GHz").
[[nodiscard]] RTEXEC_API std::string readable(Duration value);
[[nodiscard]] RTEXEC_API std::string readable(Bytes value);
[[nodiscard]] RTEXEC_API std::string readable(Frequency value);

} // namespace rtexec
