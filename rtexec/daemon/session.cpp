#include "rtexec/daemon/session.hpp"

#include <utility>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;

constexpr int entries_per_look = 64; // a client's honest most: a job, and six transfers
constexpr Duration look = 1ms;

} // namespace

Result<std::unique_ptr<Session>> Session::start(std::uint32_t place, protocol::SharedSegment segment,
                                                const hal::ThreadSettings& settings, Listener& listener) {
  std::unique_ptr<Session> session(new Session(place, std::move(segment), listener));
  auto thread = hal::Thread::start(settings, [self = session.get()] { self->serve(); });
  if (!thread) return Unexpected(thread.error());
  session->thread_ = std::move(*thread);
  return session;
}

Session::~Session() {
  stopping_.store(true, std::memory_order_release);
  segment_->to_daemon_bell.ring();
  thread_.join();
}

void Session::serve() noexcept {
  Instant begun = hal::now();
  int taken = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = segment_->to_daemon_bell.value();
    protocol::Entry entry;
    switch (entries_.pop(entry)) {
    case protocol::Turn::done: listener_.said(place_, entry); break;
    case protocol::Turn::not_now: segment_->to_daemon_bell.wait(seen); continue;
    case protocol::Turn::broken: return listener_.broken(place_);
    }
    if (++taken < entries_per_look) continue;
    if (hal::now() < begun + look) hal::sleep_until(begun + look);
    begun = hal::now();
    taken = 0;
  }
}

bool Session::command(const protocol::Entry& entry) noexcept {
  if (commands_.push(entry) != protocol::Turn::done) return false;
  segment_->to_client_bell.ring();
  return true;
}

void Session::verdict(protocol::JobVerdict verdict) noexcept {
  segment_->state.set_job(verdict);
  segment_->state.bell.ring();
}

} // namespace rtexec::daemon
