// The heartbeat of a program for its service manager: WATCHDOG=1, only while the watched threads and engines make
// progress.
//
// A thread without real-time priority reads their progress counters. If one is stuck, it reports the name and withholds
// the heartbeat, and the manager ends the program after its timeout. The same happens if the heartbeat's own thread
// gets no core.
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
  /// A watched thread or engine is stuck if it is due for longer than `timeout` and takes no step.
  Heartbeat(ServiceManager manager, Duration timeout) : manager_(std::move(manager)), timeout_(timeout) {}
  ~Heartbeat() { stop("request"); }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// Set-up, before start(). `look` returns the progress, without blocking, until stop().
  using Look = std::function<Progress(Instant now)>;
  void watch(std::string name, Look look) { watched_.push_back({.name = std::move(name), .look = std::move(look)}); }
  /// Reports that the program is ready, and starts the thread if the manager expects a heartbeat. Once.
  [[nodiscard]] Result<> start(const std::string& status);
  /// Ends the thread, and reports that the program stops, and why. Further calls have no effect.
  void stop(const std::string& reason);
  /// Returns a line for the first time that the heartbeat was withheld, and one if the manager could not be reached.
  /// Any thread.
  [[nodiscard]] std::vector<std::string> gaps() const;

  /// Returns the name of the first stuck thread or engine; null: none is stuck. Called by the heartbeat's thread, or by
  /// one other thread if start() was not called; reads no clock.
  [[nodiscard]] const std::string* stuck(Instant now);

 private:
  struct Watched {
    std::string name;
    Look look;
    std::uint64_t steps = 0;
    std::optional<Instant> due_since = {}; // without a step
  };
  void run();
  void beat();
  void report(const std::string& lines);

  ServiceManager manager_;
  Duration timeout_;
  std::vector<Watched> watched_;
  const std::string* reported_ = nullptr; // the stuck thread or engine that was reported last
  mutable std::mutex mutex_;
  std::string stuck_, unreachable_; // the first ones
  bool started_ = false;
  std::atomic<bool> stopping_{false};
  hal::Signal wake_;
  hal::Thread thread_;
};

} // namespace rtexec::executive
