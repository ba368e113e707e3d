// Tests locks of several users, in one process and in several. When a user dies, its own locks are released, and no
// others.
#include <rtexec/bandwidth_lock.hpp>

#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace rtexec {
namespace {

using namespace test;

struct BandwidthLocksTest : testing::Test {
  BandwidthLocks opened() const {
    auto locks = BandwidthLocks::open(folder.path());
    if (!locks) throw std::runtime_error(locks.error().what);
    return std::move(*locks);
  }
  std::filesystem::path page() const { return folder / "rtexec-bandwidth-locks"; }

  ScratchFolder folder;
};

testing::AssertionResult held(const BandwidthLocks& locks, std::uint32_t fine, std::uint32_t coarse) {
  const BandwidthHolders now = locks.holders();
  if (now.locks == fine && now.busy == coarse) return testing::AssertionSuccess();
  return testing::AssertionFailure() << now.locks << " locks, " << now.busy << " busy";
}

/// A process that runs `body` and then waits to be ended. `body` returns 0 on success.
class Other {
 public:
  template <class Body> explicit Other(Body body) {
    int told[2];
    if (::pipe(told) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) {
      const auto outcome = static_cast<char>(body());
      if (::write(told[1], &outcome, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(told[1]);
    if (::read(told[0], &outcome_, 1) != 1) outcome_ = -1;
    ::close(told[0]);
  }
  ~Other() { kill(); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;
  [[nodiscard]] int outcome() const { return outcome_; }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }

 private:
  pid_t process_ = 0;
  char outcome_ = -1;
};

TEST_F(BandwidthLocksTest, NewPageHasNoHolders) {
  EXPECT_TRUE(held(opened(), 0, 0));
  const auto permissions = std::filesystem::status(page()).permissions();
  EXPECT_EQ(permissions, std::filesystem::perms(0660)) << "whoever may write it can end its users";
}

TEST_F(BandwidthLocksTest, CountsNestedLocks) {
  BandwidthLocks locks = opened();
  {
    const BandwidthLock outer(locks);
    const BandwidthLock inner(locks);
    const GpuBusy busy(locks);
    EXPECT_TRUE(held(locks, 2, 1));
  }
  EXPECT_TRUE(held(locks, 0, 0));
}

TEST_F(BandwidthLocksTest, IgnoresUnlockWithoutLock) {
  BandwidthLocks locks = opened(), others = opened();
  others.lock();
  locks.unlock();
  locks.gpu_not_busy();
  EXPECT_TRUE(held(locks, 1, 0));
  locks.lock();
  locks.unlock();
  locks.unlock();
  EXPECT_TRUE(held(locks, 1, 0)) << "nor take what others hold";
}

TEST_F(BandwidthLocksTest, AddsUpLocksOfSeveralThreads) {
  BandwidthLocks locks = opened();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) {
        const BandwidthLock lock(locks);
        const GpuBusy busy(locks);
      }
      locks.lock();
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(held(locks, 4, 0));
}

TEST_F(BandwidthLocksTest, ReleasesItsLocksWhenDestroyed) {
  const BandwidthLocks seen = opened();
  {
    BandwidthLocks locks = opened();
    locks.lock();
    locks.gpu_busy();
    EXPECT_TRUE(held(seen, 1, 1));
    BandwidthLocks moved = std::move(locks);
    EXPECT_TRUE(held(seen, 1, 1));
    locks = opened();
    locks.lock();
    EXPECT_TRUE(held(seen, 2, 1));
    locks = std::move(moved);
    EXPECT_GE(seen.holders().locks, 1u);
  }
  EXPECT_TRUE(held(seen, 0, 0));
}

TEST_F(BandwidthLocksTest, SeesLocksOfOtherProcesses) {
  const BandwidthLocks seen = opened();
  Other other([&] {
    static BandwidthLocks locks = opened();
    locks.lock();
    locks.gpu_busy();
    locks.gpu_busy();
    return 0;
  });
  EXPECT_TRUE(held(seen, 1, 2));
}

TEST_F(BandwidthLocksTest, ReleasesLocksOfKilledProcess) {
  BandwidthLocks seen = opened();
  seen.lock();
  std::optional<Other> other(std::in_place, [&] {
    static BandwidthLocks locks = opened();
    locks.lock();
    return 0;
  });
  Other living([&] {
    static BandwidthLocks locks = opened();
    locks.lock();
    return 0;
  });
  seen.forget_dead();
  EXPECT_TRUE(held(seen, 3, 0)) << "all of them live";
  other.reset();
  EXPECT_TRUE(held(seen, 3, 0)) << "nobody has looked yet";
  seen.forget_dead();
  EXPECT_TRUE(held(seen, 2, 0));
  living.kill();
  EXPECT_TRUE(held(opened(), 1, 0)) << "whoever opens the page looks";
}

TEST_F(BandwidthLocksTest, KeepsLocksOfParentWhenForkedChildDestroysCopy) {
  BandwidthLocks locks = opened();
  locks.lock();
  Other child([&] {
    const BandwidthLocks inherited = std::move(locks); // and destroyed
    return 0;
  });
  EXPECT_EQ(child.outcome(), 0);
  EXPECT_TRUE(held(locks, 1, 0));
  const BandwidthLocks another = opened();
  EXPECT_TRUE(held(another, 1, 0)) << "it has a place of its own";
  child.kill();
  locks.unlock();
  EXPECT_TRUE(held(another, 0, 0));
}

/// Users start, die and are cleaned up after, by several at once. Every living user keeps its locks.
TEST_F(BandwidthLocksTest, CleanUpOfDeadProcessesKeepsLocksOfLiving) {
  BandwidthLocks seen = opened();
  std::atomic<bool> stop{false};
  std::vector<std::thread> cleaners;
  for (int i = 0; i < 2; ++i)
    cleaners.emplace_back([&] {
      BandwidthLocks own = opened();
      while (!stop) own.forget_dead();
    });
  int lost = 0;
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(Other([&] {
      static BandwidthLocks dying = opened();
      dying.lock();
      return 0;
    }));
    BandwidthLocks locks = opened();
    locks.lock();
    std::this_thread::yield();
    lost += seen.holders().locks < 1;
  }
  stop = true;
  for (auto& thread : cleaners) thread.join();
  EXPECT_EQ(lost, 0);
  seen.forget_dead();
  EXPECT_TRUE(held(seen, 0, 0));
}

TEST_F(BandwidthLocksTest, RefusesMoreThanMaximumProcesses) {
  std::vector<BandwidthLocks> all;
  while (all.size() < BandwidthLocks::max_processes) all.push_back(opened());
  for (auto& each : all) each.lock();
  EXPECT_TRUE(held(all.front(), BandwidthLocks::max_processes, 0));
  EXPECT_TRUE(fails(BandwidthLocks::open(folder.path()), Errc::refused, "64 processes use all of its slots"));
  all.pop_back();
  EXPECT_TRUE(held(opened(), BandwidthLocks::max_processes - 1, 0));
}

// ---- the page ----

TEST_F(BandwidthLocksTest, RefusesPageOfAnotherVersionUnchanged) {
  std::ofstream(page()) << std::string(8192, 'x');
  EXPECT_TRUE(fails(BandwidthLocks::open(folder.path()), Errc::refused, "another version"));
  EXPECT_EQ(read_text(page()), std::string(8192, 'x')) << "and leave it as it is";
}

TEST_F(BandwidthLocksTest, GrowsPageThatIsEmptyOrTooShort) {
  std::ofstream(page()).flush();
  {
    BandwidthLocks locks = opened();
    locks.lock();
    EXPECT_TRUE(held(locks, 1, 0));
  }
  std::filesystem::resize_file(page(), 100);
  std::vector<BandwidthLocks> all;
  while (all.size() < BandwidthLocks::max_processes) all.push_back(opened()); // fills the page completely
  for (auto& each : all) each.lock();
  EXPECT_TRUE(held(all.back(), BandwidthLocks::max_processes, 0));
}

TEST_F(BandwidthLocksTest, AllocatesMemoryOfWholePage) {
  const BandwidthLocks locks = opened();
  struct stat found {};
  ASSERT_EQ(::stat(page().c_str(), &found), 0);
  EXPECT_GE(found.st_blocks * 512, found.st_size)
      << "a hole that a full /dev/shm cannot fill would end whoever takes a lock";
}

TEST_F(BandwidthLocksTest, RefusesSymbolicLink) {
  std::ofstream(folder / "elsewhere").flush();
  std::filesystem::create_symlink(folder / "elsewhere", page());
  EXPECT_TRUE(fails(BandwidthLocks::open(folder.path()), Errc::refused, "rtexec-bandwidth-locks"));
  EXPECT_EQ(std::filesystem::file_size(folder / "elsewhere"), 0u);
}

TEST_F(BandwidthLocksTest, NamesFileThatCannotBeUsed) {
  EXPECT_TRUE(fails(BandwidthLocks::open(folder / "absent"), Errc::refused,
                    (folder / "absent/rtexec-bandwidth-locks").native()));
  std::filesystem::create_directory(page());
  EXPECT_TRUE(fails(BandwidthLocks::open(folder.path()), Errc::refused, "directory"));
  std::filesystem::remove(page());
  ASSERT_EQ(::mkfifo(page().c_str(), 0666), 0);
  EXPECT_TRUE(fails(BandwidthLocks::open(folder.path()), Errc::refused, "rtexec-bandwidth-locks"));
}

TEST_F(BandwidthLocksTest, RefusesPageThatUserMayNotWrite) {
  if (::getuid() != 0) GTEST_SKIP() << "only root becomes another user";
  static_cast<void>(opened());
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const auto as_nobody = [&] {
    return Other([&]() -> char {
             if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) return 9;
             const auto locks = BandwidthLocks::open(folder.path());
             return locks ? 0 : locks.error().code == Errc::refused ? 1 : 2;
           })
        .outcome();
  };
  EXPECT_EQ(as_nobody(), 1);
  std::filesystem::permissions(page(), std::filesystem::perms(0666));
  EXPECT_EQ(as_nobody(), 0);
}

TEST_F(BandwidthLocksTest, RefusesPageOfAnotherUser) {
  if (::getuid() != 0) GTEST_SKIP() << "only root has files of another user";
  static_cast<void>(opened());
  ASSERT_EQ(::chown(page().c_str(), 65534, 65534), 0);
  EXPECT_TRUE(fails(BandwidthLocks::open(folder.path()), Errc::refused, "belongs to user 65534"));
}

} // namespace
} // namespace rtexec
