#include "rtexec/runtime/watches/beat.hpp"

#include <utility>

namespace rtexec::executive {

Result<std::unique_ptr<Beat>> Beat::start(const ServiceManager& manager, ProgressWatch watch,
                                          const std::string& status) {
  auto beat = std::unique_ptr<Beat>(new Beat(manager, std::move(watch)));
  if (const auto told = manager.tell("READY=1\nSTATUS=" + status); !told) return Unexpected(told.error());
  if (!manager.patience()) return beat;
  auto thread =
      hal::Thread::start({.name = "beat", .core = {}, .reservation = {}}, [self = beat.get()] { self->run(); });
  if (!thread) return Unexpected(thread.error());
  beat->thread_ = std::move(*thread);
  return beat;
}

void Beat::end(const std::string& why) {
  if (ending_.exchange(true)) return;
  wake_.raise();
  thread_.join();
  tell("STOPPING=1\nSTATUS=Stopped by " + why);
}

/// It looks twice for each beat, so that who is stuck is found in time.
void Beat::run() {
  const Duration period = *manager_.patience() / 4;
  for (Instant next = hal::now();; next += period) {
    const std::uint32_t seen = wake_.value();
    if (ending_.load()) return;
    beat();
    while (!ending_.load() && wake_.wait_until(seen, next + period)) {}
  }
}

void Beat::beat() {
  const std::string* stuck = watch_.stuck(hal::now());
  const std::string* told = std::exchange(told_, stuck);
  if (stuck == nullptr) return tell(told != nullptr ? "WATCHDOG=1\nSTATUS=Goes on" : "WATCHDOG=1");
  if (stuck == told) return;
  tell("STATUS=" + *stuck + " is stuck");
  const std::lock_guard lock(mutex_);
  if (stuck_.empty()) stuck_ = *stuck;
}

void Beat::tell(const std::string& lines) {
  const auto told = manager_.tell(lines);
  const std::lock_guard lock(mutex_);
  if (!told && untold_.empty()) untold_ = told.error().what;
}

std::vector<std::string> Beat::gaps() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  if (!stuck_.empty()) lines.push_back(stuck_ + " was stuck: the beat for the service manager was withheld");
  if (!untold_.empty()) lines.push_back(untold_);
  return lines;
}

} // namespace rtexec::executive
