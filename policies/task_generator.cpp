#include "policies/task_generator.hpp"

#include <algorithm>
#include <cmath>

namespace rtexec::policies {
namespace {

/// Splitmix64: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014.
class Random {
 public:
  enum class Purpose : std::uint64_t { tasks, utilisations };
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
  /// From 0 to 1, without 1.
  double share() { return std::ldexp(static_cast<double>(next() >> 11), -53); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(share() * static_cast<double>(count)); }

 private:
  std::uint64_t state_ = 0;
};

template <class Count> Count within(Count least, Count most, double share) {
  return std::min(most, least + static_cast<Count>(share * (static_cast<double>(most - least) + 1)));
}

Duration period_of(const TaskSource& source, double share) {
  const auto [least, most] = source.period;
  if (source.periods == Distribution::uniform) return Duration(within(least.count(), most.count(), share));
  const double period = static_cast<double>(least.count()) *
                        std::pow(static_cast<double>(most.count()) / static_cast<double>(least.count()), share);
  return std::clamp(Duration(std::llround(period)), least, most);
}

Bytes part_of(Bytes whole, double share) {
  return {static_cast<std::uint64_t>(share * static_cast<double>(whole.count))};
}

/// Draws the same count of numbers whatever the point.
GeneratedTask task_of(const TaskSource& source, const StudyPoint& point, std::size_t index, Random& random) {
  GeneratedTask task;
  if (source.networks.empty()) {
    task.need.footprint = {within(source.footprint.least.count, source.footprint.most.count, random.share())};
    task.need.swappable = part_of(task.need.footprint, source.swappable);
    task.need.constants = part_of(task.need.swappable, source.constants);
  } else {
    const NetworkSizes& sizes = source.networks[random.below(source.networks.size())];
    const std::size_t drawn = random.below(sizes.size());
    const std::size_t given = point.high && index < *point.high ? sizes.size() - 1 : 0;
    task.need = sizes[point.high ? given : drawn];
  }
  task.period = period_of(source, random.share());
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
  if (source.networks.empty())
    assign_executions(tasks, point.utilisation, Random(seed, number, Random::Purpose::utilisations));
  return tasks;
}

DeviceSet device_set_of(std::span<const GeneratedTask> tasks, const StudyDevice& device, MemoryModel memory,
                        unsigned copy_engines, Order order) {
  const bool classes = memory == MemoryModel::classes || memory == MemoryModel::one_process;
  DeviceSet set;
  set.copy_engines = copy_engines;
  set.cost = device.cost;
  std::uint64_t kept = 0, scratch = 0, fixed = 0;
  for (const auto& [period, need] : tasks) {
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
  const std::uint64_t capacity = device.capacity.count / device.chunk.count;
  set.overflow = static_cast<std::uint32_t>(demand - std::min(demand, capacity));
  return set;
}

} // namespace rtexec::policies
