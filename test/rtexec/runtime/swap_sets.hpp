// Sets of tasks that swap, and properties of all their runs.
#pragma once

#include "rtexec/runtime/planning/executive_setup.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/rtexec/runtime/swap_doubles.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::test {

inline std::string name_of(SwapPolicy policy) {
  constexpr std::array names{"pipelined", "serial", "rt_swap", "mo_vmm", "min", "pageable", "lru", "none"};
  return names[static_cast<std::size_t>(policy)];
}

/// The rules to test: the scheduler has one rule for all others.
inline constexpr std::array rules{SwapPolicy::pipelined, SwapPolicy::serial, SwapPolicy::rt_swap, SwapPolicy::lru};

inline constexpr Duration endless = std::chrono::hours(1); // a run that the test stops

/// Makes a set that runs on any machine and swaps small chunks.
inline TaskSet swapping_set(std::vector<Task> tasks, Duration duration, SwapPolicy policy, Bytes capacity) {
  TaskSet set = set_of(std::move(tasks), duration);
  set.device.capacity = capacity;
  set.device.chunk = small_chunk;
  set.device.swap_cost = {
      .in_per_chunk = 2ms, .out_per_chunk = 2ms, .in_fixed = {}, .out_fixed = {}, .drop_per_chunk = {}};
  set.swap.policy = policy;
  return set;
}

/// Makes a task with a short device part. Each of its releases gets its job.
inline Task swapping_task(std::string name, Duration period, Duration offset = {}) {
  Task task = synthetic(std::move(name), period, {.before = 100us, .device = 1ms, .after = 100us});
  task.offset = offset;
  task.on_overrun = OnOverrun::catch_up;
  return task;
}

inline Executive made(TaskSet set, executive::Setup setup) {
  setup.force = true;
  auto executive = executive::create(std::move(set), std::move(setup));
  if (!executive) throw std::runtime_error(executive.error().what);
  return std::move(*executive);
}

inline void begun(Executive& executive) {
  if (const auto started = executive.start(); !started) throw std::runtime_error(started.error().what);
}

/// Waits until `done`, at most half a minute.
template <class Done> void run_until(Executive& executive, Done done) {
  const Instant end = hal::now() + 30s;
  while (!done() && hal::now() < end) executive.wait(2ms);
}

/// Hashing tasks that take turns, and what they observed.
struct HashingTasks {
  explicit HashingTasks(std::vector<Hashing::Shape> of) : shapes(std::move(of)) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      shapes[i].seed = i + 1;
      seen.push_back(std::make_shared<Seen>());
      const auto turn = period / static_cast<Duration::rep>(shapes.size());
      tasks.push_back(swapping_task("hash-" + std::to_string(i), period, turn * static_cast<Duration::rep>(i)));
    }
  }
  executive::Setup setup() const {
    executive::Setup setup;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      setup.workloads[tasks[i].name] = std::make_unique<Hashing>(shapes[i], seen[i]);
    return setup;
  }
  /// Returns the smallest number of executions of a task.
  std::size_t executions() const {
    return std::ranges::min(seen | std::views::transform([](const auto& each) { return each->count.load(); }));
  }
  bool all_as_expected() const {
    return std::ranges::all_of(std::views::iota(std::size_t{0}, shapes.size()), [&](std::size_t i) {
      return seen[i]->all() == expected(shapes[i], seen[i]->count.load());
    });
  }

  static constexpr Duration period = std::chrono::milliseconds(20);
  std::vector<Hashing::Shape> shapes;
  std::vector<std::shared_ptr<Seen>> seen;
  std::vector<Task> tasks;
};

/// Two tasks of four chunks each that do not fit at the same time.
inline constexpr unsigned own_chunks = 4;
inline HashingTasks two_tasks(Hashing::State kind = Hashing::State::changes) {
  const Hashing::Shape shape{.constant = {}, .scratch = {}, .state = small_chunk * own_chunks, .kind = kind};
  HashingTasks two({shape, shape});
  for (Task& task : two.tasks) task.swap_volume = shape.state;
  return two;
}

/// Checks that every released job has exactly one end.
inline void expect_balanced(const Report& report) {
  for (const TaskReport& task : report.tasks) {
    const std::uint64_t ended = task.completed + task.aborted + task.failed;
    EXPECT_LE(ended, task.released) << task.name;
    EXPECT_GE(ended + task.unfinished, task.released) << task.name;
  }
}

inline std::uint64_t failed_jobs(const Report& report) {
  std::uint64_t failed = 0;
  for (const TaskReport& task : report.tasks) failed += task.failed;
  return failed;
}

} // namespace rtexec::test
