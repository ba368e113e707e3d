// Small task sets in code, for tests that run the executive for real.
#pragma once

#include <rtexec/task_set.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace rtexec::test {

using namespace std::chrono_literals;

/// A synthetic task that computes for nearly its WCETs in each part.
inline Task synthetic(std::string name, Duration period, Wcet wcet) {
  Task task;
  task.name = std::move(name);
  task.workload = WorkloadKind::synthetic;
  task.period = task.deadline = period;
  task.wcet = wcet;
  task.footprint = Bytes{4 << 20};
  return task;
}

/// Runs on any machine: what it refuses is reported as degraded.
inline TaskSet set_of(std::vector<Task> tasks, Duration duration) {
  TaskSet set;
  set.executive.duration = duration;
  set.executive.allow_degraded = true;
  set.tasks = std::move(tasks);
  return set;
}

} // namespace rtexec::test
