#include "hal/machine_files.hpp"
#include "hal/thread.hpp"
#include <rtexec/planning.hpp>

#include <chrono>

namespace rtexec {
namespace {

// A small reservation, with which the probe checks if the kernel permits SCHED_DEADLINE at all.
constexpr hal::Reservation trial{.runtime = std::chrono::microseconds(100),
                                 .deadline = std::chrono::milliseconds(10),
                                 .period = std::chrono::milliseconds(10)};

/// Returns the reason why a thread with these settings cannot be started, or an empty text if it can be started.
std::string refusal(const hal::ThreadSettings& settings) {
  const auto thread = hal::Thread::start(settings, [] {});
  return thread ? std::string() : thread.error().what;
}

/// Returns the finding's state and advice as the reason for a refusal, or an empty text if the finding is no refusal.
std::string refusal(const hal::Finding& finding) {
  return finding.grade == hal::Finding::Grade::ok ? "" : finding.state + '\n' + finding.advice;
}

Condition condition(const hal::Finding& finding) {
  using enum Condition::Standing;
  const bool ok = finding.grade == hal::Finding::Grade::ok;
  return {.supposed = finding.subject,
          .standing = ok                                              ? holds
                      : finding.grade == hal::Finding::Grade::unknown ? unknown
                                                                      : against,
          .known = ok ? finding.state : finding.brief};
}

} // namespace

MachineFacts this_machine() {
  constexpr int highest_priority = 99;
  const hal::Machine machine;
  std::vector<Condition> disturbances;
  for (const hal::Finding& finding : machine.disturbances()) disturbances.push_back(condition(finding));
  return {.name = hal::machine_name(),
          .cores = machine.online_cores(),
          .withheld = machine.withheld_cores(),
          .isolated = machine.isolated_cores(),
          .no_fifo = refusal({.name = "try", .core = {}, .fifo_priority = highest_priority, .reservation = {}}),
          .no_deadline = refusal({.name = "try", .core = {}, .reservation = trial}),
          .no_memory_lock = refusal(machine.memory_lock()),
          .disturbances = std::move(disturbances)};
}

} // namespace rtexec
