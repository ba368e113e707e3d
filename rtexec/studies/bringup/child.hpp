// Asks in a process of its own what may fault, or hang in a driver: its parent goes on whatever becomes of it.
#pragma once

#include <rtexec/units.hpp>
#include "rtexec/studies/bringup/item.hpp"

#include <functional>
#include <optional>

namespace rtexec::bringup {

/// What became of a child.
struct ChildEnd {
  std::optional<Answer> answer; // absent: it ended before it had one; "cancelled" where the user wanted no more
  bool hung = false;            // it was killed when its time had passed
  int signal = 0;               // that ended it; 0: none
};

/// The child is this process, with the calling thread alone: `ask` may start threads, and must not rely on others;
/// where it uses a GPU, the parent must not have used one. It ends with its parent. One that does not even end when it
/// is killed (it hangs in the kernel) is left behind. Once `going_on` says that it is enough, the child is asked to end
/// (SIGTERM), so that it gives back what it has changed, and then killed. A terminal's Ctrl-C is its parent's to tell.
/// Set-up only.
[[nodiscard]] ChildEnd ask_in_child(const std::function<Answer()>& ask, Duration patience,
                                    const std::function<bool()>& going_on);

} // namespace rtexec::bringup
