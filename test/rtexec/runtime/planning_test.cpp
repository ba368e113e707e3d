// Tests plans without an executive, for this machine and for others.
#include <rtexec/planning.hpp>
#include <rtexec/profile.hpp>

#include "rtexec/runtime/channels/connect.hpp"
#include "rtexec/runtime/json/machine_json.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"
#include "tasks/make/make_workload.hpp"
#include "test/rtexec/runtime/linked_networks.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace test;
using testing::EndsWith;
using testing::HasSubstr;

TaskSet two_tasks() {
  return set_of({synthetic("quick", 20ms, {.before = 1ms, .device = 1ms, .after = {}}),
                 synthetic("slow", 40ms, {.before = 1ms, .device = 1ms, .after = 1ms})},
                1s);
}

const MachineFacts robot{.name = "robot",
                         .cores = {2, 3, 4, 5, 7},
                         .withheld = {},
                         .isolated = {},
                         .no_fifo = {},
                         .no_deadline = "not there",
                         .no_memory_lock = {},
                         .disturbances = {},
                         .here = false};

/// Reads facts back as `rtexec probe --json` writes them.
Result<MachineFacts> read_back(const nlohmann::json& facts) {
  const ScratchFolder folder;
  write_text(folder / "machine.json", nlohmann::json::array({{{"subject", "machine"}, {"machine", facts}}}).dump());
  return read_machine(folder / "machine.json");
}

TEST(PlanWithoutExecutive, ChoosesCoresAndThreadsForGivenMachine) {
  const auto planned = plan(two_tasks(), robot);
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_TRUE(planned->plan.proved);
  EXPECT_EQ(planned->compute_core, 7u);
  EXPECT_EQ(planned->service_core, 5u);
  EXPECT_EQ(planned->tasks.executive.threads, ThreadPolicy::fifo);
  for (const PlannedTask& task : planned->plan.tasks) EXPECT_THAT(robot.cores, testing::Contains(task.core));
}

TEST(PlanWithoutExecutive, LeavesWorkloadsUnchanged) {
  TaskSet set = two_tasks();
  set.tasks[1].layers = SyntheticLayers{.count = 6};
  set.tasks[1].live = Bytes{8192};
  set.tasks[1].segments = 3;
  executive::Setup setup;
  auto loaded = executive::load(set, setup, robot);
  ASSERT_TRUE(loaded) << problem(loaded);
  const auto first = executive::plan(*loaded), second = executive::plan(*loaded);
  ASSERT_TRUE(first) << problem(first);
  ASSERT_TRUE(second) << problem(second);
  EXPECT_EQ(first->tasks[1].cuts.size(), 2U);
  EXPECT_EQ(first->tasks[1].cuts, second->tasks[1].cuts);
  EXPECT_EQ(first->tasks[1].memory.carry, Bytes{8192});
  EXPECT_EQ(loaded->workloads[1]->memory().carry, Bytes{0});
  ASSERT_TRUE(executive::cut(*loaded, *first));
  EXPECT_EQ(loaded->workloads[1]->memory().carry, Bytes{8192});
}

/// Addresses for so many constants do not exist, so the capacity check must refuse them before any allocation.
TEST(PlanWithoutExecutive, RejectsFootprintAboveCapacityBeforeAllocating) {
  for (const MemoryClass kind : {MemoryClass::constant, MemoryClass::state, MemoryClass::scratch}) {
    TaskSet set = two_tasks();
    set.tasks[1].footprint = Bytes{std::uint64_t{4} << 40};
    set.tasks[1].memory_class = kind;
    EXPECT_TRUE(fails(plan(set, robot), Errc::not_proved, "task 'slow': footprint = \"4TiB\": more than the capacity"));
  }
}

TEST(PlanWithoutExecutive, RejectsMachineWithoutCores) {
  MachineFacts nothing = robot;
  nothing.cores.clear();
  EXPECT_TRUE(fails(plan(two_tasks(), nothing), Errc::bad_input, "machine 'robot' has no core to run on"));
}

TEST(PlanWithoutExecutive, UsesReservationsWhenMachineLacksFifo) {
  MachineFacts container = robot;
  container.no_fifo = "RLIMIT_RTPRIO is 0";
  container.no_deadline.clear();
  const auto planned = plan(two_tasks(), container);
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_EQ(planned->tasks.executive.threads, ThreadPolicy::deadline);
  EXPECT_TRUE(planned->plan.services);
}

