// The set-up of a recorded run, from the events before the first job.
#pragma once

#include <algorithm>
#include <rtexec/plan.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rtexec::traces {

/// The time interval from `begin` to `end`.
struct TimeInterval {
  Instant begin{}, end{};
  friend bool operator==(const TimeInterval&, const TimeInterval&) = default;
};

/// A tile of a buffer: the times of its prefetch to the GPU and of its initialisation there.
struct TileSetup {
  Bytes size;
  TimeInterval prefetched{}, made{};
  [[nodiscard]] bool was_prefetched() const { return prefetched.begin < prefetched.end; }
  friend bool operator==(const TileSetup&, const TileSetup&) = default;
};

/// A buffer that got its first contents: the time of the initialisation, and the tiles if a GPU initialised the buffer.
struct ContentsSetup {
  Bytes size;
  TimeInterval made{};
  bool on_host = false;
  std::vector<TileSetup> tiles{}; // empty if the host initialised the buffer
  friend bool operator==(const ContentsSetup&, const ContentsSetup&) = default;
};

struct TaskSetup {
  std::string name;
  Criticality criticality = Criticality::real_time;
  bool promised = false;
  Duration period{0}, deadline{0}, offset{0};
  unsigned core = 0;
  unsigned core_rank = 0;   // 0 is the most urgent CPU part of all tasks
  unsigned device_rank = 0; // the smallest rank is the most urgent; see DeviceScheduler
  std::uint32_t device_class = 1;
  std::uint32_t segments = 1;              // number of segments of the device part
  std::optional<Duration> longest_segment; // maximum execution time of a segment
  Wcet wcet;                               // the configured WCET
  Duration ready_by{0}, device_done_by{0};
  std::optional<Duration> response_bound;
  std::uint32_t swap_slots = 0;
  std::optional<Stream> stream;
  std::optional<std::uint32_t> resident_slots;
  std::optional<MemoryPolicy> memory_policy;
  std::optional<CoRun> co_run;
  Bytes constant, scratch, state, fixed, swap_volume;
  std::string workload;            // fingerprint of the workload that ran
  std::vector<std::string> tuning; // tuning that the workload used (config/profile_file.hpp)
  std::vector<std::string> layers;
  std::optional<TimeInterval> loaded;  // the time of loading: the task got its memory and was prepared for the device
  std::vector<ContentsSetup> contents; // the buffers that were initialised during that time
  /// Returns the device WCET: the larger of the WCET alone and the WCET while co-running with another job.
  [[nodiscard]] Duration longest_on_device() const {
    return co_run ? std::max(wcet.device, co_run->wcet) : wcet.device;
  }
  /// True if any tile of the task's first contents was prefetched.
  [[nodiscard]] bool was_prefetched() const {
    return std::ranges::any_of(contents, [](const ContentsSetup& each) {
      return std::ranges::any_of(each.tiles, &TileSetup::was_prefetched);
    });
  }
};

/// A chain and its promised bounds.
struct ChainSetup {
  /// A task of the chain, and its share of the reaction bound. `waits`: time until a job that reads the data is
  /// released. `takes`: time from that release to the job's output.
  struct Member {
    std::uint32_t task = 0;
    std::optional<Duration> waits, takes;
  };
  std::string name;
  Communication communicate = Communication::immediate;
  bool triggered = false;     // true if events release the first task
  bool kept = false;          // true if the chain's bounds are within its limits
  bool from_sampling = false; // true if times count from the sampling of the first task's inputs
  std::optional<Duration> reaction, age, reduced_age, max_reaction, max_age;
  std::vector<Member> places; // in the order in which data flow
};

struct SwapSetup {
  SwapPolicy policy = SwapPolicy::pipelined;
  std::uint32_t frames = 0;
  unsigned copy_engines = 1;
  Bytes chunk;
  std::string store;
};

struct TestSetup {
  std::string name;
  bool proved = false, baseline = false;
  Duration left{0}, right{0}, slack{0};
  std::string limiting_task;
};

/// A change of a daemon's client: the client connected, was declared, was refused, was expelled, or left.
struct ClientSetup {
  std::optional<std::uint32_t> task; // the client's task after this change; absent if the client was refused
  std::uint32_t place = 0, process = 0;
  std::string name, what;
  Instant at{};
};

struct ProbeSetup {
  std::string service, found;
};

struct RunSetup {
  std::string version; // version of rtexec that recorded
  std::string machine;
  std::string task_set;   // path of the task set's file; empty: built in code, or not recorded
  bool simulated = false; // true if instants are on a virtual clock
  Instant start{};        // start of the grid of releases
  bool proved = false;
  Order order = Order::edf;
  std::uint32_t launch_ahead = 0; // number of segments
  Bytes demand, capacity, chunk;
  std::string device;
  std::vector<TaskSetup> tasks;
  std::vector<ChainSetup> chains;
  std::optional<SwapSetup> swap;
  std::vector<ClientSetup> clients;   // clients of a daemon, in order of time
  std::set<unsigned> regulated_cores; // cores with a regulated memory bandwidth
  std::vector<TestSetup> tests;
  std::vector<std::string> degraded;
  std::vector<ProbeSetup> probes;
  /// True if two jobs may execute concurrently on the device.
  [[nodiscard]] bool co_runs() const {
    return std::ranges::any_of(tasks, [](const TaskSetup& task) { return task.co_run.has_value(); });
  }
};

} // namespace rtexec::traces
