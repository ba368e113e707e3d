// A flight recorder: it keeps the newest events of this process in memory, and writes them into a folder on request,
// for example after a missed deadline.
//
// Each snapshot is a separate trace: the set-up, and as many of each core's newest events as the ring buffers hold. The
// session daemon writes the snapshot while the recording continues. The recorder owns the session, and a thread of
// normal priority that requests snapshots. start() and stop() are set-up code, like those of Session. The comments of
// the other functions name the threads that may call them.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "traces/recording/lttng_session.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rtexec::traces {

struct FlightRecorderOptions {
  bool layers = false; // true: also records layer_info, layer_begin and layer_end
  Bytes buffer{
      std::uint64_t{16} << 20}; // size of all cores' ring buffers together, which is the maximum size of a snapshot
  unsigned most = 10;           // maximum number of snapshots
  /// Minimum time from the end of a snapshot to the next snapshot, so that the writing leaves the machine to the jobs
  Duration apart = std::chrono::seconds(1);
};

struct Snapshot {
  std::filesystem::path folder;
  std::string reason;
};

struct Snapshots {
  std::vector<Snapshot> written;
  std::uint64_t left_out = 0; // number of requests after the last allowed snapshot
  Result<> outcome;           // error of the first failed snapshot
};

class FlightRecorder {
 public:
  /// Returns the same errors as Session::start().
  [[nodiscard]] static Result<FlightRecorder> start(const std::filesystem::path& folder,
                                                    const FlightRecorderOptions& options);
  FlightRecorder(FlightRecorder&&) noexcept;
  FlightRecorder& operator=(FlightRecorder&&) = delete;
  /// Stops the recording.
  ~FlightRecorder();

  /// Requests a snapshot, which is written soon. Requests that arrive before the snapshot is written share the
  /// snapshot. The snapshot's reason consists of the first request's reason and the number of further requests. Any
  /// thread without real-time priority may call.
  void take(std::string reason);
  /// Requests a snapshot with the reason "SIGUSR1". Async-signal-safe.
  void take_for_signal() noexcept;

  /// Writes the snapshot of pending requests, if there are any, and ends the recording.
  Snapshots stop();

 private:
  class Implementation;
  explicit FlightRecorder(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

} // namespace rtexec::traces
