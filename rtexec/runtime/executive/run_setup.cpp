#include "rtexec/runtime/executive/run.hpp"

#include "hal/board/board_findings.hpp"
#include "hal/resources.hpp"
#include "rtexec/runtime/executive/room_needs.hpp"
#include "policies/memory/plan_memory.hpp"
#include "traces/emit.hpp"

#include <algorithm>
#include <iterator>

namespace rtexec::executive {

namespace {

/// Returns the group of tasks that share their carry chunks (chunks whose contents survive between segments). The tasks
/// of one level form a group; the number of the group is PlannedTask::device_class. Sharing is safe because only one
/// job of a level can be between two segments. Returns nullopt for a top-class task (class 0). All jobs of the top
/// class can be between two segments at once, so each top-class task needs its own carry chunks.
std::optional<std::uint32_t> carry_group(const PlannedTask& task) {
  return task.device_class == 0 ? std::nullopt : std::optional(task.device_class);
}

} // namespace

std::vector<Requirement> Run::ask(Placement& placement) {
  std::vector<Requirement> needs;
  // If a partition cannot be removed, `rtexec probe` reports it.
  static_cast<void>(hal::Machine().clear_left_over_partition());
  // If clocks cannot be restored, `rtexec restore` reports them.
  static_cast<void>(hal::restore_clocks(hal::Machine()));
  needs.push_back(room_in_host_memory(set_, plan_, setup_));
  // Without enough room nothing more is allocated, because the kernel might kill the process.
  const bool has_room = !needs.back().refused;
  if (has_room) {
    const auto locked = hal::lock_memory();
    needs.push_back(locked ? given("locked memory", "allowed") : refused("locked memory", locked.error()));
  }
  if (auto quota = enough_processor_time(set_)) needs.push_back(std::move(*quota));
  needs.push_back(claims_.hold_idle_states());
  placement = place_threads(set_, plan_, hal::Machine());
  std::ranges::move(placement.needs, std::back_inserter(needs));
  const auto purpose = setup_.inquires ? hal::ClaimFor::inquiry : hal::ClaimFor::run;
  needs.push_back(claims_.take_cores(placement, purpose, setup_.exclusive));
  if (!needs.back().refused || set_.tasks.executive.allow_degraded)
    std::ranges::move(claims_.lock_clocks(placement), std::back_inserter(needs));
  for (auto& need : {right_board(set_), claims_.keep_cores_awake(placement), acquire_interference(placement),
                     acquire_budgets(placement), room_in_store(plan_, setup_)})
    if (need) needs.push_back(*need);
  if (!has_room) return needs;
  needs.push_back(acquire_device());
  if (const auto room = room_in_locked_memory(set_, plan_)) needs.push_back(*room);
  return needs;
}

std::vector<Requirement> Run::acquire_channels() {
  std::vector<Requirement> needs;
  for (std::size_t i = 0; i < set_.io.size(); ++i)
    for (auto& [name, outcome] : set_.io[i]->try_out()) {
      const std::string subject = "task '" + set_.tasks.tasks[i].name + "', " + name;
      needs.push_back(outcome ? given(subject, "can be used") : indispensable(refused(subject, outcome.error())));
    }
  return needs;
}

Result<> Run::take_machine(Placement& placement) {
  const std::vector<Requirement> needs = ask(placement);
  const bool allow_degraded = set_.tasks.executive.allow_degraded;
  if (const auto refusal = refusal_of(needs, allow_degraded); !refusal) return refusal;
  degraded_ = degradations(needs);
  return {};
}

std::optional<Requirement> Run::acquire_interference(const Placement& placement) {
  if (!setup_.interference || set_.tasks.regulated()) return std::nullopt;
  return claims_.start_interference(placement);
}

RegulatedRun Run::regulated(const Placement& placement) const {
  return {.serving = serving_cores(placement, set_.tasks.tasks),
          .claimed = cores_of_jobs(placement),
          .proved = plan_.proved};
}

/// Plans the bandwidth budgets of the task set. If the machine cannot count memory traffic, the requirement is refused,
/// and a run without regulation needs allow_degraded. If the budgets are impossible, the run is refused in any case.
/// Returns nullopt if the set has no budgets.
std::optional<Requirement> Run::acquire_budgets(const Placement& placement) {
  if (!set_.tasks.regulated()) return std::nullopt;
  auto budgets = BandwidthControl::plan(set_, regulated(placement));
  if (!budgets) {
    Requirement need = refused("memory bandwidth", budgets.error());
    need.indispensable = budgets.error().code == Errc::bad_input;
    need.instead = "no memory bandwidth budget is in force";
    return need;
  }
  budgets_ = std::move(*budgets);
  const std::size_t domains = budgets_->domains.size();
  return given("memory bandwidth",
               domains == 0 ? "no core is regulated" : std::to_string(domains) + " budgets can be enforced");
}

Requirement Run::acquire_device() {
  auto device = set_.open_device(plan_.capacity);
  if (!device) return indispensable(refused("device", device.error()));
  device_ = std::move(*device);
  if (!set_.measured_on || *set_.measured_on == device_->name())
    return given("device", device_->name() + ", " + readable(device_->capacity()));
  return indispensable(refused(
      "device", {Errc::refused, set_.tasks.executive.profile.string() + " was measured on device '" +
                                    *set_.measured_on + "', but this device is '" + device_->name() +
                                    "': its execution times and tuning are not valid here\nRun `rtexec profile " +
                                    set_.tasks.file.string() + "` on this machine."}));
}

Result<> Run::regulate(const Placement& placement) {
  if (!budgets_) return {};
  auto control = BandwidthControl::start(set_, regulated(placement), std::move(*budgets_));
  if (!control && !set_.tasks.executive.allow_degraded) return Unexpected(control.error());
  if (!control) {
    degraded_.push_back("no memory bandwidth budget is in force: " + control.error().what);
    return {};
  }
  bandwidth_ = std::move(*control);
  degraded_.insert(degraded_.end(), bandwidth_->degraded().begin(), bandwidth_->degraded().end());
  return {};
}

Result<> Run::fit_out_device(const Placement& placement) {
  std::vector<std::pair<hal::EngineKind, hal::ThreadSettings>> engines{{hal::EngineKind::compute, placement.compute},
                                                                       {hal::EngineKind::copy_in, placement.copy_in},
                                                                       {hal::EngineKind::copy_out, placement.copy_out}};
  if (placement.secondary_compute) {
    if (const auto started = device_->start_secondary_compute(); !started) return started;
    engines.emplace_back(hal::EngineKind::secondary_compute, *placement.secondary_compute);
  }
  for (const auto& [kind, settings] : engines) {
    hal::Engine& engine = device_->engine(kind);
    if (const auto configured = engine.configure(settings); !configured) return configured;
    const bool copies = kind == hal::EngineKind::copy_in || kind == hal::EngineKind::copy_out;
    const bool maps = copies && plan_.swap && device_->capabilities().mapping_faults;
    watched_.push_back(
        {.name = settings.name, .scheduling = scheduling_of(settings), .kernel_id = engine.kernel_id(), .maps = maps});
  }
  if (const auto prepared = prepare_engines(); !prepared) return prepared;
  if (setup_.trace_layers)
    for (const auto& run : runs_) run->trace_layers();
  if (traces::recording())
    for (const auto& run : runs_) run->trace_contents();
  if (setup_.layer_times != nullptr)
    for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i]->time_layers((*setup_.layer_times)[i]);
  if (setup_.shortest_waits != nullptr)
    for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i]->time_waits((*setup_.shortest_waits)[i]);
  return fill_device();
}

