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
      key<B>("name", identifier(), required, "the board's name in task sets", &B::name),
      key<B>("description", text(), "a description in one line", &B::description),
      key<B>("device", one_of<DeviceKind>(), "the back end that drives its device", &B::device),
      key<B>("ordinal", integer<unsigned>(0, last_ordinal), "cuda: which of the machine's GPUs", &B::ordinal),
      key<B>("capacity", pages(), "required for host; cuda: what the device has", "device memory, in whole chunks",
             &B::capacity),
      key<B>("chunk", pages(), required, "unit of physical device memory if a task set has chunk = auto", &B::chunk),
      key<B>("copy_engines", integer<unsigned>(1, max_copy_engines), "2: copies in and out overlap", &B::copy_engines),
      key<B>("unified_memory", boolean(), "CPU and device share one memory: task sets swap to a file by default",
             &B::unified_memory),
      key<B>("memory_policies", set_of(one_of(memories)), required, "the memory policies that the device supports",
             &B::memory_policies),
      key<B>("compute_core", integer<unsigned>(0, last_core), "the last online core", "of the compute engine's thread",
             &B::compute_core),
      key<B>("service_core", integer<unsigned>(0, last_core), "the last but one of four or more cores, else the first",
             "of the scheduler and the copy engines", &B::service_core),
      key<B>("context_switch", overhead, required, "charged by admission: one switch between threads on a core",
             &B::context_switch),
      key<B>("dispatch", overhead, required,
             "charged by admission: job requested to device start, and device done to thread ready, each",
             &B::dispatch),
      key<B>("cut", overhead, "as dispatch",
             "charged by admission: between two segments of a job, the second of which was launched ahead", &B::cut),
      key<B>("release_latency", overhead, required, "charged by admission: timer to thread running",
             &B::release_latency),
      renamed("hold_up",
              key<B>("platform_stall", overhead,
                     "charged by admission to each bound: longest platform stall beyond these costs, by a hypervisor "
                     "or firmware",
                     &B::platform_stall)),
  };
}

std::vector<Key<BoardIdentity>> identity_keys() {
  using I = BoardIdentity;
  return {key<I>("compatible", set_of(text()), "not identified",
                 "values of `compatible` in the device tree; a machine that has one of them is this board",
                 &I::compatible)};
}

std::vector<Key<BuildFacts>> build_keys() {
  using B = BuildFacts;
  constexpr std::string_view here = "the machine that compiles";
  return {optional_text<B>("machine", here, "that programs are compiled for, as uname names it", &B::machine),
          optional_text<B>("cpu", here, "that compilers are to compile for (-mcpu)", &B::cpu),
          optional_text<B>("gpu_architecture", here, "that device kernels are compiled for, without its point",
                           &B::gpu_architecture)};
}

std::vector<Key<BootFacts>> boot_keys() {
  using B = BootFacts;
  return {
      key<B>("isolated_cores", set_of(integer<unsigned>(0, last_core)), "none is isolated",
             "cores that execute only the threads pinned to them: determines isolcpus, nohz_full, rcu_nocbs and "
             "irqaffinity of the kernel's command line",
             &B::isolated_cores),
      optional_text<B>("command_line", "no more words", "more words of the kernel's command line", &B::command_line)};
}

std::vector<Key<CoreKind>> core_kind_keys() {
  using C = CoreKind;
  const auto identification = integer<std::uint32_t>(0, UINT16_MAX);
  return {key<C>("name", text(), required, "common name of these cores", &C::name),
          key<C>("implementer", identification, required, "as in /proc/cpuinfo (\"CPU implementer\")", &C::implementer),
          key<C>("part", identification, required, "as in /proc/cpuinfo (\"CPU part\")", &C::part),
          key<C>("cores", set_of(integer<unsigned>(0, last_core)), required, "that are of this kind, in one cluster",
                 &C::cores),
          key<C>("cluster", integer<unsigned>(0, last_core), required, "that they are in", &C::cluster)};
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
  constexpr std::string_view none = "it has none";
  return {key<C>("name", text(), required,
                 "unique; with # in it, one clock for each number that # in its files matches", &C::name),
          key<C>("kind", one_of<ClockKind>(), required, "what it drives", &C::kind),
          paths<C>("rate", required, "at which it runs now, in Hz", &C::rate),
          paths<C>("lowest", none, "at which it may run; locking raises it to the highest", &C::lowest),
          paths<C>("highest", none, "at which it may run", &C::highest),
          paths<C>("set", none, "of a clock that is locked by a rate and a lock: takes the rate", &C::set),
          paths<C>("lock", none, "of the same: takes 1, and the rate stays", &C::lock),
          paths<C>("possible", none, "rates that the hardware has, of which the greatest counts", &C::possible),
          paths<C>("cap", none, "upper limit of the value written to set; 0: no limit", &C::cap)};
}

