#include "test/policies/segmented_search.hpp"
#include <rtexec/task_set.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rtexec::test {
namespace {

using Time = long long;
using Random = std::mt19937_64;

constexpr Time never = 1LL << 60;
constexpr int never_ends = 10'000; // steps at one instant

long long draw(Random& random, long long low, long long high) {
  return std::uniform_int_distribution<long long>(low, high)(random);
}
bool one_in(Random& random, long long n) { return draw(random, 1, n) == 1; }
/// Draws on a logarithmic scale: small numbers are as likely as large ones.
long long draw_log(Random& random, double low, double high) {
  return static_cast<long long>(
      std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random)));
}

// ---- simulation ----

class Simulation : private CutDevice::Choices {
 public:
  Simulation(const CutSet& set, const std::vector<long long>& bounds, const RuleFaults& faults, Random& random)
      : set_(set), bounds_(bounds), random_(random), device_(set, faults), tasks_(set.tasks.size()) {
    early_ = one_in(random_, 5);
    harm_ = static_cast<Harm>(draw(random_, 0, 3));
    spreads_ = one_in(random_, 3);
    unsigned room = set.frames;
    for (const std::size_t i : shuffled()) {
      const unsigned given = std::min(room, set.tasks[i].chunks);
      device_.fill(static_cast<int>(i), static_cast<int>(given));
      room -= given;
    }
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      longest_ = std::max(longest_, set.tasks[i].period);
      tasks_[i].nominal = -set.tasks[i].period;
    }
    calm();
  }

  Attack run(std::uint64_t jobs) {
    while (attack_.jobs < jobs && !attack_.exceeded) step();
    const CutDevice::Counts& counts = device_.counts();
    attack_.preemptions = counts.preemptions;
    attack_.restores = counts.restores;
    attack_.stalls = counts.stalls;
    return attack_;
  }

 private:
  struct Task {
    Time nominal = 0;  // of the last release
    Time asks = never; // when its next job is requested if nothing triggers it before
    bool held = false; // held back until the ambush
  };

  std::vector<std::size_t> shuffled() {
    std::vector<std::size_t> order(tasks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, random_);
    return order;
  }

  // ---- releases ----

  /// Lets some tasks continue. One of the others begins when all of them may, and the rest wait for something to begin.
  void calm() {
    ambush_ = false;
    waiting_for_ = static_cast<int>(draw(random_, 0, static_cast<Time>(tasks_.size()) - 1));
    trigger_ = static_cast<int>(draw(random_, 0, 3));
    const Time density = draw(random_, 0, 3);
    Time all = now_;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      tasks_[i].held = density == 0 || !one_in(random_, 1 + density);
      if (tasks_[i].held) all = std::max(all, tasks_[i].nominal + set_.tasks[i].period);
    }
    for (std::size_t i = 0; i < tasks_.size(); ++i) plan(i);
    Task& bait = tasks_[static_cast<std::size_t>(waiting_for_)];
    if (bait.held) bait.asks = all + draw(random_, 0, longest_ / 4);
    until_ = all + 2 * longest_;
  }

  /// Plans the next request of a task that has no job.
  void plan(std::size_t i) {
    Task& task = tasks_[i];
    if (device_.unfinished(static_cast<int>(i))) return;
    const CutTask& own = set_.tasks[i];
    if (task.held) {
      task.asks = never;
      return;
    }
    Time nominal = task.nominal + own.period;
    if (!rush_ && one_in(random_, 3)) nominal += draw(random_, 0, own.period / 2);
    const Time late = rush_ || own.jitter == 0 ? 0 : draw(random_, 0, own.jitter);
    task.asks = std::max(now_, nominal + late);
  }

  void ask(std::size_t i) {
    Task& task = tasks_[i];
    const CutTask& own = set_.tasks[i];
    task.nominal = std::max(task.nominal + own.period, now_ - own.jitter);
    task.asks = never;
    device_.request(static_cast<int>(i),
                    set_.order == Order::edf ? task.nominal + own.jitter + own.deadline : static_cast<Time>(i));
    device_.settle(*this);
  }

  /// Requests jobs of all held tasks that may request now, in any order or the least urgent first.
  void spring() {
    sprung_ = false;
    if (ambush_ && !one_in(random_, 2)) return;
    std::vector<std::size_t> order = shuffled();
    if (one_in(random_, 2))
      std::ranges::sort(order, std::greater(), [&](std::size_t i) { return set_.tasks[i].deadline; });
    const bool first = !std::exchange(ambush_, true);
    if (first) {
      rush_ = !one_in(random_, 4);
      until_ = now_ + draw(random_, longest_ / 2, 3 * longest_);
    }
    const bool second_wave = one_in(random_, 3);
    for (const std::size_t i : order) {
      Task& task = tasks_[i];
      if (!task.held || device_.unfinished(static_cast<int>(i))) continue;
      if (first && second_wave && one_in(random_, 3)) continue;
      task.held = false;
      if (task.nominal + set_.tasks[i].period <= now_) ask(i);
      else plan(i);
    }
  }

  void end_ambush() {
    rush_ = false;
    calm();
  }

  // ---- time ----

  void step() {
    Time next = until_;
    for (const Task& task : tasks_) next = std::min(next, task.asks);
    if (const int end = device_.next_end(); end >= 0) next = std::min(next, now_ + end);
    device_.advance(static_cast<int>(next - now_));
    at_once_ = next > now_ ? 0 : at_once_ + 1;
    now_ = next;
    if (one_in(random_, 2)) requests();
    ends();
    requests();
    if (sprung_) spring();
    if (now_ >= until_) end_ambush();
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (device_.unfinished(static_cast<int>(i)) && (now_ > tasks_[i].nominal + bounds_[i] || at_once_ > never_ends))
        exceeded(i);
  }

  void requests() {
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (tasks_[i].asks <= now_) ask(i);
  }

  void ends() {
    if (device_.segment_is_due())
      if (const int ended = device_.end_segment(*this); ended != CutDevice::none) {
        const auto i = static_cast<std::size_t>(ended);
        ++attack_.jobs;
        if (now_ > tasks_[i].nominal + bounds_[i]) exceeded(i);
        plan(i);
      }
    for (const bool out : {false, true})
      if (device_.copy_is_due(out)) device_.end_copy(out);
    device_.settle(*this);
  }

  void exceeded(std::size_t i) {
    if (std::exchange(attack_.exceeded, true)) return;
    attack_.what = "task " + std::to_string(i) + " after " + std::to_string(now_ - tasks_[i].nominal) + ", bound " +
                   std::to_string(bounds_[i]) + "\n" + described(set_);
  }

  // ---- the choices that the rule leaves open ----

  int length(long long most) { return static_cast<int>(early_ ? draw(random_, most > 0 ? 1 : 0, most) : most); }
  int length_of_segment(int task, int segment) override {
    return length(set_.tasks[static_cast<std::size_t>(task)].segments[static_cast<std::size_t>(segment)]);
  }
  int length_of_copy(int most) override {
    if (trigger_ == 0 && one_in(random_, 4)) sprung_ = true;
    return length(most);
  }
  void began(int task, int segment) override {
    if (ambush_ ? one_in(random_, 3) : task == waiting_for_ && (trigger_ != 1 || segment == 0) && trigger_ != 0)
      sprung_ = true;
  }

  /// Chooses the most harmful victim: begun jobs, staged jobs, or either; those of the nearest level first, or any.
  int victim(const CutDevice& device, unsigned tasks) override {
    unsigned harmed = 0;
    for (unsigned level = 1; level < CutDevice::max_levels && (harmed == 0 || spreads_); ++level) {
      if (harm_ != Harm::staged && device.current(level) != CutDevice::none) harmed |= 1U << device.current(level);
      if (harm_ != Harm::begun && device.staged(level) != CutDevice::none) harmed |= 1U << device.staged(level);
      harmed &= tasks;
    }
    if (harmed == 0 || harm_ == Harm::any) harmed = tasks;
    for (;;)
      if (const auto i = draw(random_, 0, static_cast<Time>(tasks_.size()) - 1); harmed >> i & 1U)
        return static_cast<int>(i);
  }

  const CutSet& set_;
  const std::vector<long long>& bounds_;
  Random& random_;
  CutDevice device_;
  std::vector<Task> tasks_;
  Attack attack_;
  Time now_ = 0, until_ = 0, longest_ = 0;
  int at_once_ = 0; // steps at one instant
  bool early_ = false, ambush_ = false, rush_ = false, sprung_ = false, spreads_ = false;
  enum class Harm { any, begun, staged, both } harm_{};
  int waiting_for_ = 0, trigger_ = 0;
};

