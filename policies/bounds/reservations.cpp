#include "policies/bounds/reservations.hpp"

#include <cmath>
#include <set>
#include <utility>

namespace rtexec::policies {
namespace {

Nanos clamped_window(Nanos window, Nanos runtime) {
  return std::clamp(window, std::max(shortest_window, runtime), std::max(longest_window, runtime));
}

/// Splits the window w of one task into a window x for its first part and a window w - x for its last part. With
/// runtimes q and p, the parts take the share q/x + p/(w - x) of the core. The share is least if x : (w - x) equals
/// sqrt(q) : sqrt(p).
CpuWindows split(const StagedTask& task, double window) {
  const Nanos before = runtime_of(task.before);
  const Nanos after = runtime_of(task.after);
  const double first = std::sqrt(static_cast<double>(before));
  const double part = first / (first + std::sqrt(static_cast<double>(after)));
  return {clamped_window(static_cast<Nanos>(window * part), before),
          clamped_window(static_cast<Nanos>(window * (1 - part)), after)};
}

/// Returns the windows of the reservations: `windows`, each extended by the task's backlog after a stop of the machine.
/// The extension ensures that a window of a reservation never contains the work of two jobs.
CpuWindows with_backlog(const StagedTask& task, const CpuWindows& windows) {
  return {windows.before + task.backlog, windows.after + task.backlog};
}

/// Returns for each part the longest time from the part becoming ready to its end. If no other thread has a reservation
/// on the core (`alone`), only spurious wake-ups of the task's two threads delay a part. Each of these threads executes
/// one part of the task.
CpuWindows time_to_end(const StagedTask& task, const CpuWindows& windows) {
  const CpuWindows own = with_backlog(task, windows);
  if (!task.alone) return own;
  return {std::min(own.before, runtime_of(task.before) + spare_runtime),
          std::min(own.after, runtime_of(task.after) + spare_runtime)};
}

/// Returns the bounds of a task that does not use the device.
StageBounds off_device(const StagedSet& set, const CpuWindows& ends) {
  const Nanos ready = set.release_jitter + ends.before;
  return {.ready = ready, .device_done = ready, .last_window = ends.after, .done = ready + ends.after, .settled = true};
}

EdfBounds evaluate_edf(const StagedSet& set, std::span<const CpuWindows> windows) {
  std::vector<StageBounds> splits;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const StagedTask& task = set.tasks[i];
    const CpuWindows ends = time_to_end(task, windows[i]);
    if (!task.uses_device()) splits.push_back(off_device(set, ends));
    else
      splits.push_back({.ready = set.release_jitter + ends.before,
                        .device_done = task.deadline - with_backlog(task, windows[i]).after,
                        .last_window = ends.after,
                        .done = 0,
                        .settled = true});
  }
  return edf_device(set, std::move(splits));
}

Nanos min_slack(const StagedSet&, const EdfBounds& bounds) {
  return bounds.demand.settled ? bounds.demand.tightest.slack() : -unbounded;
}

std::vector<StageBounds> evaluate_static_priority(const StagedSet& set, std::span<const CpuWindows> windows) {
  const std::vector<Overlap> overlaps = set.overlapped();
  std::vector<StageBounds> bounds;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const StagedTask& task = set.tasks[i];
    const CpuWindows ends = time_to_end(task, windows[i]);
    if (!task.uses_device()) {
      bounds.push_back(off_device(set, ends));
      continue;
    }
    const Nanos ready = set.release_jitter + ends.before;
    const DeviceResponse device = static_priority_device(set, overlaps, i, bounds, ready);
    const Nanos given = with_backlog(task, windows[i]).after;
    const Nanos last = device.from_release + given <= task.deadline ? ends.after : given;
    bounds.push_back({.ready = ready,
                      .device_done = device.from_release,
                      .last_window = last,
                      .done = device.from_release + last,
                      .settled = device.settled});
  }
  return bounds;
}

Nanos min_slack(const StagedSet& set, const std::vector<StageBounds>& bounds) {
  Nanos least = unbounded;
  for (std::size_t i = 0; i < bounds.size(); ++i)
    least = std::min(least, set.tasks[i].deadline - bounds[i].done - (bounds[i].settled ? 0 : unbounded));
  return least;
}

