// Who had which resource when, as far as jobs that have not ended yet may ask: cores, the device, copy engines.
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

/// What orders jobs on the device; the smaller the more urgent.
struct Urgency {
  std::uint32_t device_class = 1;
  std::uint32_t rank = 0;
  Instant deadline{};
  policies::JobId job;
  friend auto operator<=>(const Urgency&, const Urgency&) = default;
};

/// A CPU part on its core, from its begin to its end, whoever preempted it.
struct CorePart {
  policies::JobId job;
  std::uint32_t rank = 0; // core rank
};

/// Of a job that is preempted between its segments, a stretch of it: as many segments as nothing else came between.
struct Execution {
  Urgency of;
  std::optional<Duration> executed; // in all stretches; of the last one, when that has ended
  bool beside = false;              // it was started at once with another one
};

struct ChunkTransfer {
  policies::Transfer transfer;
  Urgency of; // the job that it is for
};

class Timeline {
 public:
  struct Core {
    History<CorePart> parts;
    History<std::monostate> throttles;
  };
  struct CopyEngine {
    History<ChunkTransfer> transfers;
    History<policies::JobId> pending; // from the decision that a chunk is to move to its beginning
  };

  History<Execution> executions;     // two at once where jobs execute beside each other
  std::array<CopyEngine, 2> engines; // by Direction
  std::map<unsigned, Core> cores;

  [[nodiscard]] CopyEngine& engine(Direction direction) { return engines[static_cast<std::size_t>(direction)]; }
  [[nodiscard]] const CopyEngine& engine(Direction direction) const {
    return engines[static_cast<std::size_t>(direction)];
  }
  void forget_before(Instant when);
};

} // namespace rtexec::traces
