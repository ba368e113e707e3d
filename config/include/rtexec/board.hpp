// What a board is: the facts of boards/NAME.toml. What it can do is probed by hal/, never believed from here.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/result.hpp>
#include <rtexec/task_set.hpp>
#include <rtexec/units.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

enum class DeviceKind { host, cuda };

/// What moving chunks of one size costs at most, while the other direction is as busy: one operation on x chunks takes
/// fixed + x per_chunk, mapping included. Measured by `rtexec calibrate`.
struct SwapCost {
  StoreKind store = StoreKind::pinned;
  Bytes chunk{0};
  Duration in_per_chunk{0};
  Duration out_per_chunk{0};
  Duration drop_per_chunk{0}; // of constants: unmapped, and not copied
  Duration in_fixed{0};       // of each job's load
  Duration out_fixed{0};      // of each victim
  Duration residual{0};       // the most by which a measured operation exceeded the fit, before the margin
};

/// What counts the memory traffic of some cores. What it really counts is proved by trying (hal/bandwidth_counter.hpp).
struct CounterFacts {
  std::string
      event; // of reads: "page-faults", "cycles", "cache-misses", "r17" (raw, of the cores' PMU), "carmel_pmu/0x2a4"
  std::string write_event;     // of writes, counted apart; empty: not counted
  Bytes line{64};              // moved by each event
  std::vector<unsigned> cores; // that it is for; empty: all that no other counter names
  bool cluster = false;        // one counter, and so one budget, for all of `cores`
};

/// The memory that cores and device share (0: not known).
struct MemoryFacts {
  Bandwidth core_bandwidth{0}; // that one core reaches alone, the fastest of them
  Bandwidth saturation{0};     // that all cores reach together
};

struct Board {
  std::filesystem::path file;
  std::string name;
  std::string description;
  DeviceKind device = DeviceKind::host;
  Bytes capacity{0};         // device memory; 0: what the device has, known only where it is
  Bytes chunk{0};            // default unit of physical device memory
  unsigned ordinal = 0;      // which of the machine's GPUs
  unsigned copy_engines = 1; // 2: copies in and out overlap
  /// CPU and GPU share one memory: swapping to host memory would win nothing
  bool unified_memory = false;
  std::vector<SwapCost> swap_costs;          // by store and chunk size
  std::vector<MemoryPolicy> memory_policies; // that a task may ask for
  MemoryFacts memory;
  std::vector<CounterFacts> counters;   // of memory traffic; empty: the machine's generic event
  std::optional<unsigned> compute_core; // of the compute engine's thread; absent: the last online core
  /// Scheduler and copy engines; absent: the last but one of four or more, else the first
  std::optional<unsigned> service_core;
  /// Of the machine, for tasks that name none; not in the file: who plans settles them; empty: core 0
  std::vector<unsigned> cores;
  /// Charged by admission (ANALYSIS: inflation of the parts).
  Duration context_switch{0}; // one switch on a core
  /// Job requested to device start, and device done to thread ready, each
  Duration dispatch{0};
  Duration release_latency{0}; // timer to thread running
};

/// What counts `core`: `event` of the task set where it is given, else the counter of the board that names the core,
/// else the one that names none, else the machine's cache misses. Its line is a page for page faults.
[[nodiscard]] RTEXEC_API CounterFacts counter_of(unsigned core, const Board& board, std::string_view event);

/// Reads a board by path (anything with a '/' or a ".toml" at its end), or by the name of one that the library carries
/// in itself: bad_input, with every error of the file, or the names that there are.
[[nodiscard]] RTEXEC_API Result<Board> read_board(std::string_view name_or_path);
/// From text; `file` names it in messages.
[[nodiscard]] RTEXEC_API Result<Board> parse_board(std::string_view toml, const std::filesystem::path& file);

/// As board files spell it.
[[nodiscard]] RTEXEC_API std::string_view name(DeviceKind value) noexcept;

} // namespace rtexec
