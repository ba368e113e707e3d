#include "config/profile_file.hpp"
#include "test/support/file_size_limit.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using test::problem;
using testing::HasSubstr;

ProfileEntry entry(const std::string& task, const std::string& workload) {
  return {.task = task,
          .workload = workload,
          .wcet = {.before = 2ms, .device = 12ms, .after = 1ms},
          .observed = {.before = 1ms, .device = 10ms, .after = 0ms},
          .samples = 100,
          .margin = 1.2,
          .tuning = {}};
}

Profile profile_of(std::vector<ProfileEntry> entries) {
  return {.file = {}, .machine = "a \"machine\" \\ of ours", .device = "host", .entries = std::move(entries)};
}

void expect_same(const Wcet& a, const Wcet& b) {
  EXPECT_EQ(a.before, b.before);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.after, b.after);
}

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(ProfileFile, IsReadBackAsWritten) {
  const test::ScratchFolder folder;
  const auto file = folder / "p.toml";
  std::mt19937_64 random(7);
  const auto time = [&] { return Duration{1 + static_cast<Duration::rep>(random() >> 1) % Duration{60min}.count()}; };
  for (int round = 0; round < 50; ++round) {
    Profile written = profile_of({});
    for (int i = 0; i < round % 5; ++i) {
      ProfileEntry e = entry("task" + std::to_string(i), "net " + std::to_string(random()));
      e.wcet = {time(), time(), time()};
      e.observed = {time(), time(), time()};
      e.memory_policy = std::array{MemoryPolicy::device, MemoryPolicy::managed, MemoryPolicy::host}[random() % 3];
      e.samples = 1 + (random() >> 1);
      e.margin = 1 + static_cast<double>(random() % 1'000'000) / 7919;
      if (e.margin > 100) e.margin = 1;
      for (PartBasis* basis : {&e.before, &e.device, &e.after}) {
        basis->method = std::array{WcetMethod::growth, WcetMethod::tail_model, WcetMethod::layers}[random() % 3];
        basis->exceedance = random() % 2 == 0 ? 0 : 1 / static_cast<double>(1 + random() % 1'000'000);
        basis->block = std::uint64_t{1} << random() % 40;
        for (int k = 0; k < 20 * i; ++k) basis->longest.push_back(time());
      }
      if (i > 1) e.layers = {.pieces = random() >> 2, .sum = time()};
      for (std::uint32_t piece = 2; piece < static_cast<std::uint32_t>(i); ++piece)
        e.layers.each.push_back({.last_layer = 3 * piece, .longest = time()});
      if (i > 2) e.co_run_wcet = time();
      if (i > 3) e.mapping_idle = time();
      for (int line = 0; line < i; ++line)
        e.tuning.push_back("conv" + std::to_string(line % 2) + " \"own\" \\ tile=" + std::to_string(random()));
      for (int line = 2; line < i; ++line) e.degraded.push_back("SCHED_FIFO: \"no\" " + std::to_string(random()));
      written.entries.push_back(e);
    }
    ASSERT_EQ(problem(write_profile(written, file)), "none");
    const auto read = read_profile(file);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->file, file);
    EXPECT_EQ(read->machine, written.machine);
    EXPECT_EQ(read->device, written.device);
    ASSERT_EQ(read->entries.size(), written.entries.size());
    for (std::size_t i = 0; i < written.entries.size(); ++i) {
      EXPECT_EQ(read->entries[i].task, written.entries[i].task);
      EXPECT_EQ(read->entries[i].workload, written.entries[i].workload);
      EXPECT_EQ(read->entries[i].memory_policy, written.entries[i].memory_policy);
      EXPECT_EQ(read->entries[i].samples, written.entries[i].samples);
      EXPECT_EQ(read->entries[i].margin, written.entries[i].margin);
      EXPECT_EQ(read->entries[i].tuning, written.entries[i].tuning);
      EXPECT_EQ(read->entries[i].degraded, written.entries[i].degraded);
      EXPECT_EQ(read->entries[i].layers.pieces, written.entries[i].layers.pieces);
      EXPECT_EQ(read->entries[i].layers.sum, written.entries[i].layers.sum);
      EXPECT_EQ(read->entries[i].layers.each, written.entries[i].layers.each);
      EXPECT_EQ(read->entries[i].co_run_wcet, written.entries[i].co_run_wcet);
      EXPECT_EQ(read->entries[i].mapping_idle, written.entries[i].mapping_idle);
      for (const Part part : {Part::before, Part::device, Part::after}) {
        const PartBasis &a = read->entries[i].basis(part), &b = written.entries[i].basis(part);
        EXPECT_EQ(a.method, b.method);
        EXPECT_EQ(a.exceedance, b.exceedance);
        EXPECT_EQ(a.block, b.block);
        EXPECT_EQ(a.longest, b.longest);
      }
      expect_same(read->entries[i].wcet, written.entries[i].wcet);
      expect_same(read->entries[i].observed, written.entries[i].observed);
    }
  }
  EXPECT_EQ(files_in(folder.path()), 1u) << "nothing is left over";
}

