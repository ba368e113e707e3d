// Tests which file an output path refers to, in the presence of users who try to redirect it.
#include "config/base/files.hpp"
#include "config/base/output_path.hpp"
#include "test/support/test_files.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace rtexec::config {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int new_file = O_WRONLY | O_CREAT | O_TRUNC;

/// A folder that all users may write to, and one of the caller.
struct OutputPathTest : testing::Test {
  void SetUp() override {
    for (const char* name : {"shared", "mine"}) fs::create_directory(folder / name);
    fs::permissions(folder / "shared", fs::perms::all | fs::perms::sticky_bit);
    test::write_text(folder / "mine/victim", "old");
  }
  /// Makes a link shared/NAME of another user to `target`.
  void link_of_another_user(const char* name, const fs::path& target) {
    constexpr uid_t other = 12345;
    fs::create_symlink(target, folder / "shared" / name);
    ASSERT_EQ(::lchown((folder / "shared" / name).c_str(), other, other), 0);
  }
  [[nodiscard]] std::string problem(const fs::path& path) const {
    const auto opened = open_output(folder / path, new_file);
    return opened ? "" : opened.error().what;
  }
  [[nodiscard]] std::string victim() const { return test::read_text(folder / "mine/victim"); }

  const test::ScratchFolder folder;
};

struct LinkOfAnotherUser : OutputPathTest {
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may give a link away";
    OutputPathTest::SetUp();
    link_of_another_user("file", folder / "mine/victim");
    link_of_another_user("new", folder / "mine/new");
    link_of_another_user("folder", folder / "mine");
    fs::create_symlink("shared/file", folder / "ours");
    fs::create_symlink("shared", folder / "there");
  }
};

TEST_F(LinkOfAnotherUser, IsRefusedInAnyPathComponent) {
  for (const char* path : {"shared/file", "shared/new", "shared/folder/victim", "shared/folder/new", "ours",
                           "there/folder/victim", "shared/../shared/folder/./victim", "shared/folder/../mine/victim"}) {
    EXPECT_THAT(problem(path), HasSubstr("is a symbolic link of another user (12345)")) << path;
    EXPECT_FALSE(replace_file(folder / path, "new")) << path;
  }
  EXPECT_EQ(victim(), "old");
  EXPECT_FALSE(fs::exists(folder / "mine/new"));
}

TEST_F(LinkOfAnotherUser, IsNotFollowedWhenMakingFolders) {
  for (const char* path : {"shared/folder", "shared/folder/new", "shared/new", "there/folder/a/b"})
    EXPECT_FALSE(make_output_folder(folder / path)) << path;
  EXPECT_FALSE(fs::exists(folder / "mine/new"));
  EXPECT_FALSE(fs::exists(folder / "mine/a"));
}

// The owner of a folder may not choose which of root's files is replaced either.
TEST_F(LinkOfAnotherUser, IsNotFollowedInAFolderOfThatUser) {
  ASSERT_EQ(::chown((folder / "shared").c_str(), 12345, 12345), 0);
  EXPECT_THAT(problem("shared/file"), HasSubstr("of another user"));
}

TEST_F(OutputPathTest, FollowsLinksOfTheCaller) {
  fs::create_symlink("mine", folder / "folder");
  fs::create_symlink(folder / "folder/victim", folder / "file");
  ASSERT_TRUE(replace_file(folder / "file", "new"));
  EXPECT_EQ(victim(), "new");
  EXPECT_EQ(find_output(folder / "file")->path, folder / "mine/victim");
}

TEST_F(OutputPathTest, ReportsLinkLoop) {
  fs::create_symlink("loop", folder / "loop");
  EXPECT_EQ(problem("loop"),
            (folder / "loop").string() + ": error: cannot write it: Too many levels of symbolic links");
}

TEST_F(OutputPathTest, RefusesNamedPipeWithoutWaiting) {
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(problem("pipe"), HasSubstr("it is a named pipe: name a regular file, or /dev/stdout for a pipe"));
  const Descriptor reader(::open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_THAT(problem("pipe"), HasSubstr("it is a named pipe"));
}

TEST_F(OutputPathTest, RefusesFoldersSocketsAndDevices) {
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = folder / "socket";
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_THAT(problem("socket"), HasSubstr("it is a device or a socket"));
  EXPECT_THAT(problem("mine"), HasSubstr("it is a folder: name a file"));
  EXPECT_THAT(problem("mine/"), HasSubstr("it is a folder"));
  EXPECT_THAT(problem("mine/victim/file"), HasSubstr("Not a directory"));
  EXPECT_EQ(open_output("/dev/zero", O_WRONLY).error().code, Errc::bad_input);
}

TEST_F(OutputPathTest, AcceptsNullAndFullDevices) {
  for (const char* device : {"/dev/null", "/dev/full"}) EXPECT_TRUE(open_output(device, O_WRONLY)) << device;
}

TEST_F(OutputPathTest, MakesFoldersThroughLinksOfTheCaller) {
  fs::create_symlink("mine", folder / "link");
  EXPECT_EQ(make_output_folder(folder / "link/a/b").value(), folder / "mine/a/b");
  EXPECT_TRUE(fs::is_directory(folder / "mine/a/b"));
  EXPECT_EQ(make_output_folder(folder / "link/a/b/").value(), folder / "mine/a/b") << "it exists already";
  EXPECT_THAT(make_output_folder(folder / "mine/victim/x").error().what, HasSubstr("cannot make this folder"));
}

TEST(InheritedDescriptor, ParsesStreamNamesAndDescriptorPaths) {
  EXPECT_EQ(inherited_descriptor("/dev/stdout"), 1);
  EXPECT_EQ(inherited_descriptor("/dev/stderr"), 2);
  EXPECT_EQ(inherited_descriptor("/dev/fd/63"), 63);
  EXPECT_EQ(inherited_descriptor("/proc/self/fd/7"), 7);
  for (const char* other : {"/dev/fd/", "/dev/fd/1x", "/dev/fd/-1", "/dev/fd/1/2", "/proc/1/fd/1", "dev/stdout", ""})
    EXPECT_EQ(inherited_descriptor(other), std::nullopt) << other;
}

} // namespace
} // namespace rtexec::config
