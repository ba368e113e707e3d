// A generator on a thread of its own, as fast as it can or at a wanted rate, until it is stopped: a co-runner of
// experiments and calibration.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "tasks/loads/traffic/generator.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace rtexec::tasks {

/// What the thread does before its first byte and after its last; for the counters and budgets of whoever starts it.
/// Empty: nothing.
struct GeneratorHooks {
  std::function<Result<>()> begin; // an error ends the thread
  std::function<void()> end;       // not called where begin failed
};

class GeneratorThread {
 public:
  /// Returns once it runs with its settings in force, or the error of hal::Thread or of `hooks.begin`. bad_input: a
  /// rate of 0. Only the page faults of a PageGenerator and the sleeps of a paced one make it wait: on a real-time
  /// class without a rate it keeps its core until it is stopped.
  [[nodiscard]] static Result<GeneratorThread> start(std::unique_ptr<Generator> generator,
                                                     const hal::ThreadSettings& settings,
                                                     std::optional<Bandwidth> rate = {}, GeneratorHooks hooks = {});
  ~GeneratorThread(); // stops
  GeneratorThread(GeneratorThread&&) noexcept;
  GeneratorThread& operator=(GeneratorThread&&) noexcept; // stops the one it replaces

  /// Since the start, behind by at most a piece of some 64 KiB. Any thread; what it did in all once it is stopped.
  [[nodiscard]] Traffic so_far() const noexcept;
  /// After the piece that it moves now. Once is enough.
  Traffic stop();
  [[nodiscard]] int kernel_id() const; // as in /proc

 private:
  struct State;
  explicit GeneratorThread(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace rtexec::tasks
