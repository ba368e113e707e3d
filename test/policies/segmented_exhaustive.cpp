#include "test/policies/segmented_exhaustive.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>

namespace rtexec::test {
namespace {

using Time = long long;

constexpr Time longest_period = 28;

/// Chooses victims from a list, so that every list can be tried.
class Script : public CutDevice::Choices {
 public:
  explicit Script(const CutSet& set) : set_(set) {}
  /// Advances to the next list. Returns false if there is none.
  bool next() {
    while (!list_.empty() && ++list_.back().chosen == list_.back().of) list_.pop_back();
    place_ = 0;
    return !list_.empty();
  }

  int length_of_segment(int task, int segment) override {
    return static_cast<int>(set_.tasks[static_cast<std::size_t>(task)].segments[static_cast<std::size_t>(segment)]);
  }
  int length_of_copy(int most) override { return most; }
  int victim(const CutDevice&, unsigned tasks) override {
    if (place_ == list_.size()) list_.push_back({0, __builtin_popcount(tasks)});
    for (int skip = list_[place_++].chosen; skip > 0; --skip) tasks &= tasks - 1;
    return __builtin_ctz(tasks);
  }

 private:
  struct Choice {
    int chosen = 0, of = 0;
  };
  const CutSet& set_;
  std::vector<Choice> list_;
  std::size_t place_ = 0;
};

struct Node {
  CutDevice device;
  std::array<std::int8_t, CutDevice::max_tasks> since{}; // the last nominal release, at most period + jitter
  Time now = 0;
};

class Explorer {
 public:
  Explorer(const CutSet& set, const std::vector<long long>& bounds, const RuleFaults& faults, std::size_t max_states)
      : set_(set), bounds_(bounds), faults_(faults), max_states_(max_states) {
    found_.worst.assign(set.tasks.size(), 0);
  }

  CutExploration run() {
    begin();
    while (!open_.empty() && seen_.size() <= max_states_ && !found_.exceeded) {
      const Node node = std::move(open_.back());
      open_.pop_back();
      expand(node);
    }
    found_.complete = open_.empty() || found_.exceeded;
    found_.states = seen_.size();
    return found_;
  }

 private:
  [[nodiscard]] std::size_t tasks() const { return set_.tasks.size(); }
  [[nodiscard]] Time most(std::size_t i) const { return set_.tasks[i].period + set_.tasks[i].jitter; }

  void begin() {
    std::vector<std::size_t> order(tasks());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      Node node{.device = CutDevice(set_, faults_)};
      unsigned room = set_.frames;
      for (const std::size_t i : order) {
        const unsigned given = std::min(room, set_.tasks[i].chunks);
        node.device.fill(static_cast<int>(i), static_cast<int>(given));
        room -= given;
      }
      for (std::size_t i = 0; i < tasks(); ++i) node.since[i] = static_cast<std::int8_t>(most(i));
      visit(std::move(node));
    } while (std::ranges::next_permutation(order).found);
  }

  [[nodiscard]] std::string key(const Node& node) const {
    std::string key;
    const auto add = [&](int value) { key.push_back(static_cast<char>(value)); };
    node.device.describe(add);
    for (std::size_t i = 0; i < tasks(); ++i) add(node.since[i]);
    return key;
  }
  [[nodiscard]] static bool due(const CutDevice& device) {
    return device.segment_is_due() || device.copy_is_due(false) || device.copy_is_due(true);
  }
  [[nodiscard]] bool may_ask(const Node& node, std::size_t i) const {
    return !node.device.unfinished(static_cast<int>(i)) && node.since[i] >= set_.tasks[i].period;
  }

  void visit(Node node) {
    if (seen_.insert(key(node)).second) open_.push_back(std::move(node));
  }

  /// Visits the states that `change` leads to, with every list of victims.
  template <class Change> void follow(const Node& node, const Change& change) {
    Script script(set_);
    do {
      Node next = node;
      change(next, script);
      next.device.settle(script);
      visit(std::move(next));
    } while (script.next());
  }

  void expand(const Node& node) {
    for (std::size_t i = 0; i < tasks(); ++i)
      if (may_ask(node, i))
        for (Time late = 0; late <= std::min<Time>(set_.tasks[i].jitter, node.since[i] - set_.tasks[i].period); ++late)
          ask(node, i, late);
    if (node.device.segment_is_due())
      follow(node, [&](Node& next, Script& script) {
        const int ended = next.device.end_segment(script);
        if (ended != CutDevice::none)
          keep(static_cast<std::size_t>(ended), next.since[static_cast<std::size_t>(ended)]);
      });
    for (const bool out : {false, true})
      if (node.device.copy_is_due(out)) follow(node, [&](Node& next, Script&) { next.device.end_copy(out); });
    if (!due(node.device)) tick(node);
  }

