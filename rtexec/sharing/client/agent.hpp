// The thread of a client that executes the daemon's commands. It loads and saves slots (a slot is a chunk of the
// client's memory), and reports the end of each load or save (called a move). Several moves are in progress at once in
// each direction, so that copies follow each other without a gap.
//
// Ownership: segment, outbox and memory outlive the agent. start() starts the thread. The destructor ends the thread,
// after all moves in progress have ended.
#pragma once

#include <rtexec/result.hpp>
#include "hal/thread.hpp"
#include "rtexec/sharing/client/client_memory.hpp"
#include "rtexec/sharing/client/outbox.hpp"
#include "rtexec/sharing/protocol/segment.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace rtexec::client {

class Agent {
 public:
  /// Called when other clients wait for the device that `job` holds. Runs on the agent's thread, and must not block.
  /// May be empty.
  using Hurry = std::function<void(std::uint64_t job)>;

  /// Starts the thread. Returns refused if the system does not grant the priority.
  [[nodiscard]] static Result<std::unique_ptr<Agent>> start(protocol::Segment& segment, Outbox& outbox,
                                                            ClientMemory& memory, const hal::ThreadSettings& settings,
                                                            Hurry hurry);
  ~Agent();

 private:
  /// The maximum number of moves in each direction. The daemon commands fewer moves at a time.
  static constexpr std::size_t at_once = 4;
  /// The loads, or the saves, in progress, in order of age; the oldest is first.
  struct Moves {
    std::array<protocol::Entry, at_once> entries;
    std::size_t count = 0;
  };

  Agent(protocol::Segment& segment, Outbox& outbox, ClientMemory& memory, Hurry hurry)
      : segment_(segment), outbox_(outbox), memory_(memory), hurry_(std::move(hurry)), commands_(segment.to_client) {}
  void serve() noexcept;
  bool take() noexcept;
  void begin(Moves& moves, const protocol::Entry& command) noexcept;
  void finish(Moves& moves) noexcept;
  void tell(const protocol::Entry& command, bool done) noexcept;

  protocol::Segment& segment_;
  Outbox& outbox_;
  ClientMemory& memory_;
  Hurry hurry_;
  protocol::Consumer commands_;
  Moves loads_, saves_;
  std::atomic<bool> stopping_{false};
  hal::Thread thread_;
};

} // namespace rtexec::client