// ---- sets ----

std::vector<long long> cut(Random& random, Time length, Time pieces) {
  std::vector<long long> segments;
  for (; pieces > 1 && length > pieces; --pieces) {
    const Time most = std::max<Time>(1, 2 * length / pieces);
    segments.push_back(draw(random, 1, std::min(most, length - pieces + 1)));
    length -= segments.back();
  }
  segments.push_back(length);
  return segments;
}

void scale(CutTask& task, const CutTask& original, double factor) {
  const auto scaled = [&](Time time) { return static_cast<Time>(static_cast<double>(time) * factor); };
  task.period = std::max<Time>(2, scaled(original.period));
  task.jitter = std::min(scaled(original.jitter), task.period - 1);
  task.deadline = std::clamp<Time>(scaled(original.deadline), 1, task.period - task.jitter);
}

} // namespace

CutSet random_cut_set(Random& random, Order order, Shape shape) {
  CutSet set{.tasks = {}, .order = order};
  const auto levels = static_cast<unsigned>(draw(random, 0, 3));
  const auto n = one_in(random, 4) ? draw(random, 5, 9) : draw(random, 2, 4);
  const bool fast_above = !one_in(random, 3);
  const Time longest = draw_log(random, 10, 300);
  const Time pieces = shape == Shape::few_chunks ? 20 : draw(random, 1, shape == Shape::many_chunks ? 2 : 8);
  const bool all_swap = one_in(random, 2), jitters = one_in(random, 3);
  unsigned largest = 0, total = 0;
  for (Time i = 0; i < n; ++i) {
    CutTask task;
    task.device_class = static_cast<unsigned>(draw(random, levels == 0 || one_in(random, 2) ? 0 : 1, levels));
    const Time length = std::max<Time>(1, draw_log(random, 1, static_cast<double>(longest)));
    task.segments = cut(random, length, draw(random, 1, std::min<Time>(pieces, length)));
    if (task.device_class > 0 && (all_swap || one_in(random, 2)))
      task.chunks = static_cast<unsigned>(shape == Shape::many_chunks  ? draw_log(random, 4, 40)
                                          : shape == Shape::few_chunks ? draw(random, 1, 3)
                                                                       : draw_log(random, 1, 8));
    task.period = draw_log(random, 10, 100) * (fast_above ? 1 + 2 * task.device_class : 2);
    task.jitter = jitters && one_in(random, 2) ? draw(random, 0, task.period / 2) : 0;
    task.deadline = task.period - task.jitter;
    if (one_in(random, 3)) task.deadline = draw(random, task.deadline / 2, task.deadline);
    largest = std::max(largest, task.chunks);
    total += task.chunks;
    set.tasks.push_back(task);
  }
  if (order == Order::edf || !one_in(random, 4))
    std::ranges::sort(set.tasks, {}, [](const CutTask& task) { return task.deadline; });
  set.frames = static_cast<unsigned>(draw(random, largest, std::max(largest, total)));
  if (one_in(random, 3)) set.frames = largest;
  set.frames = std::max(set.frames, 1U);
  set.copy_engines = static_cast<unsigned>(draw(random, 1, 2));
  const Time copy = shape == Shape::many_chunks ? 2 : 1 + longest / (shape == Shape::few_chunks ? 2 : 10);
  set.in = draw(random, 0, copy);
  set.out = draw(random, 0, copy);
  if (shape == Shape::fixed_costs || one_in(random, 3)) set.in_fixed = draw(random, 0, copy * 3);
  if (shape == Shape::fixed_costs || one_in(random, 3)) set.out_fixed = draw(random, 0, copy);
  set.launch_ahead = one_in(random, 2) ? 0 : static_cast<unsigned>(draw(random, 1, 3));
  return set;
}

