#include "traces/analysis/surroundings.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

namespace rtexec::traces {
namespace {

constexpr Duration idle = std::chrono::milliseconds(10);
constexpr std::size_t max_groups = 64;
constexpr std::size_t max_cores = 8192; // a damaged recording may contain any number
// The group of all executions after the maximum number of groups was reached
constexpr std::uint32_t others = UINT32_MAX;
// Groups of the factor `neighbour`
constexpr std::uint32_t nobody = 0, preempted = 1, first_neighbour = 2;
// Concurrent work, as bits; the groups of the factor `concurrent`
constexpr std::uint32_t device_works = 1, copies_in = 2, copies_out = 4;

std::uint32_t doubling_class(Duration pause) {
  const auto whole = std::max<Duration::rep>(0, pause / std::chrono::milliseconds(1));
  return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(whole)));
}

std::string pause_name(std::uint32_t doublings) {
  const auto limit = [](std::uint32_t power) { return readable(std::chrono::milliseconds(std::int64_t{1} << power)); };
  return doublings == 0 ? "below " + limit(0) : limit(doublings - 1) + " to " + limit(doublings);
}

std::string name_of_concurrent(std::uint32_t bits) {
  const std::string copies = (bits & copies_in) && (bits & copies_out) ? "copies both ways"
                             : bits & copies_in                        ? "copies in"
                             : bits & copies_out                       ? "copies out"
                                                                       : "";
  if (!(bits & device_works)) return copies.empty() ? "nothing" : copies;
  return copies.empty() ? "the device" : "the device and " + copies;
}

template <class What> bool any_during(const History<What>& history, Instant begin, Instant end) {
  bool found = false;
  history.overlapping(begin, end, [&](const auto&) { found = true; });
  return found;
}

std::uint32_t concurrent(const PartExecution& execution, const Timeline& timeline) {
  const auto copied = [&](Direction direction) {
    return any_during(timeline.engine(direction).transfers, execution.begin, execution.end);
  };
  const bool device = execution.part != Part::device && any_during(timeline.executions, execution.begin, execution.end);
  return (device ? device_works : 0) | (copied(Direction::in) ? copies_in : 0) |
         (copied(Direction::out) ? copies_out : 0);
}

Duration wcet_of(const TaskSetup& task, Part part) {
  return part == Part::before ? task.wcet.before : part == Part::device ? task.longest_on_device() : task.wcet.after;
}

} // namespace

std::string_view name(Factor factor) {
  static constexpr std::array<std::string_view, factors> names{"pause", "neighbour", "beside", "clock"};
  return names[static_cast<std::size_t>(factor)];
}

std::string_view name(Part part) {
  static constexpr std::array<std::string_view, parts> names{"before", "device", "after"};
  return names[static_cast<std::size_t>(part)];
}

Surroundings::PartAccount& Surroundings::account(std::uint32_t task, Part part) {
  return accounts_[task][static_cast<std::size_t>(part)];
}

void Surroundings::add(const PartExecution& execution, const Timeline& timeline) {
  const Keys keys = keys_of(execution, timeline);
  const Duration wcet = wcet_of(setup_.tasks[execution.job.task], execution.part);
  const bool above = wcet > Duration(0) && execution.took > wcet;
  for (std::size_t i = 0; i < factors; ++i)
    if (keys[i]) count(execution, static_cast<Factor>(i), *keys[i], above);
  if (above) keep_excess(execution, wcet, keys);
  note_end(execution);
}

void Surroundings::count(const PartExecution& execution, Factor factor, Key key, bool above_wcet) {
  auto& groups = account(execution.job.task, execution.part).groups[static_cast<std::size_t>(factor)];
  auto group = std::ranges::find(groups, key, &Group::key);
  if (group == groups.end() && groups.size() >= max_groups)
    group = std::ranges::find(groups, key = others, &Group::key);
  if (group == groups.end()) group = groups.insert(group, Group{.key = key, .above_wcet = 0, .times = {}});
  group->times.add(execution.took, execution.job.number, execution.end);
  group->above_wcet += above_wcet;
}

void Surroundings::note_end(const PartExecution& execution) {
  account(execution.job.task, execution.part).last_end = execution.end;
  const End end{execution.job.task, execution.part, execution.end};
  if (execution.part == Part::device) last_on_device_ = end;
  else last_on_core_[execution.core] = end;
}

