// Tests outputs that stay on the device on their way to other tasks. Every job gets, bit by bit, what it would get
// through the host, regardless of timing. If they cannot stay on the device, they go through the host.
#include "rtexec/runtime/channels/picture_observer.hpp"
#include "rtexec/runtime/channels/task_link.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "test/hal/gpu.hpp"
#include "test/rtexec/runtime/linked_networks.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/swap_sets.hpp"
#include "test/support/expected_result.hpp"

#include "hal/thread.hpp"

#include <rtexec/profile.hpp>
#include <rtexec/profiler.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

namespace rtexec {
namespace {

using namespace test;

enum class Way { device, host };
enum class Communicating { immediate, let, after };

struct Machine {
  DeviceKind kind = DeviceKind::host;
  Precision precision = Precision::fp32;
};

/// One writer, its readers, and their results.
struct LinkedRun {
  explicit LinkedRun(const LinkedModels& of, Machine on = {}) : models(of), machine(on) {}

  const LinkedModels& models;
  Machine machine;
  Communicating how = Communicating::immediate;
  Duration writer_period = 6ms, reader_period = 6ms;
  std::size_t reader_count = 1;
  OnStale on_stale = OnStale::reuse;
  AlteredNetwork::Changes writer_changes{}, reader_changes{};
  std::function<void(TaskSet&, executive::Setup&)> alter = [](auto&, auto&) {};

  std::array<Results, 3> results{};
  /// By picture: when it was released, and how many jobs had it before it was due to appear.
  std::vector<std::atomic<std::int64_t>> released = std::vector<std::atomic<std::int64_t>>(Results::most);
  std::atomic<std::uint64_t> early{0};

  static std::string reader_name(std::size_t i) { return "reader-" + std::to_string(i); }
  std::unique_ptr<Workload> network(bool writes, AlteredNetwork::Changes changes) const {
    return std::make_unique<AlteredNetwork>(writes ? models.writer : models.reader, machine.kind, machine.precision,
                                            std::move(changes));
  }

  Task task(const std::string& name, Duration period) const {
    Task made = own_task(name, period);
    made.wcet = Wcet{.before = 1ms, .device = 1ms, .after = 1ms};
    return made;
  }

  TaskSet set() const {
    TaskSet set = set_of({task("writer", writer_period)}, endless);
    if (machine.kind == DeviceKind::cuda) {
      set.board = "rtx";
      set.device.capacity = Bytes{256 << 20};
    }
    Chain chain;
    chain.name = "all";
    chain.tasks = {"writer"};
    chain.communicate = how == Communicating::let ? Communication::let : Communication::immediate;
    for (std::size_t i = 0; i < reader_count; ++i) {
      Task& reader = set.tasks.emplace_back(task(reader_name(i), reader_period));
      reader.inputs = {{.tensor = {}, .source = SourceKind::task, .from = "writer", .on_stale = on_stale}};
      if (how != Communicating::after) continue;
      reader.trigger = Trigger::after;
      reader.after = "writer";
    }
    chain.tasks.push_back(reader_name(0));
    set.chains = {chain};
    return set;
  }

  Executive created(Way way) {
    TaskSet tasks = set();
    executive::Setup setup;
    setup.force = true;
    writer_changes.links = reader_changes.links = way == Way::device;
    setup.workloads["writer"] = network(true, writer_changes);
    setup.callbacks["writer"].on_input = [this](InputJob& job) {
      if (job.job < Results::most) released[job.job] = job.release.time_since_epoch().count();
      return feed(job);
    };
    for (std::size_t i = 0; i < reader_count; ++i) {
      setup.workloads[reader_name(i)] = network(false, reader_changes);
      setup.callbacks[reader_name(i)].on_output = [this, i](const OutputJob& job) { take(i, job); };
    }
    alter(tasks, setup);
    return made(std::move(tasks), std::move(setup));
  }

  void take(std::size_t reader, const OutputJob& job) noexcept {
    results[reader].take(job);
    if (how != Communicating::let || fed_by(job) >= Results::most) return;
    early += Instant(Duration(released[fed_by(job)])) + writer_period > job.release;
  }

