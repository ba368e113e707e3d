// The users of each resource (cores, the device, copy engines) over time, since the release of the oldest unfinished
// job.
#pragma once

#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"
#include "traces/analysis/history.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>

namespace rtexec::traces {

enum class Direction : std::uint8_t { in, out };

/// A job's place in the order of jobs on the device. A smaller value is more urgent.
struct Urgency {
  std::uint32_t device_class = 1;
  std::uint32_t rank = 0;
  Instant deadline{};
  policies::JobId job;
  friend auto operator<=>(const Urgency&, const Urgency&) = default;
};

/// A CPU part on its core, from its begin to its end, including the time in which other threads preempted it.
struct CorePart {
  policies::JobId job;
  std::uint32_t rank = 0; // core rank
};

/// An interval in which a job executes on the device. A job that is preempted between its segments has several
/// intervals. An interval consists of segments between which no other job had the device.
struct Execution {
  Urgency of;
  /// Executed time in all intervals of the job; set in the job's last interval, after that interval's end
  std::optional<Duration> executed;
  bool co_running = false; // true if the job was started to co-run with another execution
};

struct ChunkTransfer {
  policies::Transfer transfer;
  Urgency of; // the job for which the transfer is made
};

class Timeline {
 public:
  struct Core {
    History<CorePart> parts;
    History<std::monostate> throttles;
  };
  struct CopyEngine {
    History<ChunkTransfer> transfers;
    History<policies::JobId> pending; // from the decision to move a chunk until the move begins
  };

  History<Execution> executions;     // at most one is open, or two if jobs co-run
  std::array<CopyEngine, 2> engines; // by Direction
  std::map<unsigned, Core> cores;

  [[nodiscard]] CopyEngine& engine(Direction direction) { return engines[static_cast<std::size_t>(direction)]; }
  [[nodiscard]] const CopyEngine& engine(Direction direction) const {
    return engines[static_cast<std::size_t>(direction)];
  }
  void forget_before(Instant when);
};

} // namespace rtexec::traces
