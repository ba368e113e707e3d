// The keys of a board file, and how board files are found.
#include <rtexec/board.hpp>

#include "config/board_paths.hpp"
#include "config/builtin_boards.hpp"
#include "config/toml_readers.hpp"
#include "config/schema.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using namespace config;

constexpr Duration longest_overhead = 1s;
constexpr unsigned max_copy_engines = 2; // one for each direction
constexpr unsigned last_ordinal = 63;

std::vector<Key<Board>> keys() {
  using B = Board;
  const auto memories = spellings<MemoryPolicy>().subspan(1, 3); // a board has neither "auto" nor "D/H"
  const auto overhead = duration(0ns, longest_overhead);
  return {
      key<B>("name", identifier(), required, "name of the board", &B::name),
      key<B>("description", text(), "description of the board in one line", &B::description),
      key<B>("device", one_of<DeviceKind>(),
             "kind of the board's device: host: a software device that computes on a core; cuda: an NVIDIA GPU",
             &B::device),
      key<B>("ordinal", integer<unsigned>(0, last_ordinal), "cuda: index of the GPU on the machine, counted from 0",
             &B::ordinal),
      key<B>("capacity", pages(), "cuda: all memory of the GPU; host devices require it",
             "size of the device memory; a multiple of chunk", &B::capacity),
      key<B>("chunk", pages(), required,
             "default chunk size: the unit in which physical device memory is allocated and swapped, for task sets "
             "with chunk = \"auto\"",
             &B::chunk),
      key<B>("copy_engines", integer<unsigned>(1, max_copy_engines),
             "number of the device's copy engines; with 2, copies into and out of device memory overlap",
             &B::copy_engines),
      key<B>("unified_memory", boolean(),
             "true: CPU and device share one memory, so swapping to host memory would free nothing, and task sets swap "
             "to a file by default",
             &B::unified_memory),
      key<B>("memory_policies", set_of(one_of(memories)), required,
             "memory policies that the device supports: device memory (D), managed memory (M), host memory that the "
             "device accesses (H)",
             &B::memory_policies),
      key<B>("compute_core", integer<unsigned>(0, last_core), "the machine's last online core",
             "core of the thread that drives the device's computations", &B::compute_core),
      key<B>("service_core", integer<unsigned>(0, last_core),
             "the last but one online core; the first if there are fewer than four",
             "core of the threads of the scheduler and of the copy engines", &B::service_core),
      key<B>("context_switch", overhead, required,
             "time that admission charges for one switch between threads on a core", &B::context_switch),
      key<B>("dispatch", overhead, required,
             "time that admission charges from a job's request for the device to its start there, and once more from "
             "its end on the device until its thread is ready",
             &B::dispatch),
      key<B>("cut", overhead, "the value of dispatch",
             "time that admission charges between two segments of a job if the second segment was launched ahead",
             &B::cut),
      key<B>("release_latency", overhead, required,
             "time that admission charges from the expiry of a timer until the released thread runs",
             &B::release_latency),
      renamed("hold_up", key<B>("platform_stall", overhead,
                                "maximum time for which a hypervisor or firmware stops the machine or a part of it, as "
                                "far as the three times above do not include it; admission adds it to each "
                                "response-time bound. 0ns: the machine never stalls",
                                &B::platform_stall)),
  };
}

std::vector<Key<BoardIdentity>> identity_keys() {
  using I = BoardIdentity;
  return {key<I>("compatible", set_of(text()), "none: no machine is recognised as this board",
                 "values of `compatible` in the device tree: a machine whose device tree has one of these values is "
                 "recognised as this board",
                 &I::compatible)};
}

std::vector<Key<BuildFacts>> build_keys() {
  using B = BuildFacts;
  constexpr std::string_view here = "that of the machine that compiles";
  return {optional_text<B>("machine", here,
                           "architecture that programs are compiled for, as printed by `uname -m` (\"aarch64\")",
                           &B::machine),
          optional_text<B>("cpu", here,
                           "CPU that programs are compiled for, as in the compiler's option -mcpu (\"cortex-a57\")",
                           &B::cpu),
          optional_text<B>(
              "gpu_architecture", here,
              "compute capability of the GPU that device kernels are compiled for, without the point (\"62\" for 6.2)",
              &B::gpu_architecture)};
}

