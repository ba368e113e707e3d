// The facts of a board, read from boards/NAME.toml. The capabilities of the board are not in this file: hal/ always
// determines them by trials.
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

/// The upper bound on the time to copy chunks of one size between device memory and a store. The bound is for copies in
/// one direction while the other direction is equally busy. Loading or evicting x chunks takes at most fixed + x *
/// per_chunk: in_fixed and in_per_chunk for loading, out_fixed and out_per_chunk for evicting. The time to map or unmap
/// the chunks is included. Measured by `rtexec calibrate`.
struct SwapCost {
  /// The store to which the measured chunks were copied. The costs apply to this store only.
  StoreKind store = StoreKind::pinned;
  Bytes chunk{0};
  Duration in_per_chunk{0};
  Duration out_per_chunk{0};
  /// The cost of evicting a chunk of constants, which is only unmapped, not copied.
  Duration drop_per_chunk{0};
  /// The fixed cost of loading the chunks of one job. It does not depend on the number of chunks.
  Duration in_fixed{0};
  /// The fixed cost of evicting the chunks of one task. It does not depend on the number of chunks.
  Duration out_fixed{0};
  /// The largest time by which a measured operation exceeded the line that was fitted to the measurements. For
  /// information: the fixed costs above already include the largest excess of their direction.
  Duration residual{0};
};

/// A file under /sys, /proc or /dev, written in a board file as FILE [times NAME] [in UNIT] [where NAME = TEXT]... In
/// FILE, "*" matches any text and "#" matches a number. The first file that satisfies all conditions is used. A NAME is
/// a file in the folder of FILE; "#" in NAME stands for the last number in FILE.
struct BoardPath {
  struct Condition {
    std::string name, text;
    friend bool operator==(const Condition&, const Condition&) = default;
  };
  std::string file;
  /// The name of a file whose value is multiplied by FILE's value. Empty: FILE's value is used alone.
  std::string times;
  /// "kHz" or "mW": the value is multiplied by 1000, which gives Hz or microwatts. Empty: no conversion.
  std::string unit;
  std::vector<Condition> where;
  friend bool operator==(const BoardPath&, const BoardPath&) = default;
};
/// Alternative paths of one file, because the releases of a board's software use different paths. The first path that
/// exists is used. Empty: the board has no such file.
using BoardPaths = std::vector<BoardPath>;

/// The facts by which a board is recognised.
struct BoardIdentity {
  /// A machine is recognised as this board if the `compatible` list of its device tree contains one of these strings.
  /// Empty: the board cannot be recognised.
  std::vector<std::string> compatible;
};

/// The target for which the board's programs are compiled. The members are empty if programs are compiled for the
/// compiling machine.
struct BuildFacts {
  std::string machine;          // "aarch64"
  std::string cpu;              // the compiler's name of the CPU: "cortex-a57"
  std::string gpu_architecture; // "62"
};

/// The boot parameters of the board's kernel.
struct BootFacts {
  /// Cores that run only threads pinned to them (isolcpus). Empty: no isolation is requested from the kernel.
  std::vector<unsigned> isolated_cores;
  /// Further parameters for the kernel's command line.
  std::string command_line;
};

/// Cores of one kind in one cluster.
struct CoreKind {
  std::string name;
  // The codes of the CPU's implementer and part in /proc/cpuinfo
  std::uint32_t implementer = 0;
  std::uint32_t part = 0;
  std::vector<unsigned> cores;
  unsigned cluster = 0;
};

enum class ClockKind { cpu, gpu, memory };

/// A clock of the board, with the files that read and set its rate. Values are in Hz. If `name` contains "#", this
/// struct describes several clocks: one for each number that "#" matches in the paths.
struct ClockFacts {
  std::string name;
  ClockKind kind = ClockKind::cpu;
  BoardPaths rate; // the current rate
  // The limits between which the current rate may vary. The clock is locked by writing the value of `highest` to
  // `lowest`.
  BoardPaths lowest, highest;
  // The files of a clock that is locked by another method: a rate is written to `set`, and then 1 to `lock`.
  BoardPaths set, lock;
  /// The rates that the hardware supports. Only the highest rate is used.
  BoardPaths possible;
  /// The file with the highest rate at which the clock may be locked. A rate of 0 in it means no limit.
  BoardPaths cap;
};

