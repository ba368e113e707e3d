// Searches for a run in which jobs respond as late as possible. The adversary chooses arrivals and lengths of jobs
// within the limits of the task set.
//
// The adversary is a local search: it changes a pattern of releases, execution times and transfer times step by step.
// The adversary keeps a change if the attacked part of one task then ends later. Through earlier jobs, the adversary
// also chooses the contents of swap slots at the start of a busy period. The search proves nothing: a response that the
// adversary does not find may still be possible.
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

/// A task set and the claimed bounds on its parts. Tests also use analyses that are wrong on purpose.
struct Claim {
  TaskSet tasks;
  Plan plan; // attacks try to break ready_by, device_done_by and response_bound of its tasks
  Duration release_latency{0};
  /// The maximum length of a machine stop (platform stall). `between` is the minimum time between two stops
  Duration platform_stall{0};
  Duration between{0};
};

/// Limits of the adversary's choices. The releases of a task are always at least a period apart. The tasks' offsets
/// apply only to tasks whose releases stay on their grids (kept_grids()).
struct Freedom {
  /// True if parts, transfers and release latencies may be shorter than their maximum
  bool early = true;
  Duration horizon{0}; // simulated time of each run; 0: four times the longest period
  /// The step sizes for changes of release times. Each attack uses the next step size of the list, cyclically
  std::vector<Duration> grains{Duration(1)};
};

/// A broken bound: a part of a job ended after its bound. If `part` is absent, a job missed its deadline or a release
/// was dropped.
struct BrokenBound {
  std::uint32_t task = 0;
  std::optional<Part> part;
  Duration took{0}, bound{0};
};

class Adversary {
 public:
  /// `claim` and `random` must outlive this object.
  Adversary(const Claim& claim, Random& random, Freedom freedom = {});

  /// Runs one search with `steps` changes. The search starts from a new pattern, and attacks a random part of a random
  /// task. At the first broken bound the search ends, and the function returns this bound. Returns nullopt if no bound
  /// was broken.
  [[nodiscard]] std::optional<BrokenBound> attack(int steps);

  /// Returns the options with which simulate() repeats the worst run of all attacks, without observers. The worst run
  /// is the run with the largest ratio of a response to its bound. The result remains valid after this object is
  /// destroyed.
  [[nodiscard]] Options worst() const;

 private:
  /// The adversary's choices for one job, in percent of the allowed maximum.
  struct JobChoice {
    int delay = 0; // from the earliest possible release to the release, in percent of a period
    int latency = 100;
    std::array<int, 3> parts{100, 100, 100};
    int transfers = 100; // the time of transfers for this job
  };
  static constexpr std::size_t choices = 64; // number of choices; a task's jobs use them cyclically
  struct StopChoice {
    std::int64_t at = 0;
    std::uint64_t parts = 0; // parts of the machine that stop, as in stop_of()
  };
  struct Pattern {
    std::vector<std::int64_t> first_release; // by task
    std::vector<std::array<JobChoice, choices>> jobs;
    std::vector<StopChoice> stops; // the stops, in the order of their use; empty if the claim has no platform_stall
  };

  /// The data of the claim that the functions of a run need. The data are separate because these functions may outlive
  /// the claim.
  struct Limits {
    std::vector<Duration> periods;
    std::vector<Wcet> wcets;
    std::vector<Duration> co_running; // by task: the WCET of the device part while another job co-runs
    std::vector<bool> on_grid;        // by task: true if its releases must stay on its grid
    Duration release_latency{0};
    Duration platform_stall{0}, between{0};
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
  std::int64_t longest_ = 0; // the longest period
  std::uint32_t target_ = 0;
  Step::Kind target_kind_{};
  std::optional<BrokenBound> found_;
  std::shared_ptr<const Pattern> worst_;
  double worst_share_ = -1; // ratio of the response in `worst_` to its bound; -1: no run yet
};

} // namespace rtexec::simulator
