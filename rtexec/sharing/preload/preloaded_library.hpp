// Where the preloaded library stands in its process: whether it takes part, and what it says.
//
// It takes part where RTEXEC_CLIENT has the client's name and the daemon's folder is there, which is found out when the
// process first comes near CUDA, once: a process without CUDA never notices the library. A process that does not take
// part, and the child of a fork after that, has every call passed on unchanged. One that the daemon turns away has none
// of its calls passed on that take memory of the device or give it work: it would take what others were promised.
// Any thread; nothing here fails.
#pragma once

#include <string_view>

namespace rtexec::preload {

/// RTEXEC_CLIENT, or an empty text.
[[nodiscard]] const char* client_name() noexcept;
/// RTEXEC_DAEMON, or where the daemon is as a rule: the folder of its socket.
[[nodiscard]] const char* daemon_directory() noexcept;

/// Whether this process takes part: settled by the first call.
[[nodiscard]] bool takes_part() noexcept;
/// Does so no longer, and says why, unless that is empty.
void step_back(std::string_view reason) noexcept;
/// Is not let in, and says why.
void turn_away(std::string_view reason) noexcept;
[[nodiscard]] bool turned_away() noexcept;

/// One line on standard error.
void say(std::string_view text) noexcept;
/// Occasions for one sentence to the user in a process's life.
enum class Occasion { standing, unknown_version, other_device, apart, captured, ipc, refused, mapping };
/// The first time for each occasion.
void say_once(Occasion occasion, std::string_view text) noexcept;

} // namespace rtexec::preload
