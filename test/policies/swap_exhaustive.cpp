#include "test/policies/swap_exhaustive.hpp"

#include "policies/scheduler/device_scheduler.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

namespace rtexec::test {
namespace {

using policies::Action;
using policies::DeviceScheduler;
using policies::Event;
using policies::JobId;
using Residence = DeviceScheduler::Residence;

constexpr std::uint32_t none = 255;

Instant at(std::int64_t now) { return Instant{Duration(now)}; }

/// Makes a plan in which all slots of a task have one class, so that it does not matter which of them move.
Plan plan_of(const TinySwapSet& set) {
  Plan plan;
  plan.swap = SwapPlan{.policy = set.policy,
                       .frames = static_cast<std::uint32_t>(set.frames),
                       .copy_engines = static_cast<unsigned>(set.copy_engines),
                       .cost = {},
                       .store = {}};
  for (const TinySwapTask& each : set.tasks) {
    PlannedTask& task = plan.tasks.emplace_back();
    task.period = Duration(each.period);
    task.device_done_by = Duration(each.done_by);
    task.device_rank = static_cast<unsigned>(each.rank);
    for (std::uint32_t slot = 0; slot < static_cast<std::uint32_t>(each.chunks); ++slot)
      task.swap_slots.push_back({slot, !each.constant});
  }
  return plan;
}

struct Flight {
  policies::Transfer transfer;
  std::uint32_t job = 0; // the task for which it moves
  int left = 0;
};

struct TaskState {
  int since = 0; // ticks since the last release, at most the period + 1
  bool outstanding = false;
  std::int64_t next_release = 0; // the order of these values matters,
  std::int64_t last_start = 0;   // and under lru the order of these
  // The task for whose job a fixed cost was paid, as long as that job is outstanding.
  std::uint32_t loaded_for = none, taken_for = none;
};

struct Node {
  DeviceScheduler scheduler;
  std::vector<TaskState> tasks;
  std::vector<Flight> ins, outs; // both in `ins` with one copy engine
  std::int64_t now = 1'000'000;
  std::int64_t starts = 0;
  int left = 0;                // remaining time of the execution
  std::uint32_t operation = 0; // chunks of a swap operation that has not begun
};

class Explorer {
 public:
  Explorer(const TinySwapSet& set, std::size_t max_states) : set_(set), max_states_(max_states) {
    found_.worst.assign(set.tasks.size(), 0);
  }

  SwapExploration run() {
    begin();
    while (!open_.empty() && seen_.size() <= max_states_) {
      Node node = std::move(open_.back());
      open_.pop_back();
      expand(std::move(node));
    }
    found_.complete = open_.empty();
    found_.states = seen_.size();
    return found_;
  }

 private:
  void begin() {
    Plan plan = plan_of(set_);
    std::vector<std::size_t> order(set_.tasks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      auto room = static_cast<std::uint32_t>(set_.frames);
      for (const std::size_t i : order) {
        const auto given = std::min(room, static_cast<std::uint32_t>(set_.tasks[i].chunks));
        plan.tasks[i].resident_slots = given;
        room -= given;
      }
      Node node{.scheduler = DeviceScheduler(plan),
                .tasks = std::vector<TaskState>(set_.tasks.size()),
                .ins = {},
                .outs = {}};
      for (std::size_t i = 0; i < node.tasks.size(); ++i) node.tasks[i].since = set_.tasks[i].period;
      visit(std::move(node));
    } while (std::ranges::next_permutation(order).found);
  }

  [[nodiscard]] bool operations() const {
    return set_.policy == SwapPolicy::rt_swap || set_.policy == SwapPolicy::serial;
  }
  std::vector<Flight>& outs_of(Node& node) const { return set_.copy_engines == 1 ? node.ins : node.outs; }