/// Starts watching clocks and stolen time. Reads the clocks once before the first job. Later, the thread of the status
/// page reads the clocks. The first reading makes the rates known even if no status page can be published.
void Run::watch_cores(const Placement& placement) {
  const unsigned compute_core = placement.compute.core.value_or(set_.compute_core);
  clocks_.watch(cores_of_jobs(placement), compute_core, *device_);
  const hal::Machine machine;
  clocks_.watch_board(hal::find_hardware(set_.board, machine), claims_.locked_clocks(), machine);
  clocks_.look();
  steal_.watch(cores_of_threads(placement), compute_core);
  for (std::size_t i = 0; i < runs_.size(); ++i)
    steal_.add(runs_[i]->statistics(), placement.release[i].core.value_or(plan_.tasks[i].core));
}

/// Prepares the engines' threads for tracing. Without this preparation, the first trace event of a thread would take a
/// lock.
Result<> Run::prepare_engines() {
  std::vector<hal::EngineKind> engines = compute_engines();
  engines.insert(engines.end(), {hal::EngineKind::copy_in, hal::EngineKind::copy_out});
  for (const auto kind : engines) {
    const auto prepared = device_->engine(kind).call([]() noexcept { return traces::prepare_thread(), Status(); });
    if (!prepared.outcome)
      return fail(prepared.outcome.error(), "an engine of device '" + device_->name() + "' accepts no work");
  }
  return {};
}

