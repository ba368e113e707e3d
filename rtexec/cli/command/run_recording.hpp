// The recording of `rtexec run`: a trace of the whole run, or a flight recorder. A flight recorder keeps only recent
// events in memory. It saves these events as a snapshot at each deadline miss and, if requested, when a part exceeds
// its WCET.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/executive.hpp>
#include "traces/recording/flight_recorder.hpp"
#include "traces/recording/session.hpp"

#include <csignal>
#include <filesystem>
#include <optional>

namespace rtexec::command {

struct RunRecordingOptions {
  std::filesystem::path trace;           // empty: no trace
  bool trace_in_run_folder = false;      // true: a folder for this run below `trace`; false: `trace` itself
  std::filesystem::path flight_recorder; // empty: no flight recorder; excludes `trace`
  bool above_wcet = false;               // true: also saves snapshots when parts exceed their WCETs
  bool layers = false;
  std::optional<Bytes> limit = {}; // maximum size of the trace on disk
};

class RunRecording {
 public:
  explicit RunRecording(RunRecordingOptions options) : options_(std::move(options)) {}
  ~RunRecording();
  RunRecording(const RunRecording&) = delete;
  RunRecording& operator=(const RunRecording&) = delete;

  /// Starts the recording. Used as executive::Setup::record. With a flight recorder, SIGUSR1 requests a snapshot from
  /// now on.
  [[nodiscard]] Result<> start();
  /// The next two functions request a snapshot. Used as the callbacks on_miss and on_wcet_exceeded of executive::Setup.
  /// Any thread without real-time priority.
  void miss(const TaskSet& tasks, const Miss& miss);
  void excess(const TaskSet& tasks, const WcetExcess& excess);
  [[nodiscard]] bool on_misses() const { return !options_.flight_recorder.empty(); }
  [[nodiscard]] bool on_excesses() const { return on_misses() && options_.above_wcet; }
  /// Ends the recording after the executive has stopped. Adds the recording's results to the report.
  [[nodiscard]] Result<> end(Report& report);

 private:
  [[nodiscard]] Result<> start_flight_recorder();
  [[nodiscard]] Result<std::filesystem::path> trace_folder() const;
  void restore_signal();

  RunRecordingOptions options_;
  std::optional<traces::Session> session_;
  std::optional<traces::FlightRecorder> recorder_;
  struct sigaction old_action_ {};
  bool handles_signal_ = false;
};

} // namespace rtexec::command
