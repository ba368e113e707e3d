#include "policies/segment_search.hpp"

#include "policies/swap_charges.hpp"
#include "policies/volume_search.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace rtexec::policies {
namespace {

constexpr unsigned express = 0;
constexpr unsigned first_level = 1;
/// A blocking time that differs by less makes no other cuts.
constexpr Nanos step = 1'000;

using Times = std::vector<Nanos>;

// ---- one division in times ----

/// Of tasks of one level, by index: the largest volume of another one.
std::uint32_t largest_beside(const Division& division, std::size_t task) {
  std::uint32_t largest = 0;
  for (std::size_t j = 0; j < division.volumes.size(); ++j)
    if (j != task && division.classes[j] == division.classes[task]) largest = std::max(largest, division.volumes[j]);
  return largest;
}

/// What the tests take of tasks whose segments are known.
class Charged {
 public:
  Charged(const DivisibleSet& set, const Division& division)
      : set_(set), division_(division), swap_(set.device, division.volumes), frames_(swap_.total()) {
    frames_ -= std::min<std::size_t>(frames_, set.device.overflow);
  }

  [[nodiscard]] SegmentedTask task(std::size_t index, std::span<const Nanos> segments) const {
    const DeviceTask& task = set_.device.tasks[index];
    const std::uint32_t volume = division_.volumes[index];
    const Nanos cost = bounded(std::accumulate(segments.begin(), segments.end(), Wide{0}));
    return {.part = {.period = task.period,
                     .deadline = task.deadline,
                     .cost = cost,
                     .load = swap_.load(volume),
                     .delay = load_delay(cost, volume, largest_beside(division_, index), frames_, swap_.alpha())},
            .device_class = division_.classes[index],
            .run = longest_run(segments, set_.launch_ahead),
            .last = segments.back(),
            .restore = swap_.restore(volume)};
  }
  [[nodiscard]] Nanos flight() const { return swap_.flight(); }

 private:
  const DivisibleSet& set_;
  const Division& division_;
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

/// Whether the tests prove a set, and by how much.
struct Verdict {
  bool proved = false;
  Nanos slack = 0;
  std::vector<Nanos> slacks; // by task of the set
};

Verdict verdict_of(SegmentedSet set, Order order) {
  Verdict verdict{.proved = true, .slack = unbounded, .slacks = {}};
  if (set.tasks.empty()) return verdict;
  const auto tasks = set.tasks;
  const SegmentedAnalysis analysis(std::move(set));
  if (order == Order::edf) {
    DemandAnalysis found = analysis.demand();
    return {.proved = found.proved(), .slack = found.tightest.slack(), .slacks = std::move(found.slack)};
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const DeviceResponse response = analysis.response(i);
    const Nanos left = tasks[i].part.deadline - response.from_release;
    verdict.slacks.push_back(response.settled ? left : std::min(left, Nanos{-1}));
    verdict.slack = std::min(verdict.slack, verdict.slacks.back());
  }
  verdict.proved = verdict.slack >= 0;
  return verdict;
}

// ---- cuts ----

/// Cuts the tasks of a division, class by class and each by deadline.
class Cutter {
 public:
  Cutter(const DivisibleSet& set, Order order, const Division& division)
      : set_(set), order_(order), division_(division), charged_(set, division), urgency_(division.classes.size()) {
    std::iota(urgency_.begin(), urgency_.end(), std::size_t{0});
    std::ranges::stable_sort(urgency_, {}, [&](std::size_t i) {
      const DeviceTask& task = set.device.tasks[i];
      return std::tuple(!task.real_time, division.classes[i], order == Order::edf ? task.deadline : 0);
    });
  }

  /// By task; absent: some task cannot be cut so.
  [[nodiscard]] std::optional<std::vector<Segmentation>> cut() const {
    std::vector<Layers> layers;
    for (const std::size_t i : urgency_) layers.push_back(to_cut(i));
    const SetCuts cuts = cut_set(
        layers,
        {.tolerance = [this](SetDemands::Segments segments) { return tolerance(segments); },
         .admitted = [this](SetDemands::Segments segments) { return verdict_of(with(segments), order_).proved; }},
        set_.launch_ahead);
    if (cuts.tasks.size() < urgency_.size() || (!urgency_.empty() && cuts.tasks.back().ways.empty())) return {};
    std::vector<Segmentation> result(urgency_.size());
    for (std::size_t k = 0; k < urgency_.size(); ++k)
      result[urgency_[k]] = set_.tasks[urgency_[k]].given.value_or(cuts.tasks[k].ways.front());
    return result;
  }

