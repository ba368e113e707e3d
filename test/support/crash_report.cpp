// Names the running test and prints a backtrace if a test program crashes or is terminated.
//
// RTEXEC_RUNNING_TEST names a file that always holds the name of the running test, so that a program killed by SIGKILL
// leaves it too.
#include "test/support/sanitized.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace rtexec::test {
namespace {

constexpr std::size_t longest_name = 512;
constexpr int longest_backtrace = 64;

/// The name of the running test, with a line feed and NUL padding. It is in the mapped file of RTEXEC_RUNNING_TEST if
/// that is set.
char own_name[longest_name];
char* running = own_name;
pid_t own_process = 0;

char* map_name_file() {
  const char* path = std::getenv("RTEXEC_RUNNING_TEST");
  const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return own_name;
  void* mapped = MAP_FAILED;
  if (::ftruncate(file, longest_name) == 0)
    mapped = ::mmap(nullptr, longest_name, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return mapped == MAP_FAILED ? own_name : static_cast<char*>(mapped);
}

void write_text(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

/// Reports a crash; async-signal-safe. A child of the test program reports nothing: its death may be part of the test.
void report(int signal) {
  if (::getpid() == own_process) {
    write_text("\nended by SIG");
    write_text(::sigabbrev_np(signal));
    write_text(" in test ");
    write_text(running);
    std::array<void*, longest_backtrace> frames{};
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), longest_backtrace), STDERR_FILENO);
  }
  ::raise(signal); // takes the default action after this handler returns
}

void install_handlers() {
  std::array<void*, 1> frame{};
  (void)::backtrace(frame.data(), 1); // loads now what later calls need, because a signal handler must not load it
  static std::array<std::byte, 1 << 16> stack;
  const stack_t alternative{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = report;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

class NameOfRunningTest : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    set(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestEnd(const testing::TestInfo&) override { set("(none)"); }

  static void set(std::string name) {
    name.resize(std::min(name.size(), longest_name - 2));
    name += '\n';
    std::memcpy(running, name.c_str(), name.size() + 1);
  }
};

/// Sanitizers install their own handlers.
[[maybe_unused]] const bool installed = [] {
  running = map_name_file();
  own_process = ::getpid();
  testing::UnitTest::GetInstance()->listeners().Append(new NameOfRunningTest);
  if (!sanitized) install_handlers();
  return true;
}();

} // namespace
} // namespace rtexec::test
