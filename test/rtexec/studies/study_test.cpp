// Tests studies of random task sets: the same results for any number of threads and interruptions, and presets that
// match their sources.
#include "rtexec/studies/sweep/outcome_file.hpp"
#include "rtexec/studies/sweep/presets.hpp"
#include "rtexec/studies/sweep/study.hpp"
#include "test/support/test_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rtexec::study {
namespace {

using namespace std::chrono_literals;
using test::read_text;
using test::ScratchFolder;
using test::write_text;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;

Study preset_named(std::string_view name, std::size_t sets) {
  const auto preset = std::ranges::find(presets(), name, &Preset::name);
  Study study = preset->study;
  study.source_name = name;
  study.sets = sets;
  const auto tests = columns(study.order, study.source.layers.most > 1);
  study.tests.assign(tests.begin(), tests.end());
  return study;
}

/// Returns a study with serial tests only, which are quick.
Study small_study() {
  Study study = preset_named("rt-swap-fig7a", 30);
  study.values = {8, 9, 10};
  study.tests.resize(3);
  return study;
}

std::vector<std::uint32_t> masks_of(const Outcomes& outcomes) {
  std::vector<std::uint32_t> masks;
  for (std::size_t item = 0; item < outcomes.size(); ++item)
    masks.push_back(outcomes.known(item) ? outcomes.mask(item) : UINT32_MAX);
  return masks;
}

Outcomes outcomes_of(const Study& study, unsigned threads) {
  Outcomes outcomes(study.values.size(), study.sets);
  work_out(study, outcomes, threads, [](std::span<const std::size_t>) { return true; });
  return outcomes;
}

std::string key_lines(const Study& study) {
  const ScratchFolder folder;
  Outcomes outcomes(study.values.size(), study.sets);
  (void)OutcomeFile::open(folder.path(), study, outcomes).value();
  return read_text(folder / "outcomes.csv");
}

// ---- computing ----

TEST(Study, GivesSameOutcomesForAnyThreadCount) {
  const Study study = small_study();
  const auto alone = masks_of(outcomes_of(study, 1));
  EXPECT_EQ(alone, masks_of(outcomes_of(study, 2)));
  EXPECT_EQ(alone, masks_of(outcomes_of(study, 7)));
  EXPECT_EQ(std::ranges::count(alone, UINT32_MAX), 0);
}

TEST(Study, ReportsEachItemOnceInOrder) {
  const Study study = small_study();
  Outcomes outcomes(study.values.size(), study.sets);
  std::vector<std::size_t> told;
  work_out(study, outcomes, 3, [&](std::span<const std::size_t> items) {
    return told.insert(told.end(), items.begin(), items.end()), true;
  });
  EXPECT_EQ(told.size(), outcomes.size());
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_EQ(std::ranges::adjacent_find(told), told.end());
}

TEST(Study, ReportsItemsInProgressWhenStopped) {
  const Study study = small_study();
  Outcomes outcomes(study.values.size(), study.sets);
  std::size_t told = 0;
  work_out(study, outcomes, 2, [&](std::span<const std::size_t> items) { return told += items.size(), false; });
  EXPECT_EQ(told, outcomes.count_known());
}

TEST(Study, PercentagesCountTheSetsOfEachRow) {
  Study study = small_study();
  study.values = {8, 9};
  study.sets = 4;
  study.tests.resize(2);
  Outcomes outcomes(2, 4);
  for (const auto& [item, mask] :
       {std::pair(0U, 3U), {1U, 2U}, {2U, 2U}, {3U, 0U}, {4U, 0U}, {5U, 0U}, {6U, 0U}, {7U, 1U}})
    outcomes.set(item, mask);
  const auto rows = rows_of(study, outcomes);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].value, 8);
  EXPECT_THAT(rows[0].percent, ElementsAre(25, 75));
  EXPECT_THAT(rows[1].percent, ElementsAre(25, 0));
}

