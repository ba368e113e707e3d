// Follows the data of each chain (tasks that pass data to each other) through a simulated run. Compares reaction times
// and data ages with their promised bounds. policies/chains/chain_bounds.hpp defines when these times begin and end.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/report.hpp>
#include <rtexec/task_set.hpp>
#include "policies/chains/chain_times.hpp"
#include "rtexec/studies/simulator/simulator.hpp"
#include "rtexec/runtime/statistics/chain_statistics.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::simulator {

/// True if the releases of all timer tasks of the chain are on their grids, and not listed. The chain's bound is valid
/// only in this case.
[[nodiscard]] bool on_grids(const TaskSet& tasks, const Chain& chain);

class ChainRecorder {
 public:
  /// Copies the needed data of `tasks` and `plan`. If a timer task of a chain has listed releases, the chain is
  /// measured but has no bound, since the bound assumes releases on a grid.
  ChainRecorder(const TaskSet& tasks, const Plan& plan);

  /// Returns the instant at which the input of a job was sampled, for a task with an input delay. Default: the job's
  /// nominal release minus the whole input delay.
  using Sampled = std::function<Instant(policies::JobId, Instant nominal)>;
  void sample(Sampled sampled) { sampled_ = std::move(sampled); }
  /// Adds an observer to `options` that records when jobs begin. `options` must not be used after this object is
  /// destroyed. The caller must also pass every step to see().
  void watch(Options& options);
  void see(const Step& step);
  [[nodiscard]] std::vector<ChainReport> report() const;

 private:
  struct Followed {
    Followed(const Chain& chain, bool triggered, bool from_sampling)
        : times(chain.tasks.size(), triggered), statistics(chain.name, from_sampling) {}
    policies::ChainTimes times;
    ChainStatistics statistics;
  };
  struct ChainPosition {
    std::size_t chain = 0, place = 0;
  };
  struct Followee {
    std::vector<ChainPosition> places;
    bool let = false;
    Duration deadline{0};
    std::optional<Duration> input_delay;
    Instant nominal{};                // nominal release of the current job
    std::optional<std::uint64_t> job; // the number of the latest job that has begun
  };

  struct Dispatch {
    policies::JobId job;
    unsigned core = 0;
    Instant at{};
  };

  void begin_before(Instant now);
  void begin(policies::JobId job, Instant now);
  void reads(policies::JobId job, Instant now);
  void writes(std::uint32_t task, Instant appears);

  Sampled sampled_;
  std::vector<Followee> tasks_;
  std::vector<std::unique_ptr<Followed>> chains_; // pointers, since the counters cannot be moved
  std::vector<Dispatch> dispatched_; // the dispatches at the current instant; for each core, only the last one
};

} // namespace rtexec::simulator
