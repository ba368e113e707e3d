// Follows the data of each chain through the jobs of a recording, to find how long reactions took, how old data were,
// and the path of the longest reaction. policies/chains/chain_bounds.hpp defines where these times begin and end.
//
// Jobs are added as they end, in almost any order. They are processed in the order of the instants at which they read
// and at which their outputs appear. The object keeps in memory: the jobs that were added but not yet processed; the
// processed jobs since the newest job of the first task whose data has reached an output of the chain; and for the
// longest reactions, how their time divides among the tasks.
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

  /// Adds a job that has ended with outputs. A job of a task outside the chain has no effect. A job that failed writes
  /// nothing and need not be added.
  void add(const ChainStep& job);
  /// Processes all reads and outputs before `until`. Afterwards no job with an earlier read or output may be added.
  void take_before(Instant until);
  /// Returns the analysis. `tasks` gives the names of the tasks. To be called once.
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
  // ordered by instant, then by the task's place in the chain: an output can be read at the instant at which it appears
  std::multimap<std::pair<Instant, std::size_t>, Moment> moments_;
  std::vector<std::shared_ptr<const Followed>> output_;             // the current output, by place
  std::vector<std::deque<std::shared_ptr<const Followed>>> recent_; // jobs that have written, by place
  policies::ChainEnd end_;
  std::uint64_t answered_ = 0; // number of the first task's job from which the last output was made
  Measure reaction_, age_, reduced_age_;
  std::optional<ChainWay> worst_;
  /// The division of one reaction: the time that each task waited and took.
  struct Divided {
    Duration reaction{0};
    std::vector<Duration> pieces;
  };
  std::vector<const ChainStep*> way_; // the path of the current reaction
  std::vector<Duration> sums_;        // sums of the pieces of `ways_` reactions
  std::uint64_t ways_ = 0;
  std::vector<Divided> longest_; // the longest reactions, a heap with the shortest on top
};

} // namespace rtexec::traces