/// Searches for the windows of reservations. A longer window takes a smaller share of a core, but leaves less of the
/// deadline to the device. For given proportions between the tasks' windows, the shortest windows that fit on each core
/// are best for the device. So the search varies the proportions. The *room* of a task is its deadline less release
/// jitter and device part. At first, the windows of every task take the same fraction of the task's room. The *weight*
/// of a task multiplies this fraction.
template <class Bounds> class WindowSearch {
 public:
  using Evaluate = Bounds (*)(const StagedSet&, std::span<const CpuWindows>);

  WindowSearch(const StagedSet& set, const ServiceThreads& services, Evaluate evaluate)
      : set_(set),
        services_(services),
        evaluate_(evaluate),
        room_(room_beside_device(set)),
        weights_(set.tasks.size(), 1.0) {
    for (const StagedTask& task : set.tasks) cores_.insert(task.core);
  }

  Reserved<Bounds> search(Effort effort) {
    best_ = evaluated(shortest_windows(false));
    if (!best_.fits) return evaluated(shortest_windows(true));
    while (effort != Effort::quick && min_slack(set_, best_.bounds) < 0 && improve()) {}
    return std::move(best_);
  }

 private:
  static constexpr int max_evaluations = 400;
  static constexpr int steps = 1 << 14;      // the number of steps from 0 to the room of a task
  static constexpr int longest = 64 * steps; // the largest step: windows of 64 times the room, for `beyond`

  /// Returns the window of a task at step `step` of the search: the fraction `step` / `steps` of the task's room,
  /// multiplied by the task's weight. `beyond`: true if windows may exceed the room, so that a forced run (--force) can
  /// start.
  double window(std::size_t task, int step, bool beyond) const {
    const auto room = static_cast<double>(room_[task]);
    const double wanted = room * weights_[task] * step / steps;
    return beyond ? wanted : std::min(wanted, room);
  }

  void set_windows(unsigned core, int step, bool beyond, std::vector<CpuWindows>& windows) const {
    for (std::size_t i = 0; i < set_.tasks.size(); ++i)
      if (set_.tasks[i].core == core) windows[i] = split(set_.tasks[i], window(i, step, beyond));
  }

  bool has_room(unsigned core, std::span<const CpuWindows> windows) const {
    return reserved_share(set_, windows, core) + services_.share_on(core) <= reservable;
  }

  std::vector<CpuWindows> shortest_windows(bool beyond) const {
    std::vector<CpuWindows> windows(set_.tasks.size());
    for (const unsigned core : cores_) {
      int too_short = 0;
      int enough = longest; // remains `longest` if no step is enough
      while (enough - too_short > 1) {
        const int middle = too_short + (enough - too_short) / 2;
        set_windows(core, middle, beyond, windows);
        (has_room(core, windows) ? enough : too_short) = middle;
      }
      set_windows(core, enough, beyond, windows);
    }
    return windows;
  }

  Reserved<Bounds> evaluated(std::vector<CpuWindows> windows) const {
    bool fits = std::ranges::all_of(cores_, [&](unsigned core) { return has_room(core, windows); });
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const StagedTask& task = set_.tasks[i];
      const CpuWindows own = with_backlog(task, windows[i]);
      fits = fits && own.before + own.after <= task.deadline - set_.release_jitter - set_.device_time(task);
      fits = fits && std::max(runtime_of(task.before), runtime_of(task.after)) <= longest_window;
    }
    Bounds bounds = evaluate_(set_, windows);
    return {std::move(windows), fits, std::move(bounds)};
  }

  /// Changes the weight of one task (see the class), which makes the windows of this task longer or shorter relative to
  /// the windows of other tasks. Keeps the first change that raises the least slack of the set. Returns false if no
  /// change raises the least slack.
  bool improve() {
    for (double& weight : weights_)
      for (const double factor : {0.5, 2.0, 0.8, 1.25}) {
        if (++evaluations_ > max_evaluations) return false;
        const double kept = std::exchange(weight, weight * factor);
        Reserved<Bounds> tried = evaluated(shortest_windows(false));
        if (tried.fits && min_slack(set_, tried.bounds) > min_slack(set_, best_.bounds)) {
          best_ = std::move(tried);
          return true;
        }
        weight = kept;
      }
    return false;
  }

  const StagedSet& set_;
  const ServiceThreads& services_;
  const Evaluate evaluate_;
  const std::vector<Nanos> room_;
  /// The weight of each task (see the class)
  std::vector<double> weights_;
  std::set<unsigned> cores_;
  Reserved<Bounds> best_;
  int evaluations_ = 0;
};

} // namespace

