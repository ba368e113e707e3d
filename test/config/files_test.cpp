#include "config/base/files.hpp"
#include "test/support/file_size_limit.hpp"
#include "test/support/test_files.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace rtexec {
namespace {

namespace fs = std::filesystem;

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const test::ScratchFolder folder;
  { ASSERT_TRUE(AtomicFile::create(folder / "file")); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(AtomicFile, HasNoNameBeforeCommit) {
  const test::ScratchFolder folder;
  const auto file = AtomicFile::create(folder / "file");
  ASSERT_TRUE(file);
  if (!fs::is_empty(folder.path())) GTEST_SKIP() << "this file system has no files without a name";
}

// A rename over a device file would destroy it for all programs.
TEST(AtomicFile, NeverReplacesNonRegularFiles) {
  const test::ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_directory(folder / "folder");
  fs::create_symlink("pipe", folder / "link");
  for (const char* name : {"pipe", "folder", "link"}) {
    const auto file = AtomicFile::create(folder / name);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code, Errc::bad_input);
  }
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
}

TEST(AtomicFile, FollowsASymbolicLink) {
  const test::ScratchFolder folder;
  test::write_text(folder / "target", "old");
  fs::create_symlink("target", folder / "link");
  ASSERT_TRUE(config::replace_file(folder / "link", "new"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(test::read_text(folder / "target"), "new");
}

TEST(AtomicFile, FollowsDanglingLinks) {
  const test::ScratchFolder folder;
  fs::create_directory(folder / "sub");
  fs::create_symlink("sub/second", folder / "first");
  fs::create_symlink("new", folder / "sub/second");
  ASSERT_TRUE(config::replace_file(folder / "first", "content"));
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_TRUE(fs::is_symlink(folder / "sub/second"));
  EXPECT_EQ(test::read_text(folder / "sub/new"), "content");
}

TEST(AtomicFile, KeepsPermissionsAndOwnerOfReplacedFile) {
  const test::ScratchFolder folder;
  test::write_text(folder / "secret", "old");
  fs::permissions(folder / "secret", fs::perms::owner_read | fs::perms::owner_write);
  constexpr uid_t other = 12345;
  const bool root = ::geteuid() == 0;
  if (root) { ASSERT_EQ(::chown((folder / "secret").c_str(), other, other), 0); }
  ASSERT_TRUE(config::replace_file(folder / "secret", "new"));
  struct stat now {};
  ASSERT_EQ(::stat((folder / "secret").c_str(), &now), 0);
  EXPECT_EQ(now.st_uid, root ? other : ::geteuid());
  EXPECT_EQ(fs::status(folder / "secret").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AtomicFile, KeepsPermissionsIfReplacedFileVanishes) {
  const test::ScratchFolder folder;
  test::write_text(folder / "secret", "old");
  fs::permissions(folder / "secret", fs::perms::owner_read | fs::perms::owner_write);
  auto file = AtomicFile::create(folder / "secret");
  ASSERT_TRUE(file);
  fs::remove(folder / "secret");
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(fs::status(folder / "secret").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// If the folder is replaced by a link meanwhile, the file must not be written elsewhere.
TEST(AtomicFile, StaysInFolderOpenedAtCreation) {
  const test::ScratchFolder folder;
  fs::create_directory(folder / "first");
  fs::create_directory(folder / "second");
  auto file = AtomicFile::create(folder / "first/file");
  ASSERT_TRUE(file);
  fs::rename(folder / "first", folder / "moved");
  fs::create_directory_symlink("second", folder / "first");
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::exists(folder / "moved/file"));
  EXPECT_TRUE(fs::is_empty(folder / "second"));
}

TEST(ReadFile, ReadsFromPipe) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  std::thread writer([end = pipe[1]] {
    for (const char* part : {"first", " second"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_GT(::write(end, part, std::strlen(part)), 0);
    }
    ::close(end);
  });
  EXPECT_EQ(config::read_file("/proc/self/fd/" + std::to_string(pipe[0]), 100).value(), "first second");
  writer.join();
  ::close(pipe[0]);
}

TEST(ReadFile, NamesLimitOfOpenFilesWhenItIsReached) {
  const test::ScratchFolder folder;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto read = config::read_file(folder / "set.toml", 10);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::refused) << "the file may be right";
  EXPECT_EQ(read.error().what, (folder / "set.toml").string() +
                                   ": error: cannot read it: Too many open files\nThe limit of this process is 0 open "
                                   "files: raise it with `ulimit -n`, or LimitNOFILE= of systemd.");
}

TEST(ReadFile, FailsOnPipeWithoutWriter) {
  const test::ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto read = config::read_file(folder / "pipe", 10);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what,
            (folder / "pipe").string() + ": error: cannot read it: it is a pipe that delivers no data");
}

TEST(ReadFile, RefusesOversizedAndEndlessFiles) {
  const test::ScratchFolder folder;
  test::write_text(folder / "file", "four");
  EXPECT_EQ(config::read_file(folder / "file", 4).value(), "four");
  EXPECT_EQ(config::read_file(folder / "file", 3).error().what,
            (folder / "file").string() + ": error: larger than 3 bytes");
  EXPECT_EQ(config::read_file("/dev/zero", 100).error().what,
            "/dev/zero: error: cannot read it: it must be a file or a pipe");
  EXPECT_EQ(config::read_file("/proc/self/comm", 100).value().back(), '\n') << "a file that announces no size";
}

TEST(AtomicFile, ReplaceSwitchesContentInOneStep) {
  const test::ScratchFolder folder;
  test::write_text(folder / "file", "old");
  fs::permissions(folder / "file", fs::perms::owner_read);
  auto file = AtomicFile::create(folder / "file");
  ASSERT_TRUE(file && file->write(std::as_bytes(std::span("new", 3))));
  EXPECT_EQ(test::read_text(folder / "file"), "old");
  ASSERT_TRUE(file->replace());
  EXPECT_EQ(test::read_text(folder / "file"), "new");
  EXPECT_EQ(fs::status(folder / "file").permissions(), fs::perms::owner_read);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(AtomicFile, ErrorMentionsOldFileOnlyIfItExists) {
  const test::ScratchFolder folder;
  test::write_text(folder / "old", "old");
  const test::FileSizeLimit full(0);
  for (const auto& [name, kept] : {std::pair{"old", ", the old file is unchanged: "}, std::pair{"new", ": "}})
    EXPECT_EQ(config::replace_file(folder / name, "content").error().what,
              (folder / name).string() + ": error: cannot write it" + kept + "File too large");
  EXPECT_FALSE(fs::exists(folder / "new"));
}

} // namespace
} // namespace rtexec
