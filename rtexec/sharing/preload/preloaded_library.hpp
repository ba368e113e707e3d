// The state of the preloaded library in its process, and its messages to the user.
//
// The process takes part (becomes a client of the daemon) if RTEXEC_CLIENT has a client's name and the daemon's
// directory exists. This is checked once, at the first use of CUDA, so a process without CUDA never notices the
// library. In a process that takes no part, and in the child of a later fork, every call is passed on unchanged to the
// driver. If the daemon refuses a process, calls that allocate device memory or submit work fail. Otherwise the process
// would use resources that are promised to other clients. Any thread; no function fails.
#pragma once

#include <string_view>

namespace rtexec::preload {

/// Returns the value of RTEXEC_CLIENT, or an empty text.
[[nodiscard]] const char* client_name() noexcept;
/// Returns the directory of the daemon's socket: the value of RTEXEC_DAEMON, or the default.
[[nodiscard]] const char* daemon_directory() noexcept;

/// True if this process takes part, or if the daemon refuses the process. If false, all calls are passed on to the
/// driver. The first call of this function decides.
[[nodiscard]] bool takes_part() noexcept;
/// Makes the process take no part any more. Afterwards, all calls are passed on to the driver. Prints the reason unless
/// it is empty.
void step_back(std::string_view reason) noexcept;
/// Marks the process as refused by the daemon. Prints the reason.
void turn_away(std::string_view reason) noexcept;
[[nodiscard]] bool turned_away() noexcept;

/// Prints one line to standard error.
void say(std::string_view text) noexcept;
/// Occasions for messages. Each is printed once in the life of a process.
enum class Occasion { standing, unknown_version, other_device, apart, captured, ipc, refused, mapping };
/// Prints `text` if it is the first message for this occasion.
void say_once(Occasion occasion, std::string_view text) noexcept;

} // namespace rtexec::preload
