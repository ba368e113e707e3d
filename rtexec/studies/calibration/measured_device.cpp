#include "rtexec/studies/calibration/measured_device.hpp"

#include "config/base/must.hpp"
#include "hal/machine_files.hpp"
#include "hal/open/open_device.hpp"
#include "rtexec/runtime/executive/placement.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rtexec::study {
namespace {

/// Returns the core that the executive would choose for the compute engine's thread.
unsigned feeder_of(const Board& board) {
  const auto online = hal::Machine().online_cores();
  const bool known = board.compute_core && std::ranges::find(online, *board.compute_core) != online.end();
  return known ? *board.compute_core : online.back();
}

/// Sets core and priority of the compute engines' threads. Both threads get the same core, as in the executive. Returns
/// false if the threads have no real-time priority. Threads of a device that computes on the core never get real-time
/// priority: they never sleep, so that the kernel would throttle them.
bool configure(hal::Device& device, unsigned core, bool secondary_compute) {
  bool real_time = !device.capabilities().computes_on_core;
  for (const auto kind : {hal::EngineKind::compute, hal::EngineKind::secondary_compute}) {
    if (kind == hal::EngineKind::secondary_compute && !secondary_compute) continue;
    hal::ThreadSettings settings{
        .name = "measured", .core = core, .fifo_priority = executive::engine_priority, .reservation = {}};
    real_time = real_time && device.engine(kind).configure(settings);
    if (real_time) continue;
    settings.fifo_priority = 0;
    must(device.engine(kind).configure(settings));
  }
  return real_time;
}

} // namespace

Result<MeasuredDevice> measured_device(const Board& board, bool secondary_compute) {
  return caught([&] {
    const unsigned feeder = feeder_of(board);
    MeasuredDevice measured{.claim = must(hal::CoreClaim::take(std::span(&feeder, 1))),
                            .device = must(hal::open_device(board, Bytes{0}, board.chunk)),
                            .where = {},
                            .notes = {}};
    const std::string core = "core " + std::to_string(feeder);
    measured.where =
        (board.computes_on_core() ? core + ", which is the device" : measured.device->name() + ", fed by " + core) +
        " (" + hal::machine_name() + ")";
    if (secondary_compute) must(measured.device->start_secondary_compute());
    if (!configure(*measured.device, feeder, secondary_compute))
      measured.notes.emplace_back("device parts run without real-time priority");
    return measured;
  });
}

Error device_error(const hal::Device& device, Errc code, const std::string& what) {
  const auto fault = device.fault();
  return {code, "device '" + device.name() + "': " + what + " failed: " + (fault ? fault->what : name(code))};
}

} // namespace rtexec::study
