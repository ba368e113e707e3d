#include "hal/core_claim.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace rtexec::hal {
namespace {

using rtexec::test::fails;
using rtexec::test::write_text;
using testing::HasSubstr;
using testing::Not;

constexpr unsigned first[] = {1, 2};
constexpr unsigned overlapping[] = {2, 3};
constexpr unsigned third[] = {3};

class CoreClaims : public testing::Test {
 protected:
  rtexec::test::ScratchFolder folder_;
  const ClaimFolders root_{.own = folder_ / "root", .of_root = {}};
  const ClaimFolders user_{.own = folder_ / "user", .of_root = folder_ / "root"};
  const ClaimFolders other_user_{.own = folder_ / "other", .of_root = folder_ / "root"};
};

TEST_F(CoreClaims, ExcludeOverlappingClaimsUntilTheyEnd) {
  {
    const auto claim = CoreClaim::take(first, root_);
    ASSERT_TRUE(claim) << claim.error().what;
    const auto refused = CoreClaim::take(overlapping, root_);
    EXPECT_TRUE(fails(refused, Errc::refused, "core 2:"));
    EXPECT_THAT(refused.error().what,
                HasSubstr("process " + std::to_string(::getpid()) + " of user " + std::to_string(::geteuid())));
    // A refused claim holds no core.
    EXPECT_TRUE(CoreClaim::take(third, root_));
  }
  EXPECT_TRUE(CoreClaim::take(overlapping, root_));
}

TEST_F(CoreClaims, MovedClaimHoldsCoresUntilReplaced) {
  auto claim = CoreClaim::take(first, root_);
  ASSERT_TRUE(claim);
  CoreClaim moved = std::move(*claim);
  EXPECT_FALSE(CoreClaim::take(first, root_));
  moved = CoreClaim();
  EXPECT_TRUE(CoreClaim::take(first, root_));
}

TEST_F(CoreClaims, EndWhenTheirProcessIsKilled) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto claim = CoreClaim::take(first, root_);
    const char outcome = claim ? 'y' : 'n';
    static_cast<void>(!::write(ready[1], &outcome, 1));
    for (;;) ::pause();
  }
  char outcome = 0;
  ASSERT_EQ(::read(ready[0], &outcome, 1), 1);
  ASSERT_EQ(outcome, 'y');
  EXPECT_TRUE(fails(CoreClaim::take(overlapping, root_), Errc::refused, "process " + std::to_string(child) + " of"));
  EXPECT_FALSE(::geteuid() == 0 && CoreClaim::take(overlapping, user_));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(CoreClaim::take(overlapping, root_));
  EXPECT_TRUE(CoreClaim::take(overlapping, user_)); // the stale entry of the first claim has no effect any more
}

TEST_F(CoreClaims, WaitForInquiriesButNotForRuns) {
  std::optional<CoreClaim> asks = CoreClaim::take(first, root_, ClaimFor::inquiry).value();
  std::thread ends([&asks] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    asks.reset();
  });
  const auto claim = CoreClaim::take(overlapping, root_);
  ends.join();
  EXPECT_TRUE(claim) << claim.error().what;
  EXPECT_FALSE(CoreClaim::take(first, root_, ClaimFor::inquiry)) << "a run is not waited for";
}

TEST_F(CoreClaims, RootClaimsBindAllUsersAndUserClaimsOnlyThatUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: claims are root's by the owner of their files";
  const auto of_user = CoreClaim::take(first, user_);
  ASSERT_TRUE(of_user) << of_user.error().what;
  EXPECT_TRUE(CoreClaim::take(first, other_user_));
  const auto of_root = CoreClaim::take(third, root_);
  ASSERT_TRUE(of_root) << of_root.error().what;
  EXPECT_TRUE(fails(CoreClaim::take(overlapping, other_user_), Errc::refused, "core 3:"));
  EXPECT_TRUE(CoreClaim::take(first, root_)); // root may always run
}

TEST_F(CoreClaims, RefuseWorldWritableAndLinkedFolders) {
  ASSERT_TRUE(CoreClaim::take(first, root_));
  struct stat status {};
  ASSERT_EQ(::stat((folder_ / "root" / "core-1").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u); // a user who cannot open it cannot lock it
  ASSERT_EQ(::chmod((folder_ / "root").c_str(), 0777), 0);
  EXPECT_TRUE(fails(CoreClaim::take(first, root_), Errc::refused, "alone can write to"));
  ASSERT_EQ(::symlink((folder_ / "root").c_str(), (folder_ / "link").c_str()), 0);
  EXPECT_TRUE(fails(CoreClaim::take(first, {.own = folder_ / "link", .of_root = {}}), Errc::refused, "remove it"));
}

TEST_F(CoreClaims, HonourClaimsOfOtherContainers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: claims are root's by the owner of their files";
  ASSERT_EQ(::mkdir((folder_ / "root").c_str(), 0755), 0);
  write_text(folder_ / "root" / "core-2.holder", "77 123456 42\n");
  EXPECT_TRUE(fails(CoreClaim::take(overlapping, user_), Errc::refused, "process 77 of another container"));
}

} // namespace
} // namespace rtexec::hal