TEST(PlanWithoutExecutive, TakesDeviceMemoryFromMachineFile) {
  TaskSet set = two_tasks();
  set.board = "rtx";
  EXPECT_TRUE(fails(plan(set, robot), Errc::bad_input, "the machine file does not contain it"));
  MachineFacts with_gpu = robot;
  with_gpu.device_memory = Bytes{(std::uint64_t{1} << 30) + 5};
  const auto planned = plan(set, with_gpu);
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_EQ(planned->board.capacity, Bytes{std::uint64_t{1} << 30});
}

TEST(PlanWithoutExecutive, UsesThisMachineByDefault) {
  const MachineFacts here = this_machine();
  EXPECT_TRUE(here.here);
  EXPECT_FALSE(here.cores.empty());
  const auto planned = plan(two_tasks());
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_EQ(planned->machine.cores, here.cores);
}

// ---- tasks without a memory policy ----

/// A vector-add task on three arrays of 4 MB each, with known times under each policy.
class OpenMemoryPolicy : public testing::Test {
 protected:
  OpenMemoryPolicy() {
    Task task;
    task.name = "add";
    task.workload = WorkloadKind::vector_add;
    task.size = 1'000'000;
    task.period = task.deadline = 100ms;
    task.memory_policy = MemoryPolicy::automatic;
    set_ = set_of({task}, 1s);
    set_.executive.profile = folder_ / "p.toml";
    profile_ = {.file = {}, .machine = "m", .device = "host", .entries = {}};
    for (const auto& [policy, time] :
         {std::pair{MemoryPolicy::device, 10ms}, {MemoryPolicy::managed, 12ms}, {MemoryPolicy::host, 20ms}})
      measured(policy, time);
  }
  void measured(MemoryPolicy policy, Duration time) {
    Task task = set_.tasks[0];
    task.memory_policy = policy;
    const Wcet wcet{.before = 1ms, .device = time, .after = 1ms};
    profile_.entries.push_back({.task = "add",
                                .memory_policy = policy,
                                .workload = tasks::make_workload(task, DeviceKind::host).value()->fingerprint(),
                                .wcet = wcet,
                                .observed = wcet,
                                .samples = 1,
                                .margin = 1,
                                .tuning = {}});
  }
  Result<PlannedSet> planned() {
    EXPECT_TRUE(write_profile(profile_, set_.executive.profile));
    return plan(set_, robot);
  }
  PlannedTask task() {
    const auto made = planned();
    EXPECT_TRUE(made) << problem(made);
    return made->plan.tasks[0];
  }

  const ScratchFolder folder_;
  TaskSet set_;
  Profile profile_;
};

TEST_F(OpenMemoryPolicy, ResolvesToFastestMeasured) {
  const PlannedTask found = task();
  EXPECT_EQ(found.memory_policy, MemoryPolicy::device);
  EXPECT_EQ(found.wcet.device, 10ms);
  EXPECT_EQ(found.memory.outside, Bytes{12'000'000});
  EXPECT_EQ(found.memory.host, Bytes{12'000'000});
  EXPECT_THAT(found.memory_policy_reason,
              AllOf(HasSubstr("and 12.0 ms a job"), HasSubstr("and 22.0 ms under H"), HasSubstr("slack")));
  std::swap(profile_.entries[0].wcet, profile_.entries[1].wcet);
  const PlannedTask managed = task();
  EXPECT_EQ(managed.memory_policy, MemoryPolicy::managed);
  EXPECT_EQ(managed.memory.host, Bytes{0}) << "of the workload that it runs";
  EXPECT_EQ(planned()->plan.outside, Bytes{12'000'000});
}

TEST_F(OpenMemoryPolicy, ResolvesToLeastMemoryUnderMinMemoryObjective) {
  set_.device.memory_objective = MemoryObjective::min_memory;
  EXPECT_EQ(task().memory_policy, MemoryPolicy::host);
  set_.tasks[0].deadline = 19ms;
  EXPECT_EQ(task().memory_policy, MemoryPolicy::managed) << "which takes none of the host's";
  set_.tasks[0].deadline = 14ms;
  EXPECT_EQ(task().memory_policy, MemoryPolicy::device);
}

