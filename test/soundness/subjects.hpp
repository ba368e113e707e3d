// What check-soundness attacks: for each admission test random sets at the edge of what it accepts, of many shapes,
// with the bounds that it claims; and tests that are broken deliberately, which the attack must refute.
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

/// What is promised, and what the machine may do beside it. The WCETs are those of the machine: with what is charged
/// for switches, dispatch and decisions, which then happens.
struct Claim : simulator::Claim {
  std::vector<simulator::CoreRegulation> regulated; // without what is chosen
  struct Traffic {
    Duration before{0}, after{0}; // what its lines take
  };
  std::vector<Traffic> traffic; // by task
  std::vector<simulator::Neighbour> neighbours;
  /// What jobs take beside others, by task; the plan says what the scheduler believes
  std::vector<std::optional<CoRun>> beside;
  /// The longest that the device part of `task` takes while one of `other` executes.
  [[nodiscard]] Duration longest_beside(std::size_t task, std::size_t other) const;
  /// Of the compute engine: it stands still for so long once, and for a ninth of what it executes, `decision` aside.
  Duration pause{0};
  Duration decision{0};
  /// What happens instead of what is chosen
  std::optional<test::TwoStops> script;
};

/// One test under one rule of the scheduler.
struct Subject {
  std::string name;
  unsigned weight = 1; // its share of all sets
  /// A random set that the test just accepts; nothing: this one was not accepted at any scale, or is of no interest.
  std::function<std::optional<Claim>(Random&)> next;
  /// Instead of it, where the set changes: what became of a random one.
  std::function<std::optional<Exchanged>(Random&, const std::function<void(const std::string&)>& tell)> exchange = {};
};

/// Every test that promises: of the device alone, and end to end.
[[nodiscard]] std::vector<Subject> sound_tests();

/// Each with one deliberate error: sets that it accepts, and the test without the error does not. theorem1 is among
/// them as it was published.
[[nodiscard]] std::vector<Subject> broken_tests();

/// A device, the rule under which it runs, and the test that promises for it.
struct Way {
  std::string name;
  SwapPolicy policy{};
  policies::DeviceTest test{};
  Order order{};
  unsigned copy_engines = 1;
};
[[nodiscard]] std::vector<Way> device_ways();

} // namespace rtexec::soundness
