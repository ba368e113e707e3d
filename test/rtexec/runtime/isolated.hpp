// Runs a test in a process with its own /tmp, /dev/shm and child processes, which end with it. It serves tests of
// programs that exist once on a machine, such as a daemon.
#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace rtexec::test {

/// Starts this program again to run one of its tests.
class OtherProcess {
 public:
  /// The new process gets `argument` in its environment variable RTEXEC_PEER.
  OtherProcess(const std::string& test, const std::string& argument) {
    constexpr const char* program = "/proc/self/exe";
    const std::string filter = "--gtest_filter=" + test;
    std::vector<const char*> arguments{program, filter.c_str(), "--gtest_brief=1", nullptr};
    ::setenv("RTEXEC_PEER", argument.c_str(), 1);
    EXPECT_EQ(::posix_spawn(&process_, program, nullptr, nullptr, const_cast<char**>(arguments.data()), ::environ), 0);
    ::unsetenv("RTEXEC_PEER");
  }
  ~OtherProcess() {
    if (process_ > 0) kill();
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  void kill() {
    ::kill(process_, SIGKILL);
    (void)wait();
  }
  void signal(int number) const { ::kill(process_, number); }
  /// Waits for the process and returns its exit status.
  int wait() {
    int status = -1;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return status;
  }

 private:
  pid_t process_ = 0;
};

/// Returns the argument of a process started by OtherProcess, or null in other processes.
inline const char* peer_argument() { return std::getenv("RTEXEC_PEER"); }

/// Runs `body`, which must be the whole body of a test, in an isolated process.
inline void isolated(const std::function<void()>& body) {
  if (std::getenv("RTEXEC_ISOLATED") != nullptr) return body();
  constexpr const char* alone = "unshare --mount --pid --fork --kill-child --mount-proc";
  if (std::system((std::string(alone) + " true 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "namespaces are refused here: needs root";
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  // The program itself may be in /tmp.
  const std::string command = std::string("RTEXEC_ISOLATED=1 timeout --signal=KILL 100 ") + alone +
                              " sh -c 'exec 9<\"$0\" && mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm && "
                              "exec /proc/self/fd/9 \"$@\"' " +
                              program + " --gtest_brief=1 --gtest_filter=" + test->test_suite_name() + "." +
                              test->name();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

} // namespace rtexec::test