 private:
  /// Of given cuts only what they make of the execution time counts here.
  [[nodiscard]] Layers to_cut(std::size_t task) const {
    const Divisible& divisible = set_.tasks[task];
    if (!divisible.given) return divisible.layers;
    const Times segments = segments_of(divisible.layers, divisible.given->cuts);
    return {.times = {std::accumulate(segments.begin(), segments.end(), Nanos{0})}, .overheads = {}, .tensors = {}};
  }

  /// The first tasks, and a run of another that blocks them.
  [[nodiscard]] SegmentedSet with(SetDemands::Segments segments, std::optional<unsigned> of_class = {},
                                  Nanos run = 0) const {
    SegmentedSet set{.tasks = {}, .background = {}, .background_run = run, .flight = charged_.flight()};
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const std::size_t task = urgency_[k];
      if (of_class && division_.classes[task] >= std::max(*of_class, first_level)) continue;
      const Divisible& divisible = set_.tasks[task];
      const SegmentedTask charged =
          charged_.task(task, divisible.given ? segments_of(divisible.layers, divisible.given->cuts) : segments[k]);
      if (set_.device.tasks[task].real_time) set.tasks.push_back(charged);
      else add_background(set, charged);
    }
    return set;
  }

  /// Of the next task's runs: what express tasks and the levels above its own allow.
  [[nodiscard]] Nanos tolerance(SetDemands::Segments segments) const {
    const std::size_t task = urgency_[segments.size()];
    if (set_.tasks[task].given) return unbounded;
    const unsigned device_class = set_.device.tasks[task].real_time ? division_.classes[task] : unbounded_class;
    const auto tolerated = [&](Nanos steps) {
      return verdict_of(with(segments, device_class, steps * step), order_).proved;
    };
    const auto most = most_blocking(longest_ / step, tolerated);
    return most ? *most == longest_ / step ? unbounded : *most * step : 0;
  }

  static constexpr unsigned unbounded_class = static_cast<unsigned>(-1);

  const DivisibleSet& set_;
  Order order_;
  const Division& division_;
  Charged charged_;
  std::vector<std::size_t> urgency_;
  Nanos longest_ = [this] {
    Nanos longest = step;
    for (const DeviceTask& task : set_.device.tasks) longest = std::max(longest, task.execution + step);
    return longest;
  }();
};

// ---- classes ----

/// Tasks of which nothing is to be swapped, the most promising choice first; none holds more than `all` by deadline.
class Search {
 public:
  Search(const DivisibleSet& set, Order order, Levels levels) : set_(set), order_(order), levels_(levels) {
    for (std::size_t i = 0; i < set.tasks.size(); ++i)
      if (set.device.tasks[i].real_time) by_urgency_.push_back(i);
    if (order == Order::edf)
      std::ranges::stable_sort(by_urgency_, {}, [&](std::size_t i) { return set.device.tasks[i].deadline; });
  }

  [[nodiscard]] std::optional<DivisionVerdict> run() {
    for (const std::size_t count : express_counts()) {
      const std::vector<unsigned> classes = classes_with(count);
      for (const Volumes& volumes : volumes_with(classes))
        if (try_levels(classes, volumes)) return closest_;
    }
    return closest_;
  }

 private:
  static constexpr std::size_t most_express_counts = 12;
  static constexpr std::size_t most_volumes = 8;

  /// How many tasks of the shortest deadlines are express: first those that the longest job would make late.
  [[nodiscard]] std::vector<std::size_t> express_counts() const {
    Nanos longest = 0;
    for (const DeviceTask& task : set_.device.tasks) longest = std::max(longest, task.execution);
    const auto late = static_cast<std::ptrdiff_t>(std::ranges::count_if(by_urgency_, [&](std::size_t i) {
      return set_.device.tasks[i].deadline < longest + set_.device.tasks[i].execution;
    }));
    std::vector<std::size_t> counts(by_urgency_.size() + 1);
    std::iota(counts.begin(), counts.end(), std::size_t{0});
    std::ranges::stable_sort(counts, {},
                             [&](std::size_t count) { return std::abs(static_cast<std::ptrdiff_t>(count) - late); });
    counts.resize(std::min(counts.size(), most_express_counts));
    return counts;
  }

  /// The first so many are express, and all others on one level, as far as nothing is given.
  [[nodiscard]] std::vector<unsigned> classes_with(std::size_t count) const {
    std::vector<unsigned> classes(set_.tasks.size(), first_level);
    for (std::size_t k = 0; k < count; ++k) classes[by_urgency_[k]] = express;
    for (std::size_t i = 0; i < classes.size(); ++i)
      if (set_.tasks[i].device_class) classes[i] = *set_.tasks[i].device_class;
      else if (classes[i] == express && set_.device.tasks[i].least > 0) classes[i] = first_level;
    return classes;
  }

