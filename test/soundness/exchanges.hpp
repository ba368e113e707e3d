// Clients of a daemon that come, grow, declare themselves and go, at the worst moments that are tried: random sets at
// the edge of what the daemon's own ClientAdmission admits, driven by its own Dispatcher on a device in virtual time
// (policies/proofs/exchanges.md). Each job is held to the bound that is in force when it ends, but for those that the
// proof excepts; and no two jobs may execute at once, nor a frame be given on while it is written.
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

/// A deliberate error of whoever drives the dispatcher.
enum class Mistake : std::uint8_t {
  none,
  returns_at_once,     // who grows comes back at once, with its old deadline
  frames_too_early,    // a process counts as ended while the driver still writes, or executes, for it
  released_before,     // the first release of a newcomer is before it came
  old_ranks,           // a newcomer changes nobody's rank
  forgets_who_went,    // what one who went has delayed counts no more, nor that not all slots fitted
  forgets_what_it_was, // who declares itself counts as if it had executed nothing before
  tells_late,          // that all slots fit, not before the next newcomer
};

struct Exchanged {
  std::uint64_t jobs = 0;    // that were held to a bound
  std::uint64_t changes = 0; // of the set
  std::string broken;        // what was not kept; empty: nothing
};

/// One set and what becomes of it, in rounds as of an ambush. Nothing: no set was admitted. `tell`: each step.
[[nodiscard]] std::optional<Exchanged> exchange_tasks(const ExchangeWay& way, Mistake mistake,
                                                      simulator::Random& random,
                                                      const std::function<void(const std::string&)>& tell = {});

} // namespace rtexec::soundness