  void ask(const Node& node, std::size_t i, Time late) {
    const CutTask& task = set_.tasks[i];
    follow(node, [&](Node& next, Script&) {
      next.since[i] = static_cast<std::int8_t>(late);
      next.device.request(static_cast<int>(i), set_.order == Order::edf ? next.now - late + task.jitter + task.deadline
                                                                        : static_cast<Time>(i));
    });
  }

  void tick(Node node) {
    do {
      ++node.now;
      node.device.advance(1);
      for (std::size_t i = 0; i < tasks(); ++i) {
        node.since[i] = static_cast<std::int8_t>(std::min<Time>(node.since[i] + 1, most(i)));
        if (node.device.unfinished(static_cast<int>(i)) && node.since[i] > bounds_[i]) return keep(i, node.since[i]);
      }
    } while (only_waits(node));
    visit(std::move(node));
  }
  /// True if only time can pass, and its passing changes the state.
  [[nodiscard]] bool only_waits(const Node& node) const {
    if (due(node.device)) return false;
    for (std::size_t i = 0; i < tasks(); ++i)
      if (may_ask(node, i)) return false;
    return true;
  }

  void keep(std::size_t i, Time response) {
    found_.worst[i] = std::max(found_.worst[i], response);
    found_.exceeded = found_.exceeded || response > bounds_[i];
  }

  const CutSet& set_;
  const std::vector<long long>& bounds_;
  const RuleFaults& faults_;
  std::size_t max_states_;
  CutExploration found_;
  std::unordered_set<std::string> seen_;
  std::vector<Node> open_;
};

} // namespace

CutExploration explore(const CutSet& set, const std::vector<long long>& bounds, const RuleFaults& faults,
                       std::size_t max_states) {
  return Explorer(set, bounds, faults, max_states).run();
}

std::optional<CutSet> random_tiny_cut_set(std::mt19937_64& random, Order order, const CutTest& test) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  CutSet set{.tasks = {}, .order = order};
  const int n = draw(2, 4), levels = draw(1, 3);
  unsigned largest = 0, total = 0;
  for (int i = 0; i < n; ++i) {
    CutTask task;
    task.device_class = static_cast<unsigned>(draw(draw(0, 2) == 0 ? 0 : 1, levels));
    for (int segments = draw(1, 3); segments > 0; --segments) task.segments.push_back(draw(1, draw(1, 4)));
    if (task.device_class > 0 && draw(0, 3) > 0) task.chunks = static_cast<unsigned>(draw(1, 2));
    task.period = draw(4, 16);
    task.jitter = draw(0, 5) == 0 ? draw(0, 2) : 0;
    task.deadline = task.period - task.jitter;
    if (draw(0, 2) == 0) task.deadline = draw(static_cast<int>(task.deadline + 1) / 2, static_cast<int>(task.deadline));
    largest = std::max(largest, task.chunks);
    total += task.chunks;
    set.tasks.push_back(task);
  }
  if (draw(0, 3) > 0) std::ranges::sort(set.tasks, {}, &CutTask::deadline);
  set.frames = static_cast<unsigned>(draw(static_cast<int>(largest), static_cast<int>(total)));
  set.copy_engines = static_cast<unsigned>(draw(1, 2));
  set.in = draw(0, 2);
  set.out = draw(0, 2);
  set.in_fixed = draw(0, 4) == 0;
  set.out_fixed = draw(0, 4) == 0;
  set.launch_ahead = static_cast<unsigned>(draw(0, 1) == 0 ? 0 : draw(1, 2));
  for (Time eighths = 3;; ++eighths) {
    CutSet scaled = set;
    for (CutTask& task : scaled.tasks) {
      task.period = std::max<Time>(2, task.period * eighths / 8);
      task.deadline =
          std::clamp<Time>(task.deadline * eighths / 8, 1, task.period - std::min(task.jitter, task.period - 1));
      task.jitter = std::min(task.jitter, task.period - task.deadline);
      if (task.period + task.jitter > longest_period) return std::nullopt;
    }
    if (!test(scaled).empty()) return scaled;
  }
}

} // namespace rtexec::test