  /// For what express tasks leave of the device; and for the least traffic.
  [[nodiscard]] std::vector<Volumes> volumes_with(const std::vector<unsigned>& classes) const {
    DeviceSet device = set_.device;
    device.tasks.clear();
    double express_share = 0;
    std::vector<std::size_t> on_levels;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const DeviceTask& task = set_.device.tasks[i];
      if (classes[i] == express) {
        express_share += static_cast<double>(task.execution) / static_cast<double>(task.period);
        continue;
      }
      on_levels.push_back(i);
      device.tasks.push_back(task);
    }
    if (express_share >= 1) return {};
    std::vector<Volumes> found;
    for (const bool traffic_alone : {false, true}) {
      DeviceSet asked = device;
      for (DeviceTask& task : asked.tasks) {
        if (traffic_alone) task.execution = std::max(task.execution / 8, Nanos{1});
        else
          task.deadline =
              std::max(static_cast<Nanos>(static_cast<double>(task.deadline) * (1 - express_share)), Nanos{1});
      }
      for (const Volumes& volumes : volumes_for(asked, DeviceTest::pipelined, order_)) {
        Volumes all(classes.size(), 0);
        for (std::size_t k = 0; k < on_levels.size(); ++k) all[on_levels[k]] = volumes[k];
        const bool is_new = std::ranges::find(found, all) == found.end();
        if (is_new && found.size() < most_volumes && fits(set_.device, all)) found.push_back(std::move(all));
      }
      if (set_.device.overflow == 0) break;
    }
    return found;
  }

  /// Those that are late on a level get one above the others, again and again. True: proved.
  bool try_levels(std::vector<unsigned> classes, const Volumes& volumes) {
    do {
      Division division{.classes = classes, .volumes = volumes, .cuts = {}};
      auto cuts = Cutter(set_, order_, division).cut();
      if (!cuts) return false;
      division.cuts = std::move(*cuts);
      const DividedSet tested = divided(set_, division);
      const Verdict verdict = verdict_of(tested.set, order_);
      if (!closest_ || verdict.slack > closest_->slack || verdict.proved)
        closest_ = DivisionVerdict{std::move(division), verdict.proved, verdict.slack};
      if (verdict.proved) return true;
      if (levels_ == Levels::one || !split(classes, tested, verdict)) return false;
    } while (true);
  }

  /// False: no level has tasks that are less urgent than its late ones.
  [[nodiscard]] bool split(std::vector<unsigned>& classes, const DividedSet& tested, const Verdict& verdict) const {
    if (std::ranges::any_of(set_.tasks, [](const Divisible& task) { return task.device_class.has_value(); }))
      return false;
    std::vector<bool> late(classes.size());
    for (std::size_t k = 0; k < tested.index.size(); ++k) late[tested.index[k]] = verdict.slacks[k] < 0;
    const unsigned last = std::ranges::max(classes);
    for (unsigned level = first_level; level <= last; ++level) {
      std::vector<std::size_t> on_level;
      for (const std::size_t i : by_urgency_)
        if (classes[i] == level) on_level.push_back(i);
      std::size_t upper = on_level.size(); // up to the last one that is late
      while (upper > 0 && !late[on_level[upper - 1]]) --upper;
      if (upper == 0 || upper == on_level.size()) continue;
      for (unsigned& each : classes)
        if (each >= level) ++each;
      for (std::size_t k = 0; k < upper; ++k) classes[on_level[k]] = level;
      return true;
    }
    return false;
  }

  const DivisibleSet& set_;
  Order order_;
  Levels levels_;
  std::vector<std::size_t> by_urgency_; // real-time tasks: by deadline, or as the set has them
  std::optional<DivisionVerdict> closest_;
};

} // namespace

DividedSet divided(const DivisibleSet& set, const Division& division) {
  const Charged charged(set, division);
  DividedSet result;
  result.set.flight = charged.flight();
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const SegmentedTask task = charged.task(i, segments_of(set.tasks[i].layers, division.cuts[i].cuts));
    if (!set.device.tasks[i].real_time) {
      add_background(result.set, task);
      continue;
    }
    result.set.tasks.push_back(task);
    result.index.push_back(i);
  }
  return result;
}

DivisionVerdict test_division(const DivisibleSet& set, Order order, Division division) {
  const Verdict verdict = verdict_of(divided(set, division).set, order);
  return {std::move(division), verdict.proved, verdict.slack};
}

std::optional<DivisionVerdict> divide(const DivisibleSet& set, Order order, Levels levels) {
  return Search(set, order, levels).run();
}

} // namespace rtexec::policies