  /// True if each reader has seen `pictures` different pictures.
  [[nodiscard]] bool seen(std::size_t pictures) const {
    return std::all_of(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(reader_count),
                       [&](const Results& each) { return each.distinct() >= pictures; });
  }
  /// Runs until `done` returns true for the report so far, however busy the machine is.
  template <class Done> Report run(Way way, Done done) {
    Executive executive = created(way);
    begun(executive);
    run_until(executive, [&] { return done(executive.progress()); });
    return executive.stop();
  }
  Report run_until_seen(Way way, std::size_t pictures) {
    return run(way, [&](const Report&) { return seen(pictures); });
  }
};

Bytes linked(const Plan& plan) {
  Bytes all;
  for (const PlannedTask& task : plan.tasks) all += task.links;
  return all;
}

// ---- the same results as through the host ----

struct Rates {
  const char* name;
  Duration writer, reader;
};

using Case = std::tuple<Communicating, Rates>;
constexpr Rates each_rate[] = {{"Alike", 6ms, 6ms}, {"SlowReader", 4ms, 18ms}, {"FastReader", 18ms, 4ms}};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  constexpr const char* ways[] = {"Immediate", "Let", "After"};
  return std::string(ways[static_cast<std::size_t>(std::get<0>(info.param))]) + std::get<1>(info.param).name;
}

/// Runs both ways, with several readers. The same pictures must give the same bits.
void expect_same_results(const LinkedModels& models, Machine machine, const Case& each) {
  const auto [how, rates] = each;
  std::optional<LinkedRun> runs[2];
  for (const Way way : {Way::device, Way::host}) {
    LinkedRun& run = runs[static_cast<std::size_t>(way)].emplace(models, machine);
    run.how = how;
    run.writer_period = rates.writer;
    run.reader_period = how == Communicating::after ? rates.writer : rates.reader;
    run.reader_count = 2;
    // so that any two runs have some in common
    const Report report = run.run_until_seen(way, distinct_pictures / 2 + 1);
    EXPECT_EQ(failed_jobs(report), 0u);
    EXPECT_EQ(run.early.load(), 0u);
    for (std::size_t i = 0; i < run.reader_count; ++i) {
      EXPECT_EQ(run.results[i].wrong(), 0u);
      EXPECT_GE(run.results[i].count(), 3u);
    }
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GE(runs[0]->results[i].agreed(runs[1]->results[i]), 2u);
  EXPECT_GE(runs[0]->results[0].agreed(runs[0]->results[1]), 2u);
}

class DeviceLink : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, DeviceLink,
                         testing::Combine(testing::Values(Communicating::immediate, Communicating::let,
                                                          Communicating::after),
                                          testing::ValuesIn(each_rate)),
                         name_of);

TEST_P(DeviceLink, GivesSameResultsAsHost) { expect_same_results(LinkedModels(), {}, GetParam()); }

class DeviceLinkOnGpu : public DeviceLink {};
INSTANTIATE_TEST_SUITE_P(All, DeviceLinkOnGpu,
                         testing::Combine(testing::Values(Communicating::immediate, Communicating::let,
                                                          Communicating::after),
                                          testing::ValuesIn(each_rate)),
                         name_of);

TEST_P(DeviceLinkOnGpu, GivesSameResultsAsHost) {
  if (const std::string why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    SCOPED_TRACE(static_cast<int>(precision));
    expect_same_results(LinkedModels(64), {DeviceKind::cuda, precision}, GetParam());
  }
}

// ---- a run ----

struct DeviceLinks : testing::TestWithParam<DeviceKind> {
  Machine machine{GetParam(), Precision::fp32};
  LinkedModels models;
  LinkedRun on{models, machine};

  void SetUp() override {
    if (machine.kind == DeviceKind::host) return;
    if (const std::string why = hal::test::why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }
};
INSTANTIATE_TEST_SUITE_P(Host, DeviceLinks, testing::Values(DeviceKind::host));
INSTANTIATE_TEST_SUITE_P(Gpu, DeviceLinks, testing::Values(DeviceKind::cuda));

/// The tests that are the same on each device.
struct LinkedTaskSet : testing::Test {
  LinkedModels models;
  LinkedRun on{models};

