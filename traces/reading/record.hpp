// One recorded event, decoded: what analysis, replay and pictures work on. Plain data, so that a test writes recordings
// by hand.
#pragma once

#include <rtexec/units.hpp>
#include "policies/scheduler/device_scheduler.hpp"
#include "policies/scheduler/release_grid.hpp"

#include <cstdint>

namespace rtexec::traces {

/// What happened after the start: the events of the table that are not of the set-up, and `other`: one of the set-up
/// (recorded_setup.hpp), totals, or not ours.
enum class RecordKind : std::uint8_t {
#define RTEXEC_EVENT(event, ...) event,
#define RTEXEC_SETUP_EVENT(...)
#define RTEXEC_TOTALS_EVENT(...)
#include "traces/events.inc"
  other,
};

/// Beside `kind` and `time` it has the fields of its event, under the same names, but: `actual` of job_release is `at`,
/// `outcome` is `ok`, sizes are `bytes`, and a task alone is that of `job`.
struct Record {
  RecordKind kind = RecordKind::other;
  bool ok = true;         // of an outcome
  std::uint32_t core = 0; // of the event's subject, not of who wrote it
  std::uint32_t layer = 0;
  std::uint32_t segment = 0;
  std::uint64_t sequence = 0;
  /// When it was written; of a simulated run that is not the time in which it happened
  Instant time{};
  Instant at{};
  Instant nominal{}, deadline{};
  policies::JobId job;
  policies::Transfer transfer{};
  Duration executed{0}; // of the part that ended: CPU time, or the device's
  Duration response{0};
  std::uint64_t bytes = 0;
  Frequency frequency, memory_frequency;
  std::uint32_t limits = 0; // of a clock
  bool computes = false;    // of the core
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