std::vector<Key<BootFacts>> boot_keys() {
  using B = BootFacts;
  return {
      key<B>("isolated_cores", set_of(integer<unsigned>(0, last_core)), "none: no core is isolated",
             "cores that execute only the threads pinned to them. They determine isolcpus, nohz_full, rcu_nocbs and "
             "irqaffinity in the kernel's command line (`rtexec config --command-line BOARD`)",
             &B::isolated_cores),
      optional_text<B>("command_line", "none", "further parameters of the kernel's command line", &B::command_line)};
}

std::vector<Key<CoreKind>> core_kind_keys() {
  using C = CoreKind;
  const auto identification = integer<std::uint32_t>(0, UINT16_MAX);
  return {key<C>("name", text(), required, "common name of the cores of this kind", &C::name),
          key<C>("implementer", identification, required,
                 "code of the cores' designer: \"CPU implementer\" in /proc/cpuinfo", &C::implementer),
          key<C>("part", identification, required, "code of the cores' model: \"CPU part\" in /proc/cpuinfo", &C::part),
          key<C>("cores", set_of(integer<unsigned>(0, last_core)), required,
                 "numbers of the cores of this kind in one cluster", &C::cores),
          key<C>("cluster", integer<unsigned>(0, last_core), required,
                 "number of the cluster that contains these cores", &C::cluster)};
}

/// Makes a key whose value is a list of alternative paths of a file.
template <class S>
Key<S> paths(std::string_view name, std::string_view fallback, std::string_view meaning, BoardPaths S::*member) {
  Type<BoardPaths> type = set_of(board_path());
  type.write = list_of(board_path()).write;
  return key<S>(
      name, type, fallback, std::string(meaning) + "; the first file that exists is used",
      [=](const S& source) { return (source.*member).empty() ? std::nullopt : std::optional(source.*member); },
      [=](S& target, const BoardPaths& value) { target.*member = value; });
}

std::vector<Key<ClockFacts>> clock_keys() {
  using C = ClockFacts;
  constexpr std::string_view none = "none: the clock has no such file";
  return {
      key<C>("name", text(), required,
             "name of the clock; no other clock may have it. If it contains #, it describes one clock for each number "
             "that # matches in the paths of its files",
             &C::name),
      key<C>("kind", one_of<ClockKind>(), required, "part of the board that the clock drives", &C::kind),
      paths<C>("rate", required, "file with the clock's current rate in Hz", &C::rate),
      paths<C>(
          "lowest", none,
          "file with the lowest permitted rate; to lock the clock, rtexec writes the highest permitted rate into it",
          &C::lowest),
      paths<C>("highest", none, "file with the highest permitted rate", &C::highest),
      paths<C>("set", none, "for a clock that is locked by two writes: file into which the rate is written first",
               &C::set),
      paths<C>("lock", none,
               "for a clock that is locked by two writes: file into which 1 is then written, which keeps the rate",
               &C::lock),
      paths<C>("possible", none, "file with the rates that the hardware supports; only the highest one is used",
               &C::possible),
      paths<C>("cap", none,
               "file with the upper limit of the rate that is written to set; if it contains 0, there is no limit",
               &C::cap)};
}

std::vector<Key<SensorFacts>> sensor_keys() {
  using S = SensorFacts;
  return {
      key<S>("name", text(), required,
             "name of the sensor; no other sensor may have it. If it contains #, it describes one sensor for each "
             "number that # matches in the paths of its files",
             &S::name),
      key<S>("kind", one_of<SensorKind>(), required,
             "quantity that the sensor measures, with its unit: temperature (thousandths of a degree Celsius), power "
             "(microwatts), load (of the GPU, per mille), memory-activity (in the kernel's own unit), over-current "
             "(number of events since the start of the board)",
             &S::kind),
      paths<S>("value", required, "file with the sensor's current value", &S::value),
      paths<S>("limit", "not known", "file with the value at which the machine begins to throttle itself", &S::limit)};
}

std::vector<Key<SwapCost>> cost_keys() {
  std::vector<Key<SwapCost>> keys = swap_cost_keys<SwapCost>(required);
  keys.insert(
      keys.begin(),
      {key<SwapCost>("store", one_of<StoreKind>(),
                     "store for which these costs were measured: pinned: page-locked host memory; pageable: host "
                     "memory that is not page-locked; file: a file",
                     &SwapCost::store),
       key<SwapCost>(
           "chunk", pages(), required,
           "chunk size for which these costs were measured. Each pair of store and chunk may have one [[swap_cost]]",
           &SwapCost::chunk)});
  keys.push_back(key<SwapCost>("residual", duration(0ns, longest_swap_cost),
                               "largest time by which a measured operation exceeded the fitted costs, before these "
                               "were multiplied by the margin",
                               &SwapCost::residual));
  return keys;
}

