// Protection against foreign code (a task's library) that calls exit(). Without the protection, the command would end
// as if it had succeeded. While a guard lives, exit() and quick_exit() end the process with the exit code of a refusal,
// and name the calling thread. _exit() cannot be intercepted.
#pragma once

namespace rtexec::command {

class ExitGuard {
 public:
  ExitGuard();
  ~ExitGuard();
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;

  /// Registers the guard again, so that it runs before all exit handlers that were registered so far.
  static void come_first();
};

} // namespace rtexec::command
