#include "policies/bounds/core_assignment.hpp"

#include "policies/bounds/charges.hpp"
#include "policies/bounds/core_windows.hpp"
#include "policies/bounds/priorities.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

/// How a task chooses its core. Only cores count on which all tasks would keep their deadlines if the task were added.
/// The task takes the first such core, the core with the least load (`emptiest`), or the core with the highest load
/// (`fullest`).
enum class Fit { first, emptiest, fullest };

/// The order in which tasks choose their cores. Real-time tasks choose before best-effort tasks. Among real-time tasks,
/// the tasks with the largest share of a core choose first (`heaviest`), or the most urgent tasks (`most_urgent`).
enum class Turn { heaviest, most_urgent };

/// All cores in order of preference:
/// 1. The preferred cores: the isolated cores or, if none is isolated, all cores without service threads.
/// 2. Other cores without service threads.
/// 3. The core of the service threads.
/// 4. Cores with a memory bandwidth budget.
/// The compute core is used only if there is no other core.
struct Cores {
  std::vector<unsigned> all;
  std::size_t preferred = 0; // the number of preferred cores, which come first
};

Cores cores_of(const ResolvedSet& set) {
  Cores cores;
  const std::vector<unsigned>& there = set.machine.cores;
  const auto serves = [&](unsigned core) { return core == set.compute_core || core == set.service_core; };
  const auto regulated = [&](unsigned core) {
    return std::ranges::find(set.tasks.core_budgets, core, &CoreBudget::core) != set.tasks.core_budgets.end();
  };
  const auto isolated = [&](unsigned core) {
    return std::ranges::find(set.machine.isolated, core) != set.machine.isolated.end();
  };
  for (const unsigned core : there)
    if (!serves(core) && !regulated(core)) cores.all.push_back(core);
  const auto others = std::ranges::stable_partition(cores.all, isolated);
  cores.preferred = cores.all.size() - (others.size() == cores.all.size() ? 0 : others.size());
  if (set.service_core != set.compute_core && std::ranges::find(there, set.service_core) != there.end())
    cores.all.push_back(set.service_core);
  for (const unsigned core : there)
    if (!serves(core) && regulated(core)) cores.all.push_back(core);
  if (cores.all.empty()) cores.all = there;
  if (cores.preferred == 0) cores.preferred = cores.all.size();
  return cores;
}

class Packer {
 public:
  explicit Packer(const ResolvedSet& set) : tasks_(set.tasks), urgency_(by_urgency(set.tasks)) {
    base_.release_jitter = release_jitter(set.board).count();
    for (const Task& task : tasks_.tasks) {
      const Nanos before = on_core(task.wcet->before, set.board);
      const Nanos after = on_core(task.wcet->after, set.board);
      const Load looks = looks_of(task, set.board);
      parts_.push_back({.period = task.period.count(),
                        .deadline = task.deadline.count(),
                        .before = before,
                        .after = after,
                        .looks = looks});
      shares_.push_back(static_cast<double>(before + after) / static_cast<double>(task.period.count()) +
                        static_cast<double>(looks.cost) / static_cast<double>(looks.period));
    }
    chooses_ = std::ranges::any_of(tasks_.tasks, [](const Task& task) { return task.real_time() && !task.core; });
    place_.resize(urgency_.size());
    for (std::size_t k = 0; k < urgency_.size(); ++k) place_[urgency_[k]] = k;
    heaviest_first_ = urgency_;
    std::ranges::stable_sort(heaviest_first_, [&](std::size_t a, std::size_t b) {
      const bool first = tasks_.tasks[a].real_time();
      return first != tasks_.tasks[b].real_time() ? first : shares_[a] > shares_[b];
    });
  }

  CoreAssignment pack(const Cores& cores, Fit fit, Turn turn) {
    placed_.assign(tasks_.tasks.size(), std::nullopt);
    load_.clear();
    packed_.clear();
    for (std::size_t i = 0; i < tasks_.tasks.size(); ++i)
      if (tasks_.tasks[i].core) place(i, *tasks_.tasks[i].core);
    for (const std::size_t i : turn == Turn::heaviest ? heaviest_first_ : urgency_)
      if (!placed_[i])
        place(i, tasks_.tasks[i].real_time() ? choose(i, cores, fit)
                                             : emptiest(std::span(cores.all).first(cores.preferred)));
    CoreAssignment result;
    for (const auto& core : placed_) result.push_back(*core);
    return result;
  }

 private:
  /// A core with the real-time tasks that have been assigned to it so far, the most urgent first, and the response
  /// times of their CPU parts.
  struct Packed {
    std::vector<std::size_t> places; // indices into `urgency_`
    std::vector<Nanos> windows;
    bool fits = true; // true if all tasks in `places` keep their deadlines
  };

