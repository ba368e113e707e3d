// What a board is: the facts of boards/NAME.toml. What it can do is probed by hal/, never believed from here.
#pragma once

#include <rtexec/export.hpp>
#include <rtexec/result.hpp>
#include <rtexec/choices.hpp>
#include <rtexec/units.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rtexec {

enum class DeviceKind { host, cuda };

/// What moving chunks of one size costs at most, while the other direction is as busy: one operation on x chunks takes
/// fixed + x per_chunk, mapping included. Measured by `rtexec calibrate`.
struct SwapCost {
  /// The costs of one store promise nothing of another.
  StoreKind store = StoreKind::pinned;
  Bytes chunk{0};
  Duration in_per_chunk{0};
  Duration out_per_chunk{0};
  /// What a chunk of constants costs when it leaves: it is unmapped, and not copied.
  Duration drop_per_chunk{0};
  /// What each job's load costs beside its chunks.
  Duration in_fixed{0};
  /// What each victim costs beside its chunks.
  Duration out_fixed{0};
  /// The most by which a measured operation exceeded the fit, before the margin was added.
  Duration residual{0};
};

/// A file under /sys, /proc or /dev, as a board file says it: FILE [times NAME] [in UNIT] [where NAME = TEXT]...
/// "*" in FILE is any text, "#" a number; the first file is meant for which all that is said holds. NAMEs are files of
/// the same folder, in which "#" is FILE's last number.
struct BoardPath {
  struct Condition {
    std::string name, text;
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  std::string file;
  /// The value is the product of this file's and FILE's. Empty: it is FILE's.
  std::string times;
  /// "kHz" or "mW", which are a thousand of what values are in otherwise. Empty: those.
  std::string unit;
  std::vector<Condition> where;
  friend bool operator==(const BoardPath&, const BoardPath&) = default;
};
/// Alternatives: releases of a board's software differ. The first that is there is meant; empty: there is none.
using BoardPaths = std::vector<BoardPath>;

/// What tells a board from others.
struct BoardIdentity {
  /// One of them stands in the device tree's `compatible`. Empty: nothing tells this board.
  std::vector<std::string> compatible;
};

/// What the board's programs are compiled for. Empty: for the machine that compiles them.
struct BuildFacts {
  std::string machine;          // "aarch64"
  std::string cpu;              // as compilers name it: "cortex-a57"
  std::string gpu_architecture; // "62"
};

/// What the board's kernel is to be booted with.
struct BootFacts {
  /// Cores that are kept free of all but what is pinned to them. Empty: the kernel is asked for no isolation.
  std::vector<unsigned> isolated_cores;
  /// More words of the kernel's command line.
  std::string command_line;
};

/// Cores of one kind in one cluster.
struct CoreKind {
  std::string name;
  // As in /proc/cpuinfo
  std::uint32_t implementer = 0;
  std::uint32_t part = 0;
  std::vector<unsigned> cores;
  unsigned cluster = 0;
};

enum class ClockKind { cpu, gpu, memory };

/// A clock of the board: where it is read and set. Values are in Hz. With "#" in its name it is one clock for each
/// number that "#" in its paths can be.
struct ClockFacts {
  std::string name;
  ClockKind kind = ClockKind::cpu;
  BoardPaths rate; // now
  // Between which it moves: it is locked by raising the lowest to the highest
  BoardPaths lowest, highest;
  // Of a clock that takes a rate and then a lock (1)
  BoardPaths set, lock;
  /// The rates that the hardware has, of which the greatest counts.
  BoardPaths possible;
  /// At most what it is locked at; 0: no cap.
  BoardPaths cap;
};

enum class SensorKind {
  temperature,     // thousandths of a degree Celsius
  power,           // microwatts
  load,            // of the GPU, per mille
  memory_activity, // as the kernel counts it
  over_current,    // events since the start
};

/// With "#" in its name it is one sensor for each number that "#" in its paths can be.
struct SensorFacts {
  std::string name;
  SensorKind kind = SensorKind::temperature;
  BoardPaths value;
  /// Where throttling begins.
  BoardPaths limit;
};

/// What counts the memory traffic of some cores. What it really counts is proved by trying (hal/bandwidth_counter.hpp).
struct CounterFacts {
  /// The event that counts reads: "page-faults", "cycles", "cache-misses", "r17" (raw, of the cores' PMU),
  /// "carmel_pmu/0x2a4".
  std::string event;
  /// The event that counts writes, where they are counted apart. Empty: writes are not counted.
  std::string write_event;
  /// How many bytes each event stands for.
  Bytes line{64};
  /// The cores that this counter is for. Empty: all that no other counter names.
  std::vector<unsigned> cores;
  /// Whether one counter, and so one budget, serves all of `cores`.
  bool cluster = false;
  /// The core on which its driver wants to be asked. Absent: as the driver says (its cpumask), or the counted core.
  std::optional<unsigned> opened_on{};
};

/// The memory that cores and device share (0: not known).
struct MemoryFacts {
  /// What one core reaches alone, the fastest of them.
  Bandwidth core_bandwidth{0};
  /// What all cores reach together.
  Bandwidth saturation{0};
};

/// What a platform takes for each thing that a memory policy does (Bateni et al., Co-Optimizing Performance and Memory
/// Footprint, RTAS 2020, Table III). Real numbers are nanoseconds per byte, or per access where that is said; nothing
/// is negative. Measured by `rtexec calibrate memory`; a host device that has them emulates them.
struct MemoryCosts {
  /// Whether CPU and GPU share one memory. It decides which terms of M and H are read. Of a board: as its
  /// unified_memory says, and true for host devices.
  bool unified = true;

