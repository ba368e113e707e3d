#include "policies/device/segment_search.hpp"

#include "policies/device/swap_charges.hpp"
#include "policies/device/volume_search.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

constexpr unsigned top_class = 0;
constexpr unsigned first_level = 1;
/// The resolution of limits on blocking, in ns. Limits that differ by less than this lead to the same cuts.
constexpr Nanos step = 1'000;

using Times = std::vector<Nanos>;

// ---- the times of one choice ----

/// Returns the largest swap volume (in chunks) of the other tasks in the same class.
std::uint32_t largest_other(const Preemption& preemption, std::size_t task) {
  std::uint32_t largest = 0;
  for (std::size_t j = 0; j < preemption.volumes.size(); ++j)
    if (j != task && preemption.classes[j] == preemption.classes[task])
      largest = std::max(largest, preemption.volumes[j]);
  return largest;
}

/// Computes the times that the tests need for one choice of device classes, swap volumes and cuts.
class Charged {
 public:
  Charged(const LayeredSet& set, const Preemption& preemption)
      : set_(set), preemption_(preemption), swap_(set.device, preemption.volumes), frames_(swap_.total()) {
    frames_ -= std::min<std::size_t>(frames_, set.device.overflow);
  }

  [[nodiscard]] SegmentedTask task(std::size_t index, std::span<const Nanos> segments) const {
    const DeviceTask& task = set_.device.tasks[index];
    const std::uint32_t volume = preemption_.volumes[index];
    const StreamTimes times = times_of(index, segments);
    const Nanos delay =
        load_delay(times.execution, volume, largest_other(preemption_, index), frames_, swap_.alpha()) + times.copies;
    return {.part = {.period = task.period,
                     .deadline = task.deadline,
                     .cost = times.execution,
                     .load = swap_.load(volume),
                     .delay = std::min(delay, times.execution)},
            .device_class = preemption_.classes[index],
            .run = longest_run(segments, set_.launch_ahead),
            .last = segments.back(),
            .restore = swap_.restore(volume)};
  }
  [[nodiscard]] Nanos flight() const { return swap_.flight(); }

 private:
  [[nodiscard]] StreamTimes times_of(std::size_t index, std::span<const Nanos> segments) const {
    const LayeredTask& task = set_.tasks[index];
    if (!task.stream) return {.execution = sum_of(segments), .copies = 0};
    return stream_times(stream_layers(segments, task.stream->reads), swap_.stream(), task.stream->ring)
        .value_or(StreamTimes{unbounded, unbounded});
  }

  const LayeredSet& set_;
  const Preemption& preemption_;
  SwapCharges swap_;
  std::size_t frames_;
};

void add_background(SegmentedSet& set, const SegmentedTask& task) {
  DevicePart& background = set.background;
  background.execution = std::max(background.execution, task.part.cost);
  background.load = std::max(background.load, task.part.load);
  background.delay = std::max(background.delay, task.part.delay);
  set.background_run = std::max(set.background_run, task.run);
}

/// The verdict of the tests on a set, and its slack.
struct Verdict {
  bool proved = false;
  Nanos slack = 0;
  double lateness = 0; // the sum over tasks of (lateness / deadline), plus 1 for an overloaded device
};

/// Returns the slacks of the real-time tasks as the tests compute them. Sets `verdict`, except for the lateness of
/// tasks, which is added later.
std::vector<Nanos> slacks_of(const SegmentedAnalysis& analysis, std::span<const SegmentedTask> tasks, Order order,
                             Verdict& verdict) {
  if (order == Order::edf) {
    DemandAnalysis found = analysis.demand();
    verdict.proved = found.proved();
    verdict.slack = found.tightest.slack();
    verdict.lateness = found.settled ? 0 : 1;
    return std::move(found.slack);
  }
  std::vector<Nanos> slacks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const DeviceResponse response = analysis.response(i);
    const Nanos left = tasks[i].part.deadline - response.from_release;
    slacks.push_back(response.settled ? left : std::min(left, Nanos{-1}));
  }
  verdict.slack = std::ranges::min(slacks);
  verdict.proved = verdict.slack >= 0;
  return slacks;
}