TEST_F(OpenMemoryPolicy, FitsIntoCapacity) {
  set_.device.capacity = Bytes{8 << 20};
  EXPECT_EQ(task().memory_policy, MemoryPolicy::host);
  set_.tasks[0].deadline = 15ms;
  EXPECT_TRUE(fails(planned(), Errc::not_proved, "task 'add' alone needs")) << "H is too slow";
  EXPECT_TRUE(fails(planned(), Errc::not_proved, "no combination of measured memory policies for 'add' fits"));
}

TEST_F(OpenMemoryPolicy, ResolvesOnlyToMeasuredPolicies) {
  profile_.entries.erase(profile_.entries.begin() + 1);
  profile_.entries[1].wcet.device = 1ms;
  EXPECT_EQ(task().memory_policy, MemoryPolicy::host);
  profile_.entries[1].workload += " of another size";
  const PlannedTask device = task();
  EXPECT_EQ(device.memory_policy, MemoryPolicy::device);
  EXPECT_EQ(device.memory_policy_reason, "the only measured policy");
  profile_.entries.clear();
  EXPECT_TRUE(fails(planned(), Errc::bad_input, "task 'add': no measurement"));
}

TEST_F(OpenMemoryPolicy, IsNotResolvedWhenTaskGivesPolicyOrWcet) {
  set_.tasks[0].memory_policy = MemoryPolicy::managed;
  EXPECT_EQ(task().wcet.device, 12ms);
  EXPECT_EQ(task().memory_policy_reason, "");
  profile_.entries.erase(profile_.entries.begin() + 1);
  EXPECT_TRUE(fails(planned(), Errc::bad_input, "no measurement under memory policy M"));
  set_.tasks[0].memory_policy = MemoryPolicy::automatic;
  set_.tasks[0].wcet = Wcet{.before = {}, .device = 50ms, .after = {}};
  EXPECT_EQ(task().memory_policy, MemoryPolicy::device);
  EXPECT_EQ(task().wcet.device, 50ms);
}

/// Two networks. One passes its output to the other on the device.
TEST(OpenMemoryPolicyOfNetworks, ResolvesToFastestWithLinkOnDevice) {
  const LinkedModels models;
  const ScratchFolder folder;
  TaskSet set = set_of({own_task("writer", 100ms), own_task("reader", 100ms)}, 1s);
  for (Task& task : set.tasks) {
    task.workload = WorkloadKind::dnn;
    task.wcet.reset();
    task.memory_policy = MemoryPolicy::automatic;
  }
  set.tasks[0].model = models.writer;
  set.tasks[1].model = models.reader;
  set.tasks[1].inputs = {{.tensor = {}, .source = SourceKind::task, .from = "writer"}};
  set.executive.profile = folder / "p.toml";
  Profile profile{.file = {}, .machine = "m", .device = "host", .entries = {}};
  for (const auto& [policy, time] :
       {std::pair{MemoryPolicy::device, 10ms}, {MemoryPolicy::managed, 5ms}, {MemoryPolicy::host, 20ms}}) {
    TaskSet under = set;
    std::vector<std::unique_ptr<Workload>> workloads;
    for (Task& task : under.tasks) {
      task.memory_policy = policy;
      workloads.push_back(tasks::make_workload(task, DeviceKind::host).value());
    }
    const auto connected = channels::connect(under, workloads, {}).value();
    ASSERT_EQ(connected.links.size(), 1u);
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      const Wcet wcet{.before = 1ms, .device = time, .after = 1ms};
      profile.entries.push_back({.task = under.tasks[i].name,
                                 .memory_policy = policy,
                                 .workload = channels::fingerprint(under, i, *workloads[i], connected.links),
                                 .wcet = wcet,
                                 .observed = wcet,
                                 .samples = 1,
                                 .margin = 1,
                                 .tuning = {}});
    }
  }
  ASSERT_TRUE(write_profile(profile, set.executive.profile));
  const auto planned = plan(set, robot);
  ASSERT_TRUE(planned) << problem(planned);
  for (const PlannedTask& task : planned->plan.tasks) EXPECT_EQ(task.memory_policy, MemoryPolicy::managed) << task.name;
  EXPECT_GT(planned->plan.tasks[0].links, Bytes{0});
}

