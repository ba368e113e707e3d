#include "rtexec/runtime/watches/heartbeat.hpp"

namespace rtexec::executive {

Result<> Heartbeat::start(const std::string& status) {
  if (const auto reported = manager_.tell("READY=1\nSTATUS=" + status); !reported) return Unexpected(reported.error());
  started_ = true;
  if (!manager_.timeout()) return {};
  auto thread = hal::Thread::start({.name = "heartbeat", .core = {}, .reservation = {}}, [this] { run(); });
  if (!thread) return Unexpected(thread.error());
  thread_ = std::move(*thread);
  return {};
}

void Heartbeat::stop(const std::string& reason) {
  if (!started_ || stopping_.exchange(true)) return;
  wake_.raise();
  thread_.join();
  report("STOPPING=1\nSTATUS=Stopped by " + reason);
}

/// Sends heartbeats at a quarter of the manager's timeout, so that a stuck thread is found in time.
void Heartbeat::run() {
  const Duration period = *manager_.timeout() / 4;
  for (Instant next = hal::now();; next += period) {
    const std::uint32_t seen = wake_.value();
    if (stopping_.load()) return;
    beat();
    while (!stopping_.load() && wake_.wait_until(seen, next + period)) {}
  }
}

void Heartbeat::beat() {
  const std::string* now_stuck = stuck(hal::now());
  const std::string* reported = std::exchange(reported_, now_stuck);
  if (now_stuck == nullptr) return report(reported != nullptr ? "WATCHDOG=1\nSTATUS=Running" : "WATCHDOG=1");
  if (now_stuck == reported) return;
  report("STATUS=" + *now_stuck + " is stuck");
  const std::lock_guard lock(mutex_);
  if (stuck_.empty()) stuck_ = *now_stuck;
}

const std::string* Heartbeat::stuck(Instant now) {
  const std::string* first = nullptr;
  for (Watched& watched : watched_) {
    const Progress seen = watched.look(now);
    if (!seen.due || seen.steps != watched.steps) watched.due_since.reset();
    watched.steps = seen.steps;
    if (seen.due && !watched.due_since) watched.due_since = now;
    if (first == nullptr && watched.due_since && now - *watched.due_since > timeout_) first = &watched.name;
  }
  return first;
}

void Heartbeat::report(const std::string& lines) {
  const auto reported = manager_.tell(lines);
  const std::lock_guard lock(mutex_);
  if (!reported && unreachable_.empty()) unreachable_ = reported.error().what;
}

std::vector<std::string> Heartbeat::gaps() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  if (!stuck_.empty()) lines.push_back(stuck_ + " was stuck: no heartbeat was sent to the service manager");
  if (!unreachable_.empty()) lines.push_back(unreachable_);
  return lines;
}

} // namespace rtexec::executive
