#include "rtexec/runtime/executive/steal_watch.hpp"

#include "traces/emit.hpp"

#include <algorithm>

namespace rtexec::executive {

void StealWatch::watch(const std::set<unsigned>& cores, unsigned compute_core, const std::filesystem::path& root) {
  const std::lock_guard lock(mutex_);
  stolen_ = hal::StolenTime(cores, root);
  for (const auto& [core, time] : stolen_.read())
    cores_.push_back({.number = core, .at_first = time, .now = time, .last_stolen = {}});
  compute_core_ = compute_core;
  last_look_ = hal::now();
}

void StealWatch::add(TaskStatistics& statistics, unsigned core) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back({&statistics, core});
}

void StealWatch::look() noexcept {
  const std::lock_guard lock(mutex_);
  const Instant at = hal::now();
  auto core = cores_.begin();
  for (const auto& [number, time] : stolen_.read()) {
    const Duration taken = time - core->now;
    core->now = std::max(core->now, time);
    if (taken > Duration(0)) {
      core->last_stolen = at;
      traces::core_stolen(number, number == compute_core_, last_look_, at, taken);
    }
    ++core;
  }
  last_look_ = at;
  for (const Watched& task : tasks_) task.statistics->settle_thefts(last_stolen(task.core), last_stolen(compute_core_));
}

std::optional<Instant> StealWatch::last_stolen(unsigned core) const noexcept {
  const auto found = std::ranges::find(cores_, core, &Core::number);
  return found == cores_.end() ? std::nullopt : found->last_stolen;
}

std::vector<StolenReport> StealWatch::seen() const {
  const std::lock_guard lock(mutex_);
  std::vector<StolenReport> all;
  for (const Core& core : cores_)
    if (core.now > core.at_first) all.push_back({.core = core.number, .time = core.now - core.at_first});
  return all;
}

} // namespace rtexec::executive
