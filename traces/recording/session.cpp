#include "traces/recording/session.hpp"

#include <string>
#include <utility>

namespace rtexec::traces {

Result<Session> Session::start(const std::filesystem::path& folder, const SessionOptions& options) {
  if (options.limit && *options.limit < options.buffer)
    return fail(Errc::bad_input, "tracing: a limit of " + readable(*options.limit) + " is less than the " +
                                     readable(options.buffer) + " of the buffers: raise the limit");
  auto session = LttngSession::start(
      folder,
      {.keeps = LttngSession::Keeps::all, .layers = options.layers, .buffer = options.buffer, .limit = options.limit});
  if (!session) return Unexpected(session.error());
  return Session(std::move(*session));
}

Result<Summary> Session::stop() {
  if (auto ended = session_.end(); !ended) return Unexpected(ended.error());
  if (std::error_code error; !std::filesystem::exists(folder(), error))
    return fail(Errc::refused,
                "tracing: the folder " + folder().string() + " was removed during the recording: the trace is lost");
  return summarize(folder());
}

Result<> check_whole(const Summary& summary, const std::filesystem::path& folder) {
  std::string why;
  if (!summary.by_name.contains("rtexec:run_end"))
    why = "\n  the end of the run is missing: LTTng's consumer daemon was killed, or hung";
  if (summary.lost_unknown)
    for (const std::string& note : summary.notes) why += "\n  " + note;
  if (why.empty()) return {};
  return fail(Errc::refused, "tracing: the trace in " + folder.string() +
                                 " is incomplete: " + std::to_string(summary.events) +
                                 " events were recorded, and the number of lost events is unknown" + why);
}

} // namespace rtexec::traces
