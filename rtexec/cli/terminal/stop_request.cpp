#include "rtexec/cli/terminal/stop_request.hpp"

#include <atomic>
#include <cassert>
#include <cstdint>
#include <ctime>
#include <utility>

namespace rtexec::command {
namespace {

constexpr std::int64_t echo = 200; // milliseconds; further signals within this time belong to the same request

std::atomic<bool> requested{false};
std::atomic<std::int64_t> requested_at{0};
std::atomic<const StopRequest*> current{nullptr};

std::int64_t milliseconds() {
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

StopRequest::StopRequest(std::function<void()> on_request) : on_request_(std::move(on_request)) {
  assert(current.load() == nullptr);
  requested.store(false);
  current.store(this);
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const bool hung_up_for_good = signals[i] == SIGHUP && ignored(SIGHUP);
    ::sigaction(signals[i], hung_up_for_good ? nullptr : &action, &before_[i]);
  }
}

StopRequest::~StopRequest() {
  for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  current.store(nullptr);
}

bool StopRequest::asked() const { return requested.load(std::memory_order_relaxed); }

void StopRequest::handle(int signal) {
  const std::int64_t now = milliseconds();
  if (requested.exchange(true)) {
    if (now - requested_at.load() < echo) return;
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    ::sigaction(signal, &by_default, nullptr);
    (void)::raise(signal); // takes effect when this handler has returned
    return;
  }
  requested_at.store(now);
  if (const StopRequest* request = current.load(); request != nullptr && request->on_request_) request->on_request_();
}

} // namespace rtexec::command
