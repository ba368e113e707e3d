// Follows the data of each chain through a simulated run, to compare reactions and ages of data with their promises.
// policies/chains/chain_bounds.hpp defines where these times begin and end.
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

/// True if no timer task of the chain has a list of releases: the chain's promise depends on the grids of its timers.
[[nodiscard]] bool on_grids(const TaskSet& tasks, const Chain& chain);

class ChainRecorder {
 public:
  /// Copies what it needs of `tasks` and `plan`. A chain with a timer whose releases are listed is measured but has no
  /// bound, since a bound assumes the timer's grid.
  ChainRecorder(const TaskSet& tasks, const Plan& plan);

  /// Returns when the input of a job was sampled, for tasks with an input delay. By default this is the whole input
  /// delay before the job's nominal release.
  using Sampled = std::function<Instant(policies::JobId, Instant nominal)>;
  void sample(Sampled sampled) { sampled_ = std::move(sampled); }
  /// Notes when jobs begin; `options` must not outlive this object then. The caller must also pass every step to see().
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
    std::optional<std::uint64_t> job; // the job that has begun
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
  std::vector<std::unique_ptr<Followed>> chains_; // by pointer, since counters do not move
  std::vector<Dispatch> dispatched_;              // dispatches at one instant, the last one of each core
};

} // namespace rtexec::simulator
