#include "test/policies/chain_oracle.hpp"

#include "policies/chains/chain_times.hpp"
#include "policies/scheduler/sporadic_gate.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rtexec::test {
namespace {

using Release = policies::ChainTask::Release;

/// Returns the job of the first task whose data the output of `job` contains; `job` is of the task at `place`.
std::optional<std::size_t> origin(const ChainHistory& history, std::size_t place, std::size_t job) {
  for (; place > 0; --place) {
    const std::vector<ChainJob>& before = history[place - 1];
    std::optional<std::size_t> newest;
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i].write <= history[place][job].read) newest = i;
    if (!newest) return std::nullopt;
    job = *newest;
  }
  return job;
}

/// Returns when the first output appears that is based on the data read by `job` of the first task.
std::optional<std::int64_t> answer(const ChainHistory& history, std::size_t job) {
  std::int64_t written = history[0][job].write;
  for (std::size_t place = 1; place < history.size(); ++place) {
    const auto first = std::ranges::find_if(history[place], [&](const ChainJob& each) { return each.read >= written; });
    if (first == history[place].end()) return std::nullopt;
    written = first->write;
  }
  return written;
}

Instant at(std::int64_t time) { return Instant{Duration(time)}; }

void add(std::int64_t& longest, const std::optional<Duration>& sample) {
  if (sample) longest = std::max(longest, sample->count());
}

} // namespace

Longest longest_of(const ChainHistory& history, bool triggered, bool from_sampling) {
  Longest longest;
  const std::size_t last = history.size() - 1;
  const std::vector<ChainJob>& first = history[0];
  const auto begin = [&](std::size_t job) { return from_sampling ? first[job].sampled : first[job].read; };
  std::optional<std::size_t> first_origin;
  for (std::size_t i = 0; i < history[last].size(); ++i) {
    const auto from = origin(history, last, i);
    if (!from) continue;
    if (!first_origin) first_origin = from;
    longest.reduced_age = std::max(longest.reduced_age, history[last][i].write - begin(*from));
    if (i + 1 < history[last].size()) longest.age = std::max(longest.age, history[last][i + 1].write - begin(*from));
  }
  for (std::size_t i = first_origin.value_or(first.size()); i + 1 < first.size(); ++i) {
    std::size_t next = i + 1;
    while (from_sampling && !triggered && next < first.size() && first[next].sampled == first[i].sampled) ++next;
    if (next == first.size()) continue;
    if (const auto answered = answer(history, next))
      longest.reaction = std::max(longest.reaction, *answered - (triggered ? first[next].event : begin(i)));
  }
  return longest;
}

Longest longest_by_stamps(const ChainHistory& history, bool from_sampling) {
  policies::ChainTimes times(history.size(), false);
  struct Moment {
    std::int64_t instant;
    std::size_t place;
    bool reads;
    const ChainJob* job;
  };
  std::vector<Moment> moments; // at one instant in the order of the chain, job by job
  for (std::size_t place = 0; place < history.size(); ++place)
    for (const ChainJob& job : history[place]) {
      moments.push_back({job.read, place, true, &job});
      moments.push_back({job.write, place, false, &job});
    }
  std::ranges::stable_sort(moments, {}, [](const Moment& each) { return std::pair(each.instant, each.place); });
  Longest longest;
  for (const Moment& each : moments) {
    if (each.reads) {
      if (from_sampling && each.place == 0) times.reads_sample(at(each.job->sampled));
      else times.reads(each.place, at(each.instant), at(each.instant));
      continue;
    }
    const policies::ChainSamples samples = times.writes(each.place, at(each.instant));
    add(longest.reaction, samples.reaction);
    add(longest.age, samples.age);
    add(longest.reduced_age, samples.reduced_age);
  }
  return longest;
}

std::int64_t Choices::among(std::int64_t n) {
  if (random_ != nullptr) return std::uniform_int_distribution<std::int64_t>(0, n - 1)(*random_);
  if (at_ == made_.size()) made_.emplace_back(0, n);
  return made_[at_++].first;
}

bool Choices::next() {
  at_ = 0;
  if (random_ != nullptr) return true;
  while (!made_.empty() && made_.back().first + 1 == made_.back().second) made_.pop_back();
  if (made_.empty()) return false;
  ++made_.back().first;
  return true;
}

