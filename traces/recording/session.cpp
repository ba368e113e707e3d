#include "traces/recording/session.hpp"

#include <utility>

namespace rtexec::traces {

Result<Session> Session::start(const std::filesystem::path& folder, const SessionOptions& options) {
  auto session = LttngSession::start(
      folder, {.keeps = LttngSession::Keeps::all, .layers = options.layers, .buffer = options.buffer});
  if (!session) return Unexpected(session.error());
  return Session(std::move(*session));
}

Result<Summary> Session::stop() {
  if (auto ended = session_.end(); !ended) return Unexpected(ended.error());
  return summarize(folder());
}

} // namespace rtexec::traces