Nanos with_pauses(Nanos part) { return part + (part + 8) / 9; }

std::optional<CpuReservation> never_used_up(std::span<const Load> arrivals) {
  constexpr Wide whole = 10, share = 9; // the runtime is the fraction `share` / `whole` of the window, as in `slices`
  /// The longest window. A part that exceeds its WCET then pauses for at most 10 ms
  constexpr Nanos longest = 100'000'000;
  const FixedPoint window = least_fixed_point(slices.window.count(), longest, [&](Nanos w) {
    Wide work = spare_runtime;
    for (const Load& each : arrivals) work += jobs_in(each, w) * each.cost;
    return std::max<Wide>(slices.window.count(), (work * whole + share - 1) / share);
  });
  if (!window.settled) return std::nullopt;
  return CpuReservation{.runtime = Duration(window.value - window.value / whole), .window = Duration(window.value)};
}

CpuReservation scheduler_reservation(std::size_t tasks, Duration context_switch, const std::optional<Traffic>& traffic,
                                     Duration platform_stall) {
  const Nanos min_window = std::max<Nanos>(1'000'000, platform_stall.count());
  const Nanos longest = std::max(longest_service, min_window);
  constexpr Wide events = 3;       // the number of events of one task in one window
  constexpr Wide part_of_core = 5; // the scheduler gets a fifth of its core
  const auto runtime = [&](Nanos window) {
    const Wide transfers = traffic ? traffic->in(window) + traffic->out(window) : 0;
    return spare_runtime + (events * tasks + transfers) * event_cost(context_switch).count();
  };
  const FixedPoint window = least_fixed_point(min_window, traffic ? longest : unbounded, [&](Nanos w) {
    return std::max<Wide>(min_window, part_of_core * runtime(w));
  });
  if (!window.settled)
    return {.runtime = Duration(longest / static_cast<Nanos>(part_of_core)), .window = Duration(longest)};
  return {.runtime = Duration(static_cast<Nanos>(runtime(window.value))), .window = Duration(window.value)};
}

Nanos ServiceThreads::share_on(unsigned on_core) const {
  if (core != on_core) return 0;
  Utilisation share;
  share.add(reserved.scheduler.runtime.count(), reserved.scheduler.window.count());
  if (reserved.copy) share.add(2 * reserved.copy->runtime.count(), reserved.copy->window.count());
  return share.per_second();
}

Nanos reserved_share(const StagedSet& set, std::span<const CpuWindows> windows, unsigned core) {
  Utilisation share;
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    if (set.tasks[i].core != core) continue;
    share.add(runtime_of(set.tasks[i].before), windows[i].before);
    share.add(runtime_of(set.tasks[i].after), windows[i].after);
  }
  return share.per_second();
}

std::vector<CpuWindows> split_windows(const StagedSet& set, std::span<const Nanos> room) {
  std::vector<CpuWindows> windows;
  for (std::size_t i = 0; i < set.tasks.size(); ++i)
    windows.push_back(split(set.tasks[i], static_cast<double>(room[i])));
  return windows;
}

std::vector<Nanos> room_beside_device(const StagedSet& set) {
  std::vector<Nanos> room;
  for (const StagedTask& task : set.tasks)
    room.push_back(std::max(task.deadline - set.release_jitter - set.device_time(task) - 2 * task.backlog,
                            runtime_of(task.before) + runtime_of(task.after)));
  return room;
}

Reserved<EdfBounds> reserved_edf_bounds(const StagedSet& set, const ServiceThreads& services, Effort effort) {
  return WindowSearch<EdfBounds>(set, services, evaluate_edf).search(effort);
}

Reserved<std::vector<StageBounds>> reserved_static_priority_bounds(const StagedSet& set, const ServiceThreads& services,
                                                                   Effort effort) {
  auto reserved = WindowSearch<std::vector<StageBounds>>(set, services, evaluate_static_priority).search(effort);
  const auto late = [&](std::size_t i) {
    return !reserved.bounds[i].settled || reserved.bounds[i].done > set.tasks[i].deadline;
  };
  for (std::size_t i = 0; i < reserved.bounds.size(); ++i)
    if (late(i)) reserved.bounds.resize(i + 1);
  return reserved;
}

} // namespace rtexec::policies
