// Tests locking and restoring of clocks, on trees assembled for four boards, with a process that ends at any call.
#include "hal/board/clock_lock.hpp"
#include "test/hal/assembled_root.hpp"
#include "test/hal/failing_system.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace rtexec::hal {
namespace {

using test::AssembledRoot;
using testing::HasSubstr;
using testing::IsEmpty;

/// Simulates the kernel's files: a partial write has no effect. From a chosen change on, nothing takes effect, as for a
/// process killed there; it may leave a file of ours truncated.
class Kernel {
 public:
  static constexpr int never = 1 << 20;
  explicit Kernel(int dies_at = never) : override_((prepare(dies_at), table_)) {}
  void die_at(int change) {
    changes_ = 0;
    dies_at_ = change;
  }
  void refuse(int change) {
    changes_ = 0;
    refused_ = change;
  }
  [[nodiscard]] int changes() const { return changes_; }
  [[nodiscard]] static bool dead() { return changes_ > dies_at_; }

 private:
  static bool dies() { return ++changes_ == refused_ || dead(); }
  static void prepare(int dies_at) {
    changes_ = 0;
    dies_at_ = dies_at;
    refused_ = 0;
    table_ = linux_system();
    table_.open = [](const char* path, int flags) { return linux_system().open(path, flags & ~O_TRUNC); };
    table_.create = [](const char* path, int flags, mode_t mode) {
      if ((flags & O_EXCL) != 0 && dies()) return errno = EIO, -1;
      return linux_system().create(path, flags, mode);
    };
    table_.write = [](int file, const void* from, std::size_t size) -> ssize_t {
      const bool ours = (::fcntl(file, F_GETFL) & O_SYNC) == O_SYNC;
      const bool died = dies();
      if (dead() && changes_ == dies_at_ + 1 && ours) return linux_system().write(file, from, size / 2);
      if (died) return errno = EIO, -1;
      if (!ours && ::ftruncate(file, 0) != 0) return -1;
      return linux_system().write(file, from, size);
    };
    table_.unlink = [](const char* path) {
      if (dies()) return errno = EIO, -1;
      return linux_system().unlink(path);
    };
  }
  static inline System table_;
  static inline int changes_, dies_at_, refused_;
  SystemOverride override_;
};

struct Tree {
  const char* name;
  const char* board;
};

std::ostream& operator<<(std::ostream& out, const Tree& tree) { return out << tree.name; }

class ClockLockOnBoard : public testing::TestWithParam<Tree> {
 protected:
  [[nodiscard]] Result<ClockLock> take() {
    return ClockLock::take(find_hardware(board, machine), machine, folder.path());
  }
  [[nodiscard]] bool state_is_there() const { return std::filesystem::exists(folder / "clocks"); }
  /// Returns the tree without line ends: the kernel's files have them, written files do not.
  [[nodiscard]] std::map<std::string, std::string> contents() const {
    auto all = root.contents();
    for (auto& [file, text] : all)
      if (text.ends_with('\n')) text.pop_back();
    return all;
  }