/// Two networks, one of which feeds the other, measured under each policy. The less of a network is on the device, the
/// slower it is.
struct LinkedOpenPolicies {
  LinkedOpenPolicies() {
    for (const auto& [name, model] : {std::pair("writer", models.writer), std::pair("reader", models.reader)}) {
      Task task;
      task.name = name;
      task.workload = WorkloadKind::dnn;
      task.model = model;
      task.period = task.deadline = 100ms;
      set.tasks.push_back(task);
    }
    set.tasks[1].inputs = {{.tensor = {}, .source = SourceKind::task, .from = "writer"}};
    set.executive.profile = folder / "p.toml";
    set.device.chunk = Bytes{64 << 10};
    Profile profile{.file = {}, .machine = "m", .device = "host", .entries = {}};
    for (const auto& [policy, time] :
         {std::pair{MemoryPolicy::device, 5ms}, {MemoryPolicy::managed, 7ms}, {MemoryPolicy::host, 9ms}})
      measure(profile, policy, time);
    if (!write_profile(profile, set.executive.profile)) throw std::runtime_error("no profile");
    for (Task& task : set.tasks) {
      task.wcet.reset();
      task.memory_policy = MemoryPolicy::automatic;
    }
  }
  void measure(Profile& profile, MemoryPolicy policy, Duration time) {
    const Wcet wcet{.before = 1ms, .device = time, .after = 1ms};
    for (Task& task : set.tasks) {
      task.memory_policy = policy;
      task.wcet = wcet;
    }
    const auto made = plan(set, robot).value();
    if (policy == MemoryPolicy::device) copied = made.plan;
    for (const PlannedTask& task : made.plan.tasks)
      profile.entries.push_back({.task = task.name,
                                 .memory_policy = policy,
                                 .workload = task.workload,
                                 .wcet = wcet,
                                 .observed = wcet,
                                 .samples = 1,
                                 .margin = 1,
                                 .tuning = {}});
  }

  const LinkedModels models{64};
  const ScratchFolder folder;
  TaskSet set = set_of({}, 1s);
  Plan copied; // both under D
};

TEST(OpenMemoryPolicies, LeaveRoomForLinkedTensorsOnDevice) {
  LinkedOpenPolicies open;
  ASSERT_GT(open.copied.tasks[0].links, Bytes{0});
  open.set.device.capacity = open.copied.demand;
  const auto all = plan(open.set, robot);
  ASSERT_TRUE(all) << problem(all);
  for (const PlannedTask& task : all->plan.tasks) {
    EXPECT_EQ(task.memory_policy, MemoryPolicy::device);
    EXPECT_THAT(task.memory_policy_reason, HasSubstr(" under M; "));
  }
  open.set.device.capacity = open.copied.demand - open.copied.chunk;
  const auto less = plan(open.set, robot);
  ASSERT_TRUE(less) << problem(less);
  EXPECT_TRUE(less->plan.proved);
  EXPECT_FALSE(less->plan.swap);
  EXPECT_TRUE(std::ranges::any_of(less->plan.tasks,
                                  [](const PlannedTask& task) { return task.memory_policy != MemoryPolicy::device; }));
}

/// With unified memory, the host's copies of a network under D take memory of the device.
TEST(OpenMemoryPolicies, CountHostCopiesUnderUnifiedMemory) {
  LinkedOpenPolicies open;
  open.set.board = "tx2";
  for (const MemoryPolicy policy : {MemoryPolicy::device, MemoryPolicy::host}) {
    for (Task& task : open.set.tasks) {
      task.memory_policy = policy;
      task.wcet = Wcet{.before = 1ms, .device = 5ms, .after = 1ms};
    }
    const auto planned = plan(open.set, robot);
    ASSERT_TRUE(planned) << problem(planned);
    Bytes host;
    for (const PlannedTask& task : planned->plan.tasks) host += task.memory.host;
    EXPECT_GT(host, Bytes{0});
    EXPECT_EQ(planned->plan.outside, host);
  }
}

// ---- assumptions of a verdict ----

Condition condition(const PlannedSet& planned, const std::string& supposed) {
  for (const Condition& each : conditions(planned, planned.plan))
    if (each.supposed.starts_with(supposed)) return each;
  ADD_FAILURE() << "nothing is supposed of " << supposed;
  return {};
}

PlannedSet planned_on(const MachineFacts& machine) { return plan(two_tasks(), machine).value(); }

