// A flight recorder: it keeps the last events of this process in memory, and writes them into a folder when something
// went wrong.
//
// Each snapshot is a trace of its own: the set-up, and as many of each core's newest events as its ring buffers hold.
// The session daemon writes the snapshot while events go on being recorded. The recorder owns the session, and a thread
// of normal priority that requests snapshots. Set-up code calls start() and stop(), as with Session. The comments of
// the other functions say which threads may call them.
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
  bool layers = false;                   // also layer_info, layer_begin and layer_end
  Bytes buffer{std::uint64_t{16} << 20}; // as SessionOptions::buffer; a snapshot holds what these buffers hold
  unsigned most = 10;                    // maximum number of snapshots
  /// Minimum time from the end of one snapshot to the next, so that writing them leaves the machine to the jobs
  Duration apart = std::chrono::seconds(1);
};

struct Snapshot {
  std::filesystem::path folder;
  std::string reason;
};

struct Snapshots {
  std::vector<Snapshot> written;
  std::uint64_t left_out = 0; // number of reasons that came after the last allowed snapshot
  Result<> outcome;           // error of the first snapshot that failed
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

  /// Requests a snapshot, which is written soon. Requests that arrive before it is written share it. Its reason is the
  /// first one and the number of the others. Any thread without real-time priority may call.
  void take(std::string reason);
  /// Requests a snapshot with the reason "SIGUSR1". Async-signal-safe.
  void take_for_signal() noexcept;

  /// Writes the snapshot that is still requested, and ends the recording.
  Snapshots stop();

 private:
  class Implementation;
  explicit FlightRecorder(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

} // namespace rtexec::traces
