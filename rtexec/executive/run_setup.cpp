#include "rtexec/executive/run.hpp"

#include "traces/emit.hpp"

#include <set>

namespace rtexec::executive {

namespace {

void add_core(std::set<unsigned>& cores, const hal::ThreadSettings& thread) {
  if (thread.core) cores.insert(*thread.core);
}

/// Where real-time parts execute, and the threads that feed the device.
std::set<unsigned> serving_cores(const Placement& placement, const std::vector<Task>& tasks) {
  std::set<unsigned> cores;
  for (const auto* service : {&placement.scheduler, &placement.compute, &placement.copy_in, &placement.copy_out})
    add_core(cores, *service);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].real_time()) continue;
    add_core(cores, placement.release[i]);
    add_core(cores, placement.completion[i]);
  }
  return cores;
}

/// Where the parts of jobs execute.
std::set<unsigned> cores_of_jobs(const Placement& placement) {
  std::set<unsigned> cores;
  add_core(cores, placement.compute);
  for (const auto* threads : {&placement.release, &placement.completion})
    for (const hal::ThreadSettings& thread : *threads) add_core(cores, thread);
  return cores;
}

} // namespace

/// Takes the cores of the run for itself, at their full frequency.
Result<> Run::claim_cores(const Placement& placement) {
  const std::set<unsigned> cores = cores_of_jobs(placement);
  const std::vector<unsigned> used(cores.begin(), cores.end());
  auto claim = hal::CoreClaim::take(used);
  if (claim) claim_ = std::move(*claim);
  else if (const auto accepted = accept(Unexpected(claim.error())); !accepted) return accepted;
  auto frequency = hal::Machine().lock_frequency(used);
  if (!frequency) return accept(Unexpected(frequency.error()));
  frequency_ = std::move(*frequency);
  return {};
}

/// Where the set asks for it: the cores of every thread that a job passes through.
Result<> Run::keep_awake(const Placement& placement) {
  if (!set_.tasks.executive.keep_awake) return {};
  std::set<unsigned> cores = cores_of_jobs(placement);
  add_core(cores, placement.scheduler);
  auto awake = hal::KeepAwake::hold(std::vector<unsigned>(cores.begin(), cores.end()), partition_.get());
  if (!awake) return Unexpected(awake.error());
  awake_ = std::move(*awake);
  return {};
}

/// A machine that cannot count runs without it only where the set allows it; one that is asked for the impossible does
/// not run.
Result<> Run::regulate(const Placement& placement) {
  const RegulatedRun run{.serving = serving_cores(placement, set_.tasks.tasks),
                         .claimed = cores_of_jobs(placement),
                         .proved = plan_.proved};
  auto control = BandwidthControl::start(set_, run);
  if (!control && (control.error().code == Errc::bad_input || !set_.tasks.executive.allow_degraded))
    return Unexpected(control.error());
  if (!control) {
    degraded_.push_back("no memory bandwidth budget is in force: " + control.error().what);
    return {};
  }
  bandwidth_ = std::move(*control);
  if (bandwidth_) degraded_.insert(degraded_.end(), bandwidth_->degraded().begin(), bandwidth_->degraded().end());
  return {};
}

Result<> Run::open_device(const Placement& placement) {
  auto device = set_.open_device(plan_.capacity);
  if (!device) return Unexpected(device.error());
  device_ = std::move(*device);
  if (set_.measured_on && *set_.measured_on != device_->name())
    return fail(Errc::refused, set_.tasks.executive.profile.string() + " was measured on device '" + *set_.measured_on +
                                   "', and this one is '" + device_->name() +
                                   "': its execution times and its tuning do not hold here; run `rtexec profile " +
                                   set_.tasks.file.string() + "` on this machine");
  const std::pair<hal::EngineKind, const hal::ThreadSettings&> engines[] = {
      {hal::EngineKind::compute, placement.compute},
      {hal::EngineKind::copy_in, placement.copy_in},
      {hal::EngineKind::copy_out, placement.copy_out}};
  for (const auto& [kind, settings] : engines) {
    hal::Engine& engine = device_->engine(kind);
    if (const auto configured = engine.configure(settings); !configured) return configured;
    const bool maps = kind != hal::EngineKind::compute && plan_.swap && device_->capabilities().mapping_faults;
    watched_.push_back(
        {.name = settings.name, .scheduling = scheduling_of(settings), .kernel_id = engine.kernel_id(), .maps = maps});
  }
  if (const auto prepared = prepare_engines(); !prepared) return prepared;
  if (setup_.trace_layers)
    for (const auto& run : runs_) run->trace_layers();
  return fill_device();
}

/// Their first recorded event would otherwise take a lock.
Result<> Run::prepare_engines() {
  for (const auto kind : {hal::EngineKind::compute, hal::EngineKind::copy_in, hal::EngineKind::copy_out}) {
    const auto prepared = device_->engine(kind).call([]() noexcept { return traces::prepare_thread(), Status(); });
    if (!prepared.outcome)
      return fail(prepared.outcome.error(), "an engine of device '" + device_->name() + "' accepts no work");
  }
  return {};
}

Result<std::unique_ptr<hal::BackingStore>> Run::open_store(hal::Device& device, std::size_t chunks) const {
  if (setup_.open_store) return setup_.open_store(device, chunks);
  if (!plan_.swap->store.empty()) return hal::open_file_store(device, chunks, plan_.swap->store);
  return hal::open_host_store(device, chunks,
                              plan_.swap->store_kind() == StoreKind::pageable ? hal::HostMemoryKind::pageable
                                                                              : hal::HostMemoryKind::page_locked);
}

/// Gives each workload its memory.
Result<> Run::fill_device() {
  std::vector<Tenant> tenants;
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i)
    tenants.push_back({.constants = set_.workloads[i]->constants(),
                       .arena = plan_.tasks[i].arena,
                       .swap_slots = plan_.tasks[i].swap_slots});
  auto memory = DeviceMemory::lay_out(
      *device_, tenants,
      {.frames = plan_.swap ? plan_.swap->frames : 0,
       .shared_scratch = plan_.shared_scratch,
       .skip_unchanged = set_.tasks.swap.skip_unchanged,
       .verify = set_.tasks.swap.verify,
       .exercise = setup_.copy_beside && plan_.swap,
       .open_store = [this](hal::Device& device, std::size_t chunks) { return open_store(device, chunks); }});
  if (!memory) return Unexpected(memory.error());
  memory_ = std::move(*memory);
  if (plan_.swap) traces::swap_plan(*plan_.swap, memory_->store()->description().c_str());
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i)
    if (const auto bound =
            memory_->with_all_slots(i, [&] { return set_.workloads[i]->bind(*device_, memory_->addresses()[i]); });
        !bound)
      return fail(bound.error().code, "task '" + plan_.tasks[i].name + "': " + bound.error().what);
  return memory_->bring_in(scheduler_.state());
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
