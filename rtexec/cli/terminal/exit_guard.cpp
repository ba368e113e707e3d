#include "rtexec/cli/terminal/exit_guard.hpp"

#include <rtexec/result.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

namespace rtexec::command {
namespace {

std::atomic<bool> guarded{false};

/// Ends the process with an error. Does not clean up, because other threads are still running.
void refuse_exit() {
  if (!guarded.load()) return;
  std::array<char, 16> thread{};
  ::pthread_getname_np(::pthread_self(), thread.data(), thread.size());
  ::dprintf(STDERR_FILENO,
            "rtexec: thread '%s' called exit() before the end of the command: a library that a task loads must return "
            "an error instead\n",
            thread.data());
  ::_exit(exit_code(Errc::refused));
}

} // namespace

ExitGuard::ExitGuard() {
  guarded.store(true);
  ::at_quick_exit(refuse_exit);
  come_first();
}

ExitGuard::~ExitGuard() { guarded.store(false); }

void ExitGuard::come_first() { std::atexit(refuse_exit); }

} // namespace rtexec::command
