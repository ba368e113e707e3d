#include "rtexec/executive.hpp"
#include "rtexec/executive/setup.hpp"

#include "config/names.hpp"
#include "hal/core_claim.hpp"
#include "hal/idle_states.hpp"
#include "hal/machine.hpp"
#include "rtexec/executive/bandwidth_control.hpp"
#include "rtexec/executive/device_driver.hpp"
#include "rtexec/executive/device_memory.hpp"
#include "rtexec/executive/engine_call.hpp"
#include "rtexec/executive/loaded_set.hpp"
#include "rtexec/executive/placement.hpp"
#include "rtexec/executive/status_page.hpp"
#include "rtexec/executive/task_run.hpp"
#include "traces/emit.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace rtexec {

namespace {

/// From the last thread's readiness to the start of the grid.
constexpr Duration lead_time = std::chrono::milliseconds(20);

/// Minor and major page faults of a thread of this process so far; 0 when it has ended.
long page_faults(int kernel_id) {
  std::ifstream file("/proc/self/task/" + std::to_string(kernel_id) + "/stat");
  std::string stat;
  if (!std::getline(file, stat)) return 0;
  // Behind the name in parentheses: state ppid pgrp session tty tpgid flags minflt cminflt majflt
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  long minor = 0, children = 0, major = 0;
  for (int i = 0; i < 7; ++i) fields >> skipped;
  fields >> minor >> children >> major;
  return minor + major;
}

/// How many jobs of a task can end, `most` at most.
std::size_t jobs_of(const Task& task, std::optional<Duration> duration, std::size_t most) {
  return duration ? std::min(static_cast<std::size_t>(*duration / task.period) + 1, most) : most;
}

void record_regulation(const BandwidthReport& regulation) {
  for (const std::string& reason : regulation.reasons) traces::probe("bandwidth", reason.c_str());
  for (const DomainReport& domain : regulation.domains)
    for (const unsigned core : domain.cores) traces::regulated_core(core, regulation.period);
}

/// Where real-time parts execute, and the threads that feed the device.
std::set<unsigned> serving_cores(const executive::Placement& placement, const std::vector<Task>& tasks) {
  std::set<unsigned> cores;
  const auto use = [&](const hal::ThreadSettings& thread) {
    if (thread.core) cores.insert(*thread.core);
  };
  for (const auto* service : {&placement.scheduler, &placement.compute, &placement.copy_in, &placement.copy_out})
    use(*service);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].criticality == Criticality::best_effort) continue;
    use(placement.release[i]);
    use(placement.completion[i]);
  }
  return cores;
}

/// Where the parts of jobs execute.
std::set<unsigned> cores_of_jobs(const executive::Placement& placement) {
  std::set<unsigned> cores;
  const auto use = [&](const hal::ThreadSettings& thread) {
    if (thread.core) cores.insert(*thread.core);
  };
  use(placement.compute);
  std::ranges::for_each(placement.release, use);
  std::ranges::for_each(placement.completion, use);
  return cores;
}

} // namespace