std::vector<Key<SensorFacts>> sensor_keys() {
  using S = SensorFacts;
  return {key<S>("name", text(), required,
                 "unique; with # in it, one sensor for each number that # in its files matches", &S::name),
          key<S>("kind", one_of<SensorKind>(), required,
                 "the quantity and its unit: temperature (thousandths of a degree Celsius), power (microwatts), load "
                 "of the GPU (per mille), memory activity (as the kernel counts it), over-current (events)",
                 &S::kind),
          paths<S>("value", required, "the current value", &S::value),
          paths<S>("limit", "not known", "the value at which the machine throttles itself", &S::limit)};
}

std::vector<Key<SwapCost>> cost_keys() {
  std::vector<Key<SwapCost>> keys = swap_cost_keys<SwapCost>(required);
  keys.insert(keys.begin(),
              {key<SwapCost>("store", one_of<StoreKind>(),
                             "where chunks were copied to: page-locked host memory, other host memory, a file",
                             &SwapCost::store),
               key<SwapCost>("chunk", pages(), required,
                             "the chunk size that these costs are of; unique for each store", &SwapCost::chunk)});
  keys.push_back(key<SwapCost>("residual", duration(0ns, longest_swap_cost),
                               "maximum by which a measured operation exceeded the fit, before the margin",
                               &SwapCost::residual));
  return keys;
}

std::vector<Key<MemoryFacts>> memory_keys() {
  using M = MemoryFacts;
  return {key<M>("core_bandwidth", bandwidth(Bandwidth{0}), "not known",
                 "that one core reaches alone, the fastest of them", &M::core_bandwidth),
          key<M>("saturation", bandwidth(Bandwidth{0}), "not known", "that all cores reach together", &M::saturation)};
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
      key<M>("copy_start", once, "D: of each copy", &M::copy_start),
      per_byte("copied_in", "D: copies to the device", &M::copied_in),
      per_byte("copied_out", "D: copies from the device", &M::copied_out),
      per_byte("host_touched", "D: host memory that a copy is the first to touch", &M::host_touched),
      per_byte("mapped", "M and H, one memory: pages made accessible to the device", &M::mapped),
      key<M>("host_flush", once, "M, one memory: of the CPU's caches, before a launch that touches what the CPU wrote",
             &M::host_flush),
      key<M>("device_flush", once, "M, one memory: of the device's cache, behind each launch, at most",
             &M::device_flush),
      per_byte("written_back", "M, one memory: what a launch wrote, behind it", &M::written_back),
      per_access("memory_access", "H, one memory: an access that no cache answers", &M::memory_access),
      per_access("cache_access", "H, one memory: the same, answered by the device's cache", &M::cache_access),
      per_byte("faulted", "M, behind a link: pages that move because they are touched", &M::faulted),
      key<M>("prefetch_start", once, "M, behind a link: of each prefetch", &M::prefetch_start),
      per_byte("prefetched", "M, behind a link: pages that a prefetch moves to the device", &M::prefetched),
      per_byte("returned", "M, behind a link: pages that a prefetch moves back to the host", &M::returned),
      key<M>("linked_start", once, "H, behind a link: of each launch", &M::linked_start),
      per_byte("linked", "H, behind a link: what launches touch", &M::linked),
      per_access("linked_access", "H, behind a link: an access that under D the device's cache answers",
                 &M::linked_access),
      percent("mean_error", "by how much estimates of tasks that were not fitted were wrong, on average",
              &M::mean_error),
      percent("worst_error", "the same, of the worst", &M::worst_error),
  };
}

std::vector<Key<CounterFacts>> counter_keys() {
  using C = CounterFacts;
  return {
      key<C>("event", text(), required,
             "event that counts reads: page-faults, cycles, cache-misses, r17 (raw, hexadecimal), pmu_name/0x2a4, or "
             "pmu_name/event=0x17,unit=1",
             &C::event),
      optional_text<C>("write_event", "writes are not counted apart", "of writes", &C::write_event),
      key<C>("line", bytes(), "that each event moves", &C::line),
      key<C>("cores", set_of(integer<unsigned>(0, last_core)), "all cores that no other counter names",
             "that it counts", &C::cores),
      key<C>("cluster", boolean(), "one counter for all of its cores, which then share one budget", &C::cluster),
      key<C>("opened_on", integer<unsigned>(0, last_core), "as the driver says, or the core that is counted",
             "the core on which the driver must be opened: events opened on other cores count nothing", &C::opened_on)};
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

/// Checks the files for locking a clock. There are two ways to lock it, and each of them needs two files.
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

/// Checks that some cores are not isolated at boot, and so remain for interrupts and the system.
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
  if (rules.is_bad("chunk")) return; // it might be 0
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
