// Searches a run in the simulator in which some part of a job ends after the bound that an analysis claims for it.
#pragma once

#include "config/plan.hpp"
#include "config/task_set.hpp"
#include "rtexec/simulator/simulator.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace rtexec::test {

using Random = std::mt19937_64;

inline std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); }
inline bool chance(Random& random, int percent) { return draw(random, 1, 100) <= percent; }

/// RTEXEC_SOUNDNESS_SETS, where that is set.
[[nodiscard]] int sets_to_try(int otherwise);

/// A set and the bounds that some analysis, sound or broken, claims for it.
struct Claim {
  TaskSet tasks;
  Plan plan; // ready_by, device_done_by and response_bound of each task that has one are what is attacked
  Duration release_latency{0};
};

[[nodiscard]] std::string describe(const Claim& claim);

/// Changes a random pattern of releases, execution times and transfer times step by step, keeping what makes one part of one task end later.
/// What swap slots hold at the start of a busy period is the adversary's choice too: earlier jobs, which may take no time, decide it.
class Adversary {
 public:
  Adversary(const Claim& claim, Random& random);

  /// A part of a job that ended after its claimed bound.
  [[nodiscard]] std::optional<std::string> attack(int steps);

 private:
  /// What is chosen for one job, in percent of the most that is allowed.
  struct JobChoice {
    int delay = 0; // of the release beyond the earliest one, of a period
    int latency = 100;
    std::array<int, 3> parts{100, 100, 100};
    int transfers = 100; // for this job
  };
  static constexpr std::size_t choices = 64; // jobs of a task choose in turn
  struct Pattern {
    std::vector<std::int64_t> first_release; // by task
    std::vector<std::array<JobChoice, choices>> jobs;
  };

  int share();
  std::size_t any_task();
  Pattern random_pattern();
  Pattern ambush();
  void change(Pattern& pattern);
  std::int64_t horizon() const { return longest_ * 4; }
  Duration run(const Pattern& pattern);
  std::optional<Duration> lateness(const simulator::Step& step);

  const Claim& claim_;
  Random& random_;
  std::int64_t longest_ = 0; // period
  std::uint32_t target_ = 0;
  simulator::Step::Kind target_kind_{};
  std::optional<std::string> found_;
};

} // namespace rtexec::test
