// Small task sets in code, for tests that run the executive on real threads.
#pragma once

#include <rtexec/task_set.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace rtexec::test {

using namespace std::chrono_literals;

/// Makes a synthetic task that computes for nearly its WCET in each part.
inline Task synthetic(std::string name, Duration period, Wcet wcet) {
  Task task;
  task.name = std::move(name);
  task.workload = WorkloadKind::synthetic;
  task.period = task.deadline = period;
  task.wcet = wcet;
  task.footprint = Bytes{4 << 20};
  return task;
}

/// Makes a set that runs on any machine: what the machine refuses is reported as degraded.
inline TaskSet set_of(std::vector<Task> tasks, Duration duration) {
  TaskSet set;
  set.executive.duration = duration;
  set.executive.allow_degraded = true;
  set.tasks = std::move(tasks);
  return set;
}

} // namespace rtexec::test