TEST(ProfileFile, HoldsTheTuningOfTheLargestNetworks) {
  const test::ScratchFolder folder;
  Profile written = profile_of({});
  for (int task = 0; task < 8; ++task) {
    written.entries.push_back(entry("task" + std::to_string(task), "net"));
    for (int layer = 0; layer < 1000; ++layer)
      written.entries.back().tuning.push_back("features.denseblock4.denselayer" + std::to_string(layer) +
                                              ".conv1 cudnn algorithm=1 tensor");
  }
  ASSERT_EQ(problem(write_profile(written, folder / "p.toml")), "none");
  const auto read = read_profile(folder / "p.toml");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->entries[7].tuning, written.entries[7].tuning);
}

TEST(ProfileFile, RefusesToWriteUnreadableProfile) {
  const test::ScratchFolder folder;
  const auto file = folder / "p.toml";
  ASSERT_TRUE(write_profile(profile_of({}), file));
  const std::string before = test::read_text(file);
  EXPECT_THAT(problem(write_profile(profile_of({entry("a", "")}), file)),
              HasSubstr("workload = \"\": an empty string"));
  EXPECT_THAT(problem(write_profile(profile_of({entry("a", "x"), entry("a", "y")}), file)),
              HasSubstr("already used by task 1"));
  EXPECT_THAT(problem(write_profile(profile_of({entry("a", "\xff")}), file)), HasSubstr("p.toml:"));
  EXPECT_EQ(test::read_text(file), before);
}

TEST(ProfileFile, StaysWholeWhenTheDiskIsFull) {
  const test::ScratchFolder folder;
  const auto file = folder / "p.toml";
  ASSERT_TRUE(write_profile(profile_of({entry("a", "net 1")}), file));
  const std::string before = test::read_text(file);
  Result<> result;
  {
    const test::FileSizeLimit limit(100); // in the middle of the new file
    result = write_profile(profile_of({entry("a", "net 2"), entry("b", "net 3")}), file);
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::refused);
  EXPECT_EQ(result.error().what, file.string() + ": error: cannot write it, the old file is unchanged: File too large");
  EXPECT_EQ(test::read_text(file), before);
  EXPECT_EQ(files_in(folder.path()), 1u) << "the temporary file is gone";
}

TEST(ProfileFile, ReportsMissingFolder) {
  EXPECT_EQ(problem(write_profile(profile_of({}), "/nonexistent/p.toml")),
            "/nonexistent/p.toml: error: cannot write it: No such file or directory");
  EXPECT_THAT(read_profile("/nonexistent/p.toml").error().what, HasSubstr("cannot read it: No such file or directory"));
}

