// Builds recordings in code: records in the given order, times in microseconds.
#pragma once

#include "traces/analysis/analyzer.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace rtexec::traces {

inline Instant us(std::int64_t time) { return Instant{} + std::chrono::microseconds(time); }

inline TaskSetup task(std::string name, Duration period, unsigned rank, unsigned core = 1) {
  TaskSetup setup;
  setup.name = std::move(name);
  setup.promised = true;
  setup.period = setup.deadline = setup.device_done_by = period;
  setup.wcet = {.before = period, .device = period, .after = period};
  setup.core = core;
  setup.core_rank = setup.device_rank = rank;
  return setup;
}

class Script {
 public:
  using Kind = RecordKind;
  using Job = policies::JobId;

  explicit Script(std::vector<TaskSetup> tasks) { setup.tasks = std::move(tasks); }

  Record& add(Kind kind, std::int64_t at) {
    Record& record = records.emplace_back();
    record.kind = kind;
    record.at = record.time = us(at);
    return record;
  }
  Record& add(Kind kind, Job job, std::int64_t at) {
    Record& record = add(kind, at);
    record.job = job;
    return record;
  }
  void release(Job job, std::int64_t nominal, std::int64_t actual) {
    Record& record = add(Kind::job_release, job, actual);
    record.nominal = released_[job] = us(nominal);
    record.deadline = us(nominal) + setup.tasks[job.task].deadline;
    add(Kind::job_start, job, actual);
  }
  /// Ends the first part, which had its core for `executed` microseconds.
  void ready(Job job, std::int64_t at, std::int64_t executed) {
    add(Kind::cpu_end, job, at).executed = std::chrono::microseconds(executed);
  }
  void begin(Job job, std::int64_t at) { add(Kind::device_begin, job, at); }
  void end(Job job, std::int64_t at) { add(Kind::device_end, job, at); }
  /// Ends the device part, which had the device until `at` and executed for `executed` microseconds.
  void end(Job job, std::int64_t at, std::int64_t executed) {
    add(Kind::device_executed, job, at).executed = std::chrono::microseconds(executed);
    end(job, at);
  }
  /// The device ends the segment, and begins the next one at `next_at`.
  void pause(Job job, std::uint32_t segment, std::int64_t at, std::int64_t next_at) {
    add(Kind::segment_end, job, at).segment = segment;
    add(Kind::segment_begin, job, next_at).segment = segment + 1;
  }
  void finish(Job job, std::int64_t after, std::int64_t at, std::int64_t executed) {
    add(Kind::after_begin, job, after);
    Record& end = add(Kind::job_end, job, at);
    end.executed = std::chrono::microseconds(executed);
    end.response = end.at - released_[job];
  }
  void order(policies::Action::Kind kind, Job job, policies::Transfer transfer, std::int64_t at) {
    add(Kind::scheduler_input, at).input = {
        .kind = policies::Event::Kind::job_requested, .job = job, .now = us(at), .deadline = {}};
    add(Kind::scheduler_action, at).action = {kind, job, transfer};
  }
  void move(bool in, Job job, policies::Transfer transfer, std::int64_t begin, std::int64_t end) {
    add(in ? Kind::swap_in_begin : Kind::swap_out_begin, job, begin).transfer = transfer;
    add(in ? Kind::swap_in_end : Kind::swap_out_end, job, end).transfer = transfer;
  }
  /// Adds an undisturbed job: released at `nominal`, with parts of these lengths one after the other.
  void run(Job job, std::int64_t nominal, std::int64_t before, std::int64_t device, std::int64_t after) {
    release(job, nominal, nominal);
    ready(job, nominal + before, before);
    begin(job, nominal + before);
    end(job, nominal + before + device);
    finish(job, nominal + before + device, nominal + before + device + after, after);
  }

  /// Analyses the records in the order of time, as when a recording is read.
  [[nodiscard]] Analysis analyze(std::vector<AnalysisObserver*> observers = {},
                                 const std::vector<Loss>& losses = {}) const {
    std::vector<Record> sorted = records;
    std::ranges::stable_sort(sorted, {}, &Record::time);
    Analyzer analyzer(setup, std::move(observers));
    for (const Loss& loss : losses) analyzer.loss(loss);
    for (const Record& record : sorted) analyzer.record(record);
    ReadSummary read;
    read.events = records.size();
    for (const Loss& loss : losses) read.lost.events += loss.events;
    if (!sorted.empty()) read.last = sorted.back().time;
    return analyzer.finish(read);
  }

  RunSetup setup;
  std::vector<Record> records;

 private:
  std::map<Job, Instant> released_;
};

/// Collects the breakdown of every job.
class Jobs final : public AnalysisObserver {
 public:
  void job(const JobBreakdown& job) override { all.push_back(job); }
  [[nodiscard]] const JobBreakdown& of(policies::JobId job) const {
    return *std::ranges::find(all, job, &JobBreakdown::job);
  }
  std::vector<JobBreakdown> all;
};

inline Duration took(const JobBreakdown& job, Cause cause) { return job.by_cause[static_cast<std::size_t>(cause)]; }

inline Duration sum(const JobBreakdown& job) {
  Duration total{0};
  for (const Duration each : job.by_cause) total += each;
  return total;
}

} // namespace rtexec::traces