Result<std::unique_ptr<hal::BackingStore>> Run::open_store(hal::Device& device, std::size_t chunks) const {
  if (setup_.open_store) return setup_.open_store(device, chunks);
  if (!set_.store.empty()) return hal::open_file_store(device, chunks, set_.store);
  const bool pageable = plan_.swap && plan_.swap->store_kind() == StoreKind::pageable;
  return hal::open_host_store(device, chunks,
                              pageable ? hal::HostMemoryKind::pageable : hal::HostMemoryKind::page_locked);
}

/// Lays out the device memory with the initial contents, and binds each workload to its device addresses.
Result<> Run::fill_device() {
  std::vector<TaskMemory> task_memories;
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i)
    task_memories.push_back({.constants = set_.workloads[i]->constants(),
                             .arena = plan_.tasks[i].arena,
                             .swap_slots = plan_.tasks[i].swap_slots,
                             .scratch_at_end = plan_.tasks[i].scratch_at_end,
                             .reads = plan_.tasks[i].stream.value_or(Stream()).reads,
                             .carry_group = carry_group(plan_.tasks[i])});
  auto memory = DeviceMemory::lay_out(
      *device_, task_memories,
      {.frames = plan_.swap ? plan_.swap->frames : 0,
       .shared_scratch = plan_.shared_scratch,
       .scratch_chunks = plan_.scratch_chunks,
       .skip_unchanged = set_.tasks.swap.skip_unchanged,
       .verify = set_.tasks.swap.verify,
       .background_copy = background_copies(),
       .open_store = [this](hal::Device& device, std::size_t chunks) { return open_store(device, chunks); }});
  if (!memory) return Unexpected(memory.error());
  memory_ = std::move(*memory);
  place_links();
  if (plan_.swap) traces::swap_plan(*plan_.swap, memory_->store()->description().c_str());
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
    const Instant begin = hal::now();
    if (const auto bound =
            memory_->with_all_slots(i, [&] { return set_.workloads[i]->bind(*device_, memory_->addresses()[i]); });
        !bound)
      return fail(bound.error().code, "task '" + plan_.tasks[i].name + "': " + bound.error().what);
    traces::task_load(i, begin, hal::now());
  }
  return memory_->bring_in(scheduler_.state());
}

/// Assigns device addresses to the linked outputs, one after the other in the fixed memory of their producers.
void Run::place_links() {
  std::vector<std::byte*> free(memory_->fixed().begin(), memory_->fixed().end());
  for (const channels::DeviceLink& link : set_.links) {
    link.latest->use_memory(free[link.producer]);
    free[link.producer] += link.latest->total_size().count;
  }
}

Result<> Run::note_memory() {
  const auto use = device_->memory_use();
  if (!use) return Unexpected(use.error());
  device_report_ = DeviceReport{.name = device_->name(),
                                .used = use->own,
                                .context = use->context,
                                .demand = plan_.demand,
                                .separate = plan_.separate};
  traces::device_memory(device_report_->name.c_str(), use->own, use->context, plan_.demand, plan_.separate);
  return {};
}

} // namespace rtexec::executive
