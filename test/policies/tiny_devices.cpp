#include "test/policies/tiny_devices.hpp"

#include "policies/device/volume_search.hpp"

#include <algorithm>
#include <numeric>

namespace rtexec::test {
namespace {

using policies::DeviceSet;
using policies::DeviceTask;
using policies::Nanos;
using policies::Volumes;

constexpr Nanos longest_period = 24;

int draw(std::mt19937_64& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

/// Draws a set in which every swappable chunk is swapped, with one class for each task.
DeviceSet random_set(std::mt19937_64& random, const DeviceWay& way) {
  DeviceSet set{
      .tasks = {}, .overflow = 0, .copy_engines = way.copy_engines, .rule = policies::rule_of(way.policy), .cost = {}};
  set.cost.in_per_chunk = Duration(draw(random, 0, 3) == 0 ? 0 : draw(random, 1, 2));
  set.cost.out_per_chunk = Duration(draw(random, 0, 3) == 0 ? 0 : draw(random, 1, 2));
  set.cost.drop_per_chunk = Duration(draw(random, 0, draw(random, 0, 3) == 0 ? 2 : 1));
  if (draw(random, 0, 4) == 0) set.cost.in_fixed = Duration(1);
  if (draw(random, 0, 4) == 0) set.cost.out_fixed = Duration(1);
  const int n = draw(random, 0, 3) == 0 ? 2 : 3;
  const int classes = draw(random, 0, 2);
  for (int i = 0; i < n; ++i) {
    const auto chunks = static_cast<std::uint32_t>(draw(random, 0, 4) == 0 ? 0 : draw(random, 1, 3));
    const int period = draw(random, 4, n == 2 ? 20 : 14);
    set.tasks.push_back({.period = period,
                         .deadline = draw(random, 0, 1) == 0 ? period : draw(random, (period + 1) / 2, period),
                         .execution = draw(random, 1, 4),
                         .least = chunks,
                         .most = chunks,
                         .constants = classes == 1 || (classes == 2 && draw(random, 0, 1) == 0) ? chunks : 0});
  }
  if (draw(random, 0, 2) > 0) std::ranges::sort(set.tasks, {}, &DeviceTask::deadline);
  if (draw(random, 0, 4) == 0) set.tasks.back().real_time = false;
  return set;
}

TinyPromise promise_of(const DeviceSet& set, const DeviceWay& way, const policies::DeviceVerdict& verdict, bool early) {
  const auto ticks = [](Duration time) { return static_cast<int>(time.count()); };
  TinyPromise promise;
  promise.set = {.tasks = {},
                 .policy = way.policy,
                 .frames = -static_cast<int>(set.overflow),
                 .copy_engines = static_cast<int>(set.copy_engines),
                 .in = ticks(set.cost.in_per_chunk),
                 .out = ticks(set.cost.out_per_chunk),
                 .drop = ticks(set.cost.drop_per_chunk),
                 .in_fixed = ticks(set.cost.in_fixed),
                 .out_fixed = ticks(set.cost.out_fixed),
                 .early = early};
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const DeviceTask& task = set.tasks[i];
    promise.set.frames += static_cast<int>(verdict.volumes[i]);
    promise.set.tasks.push_back({.period = static_cast<int>(task.period),
                                 .done_by = static_cast<int>(task.deadline),
                                 .device = static_cast<int>(task.execution),
                                 .chunks = static_cast<int>(verdict.volumes[i]),
                                 .constant = task.constants > 0,
                                 .rank = way.order == Order::edf ? !task.real_time : static_cast<int>(i)});
    const Nanos bound = verdict.responses.empty() ? task.deadline : verdict.responses[i];
    promise.bounds.push_back(task.real_time ? std::optional(static_cast<int>(bound)) : std::nullopt);
  }
  return promise;
}

} // namespace

std::optional<TinyPromise> random_tiny(std::mt19937_64& random, const DeviceWay& way) {
  DeviceSet original = random_set(random, way);
  const Volumes volumes = policies::max_of(original);
  const auto all = std::accumulate(volumes.begin(), volumes.end(), 0U);
  const auto largest = std::ranges::max(volumes);
  const bool early = draw(random, 0, 5) == 0;
  if (all == largest) return std::nullopt;
  original.overflow = static_cast<std::uint32_t>(draw(random, 1, static_cast<int>(all - largest)));
  for (Nanos eighths = 3;; ++eighths) {
    DeviceSet set = original;
    for (DeviceTask& task : set.tasks) {
      task.period = std::max<Nanos>(1, task.period * eighths / 8);
      task.deadline = std::clamp<Nanos>(task.deadline * eighths / 8, 1, task.period);
      if (task.period > longest_period) return std::nullopt;
    }
    DeviceSet charged = set; // as plans charge it: a copy out costs at least as much as a drop
    charged.cost.out_per_chunk = std::max(set.cost.out_per_chunk, set.cost.drop_per_chunk);
    const policies::DeviceVerdict verdict = policies::test_device(charged, way.test, way.order, volumes);
    if (verdict.proved) return promise_of(set, way, verdict, early);
  }
}

std::string described(const TinyPromise& promise, const SwapExploration& found) {
  const TinySwapSet& set = promise.set;
  std::string text = "frames " + std::to_string(set.frames) + ", in " + std::to_string(set.in_fixed) + " + " +
                     std::to_string(set.in) + ", out " + std::to_string(set.out_fixed) + " + " +
                     std::to_string(set.out) + ", drop " + std::to_string(set.drop) + (set.early ? ", early" : "");
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const TinySwapTask& task = set.tasks[i];
    text += "\nT " + std::to_string(task.period) + " D " + std::to_string(task.done_by) + " C " +
            std::to_string(task.device) + " x " + std::to_string(task.chunks) + (task.constant ? " constant" : "") +
            " rank " + std::to_string(task.rank) + " worst " + std::to_string(found.worst[i]) +
            (promise.bounds[i] ? " bound " + std::to_string(*promise.bounds[i]) : "");
  }
  return text;
}

} // namespace rtexec::test
