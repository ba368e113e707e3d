#include "rtexec/sharing/daemon/status.hpp"

#include "config/names.hpp"
#include "hal/thread.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <unistd.h>
#include <utility>

namespace rtexec::daemon {
namespace {

using protocol::Delivery;

/// Replaces the characters that messages must not contain. A path may contain any character.
template <std::size_t Size> protocol::Text<Size> printable(std::string text) {
  std::ranges::replace_if(
      text, [](char each) { return each < ' ' || each > '~'; }, '?');
  return protocol::text<Size>(text);
}

} // namespace

protocol::StatusPart part_of(const AdmittedClient& client, std::uint32_t place, pid_t process,
                             const ClientStatistics& statistics) {
  const auto& declared = client.declaration;
  return {.header = {},
          .name = printable<64>(client.identity.name),
          .executable = printable<192>(client.identity.executable.string()),
          .place = place,
          .process = process,
          .declared = declared ? 1U : 0U,
          .activity = statistics.activity,
          .slots = client.slots,
          // The number of resident slots is this difference, because initially no slot is resident.
          .resident = static_cast<std::uint32_t>(statistics.loaded - statistics.saved),
          .limit_slots = client.limit,
          .violations = static_cast<std::uint32_t>(statistics.violations),
          .period_ns = declared ? declared->period.count() : 0,
          .deadline_ns = declared ? declared->deadline.count() : 0,
          .wcet_ns = declared ? declared->wcet.count() : 0,
          .response_bound_ns = client.response_bound.value_or(Duration(0)).count(),
          .jobs = statistics.jobs,
          .missed = statistics.missed,
          .overruns = statistics.overruns,
          .failed = statistics.failed,
          .longest_execution_ns = statistics.longest_execution.count(),
          .longest_response_ns = statistics.longest_response.count(),
          .executed_ns = statistics.executed.count(),
          .loaded = statistics.loaded,
          .saved = statistics.saved};
}

protocol::StatusEnd end_of(const Totals& totals, const AdmissionOptions& admission, protocol::Mode mode,
                           std::uint32_t free_frames) {
  const TaskSet& asked = admission.device.tasks;
  const Bytes capacity = asked.device.capacity.value_or(admission.device.board.capacity);
  return {.header = {},
          .release = protocol::text<32>(RTEXEC_VERSION),
          .order = protocol::text<32>(spelling(asked.executive.order)),
          .policy = protocol::text<32>(spelling(asked.swap.policy)),
          .chunk_bytes = admission.device.chunk.count,
          .frames = static_cast<std::uint32_t>(
              std::min<std::uint64_t>(capacity.count / admission.device.chunk.count, protocol::max_slots)),
          .free_frames = free_frames,
          .places = admission.places,
          .mode = mode,
          .process = ::getpid(),
          .reserved = 0,
          .now_ns = hal::now().time_since_epoch().count(),
          .started_ns = totals.started.time_since_epoch().count(),
          .came = totals.came,
          .refused = totals.refused,
          .expelled = totals.expelled};
}

// ---- readers ----

Result<StatusReader> StatusReader::connect(const std::filesystem::path& directory, Duration timeout) {
  const std::filesystem::path socket = directory / "socket";
  auto channel = protocol::Channel::connect(socket, timeout);
  if (channel) return StatusReader(std::move(*channel));
  if (channel.error().code == Errc::cancelled)
    return fail(Errc::cancelled,
                "no rtexecd listens at " + socket.string() +
                    "\n  `rtexecd FILE.toml` starts one; --daemon FOLDER names the folder of another one");
  if (::access(socket.c_str(), W_OK) != 0 && errno == EACCES)
    return fail(
        Errc::refused,
        channel.error().what +
            "\n  only users who may connect can ask: the user of rtexecd, members of its [daemon] group, and root");
  return Unexpected(channel.error());
}

Result<ServerStatus> StatusReader::read() {
  const auto gone = [] { return fail(Errc::cancelled, "rtexecd has ended"); };
  if (channel_.send(protocol::Status{}) != Delivery::done) return gone();
  ServerStatus status;
  for (;;) {
    protocol::Letter letter;
    switch (channel_.receive(letter)) {
    case Delivery::done: break;
    case Delivery::closed: return gone();
    case Delivery::nothing: return fail(Errc::refused, "rtexecd does not answer");
    case Delivery::refused: return fail(Errc::unsupported, "rtexecd's answer is not valid in this release");
    }
    if (const auto part = protocol::read<protocol::StatusPart>(letter.bytes())) {
      status.clients.push_back(*part);
      if (status.clients.size() <= protocol::max_places) continue;
    }
    if (const auto end = protocol::read<protocol::StatusEnd>(letter.bytes())) {
      status.daemon = *end;
      return status;
    }
    const auto header = protocol::header_of(letter.bytes());
    if (header && header->version != protocol::version)
      return fail(Errc::unsupported, "rtexecd speaks version " + std::to_string(header->version) +
                                         " of the protocol, this program version " + std::to_string(protocol::version) +
                                         ": take both from one release");
    if (const auto refused = protocol::read<protocol::Refused>(letter.bytes()))
      return fail(Errc::refused, std::string(protocol::view(refused->text)));
    return fail(Errc::unsupported, "rtexecd's answer is not valid in this release");
  }
}

} // namespace rtexec::daemon