TEST(ProfileFile, RefusesToReplaceFolder) {
  const test::ScratchFolder folder;
  std::filesystem::create_directory(folder / "p.toml");
  EXPECT_THAT(problem(write_profile(profile_of({}), folder / "p.toml")), HasSubstr("it is a folder"));
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TaskSet tasks(std::initializer_list<const char*> names) {
  TaskSet set;
  set.file = "demo.toml";
  for (const char* name : names) set.tasks.emplace_back().name = name;
  return set;
}

TEST(ProfileFile, KeepsMeasurementsOfOtherTasks) {
  const Profile before = profile_of({entry("a", "net 1"), entry("b", "net 2"), entry("c", "net 3")});
  const Profile both = with_others(profile_of({entry("c", "net 9"), entry("d", "net 4")}), before);
  std::vector<std::string> found;
  for (const ProfileEntry& each : both.entries) found.push_back(each.task + ": " + each.workload);
  EXPECT_THAT(found, testing::ElementsAre("c: net 9", "d: net 4", "a: net 1", "b: net 2"));
}

TEST(ProfileFile, HoldsOneEntryPerTaskAndMemoryPolicy) {
  Profile profile = profile_of({entry("a", "net D"), entry("a", "net M"), entry("b", "net 2")});
  profile.entries[1].memory_policy = MemoryPolicy::managed;
  const auto toml = profile_toml(profile, "p.toml");
  ASSERT_TRUE(toml) << problem(toml);
  EXPECT_EQ(entry_of(profile, "a", MemoryPolicy::automatic), &profile.entries[0]);
  EXPECT_EQ(entry_of(profile, "a", MemoryPolicy::managed), &profile.entries[1]);
  EXPECT_EQ(entry_of(profile, "a", MemoryPolicy::host), nullptr);
  EXPECT_EQ(begun_entry(profile, "a", MemoryPolicy::managed, "net M").samples, 100u);
  EXPECT_EQ(begun_entry(profile, "a", MemoryPolicy::managed, "net D").samples, 0u);
  EXPECT_EQ(begun_entry(profile, "a", MemoryPolicy::automatic, "net 9").memory_policy, MemoryPolicy::device);
  EXPECT_EQ(with_others(profile_of({profile.entries[1]}), profile).entries.size(), 3u);

  TaskSet set = tasks({"a"});
  set.tasks[0].memory_policy = MemoryPolicy::managed;
  EXPECT_TRUE(apply_profile(set, profile, {"net M"}));
  set.tasks[0].wcet.reset();
  set.tasks[0].memory_policy = MemoryPolicy::host;
  EXPECT_THAT(problem(apply_profile(set, profile, {"net H"})), HasSubstr("no measurement under memory policy H"));
}

TEST(ApplyProfile, FillsOnlyMissingWcets) {
  TaskSet set = tasks({"a", "b"});
  set.tasks[1].wcet = Wcet{.before = 0ms, .device = 7ms, .after = 0ms};
  ASSERT_TRUE(apply_profile(set, profile_of({entry("a", "net 1")}), {"net 1", "net 9"}));
  expect_same(*set.tasks[0].wcet, entry("", "").wcet);
  EXPECT_EQ(set.tasks[1].wcet->device, 7ms);
}

TEST(ApplyProfile, FillsMissingCoRunningMeasurements) {
  TaskSet set = tasks({"a", "b", "c", "d"});
  for (const std::size_t waiting : {1U, 2U}) set.tasks[waiting].memory_policy = MemoryPolicy::managed;
  set.tasks[2].co_run_wcet = 80ms;
  Profile profile = profile_of({entry("a", "1"), entry("b", "2"), entry("c", "3"), entry("d", "4")});
  for (std::size_t i = 0; i < 3; ++i) {
    profile.entries[i].co_run_wcet = 40ms;
    profile.entries[i].mapping_idle = i == 1 ? 50ms : 30ms;
    profile.entries[i].memory_policy =
        set.tasks[i].memory_policy == MemoryPolicy::managed ? MemoryPolicy::managed : MemoryPolicy::device;
  }
  ASSERT_TRUE(apply_profile(set, profile, {"1", "2", "3", "4"}));
  EXPECT_EQ(set.tasks[0].co_run_wcet, 40ms);
  EXPECT_EQ(set.tasks[0].mapping_idle, std::nullopt) << "under D no job waits";
  EXPECT_EQ(set.tasks[1].mapping_idle, 40ms) << "no longer than the part";
  EXPECT_EQ(set.tasks[2].co_run_wcet, 80ms) << "given";
  EXPECT_EQ(set.tasks[2].mapping_idle, std::nullopt) << "a measurement beside another one";
  EXPECT_EQ(set.tasks[3].co_run_wcet, std::nullopt);
}

TEST(ApplyProfile, ReportsCauseOfStaleMeasurement) {
  const auto change = [](const std::string& before, const std::string& now) {
    TaskSet set = tasks({"a"});
    return apply_profile(set, profile_of({entry("a", before)}), {now}).error().what;
  };
  EXPECT_THAT(change("dnn-0123", "dnn-4567"), testing::HasSubstr("out of date: its model, parameters, shared object"));
  EXPECT_THAT(change("dnn-cuda-fp32-0123", "dnn-cuda-fp16-4567"),
              testing::HasSubstr("precision (\"dnn-cuda-fp32\", now \"dnn-cuda-fp16\") changed"));
  EXPECT_THAT(change("dnn-0123-tuned-1", "dnn-0123-tuned-2"), testing::HasSubstr("the tuning of its kernels changed"));
}

TEST(ApplyProfile, ReportsUnmeasuredTasksAndChangesNothing) {
  TaskSet set = tasks({"a", "b", "c"});
  Profile profile = profile_of({entry("a", "net 1"), entry("b", "net 2")});
  profile.file = "demo.profile.toml";
  const auto result = apply_profile(set, profile, {"net 1", "net 3", "net 4"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::bad_input);
  EXPECT_EQ(result.error().what,
            "demo.profile.toml: error: task 'b': its measurement is out of date: its kind of workload, device or "
            "precision (\"net 2\", now \"net 3\") changed\ndemo.profile.toml: error: task 'c': no measurement\nrun "
            "`rtexec profile demo.toml`, or give wcet in the task set");
  EXPECT_FALSE(set.tasks[0].wcet);
}

TEST(ApplyProfile, RequiresOneFingerprintPerTask) {
  TaskSet set = tasks({"a"});
  EXPECT_FALSE(apply_profile(set, profile_of({}), {}));
}

} // namespace
} // namespace rtexec
