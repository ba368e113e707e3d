// Tests which parts of its board's file a machine has, on trees assembled for four boards.
#include "hal/bandwidth_counter.hpp"
#include "hal/board/board_findings.hpp"
#include "test/hal/assembled_root.hpp"
#include "test/hal/failing_system.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rtexec::hal {
namespace {

using test::AssembledRoot;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Tree {
  const char* name;
  const char* board;
  std::size_t cores;
  std::int64_t gpu, memory_possible;
};
std::ostream& operator<<(std::ostream& out, const Tree& tree) { return out << tree.name; }

constexpr Tree trees[] = {{"tx2-r32", "tx2", 6, 114'750'000, 1'866'000'000},
                          {"xavier-r32", "xavier", 8, 318'750'000, 2'133'000'000},
                          {"xavier-r35", "xavier", 8, 318'750'000, 2'133'000'000},
                          {"orin-r36", "orin", 12, 306'000'000, 3'199'000'000}};

template <class Found> const Found& named(const std::vector<Found>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Found::name);
  if (found == all.end()) throw std::runtime_error("nothing is named " + std::string(name));
  return *found;
}

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& each : findings) text += each.subject + ": " + each.state + "\n";
  return text;
}

class BoardTree : public testing::TestWithParam<Tree> {
 protected:
  AssembledRoot root{GetParam().name};
  Machine machine = root.machine();
  Board board = *read_board(GetParam().board);
};
INSTANTIATE_TEST_SUITE_P(Of, BoardTree, testing::ValuesIn(trees), [](const auto& tree) {
  std::string name = tree.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(BoardTree, IdentifiesBoardByDeviceTree) {
  const KnownBoard known = identify_board(machine);
  EXPECT_TRUE(known.told);
  EXPECT_EQ(known.name, GetParam().board);
  EXPECT_THAT(why_not_board(board, machine), IsEmpty());
}

TEST_P(BoardTree, MatchesNoOtherBoard) {
  for (const std::string& name : board_names()) {
    const auto other = read_board(name);
    ASSERT_TRUE(other);
    const bool may_be = name == GetParam().board || other->identity.compatible.empty();
    EXPECT_EQ(why_not_board(*other, machine).empty(), may_be) << name;
  }
}

TEST_P(BoardTree, HasAllClocksOfItsBoard) {
  const FoundHardware found = find_hardware(board, machine);
  const auto of_kind = [&](ClockKind kind) { return std::ranges::count(found.clocks, kind, &FoundClock::kind); };
  EXPECT_EQ(of_kind(ClockKind::cpu), static_cast<std::ptrdiff_t>(GetParam().cores));
  EXPECT_EQ(of_kind(ClockKind::gpu), 1);
  EXPECT_EQ(of_kind(ClockKind::memory), 1);
  EXPECT_EQ(read_value(named(found.clocks, "GPU").rate, machine), GetParam().gpu);
  const FoundClock& memory = named(found.clocks, "memory");
  ASSERT_TRUE(memory.possible && memory.cap && memory.set && memory.lock);
  EXPECT_EQ(read_value(*memory.possible, machine), GetParam().memory_possible);
  const FoundClock& core = named(found.clocks, "core 1");
  EXPECT_EQ(core.rate.file, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq");
  EXPECT_EQ(read_value(core.rate, machine), std::stoll(root.read(core.rate.file)) * 1000) << "it is told in kHz";
  EXPECT_TRUE(core.lowest && core.highest);
}

TEST_P(BoardTree, HasAllSensorsOfItsBoard) {
  const FoundHardware found = find_hardware(board, machine);
  EXPECT_THAT(found.absent, IsEmpty());
  for (const FoundSensor& sensor : found.sensors) {
    const auto value = read_value(sensor.value, machine);
    if (!value) {
      EXPECT_EQ(sensor.name, "gpu-thermal") << "it sleeps";
    } else if (sensor.kind == SensorKind::temperature) {
      EXPECT_THAT(*value, AllOf(testing::Gt(20'000), testing::Lt(60'000)));
    } else if (sensor.kind == SensorKind::power) {
      EXPECT_THAT(*value, AllOf(testing::Gt(10'000), testing::Lt(9'000'000)));
    }
  }
}

TEST_P(BoardTree, HasTheCoresOfItsBoard) {
  const std::string text = text_of(probe_board(board, machine));
  for (const CoreKind& kind : board.core_kinds)
    EXPECT_THAT(text, HasSubstr(kind.name + ", cluster " + std::to_string(kind.cluster) + ": cores " +
                                core_list(kind.cores) + "\n"));
}

TEST_P(BoardTree, UnknownDeviceTreeIsTreatedAsHost) {
  root.write("/proc/device-tree/compatible", std::string("acme,board\0acme,chip\0", 21));
  const KnownBoard known = identify_board(machine);
  EXPECT_FALSE(known.told);
  EXPECT_EQ(known.name, "host");
  EXPECT_THAT(known.what, HasSubstr("acme,board, acme,chip"));
  EXPECT_THAT(why_not_board(board, machine), HasSubstr("this machine is not board '" + board.name + "'"));
  root.remove("/proc/device-tree");
  EXPECT_EQ(identify_board(machine).name, "host");
  EXPECT_THAT(identify_board(machine).what, HasSubstr("no device tree"));
  EXPECT_THAT(why_not_board(board, machine), IsEmpty()) << "nothing speaks against it";
}

TEST_P(BoardTree, ReportsAbsentClocksAndSensors) {
  root.remove("/sys");
  const FoundHardware found = find_hardware(board, machine);
  EXPECT_THAT(found.clocks, IsEmpty());
  EXPECT_THAT(found.sensors, IsEmpty());
  EXPECT_EQ(found.absent.size(), board.clocks.size() + board.sensors.size());
  EXPECT_THAT(text_of(probe_board(board, machine)), HasSubstr("not here: core #, GPU, memory"));
}

TEST(BoardProbe, ReportsCoresOfUnexpectedKindAndOfflineCores) {
  const AssembledRoot root("tx2-r32");
  std::string cores = root.read("/proc/cpuinfo");
  cores.resize(cores.find("processor\t: 5"));
  cores.replace(cores.find("0x003"), 5, "0xd07");
  root.write("/proc/cpuinfo", cores);
  const std::string text = text_of(probe_board(*read_board("tx2"), root.machine()));
  EXPECT_THAT(text, HasSubstr("Cortex-A57, cluster 0: cores 0,3-4; offline: 5"));
  EXPECT_THAT(text, HasSubstr("Denver 2, cluster 1: cores 2; core 1 is 0x04e/0xd07"));
}

TEST(BoardProbe, GroupsCoreClocksWithSameLimits) {
  const AssembledRoot root("tx2-r32");
  root.write("/sys/devices/system/cpu/cpu4/cpufreq/scaling_cur_freq", "1200000");
  root.write("/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq", "1200000");
  const std::string text = text_of(probe_board(*read_board("tx2"), root.machine()));
  EXPECT_THAT(text, HasSubstr("clock core 0-4: 960 MHz to 1.20 GHz, from 346 MHz to 2.04 GHz ("));
  EXPECT_THAT(text, HasSubstr("clock core 5: 960 MHz, from 346 MHz to 1.20 GHz ("));
  EXPECT_THAT(text, HasSubstr("clock GPU: 115 MHz, from 115 MHz to 1.30 GHz ("));
}

TEST(BoardProbe, ReportsNoCoreKindsIfKernelListsNone) {
  const AssembledRoot root("tx2-r32");
  root.write("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel");
  EXPECT_THAT(text_of(probe_board(*read_board("tx2"), root.machine())),
              HasSubstr("core kinds: /proc/cpuinfo names no"));
}

TEST(BoardProbe, ReportsSensorAboveThrottlingLimit) {
  const AssembledRoot root("xavier-r35");
  root.write("/sys/class/thermal/thermal_zone1/temp", "96000");
  const auto findings = probe_board(*read_board("xavier"), root.machine());
  const auto gpu = std::ranges::find(findings, "sensor GPU-therm", &Finding::subject);
  ASSERT_NE(gpu, findings.end());
  EXPECT_EQ(gpu->grade, Finding::Grade::note);
  EXPECT_THAT(gpu->state, HasSubstr("96.0 C, throttled from 95.5 C"));
}

/// Zones and rails have different numbers in every release.
TEST(BoardFiles, AreFoundByLabelInsteadOfNumber) {
  const AssembledRoot root("xavier-r35");
  const auto rail = [&] {
    return read_value(named(find_hardware(*read_board("xavier"), root.machine()).sensors, "SOC").value, root.machine());
  };
  EXPECT_EQ(rail(), 19200 * 72) << "millivolts and milliamperes";
  const std::string folder = "/sys/bus/i2c/drivers/ina3221/1-0040/hwmon/hwmon3/";
  root.write(folder + "in3_label", "GPU");
  root.write(folder + "in1_label", "SOC");
  EXPECT_EQ(rail(), 19200 * 32);
}

TEST(BoardFiles, ResolveToFirstExistingPathByNumber) {
  const AssembledRoot root("tx2-r32");
  const Machine machine = root.machine();
  const auto path = [](const std::string& text) {
    return BoardPath{.file = text, .times = {}, .unit = {}, .where = {}};
  };
  root.write("/a/n10/x", "10");
  root.write("/a/n9/x", "9");
  root.write("/a/nx/x", "8");
  EXPECT_EQ(find_file({path("/a/n#/x")}, machine)->file, "/a/n9/x") << "by number, not by letter";
  EXPECT_THAT(numbers_in({path("/none/n#/x"), path("/a/n#/x")}, machine), ElementsAre(9, 10));
  EXPECT_EQ(find_file({path("/none/x"), path("/a/n*/x")}, machine)->file, "/a/n9/x");
  EXPECT_EQ(find_file({path("/none/x"), path("/a/n#/y")}, machine), std::nullopt);
  EXPECT_EQ(find_file({}, machine), std::nullopt);
}

TEST(BoardFiles, ReadValueReturnsNumberOrNothing) {
  const AssembledRoot root("tx2-r32");
  const Machine machine = root.machine();
  const auto value = [&](const std::string& text, std::int64_t factor = 1) {
    root.write("/v", text);
    return read_value({.file = "/v", .times = {}, .factor = factor}, machine);
  };
  EXPECT_EQ(value("114750000 216750000 1300500000 420750000"), 1'300'500'000);
  EXPECT_EQ(value("-5500"), -5500);
  EXPECT_EQ(value("7", 1000), 7000);
  EXPECT_FALSE(value(""));
  EXPECT_FALSE(value("<unknown>"));
  EXPECT_FALSE(value("9223372036854775807", 1000)) << "more than 64 bits";
  const test::Failing<&System::read> asleep(EAGAIN);
  EXPECT_FALSE(value("5"));
}

/// The PMU settings of the board's file equal those of the drivers.
TEST(BoardCounters, MatchDriverPmuSettings) {
  const auto config_on = [](const char* tree, const char* board, unsigned core) {
    const AssembledRoot root(tree);
    const CounterFacts facts = counter_of(core, *read_board(board), "");
    return find_event(facts.event, root.machine(), facts.opened_on);
  };
  const auto denver = config_on("tx2-r32", "tx2", 2);
  ASSERT_TRUE(denver) << denver.error().what;
  EXPECT_EQ(denver->config, 0xd17u);
  EXPECT_EQ(denver->counted_on, 1u);
  for (unsigned core = 0; core < 8; ++core) {
    for (const char* tree : {"xavier-r32", "xavier-r35"}) {
      const auto carmel = config_on(tree, "xavier", core);
      ASSERT_TRUE(carmel) << carmel.error().what;
      EXPECT_EQ(carmel->config, 0x170u | core / 2);
      EXPECT_EQ(carmel->counted_on, 0u);
    }
  }
  const auto scf = config_on("orin-r36", "orin", 7);
  ASSERT_TRUE(scf) << scf.error().what;
  EXPECT_EQ(scf->config, 0xf10u);
  EXPECT_EQ(scf->counted_on, 0u);
}

} // namespace
} // namespace rtexec::hal
