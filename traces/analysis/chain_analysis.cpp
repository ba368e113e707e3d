#include "traces/analysis/chain_analysis.hpp"

#include "traces/analysis/blame.hpp"

#include <algorithm>
#include <utility>

namespace rtexec::traces {
namespace {

constexpr std::size_t max_recent = 65'536; // maximum number of stored jobs of a task while the chain makes no progress
constexpr std::size_t max_longest = 4096;  // maximum number of reactions whose division is stored
constexpr std::uint64_t share_of_longest = 100;

} // namespace

Duration ChainDivision::whole() const {
  Duration sum{0};
  for (const ChainPart& part : parts) sum += part.waits + part.takes;
  return sum;
}

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

/// Processes a read or an output. If a job read before the previous task's first output, the job has no source, and its
/// output is ignored.
void ChainFollower::take(std::size_t place, const Moment& moment) {
  if (!moment.writes) {
    if (place > 0) moment.job->source = output_[place - 1];
    return;
  }
  if (place > 0 && !moment.job->source) return;
  output_[place] = moment.job;
  recent_[place].push_back(moment.job);
  if (recent_[place].size() > max_recent) recent_[place].pop_front();
  if (place + 1 == output_.size()) arrive(*moment.job);
}

void ChainFollower::arrive(const Followed& last) {
  const Followed* source = &last;
  while (source->source) source = source->source.get();
  const ChainStep& first = source->step;
  const Instant appears = last.step.output;
  const policies::ChainSamples samples = end_.output(stamp_of(first), appears);
  const bool longest = samples.reaction && (!worst_ || *samples.reaction > worst_->reaction);
  reaction_.add(samples.reaction, setup_.reaction, last.step);
  age_.add(samples.age, setup_.age, last.step);
  reduced_age_.add(samples.reduced_age, setup_.reduced_age, last.step);
  if (samples.reaction) {
    const Instant event = appears - *samples.reaction;
    if (find_way(event, setup_.triggered ? first.job.number : answered_ + 1, last.step)) {
      divide(event, *samples.reaction);
      if (longest) keep_way(event, last.step);
    }
  }
  answered_ = first.job.number;
  forget_before(first);
}

policies::ChainStamp ChainFollower::stamp_of(const ChainStep& first) const {
  if (setup_.from_sampling) return policies::ChainStamp::of_sample(first.sampled);
  return {.job = first.job.number, .event = first.nominal, .read = first.read};
}

/// Finds the path of the reaction to `event`, and stores it in `way_`. The path begins with the first job of the first
/// task that wrote an output, among the jobs from number `first` on. Each next job of the path is the first job of the
/// next task that could read the output of the previous job. If times count from sampling (`from_sampling`), the path
/// begins instead with a job of the first task whose input was sampled late enough. If events release the first task
/// (`triggered`), this is the first job whose input was sampled at `event` or later. Otherwise `event` stands for the
/// instant just after the sample at `event`, and the path begins with the first job whose input was sampled after
/// `event`. Returns true if the path ends with `last`.
bool ChainFollower::find_way(Instant event, std::uint64_t first, const ChainStep& last) {
  way_.clear();
  Instant there = event;
  for (std::size_t place = 0; place < recent_.size(); ++place) {
    const auto next = std::ranges::find_if(recent_[place], [&](const auto& job) {
      if (place > 0) return job->step.read >= there;
      if (!setup_.from_sampling) return job->step.job.number >= first;
      return setup_.triggered ? job->step.sampled >= event : job->step.sampled > event;
    });
    if (next == recent_[place].end()) return false;
    way_.push_back(&(*next)->step);
    there = (*next)->step.output;
  }
  return way_.back()->job == last.job;
}

void ChainFollower::keep_way(Instant event, const ChainStep& last) {
  worst_ = ChainPath{.event = event, .reaction = last.output - event, .steps = {}, .blame = {}};
  Instant there = event;
  for (const ChainStep* step : way_) {
    worst_->steps.push_back(*step);
    worst_->steps.back().there = std::exchange(there, step->output);
  }
}

void ChainFollower::divide(Instant event, Duration reaction) {
  const auto shorter = [](const Divided& a, const Divided& b) { return a.reaction > b.reaction; };
  Divided divided{.reaction = reaction, .pieces = {}};
  Instant there = event;
  for (const ChainStep* step : way_) {
    const Duration waits = step->until_release(there);
    divided.pieces.push_back(waits);
    divided.pieces.push_back(step->output - std::exchange(there, step->output) - waits);
  }
  ++ways_;
  sums_.resize(divided.pieces.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += divided.pieces[i];
  if (longest_.size() == max_longest) {
    if (reaction <= longest_.front().reaction) return;
    std::ranges::pop_heap(longest_, shorter);
    longest_.pop_back();
  }
  longest_.push_back(std::move(divided));
  std::ranges::push_heap(longest_, shorter);
}

ChainDivision ChainFollower::division(const std::vector<Duration>& sums, std::uint64_t reactions) const {
  ChainDivision division{.reactions = reactions, .parts = {}};
  const auto count = static_cast<Duration::rep>(reactions);
  for (std::size_t i = 0; reactions > 0 && i < sums.size(); i += 2)
    division.parts.push_back({.waits = sums[i] / count, .takes = sums[i + 1] / count});
  return division;
}

ChainDivision ChainFollower::longest() {
  std::ranges::sort(longest_, std::ranges::greater(), &Divided::reaction);
  longest_.resize(std::min<std::size_t>(longest_.size(), (ways_ + share_of_longest - 1) / share_of_longest));
  std::vector<Duration> sums(sums_.size());
  for (const Divided& divided : longest_)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += divided.pieces[i];
  return division(sums, longest_.size());
}

/// Discards the jobs that cannot be on the path of a later reaction. `first` is the first task's job whose data reached
/// the newest output.
void ChainFollower::forget_before(const ChainStep& first) {
  for (std::size_t place = 0; place < recent_.size(); ++place)
    while (!recent_[place].empty() && (place == 0 ? recent_[place].front()->step.job.number <= first.job.number
                                                  : recent_[place].front()->step.read < first.read))
      recent_[place].pop_front();
}

ChainAnalysis ChainFollower::finish(const std::vector<TaskStatistics>& tasks) {
  take_before(Instant::max());
  if (worst_) explain(*worst_, tasks);
  ChainAnalysis analysis{.setup = setup_,
                         .reaction = reaction_.measure(setup_.reaction, setup_.max_reaction),
                         .age = age_.measure(setup_.age, setup_.max_age),
                         .reduced_age = reduced_age_.measure(setup_.reduced_age, std::nullopt),
                         .worst = std::move(worst_),
                         .all = division(sums_, ways_),
                         .longest = longest(),
                         .advice = {},
                         .invalid = {}};
  analysis.advice = advice(analysis, tasks);
  return analysis;
}

} // namespace rtexec::traces
