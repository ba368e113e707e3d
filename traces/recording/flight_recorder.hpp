// A flight recorder: the last events of this process are kept in memory, and written into a folder when something went
// wrong.
//
// Each snapshot is a trace of its own: the set-up, and of each core as many of its newest events as its ring buffers
// hold. Writing one is the session daemon's work; events are recorded meanwhile. Owns the session, and a thread of
// normal priority that asks for snapshots. Set-up code calls start() and stop(), as with Session; other calls say which
// thread may make them.
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
  Bytes buffer{std::uint64_t{16} << 20}; // as SessionOptions::buffer: what a snapshot holds
  unsigned most = 10;                    // snapshots
  /// At least, from the end of one to the next, so that writing them leaves the machine to the jobs
  Duration apart = std::chrono::seconds(1);
};

struct Snapshot {
  std::filesystem::path folder;
  std::string reason;
};

struct Snapshots {
  std::vector<Snapshot> written;
  std::uint64_t left_out = 0; // reasons that came after the last one
  Result<> outcome;           // of the first one that failed
};

class FlightRecorder {
 public:
  /// Errors: as of Session::start().
  [[nodiscard]] static Result<FlightRecorder> start(const std::filesystem::path& folder,
                                                    const FlightRecorderOptions& options);
  FlightRecorder(FlightRecorder&&) noexcept;
  FlightRecorder& operator=(FlightRecorder&&) = delete;
  /// Stops.
  ~FlightRecorder();

  /// Asks for a snapshot, which is written soon; what is asked for until then gets the same one, with the first reason
  /// and the number of the others. From any thread without real-time priority.
  void take(std::string reason);
  /// The same, async-signal-safe; the reason is "SIGUSR1".
  void take_for_signal() noexcept;

  /// Writes what is still asked for and ends the recording.
  Snapshots stop();

 private:
  class Implementation;
  explicit FlightRecorder(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

} // namespace rtexec::traces