namespace {

/// Draws a job's read and write: both at once, both as late as possible, or an early read and a late write.
ChainJob executed(std::int64_t release, const policies::ChainTask& task, bool let, Choices& choices) {
  ChainJob job{.event = release, .release = release, .read = release, .write = release + task.output};
  if (let) return job;
  const std::int64_t how = choices.among(3);
  if (how == 1) job.read = job.write;
  if (how == 2) job.write = job.read = release + choices.among(2);
  job.write = std::min(job.write, release + task.output);
  job.read = std::min(job.read, job.write);
  return job;
}

std::vector<std::int64_t> releases_of(const policies::ChainTask& task, std::int64_t horizon, Choices& choices) {
  std::vector<std::int64_t> releases;
  std::int64_t at = task.offset;
  if (task.release == Release::sporadic) at += choices.among(2);
  for (; at <= horizon; at += task.period) {
    releases.push_back(at);
    if (task.release == Release::sporadic) at += choices.among(3);
  }
  return releases;
}

/// Returns the releases that a gate makes of the triggers.
std::vector<std::int64_t> releases_by(const policies::ChainTask& task, const std::vector<std::int64_t>& triggers) {
  policies::SporadicGate gate{Duration(task.period)};
  std::vector<std::int64_t> releases;
  const auto release_up_to = [&](std::int64_t now) {
    while (gate.next() && *gate.next() <= at(now)) {
      releases.push_back(gate.next()->time_since_epoch().count());
      gate.release(*gate.next());
    }
  };
  for (const std::int64_t trigger : triggers) {
    release_up_to(trigger);
    gate.trigger(at(trigger));
  }
  release_up_to(INT64_MAX / 2);
  return releases;
}

std::vector<std::int64_t> releases_after(const policies::ChainTask& task, const std::vector<ChainJob>& before) {
  std::vector<std::int64_t> writes;
  for (const ChainJob& job : before) writes.push_back(job.write);
  return releases_by(task, writes);
}

/// Returns all of `most`, none of it, or half.
std::int64_t share_of(std::int64_t most, Choices& choices) {
  const std::int64_t how = choices.among(3);
  return how == 0 ? most : how == 1 ? 0 : most / 2;
}

struct Samples {
  std::vector<std::int64_t> taken, seen;
};

/// Draws samples at least a period apart. Each is seen within the input delay, in order.
Samples samples_of(const policies::ChainTask& task, std::int64_t horizon, Choices& choices) {
  Samples samples;
  for (std::int64_t at = -choices.among(2); at <= horizon; at += task.period + choices.among(2)) {
    const std::int64_t delay = share_of(*task.input_delay, choices);
    samples.taken.push_back(at);
    samples.seen.push_back(std::max(at + delay, samples.seen.empty() ? INT64_MIN : samples.seen.back()));
  }
  return samples;
}

/// Chooses the sample that the next job of the first task reads. All earlier samples have been read by then.
void take_sample(ChainJob& job, const std::vector<ChainJob>& before, const policies::ChainTask& task,
                 const Samples& samples, Choices& choices) {
  const std::int64_t last = before.empty() ? INT64_MIN : before.back().sampled;
  if (task.release == Release::timer) {
    job.sampled = std::max(last, job.release - share_of(*task.input_delay, choices));
    return;
  }
  job.sampled = INT64_MIN;
  for (std::size_t k = 0; k < samples.taken.size() && samples.seen[k] <= job.read; ++k) {
    if (samples.taken[k] > last && job.sampled <= last) job.event = samples.taken[k]; // the first new sample
    job.sampled = samples.taken[k];
  }
  if (job.sampled == last) job.event = last;
}

bool shut_out(const policies::ChainTask& task, const std::vector<ChainJob>& jobs, const std::vector<ChainJob>& next) {
  if (!task.shuts_out) return true;
  for (const ChainJob& job : jobs)
    for (const ChainJob& other : next)
      if (other.read >= job.release + *task.shuts_out && other.read < job.write) return false;
  return true;
}

} // namespace

std::optional<ChainHistory> history_of(const std::vector<policies::ChainTask>& chain, bool let, std::int64_t horizon,
                                       Choices& choices) {
  ChainHistory history;
  for (std::size_t place = 0; place < chain.size(); ++place) {
    const policies::ChainTask& task = chain[place];
    const bool sampled = place == 0 && task.input_delay;
    const Samples samples =
        sampled && task.release == Release::sporadic ? samples_of(task, horizon, choices) : Samples{};
    const auto releases = !samples.taken.empty()           ? releases_by(task, samples.seen)
                          : task.release == Release::after ? releases_after(task, history.back())
                                                           : releases_of(task, horizon, choices);
    std::vector<ChainJob>& jobs = history.emplace_back();
    for (const std::int64_t release : releases) {
      ChainJob job = executed(release, task, let, choices);
      if (!jobs.empty()) job.read = std::max(job.read, jobs.back().write); // one job at a time
      job.write = std::max(job.read, job.write);
      if (!jobs.empty() && release == jobs.back().release + task.period) job.event = jobs.back().release;
      if (sampled) take_sample(job, jobs, task, samples, choices);
      jobs.push_back(job);
    }
    if (place > 0 && !shut_out(chain[place - 1], history[place - 1], jobs)) return std::nullopt;
  }
  return history;
}

std::optional<std::int64_t> reference_reaction(const std::vector<policies::ChainTask>& chain, ChainFault fault) {
  const bool waits = !chain[0].input_delay || (chain[0].release == Release::timer && fault != ChainFault::timer_waits);
  const std::int64_t delay = fault == ChainFault::no_delay ? 0 : chain[0].input_delay.value_or(0);
  std::int64_t sum = (waits && fault != ChainFault::no_wait ? chain[0].period : 0) +
                     (fault == ChainFault::quick_gate && chain[0].release == Release::sporadic ? delay / 2 : delay);
  std::size_t root = 0;
  std::int64_t since = 0; // time since the root's release
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const policies::ChainTask& task = chain[i];
    if (i > 0 && task.release == Release::sporadic) return std::nullopt;
    if (i > 0 && task.release == Release::timer && fault != ChainFault::sampled_at_once) {
      std::int64_t wait = task.period;
      if (chain[root].release == Release::timer) {
        // The latest time until the first release at or after the output.
        const std::int64_t grain = std::gcd(chain[root].period, task.period);
        wait -= grain;
        while (fault != ChainFault::no_phase && (chain[root].offset + since + wait - task.offset) % grain != 0) ++wait;
      }
      sum += wait;
    }
    if (task.release != Release::after) root = i, since = 0;
    std::int64_t takes = task.output;
    const bool sampled = i + 1 < chain.size() && chain[i + 1].release != Release::after;
    if (sampled && task.shuts_out) takes = fault == ChainFault::shut_out_at_once ? 0 : std::min(takes, *task.shuts_out);
    if (i + 1 == chain.size() && fault == ChainFault::no_output) takes = 0;
    since += takes;
    sum += takes;
  }
  return sum;
}

} // namespace rtexec::test
