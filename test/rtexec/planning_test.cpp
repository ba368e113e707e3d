// Plans without an executive, for this machine and for others.
#include <rtexec/planning.hpp>

#include "rtexec/json/machine.hpp"
#include "test/rtexec/sets.hpp"
#include "test/support/files.hpp"
#include "test/support/result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rtexec {
namespace {

using namespace test;

TaskSet two_tasks() {
  return set_of({synthetic("quick", 20ms, {.before = 1ms, .device = 1ms, .after = {}}),
                 synthetic("slow", 40ms, {.before = 1ms, .device = 1ms, .after = 1ms})},
                1s);
}

const MachineFacts robot{
    .name = "robot", .cores = {2, 3, 4, 5, 7}, .no_fifo = {}, .no_deadline = "not there", .here = false};

/// As `rtexec probe --json` writes it.
Result<MachineFacts> read_back(const nlohmann::json& facts) {
  const ScratchFolder folder;
  write_text(folder / "machine.json", nlohmann::json::array({{{"subject", "machine"}, {"machine", facts}}}).dump());
  return read_machine(folder / "machine.json");
}

TEST(PlanWithoutExecutive, SettlesCoresAndThreadsForTheMachineThatIsGiven) {
  const auto planned = plan(two_tasks(), robot);
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_TRUE(planned->plan.proved);
  EXPECT_EQ(planned->compute_core, 7u);
  EXPECT_EQ(planned->service_core, 5u);
  EXPECT_EQ(planned->tasks.executive.threads, ThreadPolicy::fifo);
  for (const PlannedTask& task : planned->plan.tasks) EXPECT_THAT(robot.cores, testing::Contains(task.core));
}

TEST(PlanWithoutExecutive, OfAMachineWithoutCoresIsRefused) {
  MachineFacts nothing = robot;
  nothing.cores.clear();
  EXPECT_TRUE(fails(plan(two_tasks(), nothing), Errc::bad_input, "machine 'robot' has no core to run on"));
}

TEST(PlanWithoutExecutive, TakesReservationsWhereThatMachineGivesNothingElse) {
  MachineFacts container = robot;
  container.no_fifo = "RLIMIT_RTPRIO is 0";
  container.no_deadline.clear();
  const auto planned = plan(two_tasks(), container);
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_EQ(planned->tasks.executive.threads, ThreadPolicy::deadline);
  EXPECT_TRUE(planned->plan.services);
}

TEST(PlanWithoutExecutive, AsksAnotherMachinesFileForTheMemoryOfItsDevice) {
  TaskSet set = two_tasks();
  set.board = "rtx";
  EXPECT_TRUE(fails(plan(set, robot), Errc::bad_input, "the file of that machine does not say it"));
  MachineFacts with_gpu = robot;
  with_gpu.device_memory = Bytes{(std::uint64_t{1} << 30) + 5};
  const auto planned = plan(set, with_gpu);
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_EQ(planned->board.capacity, Bytes{std::uint64_t{1} << 30});
}

TEST(PlanWithoutExecutive, OfThisMachineIsThatOfAnExecutive) {
  const MachineFacts here = this_machine();
  EXPECT_TRUE(here.here);
  EXPECT_FALSE(here.cores.empty());
  const auto planned = plan(two_tasks());
  ASSERT_TRUE(planned) << problem(planned);
  EXPECT_EQ(planned->machine.cores, here.cores);
}

TEST(MachineFile, IsReadAsItWasWritten) {
  const auto read = read_back(to_json(robot));
  ASSERT_TRUE(read) << problem(read);
  EXPECT_EQ(read->name, robot.name);
  EXPECT_EQ(read->cores, robot.cores);
  EXPECT_EQ(read->no_fifo, "");
  EXPECT_EQ(read->no_deadline, robot.no_deadline);
  EXPECT_FALSE(read->here);
}

TEST(MachineFile, ThatDescribesNoMachineIsRefused) {
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
