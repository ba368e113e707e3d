#include "policies/bounds/core_windows.hpp"
#include "policies/bounds/end_to_end.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

/// Returns the indices of the tasks that use the device, and their device parts. The deadlines of the parts come from
/// `split`.
std::pair<std::vector<std::size_t>, std::vector<DemandTask>> device_parts(const StagedSet& set,
                                                                          std::span<const StageBounds> split) {
  std::pair<std::vector<std::size_t>, std::vector<DemandTask>> parts;
  // The demand test requires h(L) + device_delay <= L for each interval length L (proofs/edf.md). h(L) is the demand of
  // the device parts in the interval, and device_delay the longest pause of the compute engine. The requirement is
  // equivalent to h(L) <= L if the deadline of each part is shortened by device_delay.
  for (std::size_t i = 0; i < split.size(); ++i) {
    const StagedTask& task = set.tasks[i];
    if (!task.uses_device()) continue;
    parts.first.push_back(i);
    parts.second.push_back({.period = task.period,
                            .deadline = split[i].device_done - split[i].ready - set.device_delay,
                            .cost = task.device,
                            .load = task.load,
                            .delay = task.delay,
                            .blocking = task.blocking,
                            .jitter = split[i].ready + set.device_delay});
  }
  return parts;
}

DemandAnalysis demand_of(const StagedSet& set, std::span<const DemandTask> parts) {
  return set.preempts ? SegmentedAnalysis(set.in_classes(parts)).demand()
                      : analyse_demand(parts, set.best_effort_load());
}

/// Searches for a split of all deadlines. A split divides each deadline into a deadline for the first part, a deadline
/// for the device part and a deadline for the last part. One number per task determines the split, the *cap* of the
/// task: its device part must end by the cap, or earlier if the last part's window requires it.
///
/// The windows of the first and the last part of a task follow from the caps of the more urgent tasks. The device part
/// gets the rest of the deadline, since a longer deadline only lowers the demand of the device. If the cap of a task is
/// lowered, this task has less time. But the last part of this task then delays less urgent tasks less often. The
/// deadline of a task that does not use the device is not split.
class SplitSearch {
 public:
  explicit SplitSearch(const StagedSet& set) : set_(set), caps_(set.tasks.size(), unbounded) {
    for (std::size_t i = 0; i < set.tasks.size(); ++i) on_core_[set.tasks[i].core].push_back(i);
    std::vector<StageBounds> splits(set.tasks.size());
    for (const auto& [core, tasks] : on_core_) split(core, 0, splits);
    best_ = edf_device(set_, std::move(splits));
  }

  EdfBounds search(Effort effort) {
    if (effort == Effort::quick || !best_.demand.settled || best_.proved()) return std::move(best_);
    find_room();
    if ((effort == Effort::verdict || set_.tasks.size() > many) && infeasible()) return std::move(best_);
    while (!best_.proved() && improve()) {}
    return std::move(best_);
  }

 private:
  static constexpr int max_evaluations = 2000;
  /// If an infeasible set has more tasks than this, the search does not try to improve its bounds, even with
  /// Effort::full
  static constexpr std::size_t many = 64;
  static constexpr Nanos grid = 8;

  /// Splits the deadline of task `i`. `loads`: the loads that delay it on its core. `room`: windows from which the
  /// iteration starts; they must not be longer than the windows of the result.
  StageBounds split(std::size_t i, std::span<const Load> loads, const StageBounds& room = {}) const {
    const StagedTask& task = set_.tasks[i];
    if (!task.uses_device()) {
      StageBounds own = bounds_off_device(set_, task, loads);
      own.settled = own.settled && own.done <= task.deadline;
      return own;
    }
    const Nanos known = room.settled ? room.ready - set_.release_jitter : 0;
    const FixedPoint first = core_window(set_, task, {task.before, task.lines_before}, loads, known);
    const FixedPoint last =
        core_window(set_, task, {task.after, task.lines_after}, loads, room.settled ? room.last_window : 0);
    // If an iteration from `room` reaches no fixed point, it ends at a value that depends on its start. So the
    // iteration is repeated from 0.
    if (room.settled && !(first.settled && last.settled)) return split(i, loads);
    return {.ready = set_.release_jitter + first.value,
            .device_done = std::min(caps_[i], task.deadline - last.value),
            .last_window = last.value,
            .settled = first.settled && last.settled};
  }

