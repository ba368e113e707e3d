// Follows the data of each chain through the jobs of a recording. Finds the lengths of reactions, the ages of data, and
// the path of the longest reaction. policies/chains/chain_bounds.hpp defines where these times begin and end.
//
// Jobs are added as they end, in almost any order. Their reads and outputs are processed in the order of time. The
// object stores the jobs whose reads or outputs are not processed yet. It also stores the processed jobs since the
// newest job of the first task whose data has reached an output of the chain. For the longest reactions, it stores the
// division of their time among the tasks.
#pragma once

#include "policies/chains/chain_times.hpp"
#include "traces/analysis/analysis.hpp"
#include "traces/analysis/distribution.hpp"
#include "traces/reading/recorded_setup.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rtexec::traces {

class TaskStatistics;

class ChainFollower {
 public:
  /// `setup` must outlive this object.
  explicit ChainFollower(const ChainSetup& setup)
      : setup_(setup), output_(setup.places.size()), recent_(setup.places.size()), end_(setup.triggered) {}

  /// Adds a job that has ended with outputs. A job of a task outside the chain has no effect. A failed job writes no
  /// output and need not be added.
  void add(const ChainStep& job);
  /// Processes all reads and outputs before `until`. Afterwards, only jobs without a read or output before `until` may
  /// be added.
  void take_before(Instant until);
  /// Returns the analysis. `tasks` gives the names of the tasks. Must be called only once.
  [[nodiscard]] ChainAnalysis finish(const std::vector<TaskStatistics>& tasks);

 private:
  /// A job, and the job whose output it read.
  struct Followed {
    ChainStep step;
    std::shared_ptr<const Followed> source;
  };
  struct Moment {
    bool writes = false;
    std::shared_ptr<Followed> job;
  };
  struct Measure {
    DistributionBuilder times;
    std::uint64_t above = 0;
    void add(const std::optional<Duration>& sample, const std::optional<Duration>& bound, const ChainStep& last);
    [[nodiscard]] ChainMeasure measure(const std::optional<Duration>& bound,
                                       const std::optional<Duration>& limit) const;
  };

  void take(std::size_t place, const Moment& moment);
  void arrive(const Followed& last);
  [[nodiscard]] policies::ChainStamp stamp_of(const ChainStep& first) const;
  bool find_way(Instant event, std::uint64_t first, const ChainStep& last);
  void divide(Instant event, Duration reaction);
  void keep_way(Instant event, const ChainStep& last);
  [[nodiscard]] ChainDivision division(const std::vector<Duration>& sums, std::uint64_t reactions) const;
  [[nodiscard]] ChainDivision longest();
  void forget_before(const ChainStep& first);

  const ChainSetup& setup_;
  // Ordered by instant, then by the task's place in the chain: an output can be read at the instant at which it appears
  std::multimap<std::pair<Instant, std::size_t>, Moment> moments_;
  std::vector<std::shared_ptr<const Followed>> output_; // the current output of each task, in the order of the chain
  /// By task in the order of the chain: the jobs of the task that have written an output
  std::vector<std::deque<std::shared_ptr<const Followed>>> recent_;
  policies::ChainEnd end_;
  std::uint64_t answered_ = 0; // number of the first task's job whose data the last output of the chain contains
  Measure reaction_, age_, reduced_age_;
  std::optional<ChainPath> worst_;
  /// The division of one reaction: for each task the wait for its release, and the time from release to output.
  struct Divided {
    Duration reaction{0};
    std::vector<Duration> pieces;
  };
  std::vector<const ChainStep*> way_; // the path of the current reaction
  std::vector<Duration> sums_;        // sums of the pieces (Divided::pieces) over all reactions with a known path
  std::uint64_t ways_ = 0;
  std::vector<Divided> longest_; // the longest reactions, a heap with the shortest on top
};

} // namespace rtexec::traces
