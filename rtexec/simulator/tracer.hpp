// Writes a run of the simulator with the events of a real one, in the order of their virtual times, which count from 0 and are in the fields;
// the events' own time stamps tell when they were written.
#pragma once

#include "config/plan.hpp"
#include "config/task_set.hpp"
#include "rtexec/executive.hpp"
#include "rtexec/simulator/simulator.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace rtexec::simulator {

class Tracer {
 public:
  /// Both outlive it.
  Tracer(const TaskSet& tasks, const Plan& plan) : tasks_(tasks), plan_(plan), progress_(plan.tasks.size()) {}

  void see(const Step& step);
  void see(const Stretch& stretch);
  /// To the session that records this process. Waits now and then, so that its buffers are emptied. `swap`: of the whole run; null: nothing was swapped.
  void write(const SwapReport* swap);

 private:
  struct Event {
    Instant at{};
    std::function<void()> emit;
  };
  /// Of a task's job: which parts have begun.
  struct Progress {
    bool started = false;
    bool device_done = false;
    bool after_begun = false;
  };
  template <class Emit>
  void note(Instant at, Emit emit) { events_.push_back({at, std::move(emit)}); }
  void complete(const Step& step);

  const TaskSet& tasks_;
  const Plan& plan_;
  std::vector<Event> events_;
  std::vector<Progress> progress_; // by task
};

} // namespace rtexec::simulator
