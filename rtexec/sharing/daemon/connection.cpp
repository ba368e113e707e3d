#include "rtexec/sharing/daemon/connection.hpp"

#include "traces/emit.hpp"

#include <string>

namespace rtexec::daemon {
namespace {

using namespace std::chrono_literals;

/// The maximum number of iterations of a thread's loop within the time `look`. Each iteration handles one entry of the
/// client or waits once. A client that keeps the protocol needs fewer iterations: in this time it sends the entries of
/// at most one job and six transfers.
constexpr int turns_per_look = 64;
constexpr Duration look = 1ms;
constexpr Duration between_calls = 100us; // between attempts of stop() to wake the threads

} // namespace

Result<> Connection::start(std::uint32_t at, int fifo_priority, Listener& listener) {
  auto segment = protocol::SharedSegment::create();
  if (!segment) return Unexpected(segment.error());
  shared_.emplace(std::move(*segment));
  listener_ = &listener;
  place = at;
  const hal::ThreadSettings settings{
      .name = "rtexecd-" + std::to_string(at), .core = {}, .fifo_priority = fifo_priority, .reservation = {}};
  const auto begin = [&](hal::Thread& thread, void (Connection::*body)() noexcept) -> Result<> {
    ++running_;
    auto started = hal::Thread::start(settings, [this, body] {
      (this->*body)();
      --running_;
    });
    if (started) thread = std::move(*started);
    else --running_;
    return started ? Result<>() : Unexpected(started.error());
  };
  auto started = begin(server_, &Connection::serve);
  if (started) started = begin(watcher_, &Connection::watch);
  if (!started) {
    stop();
    place.reset();
  }
  return started;
}

/// Ends the two threads of the connection. A hostile client can overwrite the words on which the threads wait.
/// Therefore stop() wakes the threads repeatedly until they have ended.
void Connection::stop() {
  if (!shared_) return;
  stopping_.store(true, std::memory_order_release);
  while (running_.load(std::memory_order_acquire) > 0) {
    shared_->segment->to_daemon_bell.raise();
    shared_->segment->lifeline.cut();
    hal::sleep_until(hal::now() + between_calls);
  }
  server_.join();
  watcher_.join();
  shared_.reset();
  stopping_.store(false, std::memory_order_release);
}

void Connection::serve() noexcept {
  traces::prepare_thread();
  Instant begun = hal::now();
  int turns = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = shared_->segment->to_daemon_bell.value();
    protocol::Entry entry;
    switch (shared_->entries.pop(entry)) {
    case protocol::Turn::done: listener_->said(*place, entry); break;
    case protocol::Turn::not_now:
      shared_->segment->to_daemon_bell.wait(seen);
      break; // wait() returns at once if the client rings without an entry
    case protocol::Turn::broken: return listener_->broken(*place);
    }
    if (++turns < turns_per_look) continue;
    if (hal::now() < begun + look) hal::sleep_until(begun + look);
    begun = hal::now();
    turns = 0;
  }
}

/// Waits until the client's agent has ended. If a wait returns although the lifeline (lifeline.hpp) is intact, the
/// agent has just started, or the client is hostile.
void Connection::watch() noexcept {
  traces::prepare_thread();
  while (!shared_->segment->lifeline.broken() && !stopping_.load(std::memory_order_acquire)) {
    shared_->segment->lifeline.wait();
    if (!shared_->segment->lifeline.broken()) hal::sleep_until(hal::now() + look);
  }
  if (!stopping_.load(std::memory_order_acquire)) listener_->ending(*place);
}

bool Connection::command(const protocol::Entry& entry) noexcept {
  if (shared_->commands.push(entry) != protocol::Turn::done) return false;
  shared_->segment->to_client_bell.raise();
  return true;
}

void Connection::verdict(protocol::JobVerdict verdict) noexcept {
  shared_->segment->state.set_job(verdict);
  shared_->segment->state.bell.raise();
}

} // namespace rtexec::daemon
