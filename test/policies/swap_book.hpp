// A model of a device with swapping, kept from events and actions alone: which chunk is in which frame, what is in
// flight, which jobs are outstanding. It knows what is possible, and detects violations of the plan's rule
// (device_scheduler.hpp). It is written without regard to the scheduler's code: no counters, no ordered lists;
// everything is searched again.
#pragma once

#include "policies/scheduler/device_scheduler.hpp"

#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::policies::test {

class Book {
 public:
  struct Job {
    JobId id;
    Instant deadline;
    bool withdrawn = false;
    bool failed = false; // a transfer for it failed
    bool loaded = false; // rt-swap: its swap-in has begun
  };
  struct Flight {
    Transfer transfer;
    JobId job; // the job for which it moves
    // Perhaps needless: a later exchange may have freed the frame that it was to free.
    bool needless = false;
  };
  /// How often each kind of event happened.
  struct Counts {
    std::uint64_t starts = 0, bypasses = 0, drops = 0, fails = 0;
    std::uint64_t ins = 0, outs = 0, both_ways = 0, outs_for_others = 0, waiting_victims = 0, held_back = 0;
  };

  /// The plan must outlive the book, and may change only together with calls of exchanged(). At first the frames hold
  /// the first tasks' chunks, or none if not `filled`.
  explicit Book(const Plan& plan, bool filled = true);

  /// True if the device can report `event` now.
  [[nodiscard]] bool possible(const Event& event) const;
  /// Enters a possible event, the actions that followed, and the state that the scheduler then reports.
  void enter(const Event& event, std::span<const Action> actions, const DeviceScheduler::State& claimed);
  /// True if `task` can be exchanged now for one with `slots` slots: it has no job, and either none of its chunks moves
  /// or it has as many slots.
  [[nodiscard]] bool exchangeable(std::uint32_t task, std::size_t slots) const;
  /// Enters that the plan's `task` was replaced, the actions that followed, and the state that the scheduler then
  /// reports.
  void exchanged(std::uint32_t task, bool stays, std::span<const Action> actions,
                 const DeviceScheduler::State& claimed);
  /// Returns the first error found, or null if there is none.
  [[nodiscard]] const char* wrong() const { return wrong_; }

  /// True if no job is outstanding and nothing is in flight.
  [[nodiscard]] bool idle() const;
  [[nodiscard]] const std::optional<JobId>& running() const { return running_; }
  [[nodiscard]] const std::optional<Job>& job(std::uint32_t task) const { return jobs_[task]; }
  [[nodiscard]] const std::deque<Flight>& loading() const { return ins_; }
  [[nodiscard]] const std::deque<Flight>& saving() const { return outs_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  using Residence = DeviceScheduler::Residence;
  using State = DeviceScheduler::State;
  /// A swap operation of rt-swap.
  struct Operation {
    bool out = false;
    std::uint32_t task = 0;
    JobId job;
    std::size_t left = 0;
  };

  void require(bool holds, const char* what) {
    if (!holds && !wrong_) wrong_ = what;
  }

  void follow(std::span<const Action> actions, const State& claimed);
  void happened(const Event& event);
  void ended(std::deque<Flight>& flights, const Event& event);

  void done(const Action& action);
  void started(JobId id);
  void left(JobId id, bool dropped);
  void copy_begun(const Action& action, bool in);
  void check_copy(const Action& action, bool in);
  void check_operation(const Action& action, bool in);
  void begin_operation(const Action& action, bool in);

  void check_claims(const State& claimed);
  void check_slots(const State& claimed);
  void check_staged(const std::optional<DeviceScheduler::Placed>& claimed, const std::optional<JobId>& before);
  void check_flights();
  void check_nothing_left_undone();
  void check_loader_is_eager();
  void check_swap_queue_is_served();

  [[nodiscard]] bool pipelined() const { return policy_ == SwapPolicy::pipelined || policy_ == SwapPolicy::none; }
  [[nodiscard]] bool lru() const { return policy_ == SwapPolicy::lru; }
  [[nodiscard]] bool rt_swap() const { return !pipelined() && !lru(); }
  [[nodiscard]] bool guarded() const { return policy_ == SwapPolicy::serial; }

  [[nodiscard]] Job* find(JobId id);
  [[nodiscard]] bool is_outstanding(JobId id) { return find(id) != nullptr; }
  [[nodiscard]] bool more_urgent(JobId a, JobId b) const;
  /// Returns the most urgent job for which `suits` holds, except the running job and `other`.
  template <class Suits>
  [[nodiscard]] std::optional<JobId> most_urgent(const std::optional<JobId>& other, Suits suits) const;
  [[nodiscard]] std::optional<JobId> most_urgent_but(const std::optional<JobId>& other) const;
  [[nodiscard]] std::optional<JobId> most_urgent_lacking(const std::optional<JobId>& other) const;
  [[nodiscard]] std::size_t count(std::uint32_t task, Residence residence) const;
  [[nodiscard]] bool complete(std::uint32_t task) const {
    return count(task, Residence::resident) == residences_[task].size();
  }
  [[nodiscard]] bool bypasses(std::uint32_t task) const {
    return residences_[task].empty() || (stays_[task] && complete(task));
  }
  [[nodiscard]] bool staged_will_execute();
  [[nodiscard]] std::size_t free_frames() const;
  [[nodiscard]] bool has_flight(JobId id) const;
  [[nodiscard]] std::optional<std::uint32_t> victim_for(JobId job) const;

  const Plan& plan_;
  SwapPolicy policy_ = SwapPolicy::none;
  std::vector<std::optional<Job>> jobs_; // by task
  std::optional<JobId> running_;
  std::optional<JobId> staged_, staged_before_; // as the scheduler reports it, after the event and before it
  std::vector<std::vector<Residence>> residences_;
  struct Owner {
    std::uint32_t task = 0;
    std::uint32_t slot = 0;
    friend bool operator==(const Owner&, const Owner&) = default;
  };
  std::vector<std::optional<Owner>> frames_;
  std::deque<Flight> ins_, outs_;
  Operation operation_;
  std::vector<bool> stays_;
  std::vector<Instant> next_release_;
  std::vector<std::uint64_t> last_execution_;
  std::uint64_t executions_ = 0;
  Counts counts_;
  const char* wrong_ = nullptr;
};

} // namespace rtexec::policies::test
