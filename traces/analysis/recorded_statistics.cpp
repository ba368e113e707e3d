#include "traces/analysis/recorded_statistics.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::traces {
namespace {

double share(Duration part, Duration whole) {
  return whole > Duration(0) ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

} // namespace

void TaskStatistics::release(policies::JobId job, Instant nominal, Instant actual, Instant deadline) {
  if (last_ && job.number > last_->number + 1) unknown += job.number - last_->number - 1;
  unknown += std::exchange(miss_due, {}).has_value();
  ++released_;
  latency_.add(actual - nominal, job.number, actual);
  if (last_nominal_) inter_arrival_.add(nominal - *last_nominal_, job.number, nominal);
  last_nominal_ = nominal;
  forget_open();
  JobProgress& progress = open.emplace();
  progress.urgency = latest = {.device_class = setup_.device_class,
                               .rank = setup_.device_rank,
                               .deadline = nominal + setup_.device_done_by,
                               .job = job};
  progress.core = setup_.core;
  progress.core_rank = setup_.core_rank;
  progress.nominal = nominal;
  progress.deadline = deadline;
  if (last_ended_ > nominal) progress.before_it = last_;
  progress.before_it_ended = last_ended_;
  last_ = job;
}

void TaskStatistics::count_unexpected(policies::JobId job) {
  if (!last_ || unexpected_ == job) return;
  unexpected_ = job;
  if (job.number <= last_->number) return void(++unknown);
  unknown += job.number - last_->number;
  last_ = job;
}

void TaskStatistics::input(const Record& record, JobProgress& job) {
  ++inputs_.jobs;
  inputs_.stale += record.stale > 0;
  inputs_.failed += !record.ok;
  if (!record.ok) return;
  job.sampled = record.sampled;
  input_age_.add(record.at - record.sampled, record.job.number, record.at);
  if (record.sampled <= job.nominal) input_delay_.add(job.nominal - record.sampled, record.job.number, record.at);
}

void TaskStatistics::skip(Instant nominal, policies::ReleaseReason reason) {
  switch (reason) {
  case policies::ReleaseReason::overrun: ++skipped_by_.overrun; break;
  case policies::ReleaseReason::wcet_exceeded: ++skipped_by_.wcet_exceeded; break;
  case policies::ReleaseReason::stale: ++skipped_by_.stale; break;
  }
  unknown += last_skip_ && nominal <= *last_skip_;
  last_skip_ = nominal;
}

bool TaskStatistics::take_miss(policies::JobId job, Instant at, Instant deadline) {
  if (!miss_due || miss_due->job != job) return false;
  unknown += std::exchange(miss_due, {}) != Miss{job, at, deadline};
  return true;
}

void TaskStatistics::end(JobBreakdown&& job, Instant at) {
  last_ended_ = at;
  aborted_ += job.outcome == JobOutcome::aborted;
  failed_ += job.outcome == JobOutcome::failed;
  late_ += job.outcome == JobOutcome::late;
  if (job.outcome == JobOutcome::aborted || job.outcome == JobOutcome::failed) return;
  ++completed_;
  preemptions_ += job.preemptions.count;
  response_.add(job.response, job.job.number, at);
  for (std::size_t i = 0; i < causes; ++i) {
    total_[i] += job.by_cause[i];
    longest_[i] = std::max(longest_[i], job.by_cause[i]);
  }
  if (job.outcome == JobOutcome::in_time)
    for (const Share& share : job.shares)
      total_in_time_[static_cast<std::size_t>(share.cause)][static_cast<std::size_t>(share.where)] += share.time;
  if (!worst_ || job.response > worst_->response) worst_ = std::move(job);
}

/// If no job kept its deadline, returns the configured time for `execution`, and 0 for every other cause.
Duration TaskStatistics::usual(const Share& share) const {
  const std::uint64_t in_time = completed_ - late_;
  if (in_time > 0)
    return total_in_time_[static_cast<std::size_t>(share.cause)][static_cast<std::size_t>(share.where)] /
           static_cast<Duration::rep>(in_time);
  if (share.cause != Cause::execution) return Duration(0);
  return share.where == Share::Where::core ? setup_.wcet.before + setup_.wcet.after : setup_.longest_on_device();
}

StageAnalysis TaskStatistics::stage(const char* name, const Stage& stage, std::optional<Duration> configured,
                                    PwcetOptions options) const {
  options.block = stage.samples.block();
  return {.name = name,
          .times = stage.times.distribution(),
          .configured = configured,
          .pwcet = estimate_pwcet(stage.samples.samples(), options),
          .samples = stage.samples,
          .factors = {}};
}

TaskAnalysis TaskStatistics::analysis(const PwcetOptions& options, Duration recorded) const {
  TaskAnalysis result;
  result.setup = setup_;
  result.released = released_;
  result.completed = completed_;
  result.missed = late_ + aborted_ + failed_;
  result.skipped = skipped_by_.overrun + skipped_by_.wcet_exceeded + skipped_by_.stale;
  result.skipped_by = skipped_by_;
  result.aborted = aborted_;
  result.failed = failed_;
  result.unfinished = unfinished;
  result.unknown = unknown;
  result.release_latency = latency_.distribution();
  result.inter_arrival = inter_arrival_.distribution();
  result.release_jitter = latency_.max() - latency_.min();
  result.stages = {stage("before", before, setup_.wcet.before, options),
                   stage("device", device, setup_.longest_on_device(), options),
                   stage("after", after, setup_.wcet.after, options),
                   stage("response", response_, setup_.response_bound, options)};
  for (std::size_t i = 0; i < layers.size(); ++i)
    result.layers.push_back({.name = i < setup_.layers.size() ? setup_.layers[i] : std::to_string(i),
                             .times = layers[i].times.distribution(),
                             .configured = {},
                             .pwcet = {},
                             .factors = {}});
  for (std::size_t i = 0; i < causes; ++i)
    result.breakdown.push_back(
        {.cause = static_cast<Cause>(i),
         .total = total_[i],
         .mean = completed_ > 0 ? total_[i] / static_cast<Duration::rep>(completed_) : Duration(0),
         .max = longest_[i]});
  result.utilisation_core = share(before.times.sum() + after.times.sum(), recorded);
  result.utilisation_device = share(device.times.sum(), recorded);
  result.worst = worst_;
  if (inputs_.jobs > 0) {
    result.inputs = inputs_;
    result.inputs->age = input_age_.distribution();
    result.inputs->delay = input_delay_.distribution();
  }
  result.dropped_results = dropped_results;
  result.preemptions = preemptions_;
  result.longest_segment = longest_segment;
  return result;
}

} // namespace rtexec::traces