  // Copies (D), through memory or over a link:
  Duration copy_start{0};  // Tr_ini, of each copy
  double copied_in = 0;    // l_hd
  double copied_out = 0;   // l_dh
  double host_touched = 0; // l_ini: host memory that a copy is the first to touch

  // One memory:
  double mapped = 0;        // l_mapping
  Duration host_flush{0};   // Ca_cpu: all that the CPU's caches hold
  Duration device_flush{0}; // Ca_gpu: all that the device's cache holds; the most of what `written_back` charges
  double written_back = 0;  // l_mem of Eq. (4)
  double memory_access = 0; // l_mem of Eq. (7), per access of an instruction, as far as others do not hide it
  double cache_access = 0;  // l_L2, likewise

  // A memory of its own, behind a link:
  double faulted = 0;         // pages that migrate because an access faults
  Duration prefetch_start{0}; // of each prefetch,
  double prefetched = 0;      // of the pages that it brings to the device,
  double returned = 0;        // and of those that it brings back
  Duration linked_start{0};   // H: of each launch,
  double linked = 0;          // of what it touches in host memory,
  double linked_access = 0;   // and of an access that under D the device's cache answers

  /// What to expect of a task that is new: by how much estimates of tasks that were not fitted were wrong, in percent.
  double mean_error = 0;
  double worst_error = 0;

  /// Whether a board has them.
  [[nodiscard]] bool known() const {
    return copied_in > 0 || copied_out > 0 || mapped > 0 || written_back > 0 || faulted > 0 || linked > 0;
  }
  friend bool operator==(const MemoryCosts&, const MemoryCosts&) = default;
};

struct Board {
  std::filesystem::path file;
  std::string name;
  std::string description;
  BoardIdentity identity;
  BuildFacts build;
  BootFacts boot;
  std::vector<CoreKind> core_kinds;
  std::vector<ClockFacts> clocks;
  std::vector<SensorFacts> sensors;
  DeviceKind device = DeviceKind::host;
  /// Device memory. 0: what the device has, which is known only where the device is.
  Bytes capacity{0};
  /// The default unit of physical device memory.
  Bytes chunk{0};
  /// Which of the machine's GPUs is meant.
  unsigned ordinal = 0;
  /// With 2 of them, copies in and out overlap.
  unsigned copy_engines = 1;
  /// Whether CPU and GPU share one memory, so that swapping to host memory would win nothing.
  bool unified_memory = false;
  /// What swapping costs, one entry for each store and chunk size.
  std::vector<SwapCost> swap_costs;
  /// The memory policies that a task may ask for.
  std::vector<MemoryPolicy> memory_policies;
  MemoryFacts memory;
  MemoryCosts memory_costs;
  /// What counts memory traffic. Empty: the machine's generic event.
  std::vector<CounterFacts> counters;
  /// The core of the compute engine's thread. Absent: the last of the machine.
  std::optional<unsigned> compute_core;
  /// The core of the scheduler and the copy engines. Absent: the last but one of four or more, else the first.
  std::optional<unsigned> service_core;
  /// What admission charges for one switch between threads on a core.
  Duration context_switch{0};
  /// What admission charges from a job's request to its start on the device, and again from its end there to its thread
  /// being ready.
  Duration dispatch{0};
  /// What admission charges between two segments of a job of which the device has the second ahead of its turn. Absent:
  /// `dispatch`.
  std::optional<Duration> cut;
  /// What admission charges from the timer to the thread that it wakes up.
  Duration release_latency{0};
  /// How long the machine may stop beyond these three, all of it or a part: a hypervisor, firmware. Admission charges
  /// it to each bound, and not to each device part (policies/proofs/hold-ups.md, with the exception); 0: it never does.
  Duration hold_up{0};

  // Callers ask these. Only those who open devices, or compute on them, compare kinds.
  /// Whether it computes on a core of the machine, that of the compute engine.
  [[nodiscard]] bool computes_on_core() const noexcept { return device == DeviceKind::host; }
  /// Whether its memory is taken from the machine's, by this program.
  [[nodiscard]] bool memory_is_of_host() const noexcept { return device == DeviceKind::host; }
  /// Whether it has a driver, which tells of it and may refuse it.
  [[nodiscard]] bool has_driver() const noexcept { return device != DeviceKind::host; }
};

/// What counts `core`: `event` of the task set where it is given, else the counter of the board that names the core,
/// else the one that names none, else the machine's cache misses. Its line is a page for page faults.
[[nodiscard]] RTEXEC_API CounterFacts counter_of(unsigned core, const Board& board, std::string_view event);

/// Reads a board by path (anything with a '/' or a ".toml" at its end), or by the name of one that the library carries
/// in itself: bad_input, with every error of the file, or the names that there are.
[[nodiscard]] RTEXEC_API Result<Board> read_board(std::string_view name_or_path);
/// From text; `file` names it in messages.
[[nodiscard]] RTEXEC_API Result<Board> parse_board(std::string_view toml, const std::filesystem::path& file);

/// The names of those that the library carries in itself, ascending.
[[nodiscard]] RTEXEC_API std::vector<std::string> board_names();

/// As board files spell it.
[[nodiscard]] RTEXEC_API std::string_view name(DeviceKind value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(SensorKind value) noexcept;

} // namespace rtexec
