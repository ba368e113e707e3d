// The status of the daemon and its clients, as messages on its socket. Any process that may open the socket can request
// the status. `rtexec ps` and `rtexec top` read the status with StatusReader.
//
// The numbers of jobs and chunks come from the statistics that the dispatcher publishes. Therefore a status needs no
// lock of the dispatcher.
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

/// Counts of the daemon since it started.
struct Totals {
  Instant started{};
  std::uint64_t came = 0, refused = 0, expelled = 0; // numbers of clients
};

/// Returns the status of one client. Pure.
[[nodiscard]] protocol::StatusPart part_of(const AdmittedClient& client, std::uint32_t place, pid_t process,
                                           const ClientStatistics& statistics);
/// Returns the status of this daemon at the present time.
[[nodiscard]] protocol::StatusEnd end_of(const Totals& totals, const AdmissionOptions& admission, protocol::Mode mode,
                                         std::uint32_t free_frames);

// ---- readers ----

struct ServerStatus {
  protocol::StatusEnd daemon;
  std::vector<protocol::StatusPart> clients; // in ascending order of the clients' places (numbers at the daemon)
};

/// Reads the status of one daemon, repeatedly. One thread.
class StatusReader {
 public:
  /// Connects to the daemon in `directory`. Returns cancelled if no daemon listens there, and refused if this user may
  /// not connect. The error's text contains a remedy. read() waits for an answer for at most `timeout`.
  [[nodiscard]] static Result<StatusReader> connect(const std::filesystem::path& directory,
                                                    Duration timeout = std::chrono::seconds(3));
  /// Requests and returns the status. Returns cancelled if the daemon has ended, refused if the daemon does not answer,
  /// and unsupported if the daemon's version of the protocol differs from this program's version.
  [[nodiscard]] Result<ServerStatus> read();

 private:
  explicit StatusReader(protocol::Channel channel) : channel_(std::move(channel)) {}
  protocol::Channel channel_;
};

} // namespace rtexec::daemon
