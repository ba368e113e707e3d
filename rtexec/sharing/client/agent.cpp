#include "rtexec/sharing/client/agent.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::client {

using protocol::Entry;
using protocol::EntryKind;

Result<std::unique_ptr<Agent>> Agent::start(protocol::Segment& segment, Outbox& outbox, ClientMemory& memory,
                                            const hal::ThreadSettings& settings, Hurry hurry) {
  std::unique_ptr<Agent> agent(new Agent(segment, outbox, memory, std::move(hurry)));
  auto thread = hal::Thread::start(settings, [self = agent.get()] { self->serve(); });
  if (!thread) return Unexpected(thread.error());
  agent->thread_ = std::move(*thread);
  return agent;
}

Agent::~Agent() {
  stopping_.store(true, std::memory_order_release);
  segment_.to_client_bell.raise();
  thread_.join();
}

/// Carries out the daemon's commands. Begins all pending commands before it waits for the oldest move.
void Agent::serve() noexcept {
  // If hold() fails, the daemon notices this client's end later, by the pidfd.
  static_cast<void>(segment_.lifeline.hold());
  for (;;) {
    const std::uint32_t seen = segment_.to_client_bell.value();
    while (take()) {}
    if (loads_.count > 0) finish(loads_);
    else if (saves_.count > 0) finish(saves_);
    else if (stopping_.load(std::memory_order_acquire)) return;
    else segment_.to_client_bell.wait(seen);
  }
}

/// Begins the next command. Returns false if there is no command, if the maximum number of moves is in progress, or if
/// the agent is stopping.
bool Agent::take() noexcept {
  if (loads_.count == at_once || saves_.count == at_once || stopping_.load(std::memory_order_acquire)) return false;
  Entry command;
  if (commands_.pop(command) != protocol::Turn::done) return false;
  switch (static_cast<EntryKind>(command.kind)) {
  case EntryKind::load: begin(loads_, command); break;
  case EntryKind::save: begin(saves_, command); break;
  case EntryKind::hurry:
    if (hurry_) hurry_(command.job);
    break;
  default: break; // a command of a later version is ignored
  }
  return true;
}

void Agent::begin(Moves& moves, const Entry& command) noexcept {
  const bool load = &moves == &loads_;
  const Status begun = load ? memory_.begin_load(command.slot, command.frame) : memory_.begin_save(command.slot);
  if (begun) {
    moves.entries[moves.count++] = command;
    return;
  }
  while (moves.count > 0) finish(moves); // moves of one direction end in the order of their commands
  tell(command, false);
}

void Agent::finish(Moves& moves) noexcept {
  const Status done = &moves == &loads_ ? memory_.finish_load() : memory_.finish_save();
  const Entry command = moves.entries.front();
  std::shift_left(moves.entries.begin(), moves.entries.end(), 1);
  --moves.count;
  tell(command, done.has_value());
}

void Agent::tell(const Entry& command, bool done) noexcept {
  const bool load = command.kind == static_cast<std::uint16_t>(EntryKind::load);
  // If send() fails, the daemon is gone, or regards the client as hostile. In both cases it frees the client's
  // frames.
  static_cast<void>(
      outbox_.send({.kind = static_cast<std::uint16_t>(load ? EntryKind::loaded : EntryKind::saved),
                    .status = static_cast<std::uint16_t>(done ? protocol::Outcome::done : protocol::Outcome::failed),
                    .slot = command.slot,
                    .frame = command.frame}));
}

} // namespace rtexec::client
