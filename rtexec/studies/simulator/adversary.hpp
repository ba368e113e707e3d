// Searches a run in which jobs respond as late as they can: what comes when is chosen, within what the task set allows.
//
// Local search: a pattern of releases, execution times and transfer times is changed step by step, keeping what makes
// one part of one task end later. What swap slots hold at the start of a busy period is the adversary's choice too:
// earlier jobs decide it. It proves nothing: a response that it does not find may be possible all the same.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/studies/simulator/simulator.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace rtexec::simulator {

using Random = std::mt19937_64;

inline std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}
inline bool chance(Random& random, int percent) { return draw(random, 1, 100) <= percent; }

/// A set and the bounds that some analysis, sound or broken, claims for it.
struct Claim {
  TaskSet tasks;
  Plan plan; // ready_by, device_done_by and response_bound of each task that has one are what is attacked
  Duration release_latency{0};
  /// The machine stops for at most so long, and again not before `between` has passed since it did
  Duration hold_up{0};
  Duration between{0};
};

/// What the adversary may choose, beside releases that are at least a period apart; offsets bind it only where grids
/// are kept (kept_grids()).
struct Freedom {
  /// Parts, transfers and release latencies that are shorter than they may be
  bool early = true;
  Duration horizon{0};                       // of each run; 0: four times the longest period
  std::vector<Duration> grains{Duration(1)}; // of the smallest changes of releases; attacks take them in turn
};

/// A part of a job that ended after its bound; without `part` it is the job that missed its deadline, or a release that
/// was dropped.
struct BrokenBound {
  std::uint32_t task = 0;
  std::optional<Part> part;
  Duration took{0}, bound{0};
};

class Adversary {
 public:
  /// Both outlive it.
  Adversary(const Claim& claim, Random& random, Freedom freedom = {});

  /// One search of `steps` changes from a new pattern, on a task of its choice; ends with the first broken bound.
  [[nodiscard]] std::optional<BrokenBound> attack(int steps);

  /// Of all attacks, the run with the response that is longest in relation to its bound: what simulate() needs to
  /// repeat it, without observers. Stands alone.
  [[nodiscard]] Options worst() const;

 private:
  /// What is chosen for one job, in percent of the most that is allowed.
  struct JobChoice {
    int delay = 0; // of the release beyond the earliest one, of a period
    int latency = 100;
    std::array<int, 3> parts{100, 100, 100};
    int transfers = 100; // for this job
  };
  static constexpr std::size_t choices = 64; // jobs of a task choose in turn
  struct StopChoice {
    std::int64_t at = 0;
    std::uint64_t parts = 0; // of the machine, a bit for each
  };
  struct Pattern {
    std::vector<std::int64_t> first_release; // by task
    std::vector<std::array<JobChoice, choices>> jobs;
    std::vector<StopChoice> stops; // in turn; none where the claim has no hold-up
  };

  /// What a run's functions need of the claim; they may outlive it.
  struct Limits {
    std::vector<Duration> periods;
    std::vector<Wcet> wcets;
    std::vector<Duration> beside; // device parts beside others; by task
    std::vector<bool> on_grid;    // its releases are not chosen
    Duration release_latency{0};
    Duration hold_up{0}, between{0};
  };

  int share();
  std::size_t any_task();
  std::int64_t nudge();
  Pattern random_pattern();
  Pattern critical_instant();
  void add_stops(Pattern& pattern);
  void change(Pattern& pattern);
  void change_stop(StopChoice& stop);
  Options options_of(std::shared_ptr<const Pattern> pattern) const;
  Duration run(const std::shared_ptr<const Pattern>& pattern);
  std::optional<Duration> lateness(const Step& step);
  void keep_if_worst(const std::shared_ptr<const Pattern>& pattern, const Outcome& outcome);

  const Claim& claim_;
  Random& random_;
  Freedom freedom_;
  std::shared_ptr<const Limits> limits_;
  std::size_t attacks_ = 0;
  std::int64_t grain_ = 1;
  std::int64_t longest_ = 0; // period
  std::uint32_t target_ = 0;
  Step::Kind target_kind_{};
  std::optional<BrokenBound> found_;
  std::shared_ptr<const Pattern> worst_;
  double worst_share_ = -1; // of its bound that a response took
};

} // namespace rtexec::simulator
