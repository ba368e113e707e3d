// The LTTng session daemon: the user's own daemon if it runs, otherwise a private daemon that lives as long as this
// object.
//
// The private daemon is a child in its own session, so Ctrl-C does not reach it. It runs with normal scheduling on the
// cores of process 1, even if its parent is pinned to other cores. It ends with its parent, even if the parent is
// killed. LTTng allows one daemon per user, so only one process at a time can have a private daemon. Any number of
// processes may share the user's own daemon. Set-up code. Not thread-safe.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>

#include <sys/types.h>

#include <functional>

namespace rtexec::traces {

class Daemon {
 public:
  /// Uses the user's daemon, or starts a private daemon. Waits at most 10 s until another process's private daemon
  /// ends, and at most 10 s until a new daemon answers.
  /// The calling thread must outlive the object: the kernel ends a private daemon with the thread that started it.
  /// Returns refused if lttng-tools is not installed, if the daemon failed (the error contains its output), or if
  /// another process is recording.
  [[nodiscard]] static Result<Daemon> acquire();

  /// Runs `work`, which sends LTTng commands. These commands wait for the daemon's answers without a limit. After
  /// `limit`, kills a private daemon so that the commands return, and returns refused.
  [[nodiscard]] Result<> within(Duration limit, const std::function<Result<>()>& work) const;

  Daemon(Daemon&& other) noexcept;
  Daemon& operator=(Daemon&& other) noexcept;
  ~Daemon();

 private:
  explicit Daemon(pid_t child) noexcept : child_(child) {}
  pid_t child_; // 0: a shared daemon, which this object must not end
};

} // namespace rtexec::traces
