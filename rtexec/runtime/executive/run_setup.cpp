#include "rtexec/runtime/executive/run.hpp"

#include "config/base/decimal.hpp"
#include "hal/board/board_findings.hpp"
#include "hal/control_groups.hpp"
#include "hal/open/available_memory.hpp"
#include "hal/resources.hpp"
#include "policies/memory/plan_memory.hpp"
#include "traces/emit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <sys/mman.h>

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

/// And those of the threads that serve them.
std::set<unsigned> cores_of_threads(const Placement& placement) {
  std::set<unsigned> cores = cores_of_jobs(placement);
  for (const auto* service : {&placement.scheduler, &placement.copy_in, &placement.copy_out}) add_core(cores, *service);
  return cores;
}

/// Of jobs of one level only one is between two segments, of express ones all may be.
std::optional<std::uint32_t> carry_group(const PlannedTask& task) {
  return task.device_class == 0 ? std::nullopt : std::optional(task.device_class);
}

Need indispensable(Need need) {
  need.indispensable = true;
  return need;
}

} // namespace

std::vector<Need> Run::ask(Placement& placement) {
  std::vector<Need> needs;
  static_cast<void>(hal::Machine().clear_left_over_partition()); // what cannot be removed is told by `rtexec probe`
  static_cast<void>(hal::restore_clocks(hal::Machine()));        // and what cannot be restored, by `rtexec restore`
  needs.push_back(ask_for_host_memory());
  const bool has_room = !needs.back().refused; // without it, the kernel may kill the process that takes more
  if (has_room) {
    const auto locked = hal::lock_memory();
    needs.push_back(locked ? given("locked memory", "allowed") : refused("locked memory", locked.error()));
  }
  if (auto quota = ask_for_cpu_quota()) needs.push_back(std::move(*quota));
  needs.push_back(ask_for_idle_states());
  placement = place_threads(set_, plan_, hal::Machine());
  std::ranges::move(placement.needs, std::back_inserter(needs));
  partition_ = std::move(placement.partition);
  needs.push_back(ask_for_cores(placement));
  // The clocks are those of the run that has the cores: it gives them back.
  if (!needs.back().refused || set_.tasks.executive.allow_degraded) {
    needs.push_back(ask_for_frequency(placement));
    if (auto clocks = ask_for_clocks()) needs.push_back(std::move(*clocks));
  }
  for (auto& need : {ask_for_board(), ask_for_awake_cores(placement), ask_for_neighbours(placement),
                     ask_for_budgets(placement), ask_for_store()})
    if (need) needs.push_back(*need);
  if (!has_room) return needs;
  needs.push_back(ask_for_device());
  if (const auto room = ask_for_room()) needs.push_back(*room);
  return needs;
}

std::vector<Need> Run::ask_for_channels() {
  std::vector<Need> needs;
  for (std::size_t i = 0; i < set_.io.size(); ++i)
    for (auto& [name, outcome] : set_.io[i]->try_out()) {
      const std::string subject = "task '" + set_.tasks.tasks[i].name + "', " + name;
      needs.push_back(outcome ? given(subject, "can be used") : indispensable(refused(subject, outcome.error())));
    }
  return needs;
}

Result<> Run::take_machine(Placement& placement) {
  const std::vector<Need> needs = ask(placement);
  const bool allow_degraded = set_.tasks.executive.allow_degraded;
  if (const auto refusal = refusal_of(needs, allow_degraded); !refusal) return refusal;
  degraded_ = degradations(needs);
  return {};
}

/// What a board's file says holds on that board only.
std::optional<Need> Run::ask_for_board() const {
  if (set_.board.identity.compatible.empty()) return std::nullopt;
  const std::string why = hal::why_not_board(set_.board, hal::Machine());
  if (why.empty()) return given("board", set_.board.name);
  return refused("board",
                 {Errc::refused, why + "\n`rtexec probe` says which board this is: name that one in the set."});
}

Need Run::ask_for_idle_states() {
  auto idle = hal::ShallowIdle::hold();
  if (!idle && idle.error().code != Errc::unsupported) return refused("idle states", idle.error());
  if (!idle) return given("idle states", idle.error().what);
  shallow_idle_ = std::move(*idle);
  return given("idle states", "deep ones are held off");
}

Need Run::ask_for_cores(const Placement& placement) {
  const std::set<unsigned> cores = cores_of_jobs(placement);
  const std::vector<unsigned> used(cores.begin(), cores.end());
  auto claim = hal::CoreClaim::take(used, hal::ClaimFolders::of_this_user(),
                                    setup_.inquires ? hal::ClaimFor::inquiry : hal::ClaimFor::run);
  if (!claim) {
    Need need = refused("free cores", claim.error());
    need.indispensable = setup_.exclusive;
    return need;
  }
  claim_ = std::move(*claim);
  return given("free cores", used.empty() ? "no thread is pinned" : "no other run uses core " + hal::core_list(used));
}