TEST(Study, ColumnsCoverEveryDeviceTestOfTheOrder) {
  for (const Order order : {Order::edf, Order::static_priority}) {
    const auto known = policies::device_tests(order);
    const auto shown = columns(order, false);
    for (const Column& column : shown)
      EXPECT_NE(std::ranges::find(known, std::get<policies::DeviceTest>(column.test)), known.end()) << column.name;
    for (const policies::DeviceTest test : known)
      EXPECT_NE(std::ranges::find(shown, std::variant<policies::DeviceTest, Necessary>(test), &Column::test),
                shown.end())
          << to_string(test);
  }
}

// ---- presets ----

/// The results that an independent program computed for 2000 sets. For 400 sets, five points are twice the standard
/// deviation.
TEST(Study, Figure7aMatchesIndependentProgram) {
  Study study = preset_named("rt-swap-fig7a", 400);
  study.values = {8, 9, 10, 11};
  study.tests.resize(3);
  const auto rows = rows_of(study, outcomes_of(study, 2));
  const double theorem1[] = {85.5, 58.1, 30.1, 9.8}, demand[] = {93.6, 74.5, 46.1, 19.8};
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_NEAR(rows[row].percent[0], theorem1[row], 6) << study.values[row];
    EXPECT_NEAR(rows[row].percent[2], demand[row], 6) << study.values[row];
  }
}

TEST(Study, PipelinedProvesTenTimesAsManyWidePeriodSetsAsTheorem1) {
  Study study = preset_named("rt-swap-wide", 20);
  study.tests = {study.tests[0], study.tests[4]};
  ASSERT_EQ(study.tests[1].name, "pipelined");
  const auto rows = rows_of(study, outcomes_of(study, 2));
  double theorem1 = 0, pipelined = 0;
  for (const Row& row : rows) theorem1 += row.percent[0], pipelined += row.percent[1];
  EXPECT_GE(pipelined, 10 * theorem1);
}

/// Without cuts no set is proved: a detector's period is shorter than the networks' device parts. The numbers are for
/// 40 sets each; a better search may prove more.
TEST(Study, MixedRateSetsAreProvedOnlyWithSegments) {
  Study study = preset_named("mixed-rates", 40);
  study.values = {2, 3, 4};
  std::vector<std::string_view> names;
  for (const Column& test : study.tests) names.push_back(test.name);
  EXPECT_THAT(names, ElementsAre("utilisation", "fits", "pipelined", "segmented-one-level", "segmented"));
  const auto some_missing = rows_of(study, outcomes_of(study, 2));
  study.device.reduced = 0;
  const auto resident = rows_of(study, outcomes_of(study, 2));
  study.order = Order::static_priority;
  const auto static_priority = rows_of(study, outcomes_of(study, 2));
  EXPECT_THAT(some_missing[0].percent, ElementsAre(97.5, 55, 0, Ge(35), Ge(47.5)));
  EXPECT_THAT(some_missing[1].percent, ElementsAre(90, 87.5, 0, Ge(37.5), Ge(52.5)));
  EXPECT_THAT(some_missing[2].percent, ElementsAre(60, 60, 0, Ge(27.5), Ge(35)));
  EXPECT_THAT(resident[1].percent, ElementsAre(90, 90, 0, 90, 90));
  EXPECT_THAT(static_priority[1].percent, ElementsAre(90, 90, 0, 90, 90));
}

TEST(Study, ReducesCapacityByGivenPercentage) {
  Study study = preset_named("rt-swap-fig7b", 20);
  study.tests.resize(3);
  const auto reduced = masks_of(outcomes_of(study, 1));
  Study direct = study;
  direct.axis = Axis::tasks;
  direct.values = {5};
  direct.device.capacity = Bytes{12ULL << 30};
  const auto halved = masks_of(outcomes_of(direct, 1));
  EXPECT_TRUE(std::ranges::equal(std::span(reduced).subspan(5 * 20, 20), halved));
}

