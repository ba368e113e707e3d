// Simulates one long run in which jobs are ambushed again and again. In each round all tasks are released together
// while one job executes, or is about to be loaded, and another is staged; then they are released as often as allowed.
// It is cheap: many rounds for each set, without improving any of them.
#pragma once

#include "test/soundness/subjects.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rtexec::soundness {

struct Ambush {
  std::uint64_t jobs = 0;      // completed jobs
  std::uint64_t preempted = 0; // how often a job left the device between two segments
  std::uint64_t restored = 0;  // chunks copied in for jobs that had begun
  std::optional<simulator::BrokenBound> broken;
  std::string broken_chain; // the chain and its exceeded bound; empty: none
};

/// Runs about `jobs` jobs, with random contents of the frames at the start. Calls `observe`, if set, for every step.
[[nodiscard]] Ambush ambush(const Claim& claim, Random& random, std::uint64_t jobs,
                            const std::function<void(const simulator::Step&)>& observe = {});

} // namespace rtexec::soundness
