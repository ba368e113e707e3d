#include "rtexec/runtime/executive/chain_runs.hpp"

#include "rtexec/runtime/channels/task_link.hpp"

#include <algorithm>
#include <cstring>

namespace rtexec::executive {

using policies::ChainStamp;

/// Selects no data if the previous task has not written an output yet.
void ChainPlace::look(Instant when) noexcept {
  if (before_ == nullptr) return;
  held_.reset();
  const auto value = before_->newest(0, when);
  if (!value) return;
  held_.emplace();
  std::memcpy(&*held_, value->bytes.data(), sizeof(ChainStamp));
}

void ChainPlace::read(const Reading& reading) noexcept {
  if (before_ != nullptr) return;
  held_ = from_sampling_ ? ChainStamp::of_sample(reading.sampled)
                         : ChainStamp{.job = ++jobs_, .event = reading.event, .read = reading.at};
}

void ChainPlace::write(Instant at) noexcept {
  if (!held_) return;
  if (behind_ == nullptr) return statistics_->add(end_->output(*held_, at));
  behind_->write({.sampled = held_->read, .visible = at},
                 [&](std::span<std::byte> bytes) { std::memcpy(bytes.data(), &*held_, sizeof(ChainStamp)); });
}

ChainRuns::ChainRuns(const TaskSet& tasks, const Plan& plan) {
  for (std::size_t i = 0; i < tasks.chains.size(); ++i) {
    const rtexec::Chain& asked = tasks.chains[i];
    const auto task_of = [&](std::size_t place) {
      return static_cast<std::uint32_t>(std::ranges::find(tasks.tasks, asked.tasks[place], &Task::name) -
                                        tasks.tasks.begin());
    };
    const Task& first = tasks.tasks[task_of(0)];
    auto& chain = *chains_.emplace_back(
        std::make_unique<Chain>(asked.name, first.input_delay.has_value(), first.trigger != Trigger::timer));
    chain.statistics.promise(plan.chains[i]);
    for (std::size_t place = 0; place < asked.tasks.size(); ++place) {
      const Task& task = tasks.tasks[chain.tasks.emplace_back(task_of(place))];
      ChainPlace& added = *chain.places.emplace_back(std::make_unique<ChainPlace>());
      added.statistics_ = &chain.statistics;
      added.end_ = &chain.end;
      added.from_sampling_ = first.input_delay.has_value();
      if (place > 0) added.before_ = chain.links.back().get();
      if (place + 1 == asked.tasks.size()) break;
      const Task& reader = tasks.tasks[task_of(place + 1)];
      added.behind_ = chain.links
                          .emplace_back(std::make_unique<channels::LatestMailbox>(
                              sizeof(ChainStamp), 1, channels::values_to_keep(asked.communicate, task, reader)))
                          .get();
    }
  }
}

std::vector<ChainPlace*> ChainRuns::places_of(std::uint32_t task) const {
  std::vector<ChainPlace*> places;
  for (const auto& chain : chains_)
    for (std::size_t i = 0; i < chain->tasks.size(); ++i)
      if (chain->tasks[i] == task) places.push_back(chain->places[i].get());
  return places;
}

std::vector<ChainReport> ChainRuns::report() const {
  std::vector<ChainReport> reports;
  for (const auto& chain : chains_) reports.push_back(chain->statistics.report());
  return reports;
}

std::vector<ChainStatus> ChainRuns::first_status() const {
  std::vector<ChainStatus> all;
  for (const ChainReport& chain : report()) {
    ChainStatus& status = all.emplace_back();
    status.name = chain.name;
    status.bound = chain.reaction.bound.value_or(Duration(0));
  }
  return all;
}

void ChainRuns::show(std::vector<ChainStatus>& chains) const {
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const ChainStatistics& statistics = chains_[i]->statistics;
    chains[i].above = statistics.above();
    chains[i].reactions = statistics.count();
    chains[i].longest = statistics.longest();
  }
}

} // namespace rtexec::executive
