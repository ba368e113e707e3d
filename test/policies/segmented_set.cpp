#include "test/policies/segmented_set.hpp"

#include "policies/device/swap_charges.hpp"

#include <algorithm>
#include <numeric>

namespace rtexec::test {

using policies::Nanos;

policies::SegmentedSet charged(const CutSet& set) {
  std::vector<std::uint32_t> volumes;
  for (const CutTask& task : set.tasks) volumes.push_back(task.chunks);
  const policies::SwapCharges swap({.in_per_chunk = Duration(set.in),
                                    .out_per_chunk = Duration(set.out),
                                    .in_fixed = Duration(set.in_fixed),
                                    .out_fixed = Duration(set.out_fixed)},
                                   set.copy_engines, volumes, true);
  policies::SegmentedSet result{.tasks = {}, .flight = swap.flight()};
  for (const CutTask& task : set.tasks) {
    std::uint64_t beside = 0;
    for (const CutTask& other : set.tasks)
      if (&other != &task && other.device_class == task.device_class)
        beside = std::max<std::uint64_t>(beside, other.chunks);
    const auto length = [&](std::size_t first, std::size_t count) {
      const auto begin = task.segments.begin() + static_cast<std::ptrdiff_t>(first);
      return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 0LL);
    };
    const std::size_t together = std::min<std::size_t>(task.segments.size(), 1 + set.launch_ahead);
    Nanos run = 0;
    for (std::size_t first = 0; first + together <= task.segments.size(); ++first)
      run = std::max<Nanos>(run, length(first, together));
    const Nanos execution = length(0, task.segments.size());
    result.tasks.push_back(
        {.part = {.period = task.period,
                  .deadline = task.deadline,
                  .cost = execution,
                  .load = swap.load(task.chunks),
                  .delay = policies::load_delay(execution, task.chunks, beside, set.frames, swap.alpha()),
                  .jitter = task.jitter},
         .device_class = task.device_class,
         .run = run,
         .last = task.segments.back(),
         .restore = swap.restore(task.chunks)});
  }
  return result;
}

std::vector<long long> bounds_of(const CutSet& set) {
  std::vector<long long> bounds;
  const policies::SegmentedAnalysis analysis(charged(set));
  if (set.order == Order::edf) {
    const policies::DemandAnalysis demand = analysis.demand();
    if (!demand.proved()) return {};
    for (std::size_t i = 0; i < set.tasks.size(); ++i)
      bounds.push_back(set.tasks[i].jitter + set.tasks[i].deadline - demand.slack[i]);
    return bounds;
  }
  for (std::size_t i = 0; i < set.tasks.size(); ++i) {
    const policies::DeviceResponse response = analysis.response(i);
    if (!response.settled || response.from_release > set.tasks[i].jitter + set.tasks[i].deadline) return {};
    bounds.push_back(response.from_release);
  }
  return bounds;
}

std::string described(const CutSet& set) {
  const auto text = [](auto value) { return std::to_string(value); };
  std::string all = std::string(set.order == Order::edf ? "edf" : "static priority") + ", frames " + text(set.frames) +
                    ", engines " + text(set.copy_engines) + ", in " + text(set.in_fixed) + " + " + text(set.in) +
                    ", out " + text(set.out_fixed) + " + " + text(set.out) + ", launch-ahead " + text(set.launch_ahead);
  for (const CutTask& task : set.tasks) {
    all += "\nclass " + text(task.device_class) + " T " + text(task.period) + " D " + text(task.deadline) + " J " +
           text(task.jitter) + " x " + text(task.chunks) + " segments";
    for (const long long segment : task.segments) all += " " + text(segment);
  }
  return all;
}

} // namespace rtexec::test
