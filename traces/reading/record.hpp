// One recorded event, decoded: what analysis, replay and pictures work on. Plain data, so that a test writes recordings
// by hand.
#pragma once

#include <rtexec/units.hpp>
#include "policies/device_scheduler.hpp"

#include <cstdint>

namespace rtexec::traces {

/// What happened after the start. Which fields of Record hold beside `kind` and `time` is said here; meanings:
/// traces/README.md.
enum class RecordKind : std::uint8_t {
  job_release,    // job, nominal, at (its field `actual`), deadline
  job_start,      // job, at
  cpu_end,        // job, at, executed
  device_request, // job, at, deadline
  device_begin,   // job, at
  device_end,     // job, at, ok
  after_begin,    // job, at
  job_end,        // job, at, executed, response
  job_miss,       // job, at, deadline
  job_overrun,    // job, at
  job_skip,       // job.task, nominal, at
  job_abort,      // job, at
  device_fault,   // job
  swap_in_begin,  // transfer, job (the one that it moves for), at
  swap_in_end,    // transfer, job, at, ok, bytes
  swap_out_begin,
  swap_out_end,
  scheduler_input,  // sequence, input
  scheduler_action, // sequence, action
  throttle_begin,   // core, at
  throttle_end,     // core, at
  bandwidth_budget, // core, at, bytes (in a period)
  layer_begin,      // job, layer, at
  layer_end,        // job, layer, at
  run_end,          // at
  other,            // of a set-up event (setup.hpp), or not ours
};

struct Record {
  RecordKind kind = RecordKind::other;
  bool ok = true;         // of an outcome
  std::uint32_t core = 0; // of the event's subject, not of who wrote it
  std::uint32_t layer = 0;
  std::uint64_t sequence = 0;
  /// When it was written; of a simulated run that is not the time in which it happened
  Instant time{};
  Instant at{};
  Instant nominal{}, deadline{};
  policies::JobId job;
  policies::Transfer transfer{};
  Duration executed{0}; // CPU time of the part that ended
  Duration response{0};
  std::uint64_t bytes = 0;
  policies::Event input{};
  policies::Action action{};
};

} // namespace rtexec::traces
