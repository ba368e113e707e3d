// The LTTng session daemon: the user's own where one runs, otherwise a private one that lives as long as this object.
//
// The private daemon is a child in a session of its own (Ctrl-C does not reach it) with normal scheduling on the cores
// of process 1, whatever its parent is pinned to; it ends with its parent, even when the parent is killed. LTTng allows
// one daemon per user, so one process at a time can have a private one; any number may share a daemon that runs
// already. Set-up code. Not thread-safe.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <sys/types.h>

#include <functional>

namespace rtexec::traces {

class Daemon {
 public:
  /// Waits at most 10 s for another process's private daemon to go, and at most 10 s for a new one to answer.
  /// The calling thread must outlive the object: the kernel ends a private daemon with the thread that started it.
  /// refused: lttng-tools is not installed, the daemon failed (with what it printed), or another process is recording.
  [[nodiscard]] static Result<Daemon> acquire();

  /// Runs `work`, which gives LTTng commands: those wait for the daemon's answers without a limit. A private daemon is
  /// killed when `limit` has passed, so that they return; refused then.
  [[nodiscard]] Result<> within(Duration limit, const std::function<Result<>()>& work) const;

  Daemon(Daemon&& other) noexcept;
  Daemon& operator=(Daemon&& other) noexcept;
  ~Daemon();

 private:
  explicit Daemon(pid_t child) noexcept : child_(child) {}
  pid_t child_; // 0: not ours to end
};

} // namespace rtexec::traces
