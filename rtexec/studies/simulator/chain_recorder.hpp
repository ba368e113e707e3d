// Follows the data of each chain through a simulated run: how long reactions took and how old data were, beside what
// was promised. What counts from where to where: policies/chains/chain_bounds.hpp.
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

/// Whether no timer of the chain has its releases listed: what is promised of it rests on their grids.
[[nodiscard]] bool on_grids(const TaskSet& tasks, const Chain& chain);

class ChainRecorder {
 public:
  /// Copies what it needs of both. A chain with a timer whose releases are listed is measured and held to no bound:
  /// that supposes its grid.
  ChainRecorder(const TaskSet& tasks, const Plan& plan);

  /// When what a job reads was sampled, of tasks that have an input delay. Without this, the whole of it before the
  /// job's nominal release.
  using Sampled = std::function<Instant(policies::JobId, Instant nominal)>;
  void sample(Sampled sampled) { sampled_ = std::move(sampled); }
  /// Notes when jobs begin; `options` is not to outlive this object then. Beside it, see() is told of every step.
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
    Instant nominal{};                // of the job under way
    std::optional<std::uint64_t> job; // that has begun
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
  std::vector<std::unique_ptr<Followed>> chains_; // counters do not move
  std::vector<Dispatch> dispatched_;              // at one instant, the last of each core
};

} // namespace rtexec::simulator