/// The unit of a sensor's value depends on its kind.
enum class SensorKind {
  temperature,     // thousandths of a degree Celsius
  power,           // microwatts
  load,            // load of the GPU, per mille
  memory_activity, // activity of the memory, in the kernel's own unit
  over_current,    // number of events since the board was started
};

/// A sensor of the board. If `name` contains "#", this struct describes several sensors: one for each number that "#"
/// matches in the paths.
struct SensorFacts {
  std::string name;
  SensorKind kind = SensorKind::temperature;
  BoardPaths value;
  /// The file with the value at which throttling begins.
  BoardPaths limit;
};

/// A performance counter for the memory traffic of some cores. An event stands for the transfer of one cache line.
/// hal/bandwidth_counter.hpp determines by trials what the counter counts on the machine.
struct CounterFacts {
  /// The event that counts reads: "page-faults", "cycles", "cache-misses", "r17" (a raw event of the cores' PMU) or
  /// "carmel_pmu/0x2a4".
  std::string event;
  /// The event that counts writes, if writes have a separate event. Empty: writes are not counted.
  std::string write_event;
  /// The number of bytes that one event represents.
  Bytes line{64};
  /// The cores that use this counter. Empty: all cores that are in no other counter's list.
  std::vector<unsigned> cores;
  /// True if one counter serves all of `cores`, so that they share one bandwidth budget.
  bool cluster = false;
  /// The core on which the counter must be opened. Absent: the core in the driver's cpumask file. Without that file,
  /// the counted core.
  std::optional<unsigned> opened_on{};
};

/// The bandwidth of the memory that cores and device share. 0: unknown.
struct MemoryFacts {
  /// The bandwidth that the fastest core reaches while the other cores are idle.
  Bandwidth core_bandwidth{0};
  /// The bandwidth that all cores reach together while they all access memory.
  Bandwidth saturation{0};
};

/// The platform's costs of the operations of each memory policy: copies to device memory (D), managed memory (M),
/// mapped host memory (H). Names such as l_hd are from the paper (Bateni et al., Co-Optimizing Performance and Memory
/// Footprint, RTAS 2020, Table III). Members of type double are in nanoseconds per byte, or per access if their comment
/// says so; no member is negative. Measured by `rtexec calibrate memory`. A host device (cores that replace a GPU)
/// emulates these costs.
struct MemoryCosts {
  /// True if CPU and GPU share one memory. The model of memory policies then uses other terms for managed memory (M)
  /// and mapped host memory (H). For a board it equals unified_memory; for host devices it is true.
  bool unified = true;

  // Copies (D), through memory or over a link
  Duration copy_start{0};  // Tr_ini, for each copy
  double copied_in = 0;    // l_hd
  double copied_out = 0;   // l_dh
  double host_touched = 0; // l_ini, for host memory whose first access is a copy

  // Unified memory
  double mapped = 0;        // l_mapping
  Duration host_flush{0};   // Ca_cpu: flushing a full CPU cache
  Duration device_flush{0}; // Ca_gpu: flushing a full device cache; the upper limit of the `written_back` term
  double written_back = 0;  // l_mem of Eq. (4)
  double memory_access = 0; // l_mem of Eq. (7), for each access whose latency is not hidden by parallelism
  double cache_access = 0;  // l_L2, for each access by an instruction that hits the device's cache

  // Discrete memory behind a link
  double faulted = 0;         // for pages that migrate because of a page fault
  Duration prefetch_start{0}; // for each prefetch
  double prefetched = 0;      // for pages that a prefetch brings to the device
  double returned = 0;        // for pages that a prefetch brings back to the host
  Duration linked_start{0};   // policy H: for each launch
  double linked = 0;          // policy H: for bytes touched in host memory
  double linked_access = 0;   // policy H: for each access that the device's cache would serve under policy D

  /// The mean and the worst error of the estimates, in percent, for tasks that were not used to fit the costs. These
  /// are the errors to expect for a new task.
  double mean_error = 0;
  double worst_error = 0;

