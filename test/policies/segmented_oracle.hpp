// A second implementation of the device scheduler's rule for classes and segments, from its text and without regard to
// the scheduler's code. It has no queues, keeps nothing in order, and searches all jobs for every decision. It predicts
// what the scheduler does after an event, except the slot and frame of a chunk; of those it checks that they are
// possible. Deliberate errors in it show that the comparison notices errors.
#pragma once

#include "policies/scheduler/device_scheduler.hpp"
#include "test/policies/scheduler_events.hpp"

#include <optional>
#include <set>
#include <span>
#include <vector>

namespace rtexec::policies::test {

/// Deliberate errors in the rule.
enum class Fault {
  none,
  // choice of the executing job
  top_class_after_levels, // top-class jobs execute only if no level has a job that could execute
  top_class_between_jobs, // a preempted job resumes before top-class jobs
  top_class_starts_again, // a preempted top-class job begins with its first segment
  lowest_level_first,     // levels in reverse order
  back_fill,              // a lower level executes while the active one loads
  level_is_a_queue,       // a preempted job competes with the waiting jobs of its level
  resumed_without_chunks, // a preempted job resumes with a chunk missing
  begun_without_chunks,   // a staged job begins with a chunk missing
  bypass_by_any,          // a job of a task with slots bypasses
  bypass_from_behind,     // a job bypasses that does not head its queue
  no_bypass,
  less_urgent_bypasses,
  classes_as_ranks, // the rank decides among top-class jobs only if deadlines are equal
  // choice of the staged job
  staged_while_active, // frozen levels stage no job
  stage_is_given_up,   // a staged job is unstaged if a more urgent one waits
  // choice of the chunks to move
  staged_before_preempted, // the staged job's chunks come first
  only_preempted,          // the staged job loads nothing while another one is preempted
  loads_for_frozen,        // frozen levels load too
  rests_beside_top_class,  // no chunk moves while a top-class job executes
  two_in_flight,
  saves_too_much, // frames being saved do not count as free
  // choice of the victim
  takes_from_executing,
  takes_from_preempted, // the preempted job of the own level
  spares_frozen,        // frozen levels' jobs lose no chunks
  frozen_before_waiting,
  preempted_before_staged, // in a frozen level
  highest_level_first,     // among frozen levels and waiting jobs
  earliest_release_first,
  // how far segments are launched ahead
  launches_too_many,
  launches_in_spite, // although another job would be chosen
  launches_once,     // only when the job begins or resumes
  launches_for_withdrawn,
  // how jobs leave
  withdrawn_goes_on, // a withdrawn job runs to its last segment
  leaves_under_way,  // a job leaves while chunks move for it
  failure_is_ignored,
  failure_of_the_active, // a failure affects the staged job of the active level instead
  // how jobs stream
  streams_between_segments, // no chunk arrives while the job executes
  streams_last,             // the staged job's chunks come before those of the executing job
  begins_with_its_reads,    // a job begins before its ring is full
  waits_for_the_ring,       // every segment waits for a full ring
  goes_on_without,          // a segment begins without the chunks that it reads
  keeps_what_was_read,      // chunks stay after they are read, until the job ends
  keeps_the_end,            // a job's last chunks stay when it leaves
  one_frame_more,
  lands_all_the_same, // a chunk that no job needs any more still becomes resident
  stream_cannot_fail,
  last,
};

class SegmentedOracle {
 public:
  enum class JobState { waiting, staged, preempted, device };
  struct Job {
    JobId id;
    Instant deadline;
    JobState place = JobState::waiting;
    std::uint32_t done = 0; // completed segments
    bool withdrawn = false;
    bool failed = false;
  };
  struct Flight {
    Transfer transfer;
    JobId job; // the job for which it moves
    bool in = false;
  };
  /// How often each kind of event happened.
  struct Counts {
    std::uint64_t starts = 0, preemptions = 0, resumed = 0, ahead = 0, bypasses = 0;
    std::uint64_t restores = 0, from_frozen = 0, from_waiting = 0, beside_top_class = 0;
    std::uint64_t dropped_begun = 0, failed_begun = 0, dropped_frozen = 0;
    std::uint64_t streamed = 0, streamed_again = 0;
  };