class executive::Run {
 public:
  Run(executive::LoadedSet set, Plan plan, executive::Setup setup)
      : set_(std::move(set)), plan_(std::move(plan)), setup_(std::move(setup)) {
    for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
      const Task& task = set_.tasks.tasks[i];
      runs_.push_back(std::make_unique<executive::TaskRun>(i, task, plan_.tasks[i], *set_.workloads[i], control_));
      runs_.back()->record_jobs(jobs_of(task, set_.tasks.executive.duration, setup_.record_jobs));
    }
  }
  /// Workloads go before the device that they are bound to.
  ~Run() {
    end_threads();
    publisher_.reset();
    driver_.reset();
    bandwidth_.reset();
    memory_.reset();
    runs_.clear();
    set_.workloads.clear();
  }

  Result<> start();
  bool wait(std::optional<Duration> at_most);
  Instant planned_end() const;
  Report report() const;
  Stop stopped_by(Instant now) const;
  std::optional<SwapReport> swap_report() const;
  Report stop();
  JobRecords job_records() const;

  executive::LoadedSet set_;
  Plan plan_;
  executive::RunControl control_;
  std::vector<std::string> degraded_;

 private:
  /// A thread whose page faults are counted from the start of the grid.
  struct Watched {
    std::string name;
    SchedulingClass scheduling;
    int kernel_id = 0;
    bool maps = false; // filling page tables is its work: its faults are not counted
    long faults_at_start = 0;
  };

  Result<> accept(Result<> outcome);
  Result<> claim_cores(const executive::Placement& placement);
  Result<> keep_awake(const executive::Placement& placement);
  Result<> regulate(const executive::Placement& placement);
  Result<> open_device(const executive::Placement& placement);
  Result<> prepare_engines();
  Result<> fill_device();
  Result<std::unique_ptr<hal::BackingStore>> open_store(hal::Device& device, std::size_t chunks) const;
  Result<> start_thread(const hal::ThreadSettings& settings, std::function<void()> body);
  Result<> start_threads(const executive::Placement& placement);
  Result<> rehearse();
  Result<> note_memory();
  bool device_failed();
  void record_plan();
  void record_probes(const executive::Placement& placement) const;
  void publish();
  executive::Snapshot first_snapshot() const;
  void show(executive::Snapshot& snapshot) const;
  void tell_misses();
  void notify(const Miss& miss);
  void end_threads() noexcept;

  executive::Setup setup_;
  hal::CoreClaim claim_;
  hal::FrequencyLock frequency_;
  hal::ShallowIdle shallow_idle_;
  std::unique_ptr<hal::Partition> partition_;
  hal::KeepAwake awake_;
  std::unique_ptr<hal::Device> device_;
  policies::DeviceScheduler scheduler_{plan_}; // until the driver takes it
  std::unique_ptr<executive::BandwidthControl> bandwidth_;
  std::unique_ptr<executive::DeviceMemory> memory_;
  std::vector<std::unique_ptr<executive::TaskRun>> runs_;
  std::unique_ptr<executive::DeviceDriver> driver_;
  std::vector<hal::Thread> threads_; // scheduler first, then two for each task
  std::vector<Watched> watched_;     // these, and the device's engines
  hal::Thread teller_;
  std::string callback_failure_; // of on_miss; written before callback_failed_
  std::atomic<bool> callback_failed_{false};
  std::atomic<std::uint64_t> uncalled_{0}; // misses since
  std::optional<Instant> started_;         // of the grid
  std::optional<DeviceReport> device_report_;
  std::optional<DeviceFaultReport> device_fault_;
  std::optional<Report> final_report_;
  std::optional<StatusPageReport> status_page_;
  std::unique_ptr<executive::StatusPublisher> publisher_;
};

