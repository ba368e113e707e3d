// Tests the trace of a run with swaps.
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"
#include "traces/recording/session.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace rtexec {
namespace {

using namespace test;

/// Transfers of one direction, as the trace shows them.
struct Transfers {
  // Task, slot, frame, and the job for which it moves.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::set<Key> open;
  std::set<std::pair<std::int64_t, std::int64_t>> causes;
  std::uint64_t ended = 0, copied = 0, uncopied = 0;
  std::int64_t last = 0;
  int faults = 0; // ends without a begin, duplicate begins, steps back in time

  void take(const traces::RecordedEvent& event, bool begin) {
    const auto field = [&](const char* name) { return event.integer(name).value_or(-1); };
    const Key key{field("task"), field("slot"), field("frame"), field("cause_task"), field("cause_job")};
    faults += field("at") < last;
    last = field("at");
    if (begin) {
      faults += !open.insert(key).second;
      causes.emplace(field("cause_task"), field("cause_job"));
      return;
    }
    faults += open.erase(key) != 1;
    ++ended;
    copied += static_cast<std::uint64_t>(field("copied_bytes"));
    uncopied += field("copied_bytes") == 0;
  }
};

TEST(SwapTrace, AddsUpToReport) {
  const ScratchFolder folder;
  const Hashing::Shape shape{.constant = small_chunk * 3,
                             .scratch = small_chunk,
                             .state = small_chunk * 3,
                             .kind = Hashing::State::half_changes};
  HashingTasks hashing({shape, shape, shape});
  for (Task& task : hashing.tasks) task.swap_volume = small_chunk * 6;
  auto session = traces::Session::start(folder / "trace", {});
  if (!session) GTEST_SKIP() << session.error().what;
  TaskSet set = swapping_set(hashing.tasks, endless, SwapPolicy::pipelined, small_chunk * 12);
  set.swap.skip_unchanged = true;
  Executive executive = made(std::move(set), hashing.setup());
  begun(executive);
  run_until(executive, [&] { return hashing.executions() > 12; });
  const Report report = executive.stop();
  const auto summary = session->stop();
  ASSERT_TRUE(summary) << problem(summary);
  ASSERT_EQ(summary->lost.events, 0u);

  Transfers in, out;
  std::set<std::pair<std::int64_t, std::int64_t>> released;
  std::map<std::string, std::uint64_t> totals;
  const std::map<std::string_view, std::pair<Transfers*, bool>> events{{"rtexec:swap_in_begin", {&in, true}},
                                                                       {"rtexec:swap_in_end", {&in, false}},
                                                                       {"rtexec:swap_out_begin", {&out, true}},
                                                                       {"rtexec:swap_out_end", {&out, false}}};
  const auto read = traces::read_trace(session->folder(), [&](const traces::RecordedEvent& event) {
    if (const auto known = events.find(event.name()); known != events.end())
      known->second.first->take(event, known->second.second);
    if (event.name() == "rtexec:job_release") released.emplace(*event.integer("task"), *event.integer("job"));
    if (event.name() == "rtexec:swap_totals")
      for (const char* field : {"in_bytes", "out_bytes", "skipped_bytes", "dropped_bytes"})
        totals[field] += static_cast<std::uint64_t>(*event.integer(field));
  });
  ASSERT_TRUE(read) << problem(read);

  ASSERT_TRUE(report.swap);
  for (const Transfers* each : {&in, &out}) {
    EXPECT_EQ(each->faults, 0);
    EXPECT_TRUE(each->open.empty());
    EXPECT_GT(each->ended, 30u);
    EXPECT_TRUE(std::ranges::includes(released, each->causes)) << "moved for a job that was never released";
  }
  EXPECT_EQ(in.copied, report.swap->in.count);
  EXPECT_EQ(out.copied, report.swap->out.count);
  EXPECT_EQ(in.uncopied, 0u);
  EXPECT_EQ(out.uncopied * small_chunk.count, (report.swap->skipped + report.swap->dropped).count);
  EXPECT_EQ(in.ended + out.ended, report.swap->operations);
  EXPECT_GT(report.swap->skipped, Bytes{0});
  EXPECT_GT(report.swap->dropped, Bytes{0});
  EXPECT_EQ(totals["in_bytes"], report.swap->in.count);
  EXPECT_EQ(totals["out_bytes"], report.swap->out.count);
  EXPECT_EQ(totals["skipped_bytes"], report.swap->skipped.count);
  EXPECT_EQ(totals["dropped_bytes"], report.swap->dropped.count);
  EXPECT_TRUE(hashing.all_as_expected());
}

} // namespace
} // namespace rtexec
