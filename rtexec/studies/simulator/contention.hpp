// A model of cores and a device that share one memory, in virtual time. Memory traffic is a fluid: it flows at constant
// rates between events. Events are: a period begins, a budget is used up, a part of a frame ends, a burst begins or
// ends. A frame is a CPU part on core 0, which feeds the device, and the device part that follows. The other cores
// sweep memory. As in a real run, policies::BandwidthRegulator decides on budgets.
//
// The model makes three assumptions.
//
// Cores: each core demands the bandwidth that it reaches alone. If the demand in a cluster exceeds the cluster's limit,
// each core's share is reduced in proportion. If the shares of all cores together exceed the saturation of the memory,
// each share is again reduced in proportion. The device takes no bandwidth from cores, because saturation is the limit
// of the cores' path to memory. The memory itself has more bandwidth: co-runners reach saturation while the GPU works
// (Nigam's thesis on GPU-aware memory isolation, 7.2).
//
// CPU part: it waits for memory during a share of its time. This wait grows by the ratio of the bandwidth that the core
// demands to the bandwidth that it gets.
//
// Device part: it takes 1 + sensitivity * (traffic of cores / saturation) times as long as without traffic. The time
// grows linearly from the first co-runner on, as in Fig. 22 of Nigam's thesis, so that lower limits shorten the part
// gradually. A core with a limit sweeps at full speed until its budget is used up, and then stops.
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
  std::vector<Bandwidth> cores{}; // the bandwidth that each core reaches alone
  struct Cluster {
    std::vector<unsigned> cores{};
    Bandwidth most{0}; // the maximum of all cores of the cluster together
  };
  std::vector<Cluster> clusters{}; // clusters that have a limit
  Bandwidth saturation{0};         // the maximum of all cores together
};

/// Returns the bandwidth that each core gets. `demand`: the bandwidth that each core requests.
[[nodiscard]] std::vector<Bandwidth> shares(const SharedMemory& memory, std::span<const Bandwidth> demand);

/// A frame, which is repeated: a CPU part on core 0, then a part on the device. The times of the frame apply if there
/// is no other traffic.
struct Frame {
  Duration cpu{0};
  Bytes traffic{0};        // traffic of the CPU part, evenly distributed over its time
  double memory_bound = 0; // the share of the CPU part's time in which it waits for memory
  Duration device{0};
  Bytes device_traffic{0};
  double sensitivity = 0; // relative lengthening of the device part at saturated memory
};

/// A limit of the cores' bandwidth that is always in force, because the program that feeds the device holds gpu_busy.
struct CoreLimit {
  Bandwidth limit{0}; // the limit of each core
  /// True: core 0 is limited too, as in Algorithm 3 of Nigam's thesis. False: core 0 is not limited
  bool feeder = false;
  Duration period{0};
  Bytes line{64};
  Duration reaction{0}; // the time from the end of the budget until the core stops
  Overshoot overshoot = Overshoot::forgive;
};

/// Disturbances that the machine itself causes.
struct Noise {
  std::vector<unsigned> cores{}; // the cores with bursts; a burst moves memory at the rate that its core reaches alone
  Duration gap{0};               // mean time between bursts, exponentially distributed
  Duration shortest{0}, longest{0}; // length of a burst, evenly distributed
  /// The slowdown of the device by a burst, relative to the slowdown by a sweep with the same bandwidth
  double severity = 1;
  /// Maximum extra time of a device part without other traffic. The distribution of this time is bell-shaped (the mean
  /// of four evenly distributed numbers)
  Duration jitter{0};
  std::uint64_t seed = 1;
};

struct ContentionRun {
  SharedMemory memory{};
  Frame frame{};
  std::vector<unsigned> corunners{}; // the cores that sweep memory during the whole run; never core 0
  std::optional<CoreLimit> limit{};
  std::optional<Noise> noise{};
  std::size_t frames = 1; // minimum number of frames
  Duration length{0};     // minimum simulated time
};

struct ContentionResult {
  std::vector<Duration> frames{}; // the length of each frame
  Duration length{0};             // the length of all frames together
  Duration device{0};             // the length of all device parts together
  std::vector<Bytes> moved{};     // by core: the moved bytes
  std::vector<Duration> held{};   // by core: the time for which a limit stopped the core
};

[[nodiscard]] ContentionResult simulate_contention(const ContentionRun& run);

} // namespace rtexec::simulator
