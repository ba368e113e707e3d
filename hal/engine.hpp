// An engine: the compute engine or a copy engine of a device. It executes pieces of work in submission order, one at a
// time, on its own thread. Its thread may block in a driver; the submitting thread never blocks.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/thread.hpp"

#include <cstddef>

namespace rtexec::hal {

/// One piece of work. The engine's thread calls all its functions, and calls `done` right after `run`. `context` must
/// outlive these calls.
struct Work {
  /// Optional. Called once before `run`, so that the device proceeds from the previous piece of work to this piece
  /// without a gap. If this piece is queued before the `run` of the previous piece is called, `begin` is called before
  /// that `run`. It must not block. After `begin`, `run` is always called, even if the engine ends.
  void (*begin)(void* context) noexcept = nullptr;
  Status (*run)(void* context) noexcept = nullptr;
  /// `begin` is the instant at which `run` was called, `end` the instant at which it returned
  void (*done)(void* context, Status outcome, Instant begin, Instant end) noexcept = nullptr;
  void* context = nullptr;
};

/// The outcome of a piece of work, and when it ran.
struct WorkResult {
  Status outcome;
  Instant begin{};
  Instant end{};
};

/// Calls `done` exactly once for each accepted piece of work. When the engine ends, it finishes the running piece and
/// every piece whose `begin` was called. For the waiting pieces it calls `done` with `cancelled`, without `run`, before
/// the destructor returns.
class Engine {
 public:
  static constexpr std::size_t capacity = 1024; // maximum number of waiting pieces, without the running piece

  virtual ~Engine() = default;
  /// Queues `work`; never blocks, never allocates. Returns out_of_memory if `capacity` pieces wait, and bad_input if
  /// `run` or `done` is missing. One submitting thread at a time.
  [[nodiscard]] virtual Status submit(const Work& work) noexcept = 0;
  /// Submits `function`, a noexcept function that returns a Status, and waits until it is done. For set-up, and for
  /// code that works without a schedule. Returns the error of `function`, or of submit().
  template <class Function> WorkResult call(Function function);
  /// Applies settings to the engine's thread: core, scheduling class, name. The stack size does not change. Must be
  /// called before the first submit(). Each setting is read back. After an error the engine still works, with the
  /// settings that were applied before the refused setting.
  [[nodiscard]] virtual Result<> configure(const ThreadSettings& settings) = 0;
  /// Returns the kernel's thread ID (TID) of the engine's thread.
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
