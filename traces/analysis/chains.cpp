#include "traces/analysis/chains.hpp"

#include "traces/analysis/blame.hpp"

#include <algorithm>

namespace rtexec::traces {

Duration ChainStep::executed(Share::Where where) const {
  Duration sum{0};
  for (const Share& share : shares)
    if (share.cause == Cause::execution && share.where == where) sum += share.time;
  return sum;
}

void ChainFollower::Measure::add(const std::optional<Duration>& sample, const std::optional<Duration>& bound,
                                 const ChainStep& last) {
  if (!sample) return;
  times.add(*sample, last.job.number, last.output);
  above += bound && *sample > *bound;
}

ChainMeasure ChainFollower::Measure::measure(const std::optional<Duration>& bound,
                                             const std::optional<Duration>& limit) const {
  return {.times = times.distribution(), .bound = bound, .limit = limit, .above = above};
}

void ChainFollower::add(const ChainStep& job) {
  for (std::size_t place = 0; place < setup_.places.size(); ++place) {
    if (setup_.places[place].task != job.job.task) continue;
    const auto followed = std::make_shared<Followed>(Followed{job, nullptr});
    moments_.emplace(std::pair(job.read, place), Moment{false, followed});
    moments_.emplace(std::pair(job.output, place), Moment{true, followed});
  }
}

void ChainFollower::take_before(Instant until) {
  while (!moments_.empty() && moments_.begin()->first.first < until) {
    const auto first = moments_.extract(moments_.begin());
    take(first.key().second, first.mapped());
  }
}

/// Before the first output of the task before there is nothing to follow.
void ChainFollower::take(std::size_t place, const Moment& moment) {
  if (!moment.writes) {
    if (place > 0) moment.job->source = output_[place - 1];
    return;
  }
  if (place > 0 && !moment.job->source) return;
  output_[place] = moment.job;
  if (place + 1 == output_.size()) arrive(moment.job);
}

void ChainFollower::arrive(const std::shared_ptr<const Followed>& last) {
  const Followed* first = last.get();
  while (first->source) first = first->source.get();
  const policies::ChainSamples samples = end_.output(
      {.job = first->step.job.number, .event = first->step.nominal, .read = first->step.read}, last->step.output);
  const bool longest = samples.reaction && (!worst_ || *samples.reaction > worst_->reaction);
  reaction_.add(samples.reaction, setup_.reaction, last->step);
  age_.add(samples.age, setup_.age, last->step);
  reduced_age_.add(samples.reduced_age, setup_.reduced_age, last->step);
  if (longest) keep_way(last, *samples.reaction);
}

void ChainFollower::keep_way(const std::shared_ptr<const Followed>& last, Duration reaction) {
  worst_ = ChainWay{.event = last->step.output - reaction, .reaction = reaction, .steps = {}, .blame = {}};
  for (const Followed* each = last.get(); each != nullptr; each = each->source.get()) {
    worst_->steps.push_back(each->step);
    worst_->steps.back().there = each->source ? each->source->step.output : worst_->event;
  }
  std::ranges::reverse(worst_->steps);
}

ChainAnalysis ChainFollower::finish(const std::vector<TaskStatistics>& tasks) {
  take_before(Instant::max());
  if (worst_) explain(*worst_, tasks);
  return {.setup = setup_,
          .reaction = reaction_.measure(setup_.reaction, setup_.max_reaction),
          .age = age_.measure(setup_.age, setup_.max_age),
          .reduced_age = reduced_age_.measure(setup_.reduced_age, std::nullopt),
          .worst = std::move(worst_),
          .invalid = {}};
}

} // namespace rtexec::traces