  /// Returns every part of the state that can make a difference later, relative to now.
  std::string key(const Node& node) const {
    std::string key;
    const auto add = [&](std::int64_t value) { key.push_back(static_cast<char>(value)); };
    const auto& state = node.scheduler.state();
    add(state.running ? state.running->task : none);
    add(node.left);
    const auto& staged = state.levels[1].staged;
    add(staged ? staged->job.task : none);
    add(node.operation);
    for (std::size_t i = 0; i < node.tasks.size(); ++i) {
      const TaskState& task = node.tasks[i];
      add(task.since * 2 + task.outstanding);
      add(std::ranges::count_if(node.tasks,
                                [&](const TaskState& other) { return other.next_release < task.next_release; }));
      if (set_.policy == SwapPolicy::lru)
        add(std::ranges::count_if(node.tasks,
                                  [&](const TaskState& other) { return other.last_start < task.last_start; }));
      if (set_.in_fixed > 0) add(task.loaded_for);
      if (set_.out_fixed > 0) add(task.taken_for);
      int resident = 0, loading = 0, saving = 0;
      for (const auto& slot : state.slots[i]) {
        resident += slot.residence == Residence::resident;
        loading += slot.residence == Residence::loading;
        saving += slot.residence == Residence::saving;
      }
      add(resident * 64 + loading * 8 + saving);
    }
    for (const auto* flights : {&node.ins, &node.outs}) {
      add(static_cast<std::int64_t>(flights->size()));
      for (const Flight& flight : *flights) {
        add(flight.transfer.task);
        add(flight.left);
        if (set_.out_fixed + set_.in_fixed > 0) add(flight.job);
      }
    }
    return key;
  }

  /// True if only time can pass: no release is possible, and nothing has ended or may end.
  bool only_waits(const Node& node) const {
    if (set_.early) return false;
    for (std::size_t i = 0; i < node.tasks.size(); ++i)
      if (!node.tasks[i].outstanding && node.tasks[i].since >= set_.tasks[i].period) return false;
    return !due(node);
  }
  static bool due(const Node& node) {
    const auto ended = [](const std::vector<Flight>& flights) { return !flights.empty() && flights.front().left == 0; };
    return (node.scheduler.state().running && node.left == 0) || ended(node.ins) || ended(node.outs);
  }

  void visit(Node node) {
    while (only_waits(node))
      if (!tick(node)) return;
    if (seen_.insert(key(node)).second) open_.push_back(std::move(node));
  }

  /// Adds releases and ends, each as the first event; then lets time pass.
  void expand(Node node) {
    for (std::uint32_t i = 0; i < node.tasks.size(); ++i)
      if (!node.tasks[i].outstanding && node.tasks[i].since >= set_.tasks[i].period) release(node, i);
    if (const auto& running = node.scheduler.state().running; running && (node.left == 0 || set_.early))
      end_execution(node, running->task);
    for (const bool in : {true, false}) {
      const auto& flights = in ? node.ins : node.outs;
      if (!flights.empty() && (flights.front().left == 0 || set_.early)) end_transfer(node, in);
    }
    if (!due(node) && tick(node)) visit(std::move(node));
  }

  void release(Node node, std::uint32_t i) {
    TaskState& task = node.tasks[i];
    task.since = 0;
    task.outstanding = true;
    task.next_release = node.now + set_.tasks[i].period;
    // An older job of the task had paid it.
    for (TaskState& each : node.tasks) {
      if (each.loaded_for == i) each.loaded_for = none;
      if (each.taken_for == i) each.taken_for = none;
    }
    decide(node, {.kind = Event::Kind::job_requested,
                  .job = {i, 0},
                  .now = at(node.now),
                  .deadline = at(node.now + set_.tasks[i].done_by)});
    visit(std::move(node));
  }

  void end_execution(Node node, std::uint32_t i) {
    TaskState& task = node.tasks[i];
    found_.worst[i] = std::max(found_.worst[i], task.since);
    task.outstanding = false;
    task.since = std::min(task.since, set_.tasks[i].period);
    node.left = 0;
    decide(node, {.kind = Event::Kind::execution_done, .job = {i, 0}, .now = at(node.now)});
    visit(std::move(node));
  }

