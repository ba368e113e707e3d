// Attacks the daemon with clients that connect, grow, declare themselves and leave at the worst moments tried. Random
// sets are at the edge of what the daemon's own ClientAdmission admits. Its own Dispatcher drives them on a device in
// virtual time (policies/proofs/exchanges.md). Each job must keep the bound in force when it ends, except as the proof
// excepts. No two jobs may execute at once, and no frame may be reused while it is written.
#pragma once

#include <rtexec/plan.hpp>
#include "rtexec/studies/simulator/adversary.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace rtexec::soundness {

struct ExchangeWay {
  SwapPolicy policy{};
  Order order{};
  unsigned copy_engines = 1;
};

/// A deliberate error of the code that drives the dispatcher.
enum class Mistake : std::uint8_t {
  none,
  returns_at_once,     // a client that grows comes back at once, with its old deadline
  frames_too_early,    // a process counts as ended while the driver still writes or executes for it
  released_before,     // a newcomer's first release is before it connects
  old_ranks,           // a newcomer does not change the ranks of others
  forgets_who_went,    // forgets the delay caused by a client that left, and that not all slots fitted
  forgets_what_it_was, // a client that declares itself counts as if it had executed nothing before
  tells_late,          // reports that all slots fit only when the next client connects
};

struct Exchanged {
  std::uint64_t jobs = 0;    // jobs that were checked against a bound
  std::uint64_t changes = 0; // changes of the set
  std::string broken;        // the broken rule; empty: none
};

/// Runs one set in rounds like those of an ambush. Returns nullopt if no set was admitted. Calls `tell` with each step.
[[nodiscard]] std::optional<Exchanged> exchange_tasks(const ExchangeWay& way, Mistake mistake,
                                                      simulator::Random& random,
                                                      const std::function<void(const std::string&)>& tell = {});

} // namespace rtexec::soundness