std::vector<Key<MemoryFacts>> memory_keys() {
  using M = MemoryFacts;
  return {key<M>("core_bandwidth", bandwidth(Bandwidth{0}), "not known",
                 "memory bandwidth that the fastest core reaches alone", &M::core_bandwidth),
          key<M>("saturation", bandwidth(Bandwidth{0}), "not known", "memory bandwidth that all cores reach together",
                 &M::saturation)};
}

std::vector<Key<MemoryCosts>> memory_cost_keys() {
  using M = MemoryCosts;
  constexpr double max_nanos = 1e6, max_percent = 1e6;
  const auto per_byte = [&](std::string_view name, std::string_view meaning, double M::*member) {
    Type<double> type = real(0, max_nanos);
    type.unit = "ns per byte";
    return key<M>(name, type, meaning, member);
  };
  const auto per_access = [&](std::string_view name, std::string_view meaning, double M::*member) {
    Type<double> type = real(0, max_nanos);
    type.unit = "ns per access";
    return key<M>(name, type, meaning, member);
  };
  const auto percent = [&](std::string_view name, std::string_view meaning, double M::*member) {
    Type<double> type = real(0, max_percent);
    type.unit = "%";
    return key<M>(name, type, meaning, member);
  };
  const auto once = duration(0ns, longest_overhead);
  return {
      key<M>("copy_start", once, "policy D: fixed time of each copy", &M::copy_start),
      per_byte("copied_in", "policy D: time to copy one byte to device memory", &M::copied_in),
      per_byte("copied_out", "policy D: time to copy one byte back to host memory", &M::copied_out),
      per_byte("host_touched",
               "policy D: additional time for each byte of host memory that is accessed for the first time by a copy",
               &M::host_touched),
      per_byte("mapped",
               "policies M and H on a board with unified_memory: time per byte to make pages accessible to the device",
               &M::mapped),
      key<M>("host_flush", once,
             "policy M on a board with unified_memory: time to flush the CPU's caches before a kernel launch that "
             "accesses data written by the CPU",
             &M::host_flush),
      key<M>("device_flush", once,
             "policy M on a board with unified_memory: maximum time to flush the device's cache after a kernel launch",
             &M::device_flush),
      per_byte("written_back",
               "policy M on a board with unified_memory: time for each byte that a kernel launch has written, which is "
               "flushed after it; at most device_flush for each launch",
               &M::written_back),
      per_access("memory_access", "policy H on a board with unified_memory: time of an access that no cache serves",
                 &M::memory_access),
      per_access("cache_access",
                 "policy H on a board with unified_memory: time of an access that the device's cache serves",
                 &M::cache_access),
      per_byte("faulted",
               "policy M on a board without unified_memory: time for each byte of pages that migrate because of a page "
               "fault",
               &M::faulted),
      key<M>("prefetch_start", once, "policy M on a board without unified_memory: fixed time of each prefetch",
             &M::prefetch_start),
      per_byte("prefetched",
               "policy M on a board without unified_memory: time for each byte that a prefetch moves to the device",
               &M::prefetched),
      per_byte("returned",
               "policy M on a board without unified_memory: time for each byte that a prefetch moves back to the host",
               &M::returned),
      key<M>("linked_start", once, "policy H on a board without unified_memory: fixed time of each kernel launch",
             &M::linked_start),
      per_byte(
          "linked",
          "policy H on a board without unified_memory: time for each byte of host memory that kernel launches access",
          &M::linked),
      per_access("linked_access",
                 "policy H on a board without unified_memory: time of each access that the device's cache would serve "
                 "under policy D",
                 &M::linked_access),
      percent("mean_error",
              "mean error of the times that these costs predict, for tasks that were not used to derive the costs",
              &M::mean_error),
      percent("worst_error",
              "worst error of the times that these costs predict, for tasks that were not used to derive the costs",
              &M::worst_error),
  };
}