  /// The plan must outlive the oracle. It may change only together with calls of exchange().
  SegmentedOracle(Plan& plan, Fault fault);

  [[nodiscard]] bool possible(const Event& event) const;
  /// Returns the actions that follow a possible event. Transfers have no slot and frame.
  List on(const Event& event);
  [[nodiscard]] bool exchangeable(std::uint32_t task, const DeviceScheduler::TaskParameters& with,
                                  std::size_t room) const;
  List exchange(std::uint32_t task, const DeviceScheduler::TaskParameters& with);
  /// Carries out the same actions with slots and frames. Returns an impossible choice, or null if all are possible.
  [[nodiscard]] const char* carry_out(std::span<const Action> actions);
  /// Returns what is wrong in the state that the scheduler reports, or null if nothing is.
  [[nodiscard]] const char* wrong(const DeviceScheduler::State& claimed) const;

  [[nodiscard]] const std::vector<std::optional<Job>>& jobs() const { return jobs_; }
  [[nodiscard]] const Job* on_device() const;
  [[nodiscard]] const std::vector<Flight>& flights() const { return flights_; }
  [[nodiscard]] bool idle() const;
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  using Residence = DeviceScheduler::Residence;
  struct Chunks {
    std::size_t resident = 0, missing = 0, loading = 0, saving = 0;
  };

  [[nodiscard]] bool has(Fault fault) const { return fault_ == fault; }
  [[nodiscard]] std::uint32_t class_of(const Job& job) const { return plan_.tasks[job.id.task].device_class; }
  [[nodiscard]] std::uint32_t segments_of(const Job& job) const { return plan_.tasks[job.id.task].segments; }
  [[nodiscard]] std::uint32_t lowest_level() const;
  [[nodiscard]] bool more_urgent(const Job& a, const Job& b) const;
  [[nodiscard]] Job* in_place(std::uint32_t level, JobState place) const;
  [[nodiscard]] Job* head(std::uint32_t level) const;
  [[nodiscard]] bool unfinished(std::uint32_t level) const;
  [[nodiscard]] std::optional<std::uint32_t> active_level() const;
  [[nodiscard]] bool complete(const Job& job) const;
  [[nodiscard]] SlotRange wanted(std::uint32_t task) const;
  void give_back(std::uint32_t task);
  [[nodiscard]] bool bypasses(const Job& job) const;
  [[nodiscard]] static bool will_execute(const Job* job) { return job && !job->withdrawn && !job->failed; }

  void ended_segment(Job& job);
  void ended_transfer(const Event& event);
  void let_go();
  void leave(Job& job);
  void settle();
  [[nodiscard]] Job* chosen() const;
  [[nodiscard]] Job* chosen_of(std::uint32_t level) const;
  [[nodiscard]] bool is_chosen_again(Job& job) const;
  bool execute();
  bool stage();
  void launch(Job& job);
  bool move();
  bool move_for(const Job& job);
  [[nodiscard]] std::vector<Job*> targets() const;
  [[nodiscard]] std::optional<std::uint32_t> victim_for(const Job& job) const;
  [[nodiscard]] bool protects(const Job& target, const Job& other) const;
  [[nodiscard]] bool prefers(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::size_t loading() const;
  [[nodiscard]] std::size_t saving() const;

  Plan& plan_;
  Fault fault_;
  mutable std::vector<std::optional<Job>> jobs_; // by task
  std::uint32_t launched_ = 0;                   // segments of the job on the device that are launched
  std::vector<Chunks> chunks_;                   // by task
  std::vector<std::vector<DeviceScheduler::Slot>> slots_;
  std::set<std::uint32_t> free_;
  std::size_t free_frames_ = 0; // the free ones that on() has not assigned
  std::vector<Flight> flights_;
  std::vector<Instant> next_release_;
  std::vector<bool> stays_;
  List actions_;
  Counts counts_;
};

} // namespace rtexec::policies::test