  void end_transfer(Node node, bool from_ins) {
    auto& flights = from_ins ? node.ins : node.outs;
    const Flight flight = flights.front();
    flights.erase(flights.begin());
    if (!flights.empty()) begin_transfer(node, flights.front());
    const bool in =
        node.scheduler.state().slots[flight.transfer.task][flight.transfer.slot].residence == Residence::loading;
    decide(node, {.kind = in ? Event::Kind::copied_in : Event::Kind::copied_out,
                  .job = {},
                  .now = at(node.now),
                  .transfer = flight.transfer});
    visit(std::move(node));
  }

  /// Advances the time by a tick. Returns false if some job outlasts its period.
  bool tick(Node& node) {
    ++node.now;
    if (node.left > 0) --node.left;
    for (auto* flights : {&node.ins, &node.outs})
      if (!flights->empty()) --flights->front().left;
    for (std::size_t i = 0; i < node.tasks.size(); ++i) {
      TaskState& task = node.tasks[i];
      const int period = set_.tasks[i].period;
      task.since = std::min(task.since + 1, task.outstanding ? period + 1 : period);
      if (task.since <= period) continue;
      found_.worst[i] = period + 1;
      return false;
    }
    return true;
  }

  void decide(Node& node, const Event& event) {
    for (const Action& action : node.scheduler.on(event)) {
      if (action.kind == Action::Kind::start_execution) {
        node.left = set_.tasks[action.job.task].device;
        node.tasks[action.job.task].last_start = ++node.starts;
      } else if (action.kind == Action::Kind::copy_in || action.kind == Action::Kind::copy_out) {
        queue(node, action);
      } else {
        std::abort();
      }
    }
  }

  void queue(Node& node, const Action& action) {
    const bool in = action.kind == Action::Kind::copy_in;
    if (operations() && node.operation == 0) begin_operation(node, action, in);
    else if (operations()) --node.operation;
    auto& flights = in ? node.ins : outs_of(node);
    flights.push_back({.transfer = action.transfer, .job = action.job.task});
    if (flights.size() == 1) begin_transfer(node, flights.front());
  }

  /// Begins an operation, as the scheduler sees it once the first chunk has begun.
  void begin_operation(Node& node, const Action& action, bool in) {
    const auto& state = node.scheduler.state();
    const auto count = [&](std::uint32_t task, Residence residence) {
      return static_cast<std::uint32_t>(
          std::ranges::count(state.slots[task], residence, &DeviceScheduler::Slot::residence));
    };
    const std::uint32_t missing = count(action.job.task, Residence::missing);
    node.operation = in ? missing
                        : std::min(missing - static_cast<std::uint32_t>(state.free.size()),
                                   count(action.transfer.task, Residence::resident) + 1) -
                              1;
    if (!in) node.tasks[action.transfer.task].taken_for = none; // each operation starts anew
  }

  void begin_transfer(Node& node, Flight& flight) {
    TaskState& owner = node.tasks[flight.transfer.task];
    const bool in =
        node.scheduler.state().slots[flight.transfer.task][flight.transfer.slot].residence == Residence::loading;
    if (in) {
      flight.left = set_.in + (std::exchange(owner.loaded_for, flight.job) == flight.job ? 0 : set_.in_fixed);
      return;
    }
    const int chunk = set_.tasks[flight.transfer.task].constant ? set_.drop : set_.out;
    flight.left = chunk + (std::exchange(owner.taken_for, flight.job) == flight.job ? 0 : set_.out_fixed);
  }

  const TinySwapSet& set_;
  std::size_t max_states_;
  SwapExploration found_;
  std::unordered_set<std::string> seen_;
  std::vector<Node> open_;
};

} // namespace

SwapExploration explore(const TinySwapSet& set, std::size_t max_states) { return Explorer(set, max_states).run(); }

} // namespace rtexec::test
