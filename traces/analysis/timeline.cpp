#include "traces/analysis/timeline.hpp"

namespace rtexec::traces {

void Timeline::forget_before(Instant when) {
  executions.forget_before(when);
  for (CopyEngine& engine : engines) {
    engine.transfers.forget_before(when);
    engine.pending.forget_before(when);
  }
  for (auto& [number, core] : cores) {
    core.parts.forget_before(when);
    core.throttles.forget_before(when);
  }
}

} // namespace rtexec::traces
