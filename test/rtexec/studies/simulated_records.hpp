// Random runs of the simulator: the records that a trace of them would contain, and what really happened.
#pragma once

#include <rtexec/plan.hpp>
#include <rtexec/task_set.hpp>
#include "rtexec/studies/simulator/simulator.hpp"
#include "traces/reading/record.hpp"
#include "traces/reading/recorded_setup.hpp"

#include <optional>
#include <random>
#include <vector>

namespace rtexec::test {

/// A decision to copy, or to execute.
struct Ordered {
  policies::Action action;
  Instant at{};
};

struct SimulatedRun {
  TaskSet tasks;
  Plan plan;
  Duration horizon{0};
  // The real events of the run.
  std::vector<simulator::Step> steps;
  std::vector<simulator::TimeInterval> stretches;
  std::vector<Ordered> orders; // in the order of decisions
  std::uint64_t inputs = 0, actions = 0;
  simulator::Outcome outcome;
  // The recorded events of the run.
  traces::RunSetup setup;
  std::vector<traces::Record> records;
};

/// Simulates a random set under `policy`: overloaded or not, on one to three cores, with one or two copy engines, and
/// with any overrun policies, releases, lengths, latencies and failures of transfers.
[[nodiscard]] SimulatedRun random_run(std::mt19937_64& random, SwapPolicy policy);

} // namespace rtexec::test