  /// True if the board has measured costs.
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
  /// The capacity of the device memory. 0: all memory of the device; its size must be queried on a machine with the
  /// device.
  Bytes capacity{0};
  /// The default chunk size: the unit of physical device memory.
  Bytes chunk{0};
  /// The index of the GPU on the machine.
  unsigned ordinal = 0;
  /// The number of copy engines. With 2, copies in and copies out overlap.
  unsigned copy_engines = 1;
  /// True if CPU and GPU share one memory. Swapping to host memory would then free no memory.
  bool unified_memory = false;
  /// The costs of swapping, one entry for each store and chunk size.
  std::vector<SwapCost> swap_costs;
  /// The memory policies that a task may select.
  std::vector<MemoryPolicy> memory_policies;
  MemoryFacts memory;
  MemoryCosts memory_costs;
  /// The counters of memory traffic. Empty: a generic event counts cache misses.
  std::vector<CounterFacts> counters;
  /// The core of the compute engine's thread. Absent: the machine's last core.
  std::optional<unsigned> compute_core;
  /// The core of the scheduler and the copy engines. Absent: on a machine with four or more cores, the core before the
  /// last core; otherwise the first core.
  std::optional<unsigned> service_core;
  /// The time that admission adds for one thread switch on a core.
  Duration context_switch{0};
  /// The time that admission adds for the delay from a job's request to its start on the device. Admission adds it a
  /// second time for the delay from the end on the device until the job's thread is ready.
  Duration dispatch{0};
  /// The time that admission adds between two segments of a job if the second segment was launched ahead. Absent:
  /// `dispatch`.
  std::optional<Duration> cut;
  /// The time that admission adds for the delay from a timer's expiry until the thread runs.
  Duration release_latency{0};
  /// The longest platform stall. A platform stall is a time for which a hypervisor or firmware stops the machine, or a
  /// part of the machine, beyond `context_switch`, `dispatch` and `release_latency`. Each response-time bound includes
  /// the longest stall a fixed number of times, however many device parts the bound contains. There is one exception: a
  /// scheduler that shares its core under reservations (policies/proofs/platform-stalls.md). 0: the machine never
  /// stalls.
  Duration platform_stall{0};
  /// Warnings of the reader, one line each: settings that the next release will refuse. Empty: the file needs no
  /// change.
  std::vector<std::string> warnings;

  // The following functions replace comparisons of `device`. Only code that opens devices, or that computes on them,
  // compares `device` itself.
  /// True if the device executes work on a core of the machine, the core of the compute engine.
  [[nodiscard]] bool computes_on_core() const noexcept { return device == DeviceKind::host; }
  /// True if the device's memory is memory of the host, allocated by this program.
  [[nodiscard]] bool memory_is_of_host() const noexcept { return device == DeviceKind::host; }
  /// True if the device has a driver. The driver reports the device's properties, and may refuse to open the device.
  [[nodiscard]] bool has_driver() const noexcept { return device != DeviceKind::host; }
};

/// Returns the counter for `core`. Uses the first existing counter in this order: a counter of `event`; the board's
/// counter that lists the core; the board's counter that lists no core; a counter of the machine's cache misses.
/// `event` is the event that the task set names; empty if the task set names no event. For page faults, `line` is the
/// page size.
[[nodiscard]] RTEXEC_API CounterFacts counter_of(unsigned core, const Board& board, std::string_view event);

/// Reads a board file by its path (any text that contains '/' or ends in ".toml"), or a built-in board by its name.
/// Returns bad_input with all errors of the file, or with the valid names if the name is unknown.
[[nodiscard]] RTEXEC_API Result<Board> read_board(std::string_view name_or_path);
/// Parses a board from text; `file` is the file's name in messages.
[[nodiscard]] RTEXEC_API Result<Board> parse_board(std::string_view toml, const std::filesystem::path& file);

/// Returns the names of the built-in boards, in ascending order.
[[nodiscard]] RTEXEC_API std::vector<std::string> board_names();

/// Returns the spelling of the value in board files.
[[nodiscard]] RTEXEC_API std::string_view name(DeviceKind value) noexcept;
[[nodiscard]] RTEXEC_API std::string_view name(SensorKind value) noexcept;

} // namespace rtexec
