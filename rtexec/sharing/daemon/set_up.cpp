#include "rtexec/sharing/daemon/set_up.hpp"

#include "config/resolve.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::daemon {
namespace {

constexpr int fifo_priority = 80; // of the daemon's threads for clients, and of clients' agents

TaskSet set_of(const config::DaemonSettings& settings) {
  TaskSet tasks;
  tasks.file = settings.file;
  tasks.board = settings.board;
  tasks.device = settings.device;
  tasks.swap.policy = settings.swap;
  tasks.executive.order = settings.daemon.order;
  tasks.executive.priorities = settings.daemon.priorities;
  return tasks;
}

/// Returns an error if the memory limit of a client is less than one chunk.
std::optional<std::string> too_little(const std::vector<config::ClientRule>& rules, Bytes chunk) {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].memory.value_or(chunk) < chunk)
      return "client " + (rules[i].name.empty() ? std::to_string(i + 1) : "'" + rules[i].name + "'") + ": memory = \"" +
             to_string(*rules[i].memory) + "\": less than one chunk, " + to_string(chunk) + ".";
  return {};
}

} // namespace

Result<ServerOptions> set_up(config::DaemonSettings settings, Board board, MachineFacts machine) {
  const bool fifo = machine.no_fifo.empty();
  ResolvedSet device = resolve(set_of(settings), std::move(board), std::move(machine));
  const Bytes capacity = settings.device.capacity.value_or(device.board.capacity);
  if (capacity > device.board.capacity && device.board.capacity.count != 0)
    return fail(Errc::bad_input, settings.file.string() + ": error: capacity = \"" + to_string(capacity) +
                                     "\": board \"" + device.board.name + "\" has " + to_string(device.board.capacity) +
                                     ".");
  if (capacity < device.chunk)
    return fail(Errc::bad_input,
                settings.file.string() +
                    ": error: [device] capacity: needs the memory that clients share, at least one chunk of " +
                    to_string(device.chunk) + ".");
  if (const auto less = too_little(settings.clients, device.chunk))
    return fail(Errc::bad_input, settings.file.string() + ": error: " + *less);
  ServerOptions options;
  options.board = device.board;
  options.dispatcher = {.places = settings.daemon.places,
                        .frames = static_cast<std::uint32_t>(capacity.count / device.chunk.count),
                        .copy_engines = device.board.copy_engines,
                        .policy = settings.swap,
                        .command_timeout = settings.daemon.command_timeout,
                        .stuck_after = settings.daemon.stuck_after,
                        .chunk = device.chunk};
  options.mode = settings.daemon.chunks == config::ChunkSharing::separate ? protocol::Mode::private_chunks
                                                                          : protocol::Mode::shared_chunks;
  options.priority = fifo ? fifo_priority : 0;
  options.admission = {.device = std::move(device),
                       .rules = settings.clients,
                       .places = settings.daemon.places,
                       .best_effort_wcet = settings.daemon.best_effort_wcet};
  options.settings = std::move(settings);
  return options;
}

} // namespace rtexec::daemon
