// A generator on a thread of its own, as fast as possible or at a requested rate, until it is stopped. Experiments and
// calibration use it as interference load.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "tasks/loads/traffic/generator.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace rtexec::tasks {

/// Functions that the thread calls before its first byte and after its last, for counters and budgets of the starting
/// code. Empty: none.
struct GeneratorHooks {
  std::function<Result<>()> begin; // an error ends the thread
  std::function<void()> end;       // not called if `begin` failed
};

class GeneratorThread {
 public:
  /// Starts the thread. Returns once it runs with its settings in force, or the error of hal::Thread or `hooks.begin`.
  /// Returns bad_input for a rate of 0. Only page faults of a PageGenerator and sleeps of a paced generator make the
  /// thread wait. In a real-time class without a rate it occupies its core until it is stopped.
  [[nodiscard]] static Result<GeneratorThread> start(std::unique_ptr<Generator> generator,
                                                     const hal::ThreadSettings& settings,
                                                     std::optional<Bandwidth> rate = {}, GeneratorHooks hooks = {});
  ~GeneratorThread(); // calls stop()
  GeneratorThread(GeneratorThread&&) noexcept;
  GeneratorThread& operator=(GeneratorThread&&) noexcept; // stops the thread that it replaces

  /// Returns the result since the start, at most about 64 KiB behind; the complete result after stop(). Any thread.
  [[nodiscard]] Traffic so_far() const noexcept;
  /// Stops after the present piece. A second call returns the same result.
  Traffic stop();
  [[nodiscard]] int kernel_id() const; // its number in /proc

 private:
  struct State;
  explicit GeneratorThread(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace rtexec::tasks
