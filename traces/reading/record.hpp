// A decoded event, the input of analysis, replay and pictures. Plain data, so that a test can build recordings without
// a trace.
#pragma once

#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"
#include "policies/scheduler/release_grid.hpp"

#include <cstdint>

namespace rtexec::traces {

/// The events of the table events.inc that are emitted after the set-up. `other` stands for set-up events
/// (recorded_setup.hpp), totals, and events of other programs.
enum class RecordKind : std::uint8_t {
#define RTEXEC_EVENT(event, ...) event,
#define RTEXEC_SETUP_EVENT(...)
#define RTEXEC_TOTALS_EVENT(...)
#include "traces/events.inc"
  other,
};

/// A record has `kind`, `time`, and the fields of its event under their names in events.inc. There are four exceptions:
/// `actual` of job_release is `at`, `outcome` is `ok`, sizes are `bytes`, and a task without a job is `job.task`.
struct Record {
  RecordKind kind = RecordKind::other;
  bool ok = true;         // true if the outcome was a success
  std::uint32_t core = 0; // the core that the event concerns, not the core that wrote the event
  std::uint32_t layer = 0;
  std::uint32_t segment = 0;
  std::uint64_t sequence = 0;
  /// The time of writing. In a simulated run it differs from `at`, the simulated time
  Instant time{};
  Instant at{};
  Instant nominal{}, deadline{};
  policies::JobId job;
  policies::Transfer transfer{};
  Duration executed{0}; // CPU time or device time of the part that ended
  Duration response{0};
  std::uint64_t bytes = 0;
  Frequency frequency, memory_frequency;
  std::uint32_t limits = 0; // bits of device_clock's field `limits`
  bool computes = false;    // true if the compute engine's thread runs on `core`
  Instant since{};
  Duration stolen{0};
  Instant sampled{};
  std::uint32_t inputs = 0, stale = 0;
  std::uint32_t sinks = 0;
  policies::ReleaseReason reason{};
  policies::Event input{};
  policies::Action action{};
};

} // namespace rtexec::traces
