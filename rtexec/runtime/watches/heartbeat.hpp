// The heartbeat of a program for its service manager: the message WATCHDOG=1, which is sent only while the watched
// threads and engines make progress.
//
// The heartbeat has its own thread, without real-time priority, which reads the progress counters. If a watched thread
// or engine is stuck, the heartbeat's thread reports its name and sends no heartbeat. The manager then ends the program
// after the manager's timeout. The manager also ends the program if the heartbeat's own thread gets no core.
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
  /// A watched thread or engine is stuck if it had work to do (Progress::due) for longer than `timeout` and made no
  /// step in this time.
  Heartbeat(ServiceManager manager, Duration timeout) : manager_(std::move(manager)), timeout_(timeout) {}
  ~Heartbeat() { stop("request"); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Adds a thread or engine to watch. `look` returns the progress of this thread or engine without blocking, and must
  /// be valid until stop(). Called during set-up, before start().
  using Look = std::function<Progress(Instant now)>;
  void watch(std::string name, Look look) { watched_.push_back({.name = std::move(name), .look = std::move(look)}); }
  /// Reports to the manager that the program is ready. Starts the heartbeat's thread if the manager expects heartbeats.
  /// Called once.
  [[nodiscard]] Result<> start(const std::string& status);
  /// Ends the thread, and reports to the manager that the program stops because of `reason`. Further calls have no
  /// effect.
  void stop(const std::string& reason);
  /// Returns a line about the first heartbeat that was not sent, and a line if the manager could not be reached. Empty:
  /// neither happened. Any thread.
  [[nodiscard]] std::vector<std::string> gaps() const;

  /// Returns the name of the first stuck thread or engine, or null if none is stuck. `now` is the present instant; the
  /// function reads no clock. Called by the heartbeat's thread, or by one other thread if start() was not called.
  [[nodiscard]] const std::string* stuck(Instant now);

 private:
  struct Watched {
    std::string name;
    Look look;
    std::uint64_t steps = 0;
    std::optional<Instant> due_since = {}; // the instant since which the thread or engine has had work but made no step
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
