// Writes a simulated run to a trace, with the events of a real run, in the order of their virtual times. Virtual times
// count from 0 and are fields of the events. The time stamps of the events are the real times at which they were
// written.
//
// Memory use does not depend on the length of the run, and no event is lost. When the number of written events reaches
// the capacity of the session's buffers, the simulation waits until the buffers are written to files.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/executive.hpp>
#include "rtexec/studies/simulator/simulator.hpp"
#include "traces/recording/session.hpp"

#include <cstdint>
#include <vector>

namespace rtexec::simulator {

class Tracer {
 public:
  /// Writes the beginning of the run to the trace: task set, plan, tasks and chains. The arguments must outlive this
  /// object. `session` must record this process.
  Tracer(const TaskSet& tasks, const Plan& plan, traces::Session& session);

  /// Adds the tracer to the observers of a run with these options.
  void watch(Options& options);
  /// Writes the end of the run to the trace. Returns the first error of the session during the run.
  [[nodiscard]] Result<> end(const Report& report);

 private:
  /// The progress of a task's job: the parts that have begun, and the time for which the current part has had its core.
  struct Progress {
    std::uint64_t job = 0;
    Instant deadline{};
    bool abandoned = false;
    bool started = false;
    bool ready = false;
    bool device_done = false;
    bool after_begun = false;
    Duration executed{0};
  };
  /// A part that has just got its core. The part counts as begun only if it still has the core when virtual time
  /// advances.
  struct Dispatch {
    unsigned core = 0;
    policies::JobId job;
    Instant at{};
  };

  void see(const Step& step);
  void see(const TimeInterval& interval);
  void see(const Decision& decision);
  void dispatch(policies::JobId job, unsigned core, Instant at);
  void begin_parts(Instant now);
  void begin_part(policies::JobId job, Instant at);
  void start(policies::JobId job, Instant at);
  void end_first_part(policies::JobId job, Instant at);
  void request(const Step& step);
  void complete(const Step& step);
  void end_abandoned(std::uint32_t task, Instant at);
  void miss(policies::JobId job, Instant at);
  void end_transfer(const Step& step);
  void make_room();
  template <class Event, class... Arguments> void write(Event event, const Arguments&... arguments) {
    event(arguments...);
    if (--room_ == 0) make_room();
  }

  const TaskSet& tasks_;
  const Plan& plan_;
  traces::Session& session_;
  std::uint64_t room_; // number of events that fit before the next wait
  std::uint64_t decisions_ = 0;
  std::vector<Progress> progress_;   // by task
  std::vector<Dispatch> dispatched_; // dispatches at the current instant
  Result<> outcome_;
};

} // namespace rtexec::simulator