Verdict verdict_of(const SegmentedSet& set, Order order) {
  Verdict verdict{.proved = true, .slack = unbounded};
  if (set.tasks.empty()) return verdict;
  const std::vector<Nanos> slacks = slacks_of(SegmentedAnalysis(set), set.tasks, order, verdict);
  for (std::size_t i = 0; i < slacks.size(); ++i)
    if (slacks[i] < 0)
      verdict.lateness -= static_cast<double>(slacks[i]) / static_cast<double>(set.tasks[i].part.deadline);
  return verdict;
}

// ---- cuts ----

/// Cuts all tasks into the longest segments that the top-class tasks allow. No run (1 + launch_ahead consecutive
/// segments) is longer than `longest`, unless a task that is cut behind every layer still has a longer run.
class Cutter {
 public:
  Cutter(const LayeredSet& set, Order order, const std::vector<unsigned>& classes, Nanos longest)
      : set_(set), order_(order), longest_(longest), urgency_(classes.size()) {
    std::iota(urgency_.begin(), urgency_.end(), std::size_t{0});
    std::ranges::stable_sort(urgency_, {}, [&](std::size_t i) {
      const DeviceTask& task = set.device.tasks[i];
      return std::tuple(classes[i] != top_class || !task.real_time, order == Order::edf ? task.deadline : 0);
    });
    top_class_ = static_cast<std::size_t>(std::ranges::count(classes, top_class));
  }

  /// Returns the cuts by task, or nullopt if a task cannot be cut into runs that are short enough.
  [[nodiscard]] std::optional<std::vector<Segmentation>> cut() {
    std::vector<Layers> layers;
    for (const std::size_t i : urgency_) layers.push_back(to_cut(i));
    const auto choices = cut_set(
        layers, [this](auto segments) { return tolerance(segments); }, set_.launch_ahead);
    std::vector<Segmentation> result(urgency_.size());
    for (std::size_t k = 0; k < urgency_.size(); ++k) {
      if (k == choices.size() || choices[k].segmentations.empty()) return {};
      result[urgency_[k]] = set_.tasks[urgency_[k]].given.value_or(choices[k].segmentations.front());
    }
    return result;
  }

 private:
  /// Returns the layers of a task to cut. If the user sets the cuts of the task, the result is one layer. The time of
  /// this layer is the time of the whole task with the overhead of these cuts.
  [[nodiscard]] Layers to_cut(std::size_t task) const {
    const LayeredTask& layered = set_.tasks[task];
    if (!layered.given) return layered.layers;
    return {.times = {sum_of(segments_of(layered.layers, layered.given->cuts))}, .overheads = {}, .tensors = {}};
  }

  /// Returns the longest run that the next task to be cut may have. `segments`: the segments of the tasks that are
  /// already cut.
  [[nodiscard]] Nanos tolerance(SetSegments segments) {
    if (segments.size() <= top_class_) allowed_ = allowed_by(segments);
    const std::size_t task = urgency_[segments.size()];
    return set_.tasks[task].given ? unbounded : std::min(allowed_, std::max(longest_, shortest_run(task)));
  }