CutSet at_the_edge(CutSet set, const CutTest& test, Random& random) {
  const CutSet original = set;
  double high = 1.0 / 8;
  const auto all = [&](double factor) {
    for (std::size_t i = 0; i < set.tasks.size(); ++i) scale(set.tasks[i], original.tasks[i], factor);
    return !test(set).empty();
  };
  while (!all(high))
    if ((high *= 2) > 1024) return {};
  const auto narrow = [&](double low, double accepted, int steps, const auto& accepts) {
    for (; steps > 0; --steps) {
      const double middle = (low + accepted) / 2;
      (accepts(middle) ? accepted : low) = middle;
    }
    accepts(accepted);
  };
  narrow(high / 2, high, 8, all);
  // If there is room for all, the first task that gets a shorter deadline is alone at the edge.
  const bool roomy = one_in(random, 2);
  if (roomy) all(high * static_cast<double>(draw(random, 1, 4)));
  for (Time tries = roomy ? 0 : draw(random, 0, 4); tries > 0; --tries) {
    const CutSet before = set;
    const auto chosen = static_cast<std::size_t>(draw(random, 0, static_cast<Time>(set.tasks.size()) - 1));
    const bool class_of = one_in(random, 2);
    narrow(0.1, 1, 6, [&](double factor) {
      for (std::size_t i = 0; i < set.tasks.size(); ++i)
        if (i == chosen || (class_of && set.tasks[i].device_class == set.tasks[chosen].device_class))
          scale(set.tasks[i], before.tasks[i], factor);
      return !test(set).empty();
    });
  }
  if (!roomy && one_in(random, 2)) return set;
  std::vector<std::size_t> order(set.tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  for (const std::size_t i : order)
    narrow(0, static_cast<double>(set.tasks[i].deadline), 8, [&](double deadline) {
      set.tasks[i].deadline = static_cast<Time>(deadline);
      return !test(set).empty();
    });
  return set;
}

Attack attack(const CutSet& set, const std::vector<long long>& bounds, const RuleFaults& faults, std::uint64_t jobs,
              Random& random) {
  return Simulation(set, bounds, faults, random).run(jobs);
}

} // namespace rtexec::test
