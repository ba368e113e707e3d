#include "rtexec/sharing/daemon/client_session.hpp"

#include "traces/emit.hpp"

#include <utility>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;

/// Of entries and of waits that ended, in `look`: an honest client's most are a job, and six transfers.
constexpr int turns_per_look = 64;
constexpr Duration look = 1ms;
constexpr Duration between_calls = 100us; // to end

} // namespace

Result<std::unique_ptr<Session>> Session::start(std::uint32_t place, protocol::SharedSegment segment,
                                                const hal::ThreadSettings& settings, Listener& listener) {
  std::unique_ptr<Session> session(new Session(place, std::move(segment), listener));
  const auto start = [&](hal::Thread& thread, void (Session::*body)() noexcept) -> Result<> {
    ++session->running_;
    auto started = hal::Thread::start(settings, [self = session.get(), body] {
      (self->*body)();
      --self->running_;
    });
    if (started) thread = std::move(*started);
    else --session->running_;
    return started ? Result<>() : Unexpected(started.error());
  };
  if (auto serves = start(session->server_, &Session::serve); !serves) return Unexpected(serves.error());
  if (auto watches = start(session->watcher_, &Session::watch); !watches) return Unexpected(watches.error());
  return session;
}

/// A client that lives can spoil the words that its threads wait on: they are called until they hear.
Session::~Session() {
  stopping_.store(true, std::memory_order_release);
  while (running_.load(std::memory_order_acquire) > 0) {
    segment_->to_daemon_bell.raise();
    segment_->lifeline.cut();
    hal::sleep_until(hal::now() + between_calls);
  }
}

void Session::serve() noexcept {
  traces::prepare_thread();
  Instant begun = hal::now();
  int turns = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = segment_->to_daemon_bell.value();
    protocol::Entry entry;
    switch (entries_.pop(entry)) {
    case protocol::Turn::done: listener_.said(place_, entry); break;
    case protocol::Turn::not_now: segment_->to_daemon_bell.wait(seen); break; // not at all where it rings for nothing
    case protocol::Turn::broken: return listener_.broken(place_);
    }
    if (++turns < turns_per_look) continue;
    if (hal::now() < begun + look) hal::sleep_until(begun + look);
    begun = hal::now();
    turns = 0;
  }
}

/// A wait that tells of no end is the one that learns that the agent is there, or a hostile client's.
void Session::watch() noexcept {
  traces::prepare_thread();
  while (!segment_->lifeline.broken() && !stopping_.load(std::memory_order_acquire)) {
    segment_->lifeline.wait();
    if (!segment_->lifeline.broken()) hal::sleep_until(hal::now() + look);
  }
  if (!stopping_.load(std::memory_order_acquire)) listener_.ending(place_);
}

bool Session::command(const protocol::Entry& entry) noexcept {
  if (commands_.push(entry) != protocol::Turn::done) return false;
  segment_->to_client_bell.raise();
  return true;
}

void Session::verdict(protocol::JobVerdict verdict) noexcept {
  segment_->state.set_job(verdict);
  segment_->state.bell.raise();
}

} // namespace rtexec::daemon