std::vector<Key<CounterFacts>> counter_keys() {
  using C = CounterFacts;
  return {key<C>("event", text(), required,
                 "event that counts memory reads: page-faults, cycles, cache-misses, r17 (a raw event number, "
                 "hexadecimal), pmu_name/0x2a4, or pmu_name/event=0x17,unit=1 (an event of the PMU pmu_name)",
                 &C::event),
          optional_text<C>("write_event", "none: no separate event counts writes",
                           "event that counts memory writes, written like event", &C::write_event),
          key<C>("line", bytes(), "memory traffic that one event stands for", &C::line),
          key<C>("cores", set_of(integer<unsigned>(0, last_core)), "all cores that no other [[counter]] lists",
                 "cores whose traffic this counter counts", &C::cores),
          key<C>("cluster", boolean(),
                 "true: one counter counts for all of its cores together, so that they share one bandwidth budget",
                 &C::cluster),
          key<C>("opened_on", integer<unsigned>(0, last_core),
                 "the core in the driver's file cpumask, or the counted core if there is no such file",
                 "core on which the counter must be opened; opened on another core, it counts nothing", &C::opened_on)};
}

Section<Board> swap_cost_section() {
  return list<Board>("swap_cost", &Board::swap_costs, unnamed, cost_keys(), as_read);
}

const Schema<Board>& board_schema() {
  static const Schema<Board> instance = schema<Board>(
      {table<Board>("", std::identity{}, keys()), table<Board>("identity", &Board::identity, identity_keys()),
       table<Board>("build", &Board::build, build_keys()), table<Board>("boot", &Board::boot, boot_keys()),
       list<Board>("core_kind", &Board::core_kinds, unnamed, core_kind_keys(), as_read),
       list<Board>("clock", &Board::clocks, &ClockFacts::name, clock_keys(), as_read),
       list<Board>("sensor", &Board::sensors, &SensorFacts::name, sensor_keys(), as_read),
       table<Board>("memory", &Board::memory, memory_keys()),
       table<Board>("memory_costs", &Board::memory_costs, memory_cost_keys()),
       list<Board>("counter", &Board::counters, unnamed, counter_keys(), as_read), swap_cost_section()});
  return instance;
}

/// Checks the files for locking a clock. A clock is locked either by `lowest` and `highest`, or by `set` and `lock`;
/// each method needs both of its files.
void check_clock(const ClockFacts& clock, const Rules& rules) {
  if (clock.lowest.empty() != clock.highest.empty())
    rules.broken({"lowest", "highest"}, "lowest and highest: one is missing; give both or neither");
  if (clock.set.empty() != clock.lock.empty())
    rules.broken({"set", "lock"}, "set and lock: one is missing; give both or neither");
  if (!clock.set.empty() && !clock.lowest.empty())
    rules.broken({"set", "lowest"}, "set and lowest: both are given; a clock must have only one way to lock it");
  if (!clock.set.empty() && clock.possible.empty())
    rules.broken({"set", "possible"}, "set: needs possible too, the rates that may be written");
  if (!clock.cap.empty() && clock.set.empty()) rules.broken({"cap", "set"}, "cap: of a clock with set only");
}

void check_hardware(const Board& board, Report& report) {
  const auto quoted_text = [](const std::string& text) { return toml_string(text); };
  check_unique<std::string>("clock", "name", board.clocks, &ClockFacts::name, quoted_text, report);
  check_unique<std::string>("sensor", "name", board.sensors, &SensorFacts::name, quoted_text, report);
  for (std::size_t i = 0; i < board.clocks.size(); ++i) check_clock(board.clocks[i], Rules(report, "clock", i));
  std::map<unsigned, std::size_t> kind_of;
  for (std::size_t i = 0; i < board.core_kinds.size(); ++i)
    for (const unsigned core : board.core_kinds[i].cores)
      if (!kind_of.try_emplace(core, i).second)
        Rules(report, "core_kind", i)
            .broken({"cores"}, "cores: " + std::to_string(core) + " is of core_kind " +
                                   std::to_string(kind_of[core] + 1) + " already");
}

/// Checks that at least one core is not isolated at boot, so that it remains for interrupts and the system.
void check_boot(const Board& board, Report& report) {
  const Rules rules(report, "boot");
  std::set<unsigned> left;
  for (const CoreKind& kind : board.core_kinds) left.insert(kind.cores.begin(), kind.cores.end());
  for (const unsigned core : board.boot.isolated_cores)
    if (left.erase(core) == 0)
      return rules.broken({"isolated_cores"}, "isolated_cores: " + std::to_string(core) + " belongs to no core_kind");
  if (left.empty() && !board.boot.isolated_cores.empty())
    rules.broken({"isolated_cores"},
                 "isolated_cores: lists all cores of the board; at least one must remain for the system");
}

