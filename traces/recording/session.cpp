#include "traces/recording/session.hpp"

#include <utility>

namespace rtexec::traces {

Result<Session> Session::start(const std::filesystem::path& folder, const SessionOptions& options) {
  if (options.limit && *options.limit < options.buffer)
    return fail(Errc::bad_input, "tracing: a limit of " + readable(*options.limit) + " is less than the " +
                                     readable(options.buffer) + " of the buffers: raise it");
  auto session = LttngSession::start(
      folder,
      {.keeps = LttngSession::Keeps::all, .layers = options.layers, .buffer = options.buffer, .limit = options.limit});
  if (!session) return Unexpected(session.error());
  return Session(std::move(*session));
}

Result<Summary> Session::stop() {
  if (auto ended = session_.end(); !ended) return Unexpected(ended.error());
  return summarize(folder());
}

} // namespace rtexec::traces
