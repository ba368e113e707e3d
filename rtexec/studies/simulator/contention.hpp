// A model of cores and a device that share one memory, in virtual time: a fluid of bytes between events (a period
// begins, a budget is used up, a part of a frame ends, a burst begins or ends). Core 0 feeds the device: it runs the
// CPU part of a frame, the device part follows, and so on; other cores sweep memory. Budgets are decided by
// policies::BandwidthRegulator, as on a machine.
//
// What is supposed, and nothing else:
//   cores    Each demands what it reaches alone. What a cluster demands beyond its own limit is cut in proportion to
//   demand, then what all cores
//            demand beyond saturation. The device takes nothing from cores: their saturation is that of their path to
//            memory, below what the memory can do (thesis, 7.2: co-runners reach it beside the GPU).
//   CPU part Its waiting for memory, a share of its time, is longer by as much as its core gets less than it demands.
//   device   1 + sensitivity * (traffic of cores / saturation) times as long as alone: linear, as Fig. 22 has it from
//   the first co-runner on.
//            That is why limits help little by little: a core under a limit sweeps at full speed until its budget is
//            used up, then stands still.
// Deterministic: the same arguments give the same result.
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
  std::vector<Bandwidth> cores{}; // what each reaches alone
  struct Cluster {
    std::vector<unsigned> cores{};
    Bandwidth most{0}; // together
  };
  std::vector<Cluster> clusters{}; // that have a limit of their own
  Bandwidth saturation{0};         // all cores together
};

/// What each core gets of what it demands.
[[nodiscard]] std::vector<Bandwidth> shares(const SharedMemory& memory, std::span<const Bandwidth> demand);

/// What is repeated: a part on core 0, then one on the device. Durations are those without any other traffic.
struct Frame {
  Duration cpu{0};
  Bytes traffic{0};        // of the CPU part, spread evenly over it
  double memory_bound = 0; // share of its time that waits for memory
  Duration device{0};
  Bytes device_traffic{0};
  double sensitivity = 0; // slowdown of the device part beside saturated memory, less 1
};

/// In force all the time: the program that feeds the device holds gpu_busy.
struct CoreLimit {
  Bandwidth limit{0}; // of each core
  /// Core 0 too, as the thesis's Algorithm 3; otherwise it has a budget of its own: unlimited
  bool feeder = false;
  Duration period{0};
  Bytes line{64};
  Duration reaction{0}; // from a budget that is used up to the core that stands still
  Overshoot overshoot = Overshoot::forgive;
};

/// What a machine does that nobody asked for.
struct Noise {
  std::vector<unsigned> cores{};    // a burst comes on one of them, at the rate that it reaches alone
  Duration gap{0};                  // between bursts, the mean: exponentially distributed
  Duration shortest{0}, longest{0}; // of a burst, evenly distributed; it ends then, whatever it could move
  /// How much a burst disturbs the device, times what a sweep of its bandwidth does
  double severity = 1;
  /// The device part is longer by up to this much by itself: bell-shaped (a mean of four even numbers)
  Duration jitter{0};
  std::uint64_t seed = 1;
};

struct ContentionRun {
  SharedMemory memory{};
  Frame frame{};
  std::vector<unsigned> corunners{}; // cores that sweep memory without end; not core 0
  std::optional<CoreLimit> limit{};
  std::optional<Noise> noise{};
  std::size_t frames = 1; // at least so many
  Duration length{0};     // at least so long
};

struct ContentionResult {
  std::vector<Duration> frames{}; // how long each took
  Duration length{0};             // all of them
  Duration device{0};             // of that, device parts
  std::vector<Bytes> moved{};     // by core
  std::vector<Duration> held{};   // by core: how long it stood still
};

[[nodiscard]] ContentionResult simulate_contention(const ContentionRun& run);

} // namespace rtexec::simulator
