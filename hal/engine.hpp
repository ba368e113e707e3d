// An engine executes work in submission order, one piece at a time, on its own thread. It is the compute engine of a
// device, or a copy engine. Its thread may block in a driver; the submitting thread never blocks.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/thread.hpp"

#include <cstddef>

namespace rtexec::hal {

/// One piece of work. The engine's thread calls all its functions, `done` right after `run`. `context` must outlive
/// these calls.
struct Work {
  /// Optional: called once, before `run`, so that the device goes over from the previous piece to this one without a
  /// gap. If this piece is queued before the `run` of the previous piece is called, `begin` is called before that
  /// `run`. It must not block. After `begin`, `run` is always called, even if the engine ends.
  void (*begin)(void* context) noexcept = nullptr;
  Status (*run)(void* context) noexcept = nullptr;
  /// `begin` is the instant when `run` was called
  void (*done)(void* context, Status outcome, Instant begin, Instant end) noexcept = nullptr;
  void* context = nullptr;
};

/// The outcome of a piece of work, and when it ran.
struct WorkResult {
  Status outcome;
  Instant begin{};
  Instant end{};
};

/// Each accepted piece of work gets exactly one call of `done`. When the engine ends, it finishes the running piece and
/// a piece that has begun. It calls `done` of the waiting pieces with `cancelled`, without `run`, before the destructor
/// returns.
class Engine {
 public:
  static constexpr std::size_t capacity = 1024; // pieces of work that may wait, besides the running one

  virtual ~Engine() = default;
  /// Queues `work`; never blocks, never allocates. Returns out_of_memory if `capacity` pieces wait, and bad_input if
  /// `run` or `done` is missing. One submitting thread at a time.
  [[nodiscard]] virtual Status submit(const Work& work) noexcept = 0;
  /// Submits `function`, a noexcept function that returns a Status, and waits until it is done. For set-up, and for
  /// code that works without a schedule. Returns the error of `function`, or of submit().
  template <class Function> WorkResult call(Function function);
  /// Applies settings to the engine's thread: core, scheduling, name. Its stack is fixed. Called before the first
  /// submit(). Each setting is read back. After an error the engine works on, with the settings that were in force when
  /// one was refused.
  [[nodiscard]] virtual Result<> configure(const ThreadSettings& settings) = 0;
  /// Returns the thread's number in /proc.
  [[nodiscard]] virtual int kernel_id() const = 0;
};

template <class Function> WorkResult Engine::call(Function function) {
  struct Call {
    Function& function;
    WorkResult result{};
    Signal ended{};
  } call{function};
  const Work work{.run = [](void* self) noexcept -> Status { return static_cast<Call*>(self)->function(); },
                  .done =
                      [](void* self, Status outcome, Instant begin, Instant end) noexcept {
                        auto& done = *static_cast<Call*>(self);
                        done.result = {outcome, begin, end};
                        done.ended.raise();
                      },
                  .context = &call};
  if (const Status accepted = submit(work); !accepted) return {.outcome = accepted};
  while (call.ended.value() == 0) call.ended.wait(0);
  return call.result;
}

} // namespace rtexec::hal
