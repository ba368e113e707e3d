#include "config/files.hpp"
#include "test/support/file_size_limit.hpp"
#include "test/support/files.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rtexec {
namespace {

namespace fs = std::filesystem;

TEST(AtomicFile, WithoutCommitNothingIsLeft) {
  const test::ScratchFolder folder;
  { ASSERT_TRUE(AtomicFile::create(folder / "file")); }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(AtomicFile, NothingIsLeftOfAProgramThatIsKilled) {
  const test::ScratchFolder folder;
  const auto file = AtomicFile::create(folder / "file");
  ASSERT_TRUE(file);
  if (!fs::is_empty(folder.path())) GTEST_SKIP() << "this file system has no files without a name";
}

// A rename over it would destroy the device for everybody.
TEST(AtomicFile, NeverReplacesWhatIsNoRegularFile) {
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

TEST(AtomicFile, FollowsALinkToWhatIsNotThereYet) {
  const test::ScratchFolder folder;
  fs::create_directory(folder / "sub");
  fs::create_symlink("sub/second", folder / "first");
  fs::create_symlink("new", folder / "sub/second");
  ASSERT_TRUE(config::replace_file(folder / "first", "content"));
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_TRUE(fs::is_symlink(folder / "sub/second"));
  EXPECT_EQ(test::read_text(folder / "sub/new"), "content");
}

TEST(AtomicFile, NamesALinkThatLeadsNowhere) {
  const test::ScratchFolder folder;
  fs::create_symlink("loop", folder / "loop");
  const auto file = AtomicFile::create(folder / "loop");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().what,
            (folder / "loop").string() + ": error: cannot write it: Too many levels of symbolic links");
}

TEST(AtomicFile, WhatReplacesAFileHasItsPermissionsAndOwner) {
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

TEST(AtomicFile, TellsOfAnOldOneOnlyWhereOneIs) {
  const test::ScratchFolder folder;
  test::write_text(folder / "old", "old");
  const test::FileSizeLimit full(0);
  for (const auto& [name, kept] : {std::pair{"old", ", the old one stays as it was: "}, std::pair{"new", ": "}})
    EXPECT_EQ(config::replace_file(folder / name, "content").error().what,
              (folder / name).string() + ": error: cannot write it" + kept + "File too large");
  EXPECT_FALSE(fs::exists(folder / "new"));
}

} // namespace
} // namespace rtexec
