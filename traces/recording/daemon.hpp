// The LTTng session daemon: the user's own if one runs, otherwise a private one that lives as long as this object.
//
// The private daemon is a child in a session of its own (Ctrl-C does not reach it). It has normal scheduling on the
// cores of process 1, whatever its parent is pinned to. It ends with its parent, even when the parent is killed. LTTng
// allows one daemon per user, so one process at a time can have a private one; any number may share a running daemon.
// Set-up code. Not thread-safe.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <sys/types.h>

#include <functional>

namespace rtexec::traces {

class Daemon {
 public:
  /// Uses the user's daemon, or starts a private one. Waits at most 10 s for another process's private daemon to end,
  /// and at most 10 s for a new one to answer.
  /// The calling thread must outlive the object: the kernel ends a private daemon with the thread that started it.
  /// Returns refused if lttng-tools is not installed, the daemon failed (with what it printed), or another process is
  /// recording.
  [[nodiscard]] static Result<Daemon> acquire();

  /// Runs `work`, which sends LTTng commands that wait for the daemon's answers without a limit. After `limit`, kills a
  /// private daemon so that the commands return, and returns refused.
  [[nodiscard]] Result<> within(Duration limit, const std::function<Result<>()>& work) const;

  Daemon(Daemon&& other) noexcept;
  Daemon& operator=(Daemon&& other) noexcept;
  ~Daemon();

 private:
  explicit Daemon(pid_t child) noexcept : child_(child) {}
  pid_t child_; // 0: a shared daemon, which this object must not end
};

} // namespace rtexec::traces
