#include "traces/reading/setup_decoder.hpp"

#include "config/names.hpp"

#include <chrono>

namespace rtexec::traces {
namespace {

/// Maximum accepted numbers, because a damaged trace may contain any number.
constexpr std::uint32_t max_tasks = 4096, max_chains = 4096, max_layers = 65'536, max_buffers = 256, max_tiles = 256,
                        max_clients = 65'536;
constexpr Instant latest = Instant(std::chrono::hours(24 * 365 * 50));
constexpr Duration longest = std::chrono::hours(1);

/// True if the interval is plausible. Implausible intervals come from a damaged recording, and their sums could
/// overflow.
bool sane(const TimeInterval& interval) {
  return Instant() <= interval.begin && interval.begin <= interval.end && interval.end <= latest &&
         interval.end - interval.begin <= longest;
}
bool behind(const TimeInterval& one, const TimeInterval& other) { return one.begin >= other.end; }
bool follows(const TileSetup& tile, const std::vector<TileSetup>& tiles) {
  return tiles.empty() || (behind(tile.prefetched, tiles.back().prefetched) && behind(tile.made, tiles.back().made));
}

} // namespace

TaskSetup* SetupDecoder::task(std::uint32_t index) {
  if (index >= max_tasks) return nullptr;
  if (index >= setup_.tasks.size()) setup_.tasks.resize(index + 1);
  return &setup_.tasks[index];
}

void SetupDecoder::take(const event::run_begin& event) {
  setup_.version = event.version;
  setup_.machine = event.machine;
  setup_.simulated = event.simulated;
  if (setup_.simulated) setup_.device = "simulation";
  setup_.start = event.start;
}

void SetupDecoder::take(const event::task_set& event) { setup_.task_set = event.file; }

void SetupDecoder::take(const event::plan& event) {
  setup_.proved = event.proved;
  setup_.order = event.order;
  setup_.demand = event.demand_bytes;
  setup_.capacity = event.capacity_bytes;
  setup_.chunk = event.chunk_bytes;
}

void SetupDecoder::take(const event::admission_test& event) {
  setup_.tests.push_back({.name = event.name,
                          .proved = event.proved,
                          .baseline = event.baseline,
                          .left = event.left,
                          .right = event.right,
                          .slack = event.slack,
                          .limiting_task = event.limiting_task});
}

void SetupDecoder::take(const event::task_info& event) {
  TaskSetup* task = this->task(event.task);
  if (!task) return;
  task->name = event.name;
  task->criticality = event.criticality;
  task->promised = event.promised;
  task->period = event.period;
  task->deadline = event.deadline;
  task->offset = event.offset;
  task->core = event.core;
  task->core_rank = event.core_rank;
  task->device_rank = event.device_rank;
  task->wcet = {.before = event.wcet_before, .device = event.wcet_device, .after = event.wcet_after};
  task->ready_by = event.ready_by;
  task->device_done_by = event.device_done_by;
  task->response_bound = event.response_bound;
  task->swap_slots = event.swap_slots;
  task->resident_slots = event.resident_slots;
}

void SetupDecoder::take(const event::task_memory& event) {
  TaskSetup* task = this->task(event.task);
  if (!task) return;
  task->memory_policy = event.policy;
  task->constant = event.constant_bytes;
  task->scratch = event.scratch_bytes;
  task->state = event.state_bytes;
  task->fixed = event.fixed_bytes;
  task->swap_volume = event.swap_volume_bytes;
}

void SetupDecoder::take(const event::task_co_run& event) {
  if (TaskSetup* task = this->task(event.task)) task->co_run = CoRun{.wcet = event.wcet, .idle = event.idle};
}

void SetupDecoder::take(const event::task_segments& event) {
  TaskSetup* task = this->task(event.task);
  if (!task) return;
  task->device_class = event.device_class;
  task->segments = event.segments;
  task->longest_segment = event.longest;
  setup_.launch_ahead = event.launch_ahead;
}

void SetupDecoder::take(const event::task_stream& event) {
  TaskSetup* task = this->task(event.task);
  if (!task) return;
  if (!task->stream) task->stream.emplace();
  task->stream->ring = event.ring;
  task->stream->reads.push_back({event.begin, event.end});
}

void SetupDecoder::take(const event::task_workload& event) {
  if (TaskSetup* task = this->task(event.task)) task->workload = event.workload;
}

void SetupDecoder::take(const event::task_tuning& event) {
  if (TaskSetup* task = this->task(event.task)) task->tuning.emplace_back(event.line);
}

void SetupDecoder::take(const event::chain_info& event) {
  if (event.chain >= max_chains) return;
  if (event.chain >= setup_.chains.size()) setup_.chains.resize(event.chain + 1);
  ChainSetup& chain = setup_.chains[event.chain];
  chain.name = event.name;
  chain.communicate = event.communicate;
  chain.triggered = event.triggered;
  chain.kept = event.kept;
  chain.reaction = event.reaction;
  chain.age = event.age;
  chain.reduced_age = event.reduced_age;
  chain.max_reaction = event.max_reaction;
  chain.max_age = event.max_age;
  chain.from_sampling = event.from_sampling;
}

/// Adds a task to its chain. The events of a chain's tasks follow the event of the chain, in the order of the data
/// flow.
void SetupDecoder::take(const event::chain_task& event) {
  if (event.chain >= setup_.chains.size()) return;
  auto& places = setup_.chains[event.chain].places;
  if (event.task < max_tasks && places.size() < max_tasks) places.push_back({event.task, event.waits, event.takes});
}

void SetupDecoder::take(const event::layer_info& event) {
  TaskSetup* task = this->task(event.task);
  if (!task || event.layer >= max_layers) return;
  if (event.layer >= task->layers.size()) task->layers.resize(event.layer + 1);
  task->layers[event.layer] = event.name;
}

void SetupDecoder::take(const event::task_load& event) {
  const TimeInterval interval{event.begin, event.end};
  if (TaskSetup* task = this->task(event.task); task && sane(interval)) task->loaded = interval;
}

ContentsSetup* SetupDecoder::contents(std::uint32_t task, std::uint32_t buffer) {
  TaskSetup* of = this->task(task);
  if (!of || buffer >= max_buffers) return nullptr;
  if (buffer >= of->contents.size()) of->contents.resize(buffer + 1);
  return &of->contents[buffer];
}

void SetupDecoder::take(const event::first_contents& event) {
  const TimeInterval interval{event.begin, event.end};
  ContentsSetup* contents = sane(interval) ? this->contents(event.task, event.buffer) : nullptr;
  if (!contents) return;
  contents->size = event.bytes;
  contents->made = interval;
  contents->on_host = event.tiles == 0;
}

/// Adds a tile to its buffer. The events of a buffer's tiles follow the event of the buffer, in the order of the tiles.
void SetupDecoder::take(const event::first_contents_tile& event) {
  const TileSetup tile{event.bytes, {event.prefetch_begin, event.prefetch_end}, {event.make_begin, event.make_end}};
  ContentsSetup* contents =
      sane(tile.prefetched) && sane(tile.made) ? this->contents(event.task, event.buffer) : nullptr;
  if (contents && contents->tiles.size() < max_tiles && follows(tile, contents->tiles)) contents->tiles.push_back(tile);
}

void SetupDecoder::take(const event::degraded& event) { setup_.degraded.emplace_back(event.what); }

void SetupDecoder::take(const event::probe& event) {
  setup_.probes.push_back({.service = event.service, .found = event.found});
}

void SetupDecoder::take(const event::device_memory& event) { setup_.device = event.name; }

void SetupDecoder::take(const event::swap_plan& event) {
  setup_.swap = SwapSetup{.policy = event.policy,
                          .frames = event.frames,
                          .copy_engines = event.copy_engines,
                          .chunk = event.chunk_bytes,
                          .store = event.store};
}

void SetupDecoder::take(const event::client_change& event) {
  if (setup_.clients.size() < max_clients)
    setup_.clients.push_back({event.task, event.place, event.process, event.name, event.what, event.at});
}

void SetupDecoder::take(const event::regulated_core& event) { setup_.regulated_cores.insert(event.core); }

} // namespace rtexec::traces
