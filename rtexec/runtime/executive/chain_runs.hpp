// Follows the data of each chain through a run, as its tasks' own threads tell: the stamp of what a job reads goes to
// what it writes, from task to task without anybody waiting, and the last task's completion thread measures.
//
// What counts from where to where: policies/chains/chain_bounds.hpp. Data are there when they are written to the inputs
// of others (rtexec/runtime/channels), or, where a task of a chain takes nothing from the one before, as if they were.
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
  /// A job of the first task has read.
  struct Reading {
    Instant at{};
    Instant event{};   // what released the job, or its nominal release where a timer did
    Instant sampled{}; // when the oldest of what it reads was so
  };
  // Release thread.
  /// Before a job fills its inputs, which may take long: of the task before it is to have what was there at `when`.
  void look(Instant when) noexcept;
  void read(const Reading& reading) noexcept;
  /// Completion thread: what that job made appears at `at`.
  void write(Instant at) noexcept;

 private:
  friend class ChainRuns;

  channels::Latest* before_ = nullptr; // null: the first task
  channels::Latest* behind_ = nullptr; // null: the last one
  policies::ChainEnd* end_ = nullptr;
  ChainStatistics* statistics_ = nullptr;
  bool from_sampling_ = false;               // times count from the sampling of what the first task reads
  std::optional<policies::ChainStamp> held_; // by the job under way
  std::uint64_t jobs_ = 0;
};

class ChainRuns {
 public:
  ChainRuns(const TaskSet& tasks, const Plan& plan);

  /// Of task `task`, all its places; they live as long as this.
  [[nodiscard]] std::vector<ChainPlace*> places_of(std::uint32_t task) const;
  [[nodiscard]] std::vector<ChainReport> report() const;
  /// What stays as it is in their statuses,
  [[nodiscard]] std::vector<ChainStatus> first_status() const;
  /// and what changes. Any thread; allocates nothing.
  void show(std::vector<ChainStatus>& chains) const;

 private:
  struct Chain {
    Chain(const std::string& name, bool from_sampling, bool triggered)
        : statistics(name, from_sampling), end(triggered) {}
    std::vector<std::uint32_t> tasks;
    std::vector<std::unique_ptr<ChainPlace>> places;
    std::vector<std::unique_ptr<channels::Latest>> links; // behind each task but the last one
    ChainStatistics statistics;
    policies::ChainEnd end;
  };

  std::vector<std::unique_ptr<Chain>> chains_;
};

} // namespace rtexec::executive
