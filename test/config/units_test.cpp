#include "config/types.hpp"
#include <rtexec/units.hpp>
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using test::problem;
using testing::HasSubstr;

constexpr std::uint64_t u64_max = std::numeric_limits<std::uint64_t>::max();

Duration duration(const char* text) {
  const auto value = parse_duration(text);
  EXPECT_TRUE(value.has_value()) << text << ": " << value.error().what;
  return value.value_or(Duration::min());
}

std::uint64_t bytes(const char* text) {
  const auto value = parse_bytes(text);
  EXPECT_TRUE(value.has_value()) << text << ": " << value.error().what;
  return value.value_or(Bytes{}).count;
}

TEST(Durations, AreReadInEveryUnit) {
  EXPECT_EQ(duration("40ns"), 40ns);
  EXPECT_EQ(duration("250us"), 250us);
  EXPECT_EQ(duration("100ms"), 100ms);
  EXPECT_EQ(duration("1.5s"), 1500ms);
  EXPECT_EQ(duration("2min"), 120s);
  EXPECT_EQ(duration("0ms"), 0ns);
  EXPECT_EQ(duration("007ms"), 7ms);
  EXPECT_EQ(duration("1.500000000000000000000000ms"), 1500us);
  EXPECT_EQ(duration("0.00000000005min"), 3ns);
}

TEST(Durations, AreParsedExactlyUpTo64Bits) {
  EXPECT_EQ(duration("9223372036854775807ns"), Duration::max());
  EXPECT_EQ(duration("9223372036.854775807s"), Duration::max());
  EXPECT_THAT(problem(parse_duration("9223372036854775808ns")),
              HasSubstr("larger than 64 bits hold (9223372036854775807ns)"));
  EXPECT_THAT(problem(parse_duration("9223372036.854775808s")), HasSubstr("larger than 64 bits"));
  EXPECT_THAT(problem(parse_duration("18446744073709551616ns")), HasSubstr("larger than 64 bits"));
  EXPECT_THAT(problem(parse_duration("18446744073709551615min")), HasSubstr("larger than 64 bits"));
}

TEST(Durations, ReportReasonIfInvalid) {
  EXPECT_EQ(problem(parse_duration("100x")), "not a duration: unknown unit 'x' (use ns, us, ms, s or min)");
  EXPECT_EQ(problem(parse_duration("-1ms")), "not a duration: it is negative");
  EXPECT_EQ(problem(parse_duration("0.5ns")), "not a duration: not a whole number of ns");
  EXPECT_EQ(problem(parse_duration("1.0000000000000000001s")), "not a duration: more than 18 digits after the point");
  for (const char* text : {"",     "ms",   ".5s",  "5.s",  "+5s", " 5s", "5  s", "5s ", "5 . s", "5\ts",  "5 ",
                           "30Hz", "1e3s", "1,5s", "0x5s", "5",   "5S",  "5sec", "inf", "nan",   "5ms5us"})
    EXPECT_FALSE(parse_duration(text)) << text;
  EXPECT_FALSE(parse_duration(std::string_view("5ms\0", 4)));
}

TEST(Durations, ParseFromReadableFormLikeSizesAndBandwidths) {
  EXPECT_EQ(duration("500 ms"), 500ms);
  EXPECT_EQ(bytes("1.5 GiB"), 3ULL << 29);
  EXPECT_EQ(parse_bandwidth("100 MB/s")->bytes_per_second, 100'000'000u);
  EXPECT_FALSE(parse_bandwidth("100 MB /s"));
  std::mt19937_64 random(1);
  for (int i = 0; i < 5'000; ++i) {
    const std::uint64_t n = random() >> (random() % 63 + 1);
    const Duration time{static_cast<Duration::rep>(n)};
    EXPECT_TRUE(parse_duration(readable(time))) << readable(time);
    EXPECT_TRUE(parse_bytes(readable(Bytes{n}))) << readable(Bytes{n});
    for (std::string text : {to_string(time), to_string(Bytes{n}), to_string(Bandwidth{n})}) {
      text.insert(text.find_first_not_of("0123456789."), " ");
      if (text.ends_with("/s")) EXPECT_EQ(parse_bandwidth(text).value(), Bandwidth{n}) << text;
      else if (text.ends_with('B')) EXPECT_EQ(parse_bytes(text).value(), Bytes{n}) << text;
      else EXPECT_EQ(parse_duration(text).value(), time) << text;
    }
  }
}