void check_rules(const Board& board, Report& report) {
  check_hardware(board, report);
  check_boot(board, report);
  const Rules rules(report);
  if (board.memory_is_of_host() && board.capacity == Bytes{0})
    rules.broken({"device", "capacity"}, "capacity: a host device needs one: its maximum memory, in whole chunks");
  if (board.device == DeviceKind::host && board.ordinal > 0)
    broken(rules, {"ordinal", "device"}, board.ordinal, "only with device = \"cuda\"");
  using StoreAndChunk = std::pair<StoreKind, Bytes>;
  check_unique<StoreAndChunk>(
      "swap_cost", "chunk", board.swap_costs,
      [](const SwapCost& cost) {
        return StoreAndChunk{cost.store, cost.chunk};
      },
      [](const StoreAndChunk& cost) { return literal(cost.second); }, report);
  for (std::size_t i = 0; i < board.counters.size(); ++i)
    if (board.counters[i].cluster && board.counters[i].cores.empty())
      Rules(report, "counter", i)
          .broken({"cluster", "cores"}, "cluster = true: needs cores too: those that share the counter");
  if (rules.is_bad("chunk")) return; // the chunk may be 0
  if (const std::string problem = problem_of_multiple(board.capacity, board.chunk); !problem.empty())
    broken(rules, {"capacity", "chunk"}, board.capacity, problem);
}

Result<Board> read_board_file(const std::filesystem::path& file) {
  return read_toml(file, Content::board, parse_board);
}

std::string not_found(std::string_view name, std::span<const BuiltinBoard> builtin) {
  std::vector<std::string_view> names;
  for (const BuiltinBoard& board : builtin) names.push_back(board.name);
  std::string message = "board " + shortened(toml_string(name)) + ": no board has this name";
  if (const auto near = nearest(name, names)) message += "; did you mean '" + std::string(*near) + "'?";
  return message + (names.empty() ? "" : "; known: " + alternatives(names)) +
         "; name your own file by its path (\"./board.toml\")";
}

} // namespace

bool config::is_board_path(std::string_view name_or_path) {
  return name_or_path.contains('/') || name_or_path.ends_with(".toml");
}

CounterFacts counter_of(unsigned core, const Board& board, std::string_view event) {
  constexpr Bytes page_of_memory{4096};
  CounterFacts facts{.event = "cache-misses", .write_event = {}, .cores = {}};
  for (const CounterFacts& counter : board.counters)
    if (counter.cores.empty()) facts = counter;
  for (const CounterFacts& counter : board.counters)
    if (std::ranges::find(counter.cores, core) != counter.cores.end()) facts = counter;
  if (!event.empty())
    facts = {.event = std::string(event),
             .write_event = {},
             .line = facts.line,
             .cores = {},
             .opened_on = event.contains('/') ? facts.opened_on : std::nullopt};
  if (facts.event == "page-faults") facts.line = page_of_memory;
  return facts;
}

Result<Board> parse_board(std::string_view toml, const std::filesystem::path& file) {
  auto board = parse(board_schema(), toml, file, [](Board& read, Report& report) {
    read.warnings = report.warnings();
    check_rules(read, report);
  });
  if (board) board->memory_costs.unified = board->unified_memory || board->memory_is_of_host();
  return board;
}

Result<Board> config::read_board(std::string_view name_or_path, std::span<const BuiltinBoard> builtin) {
  if (is_board_path(name_or_path)) return read_board_file(name_or_path);
  const auto board = std::ranges::find(builtin, name_or_path, &BuiltinBoard::name);
  if (board == builtin.end()) return fail(Errc::bad_input, not_found(name_or_path, builtin));
  return parse_board(board->toml, std::string(board->name) + ".toml");
}

Result<Board> read_board(std::string_view name_or_path) {
  return config::read_board(name_or_path, config::builtin_boards());
}

std::vector<std::string> board_names() {
  std::vector<std::string> names;
  for (const config::BuiltinBoard& board : config::builtin_boards()) names.emplace_back(board.name);
  std::ranges::sort(names);
  return names;
}

std::string config::swap_cost_tables(std::span<const SwapCost> costs) {
  Board board;
  board.swap_costs.assign(costs.begin(), costs.end());
  return swap_cost_section().write(board);
}

std::span<const KeyDoc> config::board_keys() { return board_schema().docs; }

} // namespace rtexec
