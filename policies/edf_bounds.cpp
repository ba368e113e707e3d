#include "policies/core_windows.hpp"
#include "policies/end_to_end.hpp"

#include <utility>

namespace rtexec::policies {
namespace {

/// One split of all deadlines follows from one number per task, the instant at which its device part is to be done.
/// Given those of the tasks above, the first part needs its window, the last part needs its window, and a longer
/// deadline on the device only lowers h(t): so the device gets the rest. Lowering a task's own instant hurts it, but
/// its last part then disturbs the tasks below less often. A task that does not use the device has nothing to split.
class SplitSearch {
 public:
  explicit SplitSearch(const StagedSet& set) : set_(set), caps_(set.tasks.size(), unbounded), best_(evaluate()) {}

  EdfBounds search(Effort effort) {
    while (effort == Effort::full && best_.demand.settled && !best_.proved() && improve()) {}
    return std::move(best_);
  }

 private:
  static constexpr int most_evaluations = 2000;
  static constexpr Nanos grid = 8;

  EdfBounds evaluate() const {
    std::vector<StageBounds> splits;
    for (std::size_t i = 0; i < set_.tasks.size(); ++i) {
      const StagedTask& task = set_.tasks[i];
      const std::vector<Load> loads = loads_above(set_, i, splits);
      if (!task.uses_device()) {
        StageBounds& own = splits.emplace_back(bounds_off_device(set_, task, loads));
        own.settled = own.settled && own.done <= task.deadline;
        continue;
      }
      const FixedPoint first = core_window(set_, task, {task.before, task.lines_before}, loads);
      const FixedPoint last = core_window(set_, task, {task.after, task.lines_after}, loads);
      StageBounds& split = splits.emplace_back();
      split.ready = set_.release_jitter + first.value;
      split.last_window = last.value;
      split.device_done = std::min(caps_[i], task.deadline - last.value);
      split.settled = first.settled && last.settled;
    }
    return edf_device(set_, std::move(splits));
  }

  /// The least of the device, and of the tasks that do not use it.
  Nanos slack(const EdfBounds& bounds) const {
    Nanos least = bounds.demand.tightest.slack();
    for (std::size_t i = 0; i < set_.tasks.size(); ++i)
      if (const StagedTask& task = set_.tasks[i]; !task.uses_device())
        least = std::min(least, task.deadline - bounds.tasks[i].done);
    return least;
  }

  /// Takes the first cap that raises the least slack.
  bool improve() {
    for (std::size_t j = 0; j < set_.tasks.size(); ++j)
      for (const Nanos cap : candidates(j)) {
        if (++evaluations_ > most_evaluations) return false;
        const Nanos kept = std::exchange(caps_[j], cap);
        EdfBounds tried = evaluate();
        if (tried.demand.settled && slack(tried) > slack(best_)) {
          best_ = std::move(tried);
          return true;
        }
        caps_[j] = kept;
      }
    return false;
  }

  /// The largest caps at which a window below would hold one last part of `j` less, and a coarse grid.
  std::vector<Nanos> candidates(std::size_t j) const {
    const StagedTask& task = set_.tasks[j];
    const StageBounds& now = best_.tasks[j];
    const Nanos least = now.ready + task.on_device();
    std::vector<Nanos> caps;
    const auto add = [&](Nanos cap) {
      if (cap >= least && cap < now.device_done) caps.push_back(cap);
    };
    bool disturbs = false;
    for (std::size_t i = j + 1; i < set_.tasks.size(); ++i) {
      if (set_.tasks[i].core != task.core) continue;
      disturbs = true;
      const StageBounds& below = best_.tasks[i];
      const Nanos first = set_.tasks[i].uses_device() ? below.ready : below.done;
      for (const Nanos window : {first - set_.release_jitter, below.last_window}) {
        const auto jobs = static_cast<Nanos>(jobs_in({task.period, task.after, now.device_done}, window));
        add((jobs - 1) * task.period - (window - task.after));
      }
    }
    if (disturbs)
      for (Nanos step = grid - 1; step >= 0; --step) add(least + (now.device_done - least) / grid * step);
    return caps;
  }

  const StagedSet& set_;
  std::vector<Nanos> caps_; // on device_done, by task
  EdfBounds best_;
  int evaluations_ = 0;
};

} // namespace

EdfBounds edf_device(const StagedSet& set, std::vector<StageBounds> split) {
  EdfBounds bounds{.tasks = std::move(split), .on_device = {}, .device = {}, .demand = {}};
  // h(L) + delay <= L for deadlines d is h(L') <= L' for deadlines d - delay.
  for (std::size_t i = 0; i < bounds.tasks.size(); ++i) {
    if (!set.tasks[i].uses_device()) continue;
    const Nanos deadline = bounds.tasks[i].device_done - bounds.tasks[i].ready - set.device_delay;
    bounds.on_device.push_back(i);
    bounds.device.push_back(
        {set.tasks[i].period, deadline, set.tasks[i].device, set.tasks[i].load, set.tasks[i].blocking});
  }
  bounds.demand = analyse_demand(bounds.device, set.background, set.background_load);
  for (std::size_t k = 0; k < bounds.on_device.size(); ++k) {
    StageBounds& task = bounds.tasks[bounds.on_device[k]];
    task.settled = task.settled && bounds.demand.settled;
    if (task.settled) task.done = task.device_done - bounds.demand.slack[k] + task.last_window;
  }
  return bounds;
}

EdfBounds edf_bounds(const StagedSet& set, Effort effort) { return SplitSearch(set).search(effort); }

} // namespace rtexec::policies
