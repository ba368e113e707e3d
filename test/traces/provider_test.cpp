// Tests that every event of the provider is recorded with its name and fields, and in order.
#include "test/support/test_files.hpp"
#include "test/traces/each_event.hpp"
#include "test/traces/programs.hpp"
#include "traces/reading/reader.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec::traces::test {
namespace {

/// Returns the expected event with the recorded values.
ExpectedEvent recorded_as(const ExpectedEvent& expected, const RecordedEvent& event) {
  ExpectedEvent got{std::string(event.name()), {}, {}};
  for (const auto& [field, value] : expected.integers)
    if (const auto read = event.integer(field.c_str())) got.integers[field] = *read;
  for (const auto& [field, value] : expected.texts)
    if (const auto read = event.text(field.c_str())) got.texts[field] = std::string(*read);
  return got;
}

void expect_recorded(const std::filesystem::path& trace, const std::vector<ExpectedEvent>& expected, Instant begin) {
  std::size_t index = 0;
  Instant previous = begin;
  const auto losses = read_trace(trace, [&](const RecordedEvent& event) {
    ASSERT_LT(index, expected.size());
    const ExpectedEvent& wanted = expected[index++];
    const ExpectedEvent got = recorded_as(wanted, event);
    EXPECT_EQ(got.name, "rtexec:" + wanted.name);
    EXPECT_EQ(got.integers, wanted.integers) << wanted.name;
    EXPECT_EQ(got.texts, wanted.texts) << wanted.name;
    EXPECT_FALSE(event.integer("no_such_field"));
    EXPECT_LE(previous, event.time());
    previous = event.time();
  });
  ASSERT_TRUE(losses) << losses.error().what;
  EXPECT_EQ(index, expected.size());
  EXPECT_LE(previous, std::chrono::steady_clock::now());
}

TEST(Provider, RecordsEveryEventWithItsFieldsInOrder) {
  const rtexec::test::ScratchFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  Program program({"each-event", folder / "trace", "1"});
  EXPECT_EQ(program.read_line(), "recording");
  EXPECT_EQ(program.read_line(), std::to_string(each_event().size()) + " 0");
  EXPECT_EQ(program.wait(), 0);
  expect_recorded(folder / "trace", each_event(), begin);
}

TEST(Provider, OmitsLayerEventsUnlessEnabled) {
  const rtexec::test::ScratchFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  Program program({"each-event", folder / "trace", "0"});
  EXPECT_EQ(program.wait(), 0);
  std::vector<ExpectedEvent> expected = each_event();
  std::erase_if(expected, [](const ExpectedEvent& event) { return event.name.starts_with("layer_"); });
  ASSERT_EQ(expected.size(), each_event().size() - 3);
  expect_recorded(folder / "trace", expected, begin);
}

/// The cost is printed but not checked: the machine may be busy.
TEST(Provider, PrintsCostOfAnEvent) {
  const rtexec::test::ScratchFolder folder;
  Program program({"cost", folder / "trace"});
  EXPECT_EQ(program.read_line(), "recording");
  const std::string recorded = program.read_line();
  EXPECT_EQ(program.wait(), 0);
  std::printf("cost of an event: %.2f ns off, %s\n", nanoseconds_of_an_event_off(), recorded.c_str());
}

} // namespace
} // namespace rtexec::traces::test