TEST(VerdictConditions, IncludeInputDelaysOfChainsOnly) {
  TaskSet tasks = two_tasks();
  tasks.tasks[0].input_delay = std::chrono::milliseconds(8);
  const auto supposed = [](const TaskSet& set) {
    const auto all = conditions(plan(set, robot).value(), plan(set, robot)->plan);
    const auto found =
        std::ranges::find_if(all, [](const Condition& each) { return each.supposed.starts_with("input"); });
    return found == all.end() ? std::string() : found->supposed + ": " + found->known;
  };
  EXPECT_EQ(supposed(tasks), "") << "nothing begins with it";
  Chain& chain = tasks.chains.emplace_back();
  chain.name = "c";
  chain.tasks = {tasks.tasks[0].name};
  const std::string given = "given by hand for '" + tasks.tasks[0].name + "'";
  EXPECT_EQ(supposed(tasks), "input delays hold: " + given);
  tasks.tasks[0].trigger = Trigger::call;
  EXPECT_EQ(supposed(tasks), "input delays hold, and samples are at least a period apart: " + given);
}

TEST(VerdictConditions, ExecutionTimesGivenByHandAreUnknown) {
  const Condition found = condition(planned_on(robot), "execution times");
  EXPECT_EQ(found.standing, Condition::Standing::unknown);
  EXPECT_EQ(found.known, "given by hand");
}

TEST(VerdictConditions, ExecutionTimesHoldOnlyForProfileOfSameMachine) {
  const ScratchFolder folder;
  PlannedSet planned = planned_on(robot);
  planned.tasks.executive.profile = folder / "set.profile.toml";
  Profile profile{.file = {}, .machine = robot.name, .device = "host", .entries = {}};
  const auto measure = [&](std::size_t index, std::uint64_t samples) {
    const PlannedTask& task = planned.plan.tasks[index];
    profile.entries.push_back({.task = task.name,
                               .workload = task.workload,
                               .wcet = task.wcet,
                               .observed = task.wcet,
                               .samples = samples,
                               .margin = 1.2,
                               .tuning = {}});
    ASSERT_TRUE(write_profile(profile, planned.tasks.executive.profile));
  };
  measure(0, 106);
  EXPECT_EQ(condition(planned, "execution times").standing, Condition::Standing::unknown);
  EXPECT_THAT(condition(planned, "execution times").known, HasSubstr("given by hand for 1 of 2 tasks"));
  measure(1, 2000);
  EXPECT_EQ(condition(planned, "execution times").standing, Condition::Standing::holds);
  EXPECT_THAT(condition(planned, "execution times").known, HasSubstr("with margin 1.2 from 106 jobs"));
  profile.entries[1].degraded = {"SCHED_FIFO: not permitted"};
  ASSERT_TRUE(write_profile(profile, planned.tasks.executive.profile));
  EXPECT_EQ(condition(planned, "execution times").standing, Condition::Standing::against);
  EXPECT_THAT(condition(planned, "execution times").known,
              EndsWith("from 106 jobs; measured in a degraded run: SCHED_FIFO: not permitted"));
  profile.entries[1].degraded.clear();
  profile.entries[0].observed.device = profile.entries[0].wcet.device + 1ns;
  ASSERT_TRUE(write_profile(profile, planned.tasks.executive.profile));
  EXPECT_EQ(condition(planned, "execution times").standing, Condition::Standing::against);
  EXPECT_THAT(condition(planned, "execution times").known,
              HasSubstr("a WCET of '" + profile.entries[0].task + "' is below the longest measured time"));
  profile.entries[0].observed = profile.entries[0].wcet;
  ASSERT_TRUE(write_profile(profile, planned.tasks.executive.profile));
  planned.machine.name = "another robot";
  EXPECT_EQ(condition(planned, "execution times").standing, Condition::Standing::against);
  EXPECT_THAT(condition(planned, "execution times").known, HasSubstr("on another machine (" + robot.name + ")"));
}