/// For one network at one resolution, Table III has 1.4 GB, that is 23 chunks, of which 11 may be swapped.
TEST(Study, NetworksMatchTableThreeOfThePaper) {
  const Study study = preset_named("rt-swap-fig7a", 1);
  ASSERT_EQ(study.source.networks.size(), 4U);
  const policies::GeneratedTask task{.period = 4s, .need = study.source.networks[0][0]};
  const auto set =
      policies::device_set_of(std::span(&task, 1), {.capacity = Bytes{0}, .chunk = study.device.chunk, .cost = {}},
                              policies::MemoryModel::state, 1, Order::edf);
  EXPECT_EQ(set.overflow, 23U);
  EXPECT_EQ(set.tasks[0].most, 11U);
  EXPECT_EQ(task.need.execution, 29ms);
}

// ---- in a file ----

TEST(OutcomeFile, ResumesStoppedStudy) {
  const Study study = small_study();
  const auto whole = masks_of(outcomes_of(study, 1));
  const ScratchFolder folder;
  std::size_t sittings = 0, known = 0;
  for (std::vector<std::uint32_t> masks; masks != whole; ++sittings) {
    ASSERT_LT(sittings, 100U);
    Outcomes outcomes(study.values.size(), study.sets);
    auto file = OutcomeFile::open(folder / "made/by/it", study, outcomes);
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_EQ(outcomes.count_known(), known);
    work_out(study, outcomes, 2, [&](std::span<const std::size_t> items) {
      return file->add(study, outcomes, items).has_value() && items.empty();
    });
    known = outcomes.count_known();
    masks = masks_of(outcomes);
  }
  Outcomes read(study.values.size(), study.sets);
  (void)OutcomeFile::open(folder / "made/by/it", study, read).value();
  EXPECT_EQ(masks_of(read), whole);
}

TEST(OutcomeFile, HoldsOneLinePerTaskSet) {
  Study study = small_study();
  study.values = {8};
  study.sets = 2;
  const ScratchFolder folder;
  Outcomes outcomes(1, 2);
  outcomes.set(0, 5);
  outcomes.set(1, 2);
  auto file = OutcomeFile::open(folder.path(), study, outcomes).value();
  const std::size_t items[] = {0, 1};
  ASSERT_TRUE(file.add(study, outcomes, items));
  const std::string text = read_text(folder / "outcomes.csv");
  EXPECT_THAT(text, HasSubstr("\nn,set,theorem1,baker,demand\n8,0,1,0,1\n8,1,0,1,0\n"));
  EXPECT_THAT(text, HasSubstr("# rtexec = "));
  EXPECT_THAT(text, HasSubstr("tasks = rt-swap-fig7a, seed = 1, order = edf"));
}

/// Wherever the file is cut off, the next sitting reads the complete lines and continues.
TEST(OutcomeFile, RecomputesUnfinishedLastLine) {
  Study study = small_study();
  study.values = {8};
  study.sets = 3;
  const std::string begin = key_lines(study);
  const std::string text = begin + "8,0,1,0,1\n8,1,0,1,0\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const ScratchFolder folder;
    write_text(folder / "outcomes.csv", text.substr(0, size));
    Outcomes outcomes(1, 3);
    auto file = OutcomeFile::open(folder.path(), study, outcomes);
    ASSERT_TRUE(file) << size << file.error().what;
    EXPECT_EQ(outcomes.count_known(), size == text.size() ? 2U : size >= begin.size() + 10 ? 1U : 0U) << size;
    const std::size_t items[] = {2};
    outcomes.set(2, 7);
    ASSERT_TRUE(file->add(study, outcomes, items));
    EXPECT_THAT(read_text(folder / "outcomes.csv"),
                testing::AllOf(testing::StartsWith(begin), testing::EndsWith("\n8,2,1,1,1\n")))
        << size;
  }
}

