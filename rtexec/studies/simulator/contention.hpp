// A model of cores and a device that share one memory, in virtual time. Memory traffic is a fluid of bytes between
// events (a period begins, a budget is used up, a part of a frame ends, a burst begins or ends). Core 0 feeds the
// device: it runs the CPU part of a frame, the device part follows, and so on. The other cores sweep memory. As on a
// machine, policies::BandwidthRegulator decides on budgets.
//
// The model makes three assumptions.
//
// Cores: each core demands the bandwidth that it reaches alone. Demand of a cluster beyond the cluster's own limit is
// cut in proportion to demand, then demand of all cores beyond saturation. The device takes nothing from cores: their
// saturation is that of their path to memory, below what the memory can do (thesis, 7.2: co-runners reach it beside the
// GPU).
//
// CPU part: a share of its time waits for memory. This wait grows as much as the core gets less than it demands.
//
// Device part: it takes 1 + sensitivity * (traffic of cores / saturation) times as long as alone. This is linear from
// the first co-runner on, as in Fig. 22. So limits help little by little: a core under a limit sweeps at full speed
// until its budget is used up, then stands still.
//
// The model is deterministic: the same arguments give the same result.
#pragma once

#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rtexec::simulator {

struct SharedMemory {
  std::vector<Bandwidth> cores{}; // bandwidth that each core reaches alone
  struct Cluster {
    std::vector<unsigned> cores{};
    Bandwidth most{0}; // all cores of the cluster together
  };
  std::vector<Cluster> clusters{}; // clusters with a limit of their own
  Bandwidth saturation{0};         // all cores together
};

/// Returns the bandwidth that each core gets, given its demand.
[[nodiscard]] std::vector<Bandwidth> shares(const SharedMemory& memory, std::span<const Bandwidth> demand);

/// A frame, which is repeated: a part on core 0, then one on the device. Durations are those without any other traffic.
struct Frame {
  Duration cpu{0};
  Bytes traffic{0};        // of the CPU part, spread evenly over it
  double memory_bound = 0; // share of the CPU part's time that waits for memory
  Duration device{0};
  Bytes device_traffic{0};
  double sensitivity = 0; // slowdown of the device part at saturated memory, minus 1
};

/// A limit that holds all the time: the program that feeds the device holds gpu_busy.
struct CoreLimit {
  Bandwidth limit{0}; // of each core
  /// Limits core 0 too, as the thesis's Algorithm 3 does; otherwise core 0 has an unlimited budget of its own
  bool feeder = false;
  Duration period{0};
  Bytes line{64};
  Duration reaction{0}; // from the end of the budget until the core stands still
  Overshoot overshoot = Overshoot::forgive;
};

/// Disturbances by the machine itself.
struct Noise {
  std::vector<unsigned> cores{};    // each burst comes on one of these cores, at the rate that the core reaches alone
  Duration gap{0};                  // mean time between bursts, exponentially distributed
  Duration shortest{0}, longest{0}; // length of a burst, evenly distributed, whatever it could move
  /// Disturbance of the device by a burst, relative to a sweep of the same bandwidth
  double severity = 1;
  /// Maximum extra time of the device part by itself: bell-shaped (a mean of four evenly distributed numbers)
  Duration jitter{0};
  std::uint64_t seed = 1;
};

struct ContentionRun {
  SharedMemory memory{};
  Frame frame{};
  std::vector<unsigned> corunners{}; // cores that sweep memory without end; not core 0
  std::optional<CoreLimit> limit{};
  std::optional<Noise> noise{};
  std::size_t frames = 1; // minimum number of frames
  Duration length{0};     // minimum simulated time
};

struct ContentionResult {
  std::vector<Duration> frames{}; // length of each frame
  Duration length{0};             // of all frames together
  Duration device{0};             // of all device parts together
  std::vector<Bytes> moved{};     // bytes by core
  std::vector<Duration> held{};   // by core: time for which it stood still
};

[[nodiscard]] ContentionResult simulate_contention(const ContentionRun& run);

} // namespace rtexec::simulator