  /// Returns the longest run of other tasks that the top-class tasks tolerate. `segments`: the segments of the
  /// top-class tasks.
  [[nodiscard]] Nanos allowed_by(SetSegments segments) const {
    SegmentedSet set;
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const DeviceTask& task = set_.device.tasks[urgency_[k]];
      const LayeredTask& layered = set_.tasks[urgency_[k]];
      const Times own = layered.given ? segments_of(layered.layers, layered.given->cuts) : segments[k];
      set.tasks.push_back({.part = {.period = task.period, .deadline = task.deadline, .cost = sum_of(own)},
                           .device_class = top_class,
                           .run = longest_run(own, set_.launch_ahead),
                           .last = own.back()});
    }
    const auto tolerated = [&](Nanos steps) {
      set.background_run = steps * step;
      return verdict_of(set, order_).proved;
    };
    Nanos longest = step;
    for (const DeviceTask& task : set_.device.tasks) longest = std::max(longest, task.execution + step);
    const auto most = max_blocking(longest / step, tolerated);
    return !most ? 0 : *most == longest / step ? unbounded : *most * step;
  }

  /// Returns the longest run of a task that is cut at every allowed position.
  [[nodiscard]] Nanos shortest_run(std::size_t task) const {
    const Layers& layers = set_.tasks[task].layers;
    Nanos longest = 0;
    for (std::size_t k = 0; k < layers.times.size(); ++k) {
      const bool cut = k < layers.overheads.size() && layers.overheads[k] < unbounded;
      longest = std::max(longest, std::max(layers.times[k], layers.least) + (cut ? layers.overheads[k] : 0));
    }
    return longest * (1 + set_.launch_ahead);
  }

  const LayeredSet& set_;
  Order order_;
  Nanos longest_;
  std::vector<std::size_t> urgency_; // indices of tasks, top-class tasks first
  std::size_t top_class_ = 0;
  Nanos allowed_ = 0;
};

// ---- classes, volumes and the longest run ----

/// Searches for a choice of classes, swap volumes and cuts. The search starts with choices in which the most urgent
/// tasks are in the top class. The other tasks are all on one level, or each task has a level of its own. From each of
/// the best starting choices (at most `max_starts`) the search hill-climbs by single changes that reduce lateness.
class Search {
 public:
  Search(const LayeredSet& set, Order order) : set_(set), order_(order) {
    for (std::size_t i = 0; i < set.tasks.size(); ++i) {
      if (set.device.tasks[i].real_time) by_urgency_.push_back(i);
      given_ = given_ || set.tasks[i].device_class;
    }
    if (order == Order::edf)
      std::ranges::stable_sort(by_urgency_, {}, [&](std::size_t i) { return set.device.tasks[i].deadline; });
  }

  [[nodiscard]] std::optional<PreemptionVerdict> run(Levels levels) {
    std::vector<Choice> choices = first_choices();
    improve(choices);
    if (levels == Levels::any) {
      levels_ = levels;
      for (Choice& choice : first_choices()) choices.push_back(std::move(choice));
      improve(choices);
    }
    return std::move(closest_);
  }

 private:
  static constexpr std::size_t max_top_class_counts = 12;
  static constexpr std::uint32_t max_volumes = 16;
  static constexpr std::size_t max_starts = 5;

  struct Choice {
    std::vector<unsigned> classes;
    Volumes volumes;
    Nanos longest_run = unbounded;
    double lateness = std::numeric_limits<double>::infinity();
  };

  [[nodiscard]] bool proved() const { return closest_ && closest_->proved; }

  /// Returns the limit on examined choices. The limit is lower if there are many tasks, since examining a choice then
  /// takes longer.
  [[nodiscard]] std::size_t max_examined() const {
    return std::clamp<std::size_t>(16384 / set_.tasks.size(), 64, 2048);
  }

  /// Returns the choices with which the search starts: one for each entry of top_class_counts(), with its best swap
  /// volumes. Returns an empty list as soon as a choice is proved.
  [[nodiscard]] std::vector<Choice> first_choices() {
    std::vector<Choice> choices;
    for (const std::size_t count : top_class_counts()) {
      const std::vector<unsigned> classes = classes_with(count);
      Choice best;
      for (const Volumes& volumes : volumes_with(classes)) {
        if (proved()) return {};
        Choice choice{.classes = classes, .volumes = volumes};
        if (examine(choice) && choice.lateness < best.lateness) best = std::move(choice);
      }
      if (!best.classes.empty()) choices.push_back(std::move(best));
    }
    return choices;
  }

  /// Improves the best choices in `choices` (at most `max_starts`) by single changes, and removes the other choices.
  void improve(std::vector<Choice>& choices) {
    left_ = max_examined();
    std::ranges::stable_sort(choices, {}, &Choice::lateness);
    choices.resize(std::min(choices.size(), max_starts));
    for (Choice& choice : choices) {
      at_ = std::move(choice);
      while (!proved() && (change_class() || move_chunks() || shorten_runs())) {}
      choice = at_;
    }
  }

