// One long run in which jobs are ambushed again and again: in each round all tasks meet while one job executes, or is
// about to be loaded, and another is staged; then they come as often as they may. Cheap: many rounds for each set, none
// of them improved.
#pragma once

#include "test/soundness/subjects.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rtexec::soundness {

struct Ambush {
  std::uint64_t jobs = 0;      // that were completed
  std::uint64_t preempted = 0; // how often one left the device between two segments
  std::uint64_t restored = 0;  // chunks that were copied in for jobs that had begun
  std::optional<simulator::BrokenBound> broken;
  std::string broken_chain; // which bound of which; empty: none
};

/// Of about `jobs` jobs, with random contents of the frames at the start. `observe`: of every step, or none.
[[nodiscard]] Ambush ambush(const Claim& claim, Random& random, std::uint64_t jobs,
                            const std::function<void(const simulator::Step&)>& observe = {});

} // namespace rtexec::soundness
