// Records the daemon's set-up and its clients. A place is the number that a client has at the daemon. Each client is a
// task in the executive's trace events. When a client declares its period, deadline and WCET, the recording begins a
// new task for the client. The dispatcher records jobs and chunks. All times are CLOCK_MONOTONIC.
//
// Used on the server's thread. Has no effect without a recording.
#pragma once

#include <rtexec/units.hpp>
#include "rtexec/sharing/daemon/client_admission.hpp"
#include "rtexec/sharing/daemon/dispatcher.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace rtexec::daemon {

class Recording {
 public:
  explicit Recording(std::uint32_t places) : tasks_(places) {}

  void begin(const std::string& file, const AdmissionOptions& admission, const DispatcherOptions& dispatcher) const;
  /// Records the client at `place` with its contract. Returns the number of its task in the recording.
  [[nodiscard]] std::uint32_t task_of(std::uint32_t place, const AdmittedClient& client, Duration best_effort_wcet);
  /// Records an event of the client at `place`, such as "came". A refused client has no place (nullopt).
  void changed(std::optional<std::uint32_t> place, pid_t process, const std::string& name, const std::string& what,
               Instant at);

 private:
  struct RecordedTask {
    std::uint32_t number = 0;
    Contract contract;
    Duration bound{0}; // the longest bound promised to the client so far
  };
  std::vector<std::optional<RecordedTask>> tasks_; // by place
  std::uint32_t next_ = 0;
};

} // namespace rtexec::daemon
