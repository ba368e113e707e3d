#include "config/names.hpp"
#include <rtexec/task_set.hpp>
#include "test/config/config_files.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using test::problem;
using testing::HasSubstr;

TaskSet read_good(const std::string& name) {
  auto set = read_task_set(test::folder() / "good" / name);
  if (!set) throw std::runtime_error(set.error().what);
  return *set;
}

Task synthetic(const std::string& name) {
  Task task;
  task.name = name;
  task.workload = WorkloadKind::synthetic;
  task.period = task.deadline = 100ms;
  task.wcet = Wcet{.before = 1ms, .device = 10ms, .after = 1ms};
  task.footprint = Bytes{4096};
  return task;
}

TaskSet set_of(std::vector<Task> tasks) {
  TaskSet set;
  set.tasks = std::move(tasks);
  return set;
}

TEST(TaskSetFile, FillsStructsFromEveryKey) {
  const std::filesystem::path good = test::folder() / "good";
  const TaskSet set = read_good("every-key.toml");
  EXPECT_EQ(set.file, good / "every-key.toml");
  EXPECT_EQ(set.board, (good / "boards/own.toml").string());
  EXPECT_EQ(set.executive.order, Order::static_priority);
  EXPECT_EQ(set.executive.priorities, PriorityAssignment::deadline_monotonic);
  EXPECT_EQ(set.executive.duration, Duration{90s});
  EXPECT_TRUE(set.executive.allow_degraded);
  EXPECT_TRUE(set.executive.keep_awake);
  EXPECT_TRUE(set.executive.lock_clocks);
  EXPECT_EQ(set.executive.threads, ThreadPolicy::deadline);
  EXPECT_EQ(set.executive.profile, good / "measured/wcet.toml");
  EXPECT_EQ(set.device.capacity, Bytes{64u << 20});
  EXPECT_EQ(set.device.chunk, std::nullopt);
  EXPECT_EQ(set.device.completion, Completion::spin);
  EXPECT_EQ(set.device.memory_objective, MemoryObjective::min_memory);
  EXPECT_EQ(set.device.launch_ahead, 3u);
  const SwapCostOptions& cost = set.device.swap_cost;
  EXPECT_EQ(cost.in_per_chunk, Duration{5660us});
  EXPECT_EQ(cost.out_per_chunk, Duration{5240us});
  EXPECT_EQ(cost.drop_per_chunk, Duration{60us});
  EXPECT_EQ(cost.in_fixed, Duration{0us});
  EXPECT_EQ(cost.out_fixed, Duration{7us});
  EXPECT_EQ(set.swap.policy, SwapPolicy::rt_swap);
  ASSERT_TRUE(set.swap.store);
  EXPECT_EQ(set.swap.store->file, good / "swap/store.bin");
  EXPECT_EQ(set.swap.candidates, SwapCandidates::largest_first);
  EXPECT_TRUE(set.swap.skip_unchanged);
  EXPECT_TRUE(set.swap.verify);
  EXPECT_EQ(set.output.trace, good / "runs/trace");
  EXPECT_EQ(set.output.jobs, good / "runs/jobs.csv");
  EXPECT_EQ(set.output.json, good / "runs/report.json");
  ASSERT_EQ(set.tasks.size(), 5u);
  const Task& front = set.tasks[0];
  EXPECT_EQ(front.name, "Front_camera-1.0");
  EXPECT_EQ(front.workload, WorkloadKind::dnn);
  EXPECT_EQ(front.model, good / "model.onnx");
  EXPECT_EQ(front.input, good / "pictures");
  EXPECT_EQ(front.precision, Precision::tf32);
  EXPECT_EQ(front.period, 100ms);
  EXPECT_EQ(front.deadline, 90ms);
  EXPECT_EQ(front.offset, 5ms);
  EXPECT_EQ(front.core, 3u);
  EXPECT_EQ(front.criticality, Criticality::best_effort);
  EXPECT_EQ(front.on_overrun, OnOverrun::re_phase);
  EXPECT_EQ(front.on_wcet_exceeded, OnWcetExceeded::stop);
  EXPECT_EQ(front.memory_policy, MemoryPolicy::device);
  EXPECT_FALSE(front.wcet);
  EXPECT_EQ(front.footprint, Bytes{3ULL << 30});
  EXPECT_FALSE(front.swappable);
  EXPECT_EQ(front.memory_class, MemoryClass::scratch);
  EXPECT_FALSE(front.swap_volume);
  const Task& load = set.tasks[1];
  EXPECT_EQ(load.workload, WorkloadKind::synthetic);
  EXPECT_EQ(load.on_overrun, OnOverrun::abort_job);
  EXPECT_EQ(load.on_wcet_exceeded, OnWcetExceeded::skip_next);
  ASSERT_TRUE(load.wcet);
  EXPECT_EQ(load.wcet->before, 2ms);
  EXPECT_EQ(load.wcet->device, 30ms);
  EXPECT_EQ(load.wcet->after, 1500us);
  EXPECT_EQ(load.footprint, Bytes{4080218931});
  EXPECT_EQ(load.swappable, Bytes{2ULL << 30});
  EXPECT_EQ(load.memory_class, MemoryClass::constant);
  EXPECT_EQ(load.swap_volume, Bytes{576ULL << 20});
  EXPECT_EQ(load.resident, Bytes{64ULL << 20});
  EXPECT_FALSE(load.releases);
  EXPECT_EQ(load.traffic_before, Bytes{4'000'000});
  EXPECT_EQ(load.traffic_after, Bytes{0});
  const BandwidthOptions& bandwidth = set.bandwidth;
  EXPECT_TRUE(set.regulated());
  EXPECT_EQ(bandwidth.period, 500us);
  EXPECT_EQ(bandwidth.best_effort, Bandwidth{100'000'000});
  EXPECT_EQ(bandwidth.regulate_while, RegulateWhile::always);
  EXPECT_TRUE(bandwidth.reclaim);
  EXPECT_EQ(bandwidth.sharing, BandwidthSharing::proportional);
  EXPECT_EQ(bandwidth.overshoot, Overshoot::forgive);
  EXPECT_EQ(bandwidth.slowdown, 1.25);
  EXPECT_EQ(bandwidth.floor, Bandwidth{20'000'000});
  EXPECT_EQ(bandwidth.counter, CounterBackEnd::thread);
  EXPECT_EQ(bandwidth.event, "armv8_pmuv3/0x17");
  ASSERT_EQ(set.core_budgets.size(), 2u);
  EXPECT_EQ(set.core_budgets[0].core, 2u);
  EXPECT_EQ(set.core_budgets[0].budget, Bandwidth{1'500'000'000});
  EXPECT_EQ(set.core_budgets[1].budget, Bandwidth{2ULL << 30});
  const Task& noise = set.tasks[2];
  EXPECT_EQ(noise.workload, WorkloadKind::traffic);
  EXPECT_EQ(noise.pattern, TrafficPattern::latency);
  EXPECT_EQ(noise.traffic_after, Bytes{512u << 10});
  EXPECT_EQ(noise.buffer, Bytes{16u << 20});
  EXPECT_EQ(set.tasks[3].workload, WorkloadKind::winograd);
  EXPECT_EQ(set.tasks[3].resolution, 2048u);
  EXPECT_FALSE(set.tasks[3].size);
  EXPECT_EQ(set.tasks[4].workload, WorkloadKind::vector_add);
  EXPECT_EQ(set.tasks[4].size, 1048576u);
  EXPECT_EQ(set.tasks[4].memory_policy, MemoryPolicy::host);
}

TEST(TaskSetFile, ReadsSegmentsLayersAndStreaming) {
  const TaskSet set = read_good("segments.toml");
  ASSERT_EQ(set.tasks.size(), 4u);
  const Task &detector = set.tasks[0], &segmenter = set.tasks[1], &describer = set.tasks[2], &rest = set.tasks[3];
  EXPECT_EQ(detector.device_class, 0u);
  EXPECT_EQ(detector.segments, 1u) << "none";
  EXPECT_FALSE(detector.layers);
  EXPECT_EQ(detector.constants, Constants::automatic);
  EXPECT_EQ(segmenter.device_class, 2u);
  EXPECT_EQ(segmenter.segments, 3u);
  ASSERT_TRUE(segmenter.layers);
  EXPECT_THAT(segmenter.layers->of(segmenter.wcet->device), testing::ElementsAre(100ms, 50ms, 100ms));
  EXPECT_EQ(segmenter.live, Bytes{3u << 20});
  EXPECT_EQ(segmenter.constants, Constants::whole);
  EXPECT_EQ(describer.device_class, std::nullopt);
  EXPECT_EQ(describer.segments, std::nullopt);
  EXPECT_EQ(describer.constants, Constants::streamed);
  EXPECT_EQ(describer.stream_chunks, 12u);
  EXPECT_EQ(rest.segments, std::nullopt) << "auto";
  ASSERT_TRUE(rest.layers);
  EXPECT_THAT(rest.layers->of(10ns), testing::ElementsAre(3ns, 3ns, 4ns));
  EXPECT_EQ(rest.live, Bytes{0});
}

TEST(TaskSetFile, ReadsReleaseList) {
  const auto releases_of = [](const std::string& list) {
    const auto set = parse_task_set(
        "[[task]]\nname = 'a'\nworkload = 'synthetic'\nperiod = '10ms'\nwcet = '1ms'\nfootprint = '1MiB'\nreleases = " +
            list,
        "x.toml");
    return set.value().tasks[0].releases.value();
  };
  EXPECT_EQ(releases_of("['1ms', '11ms', '500ms']"), (std::vector<Duration>{1ms, 11ms, 500ms}));
  EXPECT_EQ(releases_of("[]"), std::vector<Duration>{}) << "no job comes";
}

TEST(TaskSetFile, ResolvesBoardPathAgainstItsFolder) {
  const auto board_of = [](const std::filesystem::path& file) {
    return parse_task_set(
               "board = \"./host\"\n[[task]]\nname = \"a\"\nworkload = \"synthetic\"\nperiod = \"9ms\"\n"
               "wcet = \"1ms\"\nfootprint = \"1MiB\"\n",
               file)
        .value()
        .board;
  };
  EXPECT_EQ(board_of("x.toml"), "./host") << "not the board of that name";
  EXPECT_EQ(board_of("folder/x.toml"), "folder/host");
}

TEST(TaskSetFile, KeepsDefaultsForAbsentKeys) {
  const TaskSet set = read_good("contract.toml");
  EXPECT_EQ(set.board, "host");
  EXPECT_EQ(set.executive.profile, test::folder() / "good/contract.profile.toml");
  EXPECT_EQ(set.device.chunk, Bytes{64u << 20});
  EXPECT_EQ(set.tasks[0].priority, 80);
  EXPECT_EQ(set.tasks[0].wcet->before, 2ms);
  EXPECT_EQ(set.tasks[1].deadline, 200ms) << "the period";
  EXPECT_EQ(set.tasks[1].wcet->after, 0ms);
  EXPECT_FALSE(set.tasks[1].core);
  EXPECT_FALSE(set.device.swap_cost.in_per_chunk);
  EXPECT_FALSE(set.swap.store);
  EXPECT_FALSE(set.tasks[0].footprint);
}

TEST(TaskSetFile, ReadsSwapStore) {
  const auto store = [](const std::string& text) {
    const std::string task =
        "[[task]]\nname = 'a'\nworkload = 'synthetic'\nperiod = '1s'\nwcet = '1ms'\nfootprint = '1B'\n";
    const auto set = parse_task_set("swap.store = '" + text + "'\n" + task, "folder/x.toml");
    EXPECT_EQ(problem(set), "none");
    return set->swap.store->file;
  };
  EXPECT_EQ(store("pinned"), "");
  EXPECT_EQ(store("file:swap"), "folder/swap");
  EXPECT_EQ(store("file:../b:c"), "b:c");
  EXPECT_EQ(store("file:/dev/nvme0n1p3"), "/dev/nvme0n1p3");
}

TEST(TaskSetFile, AcceptsInlineTablesAndWindowsLineEnds) {
  const auto set = parse_task_set(
      "\xEF\xBB\xBF"
      "executive = {order = 'edf'}\r\n"
      "task = [{name = 'a', workload = 'synthetic', period = '1s', wcet = '1ms', footprint = '1B'}]\r\n",
      "x.toml");
  ASSERT_EQ(problem(set), "none");
  EXPECT_EQ(set->swap.policy, SwapPolicy::pipelined) << "the default";
}

TEST(TaskSetFile, ReadsLastLineWithoutLineEnd) {
  EXPECT_EQ(problem(parse_task_set("board = 3", "x.toml")),
            "x.toml:1:1: error: no task: needs at least one [[task]]\nx.toml:1:9: error: board = 3: not a string");
}

TEST(TaskSetFile, ReportsWhyFileCannotBeRead) {
  const test::ScratchFolder folder;
  EXPECT_EQ(problem(read_task_set(folder / "none.toml")),
            (folder / "none.toml").string() + ": error: cannot read it: No such file or directory");
  EXPECT_THAT(problem(read_task_set(folder.path())), HasSubstr("cannot read it: Is a directory"));
  const auto file = folder / "large.toml";
  test::write_text(file, std::string((1 << 20) + 1, '\n'));
  EXPECT_THAT(problem(read_task_set(file)), HasSubstr("larger than 1048576 bytes"));
  EXPECT_EQ(read_task_set(folder.path()).error().code, Errc::bad_input);
}

TEST(TaskSetFile, ReportsMissingReadPermission) {
  const test::ScratchFolder folder;
  const auto file = folder / "secret.toml";
  test::write_text(file, "");
  ASSERT_EQ(::chmod(file.c_str(), 0), 0);
  constexpr uid_t nobody = 65534; // root may read every file
  const uid_t self = ::geteuid();
  if (self == 0) { ASSERT_EQ(::seteuid(nobody), 0); }
  const auto result = read_task_set(file);
  ASSERT_EQ(::seteuid(self), 0);
  EXPECT_THAT(problem(result), HasSubstr("Permission denied"));
}

TEST(TaskSetFile, RejectsInvalidUtf8) {
  EXPECT_THAT(problem(parse_task_set("board = \"\xff\"\n", "x.toml")), HasSubstr("x.toml:1:"));
}

TEST(TaskSetFile, ReportsAtMostHundredMistakes) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + " = 1\n";
  const std::string message = problem(parse_task_set(text, "x.toml"));
  EXPECT_EQ(std::ranges::count(message, '\n'), 100);
  EXPECT_THAT(message, testing::EndsWith("\nand 4901 more")); // one message is that there is no task
}

/// Nesting is as deep as one line allows, in a header, a key, and inline tables. The parser and our copy recurse once
/// for each level.
TEST(TaskSetFile, DeepestNestingDoesNotExhaustStack) {
  std::string dotted = "a";
  for (int i = 0; i < 1000; ++i) dotted += ".a";
  std::string text = "[" + dotted + "]\n" + dotted + " = ";
  for (int i = 0; i < 4; ++i) text += "[\n{" + dotted + " = ";
  text += "1";
  for (int i = 0; i < 4; ++i) text += "}\n]";
  EXPECT_FALSE(parse_task_set(text, "x.toml"));
}

TEST(TaskSetInCode, IsValidatedLikeFile) {
  EXPECT_TRUE(validate(set_of({synthetic("a"), synthetic("b")})));
  EXPECT_EQ(problem(validate(TaskSet{})), "no task: needs at least one [[task]]");
  EXPECT_EQ(problem(validate(set_of({synthetic("a"), synthetic("a")}))),
            "task 'a': name = \"a\": already used by task 1");
}

struct Mistake {
  const char* message;
  void (*make)(TaskSet&);
};

class InvalidTaskSet : public testing::TestWithParam<Mistake> {};

TEST_P(InvalidTaskSet, ReportsOnlyItsMistake) {
  TaskSet set = set_of({synthetic("a")});
  GetParam().make(set);
  EXPECT_EQ(problem(validate(set)), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Of, InvalidTaskSet,
    testing::Values(
        Mistake{"task 1: name = \"\": not a name: use 1 to 64 of A-Z a-z 0-9 _ . -",
                [](TaskSet& s) { s.tasks[0].name = ""; }},
        Mistake{"task 'a': period = \"0ns\": out of range: at least 1us, at most 60min",
                [](TaskSet& s) { s.tasks[0].period = 0ns; }},
        Mistake{"task 'a': deadline = \"-9223372036.854775808s\": out of range: at least 1ns, at most 60min",
                [](TaskSet& s) { s.tasks[0].deadline = Duration::min(); }},
        Mistake{"task 'a': deadline = \"101ms\": longer than the period, 100ms",
                [](TaskSet& s) { s.tasks[0].deadline = 101ms; }},
        Mistake{"task 'a': wcet = \"9223372036.854775807s\": out of range: at least 0ns, at most 60min",
                [](TaskSet& s) { s.tasks[0].wcet->device = Duration::max(); }},
        Mistake{"task 'a': wcet_before = \"-1ns\": out of range: at least 0ns, at most 60min",
                [](TaskSet& s) { s.tasks[0].wcet->before = -1ns; }},
        Mistake{"task 'a': wcet = \"10ms\": the parts of a job take 101ms in total, longer than the deadline, 100ms",
                [](TaskSet& s) { s.tasks[0].wcet->after = 90ms; }},
        Mistake{"task 'a': wcet = \"0ns\": a synthetic task uses the device: must be at least 1ns; only a workload of "
                "your own may be 0ns",
                [](TaskSet& s) { s.tasks[0].wcet->device = 0ns; }},
        Mistake{"task 'a': core = 1024: out of range: at least 0, at most 1023",
                [](TaskSet& s) { s.tasks[0].core = 1024; }},
        Mistake{"task 'a': priority = 100: out of range: at least 1, at most 99",
                [](TaskSet& s) { s.tasks[0].priority = 100; }},
        Mistake{"task 'a': priority = 5: only with priorities = \"explicit\" in [executive]",
                [](TaskSet& s) { s.tasks[0].priority = 5; }},
        Mistake{"task 'a': wcet: a synthetic task needs a duration", [](TaskSet& s) { s.tasks[0].wcet.reset(); }},
        Mistake{"task 'a': model: a dnn task needs an ONNX file",
                [](TaskSet& s) { s.tasks[0].workload = WorkloadKind::dnn, s.tasks[0].footprint.reset(); }},
        Mistake{"task 'a': size: a gaussian task needs the size of its problem",
                [](TaskSet& s) { s.tasks[0].workload = WorkloadKind::gaussian, s.tasks[0].footprint.reset(); }},
        Mistake{"task 'a': memory_policy = \"M\": only for dnn and winograd tasks and micro-benchmarks of memory "
                "policies; device memory of a synthetic task lives under D",
                [](TaskSet& s) { s.tasks[0].memory_policy = MemoryPolicy::managed; }},
        Mistake{"task 'a': memory_policy = \"D/H\": only for micro-benchmarks of memory policies",
                [](TaskSet& s) { s.tasks[0].memory_policy = MemoryPolicy::switching; }},
        Mistake{"task 'a': swap_volume = \"4KiB\": only under memory_policy = \"D\": the others swap nothing",
                [](TaskSet& s) {
                  Task& task = s.tasks[0];
                  task.workload = WorkloadKind::winograd, task.memory_policy = MemoryPolicy::host;
                  task.footprint.reset(), task.swap_volume = Bytes{4096};
                }},
        Mistake{"task 'a': mapping_idle = \"1ms\": needs co_run_wcet too",
                [](TaskSet& s) { s.tasks[0].mapping_idle = 1ms; }},
        Mistake{"task 'a': mapping_idle = \"19ms\": longer than the device part, co_run_wcet = \"18ms\"",
                [](TaskSet& s) { s.tasks[0].mapping_idle = 19ms, s.tasks[0].co_run_wcet = 18ms; }},
        Mistake{"task 'a': mapping_idle = \"2ms\": under D no job waits for pages",
                [](TaskSet& s) {
                  s.tasks[0].mapping_idle = 2ms, s.tasks[0].co_run_wcet = 18ms;
                  s.tasks[0].memory_policy = MemoryPolicy::device;
                }},
        Mistake{"task 'a': co_run_wcet = \"8ms\": shorter than the execution alone, wcet = \"10ms\"",
                [](TaskSet& s) { s.tasks[0].co_run_wcet = 8ms; }},
        Mistake{"task 'a': layers = 0: out of range: at least 1, at most 4096",
                [](TaskSet& s) { s.tasks[0].layers = SyntheticLayers{.count = 0}; }},
        Mistake{"task 'a': segments = 3: more than its layers, of which it has 2",
                [](TaskSet& s) {
                  s.tasks[0].layers = SyntheticLayers{.times = {4ms, 6ms}}, s.tasks[0].segments = 3;
                }},
        Mistake{"task 'a': level = 100: out of range: at least 1, at most 99",
                [](TaskSet& s) { s.tasks[0].device_class = 100; }},
        Mistake{"task 'a': memory = \"?\": unknown value: use auto, whole or stream",
                [](TaskSet& s) { s.tasks[0].constants = static_cast<Constants>(77); }},
        Mistake{"task 'a': on_overrun = \"?\": unknown value: use skip, catch-up, re-phase, abort-job or stop",
                [](TaskSet& s) { s.tasks[0].on_overrun = static_cast<OnOverrun>(77); }},
        Mistake{"task 'a': on_wcet_exceeded = \"?\": unknown value: use tell, skip-next or stop",
                [](TaskSet& s) { s.tasks[0].on_wcet_exceeded = static_cast<OnWcetExceeded>(77); }},
        Mistake{"[device] chunk = \"0B\": must be at least 4KiB",
                [](TaskSet& s) { s.device.capacity = Bytes{1 << 20}, s.device.chunk = Bytes{0}; }},
        Mistake{"[device] capacity = \"18014398509481980KiB\": not a multiple of 28KiB: write \"18014398509481976KiB\"",
                [](TaskSet& s) { s.device.capacity = Bytes{0} - Bytes{4096}, s.device.chunk = Bytes{7 * 4096}; }},
        Mistake{"task 'a': swappable = \"8KiB\": more than the footprint, 4KiB",
                [](TaskSet& s) { s.tasks[0].swappable = Bytes{8192}; }},
        Mistake{"task 'a': swap_volume = \"8KiB\": more than the footprint, 4KiB",
                [](TaskSet& s) { s.tasks[0].swap_volume = Bytes{8192}; }},
        Mistake{"task 'a': swap_volume = \"1KiB\": more than swappable = \"0B\"",
                [](TaskSet& s) { s.tasks[0].swappable = Bytes{0}, s.tasks[0].swap_volume = Bytes{1024}; }},
        Mistake{"task 'a': class = \"?\": unknown value: use constant, scratch or state",
                [](TaskSet& s) { s.tasks[0].memory_class = static_cast<MemoryClass>(77); }},
        Mistake{
            "[swap] policy = \"?\": unknown value: use pipelined, serial, rt-swap, mo-vmm, min, pageable, lru or none",
            [](TaskSet& s) { s.swap.policy = static_cast<SwapPolicy>(77); }},
        Mistake{"[swap] store = \"file:a\\u000Ab\": control characters are not accepted in a path",
                [](TaskSet& s) { s.swap.store = SwapStore{"a\nb"}; }},
        Mistake{"[device.swap_cost] in_fixed = \"-1ns\": out of range: at least 0ns, at most 10s",
                [](TaskSet& s) { s.device.swap_cost.in_fixed = -1ns; }},
        Mistake{"[executive] duration = \"0ns\": out of range: at least 1ms, at most 8640000s",
                [](TaskSet& s) { s.executive.duration = 0s; }}));

TEST(TaskSetInCode, CustomWorkloadNeedsNoDevice) {
  TaskSet set = set_of({synthetic("a")});
  set.tasks[0].workload = WorkloadKind::custom;
  set.tasks[0].footprint.reset();
  set.tasks[0].wcet->device = 0ns;
  EXPECT_TRUE(validate(set));
  EXPECT_FALSE(set.tasks[0].wcet->uses_device());
}

TEST(TaskSetInCode, RejectsZeroDeadline) {
  TaskSet set = set_of({synthetic("a")});
  set.tasks[0].deadline = 0ns;
  EXPECT_EQ(problem(validate(set)), "task 'a': deadline = \"0ns\": out of range: at least 1ns, at most 60min");
}

TEST(Spellings, MatchTomlWordsAndMarkUnknownValues) {
  EXPECT_EQ(spelling(OnOverrun::re_phase), "re-phase");
  EXPECT_EQ(spelling(MemoryPolicy::managed), "M");
  EXPECT_EQ(spelling(static_cast<Order>(99)), "?");
}

TEST(TaskSetFile, ReadsOldNameOfCoRunWcetWithWarning) {
  const auto set = parse_task_set(
      "[[task]]\nname = \"a\"\nworkload = \"synthetic\"\nperiod = \"9ms\"\nwcet = \"1ms\"\nfootprint = \"1MiB\"\n"
      "wcet_beside = \"2ms\"\n",
      "set.toml");
  ASSERT_TRUE(set) << set.error().what;
  EXPECT_EQ(set->tasks[0].co_run_wcet, 2ms);
  EXPECT_THAT(set->warnings,
              testing::ElementsAre("set.toml:7:1: warning: wcet_beside: its name is now co_run_wcet; the next "
                                   "release refuses the old name"));
}

TEST(TaskSetFile, ReadsOldNameOfTopClassWithWarning) {
  const auto set = parse_task_set(
      "[[task]]\nname = \"a\"\nworkload = \"synthetic\"\nperiod = \"9ms\"\nwcet = \"1ms\"\nfootprint = \"1MiB\"\n"
      "level = \"express\"\n",
      "set.toml");
  ASSERT_TRUE(set) << set.error().what;
  EXPECT_EQ(set->tasks[0].device_class, 0u);
  EXPECT_THAT(set->warnings,
              testing::ElementsAre("set.toml:7:9: warning: level = \"express\": its name is now \"top\"; the next "
                                   "release refuses the old name"));
}

} // namespace
} // namespace rtexec