Surroundings::Keys Surroundings::keys_of(const PartExecution& execution, const Timeline& timeline) {
  const auto last = account(execution.job.task, execution.part).last_end;
  return {last ? std::optional(doubling_class(execution.begin - *last)) : std::nullopt, neighbour_of(execution),
          concurrent(execution, timeline),
          execution.part == Part::device ? clocks_.of_device() : clocks_.of_core(execution.core)};
}

Surroundings::Key Surroundings::neighbour_of(const PartExecution& execution) const {
  const bool on_device = execution.part == Part::device;
  const auto on_core = last_on_core_.find(execution.core);
  const auto last = on_device                        ? last_on_device_
                    : on_core == last_on_core_.end() ? std::nullopt
                                                     : std::optional(on_core->second);
  const bool may_co_run = on_device && setup_.co_runs();
  if (last && last->at > execution.begin && !may_co_run) return preempted;
  if (!last || execution.begin - last->at > idle) return nobody;
  return first_neighbour + last->task * static_cast<Key>(parts) + static_cast<Key>(last->part);
}

void Surroundings::keep_excess(const PartExecution& execution, Duration wcet, const Keys& keys) {
  ++excesses_;
  if (above_wcet_.size() == Analysis::max_excesses) return;
  Excess& kept = above_wcet_.emplace_back(Excess{.job = execution.job,
                                                 .part = std::string(name(execution.part)),
                                                 .begin = execution.begin,
                                                 .time = execution.took,
                                                 .wcet = wcet,
                                                 .stolen = {},
                                                 .surroundings = {}});
  exceeding_.push_back(execution);
  for (std::size_t i = 0; i < factors; ++i)
    kept.surroundings.push_back(keys[i] ? group_name(static_cast<Factor>(i), *keys[i]) : "");
}

void Surroundings::see_theft(const Record& record) {
  if (stolen_.size() == max_cores && !stolen_.contains(record.core)) return;
  stolen_[record.core] += record.stolen;
  for (std::size_t i = 0; i < exceeding_.size(); ++i) {
    const PartExecution& execution = exceeding_[i];
    const bool its_core = execution.part == Part::device ? record.computes : execution.core == record.core;
    if (its_core && execution.begin <= record.at && record.since <= execution.end)
      above_wcet_[i].stolen += record.stolen;
  }
}

std::vector<StolenAnalysis> Surroundings::stolen() const {
  std::vector<StolenAnalysis> all;
  for (const auto& [core, time] : stolen_) all.push_back({.core = core, .time = time});
  return all;
}

std::string Surroundings::group_name(Factor factor, Key key) const {
  if (key == others) return "others";
  switch (factor) {
  case Factor::pause: return pause_name(key);
  case Factor::concurrent: return name_of_concurrent(key);
  case Factor::clock: return Clocks::name(key);
  case Factor::neighbour: break;
  }
  if (key == nobody) return "idle for " + readable(idle);
  if (key == preempted) return "preempted";
  const Key neighbour = key - first_neighbour;
  static constexpr std::array<const char*, parts> whose{"first part of ", "", "last part of "};
  return whose[neighbour % parts] + setup_.tasks[neighbour / parts].name;
}

FactorAnalysis Surroundings::analysis(Factor factor, const std::vector<Group>& groups) const {
  std::vector<const Group*> sorted;
  for (const Group& group : groups) sorted.push_back(&group);
  std::ranges::sort(sorted, {}, &Group::key);
  FactorAnalysis result{.factor = factor, .ratio = 1, .groups = {}};
  Duration least = Duration::max(), most{0};
  for (const Group* group : sorted) {
    const Distribution times = group->times.distribution();
    result.groups.push_back({.name = group_name(factor, group->key),
                             .count = times.count,
                             .above_wcet = group->above_wcet,
                             .p50 = times.p50,
                             .p90 = times.p90,
                             .p99 = times.p99,
                             .max = times.max});
    if (times.count < FactorGroup::enough) continue;
    least = std::min(least, times.p90);
    most = std::max(most, times.p90);
  }
  if (least < most)
    result.ratio = static_cast<double>(most.count()) / static_cast<double>(std::max(Duration(1), least).count());
  return result;
}

std::vector<FactorAnalysis> Surroundings::factors_of(std::uint32_t task, Part part) const {
  const PartAccount& of = accounts_[task][static_cast<std::size_t>(part)];
  std::vector<FactorAnalysis> all;
  for (std::size_t i = 0; i < factors; ++i)
    if (!of.groups[i].empty()) all.push_back(analysis(static_cast<Factor>(i), of.groups[i]));
  std::ranges::stable_sort(all, std::ranges::greater(), &FactorAnalysis::ratio);
  return all;
}

} // namespace rtexec::traces
