// The heartbeat of a program for its service manager: the message WATCHDOG=1, which is sent only while the watched
// threads and engines make progress.
//
// A thread without real-time priority, the heartbeat's own, reads their progress counters. If a thread or engine is
// stuck, it reports the name and sends no heartbeat, so that the manager ends the program after its timeout. The
// manager also ends it if the heartbeat's own thread gets no core.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/thread.hpp"
#include "rtexec/runtime/watches/progress_counter.hpp"
#include "rtexec/runtime/watches/service_manager.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::executive {

class Heartbeat {
 public:
  /// A watched thread or engine is stuck if for longer than `timeout` it has had work to do (Progress::due) and has
  /// made no step.
  Heartbeat(ServiceManager manager, Duration timeout) : manager_(std::move(manager)), timeout_(timeout) {}
  ~Heartbeat() { stop("request"); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Adds a thread or engine to watch. `look` returns its progress without blocking, and must be valid until stop().
  /// Set-up, before start().
  using Look = std::function<Progress(Instant now)>;
  void watch(std::string name, Look look) { watched_.push_back({.name = std::move(name), .look = std::move(look)}); }
  /// Reports to the manager that the program is ready, and starts the heartbeat's thread if the manager expects one.
  /// Called once.
  [[nodiscard]] Result<> start(const std::string& status);
  /// Ends the thread, and reports to the manager that the program stops, and why. Further calls have no effect.
  void stop(const std::string& reason);
  /// Returns a line about the first time that the heartbeat was not sent, and a line if the manager could not be
  /// reached. Any thread.
  [[nodiscard]] std::vector<std::string> gaps() const;

  /// Returns the name of the first stuck thread or engine, or null if none is stuck. `now` is the present; no clock is
  /// read. Called by the heartbeat's thread, or by one other thread if start() was not called.
  [[nodiscard]] const std::string* stuck(Instant now);

 private:
  struct Watched {
    std::string name;
    Look look;
    std::uint64_t steps = 0;
    std::optional<Instant> due_since = {}; // since when it has had work without making a step
  };
  void run();
  void beat();
  void report(const std::string& lines);

  ServiceManager manager_;
  Duration timeout_;
  std::vector<Watched> watched_;
  const std::string* reported_ = nullptr; // the stuck thread or engine that was reported last
  mutable std::mutex mutex_;
  std::string stuck_, unreachable_; // the first failure of each kind, in words
  bool started_ = false;
  std::atomic<bool> stopping_{false};
  hal::Signal wake_;
  hal::Thread thread_;
};

} // namespace rtexec::executive
