// Tests the flight recorder: the contents of a snapshot, when one is written, and that it does not disturb the recorded
// threads.
#include "test/support/test_files.hpp"
#include "test/support/sanitized.hpp"
#include "test/traces/programs.hpp"
#include "traces/reading/reader.hpp"
#include "traces/recording/flight_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace rtexec::traces::test {
namespace {

namespace fs = std::filesystem;
using rtexec::test::ScratchFolder;

struct Written {
  fs::path folder;
  std::string reason;
};

/// Returns the snapshots that the program reports, and the last line that it prints.
std::vector<Written> snapshots_of(Program& program, std::string& last) {
  std::vector<Written> snapshots;
  while (!(last = program.read_line()).starts_with("left out") && !last.empty()) {
    const auto space = last.find(' ');
    snapshots.push_back({last.substr(0, space), last.substr(space + 1)});
  }
  return snapshots;
}

struct Contents {
  int setup = 0;
  std::vector<std::int64_t> jobs; // started jobs, in order
};

Contents contents_of(const fs::path& snapshot) {
  Contents contents;
  const auto read = read_trace(snapshot, [&](const RecordedEvent& event) {
    contents.setup += event.name() == "rtexec:run_begin" || event.name() == "rtexec:probe";
    if (event.name() == "rtexec:job_start") contents.jobs.push_back(event.integer("job").value_or(-1));
  });
  EXPECT_TRUE(read) << read.error().what;
  return contents;
}

void expect_all_up_to(const std::vector<std::int64_t>& jobs, std::int64_t last) {
  ASSERT_FALSE(jobs.empty());
  EXPECT_EQ(jobs.back(), last);
  EXPECT_EQ(jobs.back() - jobs.front() + 1, static_cast<std::int64_t>(jobs.size()));
  EXPECT_TRUE(std::ranges::is_sorted(jobs));
}

TEST(FlightRecorder, SnapshotHoldsSetupAndAllEventsThatFit) {
  const ScratchFolder folder;
  Program program({"fly", folder / "flight", "20000"});
  std::string last;
  const auto snapshots = snapshots_of(program, last);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(last, "left out 0");
  ASSERT_EQ(snapshots.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(snapshots[i].reason, "miss " + std::to_string(i));
    EXPECT_EQ(snapshots[i].folder.parent_path(), folder / "flight");
    EXPECT_TRUE(snapshots[i].folder.filename().string().starts_with("snapshot-" + std::to_string(i + 1) + "-"));
    const Contents contents = contents_of(snapshots[i].folder);
    EXPECT_EQ(contents.setup, 2);
    EXPECT_EQ(contents.jobs.front(), 0);
    expect_all_up_to(contents.jobs, static_cast<std::int64_t>(i + 1) * 20'000 - 1);
  }
}

TEST(FlightRecorder, DropsOldestEventsButKeepsSetupWhenFull) {
  const ScratchFolder folder;
  Program program({"fly", folder / "flight", "2000000"});
  std::string last;
  const auto snapshots = snapshots_of(program, last);
  EXPECT_EQ(program.wait(), 0);
  ASSERT_EQ(snapshots.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const Contents contents = contents_of(snapshots[i].folder);
    EXPECT_EQ(contents.setup, 2);
    EXPECT_GT(contents.jobs.front(), 0);
    expect_all_up_to(contents.jobs, static_cast<std::int64_t>(i + 1) * 2'000'000 - 1);
  }
}

TEST(FlightRecorder, BabeltraceReadsASnapshot) {
  const ScratchFolder folder;
  Program program({"fly", folder / "flight", "100"});
  std::string last;
  const auto snapshots = snapshots_of(program, last);
  EXPECT_EQ(program.wait(), 0);
  ASSERT_FALSE(snapshots.empty());
  EXPECT_EQ(
      std::system(("babeltrace2 " + snapshots.front().folder.string() + " >" + (folder / "text").string()).c_str()), 0);
  EXPECT_THAT(rtexec::test::read_text(folder / "text"), testing::HasSubstr("job = 99"));
}

/// Here the interval is a minute, in case the machine stalls.
TEST(FlightRecorder, CollectsMissesWithinTheIntervalInOneSnapshot) {
  EXPECT_EQ(FlightRecorderOptions().apart, std::chrono::seconds(1));
  const ScratchFolder folder;
  Program program({"fly-burst", folder / "flight"});
  std::string last;
  const auto snapshots = snapshots_of(program, last);
  EXPECT_EQ(program.wait(), 0);
  ASSERT_EQ(snapshots.size(), 2U); // the second one at the end
  EXPECT_EQ(snapshots[0].reason, "miss 0");
  EXPECT_EQ(snapshots[1].reason, "miss 1, and 28 more");
}

TEST(FlightRecorder, WritesAtMostTheConfiguredNumberOfSnapshots) {
  const ScratchFolder folder;
  Program program({"fly-most", folder / "flight"});
  std::string last;
  EXPECT_EQ(snapshots_of(program, last).size(), 2U);
  EXPECT_EQ(last, "left out 1");
  EXPECT_EQ(program.wait(), 0);
}

TEST(FlightRecorder, WritesSnapshotOnSigusr1) {
  const ScratchFolder folder;
  Program program({"fly-signal", folder / "flight"});
  ASSERT_EQ(program.read_line(), "flying");
  ::kill(program.pid(), SIGUSR1);
  std::string last;
  const auto snapshots = snapshots_of(program, last);
  EXPECT_EQ(program.wait(), 0);
  ASSERT_EQ(snapshots.size(), 1U);
  EXPECT_EQ(snapshots[0].reason, "SIGUSR1");
  EXPECT_EQ(contents_of(snapshots[0].folder).jobs.size(), 50U);
}

TEST(FlightRecorderWithRights, SnapshotCausesNoFaultOrAllocationInEmittingThread) {
  if (rtexec::test::sanitized) GTEST_SKIP() << "the sanitizer's own memory faults";
  const ScratchFolder folder;
  Program program({"fly-locked", folder / "flight"});
  const std::string measured = program.read_line();
  if (measured == "not locked") GTEST_SKIP() << "locking memory is refused here";
  EXPECT_EQ(measured, "0 faults, 0 allocations");
}

} // namespace
} // namespace rtexec::traces::test
