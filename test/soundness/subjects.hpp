// The subjects of check-soundness. For each admission test: random sets of many shapes at the edge of what it accepts,
// with the bounds that it claims. For each deliberately broken test: sets with which the attack must refute it.
#pragma once

#include <rtexec/plan.hpp>
#include "policies/device/device_tests.hpp"
#include "rtexec/studies/simulator/adversary.hpp"
#include "test/rtexec/studies/simulated_two_stops.hpp"
#include "test/soundness/exchanges.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::soundness {

using simulator::Random;

/// The claimed bounds, and what the machine may do besides. The WCETs are those of the machine: they include the
/// charges for switches, dispatch and decisions, which do occur.
struct Claim : simulator::Claim {
  std::vector<simulator::CoreRegulation> regulated; // without the parameters that the attack chooses
  struct Traffic {
    Duration before{0}, after{0}; // the time that its memory lines take
  };
  std::vector<Traffic> traffic; // by task
  std::vector<simulator::InterferenceTask> interference;
  /// The co-running times of each task's jobs on the machine. The plan contains the scheduler's assumptions.
  std::vector<std::optional<CoRun>> co_runs;
  /// Returns the longest time that the device part of `task` takes while one of `other` executes.
  [[nodiscard]] Duration longest_co_run(std::size_t task, std::size_t other) const;
  /// The compute engine may pause for this time once, and for a ninth of its execution time without `decision`.
  Duration pause{0};
  Duration decision{0};
  /// If set, replaces the attack's choices.
  std::optional<test::TwoStops> script;
};

/// One schedulability test under one rule of the scheduler.
struct Subject {
  std::string name;
  unsigned weight = 1; // relative share of all sets
  /// Draws a random set that the test just accepts. Returns nullopt if it accepts none at any scale, or if the set is
  /// of no interest.
  std::function<std::optional<Claim>(Random&)> next;
  /// Replaces `next` if the set changes while it runs: draws a random set, runs it and returns the outcome.
  std::function<std::optional<Exchanged>(Random&, const std::function<void(const std::string&)>& tell)> exchange = {};
};

/// Returns every sound test, of the device alone and end to end.
[[nodiscard]] std::vector<Subject> sound_tests();

/// Returns tests with one deliberate error each. Their sets are accepted by the broken test, but not by the correct
/// one. theorem1 as published is one of them.
[[nodiscard]] std::vector<Subject> broken_tests();

/// A device, the rule under which it runs, and the test that claims its bounds.
struct Way {
  std::string name;
  SwapPolicy policy{};
  policies::DeviceTest test{};
  Order order{};
  unsigned copy_engines = 1;
};
[[nodiscard]] std::vector<Way> device_ways();

} // namespace rtexec::soundness
