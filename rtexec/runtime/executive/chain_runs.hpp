// Follows the data of each chain through a run. The tasks' own threads pass the time stamps of a job's inputs to its
// outputs, from task to task without waiting. The completion thread of the last task measures.
//
// policies/chains/chain_bounds.hpp defines from where to where times count. Data are available when they are written to
// the inputs of other tasks (rtexec/runtime/channels). If a task of a chain has no input from the previous task, its
// data are treated as if it had.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "policies/chains/chain_times.hpp"
#include "rtexec/runtime/channels/latest.hpp"
#include "rtexec/runtime/executive/status_page.hpp"
#include "rtexec/runtime/statistics/chain_statistics.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace rtexec::executive {

/// One task's place in one chain.
class ChainPlace {
 public:
  /// The inputs of a job of the first task.
  struct Reading {
    Instant at{};
    Instant event{};   // the event that released the job, or its nominal release if a timer released it
    Instant sampled{}; // the oldest sampling instant of its inputs
  };
  // For the release thread.
  /// Selects the data of the previous task that were available at `when`. Called before a job fills its inputs, which
  /// may take long.
  void look(Instant when) noexcept;
  void read(const Reading& reading) noexcept;
  /// Called by the completion thread: the output of that job becomes available at `at`.
  void write(Instant at) noexcept;

 private:
  friend class ChainRuns;

  channels::Latest* before_ = nullptr; // null: the first task
  channels::Latest* behind_ = nullptr; // null: the last one
  policies::ChainEnd* end_ = nullptr;
  ChainStatistics* statistics_ = nullptr;
  bool from_sampling_ = false;               // times count from the sampling of the first task's inputs
  std::optional<policies::ChainStamp> held_; // by the job in progress
  std::uint64_t jobs_ = 0;
};

class ChainRuns {
 public:
  ChainRuns(const TaskSet& tasks, const Plan& plan);

  /// Returns all places of task `task`, which live as long as this.
  [[nodiscard]] std::vector<ChainPlace*> places_of(std::uint32_t task) const;
  [[nodiscard]] std::vector<ChainReport> report() const;
  /// Returns statuses with the static fields filled in.
  [[nodiscard]] std::vector<ChainStatus> first_status() const;
  /// Fills the dynamic fields. Any thread; allocates nothing.
  void show(std::vector<ChainStatus>& chains) const;

 private:
  struct Chain {
    Chain(const std::string& name, bool from_sampling, bool triggered)
        : statistics(name, from_sampling), end(triggered) {}
    std::vector<std::uint32_t> tasks;
    std::vector<std::unique_ptr<ChainPlace>> places;
    std::vector<std::unique_ptr<channels::Latest>> links; // after each task except the last one
    ChainStatistics statistics;
    policies::ChainEnd end;
  };

  std::vector<std::unique_ptr<Chain>> chains_;
};

} // namespace rtexec::executive