Result<> executive::Run::start() {
  for (const Task& task : set_.tasks.tasks)
    if (task.releases)
      return fail(
          Errc::bad_input,
          "task '" + task.name +
              "' lists its releases, which is for `rtexec simulate`; leave releases out to run it periodically");
  if (!plan_.proved && !setup_.force)
    return fail(
        Errc::not_proved,
        "the task set is not promised to keep its deadlines: `rtexec check` shows why, --force runs it all the same");
  if (device_ || final_report_) return fail(Errc::bad_input, "an executive runs once: create another one");
  if (const auto locked = accept(hal::lock_memory()); !locked) return locked;
  if (auto idle = hal::ShallowIdle::hold()) shallow_idle_ = std::move(*idle);
  else if (idle.error().code != Errc::unsupported)
    if (const auto accepted = accept(Unexpected(idle.error())); !accepted) return accepted;
  auto placement = executive::place_threads(set_.tasks, set_.board, plan_, hal::Machine());
  if (!placement) return Unexpected(placement.error());
  partition_ = std::move(placement->partition);
  if (const auto claimed = claim_cores(*placement); !claimed) return claimed;
  if (const auto kept = accept(keep_awake(*placement)); !kept) return kept;
  degraded_.insert(degraded_.end(), placement->degraded.begin(), placement->degraded.end());
  if (const auto opened = open_device(*placement); !opened) return opened;
  if (const auto regulated = regulate(*placement); !regulated) return regulated;
  record_plan();
  record_probes(*placement);
  if (const auto started = start_threads(*placement); !started) return started;
  if (const auto rehearsed = rehearse(); !rehearsed) return rehearsed;
  if (const auto noted = note_memory(); !noted) return noted;
  for (Watched& thread : watched_) thread.faults_at_start = page_faults(thread.kernel_id);
  memory_->reset_counters();
  driver_->record();
  publish();
  started_ = hal::now() + lead_time;
  traces::run_begin(RTEXEC_VERSION, hal::machine_name().c_str(), false, *started_);
  if (set_.tasks.executive.duration)
    control_.end.store((*started_ + *set_.tasks.executive.duration).time_since_epoch().count());
  control_.start.store(started_->time_since_epoch().count(), std::memory_order_release);
  control_.started.raise();
  return {};
}

/// What the machine refused is an error, or with allow_degraded a line of the report.
Result<> executive::Run::accept(Result<> outcome) {
  if (outcome || !set_.tasks.executive.allow_degraded) return outcome;
  degraded_.push_back(outcome.error().what);
  return {};
}

