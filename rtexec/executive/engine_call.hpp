// Work for an engine that the caller waits for: set-up, and whoever runs without a schedule.
#pragma once

#include "hal/engine.hpp"
#include "hal/thread.hpp"

#include <utility>

namespace rtexec::executive {

/// What came of a piece of work, and when it ran.
struct Executed {
  Status outcome;
  Instant begin{};
  Instant end{};
};

/// Calls `work`, a noexcept function that returns a Status, on the engine's thread, and returns when it is done.
template <class Work> [[nodiscard]] Executed execute_on(hal::Engine& engine, Work work) {
  struct Call {
    Work work;
    Executed executed;
    hal::Signal ended;
  } call{.work = std::move(work), .executed = {}, .ended = {}};
  const std::uint32_t before = call.ended.value();
  const hal::Work submitted{.run = [](void* self) noexcept -> Status { return static_cast<Call*>(self)->work(); },
                            .done =
                                [](void* self, Status outcome, Instant begin, Instant end) noexcept {
                                  auto& done = *static_cast<Call*>(self);
                                  done.executed = {.outcome = outcome, .begin = begin, .end = end};
                                  done.ended.raise();
                                },
                            .context = &call};
  if (const auto accepted = engine.submit(submitted); !accepted) return {.outcome = accepted};
  while (call.ended.value() == before) call.ended.wait(before);
  return call.executed;
}

} // namespace rtexec::executive