TEST(VerdictConditions, FailWhenMachineRefusesFifoAndMemoryLock) {
  MachineFacts machine = robot;
  machine.no_fifo = machine.no_deadline = "setting it failed: Operation not permitted\nNeeds CAP_SYS_NICE";
  machine.no_memory_lock = "limited to 64 KiB\nNeeds CAP_IPC_LOCK";
  const Condition found = condition(planned_on(machine), "SCHED_FIFO and locked memory");
  EXPECT_EQ(found.standing, Condition::Standing::against);
  EXPECT_EQ(found.known, "setting it failed: Operation not permitted; limited to 64 KiB");
  machine = robot;
  machine.no_fifo.clear();
  EXPECT_EQ(condition(planned_on(machine), "SCHED_FIFO and locked memory").standing, Condition::Standing::holds);
}

TEST(VerdictConditions, IncludePlatformStallOnlyWhenBoardGivesOne) {
  PlannedSet planned = planned_on(robot);
  for (const Condition& each : conditions(planned, planned.plan))
    EXPECT_THAT(each.supposed, testing::Not(HasSubstr("stops")));
  planned.board.platform_stall = 1200us;
  const Condition found = condition(planned, "the platform stalls for at most 1.20 ms, once in the span of a job");
  EXPECT_EQ(found.standing, Condition::Standing::unknown);
  EXPECT_EQ(found.known, "platform_stall, as board 'host' says");
  planned.tasks.executive.threads = ThreadPolicy::deadline;
  EXPECT_THAT(condition(planned, "the platform stalls").known, HasSubstr("no stall consumes runtime"));
}

TEST(VerdictConditions, ListDisturbancesApartFromUnknowns) {
  MachineFacts machine = robot;
  EXPECT_THAT(condition(planned_on(machine), "nothing preempts").known, HasSubstr("that machine's file does not say"));
  machine.disturbances = {{"clocks", Condition::Standing::holds, "locked"}};
  EXPECT_EQ(condition(planned_on(machine), "nothing preempts").standing, Condition::Standing::holds);
  machine.disturbances.push_back({"SMIs", Condition::Standing::unknown, "SMIs"});
  EXPECT_EQ(condition(planned_on(machine), "nothing preempts").standing, Condition::Standing::unknown);
  machine.disturbances.push_back({"host", Condition::Standing::against, "a host"});
  const Condition found = condition(planned_on(machine), "nothing preempts the executive on cores ");
  EXPECT_EQ(found.standing, Condition::Standing::against);
  EXPECT_EQ(found.known, "that machine has a host; not known: SMIs");
}

TEST(MachineFile, IsReadBackAsWritten) {
  MachineFacts disturbed = robot;
  disturbed.withheld = {9};
  disturbed.isolated = {1};
  disturbed.no_memory_lock = "limited";
  disturbed.disturbances = {{"SMIs", Condition::Standing::unknown, "SMIs of the firmware"}};
  const auto known = read_back(to_json(disturbed));
  ASSERT_TRUE(known) << problem(known);
  EXPECT_EQ(known->withheld, disturbed.withheld);
  EXPECT_EQ(known->isolated, disturbed.isolated);
  EXPECT_EQ(known->no_memory_lock, "limited");
  ASSERT_EQ(known->disturbances.size(), 1u);
  EXPECT_EQ(known->disturbances[0].standing, Condition::Standing::unknown);
  EXPECT_EQ(known->disturbances[0].known, "SMIs of the firmware");
  const auto read = read_back(to_json(robot));
  ASSERT_TRUE(read) << problem(read);
  EXPECT_EQ(read->name, robot.name);
  EXPECT_EQ(read->cores, robot.cores);
  EXPECT_EQ(read->no_fifo, "");
  EXPECT_EQ(read->no_deadline, robot.no_deadline);
  EXPECT_FALSE(read->here);
}

TEST(MachineFile, IsRejectedWhenItDescribesNoMachine) {
  for (const auto* cores : {"[]", "[3, 2]", "[1, 1]", "[-1]", "[1024]", "[1.5]", "\"0-3\"", "{}", "null"}) {
    nlohmann::json facts = to_json(robot);
    facts["cores"] = nlohmann::json::parse(cores);
    EXPECT_TRUE(fails(read_back(facts), Errc::bad_input, "it describes no machine")) << cores;
  }
  const ScratchFolder folder;
  for (const auto* text : {"", "[", "{}", "[]", "[1]", "[{\"machine\": 3}]"}) {
    write_text(folder / "machine.json", text);
    EXPECT_TRUE(fails(read_machine(folder / "machine.json"), Errc::bad_input, "rtexec probe")) << text;
  }
}

} // namespace
} // namespace rtexec
