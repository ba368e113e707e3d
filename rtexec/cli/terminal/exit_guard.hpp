// Code that is not ours (a task's library) may call exit() and so end a command as if it had succeeded. While a guard
// lives, exit() and quick_exit() end the process with the code of a refusal, and say who called. _exit() cannot be
// seen.
#pragma once

namespace rtexec::command {

class ExitGuard {
 public:
  ExitGuard();
  ~ExitGuard();
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;

  /// Lets the guard run before all exit handlers that were registered so far.
  static void come_first();
};

} // namespace rtexec::command
