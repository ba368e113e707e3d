#include "rtexec/cli/command/run_recording.hpp"

#include "rtexec/runtime/channels/run_folder.hpp"
#include "rtexec/cli/reports/report_text.hpp"

#include <atomic>
#include <string>
#include <utility>

namespace rtexec::command {
namespace {

std::atomic<traces::FlightRecorder*> signalled{nullptr};

} // namespace

RunRecording::~RunRecording() { restore_signal(); }

Result<> RunRecording::start() {
  if (on_misses()) return start_flight_recorder();
  if (options_.trace.empty()) return {};
  const auto folder = trace_folder();
  if (!folder) return Unexpected(folder.error());
  auto session = traces::Session::start(*folder, {.layers = options_.layers, .limit = options_.limit});
  if (!session) return Unexpected(session.error());
  session_.emplace(std::move(*session));
  return {};
}

Result<std::filesystem::path> RunRecording::trace_folder() const {
  if (!options_.trace_in_run_folder) return options_.trace;
  channels::RunFolder folder(options_.trace);
  if (const auto made = folder.make(); !made) return Unexpected(made.error());
  return folder.path();
}

Result<> RunRecording::start_flight_recorder() {
  auto recorder = traces::FlightRecorder::start(options_.flight_recorder, {.layers = options_.layers});
  if (!recorder) return Unexpected(recorder.error());
  recorder_.emplace(std::move(*recorder));
  signalled.store(&*recorder_);
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) {
    if (traces::FlightRecorder* target = signalled.load()) target->take_for_signal();
  };
  handles_signal_ = ::sigaction(SIGUSR1, &action, &old_action_) == 0;
  return {};
}

void RunRecording::restore_signal() {
  if (!std::exchange(handles_signal_, false)) return;
  ::sigaction(SIGUSR1, &old_action_, nullptr);
  signalled.store(nullptr);
}

void RunRecording::excess(const TaskSet& tasks, const WcetExcess& excess) {
  if (!recorder_) return;
  recorder_->take("the " + std::string(part_name(excess.part)) + " part of job " + std::to_string(excess.job) + " of " +
                  tasks.tasks[excess.task].name + " took " + readable(excess.took) + ", its WCET is " +
                  readable(excess.wcet));
}

void RunRecording::miss(const TaskSet& tasks, const Miss& miss) {
  if (!recorder_) return;
  const std::string job = "job " + std::to_string(miss.job) + " of " + tasks.tasks[miss.task].name;
  recorder_->take(
      job + (miss.response > miss.deadline ? " was late by " + readable(miss.response - miss.deadline) : " failed"));
}

Result<> RunRecording::end(Report& report) {
  restore_signal();
  if (recorder_) {
    auto snapshots = recorder_->stop();
    report.flight.emplace();
    for (auto& each : snapshots.written)
      report.flight->snapshots.push_back({.folder = std::move(each.folder), .reason = std::move(each.reason)});
    report.flight->left_out = snapshots.left_out;
    return snapshots.outcome;
  }
  if (!session_) return {};
  const auto summary = session_->stop();
  if (!summary) return Unexpected(summary.error());
  if (auto whole = traces::check_whole(*summary, session_->folder()); !whole) return whole;
  report.trace = TraceReport{.events = summary->events, .lost = summary->lost.events + summary->lost.packets};
  return {};
}

} // namespace rtexec::command