  /// Splits the deadlines of the tasks of `core`, beginning at task `from`. The deadlines of more urgent tasks must
  /// already be split.
  void split(unsigned core, std::size_t from, std::vector<StageBounds>& splits) const {
    std::vector<Load> loads = threads_on(set_, core);
    for (const std::size_t i : on_core_.at(core)) {
      if (i >= from) splits[i] = split(i, loads, room_.empty() ? StageBounds{} : room_[i]);
      add_loads(set_, set_.tasks[i], splits[i].device_done, loads);
    }
  }

  /// Sets `room_` to the shortest windows of each task over all choices of caps (latest ends of device parts, see the
  /// class). Windows are shortest if the last parts of more urgent tasks become ready as early as any cap allows. Sets
  /// `longest_` to the longest windows, and `busy_` to a lower bound on the busy period.
  void find_room() {
    room_ = best_.tasks;
    for (const auto& [core, tasks] : on_core_) {
      std::vector<Load> loads = threads_on(set_, core);
      for (const std::size_t i : tasks) {
        const StagedTask& task = set_.tasks[i];
        const StageBounds widest = std::exchange(room_[i], split(i, loads));
        StageBounds& room = room_[i];
        const Nanos earliest = std::min(room.ready + task.on_device(), widest.device_done);
        add_loads(set_, task, widest.settled ? earliest : 0, loads);
        if (room.settled) continue;
        // The task has too little time even with the shortest windows.
        room.ready = 0;
        room.device_done = -1;
        room.done = task.deadline + 1;
      }
    }
    longest_ = room_;
    for (const auto& [core, tasks] : on_core_) {
      std::vector<Load> loads = threads_on(set_, core);
      for (const std::size_t i : tasks) {
        longest_[i] = split(i, loads);
        add_loads(set_, set_.tasks[i], set_.tasks[i].deadline - room_[i].last_window, loads);
      }
    }
    if (!set_.preempts) busy_ = busy_period(device_parts(set_, room_).second, set_.best_effort_load());
  }

  /// True if no choice of caps (latest ends of device parts) can prove the set. That is so if some deadline is missed
  /// even with the shortest windows of all tasks, `room_`.
  bool infeasible() const {
    if (no_better(room_, -1, false)) return true;
    if (!std::ranges::all_of(best_.device, blocks_no_longer_than_it_demands) || busy_ == unbounded) return false;
    const EdfBounds roomy = edf_device(set_, room_);
    return roomy.demand.settled && !roomy.demand.proved();
  }

  /// Returns the least slack of the device parts, and of the tasks that do not use the device.
  Nanos slack(const EdfBounds& bounds) const {
    Nanos least = bounds.demand.tightest.slack();
    for (std::size_t i = 0; i < set_.tasks.size(); ++i)
      if (const StagedTask& task = set_.tasks[i]; !task.uses_device())
        least = std::min(least, task.deadline - bounds.tasks[i].done);
    return least;
  }

  /// Tries lower caps until one cap raises the least slack of the set, and keeps this cap. Returns false if no cap
  /// raises it.
  bool improve() {
    const Nanos least = slack(best_);
    for (std::size_t j = 0; j < set_.tasks.size(); ++j)
      for (const Nanos cap : candidates(j)) {
        if (++evaluations_ > max_evaluations) return false;
        const Nanos kept = std::exchange(caps_[j], cap);
        if (auto tried = improved(j, least)) {
          best_ = std::move(*tried);
          return true;
        }
        caps_[j] = kept;
      }
    return false;
  }

  /// Returns the bounds with the cap that `caps_` has for task `j`. Returns nullopt if the slack of these bounds does
  /// not exceed `least`. The cheapest checks come first.
  std::optional<EdfBounds> improved(std::size_t j, Nanos least) const {
    std::vector<StageBounds> splits = best_.tasks;
    splits[j].device_done = std::min(caps_[j], set_.tasks[j].deadline - splits[j].last_window);
    const std::vector<StageBounds> above = splits;
    bool certain = true;
    for (const std::size_t i : on_core_.at(set_.tasks[j].core)) {
      if (i <= j) continue;
      splits[i] = room_[i];
      certain = certain && has_time_alone(i);
    }
    if (no_better(splits, least, certain)) return std::nullopt;
    splits = above;
    split(set_.tasks[j].core, j + 1, splits);
    if (no_better(splits, least, true)) return std::nullopt;
    EdfBounds tried = edf_device(set_, std::move(splits));
    if (!tried.demand.settled || slack(tried) <= least) return std::nullopt;
    return tried;
  }