  void place(std::size_t task, unsigned core) {
    placed_[task] = core;
    load_[core] += shares_[task];
    if (chooses_ && tasks_.tasks[task].real_time()) packed_[core] = with(task, core);
  }

  unsigned emptiest(std::span<const unsigned> cores) {
    return *std::ranges::min_element(cores, {}, [&](unsigned core) { return load_[core]; });
  }
  unsigned fullest(std::span<const unsigned> cores) {
    return *std::ranges::max_element(cores, {}, [&](unsigned core) { return load_[core]; });
  }

  unsigned choose(std::size_t task, const Cores& cores, Fit fit) {
    for (const auto& [from, to] :
         {std::pair(std::size_t{0}, cores.preferred), std::pair(cores.preferred, cores.all.size())}) {
      std::vector<unsigned> fitting;
      for (std::size_t i = from; i < to; ++i)
        if ((fit != Fit::first || fitting.empty()) && fits(task, cores.all[i])) fitting.push_back(cores.all[i]);
      if (fitting.empty()) continue;
      return fit == Fit::first ? fitting.front() : fit == Fit::emptiest ? emptiest(fitting) : fullest(fitting);
    }
    return emptiest(cores.all);
  }

  /// True if the tasks of `core` would pass the test `core N` with `task` added to them.
  bool fits(std::size_t task, unsigned core) { return with(task, core).fits; }

  /// Returns the core with `task` added. Computes the response times of `task` and of less urgent tasks; response times
  /// of more urgent tasks do not change. Stops at the first task that misses its deadline.
  Packed with(std::size_t task, unsigned core) {
    Packed packed = packed_[core];
    const std::size_t own = place_[task];
    const auto at = std::ranges::lower_bound(packed.places, own) - packed.places.begin();
    packed.places.insert(packed.places.begin() + at, own);
    packed.windows.insert(packed.windows.begin() + at, 0);
    std::vector<Load> loads;
    for (std::size_t k = 0; packed.fits && k < packed.places.size(); ++k) {
      const StagedTask& part = parts_[urgency_[packed.places[k]]];
      if (k >= static_cast<std::size_t>(at)) {
        const FixedPoint found = core_window(base_, part, both_parts(part), loads, packed.windows[k]);
        packed.windows[k] = found.value;
        packed.fits = found.settled && base_.release_jitter + found.value <= part.deadline;
      }
      loads.push_back(load_of_both(base_, part));
    }
    return packed;
  }

  const TaskSet& tasks_;
  const std::vector<std::size_t> urgency_;
  std::vector<std::size_t> heaviest_first_;
  std::vector<std::size_t> place_; // by task: its index in `urgency_`
  StagedSet base_;
  std::vector<StagedTask> parts_; // by task: its parts with their charges, as if all tasks were on one core
  std::vector<double> shares_;    // by task: the share of a core that the task needs
  std::vector<std::optional<unsigned>> placed_;
  bool chooses_ = false; // true if at least one real-time task names no core
  std::map<unsigned, double> load_;
  std::map<unsigned, Packed> packed_;
};

/// Returns the cores that the tasks name, or nullopt if a task names no core.
std::optional<CoreAssignment> named_cores(const TaskSet& tasks) {
  CoreAssignment cores;
  for (const Task& task : tasks.tasks) {
    if (!task.core) return std::nullopt;
    cores.push_back(*task.core);
  }
  return cores;
}

} // namespace

void core_assignments(const ResolvedSet& set, const std::function<bool(const CoreAssignment&)>& take) {
  if (const auto named = named_cores(set.tasks)) {
    take(*named);
    return;
  }
  const Cores cores = cores_of(set);
  const Cores alike{.all = cores.all, .preferred = cores.all.size()};
  Packer packer(set);
  std::vector<CoreAssignment> found;
  for (const auto& [where, fit, turn] :
       {std::tuple(&cores, Fit::first, Turn::heaviest), std::tuple(&cores, Fit::emptiest, Turn::heaviest),
        std::tuple(&cores, Fit::fullest, Turn::heaviest), std::tuple(&alike, Fit::emptiest, Turn::heaviest),
        std::tuple(&alike, Fit::emptiest, Turn::most_urgent)}) {
    CoreAssignment assignment = packer.pack(*where, fit, turn);
    if (std::ranges::find(found, assignment) != found.end()) continue;
    if (take(assignment)) return;
    found.push_back(std::move(assignment));
  }
}

} // namespace rtexec::policies