  Plan plan(Way way) { return on.created(way).plan(); }
};

TEST_F(LinkedTaskSet, NeitherAllocatesNorLocksNorFaults) {
  on.reader_count = 3;
  Executive executive = on.created(Way::device);
  EXPECT_GT(linked(executive.plan()).count, 0u);
  begun(executive);
  (void)expect_real_time(executive, [&] { run_until(executive, [&] { return on.seen(10); }); });
  for (const Results& each : on.results) EXPECT_GE(each.count(), 10u);
}

/// The job fails in either part after its output is on the device.
TEST_P(DeviceLinks, DropOutputOfFailedJob) {
  on.writer_changes.fails_executing = [](std::uint64_t job) { return job % 3 == 1; };
  on.writer_changes.fails_after = [](std::uint64_t job) { return job % 3 == 2; };
  const Report report = on.run_until_seen(Way::device, 10);
  EXPECT_GE(report.tasks[0].failed, 5u);
  EXPECT_EQ(report.tasks[1].failed, 0u);
  EXPECT_EQ(on.results[0].wrong(), 0u);
  EXPECT_GE(on.results[0].count(), 10u);
  LinkedRun host(models, machine);
  static_cast<void>(host.run_until_seen(Way::host, 11));
  EXPECT_GE(on.results[0].agreed(host.results[0]), 5u); // both have seen enough of the distinct_pictures
  for (std::size_t picture = 0; picture < Results::most; ++picture)
    if (picture % 3 != 0) { EXPECT_FALSE(on.results[0].has(picture)) << picture; }
}

/// The reader's second of three jobs fails before it has taken a new value. The next one takes the newest.
TEST_P(DeviceLinks, ReaderContinuesAfterItsJobFails) {
  on.reader_changes.fails_executing = [](std::uint64_t job) { return job % 3 == 1; };
  const Report report = on.run_until_seen(Way::device, 12);
  EXPECT_GE(report.tasks[1].failed, 5u);
  EXPECT_EQ(on.results[0].wrong(), 0u);
  EXPECT_GE(on.results[0].count(), 10u);
}

/// Jobs take up to three periods on the device, under each overrun policy.
TEST_P(DeviceLinks, GiveSameResultsAsHostWhenJobsAreLate) {
  LinkedRun host(models, machine);
  static_cast<void>(host.run_until_seen(Way::host, distinct_pictures / 2 + 1));
  const auto late = [](std::uint64_t job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(job % 14 == 0 ? 12 : job % 9 == 0 ? 7 : 0));
    return false;
  };
  for (const Communicating how : {Communicating::immediate, Communicating::let, Communicating::after})
    for (const OnOverrun policy : {OnOverrun::skip, OnOverrun::catch_up, OnOverrun::re_phase, OnOverrun::abort_job}) {
      if (how == Communicating::after && policy == OnOverrun::abort_job) continue; // for timers only
      SCOPED_TRACE(testing::Message() << static_cast<int>(how) << ' ' << name(policy));
      LinkedRun run(models, machine);
      run.how = how;
      run.reader_count = 2;
      run.writer_changes.fails_executing = run.reader_changes.fails_executing = late;
      run.alter = [&](TaskSet& set, executive::Setup&) {
        for (Task& task : set.tasks) task.on_overrun = policy;
      };
      const Report report = run.run_until_seen(Way::device, distinct_pictures / 2 + 1);
      EXPECT_EQ(failed_jobs(report), 0u);
      EXPECT_GT(report.tasks[0].missed, 0u);
      for (std::size_t i = 0; i < run.reader_count; ++i) EXPECT_EQ(run.results[i].wrong(), 0u);
      EXPECT_GE(run.results[0].agreed(host.results[0]), 1u);
    }
}

TEST_P(DeviceLinks, FollowOnStalePolicyAsThroughHost) {
  for (const OnStale answer : {OnStale::reuse, OnStale::skip, OnStale::miss}) {
    SCOPED_TRACE(static_cast<int>(answer));
    for (const Way way : {Way::device, Way::host}) {
      LinkedRun run(models, machine);
      run.writer_period = 20ms;
      run.reader_period = 5ms;
      run.on_stale = answer;
      run.alter = [](TaskSet& set, executive::Setup&) {
        // no release is skipped because of late jobs
        for (Task& task : set.tasks) task.on_overrun = OnOverrun::catch_up;
      };
      const Report report = run.run(way, [&](const Report& so_far) {
        const TaskReport& reader = so_far.tasks[1];
        return run.results[0].count() >= 9 && reader.released + reader.skipped >= 60 &&
               (answer != OnStale::reuse || run.results[0].repeated() >= 8);
      });
      const TaskReport& reader = report.tasks[1];
      EXPECT_EQ(run.results[0].wrong(), 0u);
      EXPECT_GE(run.results[0].count(), 5u);
      if (answer == OnStale::reuse) {
        EXPECT_GE(run.results[0].repeated(), 8u);
      } else {
        EXPECT_EQ(run.results[0].repeated(), 0u);
      }
      EXPECT_EQ(reader.failed > 5, answer == OnStale::miss);
      EXPECT_EQ(reader.skipped > 5, answer == OnStale::skip);
      ASSERT_EQ(report.channels.size(), 2u) << "the reader's input, and the writer's on_input";
      EXPECT_GE(std::ranges::find(report.channels, "reader-0", &ChannelReport::task)->stale, 8u);
    }
  }
}

/// The writer's arena holds one value for each reader and one that is written.
TEST_F(LinkedTaskSet, PlanReservesOneValuePerReaderAndStoredValues) {
  on.reader_count = 3;
  const Plan device = plan(Way::device), host = plan(Way::host);
  const Bytes value{8 * 16 * 16 * sizeof(float)};
  EXPECT_EQ(device.tasks[0].links, value * (1 + 3 + 1));
  EXPECT_EQ(device.tasks[0].memory.fixed, device.tasks[0].links);
  EXPECT_EQ(device.tasks[0].arena.fixed, 1u);
  EXPECT_EQ(device.demand, host.demand + device.chunk);
  EXPECT_EQ(linked(host), Bytes{0});
  EXPECT_EQ(host.tasks[0].arena.fixed, 0u);
  for (std::size_t reader = 1; reader <= 3; ++reader) EXPECT_EQ(device.tasks[reader].links, Bytes{0});

  on.how = Communicating::let;
  on.writer_period = 4ms;
  on.reader_period = 18ms;
  EXPECT_EQ(plan(Way::device).tasks[0].links, value * ((18 + 4 - 1) / 4 + 2 + 3 + 1)) << "more are kept";
}

TEST_F(LinkedTaskSet, FingerprintsDependOnLinkPath) {
  const auto fingerprints = [&](Way way, bool watched) {
    on.alter = [=](TaskSet&, executive::Setup& setup) {
      if (watched) setup.callbacks["writer"].on_output = [](const OutputJob&) {};
    };
    return on.created(way).fingerprints();
  };
  const auto device = fingerprints(Way::device, false), both = fingerprints(Way::device, true),
             host = fingerprints(Way::host, false);
  EXPECT_NE(device[0], host[0]);
  EXPECT_NE(device[1], host[1]);
  EXPECT_NE(both[0], device[0]);
  EXPECT_NE(both[0], host[0]);
  EXPECT_EQ(both[1], device[1]);
  EXPECT_EQ(fingerprints(Way::device, false), device);
}

/// Any other user of the writer's output finds it on the host as well.
TEST_P(DeviceLinks, CopyOutputToHostWhenCallbackReadsIt) {
  std::atomic<std::uint64_t> blank{0}, seen{0};
  on.alter = [&](TaskSet&, executive::Setup& setup) {
    setup.callbacks["writer"].on_output = [&](const OutputJob& job) {
      ++seen;
      blank += std::ranges::all_of(job.outputs[0].as<const float>(), [](float each) { return each == 0; });
    };
  };
  EXPECT_EQ(failed_jobs(on.run(Way::device, [&](const Report&) { return seen >= 20 && on.seen(10); })), 0u);
  EXPECT_GE(seen.load(), 20u);
  EXPECT_EQ(blank.load(), 0u);
  EXPECT_GE(on.results[0].count(), 10u);
}

TEST_P(DeviceLinks, SkipCopyToHostWhenNobodyReadsIt) {
  const Workload* writer = nullptr;
  on.alter = [&](TaskSet&, executive::Setup& setup) { writer = setup.workloads.at("writer").get(); };
  Executive executive = on.created(Way::device);
  begun(executive);
  run_until(executive, [&] { return on.seen(10); });
  (void)executive.stop();
  EXPECT_TRUE(std::ranges::all_of(writer->outputs()[0].as<const float>(), [](float each) { return each == 0; }));
  EXPECT_GE(on.results[0].count(), 10u);
}

TEST_F(LinkedTaskSet, PassesThroughHostWhenReaderHasOnInputCallback) {
  on.alter = [&](TaskSet&, executive::Setup& setup) {
    setup.callbacks["reader-0"].on_input = [](InputJob&) -> Status { return {}; };
  };
  EXPECT_EQ(linked(plan(Way::device)), Bytes{0});
}

/// One output has a reader that supports links and one that does not.
TEST_P(DeviceLinks, WorkTogetherWithLinksThroughHost) {
  on.reader_count = 2;
  on.alter = [&](TaskSet&, executive::Setup& setup) {
    setup.workloads["reader-1"] = on.network(false, {.links = false});
  };
  Executive executive = on.created(Way::device);
  EXPECT_EQ(executive.plan().tasks[0].links, Bytes{8 * 16 * 16 * sizeof(float)} * (1 + 1 + 1));
  begun(executive);
  run_until(executive, [&] { return on.seen(13); });
  EXPECT_EQ(failed_jobs(executive.stop()), 0u);
  for (const std::size_t reader : {0u, 1u}) EXPECT_EQ(on.results[reader].wrong(), 0u);
  EXPECT_GE(on.results[0].agreed(on.results[1]), 10u);
}

/// The networks' own memory is swapped; the values that they exchange stay.
TEST_P(DeviceLinks, StayResidentWhenNetworksAreSwapped) {
  on.writer_period = on.reader_period = 20ms;
  const Bytes chunk = machine.kind == DeviceKind::host ? small_chunk : Bytes{2 << 20};
  on.alter = [&](TaskSet& set, executive::Setup&) {
    set.device.chunk = chunk;
    set.device.swap_cost = {
        .in_per_chunk = 2ms, .out_per_chunk = 2ms, .in_fixed = {}, .out_fixed = {}, .drop_per_chunk = {}};
    set.swap.policy = SwapPolicy::pipelined;
    for (Task& task : set.tasks) task.on_overrun = OnOverrun::catch_up;
  };
  Bytes demand;
  {
    Executive whole = on.created(Way::device);
    demand = whole.plan().demand;
    ASSERT_GT(linked(whole.plan()).count, 0u);
  }
  const auto alter = on.alter;
  on.alter = [&](TaskSet& set, executive::Setup& setup) {
    alter(set, setup);
    set.device.capacity = demand - chunk;
  };
  Executive executive = on.created(Way::device);
  ASSERT_TRUE(executive.plan().swap);
  for (const PlannedTask& task : executive.plan().tasks)
    for (const SwapSlot& slot : task.swap_slots) EXPECT_LT(slot.slot, task.arena.constant + task.arena.state);
  begun(executive);
  run_until(executive, [&] { return on.seen(13); });
  const Report report = executive.stop();
  EXPECT_EQ(failed_jobs(report), 0u);
  ASSERT_TRUE(report.swap);
  EXPECT_GT(report.swap->in.count, 0u);
  LinkedRun host(models, machine);
  static_cast<void>(host.run_until_seen(Way::host, 13));
  EXPECT_EQ(on.results[0].wrong(), 0u);
  EXPECT_GE(on.results[0].agreed(host.results[0]), 10u);
}

/// The profile measures what runs: jobs also execute before there is a value.
TEST_P(DeviceLinks, ExecuteReaderBeforeFirstValueWhenInputsAreOptional) {
  on.alter = [&](TaskSet& set, executive::Setup& setup) {
    setup.whatever_inputs = true;
    set.tasks[0].offset = 100ms;
    for (Task& task : set.tasks) task.on_overrun = OnOverrun::catch_up; // no release is skipped because of late jobs
  };
  const Report report = on.run(Way::device, [&](const Report& so_far) {
    return so_far.tasks[1].completed >= 15 && on.results[0].count() >= 10;
  });
  EXPECT_EQ(failed_jobs(report), 0u);
  EXPECT_EQ(report.tasks[1].skipped, 0u);
  EXPECT_GE(report.tasks[1].completed, 15u);
  EXPECT_GE(on.results[0].count(), 10u);
}

/// A profile is valid for a run of the same set, but not if another task takes the output on the host.
TEST_F(LinkedTaskSet, ProfileIsValidOnlyForSameLinkPath) {
  on.writer_period = on.reader_period = 50ms; // longer than the measured times on a busy machine
  TaskSet set = on.set();
  set.executive.profile = models.folder / "set.profile.toml";
  for (Task& task : set.tasks) {
    task.workload = WorkloadKind::dnn;
    task.model = task.name == "writer" ? models.writer : models.reader;
    task.wcet.reset();
  }
  const auto measured = profile(set, {.jobs = 20});
  ASSERT_TRUE(measured) << problem(measured);
  ASSERT_TRUE(write_profile(*measured, set.executive.profile));
  const auto created = Executive::create(set);
  ASSERT_TRUE(created) << problem(created);
  EXPECT_GT(linked(created->plan()).count, 0u);
  for (std::size_t i = 0; i < set.tasks.size(); ++i)
    EXPECT_EQ(created->fingerprints()[i], measured->entries[i].workload);

  ExecutiveSetup watching;
  watching.callbacks["writer"].on_output = [](const OutputJob&) {};
  EXPECT_THAT(problem(Executive::create(set, std::move(watching))), testing::HasSubstr("task 'writer'"));
}

// ---- channels ----

/// A workload that records the addresses from which it takes and to which it gives.
class Told final : public Workload {
 public:
  MemoryDemand memory() const override { return {}; }
  std::span<const std::byte> constants() const override { return {}; }
  std::string fingerprint() const override { return "told"; }
  Result<> bind(Device&, const Memory&) override { return {}; }
  Status before(std::uint64_t) noexcept override { return {}; }
  Status execute() noexcept override { return {}; }
  Status after(std::uint64_t) noexcept override { return {}; }
  void take_input(std::size_t, const std::byte* from) noexcept override { taken = from; }
  void give_output(std::size_t, std::byte* to) noexcept override { given = to; }

