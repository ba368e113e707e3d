// Tests that written data are read back: every field of every record, the set-up, and losses with the time in which
// they occurred.
#include "test/support/expected_result.hpp"
#include "test/traces/reading_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rtexec::traces::test {
namespace {

using rtexec::test::CtfOptions;
using rtexec::test::ScratchFolder;
using rtexec::test::TraceWriter;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

/// Draws random values for every field of a record of a given kind.
class RandomRecords {
 public:
  Record next() {
    Record r;
    r.kind = static_cast<RecordKind>(any() % static_cast<std::uint64_t>(RecordKind::other));
    // Sometimes beyond the 32 bits of a short header.
    time_ += Duration(any() % 3 == 0 ? any() % 10'000'000'000 : any() % 1000);
    r.time = time_;
    if (r.kind == RecordKind::scheduler_input) return input(r);
    if (r.kind == RecordKind::scheduler_action) return action(r);
    const bool of_core = r.kind >= RecordKind::throttle_begin && r.kind <= RecordKind::core_clock;
    if (r.kind != RecordKind::device_fault && r.kind != RecordKind::device_executed) r.at = instant();
    if (of_core) r.core = word();
    else if (r.kind != RecordKind::run_end && r.kind != RecordKind::device_clock)
      r.job = {word(), r.kind == RecordKind::job_skip ? 0 : any()};
    more(r);
    return r;
  }

 private:
  std::uint64_t any() { return random_(); }
  std::uint32_t word() { return static_cast<std::uint32_t>(any()); }
  /// Returns a random instant. Any two of them differ by a value that fits a Duration.
  Instant instant() { return Instant(Duration(static_cast<std::int64_t>(any()) / 2)); }
  policies::Transfer transfer() { return {word(), word(), word()}; }

  void more(Record& r) {
    using enum RecordKind;
    if (r.kind == job_release || r.kind == job_skip) r.nominal = instant();
    if (r.kind == job_skip) r.reason = static_cast<policies::ReleaseReason>(any() % 2);
    if (r.kind == job_release || r.kind == device_request || r.kind == job_miss) r.deadline = instant();
    if (r.kind == cpu_end || r.kind == device_executed || r.kind == job_end) r.executed = Duration(any());
    if (r.kind == job_input) r.sampled = instant(), r.inputs = word(), r.stale = word(), r.ok = any() % 2 == 0;
    if (r.kind == result_drop) r.sinks = word();
    if (r.kind == job_end) r.response = Duration(any());
    if (r.kind == layer_begin || r.kind == layer_end) r.layer = word();
    if (r.kind == segment_begin || r.kind == segment_end) r.segment = word();
    if (r.kind >= swap_in_begin && r.kind <= swap_out_end) r.transfer = transfer();
    if (r.kind == device_end || r.kind == swap_in_end || r.kind == swap_out_end) r.ok = any() % 2 == 0;
    if (r.kind == swap_in_end || r.kind == swap_out_end || r.kind == bandwidth_budget) r.bytes = any();
    if (r.kind == core_stolen) r.computes = any() % 2 == 0, r.since = instant(), r.stolen = Duration(any());
    if (r.kind == core_clock || r.kind == device_clock) r.frequency = {any()};
    if (r.kind == device_clock) r.memory_frequency = {any()}, r.limits = word();
  }
  Record input(Record r) {
    r.sequence = any();
    r.at = instant();
    r.input = {
        static_cast<policies::Event::Kind>(any() % 6), {word(), any()}, r.at, {}, transfer(), any() % 2 == 0, word()};
    if (r.input.kind == policies::Event::Kind::job_requested) r.input.deadline = instant();
    return r;
  }
  Record action(Record r) {
    r.sequence = any();
    r.action = {static_cast<policies::Action::Kind>(any() % 6), {word(), any()}, transfer()};
    r.action.segment = word(), r.action.committed = word();
    return r;
  }

  std::mt19937_64 random_{7};
  Instant time_ = Instant(1h);
};

std::string shown(const Record& r) {
  std::string text;
  const auto add = [&](auto value) { text += std::to_string(value) + " "; };
  const auto job = [&](policies::JobId id) {
    add(id.task);
    add(id.number);
  };
  const auto moved = [&](const policies::Transfer& t) {
    add(t.task);
    add(t.slot);
    add(t.frame);
  };
  add(static_cast<int>(r.kind));
  add(r.ok ? 1 : 0);
  add(r.core);
  add(r.layer);
  for (const std::uint32_t segment : {r.segment, r.input.segment, r.action.segment, r.action.committed}) add(segment);
  add(r.sequence);
  add(r.bytes);
  add(r.frequency.hertz);
  add(r.memory_frequency.hertz);
  add(r.limits);
  add(r.computes);
  add(r.stolen.count());
  add(r.inputs);
  add(r.stale);
  add(r.sinks);
  add(static_cast<int>(r.reason));
  for (const Instant at : {r.time, r.at, r.nominal, r.deadline, r.since, r.sampled, r.input.now, r.input.deadline})
    add(at.time_since_epoch().count());
  add(r.executed.count());
  add(r.response.count());
  job(r.job);
  job(r.input.job);
  job(r.action.job);
  moved(r.transfer);
  moved(r.input.transfer);
  moved(r.action.transfer);
  add(static_cast<int>(r.input.kind));
  add(r.input.failed ? 1 : 0);
  add(static_cast<int>(r.action.kind));
  return text;
}

TEST(ReadRecords, ReturnsAllFieldsOfAllRecordKindsFromManyStreamsInOrder) {
  const ScratchFolder folder;
  std::vector<Record> written;
  {
    TraceWriter writer(folder / "trace", 5, {.packet_bytes = 4096});
    RandomRecords random;
    std::mt19937 core(3);
    for (int i = 0; i < 20'000; ++i) {
      written.push_back(random.next());
      writer.write(static_cast<unsigned>(core() % 5), written.back());
    }
  }
  Reading got;
  read_into(got, folder / "trace");
  ASSERT_TRUE(got.summary) << got.summary.error().what;
  ASSERT_EQ(got.records.size(), written.size());
  std::multimap<Instant, std::string> of_time; // records of the same instant may come in any order
  for (const Record& record : written) of_time.emplace(record.time, shown(record));
  for (std::size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(got.records[i].time, written[i].time);
    const auto [begin, end] = of_time.equal_range(got.records[i].time);
    EXPECT_TRUE(std::any_of(begin, end, [&](const auto& known) { return known.second == shown(got.records[i]); }))
        << shown(got.records[i]);
  }
  EXPECT_EQ(got.summary->events, written.size());
  EXPECT_EQ(got.summary->first, written.front().time);
  EXPECT_EQ(got.summary->last, written.back().time);
  EXPECT_THAT(got.summary->notes, IsEmpty());
  EXPECT_THAT(got.losses, IsEmpty());
}

TaskSetup whole_task() {
  TaskSetup task;
  task.name = "front";
  task.criticality = Criticality::best_effort;
  task.promised = true;
  task.period = 100ms, task.deadline = 90ms, task.offset = 7ms;
  task.core = 3, task.core_rank = 1, task.device_rank = 2;
  task.wcet = {.before = 1ms, .device = 2ms, .after = 3ms};
  task.ready_by = 10ms, task.device_done_by = 80ms, task.response_bound = 60ms;
  task.swap_slots = 12, task.resident_slots = 4;
  task.memory_policy = MemoryPolicy::switching;
  task.co_run = CoRun{.wcet = 7ms, .idle = 3ms};
  task.device_class = 2, task.segments = 5, task.longest_segment = 3ms;
  task.constant = {1}, task.scratch = {2}, task.state = {3}, task.fixed = {4}, task.swap_volume = {5};
  task.workload = "dnn-5f3a";
  task.tuning = {"conv = winograd", "relu = fused"};
  task.layers = {"conv", "relu"};
  task.loaded = TimeInterval{ms(10), ms(40)};
  task.contents = {{.size = {7'000'000'000},
                    .made = {ms(11), ms(30)},
                    .tiles = {{.size = {4'000'000'000}, .prefetched = {ms(12), ms(15)}, .made = {ms(15), ms(20)}},
                              {.size = {3'000'000'000}, .prefetched = {ms(15), ms(21)}, .made = {ms(21), ms(29)}}}},
                   {.size = {5}, .made = {ms(31), ms(32)}, .on_host = true}};
  return task;
}

RunSetup whole_setup() {
  RunSetup setup;
  setup.version = "0.9", setup.machine = "a board", setup.task_set = "a/set.toml", setup.simulated = true,
  setup.start = ms(77);
  setup.proved = true, setup.order = Order::static_priority, setup.launch_ahead = 1;
  setup.demand = {5'000'000'000}, setup.capacity = {4'000'000'000}, setup.chunk = {64 << 20};
  setup.device = "a device";
  setup.degraded = {"no FIFO", "no lock"};
  setup.probes = {{"device", "host"}};
  setup.swap = SwapSetup{.policy = SwapPolicy::rt_swap,
                         .frames = 60,
                         .copy_engines = 2,
                         .chunk = {64 << 20},
                         .store = "page-locked host memory"};
  setup.tests = {{.name = "demand",
                  .proved = true,
                  .baseline = false,
                  .left = 3ms,
                  .right = 5ms,
                  .slack = 2ms,
                  .limiting_task = "rear"},
                 {.name = "theorem1",
                  .proved = false,
                  .baseline = true,
                  .left = 9ms,
                  .right = 5ms,
                  .slack = -4ms,
                  .limiting_task = "front"}};
  setup.tasks = {whole_task(), whole_task()};
  TaskSetup& rear = setup.tasks[1];
  rear.name = "rear";
  rear.criticality = Criticality::real_time;
  rear.response_bound.reset();
  rear.resident_slots.reset();
  rear.layers.clear();
  return setup;
}

void expect_equal(const TaskSetup& a, const TaskSetup& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.criticality, b.criticality);
  EXPECT_EQ(a.promised, b.promised);
  EXPECT_EQ(std::tie(a.period, a.deadline, a.offset), std::tie(b.period, b.deadline, b.offset));
  EXPECT_EQ(std::tie(a.core, a.core_rank, a.device_rank), std::tie(b.core, b.core_rank, b.device_rank));
  EXPECT_EQ(std::tie(a.wcet.before, a.wcet.device, a.wcet.after), std::tie(b.wcet.before, b.wcet.device, b.wcet.after));
  EXPECT_EQ(std::tie(a.ready_by, a.device_done_by, a.response_bound),
            std::tie(b.ready_by, b.device_done_by, b.response_bound));
  EXPECT_EQ(std::tie(a.swap_slots, a.resident_slots, a.memory_policy, a.co_run),
            std::tie(b.swap_slots, b.resident_slots, b.memory_policy, b.co_run));
  EXPECT_EQ(std::tie(a.constant, a.scratch, a.state, a.fixed, a.swap_volume),
            std::tie(b.constant, b.scratch, b.state, b.fixed, b.swap_volume));
  EXPECT_EQ(std::tie(a.workload, a.tuning, a.layers), std::tie(b.workload, b.tuning, b.layers));
  EXPECT_EQ(a.loaded, b.loaded);
  EXPECT_EQ(a.contents, b.contents);
}

TEST(ReadRecords, SetupIsReadBeforeTheFirstRecord) {
  const ScratchFolder folder;
  const RunSetup setup = whole_setup();
  {
    TraceWriter writer(folder / "trace", 2);
    writer.write(setup, ms(1));
    writer.write(0, start_of(1, ms(2)));
  }
  Reading got;
  read_into(got, folder / "trace");
  ASSERT_TRUE(got.summary) << got.summary.error().what;
  EXPECT_THAT(got.summary->notes, IsEmpty());
  const RunSetup& read = got.setup;
  EXPECT_EQ(std::tie(read.version, read.machine, read.task_set, read.simulated, read.start),
            std::tie(setup.version, setup.machine, setup.task_set, setup.simulated, setup.start));
  EXPECT_EQ(std::tie(read.proved, read.order, read.device), std::tie(setup.proved, setup.order, setup.device));
  EXPECT_EQ(std::tie(read.demand, read.capacity, read.chunk), std::tie(setup.demand, setup.capacity, setup.chunk));
  EXPECT_EQ(read.degraded, setup.degraded);
  ASSERT_EQ(read.probes.size(), 1U);
  EXPECT_EQ(read.probes[0].service + "=" + read.probes[0].found, "device=host");
  ASSERT_TRUE(read.swap);
  EXPECT_EQ(
      std::tie(read.swap->policy, read.swap->frames, read.swap->copy_engines, read.swap->chunk, read.swap->store),
      std::tie(setup.swap->policy, setup.swap->frames, setup.swap->copy_engines, setup.swap->chunk, setup.swap->store));
  ASSERT_EQ(read.tests.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const TestSetup &a = read.tests[i], &b = setup.tests[i];
    EXPECT_EQ(std::tie(a.name, a.proved, a.baseline, a.left, a.right, a.slack, a.limiting_task),
              std::tie(b.name, b.proved, b.baseline, b.left, b.right, b.slack, b.limiting_task));
  }
  ASSERT_EQ(read.tasks.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) expect_equal(read.tasks[i], setup.tasks[i]);
}

TEST(ReadRecords, ShortensTextsAndEscapesControlCharacters) {
  const ScratchFolder folder;
  RunSetup setup;
  setup.version = "1", setup.machine = "\x1b]0;owned\x07";
  setup.tasks.resize(1);
  setup.tasks[0].name = "\x1b[2Jfront\r\n";
  setup.degraded = {std::string(20'000, 'x')};
  {
    TraceWriter writer(folder / "trace", 1, {.packet_bytes = 65'536});
    writer.write(setup, ms(1));
    writer.write(0, start_of(1, ms(2)));
  }
  Reading got;
  read_into(got, folder / "trace");
  ASSERT_TRUE(got.summary) << got.summary.error().what;
  EXPECT_EQ(got.setup.machine, "\\u001B]0;owned\\u0007");
  EXPECT_EQ(got.setup.tasks.at(0).name, "\\u001B[2Jfront\\u000D\\u000A");
  EXPECT_LT(got.setup.degraded.at(0).size(), 5000u);
}

TEST(ReadRecords, KeepsDefaultsOfFieldsMissingInOlderTracesAndNamesThem) {
  const ScratchFolder folder;
  Record end = start_of(1, ms(2));
  end.kind = RecordKind::job_end;
  end.response = 5ms;
  end.executed = 3ms;
  { TraceWriter(folder / "trace", 1, {}, "executed").write(0, end); }
  Reading got;
  read_into(got, folder / "trace");
  ASSERT_TRUE(got.summary) << got.summary.error().what;
  ASSERT_EQ(got.records.size(), 1U);
  EXPECT_EQ(got.records[0].response, 5ms);
  EXPECT_EQ(got.records[0].executed, 0ms);
  EXPECT_THAT(got.summary->notes, ElementsAre("recorded by an older version; unknown values: job_end.executed"));
}

TEST(ReadRecords, AssumesOverrunForDroppedReleasesOfOlderTraces) {
  const ScratchFolder folder;
  Record skip = start_of(0, ms(2));
  skip.kind = RecordKind::job_skip;
  skip.nominal = ms(1);
  skip.reason = policies::ReleaseReason::wcet_exceeded;
  { TraceWriter(folder / "trace", 1, {}, "reason").write(0, skip); }
  Reading got;
  read_into(got, folder / "trace");
  ASSERT_TRUE(got.summary) << got.summary.error().what;
  ASSERT_EQ(got.records.size(), 1U);
  EXPECT_EQ(got.records[0].nominal, ms(1));
  EXPECT_EQ(got.records[0].reason, policies::ReleaseReason::overrun);
  EXPECT_THAT(got.summary->notes, ElementsAre("recorded by an older version; unknown values: job_skip.reason"));
}

TEST(ReadRecords, ReportsLossesWithTheirTimeIntervals) {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "trace", 2);
    const auto channel = TraceWriter::event_channel;
    writer.write(0, start_of(1, ms(10)));
    writer.ctf().end_packet(channel, 0, 11'000'000);
    writer.write(1, start_of(2, ms(12)));
    writer.ctf().lose_events(channel, 0, 17);
    writer.ctf().lose_packets(channel, 0, 3);
    writer.write(0, start_of(3, ms(20)));
    writer.ctf().end_packet(channel, 0, 21'000'000);
    writer.write(0, start_of(4, ms(30)));
  }
  Reading got;
  read_into(got, folder / "trace");
  ASSERT_TRUE(got.summary) << got.summary.error().what;
  EXPECT_EQ(got.summary->lost.events, 17U);
  EXPECT_EQ(got.summary->lost.packets, 3U);
  EXPECT_EQ(got.records.size(), 4U);
  ASSERT_EQ(got.losses.size(), 2U);
  EXPECT_EQ(got.records_before_loss, 1U);
  for (const Loss& loss : got.losses) {
    EXPECT_EQ(loss.from, ms(11));
    EXPECT_EQ(loss.to, loss.events ? ms(21) : ms(20));
    EXPECT_EQ(loss.events + loss.packets, loss.events ? 17U : 3U);
  }
}

/// The first existing packets are not the first that were written, as with an overwriting ring buffer.
TEST(ReadRecords, DoesNotCountPacketsOverwrittenBeforeTheFirstAsLost) {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "trace", 1);
    writer.ctf().lose_packets(TraceWriter::event_channel, 0, 1000);
    for (std::uint64_t i = 0; i < 3; ++i) {
      writer.write(0, start_of(i, ms(static_cast<std::int64_t>(i))));
      writer.ctf().end_packet(TraceWriter::event_channel, 0, static_cast<std::int64_t>(i) * 1'000'000);
    }
  }
  Reading got;
  read_into(got, folder / "trace");
  ASSERT_TRUE(got.summary) << got.summary.error().what;
  EXPECT_EQ(got.records.size(), 3U);
  EXPECT_EQ(got.summary->lost.packets, 0U);
  EXPECT_THAT(got.losses, IsEmpty());
}

TEST(ReadRecords, CountsEventsAndReadsTheirFieldsByName) {
  const ScratchFolder folder;
  write_small_trace(folder / "trace", 2, 100);
  const auto summary = summarize(folder / "trace");
  ASSERT_TRUE(summary) << summary.error().what;
  EXPECT_EQ(summary->by_name.at("rtexec:job_start"), 100U);
  EXPECT_EQ(summary->by_name.at("rtexec:task_info"), 1U);
  EXPECT_EQ(summary->events, 105U);
  std::uint64_t next = 0;
  const auto read = read_trace(folder / "trace", [&](const RecordedEvent& event) {
    if (event.name() != "rtexec:job_start") return;
    EXPECT_EQ(event.integer("job"), static_cast<std::int64_t>(next));
    EXPECT_EQ(event.time(), ms(1000 + static_cast<std::int64_t>(next++)));
    EXPECT_FALSE(event.integer("no_such_field"));
    EXPECT_FALSE(event.text("job"));
  });
  EXPECT_TRUE(read);
  EXPECT_EQ(next, 100U);
}

TEST(ReadRecords, ReportsHostAndWallClockTimeOfTheFirstEvent) {
  const ScratchFolder folder;
  write_small_trace(folder / "trace", 2, 10);
  const auto summary = summarize(folder / "trace");
  ASSERT_TRUE(summary) << summary.error().what;
  EXPECT_EQ(summary->host, "a host");
  ASSERT_TRUE(summary->began);
  const Duration offset{CtfOptions{}.clock_offset};
  EXPECT_EQ(summary->began->time_since_epoch(), offset + summary->first.time_since_epoch());
}

TEST(ReadRecords, FolderWithoutTraceIsRefused) {
  const ScratchFolder folder;
  for (const auto& path : {folder.path(), folder / "missing"})
    EXPECT_TRUE(rtexec::test::fails(summarize(path), Errc::bad_input, path.string()));
}

TEST(ReadRecords, RefusesFolderWithSeveralRecordings) {
  const ScratchFolder folder;
  for (const char* name : {"first", "second"}) write_small_trace(folder / name, 1, 3);
  EXPECT_TRUE(rtexec::test::fails(summarize(folder.path()), Errc::bad_input, (folder / "first").string()));
  EXPECT_TRUE(summarize(folder / "second"));
}

TEST(ReadRecords, StopsWithErrorWhenHandlerRequestsIt) {
  Reading reading;
  reading.most = 1;
  const ScratchFolder folder;
  write_small_trace(folder / "trace", 2, 10);
  read_into(reading, folder / "trace");
  EXPECT_TRUE(rtexec::test::fails(reading.summary, Errc::cancelled, "not read completely"));
  EXPECT_EQ(reading.records.size(), 1u);
}

TEST(ReadRecords, ReadsTraceWithoutEventsAsComplete) {
  const ScratchFolder folder;
  { TraceWriter(folder / "trace", 2); }
  Reading got;
  read_into(got, folder / "trace");
  ASSERT_TRUE(got.summary) << got.summary.error().what;
  EXPECT_EQ(got.summary->events, 0U);
  EXPECT_THAT(got.summary->notes, IsEmpty());
}

} // namespace
} // namespace rtexec::traces::test