Need Run::ask_for_frequency(const Placement& placement) {
  const std::set<unsigned> cores = cores_of_jobs(placement);
  auto frequency = hal::Machine().lock_frequency(std::vector<unsigned>(cores.begin(), cores.end()));
  if (!frequency) return refused("frequency", frequency.error());
  frequency_ = std::move(*frequency);
  return given("frequency", "locked, where the kernel decides it");
}

/// Where the set asks for it.
std::optional<Need> Run::ask_for_clocks() {
  if (!set_.tasks.executive.lock_clocks) return std::nullopt;
  const hal::Machine machine;
  auto lock = hal::ClockLock::take(hal::find_hardware(set_.board, machine), machine);
  if (!lock) return refused("lock_clocks", lock.error());
  clock_lock_ = std::move(*lock);
  std::string state;
  for (const hal::LockedClock& clock : clock_lock_.clocks())
    state += (state.empty() ? "" : ", ") + clock.name + " at " +
             readable(Frequency{static_cast<std::uint64_t>(clock.hertz)});
  return given("lock_clocks", state.empty() ? "this machine shows no clock that can be locked" : state);
}

/// Where the set asks for it.
std::optional<Need> Run::ask_for_awake_cores(const Placement& placement) {
  if (!set_.tasks.executive.keep_awake) return std::nullopt;
  const std::set<unsigned> cores = cores_of_threads(placement);
  auto awake = hal::KeepAwake::hold(std::vector<unsigned>(cores.begin(), cores.end()), partition_.get());
  if (!awake) return refused("keep_awake", awake.error());
  awake_ = std::move(*awake);
  return given("keep_awake", "cores are kept from idling");
}

std::optional<Need> Run::ask_for_neighbours(const Placement& placement) {
  if (!setup_.neighbours || set_.tasks.regulated()) return std::nullopt;
  auto neighbours = Neighbours::start(cores_of_threads(placement), partition_.get());
  if (!neighbours) return refused("neighbours", neighbours.error());
  neighbours_ = std::move(*neighbours);
  return given("neighbours", "others use the cores of the set, too");
}

RegulatedRun Run::regulated(const Placement& placement) const {
  return {.serving = serving_cores(placement, set_.tasks.tasks),
          .claimed = cores_of_jobs(placement),
          .proved = plan_.proved};
}

/// A machine that cannot count runs without it only where the set allows it; one that is asked for the impossible does
/// not run.
std::optional<Need> Run::ask_for_budgets(const Placement& placement) {
  if (!set_.tasks.regulated()) return std::nullopt;
  auto budgets = BandwidthControl::plan(set_, regulated(placement));
  if (!budgets) {
    Need need = refused("memory bandwidth", budgets.error());
    need.indispensable = budgets.error().code == Errc::bad_input;
    need.instead = "no memory bandwidth budget is in force";
    return need;
  }
  budgets_ = std::move(*budgets);
  const std::size_t domains = budgets_->domains.size();
  return given("memory bandwidth",
               domains == 0 ? "no core is regulated" : std::to_string(domains) + " budgets can be kept");
}

/// Room in the store's file system, where the tasks' memory goes to a file.
std::optional<Need> Run::ask_for_store() const {
  if (!plan_.swap || plan_.swap->store.empty() || setup_.open_store) return std::nullopt;
  const Bytes size = policies::swap_volume(plan_);
  const std::string subject = "store";
  if (const auto room = hal::try_file_store(plan_.swap->store, size); !room)
    return indispensable(refused(subject, room.error()));
  return given(subject, plan_.swap->store.string() + " has room for " + readable(size));
}

/// Page-locked buffers of workloads, where the demand does not hold them. Images of constants are there already.
Bytes Run::host_buffers() const {
  Bytes all;
  if (set_.board.unified_memory) return all;
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i) {
    const Bytes host = plan_.tasks[i].memory.host;
    all += host - std::min(host, Bytes{set_.workloads[i]->constants().size()});
  }
  return all;
}

/// Memory of the threads' stacks.
Bytes Run::stacks() const {
  constexpr Bytes of_task{3 << 20}, of_services{16 << 20};
  return of_task * plan_.tasks.size() + of_services;
}

/// What the whole process takes beyond what it has: locking populates its programs and libraries. Asked before any of
/// it is taken: at the limit of a control group, the kernel kills the process without a word.
Need Run::ask_for_host_memory() const {
  Bytes needed = host_buffers() + stacks() + hal::unlocked_memory(hal::Machine());
  if (set_.board.memory_is_of_host() && !setup_.open_device) needed += plan_.demand;
  if (plan_.swap && plan_.swap->store.empty() && !setup_.open_store) needed += policies::swap_volume(plan_);
  const auto available = hal::check_available_memory(needed, "the memory of this process", hal::Machine());
  if (!available) return indispensable(refused("host memory", available.error()));
  return given("host memory", "there is room for " + readable(needed));
}