/// Takes the cores of the run for itself, at their full frequency.
Result<> executive::Run::claim_cores(const executive::Placement& placement) {
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
Result<> executive::Run::keep_awake(const executive::Placement& placement) {
  if (!set_.tasks.executive.keep_awake) return {};
  std::set<unsigned> cores = cores_of_jobs(placement);
  if (placement.scheduler.core) cores.insert(*placement.scheduler.core);
  auto awake = hal::KeepAwake::hold(std::vector<unsigned>(cores.begin(), cores.end()), partition_.get());
  if (!awake) return Unexpected(awake.error());
  awake_ = std::move(*awake);
  return {};
}

/// A machine that cannot count runs without it only where the set allows it; one that is asked for the impossible does
/// not run.
Result<> executive::Run::regulate(const executive::Placement& placement) {
  const executive::RegulatedRun run{.serving = serving_cores(placement, set_.tasks.tasks),
                                    .claimed = cores_of_jobs(placement),
                                    .proved = plan_.proved};
  auto control = executive::BandwidthControl::start(set_.tasks, set_.board, run);
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

Result<> executive::Run::open_device(const executive::Placement& placement) {
  auto device = set_.open_device(plan_.capacity, plan_.chunk);
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
    watched_.push_back({.name = settings.name,
                        .scheduling = executive::scheduling_of(settings),
                        .kernel_id = engine.kernel_id(),
                        .maps = maps});
  }
  if (const auto prepared = prepare_engines(); !prepared) return prepared;
  if (setup_.trace_layers)
    for (const auto& run : runs_) run->trace_layers();
  return fill_device();
}

/// Their first recorded event would otherwise take a lock.
Result<> executive::Run::prepare_engines() {
  for (const auto kind : {hal::EngineKind::compute, hal::EngineKind::copy_in, hal::EngineKind::copy_out}) {
    const auto prepared =
        executive::execute_on(device_->engine(kind), []() noexcept { return traces::prepare_thread(), Status(); });
    if (!prepared.outcome)
      return fail(prepared.outcome.error(), "an engine of device '" + device_->name() + "' accepts no work");
  }
  return {};
}

Result<std::unique_ptr<hal::BackingStore>> executive::Run::open_store(hal::Device& device, std::size_t chunks) const {
  if (setup_.open_store) return setup_.open_store(device, chunks);
  if (!plan_.swap->store.empty()) return hal::open_file_store(device, chunks, plan_.swap->store);
  return hal::open_host_store(device, chunks,
                              plan_.swap->store_kind() == StoreKind::pageable ? hal::HostMemoryKind::pageable
                                                                              : hal::HostMemoryKind::page_locked);
}

/// Gives each workload its memory.
Result<> executive::Run::fill_device() {
  std::vector<executive::Tenant> tenants;
  for (std::size_t i = 0; i < plan_.tasks.size(); ++i)
    tenants.push_back({.constants = set_.workloads[i]->constants(),
                       .arena = plan_.tasks[i].arena,
                       .swap_slots = plan_.tasks[i].swap_slots});
  auto memory = executive::DeviceMemory::lay_out(
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

Result<> executive::Run::start_thread(const hal::ThreadSettings& settings, std::function<void()> body) {
  auto thread = hal::Thread::start(settings, std::move(body));
  if (!thread) return Unexpected(thread.error());
  watched_.push_back(
      {.name = settings.name, .scheduling = executive::scheduling_of(settings), .kernel_id = thread->kernel_id()});
  threads_.push_back(std::move(*thread));
  return {};
}

Result<> executive::Run::start_threads(const executive::Placement& placement) {
  std::vector<executive::DeviceClient*> clients;
  for (const auto& run : runs_) clients.push_back(run.get());
  driver_ = std::make_unique<executive::DeviceDriver>(
      std::move(scheduler_), *device_, *memory_, clients,
      executive::DeviceDriver::Options{.exercise = setup_.copy_beside && plan_.swap,
                                       .observer = setup_.observe_transfers,
                                       .bandwidth = bandwidth_.get(),
                                       .failed =
                                           [](void* self) noexcept {
                                             auto& control = *static_cast<executive::RunControl*>(self);
                                             control.driver_failed.store(true);
                                             control.over.raise();
                                           },
                                       .self = &control_});
  if (const auto started = start_thread(placement.scheduler, [this] { driver_->run(); }); !started) return started;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    executive::TaskRun& run = *runs_[i];
    run.connect(*driver_);
    if (bandwidth_ && placement.release[i].core) run.regulate(*bandwidth_, *placement.release[i].core);
    // The completion thread first: a release thread alone would wait for its rehearsal for ever.
    if (const auto started = start_thread(placement.completion[i], [&run] { run.completion_loop(); }); !started)
      return started;
    if (const auto started = start_thread(placement.release[i], [&run] { run.release_loop(); }); !started)
      return run.no_releases(), started;
  }
  if (!setup_.on_miss) return {};
  auto teller = hal::Thread::start({.name = "misses", .core = {}, .reservation = {}}, [this] { tell_misses(); });
  if (!teller) return Unexpected(teller.error());
  teller_ = std::move(*teller);
  return {};
}

Result<> executive::Run::rehearse() {
  while (control_.rehearsed.load() < runs_.size()) {
    const std::uint32_t seen = control_.rehearsal_ended.value();
    if (control_.rehearsed.load() < runs_.size()) control_.rehearsal_ended.wait(seen);
  }
  if (control_.unregulated.load())
    if (const auto accepted = accept(
            fail(Errc::refused, "memory traffic of a task's thread cannot be counted, and so its budget not kept"));
        !accepted)
      return accepted;
  const std::string nothing = " the job that rehearses it before the start; nothing was released";
  if (device_failed())
    return fail(Errc::device_fault,
                "task '" + device_fault_->task + "': the device was lost in" + nothing + "\n  " + device_fault_->what);
  if (const auto* failed = control_.rehearsal_failed.load())
    return fail(Errc::device_fault, "task '" + failed->name() + "': a fault was reported by" + nothing + " (" +
                                        name(failed->rehearsal().error()) + ")");
  return {};
}

Result<> executive::Run::note_memory() {
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

/// Whether the device was lost. A job that reports a fault may have met one of its workload alone: then the run goes
/// on.
bool executive::Run::device_failed() {
  if (device_fault_) return true;
  const auto* suspect = control_.suspect.load();
  if (suspect == nullptr) return false;
  const auto fault = device_->fault();
  if (!fault && !control_.device_lost.load()) return false;
  device_fault_ = DeviceFaultReport{.task = suspect->name(),
                                    .job = suspect->suspect_job(),
                                    .what = fault ? fault->what : "the device was lost before this job"};
  traces::device_fault({.task = suspect->index(), .number = device_fault_->job}, device_fault_->what.c_str());
  return true;
}

void executive::Run::record_plan() {
  traces::plan(plan_);
  for (std::uint32_t i = 0; i < plan_.tasks.size(); ++i) {
    traces::task_info(i, set_.tasks.tasks[i], plan_.tasks[i]);
    const auto layers = set_.workloads[i]->layers();
    if (setup_.trace_layers)
      for (std::uint32_t layer = 0; layer < layers.size(); ++layer) traces::layer_info(i, layer, layers[layer].c_str());
  }
  for (const std::string& line : degraded_) traces::degraded(line.c_str());
}

/// What the machine gave: to each thread, and of its device and store.
void executive::Run::record_probes(const executive::Placement& placement) const {
  const auto probe = [](const std::string& service, const std::string& found) {
    traces::probe(service.c_str(), found.c_str());
  };
  const auto thread = [&](const hal::ThreadSettings& settings) {
    probe("thread " + settings.name, to_string(executive::scheduling_of(settings)) +
                                         (settings.core ? ", core " + std::to_string(*settings.core) : ", any core"));
  };
  for (const auto* service : {&placement.scheduler, &placement.compute, &placement.copy_in, &placement.copy_out})
    thread(*service);
  std::ranges::for_each(placement.release, thread);
  std::ranges::for_each(placement.completion, thread);
  probe("device",
        device_->name() + ", " + readable(device_->capacity()) + " in chunks of " + readable(device_->chunk_size()));
  for (const std::string& finding : device_->capabilities().findings) probe("device", finding);
  if (bandwidth_) record_regulation(bandwidth_->report());
  if (memory_->store() == nullptr) return;
  probe("store", memory_->store()->description());
  if (const std::string fallback = memory_->store()->fallback(); !fallback.empty())
    probe("store", "fell back: " + fallback);
}

void executive::Run::publish() {
  auto publisher = executive::StatusPublisher::start(setup_.status_folder, first_snapshot(),
                                                     [this](executive::Snapshot& snapshot) { show(snapshot); });
  status_page_ = StatusPageReport{.file = publisher ? (*publisher)->file() : "",
                                  .failure = publisher ? "" : publisher.error().what};
  if (publisher) publisher_ = std::move(*publisher);
}

/// All that stays as it is.
executive::Snapshot executive::Run::first_snapshot() const {
  executive::Snapshot snapshot;
  executive::RunStatus& run = snapshot.run;
  run.task_set = set_.tasks.file.native();
  run.order = spelling(plan_.order);
  if (plan_.swap) run.swap_policy = spelling(plan_.swap->policy);
  run.device = device_report_->name;
  run.used = device_report_->used;
  run.context = device_report_->context;
  run.demand = plan_.demand;
  run.capacity = plan_.capacity;
  run.chunk = plan_.chunk;
  run.planned = set_.tasks.executive.duration.value_or(Duration(0));
  run.compute_core = *set_.board.compute_core;
  run.service_core = *set_.board.service_core;
  run.proved = plan_.proved;
  std::string lines;
  for (const std::string& line : degraded_) lines += line + '\n';
  run.degraded = lines;
  for (const auto& task : runs_) snapshot.tasks.push_back(task->first_status());
  return snapshot;
}

/// What changes. On the publisher's thread: reads atomics, and what was settled before the start; allocates nothing.
void executive::Run::show(executive::Snapshot& snapshot) const {
  executive::RunStatus& run = snapshot.run;
  const Duration start(control_.start.load(std::memory_order_acquire));
  run.elapsed = start == Duration(0) ? start : std::max(Duration(0), hal::now().time_since_epoch() - start);
  if (plan_.swap) {
    const executive::SwapCounters moved = memory_->counters();
    run.swapped = {.in = plan_.chunk * moved.loads, .out = plan_.chunk * moved.saves};
  }
  for (std::uint32_t i = 0; i < runs_.size(); ++i) {
    executive::TaskStatus& task = snapshot.tasks[i];
    runs_[i]->show(task);
    if (task.state == executive::TaskState::waiting_for_device && driver_->moves_for(i))
      task.state = executive::TaskState::swapping;
  }
}

void executive::Run::tell_misses() {
  for (;;) {
    const std::uint32_t seen = control_.missed.value();
    bool any = false;
    for (const auto& run : runs_)
      while (const auto miss = run->take_miss()) {
        notify(*miss);
        any = true;
      }
    if (any) continue;
    if (control_.told_enough.load()) return;
    control_.missed.wait(seen);
  }
}

void executive::Run::notify(const Miss& miss) {
  if (callback_failed_.load()) return void(uncalled_.fetch_add(1));
  try {
    setup_.on_miss(miss);
  } catch (const std::exception& error) {
    callback_failure_ = error.what();
    callback_failed_.store(true);
  } catch (...) {
    callback_failure_ = "an exception of unknown type";
    callback_failed_.store(true);
  }
}

bool executive::Run::wait(std::optional<Duration> at_most) {
  if (!started_ || final_report_) return true;
  const Instant end = planned_end();
  const Instant until = at_most ? std::min(end, hal::now() + *at_most) : end;
  for (;;) {
    const std::uint32_t seen = control_.over.value();
    const Instant now = hal::now();
    if (control_.over_requested.load() || control_.driver_failed.load() || now >= end || device_failed()) return true;
    if (now >= until) return false;
    if (until == Instant::max()) control_.over.wait(seen);
    else control_.over.wait_until(seen, until);
  }
}

Instant executive::Run::planned_end() const {
  const auto duration = set_.tasks.executive.duration;
  return started_ && duration ? *started_ + *duration : Instant::max();
}

std::optional<SwapReport> executive::Run::swap_report() const {
  if (!plan_.swap || !memory_) return std::nullopt;
  const executive::SwapCounters moved = memory_->counters();
  const Bytes chunk = plan_.chunk;
  return SwapReport{.policy = plan_.swap->policy,
                    .store = memory_->store()->description(),
                    .fallback = memory_->store()->fallback(),
                    .in = chunk * moved.loads,
                    .out = chunk * moved.saves,
                    .skipped = chunk * moved.skips,
                    .dropped = chunk * moved.drops,
                    .operations = moved.loads + moved.saves + moved.skips + moved.drops,
                    .failure = memory_->store()->failure()};
}

Report executive::Run::report() const {
  Report report;
  const Instant now = hal::now();
  report.elapsed = started_ ? std::max(Duration(0), now - *started_) : Duration(0);
  report.degraded = degraded_;
  report.device = device_report_;
  report.device_fault = device_fault_;
  report.swap = swap_report();
  if (bandwidth_) report.bandwidth = bandwidth_->report();
  report.status_page = status_page_;
  if (publisher_ && report.status_page->failure.empty()) report.status_page->failure = publisher_->failure();
  for (const auto& run : runs_) {
    report.tasks.push_back(run->report());
    report.lost_callbacks += setup_.on_miss ? run->lost_misses() : 0;
  }
  report.lost_callbacks += uncalled_.load();
  if (callback_failed_.load()) report.callback_failure = callback_failure_;
  for (const Watched& thread : watched_)
    report.threads.push_back({.name = thread.name,
                              .kernel_id = thread.kernel_id,
                              .scheduling = thread.scheduling,
                              .page_faults = thread.maps ? 0 : page_faults(thread.kernel_id) - thread.faults_at_start});
  report.stopped_by = stopped_by(now);
  return report;
}

/// None while the run goes on.
Stop executive::Run::stopped_by(Instant now) const {
  if (device_fault_) return {.cause = StopCause::device_fault, .task = device_fault_->task};
  if (control_.driver_failed.load()) return {.cause = StopCause::driver_fault, .task = {}};
  if (const Task* stopper = control_.stopped_by.load()) return {.cause = StopCause::overrun, .task = stopper->name};
  if (control_.over_requested.load()) return {.cause = StopCause::request, .task = {}};
  return {.cause = now < planned_end() ? StopCause::none : StopCause::duration, .task = {}};
}

Report executive::Run::stop() {
  if (final_report_) return *final_report_;
  // Threads are asked for their page faults while they live; the tasks' books are complete once they have ended.
  device_failed();
  Report alive = report();
  if (alive.stopped_by.cause == StopCause::none) alive.stopped_by.cause = StopCause::request;
  end_threads();
  if (bandwidth_) bandwidth_->end();
  device_failed(); // by the last job
  final_report_ = report();
  if (const auto& swap = final_report_->swap) traces::swap_totals(swap->in, swap->out, swap->skipped, swap->dropped);
  final_report_->threads = std::move(alive.threads);
  final_report_->elapsed = alive.elapsed;
  final_report_->stopped_by = std::move(alive.stopped_by);
  if (publisher_) publisher_->end(to_string(final_report_->stopped_by));
  if (started_) traces::run_end(hal::now(), to_string(final_report_->stopped_by).c_str());
  return *final_report_;
}

JobRecords executive::Run::job_records() const {
  JobRecords records;
  if (setup_.record_jobs > 0 && final_report_)
    for (const auto& run : runs_) run->add_records(records);
  return records;
}

void executive::Run::end_threads() noexcept {
  control_.stopping.store(true);
  control_.started.raise();
  for (const auto& run : runs_) run->interrupt();
  // Tasks first: the scheduler serves their last jobs.
  for (std::size_t i = threads_.size(); i-- > 1;) threads_[i].join();
  if (driver_) driver_->stop();
  if (!threads_.empty()) threads_.front().join();
  control_.told_enough.store(true);
  control_.missed.raise();
  teller_.join();
}

Executive::Executive(std::unique_ptr<executive::Run> run) : run_(std::move(run)) {}
Executive::~Executive() = default;
Executive::Executive(Executive&&) noexcept = default;
Executive& Executive::operator=(Executive&&) noexcept = default;

Result<Executive> Executive::create(TaskSet tasks, ExecutiveSetup setup) {
  executive::Setup internal;
  static_cast<ExecutiveSetup&>(internal) = std::move(setup);
  return executive::create(std::move(tasks), std::move(internal));
}

Result<Executive> executive::create(TaskSet tasks, Setup setup) {
  auto set = load(std::move(tasks), setup);
  if (!set) return Unexpected(set.error());
  auto plan = make_plan(*set);
  if (!plan) return Unexpected(plan.error());
  return Executive(std::make_unique<Run>(std::move(*set), std::move(*plan), std::move(setup)));
}

const TaskSet& Executive::tasks() const { return run_->set_.tasks; }
const Board& Executive::board() const { return run_->set_.board; }
const Plan& Executive::plan() const { return run_->plan_; }
const std::vector<std::string>& Executive::fingerprints() const { return run_->set_.fingerprints; }
const std::vector<std::string>& Executive::degraded() const { return run_->degraded_; }
Result<> Executive::start() { return run_->start(); }
bool Executive::wait(std::optional<Duration> at_most) { return run_->wait(at_most); }
void Executive::request_stop() noexcept { run_->control_.end_run(); }
Report Executive::progress() const { return run_->report(); }
Report Executive::stop() { return run_->stop(); }
JobRecords Executive::job_records() const { return run_->job_records(); }

} // namespace rtexec
