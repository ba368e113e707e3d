// The keys of a board file, and where board files are found.
#include <rtexec/board.hpp>

#include "config/builtin_boards.hpp"
#include "config/file_kinds.hpp"
#include "config/schema.hpp"

#include <algorithm>
#include <functional>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using namespace config;

constexpr Duration longest_overhead = 1s;
constexpr unsigned most_copy_engines = 2; // one for each direction
constexpr unsigned last_ordinal = 63;

std::vector<Key<Board>> keys() {
  using B = Board;
  const auto memories = spellings<MemoryPolicy>().subspan(1, 3); // a board has memories: neither "auto" nor "D/H"
  const auto overhead = duration(0ns, longest_overhead);
  return {
      key<B>("name", identifier(), required, "as task sets call it", &B::name),
      key<B>("description", text(), "what it is, in one line", &B::description),
      key<B>("device", one_of<DeviceKind>(), "the back end that drives its device", &B::device),
      key<B>("ordinal", integer<unsigned>(0, last_ordinal), "cuda: which of the machine's GPUs", &B::ordinal),
      key<B>("capacity", pages(), "required for host; cuda: what the device has", "device memory, in whole chunks",
             &B::capacity),
      key<B>("chunk", pages(), required, "unit of physical device memory where a task set says auto", &B::chunk),
      key<B>("copy_engines", integer<unsigned>(1, most_copy_engines), "2: copies in and out overlap", &B::copy_engines),
      key<B>("unified_memory", boolean(),
             "CPU and device share one memory: task sets swap to a file where they do not say otherwise",
             &B::unified_memory),
      key<B>("memory_policies", set_of(one_of(memories)), required, "where tasks' device memory can live",
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
      key<B>("release_latency", overhead, required, "charged by admission: timer to thread running",
             &B::release_latency),
      key<B>("hold_up", overhead,
             "charged by admission to each bound: the machine stops beyond these, by a hypervisor or firmware",
             &B::hold_up),
  };
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
                               "the most by which a measured operation exceeded the fit, before the margin",
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
  constexpr double most_nanos = 1e6, most_percent = 1e6;
  const auto per_byte = [&](std::string_view name, std::string_view meaning, double M::*member) {
    Type<double> type = real(0, most_nanos);
    type.unit = "ns per byte";
    return key<M>(name, type, meaning, member);
  };
  const auto per_access = [&](std::string_view name, std::string_view meaning, double M::*member) {
    Type<double> type = real(0, most_nanos);
    type.unit = "ns per access";
    return key<M>(name, type, meaning, member);
  };
  const auto percent = [&](std::string_view name, std::string_view meaning, double M::*member) {
    Type<double> type = real(0, most_percent);
    type.unit = "%";
    return key<M>(name, type, meaning, member);
  };
  const auto once = duration(0ns, longest_overhead);
  return {
      key<M>("copy_start", once, "D: of each copy", &M::copy_start),
      per_byte("copied_in", "D: copies to the device", &M::copied_in),
      per_byte("copied_out", "D: copies from the device", &M::copied_out),
      per_byte("host_touched", "D: host memory that a copy is the first to touch", &M::host_touched),
      per_byte("mapped", "M and H, one memory: pages that the device is to see", &M::mapped),
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
  return {key<C>("event", text(), required,
                 "of reads: page-faults, cycles, cache-misses, r17 (raw, hexadecimal), or pmu_name/0x2a4", &C::event),
          optional_text<C>("write_event", "writes are not counted apart", "of writes", &C::write_event),
          key<C>("line", bytes(), "that each event moves", &C::line),
          key<C>("cores", set_of(integer<unsigned>(0, last_core)), "all that no other counter names", "that it counts",
                 &C::cores),
          key<C>("cluster", boolean(), "one counter for all of its cores, which then share one budget", &C::cluster)};
}

Section<Board> swap_cost_section() {
  return list<Board>("swap_cost", &Board::swap_costs, unnamed, cost_keys(), as_read);
}

const Schema<Board>& board_schema() {
  static const Schema<Board> instance =
      schema<Board>({table<Board>("", std::identity{}, keys()), table<Board>("memory", &Board::memory, memory_keys()),
                     table<Board>("memory_costs", &Board::memory_costs, memory_cost_keys()),
                     list<Board>("counter", &Board::counters, unnamed, counter_keys(), as_read), swap_cost_section()});
  return instance;
}

void check_rules(const Board& board, Report& report) {
  const Rules rules(report);
  if (board.device == DeviceKind::host && board.capacity == Bytes{0})
    rules.broken({"device", "capacity"},
                 "capacity: a host device needs one: how much memory it takes at most, in whole chunks");
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
          .broken({"cluster", "cores"}, "cluster = true: needs cores beside it: those that share the counter");
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
  std::string message = "board " + shortened(toml_string(name)) + ": there is no such board";
  if (const auto near = nearest(name, names)) message += "; did you mean '" + std::string(*near) + "'?";
  return message + (names.empty() ? "" : "; known: " + alternatives(names)) +
         "; a file of your own is named by its path (\"./board.toml\")";
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
  if (!event.empty()) facts = {.event = std::string(event), .write_event = {}, .line = facts.line, .cores = {}};
  if (facts.event == "page-faults") facts.line = page_of_memory;
  return facts;
}

Result<Board> parse_board(std::string_view toml, const std::filesystem::path& file) {
  auto board = parse(board_schema(), toml, file, check_rules);
  if (board) board->memory_costs.unified = board->unified_memory || board->device == DeviceKind::host;
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

std::string config::swap_cost_tables(std::span<const SwapCost> costs) {
  Board board;
  board.swap_costs.assign(costs.begin(), costs.end());
  return swap_cost_section().write(board);
}

std::span<const KeyDoc> config::board_keys() { return board_schema().docs; }

} // namespace rtexec
