// An engine executes work in submission order, one piece at a time, on its own thread: the compute engine of a device,
// or a copy engine. The thread may block in a driver; whoever submits never does.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/thread.hpp"

#include <cstddef>

namespace rtexec::hal {

/// One piece of work. All its functions are called on the engine's thread, `done` right after `run`; `context` must
/// outlive them.
struct Work {
  /// Optional: called once, before `run`, so that a device can go over from the piece before to this one without a gap:
  /// before the `run` of that piece, where this one waits by then. It must not block. A piece that has begun gets its
  /// `run`, even when the engine ends.
  void (*begin)(void* context) noexcept = nullptr;
  Status (*run)(void* context) noexcept = nullptr;
  /// `begin`: when `run` was called
  void (*done)(void* context, Status outcome, Instant begin, Instant end) noexcept = nullptr;
  void* context = nullptr;
};

/// What came of a piece of work, and when it ran.
struct WorkResult {
  Status outcome;
  Instant begin{};
  Instant end{};
};

/// Every piece of work that was accepted gets its `done`, once. When the engine ends, the piece that runs and one that
/// has begun are finished, and those that still wait get `done` with `cancelled`, without `run`, before the destructor
/// returns.
class Engine {
 public:
  static constexpr std::size_t capacity = 1024; // pieces of work that may wait, besides the one that runs

  virtual ~Engine() = default;
  /// Never blocks, never allocates. out_of_memory when `capacity` pieces wait; bad_input without `run` or `done`. One
  /// submitting thread at a time.
  [[nodiscard]] virtual Status submit(const Work& work) noexcept = 0;
  /// Submits `function`, a noexcept function that returns a Status, and waits until it is done: for set-up, and for
  /// whoever works without a schedule. Errors: its own, and those of submit().
  template <class Function> WorkResult call(Function function);
  /// Settings of the engine's thread: core, scheduling, name; its stack is fixed. Called before the first submit; each
  /// is read back. After an error the engine works on, with what was in force when the setting was refused.
  [[nodiscard]] virtual Result<> configure(const ThreadSettings& settings) = 0;
  /// As in /proc.
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
