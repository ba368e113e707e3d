#include "policies/device/task_generator.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace rtexec::policies {
namespace {

/// Splitmix64: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014.
class Random {
 public:
  enum class Purpose : std::uint64_t { tasks, utilisations, layers, fast };
  Random(std::uint64_t seed, std::uint64_t number, Purpose purpose) {
    for (const std::uint64_t each : {seed, number, static_cast<std::uint64_t>(purpose)}) {
      state_ += each;
      state_ = next();
    }
  }

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t value = state_;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  }
  /// Returns a number in [0, 1).
  double share() { return std::ldexp(static_cast<double>(next() >> 11), -53); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(share() * static_cast<double>(count)); }

 private:
  std::uint64_t state_ = 0;
};

template <class Count> Count within(Count least, Count most, double share) {
  return std::min(most, least + static_cast<Count>(share * (static_cast<double>(most - least) + 1)));
}

template <class Count> Count drawn(Distribution distribution, Count least, Count most, double share) {
  if (distribution == Distribution::uniform) return within(least, most, share);
  const double value =
      static_cast<double>(least) * std::pow(static_cast<double>(most) / static_cast<double>(least), share);
  return std::clamp(static_cast<Count>(std::llround(value)), least, most);
}

Duration time_of(const Range<Duration>& range, double share, Distribution distribution = Distribution::uniform) {
  return Duration(drawn(distribution, range.least.count(), range.most.count(), share));
}

Bytes part_of(Bytes whole, double share) {
  return {static_cast<std::uint64_t>(share * static_cast<double>(whole.count))};
}

/// Draws a task. The number of drawn random numbers does not depend on `point`, so that sets with the same number stay
/// nested.
GeneratedTask task_of(const TaskSource& source, const StudyPoint& point, std::size_t index, Random& random) {
  GeneratedTask task;
  if (source.networks.empty()) {
    task.need.footprint = {
        drawn(source.footprints, source.footprint.least.count, source.footprint.most.count, random.share())};
    task.need.swappable = part_of(task.need.footprint, source.swappable);
    task.need.constants = part_of(task.need.swappable, source.constants);
  } else {
    const NetworkSizes& sizes = source.networks[random.below(source.networks.size())];
    const std::size_t drawn = random.below(sizes.size());
    const std::size_t given = point.high && index < *point.high ? sizes.size() - 1 : 0;
    task.need = sizes[point.high ? given : drawn];
  }
  task.period = time_of(source.period, random.share(), source.periods);
  if (source.execution.most > Duration(0)) task.need.execution = time_of(source.execution, random.share());
  return task;
}

Bytes footprint_of(std::span<const GeneratedTask> tasks) {
  Bytes sum;
  for (const GeneratedTask& task : tasks) sum += task.need.footprint;
  return sum;
}

void assign_executions(std::vector<GeneratedTask>& tasks, double utilisation, Random random) {
  std::vector<double> numbers(tasks.empty() ? 0 : tasks.size() - 1);
  for (double& number : numbers) number = random.share();
  const std::vector<double> shares = uunifast(utilisation, numbers);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    tasks[i].need.execution = std::max(
        Duration(1), Duration(static_cast<Duration::rep>(shares[i] * static_cast<double>(tasks[i].period.count()))));
}

void assign_layers(std::span<GeneratedTask> tasks, Range<std::size_t> count, Random random) {
  for (GeneratedTask& task : tasks) {
    std::vector<double> ends(within(count.least, count.most, random.share()));
    double sum = 0;
    for (double& end : ends) end = sum += 0.1 + 0.9 * random.share();
    Duration before{0};
    for (const double end : ends) {
      const Duration at(std::llround(static_cast<double>(task.need.execution.count()) * (end / sum)));
      task.layers.push_back(at - std::exchange(before, at));
    }
  }
}

std::vector<GeneratedTask> fast_tasks(const FastTasks& fast, Random random) {
  std::vector<GeneratedTask> tasks(within(fast.count.least, fast.count.most, random.share()));
  for (GeneratedTask& task : tasks) {
    task.period = time_of(fast.period, random.share());
    task.need.execution = time_of(fast.execution, random.share());
  }
  return tasks;
}

