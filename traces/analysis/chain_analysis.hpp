// Follows the data of each chain through the jobs of a recording: how long reactions took, how old data were, and the
// way of the longest reaction. What counts from where to where: policies/chains/chain_bounds.hpp.
//
// Jobs are told as they end, in almost any order; they are taken in the order of the instants at which they read and at
// which their outputs appear. Memory: what was told and not taken yet, the jobs since the event that was answered last,
// and how the longest reactions divide.
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
  /// `setup` outlives it.
  explicit ChainFollower(const ChainSetup& setup)
      : setup_(setup), output_(setup.places.size()), recent_(setup.places.size()), end_(setup.triggered) {}

  /// A job of one of its tasks has ended with outputs; of another task it is nothing. Jobs that fail write nothing, and
  /// need not be told.
  void add(const ChainStep& job);
  /// Nothing will be told any more that was before `until`.
  void take_before(Instant until);
  /// To be called once. `tasks`: of which jobs are named.
  [[nodiscard]] ChainAnalysis finish(const std::vector<TaskStatistics>& tasks);

 private:
  /// A job, and the one whose output it read.
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
  std::multimap<std::pair<Instant, std::size_t>, Moment> moments_; // by instant and place: what is written is read then
  std::vector<std::shared_ptr<const Followed>> output_;            // that is there, by place
  std::vector<std::deque<std::shared_ptr<const Followed>>> recent_; // that have written, by place
  policies::ChainEnd end_;
  std::uint64_t answered_ = 0; // the first task's job that the last output was made of
  Measure reaction_, age_, reduced_age_;
  std::optional<ChainWay> worst_;
  /// One reaction: what each task waited and took.
  struct Divided {
    Duration reaction{0};
    std::vector<Duration> pieces;
  };
  std::vector<const ChainStep*> way_; // of the reaction that is looked at
  std::vector<Duration> sums_;        // of the pieces of `ways_` reactions
  std::uint64_t ways_ = 0;
  std::vector<Divided> longest_; // of them, a heap with the shortest on top
};

} // namespace rtexec::traces