/// Absent: no control group limits the processor time of this process.
std::optional<Need> Run::ask_for_cpu_quota() const {
  const auto quota = hal::cpu_quota(hal::Machine());
  if (!quota) return std::nullopt;
  double used = 0; // cores
  for (const Task& task : set_.tasks.tasks) {
    const Wcet wcet = task.wcet.value_or(Wcet());
    const Duration on_cores = wcet.before + wcet.after + (set_.board.computes_on_core() ? wcet.device : Duration(0));
    used += static_cast<double>(on_cores.count()) / static_cast<double>(task.period.count());
  }
  const auto cores = [](double number) { return config::decimal(std::round(number * 100) / 100) + " cores"; };
  const std::string state = cores(quota->cores) + " by " + quota->file.string() + "; the tasks use " + cores(used);
  if (used <= quota->cores) return given("cpu quota", state);
  return refused("cpu quota", {Errc::refused, state + "\nRaise the limit (CPUQuota= of systemd, --cpus of docker)."});
}

Need Run::ask_for_device() {
  auto device = set_.open_device(plan_.capacity);
  if (!device) return indispensable(refused("device", device.error()));
  device_ = std::move(*device);
  if (!set_.measured_on || *set_.measured_on == device_->name())
    return given("device", device_->name() + ", " + readable(device_->capacity()));
  return indispensable(
      refused("device", {Errc::refused, set_.tasks.executive.profile.string() + " was measured on device '" +
                                            *set_.measured_on + "', and this one is '" + device_->name() +
                                            "': its execution times and its tuning do not hold here\nRun `rtexec "
                                            "profile " +
                                            set_.tasks.file.string() + "` on this machine."}));
}

/// Where locked memory is limited: for what is still to come, stacks and the copies of the tasks' memory.
std::optional<Need> Run::ask_for_room() const {
  const Bytes ahead = plan_.separate + host_buffers() + stacks();
  const auto room = hal::Mapping::anonymous(round_up(ahead, hal::page_size()), PROT_NONE, 0, "what the run will lock");
  if (room) return std::nullopt;
  Need need = refused("locked memory", room.error());
  if (const hal::Finding limit = hal::Machine().memory_lock(); !limit.advice.empty()) need.advice = limit.advice;
  return need;
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
  if (placement.beside) {
    if (const auto started = device_->start_beside(); !started) return started;
    engines.emplace_back(hal::EngineKind::beside, *placement.beside);
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

/// Clocks are seen once before the first job, also where no status page can be published.
void Run::watch_cores(const Placement& placement) {
  const unsigned compute_core = placement.compute.core.value_or(set_.compute_core);
  clocks_.watch(cores_of_jobs(placement), compute_core, *device_);
  const hal::Machine machine;
  clocks_.watch_board(hal::find_hardware(set_.board, machine), clock_lock_.clocks(), machine);
  clocks_.look();
  steal_.watch(cores_of_threads(placement), compute_core);
  for (std::size_t i = 0; i < runs_.size(); ++i)
    steal_.add(runs_[i]->statistics(), placement.release[i].core.value_or(plan_.tasks[i].core));
}

/// Their first recorded event would otherwise take a lock.
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

/// Gives each workload its memory.
Result<> Run::fill_device() {
  std::vector<Tenant> tenants;
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i)
    tenants.push_back({.constants = set_.workloads[i]->constants(),
                       .arena = plan_.tasks[i].arena,
                       .swap_slots = plan_.tasks[i].swap_slots,
                       .scratch_at_end = plan_.tasks[i].scratch_at_end,
                       .reads = plan_.tasks[i].stream.value_or(Stream()).reads,
                       .carry_group = carry_group(plan_.tasks[i])});
  auto memory = DeviceMemory::lay_out(
      *device_, tenants,
      {.frames = plan_.swap ? plan_.swap->frames : 0,
       .shared_scratch = plan_.shared_scratch,
       .scratch_chunks = plan_.scratch_chunks,
       .skip_unchanged = set_.tasks.swap.skip_unchanged,
       .verify = set_.tasks.swap.verify,
       .exercise = exercises(),
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

/// One behind the other, in what is fixed of their producers.
void Run::place_links() {
  std::vector<std::byte*> free(memory_->fixed().begin(), memory_->fixed().end());
  for (const channels::DeviceLink& link : set_.links) {
    link.latest->lie_at(free[link.producer]);
    free[link.producer] += link.latest->room().count;
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
