// Runs checks in a separate process, because they may fault or hang in a driver. The parent process continues in any
// case.
#pragma once

#include <rtexec/units.hpp>
#include "rtexec/studies/bringup/item.hpp"

#include <functional>
#include <optional>

namespace rtexec::bringup {

/// How a child process ended.
struct ChildEnd {
  std::optional<Answer> answer; // absent: the child ended without an answer; "cancelled": the user stopped the check
  bool hung = false;            // true if the child was killed at its timeout
  int signal = 0;               // the signal that ended the child; 0: none
};

/// Runs `ask` in a child process, and kills the child after `timeout`.
///
/// The child is a fork of this process with only the calling thread. `ask` may start threads, but must not depend on
/// threads of the parent. If `ask` uses a GPU, the parent must not have used a GPU. The child ends when its parent
/// ends. A child that hangs in the kernel does not end when killed, and is left behind. When `going_on` returns false,
/// the child gets SIGTERM, so that it can restore the settings that it has changed. Then the child is killed. The child
/// is in its own process group, so the parent must pass on a terminal's Ctrl-C. Set-up only.
[[nodiscard]] ChildEnd ask_in_child(const std::function<Answer()>& ask, Duration timeout,
                                    const std::function<bool()>& going_on);

} // namespace rtexec::bringup
