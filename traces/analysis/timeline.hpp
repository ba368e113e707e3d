// The users of each resource (cores, the device, copy engines) over time, as far back as unfinished jobs need it.
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

/// The order of jobs on the device. A smaller value is more urgent.
struct Urgency {
  std::uint32_t device_class = 1;
  std::uint32_t rank = 0;
  Instant deadline{};
  policies::JobId job;
  friend auto operator<=>(const Urgency&, const Urgency&) = default;
};

/// A CPU part on its core, from its begin to its end, including the time in which others preempted it.
struct CorePart {
  policies::JobId job;
  std::uint32_t rank = 0; // core rank
};

/// An interval in which a job executes on the device. A job that is preempted between its segments has several
/// intervals. Each consists of segments between which no other job had the device.
struct Execution {
  Urgency of;
  std::optional<Duration> executed; // in all intervals of the job; set in the last one, once that has ended
  bool beside = false;              // it was started to co-run with another execution
};

struct ChunkTransfer {
  policies::Transfer transfer;
  Urgency of; // the job that the transfer is for
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

  History<Execution> executions;     // two at once if jobs co-run
  std::array<CopyEngine, 2> engines; // by Direction
  std::map<unsigned, Core> cores;

  [[nodiscard]] CopyEngine& engine(Direction direction) { return engines[static_cast<std::size_t>(direction)]; }
  [[nodiscard]] const CopyEngine& engine(Direction direction) const {
    return engines[static_cast<std::size_t>(direction)];
  }
  void forget_before(Instant when);
};

} // namespace rtexec::traces
