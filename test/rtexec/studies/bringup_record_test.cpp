// Tests the tree of a board, recorded from another tree: both give the same findings.
#include "rtexec/studies/bringup/recorded_tree.hpp"
#include "hal/board/board_findings.hpp"
#include "hal/kernel.hpp"
#include "test/hal/assembled_root.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sys/stat.h>

namespace rtexec::bringup {
namespace {

namespace fs = std::filesystem;
using hal::test::AssembledRoot;
using test::read_text;
using test::ScratchFolder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Returns the findings as text, without the root, which errors contain.
std::string text_of(const std::vector<hal::Finding>& findings, const fs::path& root) {
  std::string text;
  for (const hal::Finding& each : findings) text += each.subject + ": " + each.state + "\n";
  for (std::size_t at; (at = text.find(root.string())) != text.npos;) text.erase(at, root.string().size());
  return text;
}

class RecordedTree : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  AssembledRoot root{GetParam().first};
  Board board = *read_board(GetParam().second);
  ScratchFolder folder;
};
INSTANTIATE_TEST_SUITE_P(Of, RecordedTree,
                         testing::Values(std::pair{"tx2-r32", "tx2"}, std::pair{"xavier-r32", "xavier"},
                                         std::pair{"xavier-r35", "xavier"}, std::pair{"orin-r36", "orin"}),
                         [](const auto& tree) {
                           std::string name = tree.param.first;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(RecordedTree, YieldsSameFindingsAsTheBoard) {
  const auto recording = record(board, root.machine(), folder.path());
  ASSERT_TRUE(recording) << recording.error().what;
  EXPECT_EQ(recording->unrecorded, 0u) << read_text(folder / unrecorded_file);
  const hal::Machine stand_in(folder.path());
  EXPECT_EQ(hal::identify_board(stand_in).name, GetParam().second);
  EXPECT_EQ(text_of(hal::probe_board(board, stand_in), folder.path()),
            text_of(hal::probe_board(board, root.machine()), root.path()));
  EXPECT_EQ(text_of(stand_in.disturbances(), folder.path()), text_of(root.machine().disturbances(), root.path()));
  for (const auto& [path, content] : root.contents()) EXPECT_EQ(read_text(folder / path), content) << path;
}

class BringupRecord : public testing::Test {
 protected:
  Recording recorded() {
    const auto recording = record(*read_board("host"), hal::Machine(root.path()), folder.path());
    EXPECT_TRUE(recording) << recording.error().what;
    return recording.value_or(Recording{});
  }
  void file(const std::string& path, const std::string& content) const { test::write_text(root / path, content); }
  [[nodiscard]] std::string unrecorded() const { return read_text(folder / unrecorded_file); }

  ScratchFolder root, folder;
};

TEST_F(BringupRecord, RecordsOnlyTextUpToSizeLimit) {
  file("/proc/cpuinfo", std::string(64 << 10, 'a'));
  file("/proc/stat", std::string((64 << 10) + 1, 'a'));
  file("/proc/device-tree/compatible", std::string("a,b\0c,d\0", 8));
  file("/sys/kernel/realtime", "\x01\x02");
  file("/proc/other", "nobody asks for it");
  const Recording recording = recorded();
  EXPECT_EQ(recording.recorded, 2u);
  EXPECT_EQ(recording.unrecorded, 2u);
  EXPECT_EQ(read_text(folder / "/proc/cpuinfo").size(), std::size_t{64} << 10);
  EXPECT_EQ(read_text(folder / "/proc/device-tree/compatible"), std::string("a,b\0c,d\0", 8));
  EXPECT_THAT(unrecorded(), HasSubstr("/proc/stat: more than 64.0 KiB\n"));
  EXPECT_THAT(unrecorded(), HasSubstr("/sys/kernel/realtime: is no text\n"));
  EXPECT_FALSE(fs::exists(folder / "/proc/stat"));
  EXPECT_FALSE(fs::exists(folder / "/proc/other"));
}

TEST_F(BringupRecord, FollowsNoLinkOutOfKernelFiles) {
  file("/secret", "key");
  file("/etc/zone/temp", "42");
  file("/sys/devices/virtual/zone/temp", "42000");
  fs::create_directories(root / "/sys/class/thermal");
  fs::create_symlink("../../devices/virtual/zone", root / "/sys/class/thermal/thermal_zone0");
  fs::create_symlink("../../../etc/zone", root / "/sys/class/thermal/thermal_zone1");
  fs::create_directories(root / "/proc");
  fs::create_symlink("../secret", root / "/proc/cmdline");
  fs::create_symlink(root / "/secret", root / "/proc/version");
  fs::create_symlink("nowhere", root / "/proc/swaps");
  recorded();
  EXPECT_EQ(read_text(folder / "/sys/class/thermal/thermal_zone0/temp"), "42000") << "as the kernel links it";
  for (const char* outside : {"/sys/class/thermal/thermal_zone1/temp", "/proc/cmdline", "/proc/version"}) {
    EXPECT_FALSE(fs::exists(folder / outside)) << outside;
    EXPECT_THAT(unrecorded(), HasSubstr(std::string(outside) + ": leads out of"));
  }
}

TEST_F(BringupRecord, OmitsSerialNumber) {
  file("/proc/cmdline", "root=/dev/x androidboot.serialno=0423318 quiet\n");
  recorded();
  EXPECT_EQ(read_text(folder / "/proc/cmdline"), "root=/dev/x androidboot.serialno= quiet\n");
  file("/proc/cmdline", "quiet androidboot.serialno=0423318");
  recorded();
  EXPECT_EQ(read_text(folder / "/proc/cmdline"), "quiet androidboot.serialno=");
}

TEST_F(BringupRecord, DoesNotBlockOnPipe) {
  fs::create_directories(root / "/proc");
  ASSERT_EQ(::mkfifo((root / "/proc/cpuinfo").c_str(), 0600), 0);
  EXPECT_EQ(recorded().recorded, 0u);
}

TEST_F(BringupRecord, IncludesKernelConfiguration) {
  file("/proc/sys/kernel/osrelease", "6.1.0\n");
  file("/boot/config-6.1.0", "CONFIG_A=y\n" + std::string(300'000, '#'));
  EXPECT_EQ(recorded().recorded, 2u);
  EXPECT_TRUE(hal::KernelConfig::of(hal::Machine(folder.path()))->has("A"));
}

TEST_F(BringupRecord, ReportsUnwritableFolder) {
  file("/proc/cpuinfo", "a");
  const auto refused = record(*read_board("host"), hal::Machine(root.path()), folder / "/a-file/x");
  EXPECT_TRUE(refused) << "folders are made";
  test::write_text(folder / "plain", "");
  EXPECT_TRUE(
      test::fails(record(*read_board("host"), hal::Machine(root.path()), folder / "plain"), Errc::refused, "plain"));
}

} // namespace
} // namespace rtexec::bringup