std::uint64_t rounded_up(Bytes size, Bytes chunk) { return round_up(size, chunk).count / chunk.count; }

} // namespace

std::vector<double> uunifast(double total, std::span<const double> random) {
  std::vector<double> shares;
  double left = total;
  for (std::size_t i = 0; i < random.size(); ++i) {
    const double next = left * std::pow(random[i], 1.0 / static_cast<double>(random.size() - i));
    shares.push_back(left - next);
    left = next;
  }
  shares.push_back(left);
  return shares;
}

std::vector<GeneratedTask> generate(const TaskSource& source, const StudyPoint& point, std::uint64_t seed,
                                    std::uint64_t number) {
  Random random(seed, number, Random::Purpose::tasks);
  std::vector<GeneratedTask> tasks;
  const auto draw = [&](std::size_t count) {
    while (tasks.size() < count) tasks.push_back(task_of(source, point, tasks.size(), random));
  };
  do {
    tasks.clear();
    draw(source.start);
  } while (source.start > 0 &&
           (footprint_of(tasks) < source.start_footprint.least || footprint_of(tasks) > source.start_footprint.most));
  draw(point.tasks);
  if (source.networks.empty() && source.execution.most == Duration(0))
    assign_executions(tasks, point.utilisation, Random(seed, number, Random::Purpose::utilisations));
  if (source.layers.most > 1) assign_layers(tasks, source.layers, Random(seed, number, Random::Purpose::layers));
  std::vector<GeneratedTask> all = fast_tasks(source.fast, Random(seed, number, Random::Purpose::fast));
  std::ranges::move(tasks, std::back_inserter(all));
  return all;
}

DeviceSet device_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device, MemoryModel memory,
                        unsigned copy_engines, Order order) {
  const bool classes = memory == MemoryModel::classes || memory == MemoryModel::one_process;
  DeviceSet set;
  set.copy_engines = copy_engines;
  set.cost = device.cost;
  std::uint64_t kept = 0, scratch = 0, fixed = 0;
  for (const auto& [period, need, layers] : tasks) {
    const std::uint64_t swapped =
        classes ? rounded_up(need.constants, device.chunk) : need.swappable.count / device.chunk.count;
    const std::uint64_t own = rounded_up(need.footprint - need.swappable, device.chunk);
    kept += !classes                         ? rounded_up(need.footprint, device.chunk)
            : memory == MemoryModel::classes ? swapped + own
                                             : swapped;
    scratch = std::max(scratch, rounded_up(need.swappable - need.constants, device.chunk));
    fixed = std::max(fixed, own);
    const auto most = static_cast<std::uint32_t>(swapped);
    set.tasks.push_back({.period = period.count(),
                         .deadline = period.count(),
                         .execution = need.execution.count(),
                         .least = 0,
                         .most = most,
                         .constants = memory == MemoryModel::state ? 0 : most});
  }
  if (order == Order::static_priority) std::ranges::stable_sort(set.tasks, {}, &DeviceTask::period);
  const std::uint64_t demand = kept + (classes ? scratch : 0) + (memory == MemoryModel::one_process ? fixed : 0);
  const Bytes whole = device.capacity.value_or(Bytes{demand * device.chunk.count});
  const std::uint64_t capacity = part_of(whole, 1 - device.reduced / 100).count / device.chunk.count;
  set.overflow = static_cast<std::uint32_t>(demand - std::min(demand, capacity));
  return set;
}

LayeredSet layered_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device, MemoryModel memory,
                          unsigned copy_engines, Order order) {
  std::vector<GeneratedTask> urgent_first(tasks.begin(), tasks.end());
  if (order == Order::static_priority) std::ranges::stable_sort(urgent_first, {}, &GeneratedTask::period);
  LayeredSet set{.device = device_set_of(urgent_first, device, memory, copy_engines, order), .tasks = {}};
  for (const GeneratedTask& task : urgent_first) {
    Layers& layers = set.tasks.emplace_back().layers;
    for (const Duration layer : task.layers) layers.times.push_back(layer.count());
    if (layers.times.empty()) layers.times.push_back(task.need.execution.count());
    layers.overheads.assign(layers.times.size() - 1, device.cut_overhead.count());
  }
  return set;
}

} // namespace rtexec::policies