  /// Returns the sizes of the top class (numbers of most urgent tasks) with which the search starts. The first entry is
  /// the number of tasks that would miss their deadlines if the longest job of the set executed before them. The other
  /// entries follow by their distance from the first entry, the closest first.
  [[nodiscard]] std::vector<std::size_t> top_class_counts() const {
    Nanos longest = 0;
    for (const DeviceTask& task : set_.device.tasks) longest = std::max(longest, task.execution);
    const auto late = static_cast<std::ptrdiff_t>(std::ranges::count_if(by_urgency_, [&](std::size_t i) {
      return set_.device.tasks[i].deadline < longest + set_.device.tasks[i].execution;
    }));
    std::vector<std::size_t> counts(by_urgency_.size() + 1);
    std::iota(counts.begin(), counts.end(), std::size_t{0});
    std::ranges::stable_sort(counts, {},
                             [&](std::size_t count) { return std::abs(static_cast<std::ptrdiff_t>(count) - late); });
    counts.resize(std::min(counts.size(), max_top_class_counts));
    return counts;
  }

  [[nodiscard]] std::vector<unsigned> classes_with(std::size_t top_class_count) const {
    std::vector<unsigned> classes(set_.tasks.size(), first_level);
    for (std::size_t k = 0; k < by_urgency_.size(); ++k) {
      const std::size_t task = by_urgency_[k];
      if (k < top_class_count && set_.device.tasks[task].least == 0) classes[task] = top_class;
      else if (levels_ == Levels::any) classes[task] = first_level + static_cast<unsigned>(k);
    }
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = set_.tasks[i].device_class.value_or(classes[i]);
    return tidy(std::move(classes));
  }

  /// Renumbers the levels so that no level is empty, unless the user sets classes. Moves best-effort tasks to the last
  /// level.
  [[nodiscard]] std::vector<unsigned> tidy(std::vector<unsigned> classes) const {
    std::vector<unsigned> levels;
    for (const std::size_t i : by_urgency_)
      if (classes[i] != top_class) levels.push_back(classes[i]);
    std::ranges::sort(levels);
    levels.erase(std::ranges::unique(levels).begin(), levels.end());
    if (!given_)
      for (const std::size_t i : by_urgency_)
        if (classes[i] != top_class)
          classes[i] =
              first_level + static_cast<unsigned>(std::ranges::lower_bound(levels, classes[i]) - levels.begin());
    unsigned last = first_level;
    for (const std::size_t i : by_urgency_) last = std::max(last, classes[i]);
    for (std::size_t i = 0; i < classes.size(); ++i)
      if (!set_.device.tasks[i].real_time) classes[i] = last;
    return classes;
  }

  /// Returns several choices of swap volumes that fit, that is, leave enough frames. Each choice swaps as few chunks as
  /// possible under an upper limit on the swap volume of each task. The limits of the choices differ.
  [[nodiscard]] std::vector<Volumes> volumes_with(const std::vector<unsigned>& classes) const {
    std::vector<Volumes> found;
    const std::uint32_t largest = std::ranges::max(set_.device.tasks, {}, &DeviceTask::most).most;
    for (const bool constants_alone : {true, false})
      for (std::uint32_t bound = largest, below = largest / max_volumes + 1;; bound -= std::min(bound, below)) {
        Volumes volumes = filled(classes, bound, constants_alone);
        if (fits(set_.device, volumes) && std::ranges::find(found, volumes) == found.end())
          found.push_back(std::move(volumes));
        if (bound == 0) break;
      }
    return found;
  }

