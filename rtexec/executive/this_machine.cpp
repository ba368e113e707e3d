#include "hal/machine.hpp"
#include "hal/thread.hpp"
#include <rtexec/planning.hpp>

#include <chrono>

namespace rtexec {
namespace {

// What is tried to learn whether the kernel gives SCHED_DEADLINE at all.
constexpr hal::Reservation trial{.runtime = std::chrono::microseconds(100),
                                 .deadline = std::chrono::milliseconds(10),
                                 .period = std::chrono::milliseconds(10)};

/// Why a thread cannot be had; empty: it can.
std::string refusal(const hal::ThreadSettings& settings) {
  const auto thread = hal::Thread::start(settings, [] {});
  return thread ? std::string() : thread.error().what;
}

} // namespace

MachineFacts this_machine() {
  return {.name = hal::machine_name(),
          .cores = hal::Machine().online_cores(),
          .no_fifo = refusal({.name = "try", .core = {}, .fifo_priority = 1, .reservation = {}}),
          .no_deadline = refusal({.name = "try", .core = {}, .reservation = trial})};
}

} // namespace rtexec