TEST(OutcomeFile, AcceptsAddedSetsAndRows) {
  Study study = small_study();
  study.values = {8, 9};
  study.sets = 5;
  const ScratchFolder folder;
  {
    Outcomes outcomes(2, 5);
    auto file = OutcomeFile::open(folder.path(), study, outcomes).value();
    work_out(study, outcomes, 1,
             [&](std::span<const std::size_t> items) { return file.add(study, outcomes, items).has_value(); });
  }
  study.values = {9, 10, 11};
  study.sets = 7;
  Outcomes outcomes(3, 7);
  (void)OutcomeFile::open(folder.path(), study, outcomes).value();
  EXPECT_EQ(outcomes.count_known(), 5U);
  EXPECT_TRUE(outcomes.known(0));
  EXPECT_FALSE(outcomes.known(5));
}

std::string refusal(const Study& before, const Study& after) {
  const ScratchFolder folder;
  Outcomes outcomes(before.values.size(), before.sets), others(after.values.size(), after.sets);
  (void)OutcomeFile::open(folder.path(), before, outcomes).value();
  const auto opened = OutcomeFile::open(folder.path(), after, others);
  return opened ? "opened" : opened.error().what;
}

TEST(OutcomeFile, RefusesOutcomesOfAnotherStudyNamingTheDifference) {
  const Study study = small_study();
  EXPECT_EQ(refusal(study, study), "opened");
  Study other = study;
  other.seed = 2;
  EXPECT_THAT(refusal(study, other), HasSubstr("seed = 1, not 2; name another folder"));
  other = study;
  other.device.cost.in_per_chunk = 5ms;
  EXPECT_THAT(refusal(study, other), HasSubstr("in_per_chunk = 5.66ms, not 5ms"));
  other = study;
  other.device.capacity = Bytes{12ULL << 30};
  EXPECT_THAT(refusal(study, other), HasSubstr("capacity = 24GiB, not 12GiB"));
  other = study;
  other.tests.pop_back();
  EXPECT_THAT(refusal(study, other),
              HasSubstr("its columns are n,set,theorem1,baker,demand, not n,set,theorem1,baker;"));
  other = study;
  other.source.period = {1s, 5s};
  EXPECT_THAT(refusal(study, other), HasSubstr("period = 3s..5s, not 1s..5s"));
}

TEST(OutcomeFile, RefusesSecondOpenWhileInUse) {
  const Study study = small_study();
  const ScratchFolder folder;
  Outcomes outcomes(study.values.size(), study.sets);
  const auto first = OutcomeFile::open(folder.path(), study, outcomes);
  ASSERT_TRUE(first);
  const auto second = OutcomeFile::open(folder.path(), study, outcomes);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr("another rtexec sweep is writing it"));
}

TEST(OutcomeFile, NamesBrokenLine) {
  const Study study = small_study();
  const std::string begin = key_lines(study);
  for (const char* line : {"8,0,1,0", "8,0,1,0,2", "8,0,1,0,1,1", "8,x,1,0,1", "", "8", "8,-1,0,0,0"}) {
    const ScratchFolder folder;
    write_text(folder / "outcomes.csv", begin + "8,0,1,0,1\n" + line + "\n8,2,1,0,1\n");
    Outcomes outcomes(study.values.size(), study.sets);
    const auto opened = OutcomeFile::open(folder.path(), study, outcomes);
    ASSERT_FALSE(opened) << line;
    EXPECT_EQ(opened.error().code, Errc::bad_input);
    EXPECT_THAT(opened.error().what, HasSubstr("outcomes.csv:4: error: '" + std::string(line) + "' is not an outcome"));
  }
}

TEST(OutcomeFile, LeavesUnrelatedFileUnchanged) {
  const Study study = small_study();
  for (const char* text : {"hello\n", "hello", "# a = b\n"}) {
    const ScratchFolder folder;
    write_text(folder / "outcomes.csv", text);
    Outcomes outcomes(study.values.size(), study.sets);
    EXPECT_FALSE(OutcomeFile::open(folder.path(), study, outcomes)) << text;
    EXPECT_EQ(read_text(folder / "outcomes.csv"), text);
  }
}

} // namespace
} // namespace rtexec::study