  const std::byte* taken = nullptr;
  std::byte* given = nullptr;
};

TEST(DeviceLinkChannels, WriteToSlotThatNoReaderHolds) {
  const auto latest =
      std::make_shared<channels::LatestMailbox>(100, 1, 1, channels::LatestMailbox::Where::given_memory);
  alignas(256) std::array<std::byte, 3 * 256> memory{};
  ASSERT_EQ(latest->total_size(), Bytes{memory.size()});
  latest->use_memory(memory.data());
  Told writer, reader;
  channels::DeviceSink sink(latest, writer, 0, std::nullopt);
  channels::DeviceSource source(latest, 0, Communication::immediate, reader, 0);
  ASSERT_TRUE(source.open());
  EXPECT_EQ(reader.taken, memory.data() + 2 * 256) << "before there is anything";
  const auto fetched = [&] { return source.fetch(0, hal::now(), {}); };
  EXPECT_FALSE(fetched());

  sink.begin();
  std::byte* const first = writer.given;
  EXPECT_FALSE(fetched()) << "it is not published";
  sink.begin();
  EXPECT_EQ(writer.given, first) << "the job before it failed";
  ASSERT_TRUE(sink.put({}));
  ASSERT_TRUE(fetched());
  EXPECT_EQ(reader.taken, first);
  for (int job = 0; job < 10; ++job) {
    sink.begin();
    EXPECT_NE(writer.given, first) << "the reader holds it";
    ASSERT_TRUE(sink.put({}));
  }
  EXPECT_EQ(reader.taken, first);
  ASSERT_TRUE(fetched()->fresh);
  EXPECT_EQ(reader.taken, writer.given);
  EXPECT_FALSE(fetched()->fresh);
  EXPECT_EQ(reader.taken, writer.given) << "and again for the next job";
}

TEST(DeviceLinkChannels, RejectViewerOfInputThatStaysOnDevice) {
  const ScratchFolder folder;
  tasks::GraphWriter picture("picture", 1);
  picture.output(picture.conv(picture.input(3, 16), {.channels = 3, .kernel = 1}));
  ASSERT_TRUE(picture.save(folder / "picture.onnx"));
  const auto refused = [&](const std::string& shown) {
    TaskSet set = set_of({own_task("first", 50ms), own_task("second", 50ms)}, 100ms);
    set.tasks[1].inputs = {{.tensor = {}, .source = SourceKind::task, .from = "first"}};
    executive::Setup setup;
    setup.force = true;
    setup.observer = std::make_shared<channels::PictureObserver>(shown);
    for (Task& task : set.tasks) {
      task.wcet = Wcet{.before = 10ms, .device = 1ms, .after = 10ms};
      setup.workloads[task.name] = std::make_unique<AlteredNetwork>(folder / "picture.onnx", DeviceKind::host,
                                                                    Precision::fp32, AlteredNetwork::Changes{});
    }
    return problem(executive::create(std::move(set), std::move(setup)));
  };
  EXPECT_EQ(refused("first"), "none");
  EXPECT_THAT(refused("second"), testing::HasSubstr("is an output of 'first' and stays on the device"));
}

} // namespace
} // namespace rtexec