  /// True if it is known that no split with the deadlines of `splits`, or with shorter deadlines, has a slack above
  /// `least` (< 0). The function examines two upper bounds on this slack. The first bound is the least slack of a task
  /// that is alone on the device. The second bound is the slack at the instant that is tightest for the best split so
  /// far. `certain`: each task that has enough time alone in `splits` also has enough time alone in every split with
  /// these or shorter deadlines.
  bool no_better(const std::vector<StageBounds>& splits, Nanos least, bool certain) const {
    for (std::size_t i = 0; i < splits.size(); ++i)
      if (!set_.tasks[i].uses_device() && set_.tasks[i].deadline - splits[i].done <= least) return true;
    const std::vector<DemandTask> device = device_parts(set_, splits).second;
    const Nanos alone = min_alone(device);
    if (alone <= least) return true;
    // If a task has too little time even alone on the device, the slack of this task may be the least slack of the set.
    // Then the slack at an instant is no upper bound on the least slack.
    if (alone < 0 || !certain || busy_ == unbounded) return false;
    const Nanos instant = best_.demand.tightest.instant;
    if (std::ranges::none_of(device, [&](const DemandTask& task) { return task.deadline <= instant; })) return false;
    if (!std::ranges::all_of(device, blocks_no_longer_than_it_demands)) return false;
    const Demand here = demand_at(device, set_.best_effort_load(), instant);
    return std::max(here.slack(), instant - busy_) <= least;
  }

  /// True if task `i` has enough time for its device part when no other task uses the device. This holds for all
  /// choices of the other tasks' caps (the latest ends of their device parts).
  bool has_time_alone(std::size_t i) const {
    const StagedTask& task = set_.tasks[i];
    const StageBounds& most = longest_[i];
    if (!task.uses_device()) return true;
    const Nanos done = std::min(caps_[i], task.deadline - most.last_window);
    return most.settled && done - most.ready >= set_.device_time(task);
  }

  /// Returns the least slack of the device parts if each task is alone on the device.
  static Nanos min_alone(std::span<const DemandTask> device) {
    Nanos least = unbounded;
    for (const DemandTask& task : device) least = std::min(least, task.deadline - task.load - task.cost);
    return least;
  }

  /// Returns lower caps to try for task `j`. Last parts of task `j` execute in the windows of less urgent tasks on its
  /// core. For each such window, one candidate is the largest cap that reduces the number of these last parts in the
  /// window by one. The other candidates form a coarse grid.
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
        const auto jobs =
            static_cast<Nanos>(jobs_in({task.period, task.after, now.device_done + set_.platform_stall}, window));
        add((jobs - 1) * task.period - (window - task.after));
      }
    }
    if (disturbs)
      for (Nanos step = grid - 1; step >= 0; --step) add(least + (now.device_done - least) / grid * step);
    return caps;
  }

  const StagedSet& set_;
  std::map<unsigned, std::vector<std::size_t>> on_core_; // tasks, the most urgent first
  std::vector<Nanos> caps_;                              // by task: the latest end of its device part
  EdfBounds best_;
  std::vector<StageBounds> room_;    // by task: the shortest windows that any choice of caps allows
  Nanos busy_ = unbounded;           // a lower bound on every busy period
  std::vector<StageBounds> longest_; // by task: the longest windows that any choice of caps allows
  int evaluations_ = 0;
};

} // namespace

SegmentedSet StagedSet::in_classes(std::span<const DemandTask> parts) const {
  SegmentedSet result{.tasks = {}, .background = best_effort(), .background_run = background_run, .flight = flight};
  for (const StagedTask& task : tasks)
    if (task.uses_device())
      result.tasks.push_back({.part = parts[result.tasks.size()],
                              .device_class = task.device_class,
                              .run = task.run,
                              .last = task.last,
                              .restore = task.restore});
  return result;
}

EdfBounds edf_device(const StagedSet& set, std::vector<StageBounds> split) {
  EdfBounds bounds{.tasks = std::move(split), .on_device = {}, .device = {}, .demand = {}};
  std::tie(bounds.on_device, bounds.device) = device_parts(set, bounds.tasks);
  bounds.demand = demand_of(set, bounds.device);
  for (std::size_t k = 0; k < bounds.on_device.size(); ++k) {
    StageBounds& task = bounds.tasks[bounds.on_device[k]];
    task.settled = task.settled && bounds.demand.settled;
    if (task.settled) task.done = task.device_done - bounds.demand.slack[k] + task.last_window;
  }
  return bounds;
}

EdfBounds edf_bounds(const StagedSet& set, Effort effort) { return SplitSearch(set).search(effort); }

} // namespace rtexec::policies
