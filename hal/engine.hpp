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
  /// Settings of the engine's thread: core, scheduling, name; its stack is fixed. Called before the first submit; each
  /// is read back. After an error the engine works on, with what was in force when the setting was refused.
  [[nodiscard]] virtual Result<> configure(const ThreadSettings& settings) = 0;
  /// As in /proc.
  [[nodiscard]] virtual int kernel_id() const = 0;
};

} // namespace rtexec::hal