TEST(Periods, AreParsedFromDurationOrFrequency) {
  const auto period = [](const char* text) { return config::parse_period(text).value_or(Duration::min()); };
  EXPECT_EQ(period("33ms"), 33ms);
  EXPECT_EQ(period("50Hz"), 20ms);
  EXPECT_EQ(period("1 kHz"), 1ms);
  EXPECT_EQ(period("500mHz"), 2s);
  EXPECT_EQ(period("30Hz"), 33'333'333ns);
  EXPECT_EQ(period("60Hz"), 16'666'666ns); // not ...667
  EXPECT_EQ(period("29.97Hz"), 33'366'700ns);
  EXPECT_EQ(period("0.5 Hz"), 2s);
  EXPECT_EQ(problem(config::parse_period("0Hz")), "not a frequency: it is 0");
  EXPECT_THAT(problem(config::parse_period("Hz")), HasSubstr("not a frequency: no number"));
  EXPECT_THAT(problem(config::parse_period("5MHz")), HasSubstr("unknown unit 'MHz' (use nHz, mHz, Hz or kHz)"));
  EXPECT_THAT(problem(config::parse_period("0.0000000001Hz")), HasSubstr("not a whole number of nHz"));
  EXPECT_EQ(problem(config::parse_period("30 fps")),
            "not a duration: unknown unit 'fps' (use ns, us, ms, s or min; of a frequency, Hz)");
}

TEST(Periods, FrequencyIsConvertedToPeriodRoundedDown) {
  std::mt19937_64 random(2);
  __extension__ typedef unsigned __int128 Wide;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t nanohertz = std::max<std::uint64_t>(random() >> (random() % 63 + 1), 1);
    const auto period = config::parse_period(std::to_string(nanohertz) + "nHz");
    ASSERT_TRUE(period);
    constexpr Wide one = 1'000'000'000'000'000'000; // a second times a hertz
    const auto ns = static_cast<Wide>(period->count());
    EXPECT_LE(ns * nanohertz, one) << nanohertz;
    EXPECT_GT((ns + 1) * nanohertz, one) << nanohertz;
  }
}

