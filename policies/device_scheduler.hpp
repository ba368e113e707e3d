// The scheduler of one device: events in, actions out. The same object decides for the executive (real time), the simulator
// (virtual time) and the trace checker (recorded time): the same events give the same actions.
//
// Jobs execute non-preemptively, one at a time, and the device never idles while a job waits. The most urgent waiting job is the
// one of the smallest device rank, then of the earliest absolute deadline, then of the lowest task index, then of the lowest job
// number. make_plan() turns that one rule into both orders: under EDF all real-time tasks share rank 0 and best-effort tasks
// share rank 1, so that deadlines decide and best-effort jobs come last; under static priority every task has its own rank.
//
// Allocates in the constructor only. Not thread-safe: one thread feeds it.
#pragma once

#include "config/plan.hpp"
#include "config/units.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies {

struct JobId {
  std::uint32_t task = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const JobId&, const JobId&) = default;
};

struct Event {
  enum class Kind : std::uint8_t {
    job_requested,  // the job's CPU part is done and it wants the device; `deadline` orders it
    job_withdrawn,  // the job is abandoned: taken from the queue, or its completion will be of no use
    execution_done, // the device finished (or failed) the job
  };
  Kind kind{};
  JobId job;
  Instant now{};
  Instant deadline{}; // of the device part: nominal release + PlannedTask::device_done_by; job_requested only
};

struct Action {
  enum class Kind : std::uint8_t {
    start_execution,
    refuse, // the event was not possible in this state (a job requested twice, ...): the caller's error; the state is unchanged
    drop,   // a withdrawn job left the queue and will not execute
  };
  Kind kind{};
  JobId job;
  friend bool operator==(const Action&, const Action&) = default;
};

/// A list of actions of fixed capacity, reused from event to event.
class Actions {
 public:
  explicit Actions(std::size_t capacity) { list_.reserve(capacity); }
  void clear() noexcept { list_.clear(); }
  void add(Action action) noexcept; // within the capacity
  [[nodiscard]] std::span<const Action> all() const noexcept { return list_; }

 private:
  std::vector<Action> list_;
};

class DeviceScheduler {
 public:
  struct State {
    std::optional<JobId> running;
    bool running_withdrawn = false; // `running` was abandoned; it still holds the device until its execution_done
    struct Waiting { JobId job; Instant deadline; std::uint32_t rank; };
    std::vector<Waiting> waiting; // by urgency, the head first; capacity reserved
  };

  /// `plan` gives the tasks' ranks. At most one outstanding job per task, a withdrawn one that still executes included.
  explicit DeviceScheduler(const Plan& plan);
  /// Appends to `out` what is to be done because of `event`. Never blocks, never allocates.
  void on(const Event& event, Actions& out) noexcept;
  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// How many actions one event can cause at most: the capacity `out` needs.
  static constexpr std::size_t actions_per_event = 1;

 private:
  void request(const Event& event, Actions& out) noexcept;
  void withdraw(JobId job, Actions& out) noexcept;
  void finish(JobId job, Actions& out) noexcept;
  void start_head(Actions& out) noexcept;

  std::vector<std::uint32_t> ranks_; // by task
  State state_;
};

} // namespace rtexec::policies
