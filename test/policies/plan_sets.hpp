// Boards, tasks and sets for tests of plans. They are small and have no overheads unless a test adds them.
#pragma once

#include "policies/admission/admission.hpp"
#include "test/support/resolved.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace rtexec::policies::test {

using rtexec::test::resolved;

inline Board board_of() {
  Board board;
  board.name = "host";
  board.capacity = Bytes{1024 * 4096};
  board.chunk = Bytes{4096};
  board.memory_policies = {MemoryPolicy::device};
  return board;
}

inline Task task_of(std::string name, Duration period, Wcet wcet, unsigned core = 0) {
  Task task;
  task.name = std::move(name);
  task.period = task.deadline = period;
  task.wcet = wcet;
  task.core = core;
  return task;
}

inline TaskSet set_of(std::vector<Task> tasks, Order order = Order::edf) {
  TaskSet set;
  set.executive.order = order;
  set.tasks = std::move(tasks);
  return set;
}

inline TestVerdict test_named(const Plan& plan, const std::string& name) {
  const std::vector<TestVerdict> tests = plan.tests();
  return *std::ranges::find(tests, name, &TestVerdict::name);
}

inline TimeBound times_of(const TestVerdict& verdict) { return std::get<TimeBound>(verdict.bound); }

} // namespace rtexec::policies::test
