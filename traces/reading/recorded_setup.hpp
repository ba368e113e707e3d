// What a recording says about the run that it is of, before the first job.
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

/// From `begin` to `end`.
struct Stretch {
  Instant begin{}, end{};
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// A tile of a buffer: when it was brought to the GPU, and when it was made there.
struct TileSetup {
  Bytes size;
  Stretch prefetched{}, made{};
  [[nodiscard]] bool was_prefetched() const { return prefetched.begin < prefetched.end; }
  friend bool operator==(const TileSetup&, const TileSetup&) = default;
};

/// When a buffer got its first contents, and in which tiles a GPU made them.
struct ContentsSetup {
  Bytes size;
  Stretch made{};
  bool on_host = false;
  std::vector<TileSetup> tiles{}; // none on the host
  friend bool operator==(const ContentsSetup&, const ContentsSetup&) = default;
};

struct TaskSetup {
  std::string name;
  Criticality criticality = Criticality::real_time;
  bool promised = false;
  Duration period{0}, deadline{0}, offset{0};
  unsigned core = 0;
  unsigned core_rank = 0;   // 0 is the most urgent CPU part of all tasks
  unsigned device_rank = 0; // see DeviceScheduler
  std::uint32_t device_class = 1;
  std::uint32_t segments = 1;              // of the device part,
  std::optional<Duration> longest_segment; // and how long the longest of them may take
  Wcet wcet;                               // configured
  Duration ready_by{0}, device_done_by{0};
  std::optional<Duration> response_bound;
  std::uint32_t swap_slots = 0;
  std::optional<Stream> stream;
  std::optional<std::uint32_t> resident_slots;
  std::optional<MemoryPolicy> memory_policy;
  std::optional<CoRun> co_run;
  Bytes constant, scratch, state, fixed, swap_volume;
  std::string workload;            // fingerprint of what ran,
  std::vector<std::string> tuning; // and the ways to compute that it was given (config/profile_file.hpp)
  std::vector<std::string> layers;
  std::optional<Stretch> loaded;       // when it was given its memory, and readied for the device
  std::vector<ContentsSetup> contents; // meanwhile
  /// Alone, or beside another job.
  [[nodiscard]] Duration longest_on_device() const {
    return co_run ? std::max(wcet.device, co_run->wcet) : wcet.device;
  }
  /// Whether any tile of its first contents was.
  [[nodiscard]] bool was_prefetched() const {
    return std::ranges::any_of(contents, [](const ContentsSetup& each) {
      return std::ranges::any_of(each.tiles, &TileSetup::was_prefetched);
    });
  }
};

/// A chain, and what it was promised.
struct ChainSetup {
  /// A task of it; its part of the bound of reactions: until a job is released that has the data, and from there to its
  /// output.
  struct Member {
    std::uint32_t task = 0;
    std::optional<Duration> waits, takes;
  };
  std::string name;
  Communication communicate = Communication::immediate;
  bool triggered = false;     // events release its first task
  bool kept = false;          // its bounds are within its limits
  bool from_sampling = false; // times count from the sampling of what its first task reads
  std::optional<Duration> reaction, age, reduced_age, max_reaction, max_age;
  std::vector<Member> places; // in the order of the data
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

/// A client of a daemon came, was declared, refused or expelled, or left.
struct ClientSetup {
  std::optional<std::uint32_t> task; // that it is from then on; none of who was refused
  std::uint32_t place = 0, process = 0;
  std::string name, what;
  Instant at{};
};

struct ProbeSetup {
  std::string service, found;
};

struct RunSetup {
  std::string version; // of the rtexec that recorded
  std::string machine;
  std::string task_set;   // its file; empty: built in code, or not recorded
  bool simulated = false; // instants are of a virtual clock
  Instant start{};        // of the grid of releases
  bool proved = false;
  Order order = Order::edf;
  std::uint32_t launch_ahead = 0; // segments
  Bytes demand, capacity, chunk;
  std::string device;
  std::vector<TaskSetup> tasks;
  std::vector<ChainSetup> chains;
  std::optional<SwapSetup> swap;
  std::vector<ClientSetup> clients;   // of a daemon, in order of time
  std::set<unsigned> regulated_cores; // in their memory bandwidth
  std::vector<TestSetup> tests;
  std::vector<std::string> degraded;
  std::vector<ProbeSetup> probes;
  /// Whether two jobs may execute at once.
  [[nodiscard]] bool co_runs() const {
    return std::ranges::any_of(tasks, [](const TaskSetup& task) { return task.co_run.has_value(); });
  }
};

} // namespace rtexec::traces