  /// Returns swap volumes of at most `bound` chunks for each task. The least urgent tasks swap their chunks first.
  /// `constants_alone`: true if only constant chunks may be swapped.
  [[nodiscard]] Volumes filled(const std::vector<unsigned>& classes, std::uint32_t bound, bool constants_alone) const {
    Volumes volumes;
    std::uint64_t missing = set_.device.overflow;
    for (const DeviceTask& task : set_.device.tasks) volumes.push_back(task.least);
    const std::uint64_t all = std::accumulate(volumes.begin(), volumes.end(), std::uint64_t{0});
    if (missing > 0) missing += std::max(bound, std::ranges::max(volumes));
    missing -= std::min(missing, all);
    const auto add = [&](std::size_t i) {
      const DeviceTask& task = set_.device.tasks[i];
      const std::uint32_t most = std::min(bound, constants_alone ? std::min(task.most, task.constants) : task.most);
      if (classes[i] == top_class || most <= volumes[i]) return;
      const auto more = static_cast<std::uint32_t>(std::min<std::uint64_t>(missing, most - volumes[i]));
      volumes[i] += more;
      missing -= more;
    };
    for (std::size_t i = 0; i < volumes.size(); ++i)
      if (!set_.device.tasks[i].real_time) add(i);
    for (std::size_t k = by_urgency_.size(); k-- > 0;) add(by_urgency_[k]);
    return volumes;
  }

  /// Examines a choice and sets its lateness. Returns false if the tasks cannot be cut within the choice's longest run.
  [[nodiscard]] bool examine(Choice& choice) {
    const auto [known, is_new] = examined_.try_emplace({choice.classes, choice.volumes, choice.longest_run});
    if (is_new) known->second = lateness_of(choice);
    if (!known->second) return false;
    choice.lateness = *known->second;
    return true;
  }

  /// Returns the lateness of a choice. Stores its verdict if it is the best verdict so far. Returns nullopt if the
  /// tasks cannot be cut within the choice's longest run.
  [[nodiscard]] std::optional<double> lateness_of(const Choice& choice) {
    const auto& cuts = cuts_of(choice);
    if (!cuts) return std::nullopt;
    Preemption preemption{.classes = choice.classes, .volumes = choice.volumes, .cuts = *cuts};
    const Verdict verdict = verdict_of(tested(set_, preemption).set, order_);
    const double lateness = verdict.proved ? 0 : verdict.lateness;
    if (!closest_ || verdict.proved || (!proved() && lateness < min_lateness_)) {
      closest_ = PreemptionVerdict{std::move(preemption), verdict.proved, verdict.slack};
      min_lateness_ = lateness;
    }
    return lateness;
  }

  [[nodiscard]] const std::optional<std::vector<Segmentation>>& cuts_of(const Choice& choice) {
    std::vector<bool> is_top_class;
    for (const unsigned each : choice.classes) is_top_class.push_back(each == top_class);
    const auto [found, is_new] = cuts_.try_emplace({std::move(is_top_class), choice.longest_run});
    if (is_new) found->second = Cutter(set_, order_, choice.classes, choice.longest_run).cut();
    return found->second;
  }

  /// Examines `choice`. If `choice` is proved or has less lateness than the current choice, it becomes the current
  /// choice. Returns true in that case.
  [[nodiscard]] bool goes_to(Choice choice) {
    if (left_ == 0 || proved()) return false;
    --left_;
    if (!examine(choice) || (!proved() && choice.lateness >= at_.lateness)) return false;
    at_ = std::move(choice);
    return true;
  }

  [[nodiscard]] bool change_class() {
    for (const std::size_t i : by_urgency_) {
      if (set_.tasks[i].device_class) continue;
      const unsigned last = std::ranges::max(at_.classes);
      for (unsigned to = at_.volumes[i] == 0 ? top_class : first_level; to <= last; ++to)
        if (to != at_.classes[i] && goes_to(with_class(i, to))) return true;
      if (levels_ == Levels::one || given_) continue;
      for (unsigned at = first_level; at <= last + 1; ++at)
        if (goes_to(with_level(i, at))) return true;
    }
    return false;
  }

  [[nodiscard]] Choice with_class(std::size_t task, unsigned device_class) const {
    Choice choice = at_;
    choice.classes[task] = device_class;
    choice.classes = tidy(std::move(choice.classes));
    return choice;
  }

