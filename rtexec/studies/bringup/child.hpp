// Runs checks in a process of their own, because they may fault or hang in a driver. The parent continues in any
// case.
#pragma once

#include <rtexec/units.hpp>
#include "rtexec/studies/bringup/item.hpp"

#include <functional>
#include <optional>

namespace rtexec::bringup {

/// How a child process ended.
struct ChildEnd {
  std::optional<Answer> answer; // absent: the child ended without an answer; "cancelled" if the user stopped it
  bool hung = false;            // it was killed at its timeout
  int signal = 0;               // the signal that ended it; 0: none
};

/// Runs `ask` in a child process, and kills the child after `timeout`.
///
/// The child is a fork of this process with the calling thread alone. `ask` may start threads, but must not rely on
/// threads of the parent. If `ask` uses a GPU, the parent must not have used one. The child ends with its parent. A
/// child that does not end even when killed, because it hangs in the kernel, is left behind. Once `going_on` returns
/// false, the child gets SIGTERM so that it restores the settings that it has changed, and is then killed. The parent
/// must pass on a terminal's Ctrl-C. Set-up only.
[[nodiscard]] ChildEnd ask_in_child(const std::function<Answer()>& ask, Duration timeout,
                                    const std::function<bool()>& going_on);

} // namespace rtexec::bringup