TEST(Sizes, AreReadInEveryUnit) {
  EXPECT_EQ(bytes("4096B"), 4096u);
  EXPECT_EQ(bytes("1kB"), 1000u);
  EXPECT_EQ(bytes("1KiB"), 1024u);
  EXPECT_EQ(bytes("500MB"), 500'000'000u);
  EXPECT_EQ(bytes("64MiB"), 64u << 20);
  EXPECT_EQ(bytes("1GB"), 1'000'000'000u);
  EXPECT_EQ(bytes("2GiB"), 2ULL << 30);
  EXPECT_EQ(bytes("3TB"), 3'000'000'000'000u);
  EXPECT_EQ(bytes("1TiB"), 1ULL << 40);
}

TEST(Sizes, AreRoundedToAWholeByte) {
  EXPECT_EQ(bytes("3.8GiB"), 4080218931u); // 4080218931.2
  EXPECT_EQ(bytes("0.4B"), 0u);
  EXPECT_EQ(bytes("0.5B"), 1u);
  EXPECT_EQ(bytes("0.999999999999999999GiB"), 1ULL << 30);
}

TEST(Sizes, AreParsedExactlyUpTo64Bits) {
  EXPECT_EQ(bytes("18446744073709551615B"), u64_max);
  EXPECT_EQ(bytes("16777215TiB"), 16777215ULL << 40);
  EXPECT_THAT(problem(parse_bytes("18446744073709551616B")),
              HasSubstr("larger than 64 bits hold (18446744073709551615B)"));
  EXPECT_THAT(problem(parse_bytes("16777216TiB")), HasSubstr("larger than 64 bits"));
  EXPECT_THAT(problem(parse_bytes("18446744073709551615.5B")), HasSubstr("larger than 64 bits"));
}

TEST(Bandwidths, AreSizesPerSecond) {
  EXPECT_EQ(parse_bandwidth("100MB/s")->bytes_per_second, 100'000'000u);
  EXPECT_EQ(parse_bandwidth("1GiB/s")->bytes_per_second, 1ULL << 30);
  EXPECT_THAT(problem(parse_bandwidth("100MB")), HasSubstr("unknown unit 'MB' (use B/s, kB/s"));
  EXPECT_FALSE(parse_bandwidth("100/s"));
  EXPECT_FALSE(parse_bandwidth("100MB/ms"));
  EXPECT_FALSE(parse_bytes("100MB/s"));
}

TEST(TextForms, AreTheShortestExactOnes) {
  EXPECT_EQ(to_string(Duration{0}), "0ns");
  EXPECT_EQ(to_string(Duration{100ms}), "100ms");
  EXPECT_EQ(to_string(Duration{1500us}), "1.5ms");
  EXPECT_EQ(to_string(Duration{60s}), "60s");
  EXPECT_EQ(to_string(Duration{120s}), "2min");
  EXPECT_EQ(to_string(Duration{100s}), "100s");
  EXPECT_EQ(to_string(Duration{12345678ns}), "12345678ns");
  EXPECT_EQ(to_string(Duration{-5ms}), "-5ms");
  EXPECT_EQ(to_string(Duration::min()), "-9223372036.854775808s");
  EXPECT_EQ(to_string(Bytes{0}), "0B");
  EXPECT_EQ(to_string(Bytes{4096}), "4KiB");
  EXPECT_EQ(to_string(Bytes{1'500'000}), "1.5MB");
  EXPECT_EQ(to_string(Bytes{3ULL << 29}), "1.5GiB");
  EXPECT_EQ(to_string(Bytes{u64_max}), "18446744073709551615B");
  EXPECT_EQ(to_string(Bandwidth{100'000'000}), "100MB/s");
}

/// Checks values of every magnitude: random bits, truncated to a random length, and their multiples by every power of
/// ten.
template <class Check> void for_random_values(std::uint64_t most, Check check) {
  std::mt19937_64 random(20260101);
  for (int i = 0; i < 5'000; ++i) {
    const std::uint64_t value = random() >> (random() % 64);
    if (value > most) continue;
    check(value);
    for (std::uint64_t scale = 10; scale < 1'000'000'000'000'000 && value % 1000 <= most / scale; scale *= 10)
      check(value % 1000 * scale);
  }
}

TEST(TextForms, AreReadBackToTheSameValue) {
  for_random_values(static_cast<std::uint64_t>(Duration::max().count()), [](std::uint64_t n) {
    const Duration value{static_cast<Duration::rep>(n)};
    ASSERT_EQ(parse_duration(to_string(value)).value(), value) << to_string(value);
  });
  for_random_values(u64_max, [](std::uint64_t n) {
    ASSERT_EQ(parse_bytes(to_string(Bytes{n})).value(), Bytes{n}) << to_string(Bytes{n});
    ASSERT_EQ(parse_bandwidth(to_string(Bandwidth{n})).value(), Bandwidth{n}) << to_string(Bandwidth{n});
  });
}

TEST(ReadableForms, HaveThreeSignificantDigits) {
  EXPECT_EQ(readable(Duration{0}), "0 ns");
  EXPECT_EQ(readable(Duration{999}), "999 ns");
  EXPECT_EQ(readable(Duration{12'345'678}), "12.3 ms");
  EXPECT_EQ(readable(Duration{1s}), "1.00 s");
  EXPECT_EQ(readable(Duration{9'999us}), "10.0 ms");
  EXPECT_EQ(readable(Duration{99'960us}), "100 ms");
  EXPECT_EQ(readable(Duration{999'600us}), "1.00 s");
  EXPECT_EQ(readable(Duration{3600s}), "3600 s");
  EXPECT_EQ(readable(Duration{-12'345'678}), "-12.3 ms");
  EXPECT_EQ(readable(Bytes{1'570'000'000}), "1.46 GiB");
  EXPECT_EQ(readable(Bytes{1023}), "1023 B");
  EXPECT_EQ(readable(Frequency{2'396'000'000}), "2.40 GHz");
  EXPECT_EQ(readable(Frequency{345'000'000}), "345 MHz");
  EXPECT_EQ(readable(Bytes{64u << 20}), "64.0 MiB");
  EXPECT_EQ(readable(Bytes{(1ULL << 30) - 1}), "1.00 GiB");
  EXPECT_EQ(readable(Bytes{u64_max}), "16777216 TiB");
}

} // namespace
} // namespace rtexec
