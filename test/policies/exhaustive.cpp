#include "test/policies/exhaustive.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace rtexec::test {
namespace {

enum class Stage : std::uint8_t { idle, before, queued, device, after };

struct TaskState {
  int since = 0; // ticks since the last release, at most the period + 1
  Stage stage = Stage::idle;
  int left = 0; // remaining time of the part
};

using State = std::vector<TaskState>;

class Explorer {
 public:
  explicit Explorer(const std::vector<TinyTask>& tasks) : tasks_(tasks), worst_(tasks.size(), 0) {}

  std::vector<int> run() {
    State first(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) first[i].since = tasks_[i].period;
    visit(first);
    while (!open_.empty()) {
      const State state = std::move(open_.back());
      open_.pop_back();
      expand(state);
    }
    return worst_;
  }

 private:
  static std::uint64_t key(const State& state) {
    std::uint64_t value = 0;
    for (const TaskState& task : state)
      value = value << 14 | static_cast<std::uint64_t>(task.since) << 8 | static_cast<std::uint64_t>(task.stage) << 5 |
              static_cast<std::uint64_t>(task.left);
    return value;
  }

  void visit(State state) {
    if (seen_.insert(key(state)).second) open_.push_back(std::move(state));
  }

  /// Returns the tasks whose parts execute: the first ready one on each core, and the one on the device. A part that
  /// has had all of its time ends now, regardless of which task has the core.
  std::vector<std::size_t> executing(const State& state) const {
    std::vector<std::size_t> list;
    std::array<bool, 2> taken{};
    for (std::size_t i = 0; i < state.size(); ++i) {
      const bool cpu = state[i].stage == Stage::before || state[i].stage == Stage::after;
      if (state[i].stage == Stage::device ||
          (cpu && (state[i].left == 0 || !std::exchange(taken[static_cast<std::size_t>(tasks_[i].core)], true))))
        list.push_back(i);
    }
    return list;
  }

  std::optional<std::size_t> head(const State& state) const {
    std::optional<std::size_t> best;
    const auto urgency = [&](std::size_t i) {
      return std::tuple(tasks_[i].device_rank, tasks_[i].device_done_by - state[i].since, i);
    };
    for (std::size_t i = 0; i < state.size(); ++i)
      if (state[i].stage == Stage::queued && (!best || urgency(i) < urgency(*best))) best = i;
    return best;
  }

  /// Ends the part now, and begins the next one.
  void end_part(State state, std::size_t i) {
    TaskState& task = state[i];
    const bool asks = tasks_[i].device > 0;
    if (task.stage == Stage::before && asks) task = {task.since, Stage::queued, tasks_[i].device};
    else if (task.stage == (asks ? Stage::device : Stage::before) && tasks_[i].after > 0)
      task = {task.since, Stage::after, tasks_[i].after};
    else {
      worst_[i] = std::max(worst_[i], task.since);
      task = {task.since, Stage::idle, 0};
    }
    visit(std::move(state));
  }

  void release(State state, std::size_t i) {
    const TinyTask& task = tasks_[i];
    state[i] = {0, task.before > 0 ? Stage::before : Stage::queued, task.before > 0 ? task.before : task.device};
    visit(std::move(state));
  }

  /// Adds everything that can happen next: a release, the end of an executing part (early or in time), a start, or a
  /// tick.
  void expand(const State& state) {
    for (std::size_t i = 0; i < state.size(); ++i)
      if (state[i].stage == Stage::idle && state[i].since >= tasks_[i].period) release(state, i);

    const std::vector<std::size_t> parts = executing(state);
    for (const std::size_t i : parts) end_part(state, i);
    const bool device_free =
        std::ranges::none_of(state, [](const TaskState& task) { return task.stage == Stage::device; });
    if (const auto next = head(state); next && device_free) {
      State started = state;
      started[*next].stage = Stage::device;
      return visit(std::move(started));
    }
    if (std::ranges::none_of(parts, [&](std::size_t i) { return state[i].left == 0; })) tick(state, parts);
  }

  void tick(State state, const std::vector<std::size_t>& parts) {
    for (const std::size_t i : parts) --state[i].left;
    for (std::size_t i = 0; i < state.size(); ++i) {
      const int period = tasks_[i].period;
      state[i].since = std::min(state[i].since + 1, state[i].stage == Stage::idle ? period : period + 1);
      if (state[i].since > period) {
        worst_[i] = period + 1;
        return;
      }
    }
    visit(std::move(state));
  }

  const std::vector<TinyTask>& tasks_;
  std::vector<int> worst_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<State> open_;
};

} // namespace

std::vector<int> worst_responses(const std::vector<TinyTask>& tasks) { return Explorer(tasks).run(); }

} // namespace rtexec::test
