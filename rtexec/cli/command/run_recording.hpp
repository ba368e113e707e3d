// What `rtexec run` records: everything into a trace, or with a flight recorder what led to each miss, and where asked
// to each part above its WCET.
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
  bool trace_in_run_folder = false;      // in a folder of this run below `trace`; otherwise `trace` itself
  std::filesystem::path flight_recorder; // empty: none; not beside a trace
  bool above_wcet = false;               // snapshots of parts above their WCETs too
  bool layers = false;
  std::optional<Bytes> limit = {}; // of the trace on disk
};

class RunRecording {
 public:
  explicit RunRecording(RunRecordingOptions options) : options_(std::move(options)) {}
  ~RunRecording();
  RunRecording(const RunRecording&) = delete;
  RunRecording& operator=(const RunRecording&) = delete;

  /// executive::Setup::record. With a flight recorder SIGUSR1 asks for a snapshot from here on.
  [[nodiscard]] Result<> start();
  /// Ask for a snapshot. ExecutiveSetup::on_miss and on_wcet_exceeded; any thread without real-time priority.
  void miss(const TaskSet& tasks, const Miss& miss);
  void excess(const TaskSet& tasks, const WcetExcess& excess);
  [[nodiscard]] bool on_misses() const { return !options_.flight_recorder.empty(); }
  [[nodiscard]] bool on_excesses() const { return on_misses() && options_.above_wcet; }
  /// Once the executive has stopped: what was recorded goes into its report.
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