  /// Returns the current choice with the task alone on a new level with number `level`. The present levels from `level`
  /// on get numbers that are higher by one.
  [[nodiscard]] Choice with_level(std::size_t task, unsigned level) const {
    Choice choice = at_;
    for (unsigned& each : choice.classes)
      if (each >= level) ++each;
    choice.classes[task] = level;
    choice.classes = tidy(std::move(choice.classes));
    return choice;
  }

  /// Moves chunks between two tasks, or adds or removes chunks of one task, if that reduces lateness. Returns true if
  /// it made a change.
  [[nodiscard]] bool move_chunks() {
    if (set_.device.overflow == 0) return false;
    const std::size_t none = set_.tasks.size();
    for (std::uint32_t chunks = std::ranges::max(set_.device.tasks, {}, &DeviceTask::most).most / 2; chunks > 0;
         chunks /= 4)
      for (std::size_t from = 0; from <= none; ++from)
        for (std::size_t to = 0; to <= none; ++to)
          if (from != to && move(chunks, from, to)) return true;
    return false;
  }

  [[nodiscard]] bool move(std::uint32_t chunks, std::size_t from, std::size_t to) {
    const std::size_t none = set_.tasks.size();
    Choice choice = at_;
    if (from < none) chunks = std::min(chunks, choice.volumes[from] - set_.device.tasks[from].least);
    if (to < none)
      chunks = std::min(chunks, choice.classes[to] == top_class ? 0 : set_.device.tasks[to].most - choice.volumes[to]);
    if (chunks == 0) return false;
    if (from < none) choice.volumes[from] -= chunks;
    if (to < none) choice.volumes[to] += chunks;
    return fits(set_.device, choice.volumes) && goes_to(std::move(choice));
  }

  [[nodiscard]] bool shorten_runs() {
    Nanos run = 0;
    for (std::size_t i = 0; i < set_.tasks.size(); ++i) {
      if (at_.classes[i] == top_class) continue;
      const auto& cuts = *cuts_of(at_);
      run = std::max(run, longest_run(segments_of(set_.tasks[i].layers, cuts[i].cuts), set_.launch_ahead));
    }
    Choice choice = at_;
    choice.longest_run = std::min(run, at_.longest_run) / 2;
    return choice.longest_run > 0 && goes_to(std::move(choice));
  }

  const LayeredSet& set_;
  Order order_;
  Levels levels_ = Levels::one;
  std::vector<std::size_t> by_urgency_; // real-time tasks by deadline; under static priority in the order of the set
  bool given_ = false;                  // true if the user sets the class of at least one task
  std::size_t left_ = 0;                // the number of choices that may still be examined
  /// The cuts, by the set of top-class tasks and the longest run.
  std::map<std::pair<std::vector<bool>, Nanos>, std::optional<std::vector<Segmentation>>> cuts_;
  /// The lateness of each examined choice; nullopt: the tasks cannot be cut within the choice's longest run
  std::map<std::tuple<std::vector<unsigned>, Volumes, Nanos>, std::optional<double>> examined_;
  Choice at_;
  std::optional<PreemptionVerdict> closest_;
  double min_lateness_ = 0;
};

} // namespace

TestedSet tested(const LayeredSet& set, const Preemption& preemption) {
  const Charged charged(set, preemption);
  TestedSet result;
  result.set.flight = charged.flight();
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const SegmentedTask task = charged.task(i, segments_of(set.tasks[i].layers, preemption.cuts[i].cuts));
    if (!set.device.tasks[i].real_time) {
      add_background(result.set, task);
      continue;
    }
    result.set.tasks.push_back(task);
    result.index.push_back(i);
  }
  return result;
}

PreemptionVerdict test_preemption(const LayeredSet& set, Order order, Preemption preemption) {
  const Verdict verdict = verdict_of(tested(set, preemption).set, order);
  return {std::move(preemption), verdict.proved, verdict.slack};
}

std::optional<PreemptionVerdict> search_preemption(const LayeredSet& set, Order order, Levels levels) {
  if (set.tasks.empty()) return test_preemption(set, order, {});
  return Search(set, order).run(levels);
}

} // namespace rtexec::policies
