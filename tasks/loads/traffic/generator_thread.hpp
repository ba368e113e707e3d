// Runs a generator on a thread of its own, as fast as possible or at a requested rate, until it is stopped. Experiments
// and calibration use it as interference load.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "tasks/loads/traffic/generator.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace rtexec::tasks {

/// Functions that the thread calls before it moves its first byte and after it has moved its last byte. The code that
/// starts the thread uses them for counters and budgets. An empty function is not called.
struct GeneratorHooks {
  std::function<Result<>()> begin; // an error ends the thread
  std::function<void()> end;       // not called if `begin` failed
};

class GeneratorThread {
 public:
  /// Starts the thread. Returns once the thread runs with its settings, or returns the error of hal::Thread or of
  /// `hooks.begin`. Returns bad_input for a rate of 0. The thread blocks only on page faults of a PageGenerator and
  /// until the bursts of a paced generator. In a real-time class and without a rate it occupies its core until it is
  /// stopped.
  [[nodiscard]] static Result<GeneratorThread> start(std::unique_ptr<Generator> generator,
                                                     const hal::ThreadSettings& settings,
                                                     std::optional<Bandwidth> rate = {}, GeneratorHooks hooks = {});
  ~GeneratorThread(); // calls stop()
  GeneratorThread(GeneratorThread&&) noexcept;
  GeneratorThread& operator=(GeneratorThread&&) noexcept; // stops the thread that it replaces

  /// Returns the traffic since the start. About the last 64 KiB may be missing. After stop() the result is complete.
  /// Any thread may call it.
  [[nodiscard]] Traffic so_far() const noexcept;
  /// Stops the thread after it has moved at most about 64 KiB more. A second call returns the same result.
  Traffic stop();
  [[nodiscard]] int kernel_id() const; // the thread's number in /proc

 private:
  struct State;
  explicit GeneratorThread(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace rtexec::tasks