  AssembledRoot root{GetParam().name};
  rtexec::test::ScratchFolder folder;
  Machine machine = root.machine();
  Board board = *read_board(GetParam().board);
  const std::map<std::string, std::string> before = contents();
};
INSTANTIATE_TEST_SUITE_P(Of, ClockLockOnBoard,
                         testing::Values(Tree{"tx2-r32", "tx2"}, Tree{"xavier-r32", "xavier"},
                                         Tree{"xavier-r35", "xavier"}, Tree{"orin-r36", "orin"}),
                         [](const auto& tree) {
                           std::string name = tree.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(ClockLockOnBoard, LocksCoresGpuAndMemoryAndRestoresThem) {
  const Kernel kernel;
  {
    auto lock = take();
    ASSERT_TRUE(lock) << lock.error().what;
    const FoundHardware hardware = find_hardware(board, machine);
    EXPECT_EQ(lock->clocks().size(), hardware.clocks.size());
    for (const FoundClock& clock : hardware.clocks) {
      const auto locked = std::ranges::find(lock->clocks(), clock.name, &LockedClock::name);
      ASSERT_NE(locked, lock->clocks().end()) << clock.name;
      if (clock.lowest) {
        EXPECT_EQ(root.read(clock.lowest->file), root.read(clock.highest->file)) << clock.name;
        EXPECT_EQ(locked->hertz, read_value(*clock.highest, machine)) << clock.name;
        EXPECT_EQ(root.read(clock.highest->file), before.at(clock.highest->file)) << "as the power mode has it";
      } else {
        EXPECT_EQ(root.read(clock.lock->file), "1");
        EXPECT_EQ(read_value(*clock.set, machine), locked->hertz);
        const auto cap = read_value(*clock.cap, machine), possible = read_value(*clock.possible, machine);
        EXPECT_EQ(locked->hertz, *cap == 0 ? *possible : *cap);
      }
    }
    EXPECT_TRUE(state_is_there());
  }
  EXPECT_EQ(contents(), before);
  EXPECT_FALSE(state_is_there());
}

/// The main property, for which all others exist.
TEST_P(ClockLockOnBoard, RestoreUndoesEverythingWhereverProcessDied) {
  Kernel kernel;
  int changes = 0;
  {
    const auto lock = take();
    ASSERT_TRUE(lock) << lock.error().what;
    changes = kernel.changes();
  }
  const int all = kernel.changes();
  ASSERT_GT(changes, static_cast<int>(find_hardware(board, machine).clocks.size())) << "state file and clocks";
  ASSERT_GT(all, changes);
  for (int last = 0; last <= all; ++last) {
    kernel.die_at(last);
    { const auto lock = take(); }
    kernel.die_at(Kernel::never);
    const auto restored = restore_clocks(machine, folder.path());
    ASSERT_TRUE(restored) << restored.error().what;
    ASSERT_EQ(contents(), before) << "it ended behind change " << last << " of " << all;
    ASSERT_FALSE(state_is_there());
  }
}

TEST_P(ClockLockOnBoard, NextLockRestoresClocksWhereverProcessDied) {
  Kernel kernel;
  { const auto lock = take(); }
  const int all = kernel.changes();
  for (int last = 0; last <= all; last += 3) {
    kernel.die_at(last);
    { const auto lock = take(); }
    kernel.die_at(Kernel::never);
    {
      const auto lock = take();
      ASSERT_TRUE(lock) << lock.error().what;
    }
    ASSERT_EQ(contents(), before) << "it ended behind change " << last << " of " << all;
  }
}

TEST_P(ClockLockOnBoard, SecondRestoreSucceedsWhereverFirstDied) {
  Kernel kernel;
  const auto leave = [&] {
    auto lock = take();
    EXPECT_TRUE(lock);
    kernel.die_at(0);
  };
  for (int last = 0;; ++last) {
    leave();
    kernel.die_at(last);
    const auto first = restore_clocks(machine, folder.path());
    const bool ended = kernel.dead();
    kernel.die_at(Kernel::never);
    if (ended) { ASSERT_TRUE(restore_clocks(machine, folder.path())); }
    ASSERT_EQ(contents(), before) << "it ended behind change " << last;
    if (!ended) break;
  }
}

TEST_P(ClockLockOnBoard, UndoesEverythingIfOneChangeIsRefused) {
  Kernel kernel;
  int changes = 0;
  {
    const auto lock = take();
    changes = kernel.changes();
  }
  for (int refused = 1; refused <= changes; ++refused) {
    kernel.refuse(refused);
    const auto lock = take();
    ASSERT_FALSE(lock) << refused;
    ASSERT_THAT(lock.error().what, testing::AnyOf(HasSubstr("writing"), HasSubstr("making")));
    ASSERT_EQ(contents(), before) << "change " << refused << " of " << changes;
    ASSERT_FALSE(state_is_there());
  }
}

TEST_P(ClockLockOnBoard, ExcludesSecondLockAndRestoreWhileHeld) {
  const Kernel kernel;
  auto lock = take();
  ASSERT_TRUE(lock) << lock.error().what;
  const auto other = take();
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().what, HasSubstr("another run has locked the clocks"));
  EXPECT_EQ(restore_clocks(machine, folder.path()).value_or(99), 0u) << "its run goes on";
  EXPECT_NE(contents(), before);
  EXPECT_TRUE(lock->restore());
  EXPECT_EQ(contents(), before);
}

TEST_P(ClockLockOnBoard, RefusesFileThatIgnoresWrites) {
  static System stubborn;
  stubborn = linux_system();
  stubborn.open = [](const char* path, int flags) { return linux_system().open(path, flags & ~O_TRUNC); };
  stubborn.write = [](int file, const void* from, std::size_t size) -> ssize_t {
    if ((::fcntl(file, F_GETFL) & O_SYNC) == O_SYNC) return linux_system().write(file, from, size);
    return static_cast<ssize_t>(size);
  };
  const SystemOverride override_(stubborn);
  const auto lock = take();
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().what, HasSubstr("was accepted, but it then reads"));
  EXPECT_EQ(contents(), before);
  EXPECT_FALSE(state_is_there());
}

TEST(ClockLock, LocksMemoryClockAtItsCap) {
  const Kernel kernel;
  const AssembledRoot root("tx2-r32");
  const rtexec::test::ScratchFolder folder;
  root.write("/sys/kernel/nvpmodel_emc_cap/emc_iso_cap", "1331200000");
  const Machine machine = root.machine();
  const auto lock = ClockLock::take(find_hardware(*read_board("tx2"), machine), machine, folder.path());
  ASSERT_TRUE(lock) << lock.error().what;
  EXPECT_EQ(lock->clocks().front().name, "memory") << "it is the first";
  EXPECT_EQ(lock->clocks().front().hertz, 1'331'200'000);
  EXPECT_EQ(root.read("/sys/kernel/debug/bpmp/debug/clk/emc/rate"), "1331200000");
}

/// Two cores share their settings, as in a cluster of Xavier.
TEST(ClockLock, RestoresClocksSharedByCores) {
  Kernel kernel;
  const AssembledRoot root("xavier-r35");
  const rtexec::test::ScratchFolder folder;
  const std::filesystem::path cpus = root.path() / "sys/devices/system/cpu";
  for (int core = 1; core < 8; core += 2) {
    std::filesystem::remove_all(cpus / ("cpu" + std::to_string(core)) / "cpufreq");
    std::filesystem::create_symlink(cpus / ("cpu" + std::to_string(core - 1)) / "cpufreq",
                                    cpus / ("cpu" + std::to_string(core)) / "cpufreq");
  }
  const auto lowest = [&](int core) {
    return root.read("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_min_freq");
  };
  const Machine machine = root.machine();
  {
    const auto lock = ClockLock::take(find_hardware(*read_board("xavier"), machine), machine, folder.path());
    ASSERT_TRUE(lock) << lock.error().what;
    for (int core = 0; core < 8; ++core) EXPECT_EQ(lowest(core), "2265600") << core;
    kernel.die_at(0);
  }
  kernel.die_at(Kernel::never);
  ASSERT_TRUE(restore_clocks(machine, folder.path()));
  for (int core = 0; core < 8; ++core) EXPECT_EQ(lowest(core), "115200") << core;
}

TEST(ClockLock, DoesNothingOnMachineWithoutClocks) {
  const Kernel kernel;
  const rtexec::test::ScratchFolder root, folder;
  const Machine machine(root.path());
  const auto lock = ClockLock::take(find_hardware(*read_board("host"), machine), machine, folder.path());
  ASSERT_TRUE(lock) << lock.error().what;
  EXPECT_THAT(lock->clocks(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder / "clocks"));
}

const std::string changed_file = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq";
const std::string state_of_one = "rtexec clocks 1\n" + changed_file + "\t1\t2\nend 1\n";

TEST(ClockLock, DiscardsIncompleteStateFile) {
  const AssembledRoot root("tx2-r32");
  const auto before = root.contents();
  const rtexec::test::ScratchFolder folder;
  // A missing final line break is no damage.
  for (std::size_t size = 0; size + 1 < state_of_one.size(); ++size) {
    const std::string text = state_of_one.substr(0, size);
    rtexec::test::write_text(folder / "clocks", text);
    EXPECT_EQ(restore_clocks(root.machine(), folder.path()).value_or(99), 0u) << text;
    EXPECT_FALSE(std::filesystem::exists(folder / "clocks")) << text;
    EXPECT_EQ(root.contents(), before);
  }
  for (const auto& whole : {state_of_one.substr(0, state_of_one.size() - 1), state_of_one}) {
    rtexec::test::write_text(folder / "clocks", whole);
    EXPECT_EQ(restore_clocks(root.machine(), folder.path()).value_or(99), 1u);
    EXPECT_EQ(root.read(changed_file), "1");
    EXPECT_FALSE(std::filesystem::exists(folder / "clocks"));
  }
}

TEST(ClockLock, RefusesAndKeepsForeignStateFile) {
  const AssembledRoot root("tx2-r32");
  const auto before = root.contents();
  const rtexec::test::ScratchFolder folder;
  const std::string line = changed_file + "\t1\t2\n";
  for (const std::string& text :
       {"something else\n" + line + "end 1\n", std::string("x"), "rtexec clocks 2\n" + line + "end 1\n",
        "rtexec clocks 1\n" + line + "end 2\n", "rtexec clocks 1\n" + line + "end 1\nmore\n",
        "rtexec clocks 1\n" + line.substr(0, 20) + "\nend 1\n", std::string("rtexec clocks 1\nsys/x\t1\t2\nend 1\n"),
        std::string(40, '\0')}) {
    rtexec::test::write_text(folder / "clocks", text);
    const auto restored = restore_clocks(root.machine(), folder.path());
    EXPECT_TRUE(rtexec::test::fails(restored, Errc::refused, "no run of rtexec wrote it")) << text;
    const auto lock = ClockLock::take(find_hardware(*read_board("tx2"), root.machine()), root.machine(), folder.path());
    EXPECT_TRUE(rtexec::test::fails(lock, Errc::refused, "move it away")) << text;
    EXPECT_EQ(rtexec::test::read_text(folder / "clocks"), text);
    EXPECT_EQ(root.contents(), before);
  }
}

TEST(ClockLock, RefusesStateFileThatIsNotRegularFile) {
  const AssembledRoot root("tx2-r32");
  const auto before = root.contents();
  const rtexec::test::ScratchFolder folder;
  const std::filesystem::path state = folder / "clocks", other = folder / "other";
  rtexec::test::write_text(other, state_of_one);
  const auto is_refused = [&] {
    EXPECT_TRUE(
        rtexec::test::fails(restore_clocks(root.machine(), folder.path()), Errc::refused, "not a regular file"));
    EXPECT_FALSE(ClockLock::take(find_hardware(*read_board("tx2"), root.machine()), root.machine(), folder.path()));
    EXPECT_EQ(root.contents(), before);
    EXPECT_NE(std::filesystem::symlink_status(state).type(), std::filesystem::file_type::not_found) << "it stays";
    EXPECT_TRUE(std::filesystem::remove(state));
  };
  std::filesystem::create_symlink(other, state);
  is_refused();
  EXPECT_EQ(rtexec::test::read_text(other), state_of_one);
  std::filesystem::create_symlink(folder / "nowhere", state);
  is_refused();
  EXPECT_FALSE(std::filesystem::exists(folder / "nowhere"));
  std::filesystem::create_directory(state);
  is_refused();
  ASSERT_EQ(::mkfifo(state.c_str(), 0600), 0);
  is_refused();
}

TEST(ClockLock, ConcurrentRestoresRestoreOnce) {
  const AssembledRoot root("tx2-r32");
  const rtexec::test::ScratchFolder folder;
  for (int round = 0; round < 50; ++round) {
    root.write(changed_file, "2");
    rtexec::test::write_text(folder / "clocks", state_of_one);
    std::array<std::size_t, 2> restored{99, 99};
    {
      std::array<std::jthread, 2> both;
      for (std::size_t i = 0; i < both.size(); ++i)
        both[i] = std::jthread([&, i] { restored[i] = restore_clocks(root.machine(), folder.path()).value_or(99); });
    }
    EXPECT_EQ(restored[0] + restored[1], 1u);
    EXPECT_EQ(root.read(changed_file), "1");
    EXPECT_FALSE(std::filesystem::exists(folder / "clocks"));
  }
}

} // namespace
} // namespace rtexec::hal
