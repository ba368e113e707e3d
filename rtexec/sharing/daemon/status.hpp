// What the daemon tells of its clients to whoever asks: as messages of its socket, which any process may ask for that
// may open it, and to `rtexec ps` and `rtexec top`, which read them.
//
// Numbers of jobs and chunks are those that the dispatcher publishes: who asks takes no lock of the hot path.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "rtexec/sharing/daemon/client_admission.hpp"
#include "rtexec/sharing/daemon/dispatcher.hpp"
#include "rtexec/sharing/protocol/channel.hpp"
#include "rtexec/sharing/protocol/messages.hpp"

#include <cstdint>
#include <filesystem>
#include <sys/types.h>
#include <vector>

namespace rtexec::daemon {

/// Of the daemon, since it was started.
struct Totals {
  Instant started{};
  std::uint64_t came = 0, refused = 0, expelled = 0; // clients
};

/// Pure.
[[nodiscard]] protocol::StatusPart part_of(const AdmittedClient& client, std::uint32_t place, pid_t process,
                                           const ClientStatistics& statistics);
/// Of this process, now.
[[nodiscard]] protocol::StatusEnd end_of(const Totals& totals, const AdmissionOptions& admission, protocol::Mode mode,
                                         std::uint32_t free_frames);

// ---- who asks ----

struct ServerStatus {
  protocol::StatusEnd daemon;
  std::vector<protocol::StatusPart> clients; // by place
};

/// Asks one daemon, again and again. One thread.
class StatusReader {
 public:
  /// cancelled: nobody listens in `directory`; refused: this user may not ask; the text says what to do. No answer is
  /// waited for longer than `patience`.
  [[nodiscard]] static Result<StatusReader> connect(const std::filesystem::path& directory,
                                                    Duration patience = std::chrono::seconds(3));
  /// cancelled: the daemon has gone. refused: it does not answer. unsupported: it speaks another version.
  [[nodiscard]] Result<ServerStatus> read();

 private:
  explicit StatusReader(protocol::Channel channel) : channel_(std::move(channel)) {}
  protocol::Channel channel_;
};

} // namespace rtexec::daemon
