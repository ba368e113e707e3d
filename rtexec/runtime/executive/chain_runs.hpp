// Follows the data of each chain through a run. The threads of the tasks copy the time stamps of a job's inputs to its
// outputs, and so from task to task, without waiting. The completion thread of the last task measures reaction times
// and data ages.
//
// policies/chains/chain_bounds.hpp defines these times. Data are available when they are written to the inputs of other
// tasks (rtexec/runtime/channels). A task may have no input from the previous task of the chain. Its job is then
// treated as if it had read the newest output of the previous task.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "policies/chains/chain_times.hpp"
#include "rtexec/runtime/channels/latest_mailbox.hpp"
#include "rtexec/runtime/executive/status_page.hpp"
#include "rtexec/runtime/statistics/chain_statistics.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace rtexec::executive {

/// The position of one task in one chain. A position stores the time stamps of the task's current job.
class ChainPlace {
 public:
  /// The instants of one job of the chain's first task from which reaction times and data ages may count.
  struct Reading {
    Instant at{};
    Instant event{};   // the event that released the job, or its nominal release if a timer released it
    Instant sampled{}; // the oldest sampling instant of the job's inputs
  };
  // The next two functions are called by the release thread.
  /// Selects the data of the previous task that were available at `when`. Called before a job fills its inputs, because
  /// filling them may take long.
  void look(Instant when) noexcept;
  void read(const Reading& reading) noexcept;
  /// Records that the output of the job becomes available at `at`. Called by the completion thread.
  void write(Instant at) noexcept;

 private:
  friend class ChainRuns;

  channels::LatestMailbox* before_ = nullptr; // output of the previous task; null: this is the first task
  channels::LatestMailbox* behind_ = nullptr; // this task's output; null: this is the last task
  policies::ChainEnd* end_ = nullptr;
  ChainStatistics* statistics_ = nullptr;
  bool from_sampling_ = false;               // true: times count from the sampling of the first task's inputs
  std::optional<policies::ChainStamp> held_; // the stamps of the data that the job in progress has read
  std::uint64_t jobs_ = 0;
};

class ChainRuns {
 public:
  ChainRuns(const TaskSet& tasks, const Plan& plan);

  /// Returns the positions of task `task` in all chains. The positions live as long as this object.
  [[nodiscard]] std::vector<ChainPlace*> places_of(std::uint32_t task) const;
  [[nodiscard]] std::vector<ChainReport> report() const;
  /// Returns the statuses of all chains with their static fields filled in.
  [[nodiscard]] std::vector<ChainStatus> first_status() const;
  /// Fills the dynamic fields of the statuses. Any thread; allocates nothing.
  void show(std::vector<ChainStatus>& chains) const;

 private:
  struct Chain {
    Chain(const std::string& name, bool from_sampling, bool triggered)
        : statistics(name, from_sampling), end(triggered) {}
    std::vector<std::uint32_t> tasks;
    std::vector<std::unique_ptr<ChainPlace>> places;
    std::vector<std::unique_ptr<channels::LatestMailbox>> links; // outputs of each task except the last one
    ChainStatistics statistics;
    policies::ChainEnd end;
  };

  std::vector<std::unique_ptr<Chain>> chains_;
};

} // namespace rtexec::executive
